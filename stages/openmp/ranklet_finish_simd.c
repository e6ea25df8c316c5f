/* Sums become R; compiled once per target. */
#include <stdbool.h>

#include "stages/openmp/ranklet.h"

void CRN_TARGETED(crn_ranklet_split)(const crn_ranklet_tile *tile, int32_t y)
{
    size_t at = (size_t)y * (size_t)tile->columns;
    if (tile->counts_width >= CRN_RANKLET_64) {
        const int64_t(*sums)[4] = (const int64_t(*)[4])tile->sums + at;
        int64_t *vertical = tile->result[0], *horizontal = tile->result[1];
        int64_t *diagonal = tile->result[2];
        for (int32_t x = 0; x < tile->columns; x++) {
            vertical[x] = sums[x][0] + sums[x][2];
            horizontal[x] = sums[x][0] + sums[x][1];
            diagonal[x] = -sums[x][1] - sums[x][2];
        }
        return;
    }
    const int32_t(*sums)[4] = (const int32_t(*)[4])tile->sums + at;
    int32_t *vertical = tile->result[0], *horizontal = tile->result[1];
    int32_t *diagonal = tile->result[2];
    for (int32_t x = 0; x < tile->columns; x++) {
        vertical[x] = sums[x][0] + sums[x][2];
        horizontal[x] = sums[x][0] + sums[x][1];
        diagonal[x] = -sums[x][1] - sums[x][2];
    }
}

/* Dividing by a power of two is multiplying by its inverse, to the last bit. */
static inline bool has_inverse(double divisor)
{
    int64_t whole = (int64_t)divisor;
    return (whole & (whole - 1)) == 0;
}

void CRN_TARGETED(crn_ranklet_finish32)(const crn_ranklet_finish *job)
{
    const int32_t *sums = job->sums;
    float *out = job->out;
    if (job->step != 1)
        for (int32_t x = 0; x < job->columns; x++)
            out[x * job->step] = (float)((double)sums[x] / job->divisor);
    else if (has_inverse(job->divisor))
        for (int32_t x = 0; x < job->columns; x++)
            out[x] = (float)((double)sums[x] * (1 / job->divisor));
    else
        for (int32_t x = 0; x < job->columns; x++)
            out[x] = (float)((double)sums[x] / job->divisor);
}

void CRN_TARGETED(crn_ranklet_finish64)(const crn_ranklet_finish *job)
{
    const int64_t *sums = job->sums;
    float *out = job->out;
    for (int32_t x = 0; x < job->columns; x++)
        out[x * job->step] = (float)((double)sums[x] / job->divisor);
}

/* Conversion of sums to R; compiled once per target. */
#include <stdbool.h>

#include "stages/openmp/ranklet/ranklet.h"

static void split_64(const crn_ranklet_tile *tile, const int64_t (*sums)[4])
{
    int64_t *vertical = tile->result[0], *horizontal = tile->result[1];
    int64_t *diagonal = tile->result[2];
    for (int32_t x = 0; x < tile->columns; x++) {
        vertical[x] = sums[x][0] + sums[x][2];
        horizontal[x] = sums[x][0] + sums[x][1];
        diagonal[x] = -sums[x][1] - sums[x][2];
    }
}

/* Restores complete sums from the first position's: neighbours differ by less than 2^31. */
static void split_wrapped(const crn_ranklet_tile *tile, const int64_t *full,
                          const uint32_t (*sums)[4])
{
    int64_t *vertical = tile->result[0], *horizontal = tile->result[1];
    int64_t *diagonal = tile->result[2];
    int64_t a = full[0], b = full[1], c = full[2];
    for (int32_t x = 0; x < tile->columns; x++) {
        a += (int32_t)(sums[x][0] - (uint32_t)a);
        b += (int32_t)(sums[x][1] - (uint32_t)b);
        c += (int32_t)(sums[x][2] - (uint32_t)c);
        vertical[x] = a + c;
        horizontal[x] = a + b;
        diagonal[x] = -b - c;
    }
}

static void split_32(const crn_ranklet_tile *tile, const int32_t (*sums)[4])
{
    int32_t *vertical = tile->result[0], *horizontal = tile->result[1];
    int32_t *diagonal = tile->result[2];
    for (int32_t x = 0; x < tile->columns; x++) {
        vertical[x] = sums[x][0] + sums[x][2];
        horizontal[x] = sums[x][0] + sums[x][1];
        diagonal[x] = -sums[x][1] - sums[x][2];
    }
}

void CRN_TARGETED(crn_ranklet_split)(const crn_ranklet_tile *tile, int32_t y)
{
    const uint8_t *row = (const uint8_t *)tile->sums + (size_t)y * crn_ranklet_sums_bytes(tile);
    const void *sums = row + CRN_RANKLET_FULL_BYTES;
    if (tile->counts_width >= CRN_RANKLET_64)
        split_64(tile, (const int64_t(*)[4])(const void *)row);
    else if (tile->counts_width == CRN_RANKLET_WRAPPED)
        split_wrapped(tile, (const int64_t *)(const void *)row, sums);
    else
        split_32(tile, sums);
}

/* Division by a power of two is exactly multiplication by its inverse. */
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

/* Rows of the picture as f32, extended past its left and right borders. */
#include "stages/openmp/convolve/convolve.h"

#include <string.h>

#include "stages/serial/convolve.h"

static const uint8_t *pixel_at(const crn_convolve_rows *in, int32_t row, int32_t x)
{
    return in->data + row * in->row_bytes + x * in->step;
}

static void copy_dense(const crn_convolve_job *job, const uint8_t *from, float *to, size_t count)
{
    if (job->type == CRN_U8)
        job->filters->widen(from, to, count);
    else
        memcpy(to, from, count * sizeof *to);
}

/* Copies pixels inside of the picture. */
static void copy_pixels(const crn_convolve_job *job, const crn_convolve_rows *in, int32_t row,
                        int32_t x, int32_t count, float *to)
{
    const uint8_t *from = pixel_at(in, row, x);
    if (in->dense) {
        copy_dense(job, from, to, (size_t)count * (size_t)job->channels);
        return;
    }
    for (int32_t i = 0; i < count; i++, from += in->step) {
        if (job->type == CRN_U8)
            to[i] = *from;
        else
            memcpy(to + i, from, sizeof *to);
    }
}

/* Fills pixels first to end - 1 of an extended row that begins at pixel `begin`; all are outside of
 * the picture. */
static void copy_border(const crn_convolve_job *job, const crn_convolve_rows *in, int32_t row,
                        int64_t begin, int64_t first, int64_t end, float *to)
{
    size_t channels = (size_t)job->channels;
    for (int64_t x = first; x < end; x++) {
        float *pixel = to + (size_t)(x - begin) * channels;
        int32_t source = crn_convolve_source(job->params->border, x, job->width);
        if (source < 0)
            memset(pixel, 0, channels * sizeof *pixel);
        else
            copy_dense(job, pixel_at(in, row, source), pixel, channels);
    }
}

void crn_convolve_extend(const crn_convolve_job *job, const crn_convolve_rows *in, int32_t row,
                         const crn_convolve_tile *tile, float *to)
{
    int64_t begin = (int64_t)tile->x - job->params->width / 2;
    int64_t end = begin + tile->width + job->params->width - 1;
    if (row < 0) {
        memset(to, 0, (size_t)(end - begin) * (size_t)job->channels * sizeof *to);
        return;
    }
    int64_t first = begin < 0 ? 0 : begin, last = end > job->width ? job->width : end;
    copy_border(job, in, row, begin, begin, first, to);
    copy_pixels(job, in, row, (int32_t)first, (int32_t)(last - first),
                to + (size_t)(first - begin) * (size_t)job->channels);
    copy_border(job, in, row, begin, last, end, to);
}

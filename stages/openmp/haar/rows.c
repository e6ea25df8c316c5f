/* Conversion between rows of any type and strides and dense floats. */
#include "stages/openmp/haar/haar.h"

#include <string.h>

#include <xmmintrin.h>

static bool is_dense(const crn_haar_job *job, const crn_image *image)
{
    return image->step == job->channels;
}

bool crn_haar_is_in_place(const crn_haar_job *job, const crn_image *image)
{
    bool has_own_rows = image->row_stride != 0 || image->height == 1;
    return image->type == CRN_F32 && is_dense(job, image) && has_own_rows;
}

static float *place(const crn_image *image, int32_t y, int32_t x)
{
    return (float *)image->data + y * image->row_stride + x * image->step;
}

static void gather(const crn_haar_job *job, const crn_image *from, ptrdiff_t index, int32_t width,
                   float *to)
{
    if (from->type == CRN_F32) {
        for (int32_t x = 0; x < width; x++)
            to[x] = ((const float *)from->data)[index + x * from->step];
        return;
    }
    uint8_t bytes[64];
    for (int32_t x = 0; x < width; x += 64) {
        int32_t count = width - x < 64 ? width - x : 64;
        for (int32_t i = 0; i < count; i++)
            bytes[i] = ((const uint8_t *)from->data)[index + (x + i) * from->step];
        job->kernels->widen(bytes, to + x, (size_t)count, job->unit);
    }
}

float *crn_haar_read_row(const crn_haar_job *job, const crn_image *from, int32_t y, int32_t x,
                         int32_t width, float *spare)
{
    ptrdiff_t index = y * from->row_stride + x * from->step;
    size_t count = (size_t)width * (size_t)job->channels;
    if (crn_haar_is_in_place(job, from))
        return (float *)from->data + index;
    if (!is_dense(job, from))
        gather(job, from, index, width, spare);
    else if (from->type == CRN_F32)
        memcpy(spare, (const float *)from->data + index, count * sizeof *spare);
    else
        job->kernels->widen((const uint8_t *)from->data + index, spare, count, job->unit);
    return spare;
}

const float *crn_haar_prefetch_row(const crn_haar_job *job, const crn_image *from, int64_t y,
                                   int32_t x, const float *now)
{
    bool is_there = y < from->height && from->type == CRN_F32 && is_dense(job, from);
    return is_there ? place(from, (int32_t)y, x) : now;
}

static bool is_streamed(const crn_haar_job *job, const crn_image *to)
{
    return to == &job->averages ? job->stream_averages : job->stream;
}

float *crn_haar_target_row(const crn_haar_job *job, const crn_image *to, int32_t y, int32_t x,
                           float *spare, bool *ret_streamed)
{
    *ret_streamed = false;
    if (!is_dense(job, to))
        return spare;
    float *at = place(to, y, x);
    if (!is_streamed(job, to))
        return at;
    *ret_streamed = job->channels == 1 && (uintptr_t)at % CRN_HAAR_LINE_BYTES == 0;
    return *ret_streamed ? at : spare;
}

void crn_haar_finish_row(const crn_haar_job *job, const crn_image *to, int32_t y, int32_t x,
                         int32_t width, const float *row)
{
    if (width == 0)
        return;
    float *at = place(to, y, x);
    if (row == at)
        return;
    if (!is_dense(job, to))
        for (int32_t i = 0; i < width; i++)
            at[i * to->step] = row[i];
    else if (is_streamed(job, to))
        job->kernels->stream(row, at, (size_t)width * (size_t)job->channels);
}

void crn_haar_fence(void)
{
    _mm_sfence();
}

void crn_haar_strip_copy(const crn_haar_job *job, int32_t begin, int32_t end, float *memory)
{
    int32_t width = job->in.width;
    for (int32_t y = begin; y < end && !crn_haar_is_over(job, 1); y++) {
        const float *row = crn_haar_read_row(job, &job->in, y, 0, width, memory);
        if (is_dense(job, &job->out))
            memcpy(place(&job->out, y, 0), row,
                   (size_t)width * (size_t)job->channels * sizeof *row);
        else
            crn_haar_finish_row(job, &job->out, y, 0, width, row);
    }
}

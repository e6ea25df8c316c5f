/*
 * The CPU Haar transform (openmp): types and functions shared by its files.
 *
 *   haar.c         entry point: scratch memory, planes, strips, threads, order of the passes
 *   strips.c       forward and inverse: strips of rows through several levels at once
 *   tiles.c        denoise: tiles forward and back
 *   rows.c         conversion between rows of any type and strides and dense floats
 *   haar_simd.c    two rows through one level, with the vectors of vector.h
 *
 * A row has `width` pixels of `channels` interleaved channels (1 for a single plane): the
 * neighbouring pixel is `channels` elements away, and all channels are processed together.
 */
#ifndef CRN_STAGES_OPENMP_HAAR_HAAR_H
#define CRN_STAGES_OPENMP_HAAR_HAAR_H

#include "stages/context.h"
#include "stages/ops.h"

/* Two rows of pixels and the four rows of half their width that they transform to. Without a second
 * pixel row, `bottom` equals `top`. No rows overlap. */
typedef struct crn_haar_rows {
    int32_t width, channels;
    float *top, *bottom;
    float *average, *row, *column, *diagonal;
    float *soft_top, *soft_bottom; /* denoise: output rows of pixels */
    /* The picture does not fit into the cache; the fields below are only used in that case. */
    bool is_large;
    /* Output rows, in the order above, that are written with non-temporal stores: rows of one
     * channel that begin at a cache line. A crn_haar_fence() makes them visible to other threads.
     */
    bool streamed[4];
    /* Input rows of the next iteration, in the order above, to be prefetched so that reading and
     * writing overlap. Never NULL. */
    const float *prefetch[4];
} crn_haar_rows;

/* Kernels of one target, for two rows each. */
typedef struct crn_haar_kernels {
    /* Reads top and bottom and writes the other four, including column and diagonal of a row that
     * is paired with itself. */
    void (*forward)(const crn_haar_rows *rows);
    /* The inverse. Writes bottom even if it is not kept. */
    void (*inverse)(const crn_haar_rows *rows);
    /* Writes only `average`. */
    void (*average)(const crn_haar_rows *rows);
    /* Forward and back in one step: reads top and bottom and writes soft_top and soft_bottom, with
     * soft-thresholded differences and with the averages in `average`, or their own if it
     * is NULL. */
    void (*denoise)(const crn_haar_rows *rows, float threshold);
    /* Converts u8 by integer value, or to value / 255 with `unit`. */
    void (*widen)(const uint8_t *from, float *to, size_t count, bool unit);
    /* Copies with non-temporal stores. A crn_haar_fence() makes them visible to other threads. */
    void (*stream)(const float *from, float *to, size_t count);
} crn_haar_kernels;

extern const crn_haar_kernels crn_haar_kernels_baseline;
extern const crn_haar_kernels crn_haar_kernels_avx2;
extern const crn_haar_kernels crn_haar_kernels_avx512;

/* Bytes of a cache line. */
#define CRN_HAAR_LINE_BYTES 64

/* Maximum number of levels per pass. */
#define CRN_HAAR_FUSED_MAX 31

/* One plane, or all channels of an interleaved picture, through the levels of one pass. */
typedef struct crn_haar_job {
    const crn_haar_kernels *kernels;
    crn_image in, out; /* of that many channels, with the size of the first level's input */
    int32_t channels;
    int32_t levels; /* 1 to CRN_HAAR_FUSED_MAX */
    bool unit;
    bool stream; /* `out` is written with non-temporal stores, as it exceeds the cache */
    bool stream_averages;
    float threshold;
    crn_image averages; /* of the last level: written by forward, read by inverse. Denoise: the
                           averages to use instead; no data: keep them */
    crn_pace *pace;     /* the thread's; once it is over strips return early */
} crn_haar_job;

/* True if time is over and work on `rows` more rows must not start. */
static inline bool crn_haar_is_over(const crn_haar_job *job, int64_t rows)
{
    return crn_pace_over(job->pace, rows * job->in.width * job->channels);
}

/* True if rows are read where they are: dense floats, each row at an address of its own. Rows that
 * share one (a row stride of 0) are copied, since kernels take `bottom == top` for a missing row.
 */
bool crn_haar_is_in_place(const crn_haar_job *job, const crn_image *image);

/* `width` pixels as dense floats: in place, or else copied to `spare`. */
float *crn_haar_read_row(const crn_haar_job *job, const crn_image *from, int32_t y, int32_t x,
                         int32_t width, float *spare);

/* The same position in a row that will be read later, for prefetching; `now` if that row does not
 * exist or is not dense floats. */
const float *crn_haar_prefetch_row(const crn_haar_job *job, const crn_image *from, int64_t y,
                                   int32_t x, const float *now);

/* Where to write dense floats of a row: in place, or `spare`; and whether with non-temporal stores.
 * `to` is the job's `out` or `averages`. */
float *crn_haar_target_row(const crn_haar_job *job, const crn_image *to, int32_t y, int32_t x,
                           float *spare, bool *ret_streamed);

/* Stores a row that was written to `spare`. */
void crn_haar_finish_row(const crn_haar_job *job, const crn_image *to, int32_t y, int32_t x,
                         int32_t width, const float *row);

void crn_haar_fence(void);

/* Processes rows of pixels from `begin`, a multiple of 2^levels, to `end`, also a multiple or the
 * height. `memory` is the thread's. */
typedef void crn_haar_strip_fn(const crn_haar_job *job, int32_t begin, int32_t end, float *memory);

crn_haar_strip_fn crn_haar_strip_forward;
crn_haar_strip_fn crn_haar_strip_inverse;
crn_haar_strip_fn crn_haar_strip_denoise;
/* Forward, only the averages of the last level, which must be dense. */
crn_haar_strip_fn crn_haar_strip_average;
/* Zero levels: a copy. */
crn_haar_strip_fn crn_haar_strip_copy;

/* Floats of memory for a strip of any size: for forward and inverse, and for the others. */
size_t crn_haar_strip_floats(const crn_haar_job *job);
size_t crn_haar_tile_floats(const crn_haar_job *job);

/* Floats from row to row of scratch memory. */
static inline size_t crn_haar_row_floats(const crn_haar_job *job, int32_t width)
{
    return ((size_t)width * (size_t)job->channels + 15) / 16 * 16;
}

/* The size of the averages after `levels` levels. */
static inline int32_t crn_haar_halved(int32_t size, int32_t levels)
{
    return (int32_t)(((int64_t)size + ((int64_t)1 << levels) - 1) >> levels);
}

/* An execution variant: chosen by processor and picture size, or by a test. */
typedef struct crn_haar_variant {
    const crn_haar_kernels *kernels;
    int32_t fused;   /* levels per pass, 1 to CRN_HAAR_FUSED_MAX */
    int32_t strips;  /* >= 1; fewer if there are too few rows */
    int32_t threads; /* >= 1 */
    bool stream;     /* non-temporal stores */
} crn_haar_variant;

int crn_haar_openmp_with(const crn_haar_variant *variant, crn_context *context,
                         const crn_haar_params *params, const crn_image *in, crn_image *out);

#endif

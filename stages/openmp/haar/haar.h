/*
 * The fast Haar transform: what its files share.
 *
 *   haar.c         the entry: scratch memory, planes, strips, threads, the order of the steps
 *   strips.c       forward and inverse: strips of rows through several levels at once
 *   tiles.c        denoise: tiles of strips to and back
 *   rows.c         rows of any type and strides as dense floats
 *   haar_simd.c    two rows through one level, with what vector.h brings
 *
 * A row is `width` pixels of `lanes` planes that lie interleaved (1: a plane by itself), so a
 * pixel's neighbour stands `lanes` elements away, and all planes are worked on together.
 */
#ifndef CRN_STAGES_OPENMP_HAAR_HAAR_H
#define CRN_STAGES_OPENMP_HAAR_HAAR_H

#include "stages/context.h"
#include "stages/ops.h"

/* Two rows of pixels, and the rows of half their width that they become. With no second row of
 * pixels `bottom` is `top`. No row overlaps another. */
typedef struct crn_haar_rows {
    int32_t width, lanes;
    float *top, *bottom;
    float *average, *row, *column, *diagonal;
    float *soft_top, *soft_bottom; /* to denoise: what the pixels become */
    /* Of a picture that does not stay in the cache; else the rest does not count. */
    bool is_large;
    /* Which of the rows that are written go past the cache, in the order above: those that begin
     * where a line of the cache does, of one lane. Others see them after a crn_haar_fence(). */
    bool past[4];
    /* What will be read next, laid out as what is read now, in the order above: it is brought
     * nearer meanwhile, so that reading and writing overlap. Never NULL. */
    const float *soon[4];
} crn_haar_rows;

/* What an instruction set does with two rows. */
typedef struct crn_haar_kernels {
    /* Reads top and bottom, writes the other four; columns and diagonals of a row that is its own
     * twin too. */
    void (*forward)(const crn_haar_rows *rows);
    /* The reverse. A bottom that is not kept is written all the same. */
    void (*inverse)(const crn_haar_rows *rows);
    /* Writes `average` alone. */
    void (*average)(const crn_haar_rows *rows);
    /* There and back: reads top and bottom, writes soft_top and soft_bottom, with soft differences
     * and with the averages of `average`, or their own where that is NULL. */
    void (*denoise)(const crn_haar_rows *rows, float threshold);
    /* u8 as whole numbers, or as value / 255. */
    void (*widen)(const uint8_t *from, float *to, size_t count, bool unit);
    /* Copies past the cache. Other threads see it after a crn_haar_fence(). */
    void (*stream)(const float *from, float *to, size_t count);
} crn_haar_kernels;

extern const crn_haar_kernels crn_haar_kernels_baseline;
extern const crn_haar_kernels crn_haar_kernels_avx2;
extern const crn_haar_kernels crn_haar_kernels_avx512;

/* A line of the cache. */
#define CRN_HAAR_LINE_BYTES 64

/* Levels that are worked on at once. */
#define CRN_HAAR_FUSED_MAX 31

/* One plane, or all planes of an interleaved picture, through some levels. */
typedef struct crn_haar_job {
    const crn_haar_kernels *kernels;
    crn_image in, out; /* of `lanes` planes, and of the size of the level that is begun with */
    int32_t lanes;
    int32_t levels; /* from 1, at most CRN_HAAR_FUSED_MAX */
    bool unit;
    bool stream; /* what goes to `out` goes past the cache: it is too large to stay there */
    bool stream_averages;
    float threshold;
    crn_image averages; /* of the last level: where forward puts them and inverse takes them from.
                           To denoise: with what to replace them; no data: they stay */
    crn_pace *pace;     /* the thread's; once it is over strips end half-way */
} crn_haar_job;

/* Whether `rows` more of the picture are not to be begun. */
static inline bool crn_haar_is_over(const crn_haar_job *job, int64_t rows)
{
    return crn_pace_over(job->pace, rows * job->in.width * job->lanes);
}

/* `width` pixels as dense floats: where they are, or else put into `spare`. */
float *crn_haar_read_row(const crn_haar_job *job, const crn_image *from, int32_t y, int32_t x,
                         int32_t width, float *spare);

/* Where the same stands of a row that will be read later; `now` if nothing can be brought nearer:
 * there is no such row, or it is not dense floats. */
const float *crn_haar_soon_row(const crn_haar_job *job, const crn_image *from, int64_t y, int32_t x,
                               const float *now);

/* Where dense floats may be written that belong there: there, or `spare`; and whether past the
 * cache. `to` is the job's `out` or `averages`. */
float *crn_haar_target_row(const crn_haar_job *job, const crn_image *to, int32_t y, int32_t x,
                           float *spare, bool *ret_past);

/* Brings what was written to `spare` to where it belongs. */
void crn_haar_finish_row(const crn_haar_job *job, const crn_image *to, int32_t y, int32_t x,
                         int32_t width, const float *row);

void crn_haar_fence(void);

/* Rows of pixels from `begin`, a multiple of 2^levels, to `end`, one too or the height. The memory
 * is the thread's. */
typedef void crn_haar_strip_fn(const crn_haar_job *job, int32_t begin, int32_t end, float *memory);

crn_haar_strip_fn crn_haar_strip_forward;
crn_haar_strip_fn crn_haar_strip_inverse;
crn_haar_strip_fn crn_haar_strip_denoise;
/* Forward, but the averages of the last level alone, which must be dense. */
crn_haar_strip_fn crn_haar_strip_average;
/* No level at all. */
crn_haar_strip_fn crn_haar_strip_copy;

/* Floats of memory that a strip needs, whatever its size: of the first two, and of the others. */
size_t crn_haar_strip_floats(const crn_haar_job *job);
size_t crn_haar_tile_floats(const crn_haar_job *job);

/* Floats from one row of scratch memory to the next. */
static inline size_t crn_haar_row_floats(const crn_haar_job *job, int32_t width)
{
    return ((size_t)width * (size_t)job->lanes + 15) / 16 * 16;
}

/* The size of the averages that so many levels leave. */
static inline int32_t crn_haar_halved(int32_t size, int32_t levels)
{
    return (int32_t)(((int64_t)size + ((int64_t)1 << levels) - 1) >> levels);
}

/* How to go about it: chosen by the processor and the picture's size, or by a test. */
typedef struct crn_haar_variant {
    const crn_haar_kernels *kernels;
    int32_t fused;   /* levels at once, from 1 to CRN_HAAR_FUSED_MAX */
    int32_t strips;  /* >= 1; fewer where the rows do not suffice */
    int32_t threads; /* >= 1 */
    bool stream;     /* write past the cache */
} crn_haar_variant;

int crn_haar_openmp_with(const crn_haar_variant *way, crn_context *context,
                         const crn_haar_params *params, const crn_image *in, crn_image *out);

#endif

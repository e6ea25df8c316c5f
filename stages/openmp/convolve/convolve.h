/*
 * The CPU convolution (openmp): types and functions shared by its files, and by their tests.
 *
 * Code works on rows of elements: the neighbouring pixel is 1 element away in a planar picture, C
 * in an interleaved one, and the same code serves both. A filter computes up to CRN_CONVOLVE_DOWN
 * output rows at once from f32 rows that are already extended past the picture by the overlap of
 * the kernel.
 */
#ifndef CRN_STAGES_OPENMP_CONVOLVE_CONVOLVE_H
#define CRN_STAGES_OPENMP_CONVOLVE_CONVOLVE_H

#include "stages/openmp/simd.h"
#include "stages/context.h"
#include "stages/ops.h"

#define CRN_CONVOLVE_DOWN 4 /* output rows computed at once; or one */

/* Elements that a filter may read past the last one that it needs of a row. */
#define CRN_CONVOLVE_PADDING 16

/* A kernel for filters: horizontally adjacent taps are `step` elements apart. */
typedef struct crn_convolve_taps {
    const float *weights; /* height x width, dense */
    int32_t width, height;
    ptrdiff_t step;
} crn_convolve_taps;

/*
 * Computes `down` (1 or CRN_CONVOLVE_DOWN) rows of `count` results each: out[r][x] is the sum over
 * j, i of weight (j, i) x rows[r + j][x + i * step], in that order. If count <
 * CRN_CONVOLVE_PADDING, rows are read up to that many elements past the last one needed, else not
 * past it.
 */
typedef void crn_convolve_filter_fn(const crn_convolve_taps *taps, const float *const *rows,
                                    size_t count, int32_t down, void *const *out);

/* The functions of one target. */
typedef struct crn_convolve_filters {
    crn_convolve_filter_fn *to_f32;
    crn_convolve_filter_fn *to_u8; /* rounds half to even, saturates */
    void (*widen)(const uint8_t *from, float *to, size_t count);
} crn_convolve_filters;

extern const crn_convolve_filters crn_convolve_filters_baseline;
extern const crn_convolve_filters crn_convolve_filters_avx2;
extern const crn_convolve_filters crn_convolve_filters_avx512;

/* Rows of elements: of one plane, or of all channels of an interleaved picture. */
typedef struct crn_convolve_rows {
    uint8_t *data;
    ptrdiff_t row_bytes;
    ptrdiff_t step; /* bytes to the next pixel; channels x size for dense rows */
    size_t size;    /* bytes of an element */
    bool dense;
} crn_convolve_rows;

/* A range of columns, filtered from top to bottom before the next one. */
typedef struct crn_convolve_tile {
    int32_t x, width; /* pixels */
    bool direct; /* f32: filters read the picture directly, as the kernel stays inside it here */
} crn_convolve_tile;

typedef struct crn_convolve_job {
    const crn_convolve_params *params;
    const crn_convolve_filters *filters;
    int32_t height, width, planes; /* planes: 1 if interleaved */
    ptrdiff_t channels; /* elements per pixel: 1, or the number of interleaved channels */
    crn_type type;
    bool separable;
    crn_convolve_taps first; /* the row factor, if separable */
    crn_convolve_taps taps;  /* the kernel, or its column factor */
    int32_t tile_width;      /* pixels */
    int32_t ring;            /* number of rows kept in the ring */
    size_t pitch;            /* floats from row to row of the ring */
    const crn_image *in, *out;
} crn_convolve_job;

/* Scratch memory of one thread. */
typedef struct crn_convolve_scratch {
    float *ring;         /* job->ring rows */
    float *extended;     /* a row before the horizontal pass, if separable */
    const float **rows;  /* twice job->ring pointers: the ring's rows, listed twice so that any
                            window is contiguous */
    uint8_t *results;    /* CRN_CONVOLVE_DOWN output rows, if the picture's are not dense */
    size_t result_bytes; /* of one of them */
    crn_pace pace;
} crn_convolve_scratch;

/* Writes, as f32, the elements under the kernel for the results x .. x + width - 1 of a picture's
 * row (-1: a row of zeros), with border handling. */
void crn_convolve_extend(const crn_convolve_job *job, const crn_convolve_rows *in, int32_t row,
                         const crn_convolve_tile *tile, float *to);

/* An execution variant: chosen by processor and picture size, or by a test. */
typedef struct crn_convolve_variant {
    const crn_convolve_filters *filters;
    int32_t strips;     /* >= 1; fewer where the rows do not suffice */
    int32_t threads;    /* >= 1; fewer if there are too few rows */
    int32_t tile_width; /* pixels; 0: chosen by cache size */
    enum { CRN_CONVOLVE_BY_COST, CRN_CONVOLVE_WHOLE, CRN_CONVOLVE_FACTORED } passes;
} crn_convolve_variant;

int crn_convolve_openmp_with(const crn_convolve_variant *variant, crn_context *context,
                             const crn_convolve_params *params, const crn_image *in,
                             crn_image *out);

#endif

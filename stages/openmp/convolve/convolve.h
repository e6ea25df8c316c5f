/*
 * The fast convolution: its parts, and how a test drives each of them.
 *
 * Rows are rows of elements: a planar picture's neighbour stands 1 away, an interleaved one's C,
 * and the same code serves both. A filter computes up to CRN_CONVOLVE_DOWN rows of results at once
 * from rows of f32 that already reach beyond the picture by what the kernel overlaps.
 */
#ifndef CRN_STAGES_OPENMP_CONVOLVE_CONVOLVE_H
#define CRN_STAGES_OPENMP_CONVOLVE_CONVOLVE_H

#include "stages/openmp/simd.h"
#include "stages/context.h"
#include "stages/ops.h"

#define CRN_CONVOLVE_DOWN 4 /* rows of results at once, or one */

/* Elements that a filter may read beyond the last one that it needs of a row. */
#define CRN_CONVOLVE_SLACK 16

/* A kernel as filters take it: neighbours under it stand `step` elements apart. */
typedef struct crn_convolve_taps {
    const float *weights; /* height x width, dense */
    int32_t width, height;
    ptrdiff_t step;
} crn_convolve_taps;

/*
 * `down` (1 or CRN_CONVOLVE_DOWN) rows of `count` results each: out[r][x] is the sum over j, i of
 * weight (j, i) x rows[r + j][x + i * step], in that order. Where count < CRN_CONVOLVE_SLACK, rows
 * are read up to that many elements further than needed, else no further.
 */
typedef void crn_convolve_filter_fn(const crn_convolve_taps *taps, const float *const *rows,
                                    size_t count, int32_t down, void *const *out);

/* What each target has. */
typedef struct crn_convolve_filters {
    crn_convolve_filter_fn *to_f32;
    crn_convolve_filter_fn *to_u8; /* half to even, saturated */
    void (*widen)(const uint8_t *from, float *to, size_t count);
} crn_convolve_filters;

extern const crn_convolve_filters crn_convolve_filters_baseline;
extern const crn_convolve_filters crn_convolve_filters_avx2;
extern const crn_convolve_filters crn_convolve_filters_avx512;

/* Elements of rows: one plane, or all of an interleaved picture. */
typedef struct crn_convolve_rows {
    uint8_t *data;
    ptrdiff_t row_bytes;
    ptrdiff_t step; /* bytes to the next pixel; with dense rows lanes x size */
    size_t size;    /* bytes of an element */
    bool dense;
} crn_convolve_rows;

/* Columns of the picture that are filtered from top to bottom before the next. */
typedef struct crn_convolve_tile {
    int32_t x, width; /* pixels */
    bool direct; /* f32: filters may read the picture itself, the kernel never leaves it here */
} crn_convolve_tile;

typedef struct crn_convolve_job {
    const crn_convolve_params *params;
    const crn_convolve_filters *filters;
    int32_t height, width, planes; /* planes: of an interleaved picture 1 */
    ptrdiff_t lanes;               /* elements of a pixel: 1, or an interleaved picture's planes */
    crn_type type;
    bool separable;
    crn_convolve_taps first; /* along the row, when separable */
    crn_convolve_taps taps;  /* the kernel, or its column */
    int32_t tile_width;      /* pixels */
    int32_t ring;            /* rows that are kept at once */
    size_t pitch;            /* floats of a kept row */
    const crn_image *in, *out;
} crn_convolve_job;

/* What a thread works with. */
typedef struct crn_convolve_scratch {
    float *ring;         /* job->ring rows */
    float *extended;     /* a row before it is filtered along, when separable */
    const float **rows;  /* twice job->ring: each row's place, and once more behind */
    uint8_t *results;    /* CRN_CONVOLVE_DOWN rows of results, where the picture's are not dense */
    size_t result_bytes; /* of one of them */
    crn_pace pace;
} crn_convolve_scratch;

/* Writes the elements under the kernel for results x .. x + width - 1 of a picture's row (-1: of
 * zeros), those beyond the picture included, as f32. */
void crn_convolve_extend(const crn_convolve_job *job, const crn_convolve_rows *in, int32_t row,
                         const crn_convolve_tile *tile, float *to);

/* How to go about it: chosen by the processor and the picture's size, or by a test. */
typedef struct crn_convolve_variant {
    const crn_convolve_filters *filters;
    int32_t strips;     /* >= 1; fewer where the rows do not suffice */
    int32_t threads;    /* >= 1 */
    int32_t tile_width; /* pixels; 0: as the cache likes it */
    enum { CRN_CONVOLVE_BY_COST, CRN_CONVOLVE_WHOLE, CRN_CONVOLVE_FACTORED } passes;
} crn_convolve_variant;

int crn_convolve_openmp_with(const crn_convolve_variant *way, crn_context *context,
                             const crn_convolve_params *params, const crn_image *in,
                             crn_image *out);

#endif

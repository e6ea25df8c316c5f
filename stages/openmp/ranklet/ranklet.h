/*
 * The CPU ranklets (openmp): types and functions shared by its files.
 *
 *   ranklet.c               entry point: tiles, threads, scratch memory
 *   columns_simd.c          larger windows: histograms per column, summed along a row
 *   pairs8_simd.c,  smaller windows: comparisons of pixel pairs, a row at a time
 *   pairs16_simd.c
 *   finish_simd.c           sums become R
 *
 * A window has the quarters a b / c d. With AB for the sum of sign(p - q) over p in a, q in b:
 *
 *   vertical    = AB + AD + CB + CD      horizontal = AC + AD + BC + BD
 *   diagonal    = AB + AC + DB + DC
 *
 * and with W the whole window, as AA = 0 and AB = -BA:
 *
 *   vertical    = AW + CW                horizontal = AW + BW
 *   diagonal    = AW + DW                0          = AW + BW + CW + DW
 */
#ifndef CRN_STAGES_OPENMP_RANKLET_RANKLET_H
#define CRN_STAGES_OPENMP_RANKLET_RANKLET_H

#include "stages/context.h"
#include "stages/openmp/simd.h"
#include "stages/ops.h"

/* Padding in elements, one vector's: rows of codes and sums may be read, and those in scratch
 * memory written, that far past their end. */
#define CRN_RANKLET_MARGIN 64

/* Number of histogram bins. */
#define CRN_RANKLET_BINS 256

/* Integer widths used in the columns variant, by the size of the window. */
typedef enum crn_ranklet_width {
    CRN_RANKLET_8,       /* 8-bit counts, 16-bit sums */
    CRN_RANKLET_16,      /* 16-bit counts and sums */
    CRN_RANKLET_32,      /* 16-bit counts, 32-bit sums and sums of products */
    CRN_RANKLET_WRAPPED, /* the same, sums of products modulo 2^32: neighbours differ by less */
    CRN_RANKLET_64,      /* the same, 64-bit sums of products */
    CRN_RANKLET_ANY,
} crn_ranklet_width;

/* A task: a rectangle of window positions, and the pixels under their windows as codes, which have
 * the same order as the values. */
typedef struct crn_ranklet_tile {
    int32_t width, height; /* of the window */
    int32_t rows, columns; /* of positions */
    const void *codes;     /* (rows + height - 1) rows; points at the first element */
    ptrdiff_t stride;      /* from row to row of codes, in elements */

    /* Columns variant: */
    crn_ranklet_width counts_width;
    int32_t bins; /* a multiple of 128; greater than all codes */
    bool clipped; /* codes 0 and bins - 1 stand for values out of range, which are compared with but
                     not counted */
    void *counts; /* per column, three arrays of `bins`: histogram of the upper half, of the lower
                     half, and each value's score against the whole column */
    void *sums; /* per row: CRN_RANKLET_FULL_BYTES, if WRAPPED with the first position's AW, BW, CW
                   in int64_t; then per position AW, BW, CW and padding in int32_t, or in int64_t
                   from CRN_RANKLET_64 on */

    /* Pairs variant: */
    void *pairs; /* by displacement, rows of sums of pairs */
    void *rings; /* ring of rows of AB, and one row each of AC, AD, BC */
    ptrdiff_t pairs_stride;

    void *result[3]; /* one row of sums each: vertical, horizontal, diagonal */

    crn_pace *pace; /* the thread's; once it is over, results are discarded */
} crn_ranklet_tile;

#define CRN_RANKLET_FULL_BYTES 32

/* Bytes from row to row of a tile's sums. */
static inline size_t crn_ranklet_sums_bytes(const crn_ranklet_tile *tile)
{
    size_t columns = (size_t)tile->columns;
    return tile->counts_width >= CRN_RANKLET_64 ? columns * 4 * sizeof(int64_t)
                                                : CRN_RANKLET_FULL_BYTES + columns * 16;
}

/* Steps of a tile: start; then for every row `row`, with `advance` between rows. */
typedef void crn_ranklet_row_fn(crn_ranklet_tile *tile, int32_t y);

typedef struct crn_ranklet_finish {
    double divisor;
    const void *sums;
    int32_t columns;
    float *out;
    ptrdiff_t step;
} crn_ranklet_finish;

/* The functions of one target. */
typedef struct crn_ranklet_target {
    crn_ranklet_row_fn *columns_start, *columns_row, *columns_advance;
    crn_ranklet_row_fn *pairs8_start, *pairs8_row, *pairs8_advance;
    crn_ranklet_row_fn *pairs16_start, *pairs16_row, *pairs16_advance;
    /* Splits AW, BW, CW into the three results; converts sums of 32 or 64 bits to f32. */
    void (*split)(const crn_ranklet_tile *tile, int32_t y);
    void (*finish32)(const crn_ranklet_finish *job);
    void (*finish64)(const crn_ranklet_finish *job);
} crn_ranklet_target;

#define CRN_RANKLET_DECLARE(target)                                                                \
    crn_ranklet_row_fn crn_ranklet_columns_start_##target;                                         \
    crn_ranklet_row_fn crn_ranklet_columns_row_##target;                                           \
    crn_ranklet_row_fn crn_ranklet_columns_advance_##target;                                       \
    crn_ranklet_row_fn crn_ranklet_pairs8_start_##target;                                          \
    crn_ranklet_row_fn crn_ranklet_pairs8_row_##target;                                            \
    crn_ranklet_row_fn crn_ranklet_pairs8_advance_##target;                                        \
    crn_ranklet_row_fn crn_ranklet_pairs16_start_##target;                                         \
    crn_ranklet_row_fn crn_ranklet_pairs16_row_##target;                                           \
    crn_ranklet_row_fn crn_ranklet_pairs16_advance_##target;                                       \
    void crn_ranklet_split_##target(const crn_ranklet_tile *tile, int32_t y);                      \
    void crn_ranklet_finish32_##target(const crn_ranklet_finish *job);                             \
    void crn_ranklet_finish64_##target(const crn_ranklet_finish *job)

CRN_RANKLET_DECLARE(baseline);
CRN_RANKLET_DECLARE(avx2);
CRN_RANKLET_DECLARE(avx512);

typedef enum crn_ranklet_method {
    CRN_RANKLET_BY_COST,
    CRN_RANKLET_PAIRS, /* only if their sums fit into the integer types */
    CRN_RANKLET_COLUMNS,
} crn_ranklet_method;

/* An execution variant: chosen by processor, window and picture, or by a test. */
typedef struct crn_ranklet_variant {
    crn_target target;
    int32_t rows, columns; /* maximum positions of a tile */
    int32_t threads;
    crn_ranklet_method method;
    crn_ranklet_width counts_width; /* at least as wide as necessary */
} crn_ranklet_variant;

crn_ranklet_width crn_ranklet_width_needed(const crn_ranklet_params *params);

int crn_ranklet_openmp_with(const crn_ranklet_variant *variant, crn_context *context,
                            const crn_ranklet_params *params, const crn_image *in, crn_image *out);

#endif

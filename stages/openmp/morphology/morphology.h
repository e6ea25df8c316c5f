/*
 * The CPU morphology (openmp): types and functions shared by its files.
 *
 *   morphology.c            entry point: tiles, threads, the passes of each operation
 *   plan.c                  decomposition of an element into runs, and of runs into levels
 *   pass.c                  an erosion or dilation of a tile, row by row from top to bottom
 *   rows_simd.c, rhombus_simd.c             vectorised operations on rows
 *
 * A row is a sequence of elements in which the right neighbour is `channels` elements away: one
 * plane, or all channels of an interleaved picture. Erosion and dilation differ in the plan (the
 * element is reflected) and in the kind: minimum or maximum, u8 or f32. Outside of the picture
 * elements have the kind's neutral value, which never wins.
 */
#ifndef CRN_STAGES_OPENMP_MORPHOLOGY_MORPHOLOGY_H
#define CRN_STAGES_OPENMP_MORPHOLOGY_MORPHOLOGY_H

#include "stages/context.h"
#include "stages/ops.h"

typedef enum crn_morphology_kind {
    CRN_MORPHOLOGY_MIN_U8,
    CRN_MORPHOLOGY_MAX_U8,
    CRN_MORPHOLOGY_MIN_F32,
    CRN_MORPHOLOGY_MAX_F32,
} crn_morphology_kind;

static inline bool crn_morphology_is_f32(crn_morphology_kind kind)
{
    return kind == CRN_MORPHOLOGY_MIN_F32 || kind == CRN_MORPHOLOGY_MAX_F32;
}

/* A row under one member of a non-flat element. */
typedef struct crn_morphology_raised {
    const uint8_t *row;   /* the element under the member for the first element of the result */
    ptrdiff_t first, end; /* elements of the result for which the member lies on the picture */
    float height;         /* the member's */
} crn_morphology_raised;

/* Row operations. Rows, except those of the caller's pictures, may be read up to
 * CRN_MORPHOLOGY_PADDING bytes past either end; exactly `bytes` bytes are written. */
#define CRN_MORPHOLOGY_PADDING 64

/* The same for the rhombus kernels, which read whole cache lines. */
#define CRN_MORPHOLOGY_RHOMBUS_PADDING 192

/* Output rows that a rhombus kernel computes at a time. */
#define CRN_MORPHOLOGY_RHOMBUS_BLOCK 8

typedef struct crn_morphology_kernels {
    const char *name;
    /* Copies a caller's row, with NaN replaced by the neutral value and -0 by +0. */
    void (*load)(crn_morphology_kind kind, void *to, const void *from, size_t bytes);
    /* Minimum or maximum of `count` >= 1 rows. */
    void (*merge)(crn_morphology_kind kind, void *to, const void *const *rows, size_t count,
                  size_t bytes);
    /* Sliding extremes down the rows: to[i] = extreme of rows[i] .. rows[i + window - 1], `count`
     * of them. */
    void (*stack)(crn_morphology_kind kind, void *const *to, const void *const *rows,
                  int32_t window, int32_t count, size_t bytes);
    /* Rhombus of radius 1 or 2 centred on to[i], from rows[i] .. rows[i + 2 * radius], for
     * CRN_MORPHOLOGY_RHOMBUS_BLOCK rows; adjacent pixels are `unit` bytes apart. */
    void (*rhombus)(crn_morphology_kind kind, int32_t radius, void *const *to,
                    const void *const *rows, size_t unit, size_t bytes);
    /* Extreme of rows + heights, for non-flat elements. */
    void (*raise)(crn_morphology_kind kind, void *to, const crn_morphology_raised *members,
                  size_t count, size_t bytes);
    /* a - b with the semantics of the difference operations; a or b, and `to`, may be
     * the caller's. */
    void (*subtract)(bool is_f32, void *to, const void *a, const void *b, size_t bytes);
} crn_morphology_kernels;

extern const crn_morphology_kernels crn_morphology_kernels_baseline;
extern const crn_morphology_kernels crn_morphology_kernels_avx2;
extern const crn_morphology_kernels crn_morphology_kernels_avx512;

/* A run (chord) of members: (dx, dy) to (dx + length - 1, dy), relative to the result's pixel. */
typedef struct crn_morphology_run {
    int32_t dx, dy, length;
    int32_t level;
} crn_morphology_run;

/* A member of a non-flat element. */
typedef struct crn_morphology_member {
    int32_t dx, dy;
    float height; /* as added to the picture's values */
} crn_morphology_member;

/* Extremes of `length` pixels starting at each pixel of a row, computed from those of a shorter
 * level shifted by `offsets` pixels. Level 0 is the row itself. */
typedef struct crn_morphology_level {
    int32_t length, from, parts, offsets[3];
    bool used;  /* by a run; else only by other levels */
    int32_t dx; /* of a run that uses it */
} crn_morphology_level;

typedef struct crn_morphology_plan {
    crn_morphology_run *runs; /* flat elements; in the order of rows */
    size_t run_count;
    crn_morphology_member *members; /* non-flat */
    size_t member_count;
    crn_morphology_level *levels;
    int32_t level_count;
    int32_t above, below, left, right; /* extent of the element, >= 0 */
    bool is_flat;
    bool is_stack;   /* a rectangle: one run in each of adjacent rows */
    int32_t rhombus; /* radius 1 or 2 if the element is a rhombus, all pixels with |dx| + |dy| <=
                        radius; else 0. A rhombus uses no levels */
} crn_morphology_plan;

/* Makes the plan of an element's erosion or dilation for pictures of that size, in 3 scratch slots
 * of the context from `slot` on. 0 or -ENOMEM. */
int crn_morphology_make_plan(crn_context *context, int32_t slot, const crn_element *element,
                             bool dilate, int32_t height, int32_t width,
                             crn_morphology_plan *ret_plan);

/* Ring buffer of the rows of one level: row y is stored at index y mod `rows`. */
typedef struct crn_morphology_ring {
    uint8_t *memory; /* the first element of row 0 */
    size_t stride;   /* bytes from row to row */
    size_t bytes;    /* of a row, without padding */
    int32_t rows;
} crn_morphology_ring;

/* A picture, or one of its planes, as rows of bytes. */
typedef struct crn_morphology_rows {
    uint8_t *data;
    ptrdiff_t row_stride, step; /* bytes */
    int32_t height, width, channels;
    bool is_dense; /* a row is width * channels adjacent elements */
} crn_morphology_rows;

/* An erosion or dilation of the columns `first` to `end` - 1, from top to bottom. */
typedef struct crn_morphology_pass crn_morphology_pass;
struct crn_morphology_pass {
    const crn_morphology_kernels *kernels;
    const crn_morphology_plan *plan;
    crn_morphology_kind kind;
    bool keeps_levels; /* else runs are computed from level 0 each time: slow, but little memory */
    crn_morphology_pass *before;       /* the pass that produces the input rows, or */
    const crn_morphology_rows *source; /* the picture; NULL if there is a `before` */
    int32_t first, end, height, width, channels;
    int32_t data_first, data_end; /* columns inside of the picture among those that it reads */
    int32_t block;                /* maximum number of rows at a time */
    int32_t next;                 /* the next input row */
    crn_pace *pace;               /* the thread's; once it is over no more rows are computed */
    crn_morphology_ring *rings;   /* by level; only level 0 unless levels are kept */
    uint8_t *neutral;             /* a row of neutral values, of the width of an input row */
    uint8_t *run, *best;          /* temporary rows */
    uint8_t *gathered;            /* an input row, if the source is not dense */
    const void **rows;            /* arguments of kernels */
    crn_morphology_raised *raised;
    void **block_rows;
};

/* Maximum number of rows at a time. */
#define CRN_MORPHOLOGY_BLOCK 16

/* Bytes of memory for a pass whose fields up to `block` are set, with up to end - first columns. */
size_t crn_morphology_pass_bytes(const crn_morphology_pass *pass);

/* Assigns the buffers of a pass from `memory` (64-byte aligned) and prepares it for rows from `row`
 * on. A preceding pass must be started afterwards, from this one's `next` on. */
void crn_morphology_pass_start(crn_morphology_pass *pass, void *memory, int32_t row);

/* Computes rows `row` to `row` + `count` - 1; count <= block. Rows must be requested in order. */
void crn_morphology_pass_make(crn_morphology_pass *pass, int32_t row, int32_t count,
                              void *const *to);

/* Columns `first` to `end` - 1 of a row: in place if dense, else gathered. */
const void *crn_morphology_row(const crn_morphology_rows *rows, int32_t row, int32_t first,
                               int32_t end, size_t size, void *gathered);

/* An execution variant. The result does not depend on it. */
typedef struct crn_morphology_variant {
    const crn_morphology_kernels *kernels;
    int32_t threads;
    int32_t strips;    /* of rows */
    int32_t columns;   /* of a tile; 0: chosen by cache size */
    bool saves_memory; /* levels are not kept, as with elements that are too large */
} crn_morphology_variant;

int crn_morphology_openmp_with(const crn_morphology_variant *variant, crn_context *context,
                               const crn_morphology_params *params, const crn_image *in,
                               crn_image *out);

/* The kernels of a target (enum crn_target). */
const crn_morphology_kernels *crn_morphology_kernels_of(int target);

#endif

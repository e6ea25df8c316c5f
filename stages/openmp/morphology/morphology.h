/*
 * The fast morphology: what its files share.
 *
 *   morphology.c            the entry: tiles, threads, which passes make up an operation
 *   plan.c                  an element -> what has to be merged with what
 *   pass.c                  an erosion or dilation that runs down a tile, row by row
 *   rows_simd.c, rhombus_simd.c             what is done to rows: vectors
 *
 * A row is a run of elements in which the neighbour to the right stands `lanes` elements away: one
 * plane, or all planes of an interleaved picture. Erosion and dilation differ in a plan (the
 * reflected element) and in a kind: the least or the greatest, u8 or f32. Where the picture ends
 * stands the kind's neutral value, which never wins.
 */
#ifndef CRN_STAGES_OPENMP_MORPHOLOGY_MORPHOLOGY_H
#define CRN_STAGES_OPENMP_MORPHOLOGY_MORPHOLOGY_H

#include "stages/context.h"
#include "stages/ops.h"

typedef enum crn_morphology_kind {
    CRN_LEAST_U8,
    CRN_GREATEST_U8,
    CRN_LEAST_F32,
    CRN_GREATEST_F32,
} crn_morphology_kind;

static inline bool crn_morphology_is_f32(crn_morphology_kind kind)
{
    return kind == CRN_LEAST_F32 || kind == CRN_GREATEST_F32;
}

/* A row under a member of a non-flat element. */
typedef struct crn_morphology_raised {
    const uint8_t *row;   /* what lies under it for the first element of the result */
    ptrdiff_t first, end; /* elements of the result for which the member lies on the picture */
    float height;         /* to be added */
} crn_morphology_raised;

/*
 * What is done to rows. Rows but those of the caller's pictures may be read up to
 * CRN_MORPHOLOGY_SLOP bytes past either end; nothing is written but the `bytes` asked for.
 */
#define CRN_MORPHOLOGY_SLOP 64

/* As much where a rhombus is made, which reads whole cache lines. */
#define CRN_MORPHOLOGY_RHOMBUS_SLOP 192

/* Rows of a result that a rhombus is made of at a time. */
#define CRN_MORPHOLOGY_RHOMBUS_BLOCK 8

typedef struct crn_morphology_kernels {
    const char *name;
    /* A caller's row as the kind reads it: NaN is neutral, -0 is +0. */
    void (*load)(crn_morphology_kind kind, void *to, const void *from, size_t bytes);
    /* The extreme of `count` >= 1 rows. */
    void (*merge)(crn_morphology_kind kind, void *to, const void *const *rows, size_t count,
                  size_t bytes);
    /* to[i] = the extreme of rows[i] to rows[i + window - 1], for `count` of them. */
    void (*stack)(crn_morphology_kind kind, void *const *to, const void *const *rows,
                  int32_t window, int32_t count, size_t bytes);
    /* The rhombus of radius 1 or 2 about to[i], in rows[i] to rows[i + 2 * radius], for
     * CRN_MORPHOLOGY_RHOMBUS_BLOCK of them; the neighbour stands `unit` bytes away. */
    void (*rhombus)(crn_morphology_kind kind, int32_t radius, void *const *to,
                    const void *const *rows, size_t unit, size_t bytes);
    /* The extreme of rows + heights. */
    void (*raise)(crn_morphology_kind kind, void *to, const crn_morphology_raised *members,
                  size_t count, size_t bytes);
    /* a - b, as the operations that are differences mean it; a or b, and `to`, may be the
     * caller's. */
    void (*subtract)(bool is_f32, void *to, const void *a, const void *b, size_t bytes);
} crn_morphology_kernels;

extern const crn_morphology_kernels crn_morphology_kernels_baseline;
extern const crn_morphology_kernels crn_morphology_kernels_avx2;
extern const crn_morphology_kernels crn_morphology_kernels_avx512;

/* A run of members: (dx, dy) to (dx + length - 1, dy) from the pixel. */
typedef struct crn_morphology_run {
    int32_t dx, dy, length;
    int32_t level;
} crn_morphology_run;

/* A member of a non-flat element. */
typedef struct crn_morphology_member {
    int32_t dx, dy;
    float height; /* to be added */
} crn_morphology_member;

/* The extremes of `length` pixels from each pixel of a row on, made from those of a lesser length,
 * laid over each other: at `offsets`, in pixels. Level 0 is the row itself. */
typedef struct crn_morphology_level {
    int32_t length, from, parts, offsets[3];
    bool used;  /* by a run; else it is only there to make others from */
    int32_t dx; /* of a run that uses it */
} crn_morphology_level;

typedef struct crn_morphology_plan {
    crn_morphology_run *runs; /* flat, in the order of rows */
    size_t run_count;
    crn_morphology_member *members; /* non-flat */
    size_t member_count;
    crn_morphology_level *levels;
    int32_t level_count;
    int32_t above, below, left, right; /* how far it reaches, >= 0 */
    bool is_flat;
    bool is_stack;   /* a rectangle: one run in each of adjacent rows */
    int32_t rhombus; /* its radius, 1 or 2: all pixels with |dx| + |dy| up to that; else 0. It has
                        no levels */
} crn_morphology_plan;

/* Reserves the plan's memory, 3 slots of the context from `slot` on, and makes it: of an element's
 * erosion, or of its dilation, for pictures of that size. 0 or -ENOMEM. */
int crn_morphology_make_plan(crn_context *context, int32_t slot, const crn_element *element,
                             bool dilate, int32_t height, int32_t width,
                             crn_morphology_plan *ret_plan);

/* The rows of one level that a pass keeps: row y in number y mod `rows`. */
typedef struct crn_morphology_ring {
    uint8_t *memory; /* the first element of row 0 */
    size_t stride;   /* bytes from row to row */
    size_t bytes;    /* of a row that mean something */
    int32_t rows;
} crn_morphology_ring;

/* A picture, or one of its planes, as rows. */
typedef struct crn_morphology_rows {
    uint8_t *data;
    ptrdiff_t row_stride, step; /* bytes */
    int32_t height, width, lanes;
    bool is_dense; /* a row is width * lanes elements in one piece */
} crn_morphology_rows;

/* An erosion or dilation of the columns `first` to `end` - 1, running down from some row. */
typedef struct crn_morphology_pass crn_morphology_pass;
struct crn_morphology_pass {
    const crn_morphology_kernels *kernels;
    const crn_morphology_plan *plan;
    crn_morphology_kind kind;
    bool keeps_levels; /* else runs are made from the row each time: slow, but it needs little
                          memory */
    crn_morphology_pass *before;       /* where the rows come from, or */
    const crn_morphology_rows *source; /* NULL with `before` */
    int32_t first, end, height, width, lanes;
    int32_t data_first, data_end; /* the columns of the picture among those it reads */
    int32_t block;                /* rows at a time, at most */
    int32_t next;                 /* the row to be read next */
    crn_pace *pace;               /* the thread's; once it is over nothing more is made */
    crn_morphology_ring *rings;   /* by level; without levels kept only that of level 0 */
    uint8_t *neutral;             /* a row of neutral values, as wide as what is read */
    uint8_t *run, *best;          /* rows to work with */
    uint8_t *gathered;            /* a row of the source, where that is not dense */
    const void **rows;            /* for the kernels */
    crn_morphology_raised *raised;
    void **block_rows;
};

/* The most rows at a time. */
#define CRN_MORPHOLOGY_BLOCK 16

/* Bytes of memory that the pass needs, whose fields up to `block` are set, with no more than
 * end - first columns. */
size_t crn_morphology_pass_bytes(const crn_morphology_pass *pass);

/* Lays the pass out in its memory (64-byte aligned) and makes it ready for rows from `row` on. The
 * pass before it must be started after, from this one's `next` on. */
void crn_morphology_pass_start(crn_morphology_pass *pass, void *memory, int32_t row);

/* Makes rows `row` to `row` + `count` - 1; count <= block. Rows must be asked for in order. */
void crn_morphology_pass_make(crn_morphology_pass *pass, int32_t row, int32_t count,
                              void *const *to);

/* Columns `first` to `end` - 1 of a row, as they lie in memory if that is dense; else gathered. */
const void *crn_morphology_row(const crn_morphology_rows *rows, int32_t row, int32_t first,
                               int32_t end, size_t size, void *gathered);

/* How the work is cut up and done. The result does not depend on it. */
typedef struct crn_morphology_variant {
    const crn_morphology_kernels *kernels;
    int32_t threads;
    int32_t strips;    /* of rows */
    int32_t columns;   /* of a tile; 0: as many as the cache likes */
    bool saves_memory; /* levels are not kept, as with elements too large for it */
} crn_morphology_variant;

int crn_morphology_openmp_with(const crn_morphology_variant *way, crn_context *context,
                               const crn_morphology_params *params, const crn_image *in,
                               crn_image *out);

/* The kernels of a target, enum crn_target. */
const crn_morphology_kernels *crn_morphology_kernels_of(int target);

#endif

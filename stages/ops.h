/*
 * The operators: one function type and one parameter struct each. Every operator exists as a plain
 * definition (serial/, the oracle), a fast one (openmp/) and a CUDA one (gpu/), with one meaning
 * and the same bytes.
 *
 * All functions return 0 or a negative errno: -EINVAL for parameters or images that have no
 * meaning, -ENOMEM when the context's scratch memory cannot be had. They never abort, log or keep a
 * pointer past their return.
 */
#ifndef CRN_OPS_H
#define CRN_OPS_H

#include "stages/image.h"
#include "stages/result.h"

/*
 * What an operator may use while it runs: threads and scratch memory. One context serves one caller
 * at a time. Scratch memory is reserved (address space) for the worst case of a shape at its first
 * sight and kept: from the second call with a shape (or a smaller one) on nothing is allocated.
 */
typedef struct crn_context crn_context;

/* threads >= 1; with 1 no parallel region is entered. The caller owns *ret_context. 0, -EINVAL or
 * -ENOMEM. */
int crn_context_create(int32_t threads, crn_context **ret_context);

/* Frees and nulls *context; NULL is fine. */
void crn_context_free(crn_context **context);

int32_t crn_context_threads(const crn_context *context);

/*
 * Scratch memory number `slot` (0 <= slot < CRN_SCRATCH_SLOTS), at least `bytes` long, 64-byte
 * aligned, contents undefined, valid until the next call with the same slot. NULL when it cannot be
 * had. Pages never touched cost nothing, so ask for the worst case.
 */
#define CRN_SCRATCH_SLOTS 16
void *crn_context_scratch(crn_context *context, int32_t slot, size_t bytes);

typedef enum crn_connectivity {
    CRN_CONNECT_LOW,  /* at a saddle the low values are connected (skimage's default) */
    CRN_CONNECT_HIGH, /* at a saddle the high values are connected */
} crn_connectivity;

typedef enum crn_orientation {
    CRN_ORIENT_LOW,  /* low values lie left of the direction of travel (skimage's default) */
    CRN_ORIENT_HIGH, /* high values lie there: every contour's points reversed, the order of
                        contours unchanged */
} crn_orientation;

typedef enum crn_border {
    CRN_BORDER_OPEN,   /* contours end at the picture's border (skimage) */
    CRN_BORDER_CLOSED, /* as on the picture padded by one zero: contours close around it */
} crn_border;

/*
 * Contours: marching squares with skimage.measure.find_contours' semantics: same polylines, order,
 * starting points and doubles. A pixel is inside when value > level; a cell with a NaN or masked
 * corner is skipped.
 *
 * border closed: cells, order and starting points are those of the padded map (mask padded valid),
 * coordinates are (unpadded row or column) + fraction, from -1 to H or W; every level must then be
 * >= 0; NaN still cuts.
 *
 * A pixel exactly at the level: edges are linked by cell, consecutive equal points are merged, a
 * contour left with one point is dropped, start and order are computed over what remains.
 *
 * An infinite value pushes the point onto its finite neighbour, half-way between two infinite ones
 * (skimage's formula gives NaN there). Fewer than 2^30 cells per plane, else -EINVAL.
 */
typedef struct crn_contours_params {
    const double *levels; /* one per plane, in the image's own values; NaN: no contour is asked of
                             that plane */
    const uint8_t *mask;  /* height x width, dense, 0 = masked; NULL: everything is valid */
    crn_connectivity connectivity;
    crn_orientation orientation;
    crn_border border;
} crn_contours_params;

/*
 * in: u8, u16, f16 or f32, any strides, at least 2 x 2 with an open border and 1 x 1 with a closed
 * one
 * (-EINVAL else). out: see result.h; it is written from the start, what it held is gone.
 */
typedef int crn_contours_fn(crn_context *context, const crn_contours_params *params,
                            const crn_image *in, crn_contours *out);

crn_contours_fn crn_contours_serial;
crn_contours_fn crn_contours_openmp;

/* The table of operators that a backend offers. */
typedef struct crn_ops {
    const char *name;
    crn_contours_fn *contours;
} crn_ops;

#endif

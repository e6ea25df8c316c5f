/*
 * The operators: one function type and one parameter struct each. Every operator exists as a plain
 * definition (serial/, the oracle), a fast one (openmp/) and a CUDA one (gpu/), with one meaning
 * and the same bytes.
 *
 * All functions return 0 or a negative errno: -EINVAL for parameters or images that have no
 * meaning, -ENOMEM when the context's scratch memory cannot be had, -ETIME when the context's time
 * ran out (context.h). They never abort, log or keep a pointer past their return.
 */
#ifndef CRN_STAGES_OPS_H
#define CRN_STAGES_OPS_H

#include "stages/base/cplusplus.h"
#include "stages/image.h"
#include "stages/result.h"

CRN_C_BEGIN

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
 * Scratch memory number `slot` (0 <= slot < CRN_SCRATCH_SLOTS; the first 16 are the operators', the
 * others the stages'), at least `bytes` long, 64-byte
 * aligned, contents undefined, valid until the next call with the same slot. NULL when it cannot be
 * had. Pages never touched cost nothing, so ask for the worst case.
 */
#define CRN_SCRATCH_SLOTS 24
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

/*
 * Morphology: erosion, dilation and what they make up, with scipy.ndimage's meaning (OpenCV does
 * not reflect the element when it dilates). With the element's members s counted from its anchor,
 * (width / 2, height / 2) rounded down, and its heights b (0 when flat):
 *
 *   erode(x)  = min of f(x + s) - b(s)        dilate(x) = max of f(x - s) + b(s)
 *   open      = dilate(erode(f))              close     = erode(dilate(f))
 *   gradient  = dilate(f) - erode(f)          tophat    = f - open(f)
 *   blackhat  = close(f) - f
 *
 * over members that lie on the picture: outside nothing counts. Where no member lies on it, erosion
 * gives the greatest value (255, +inf), dilation the least (0, -inf).
 *
 * u8 saturates at every step, differences at 0. f32: erosion reads NaN as +inf, dilation as -inf;
 * -0 becomes +0 (in the differences too); a difference that is NaN (a NaN pixel, inf - inf) is the
 * quiet NaN 0x7fc00000.
 */
typedef enum crn_morphology_operation {
    CRN_ERODE,
    CRN_DILATE,
    CRN_OPEN,
    CRN_CLOSE,
    CRN_GRADIENT,
    CRN_TOPHAT,
    CRN_BLACKHAT,
} crn_morphology_operation;

typedef enum crn_element_shape {
    CRN_ELEMENT_RECT,
    CRN_ELEMENT_DISK,  /* (2x)^2 (H-1)^2 + (2y)^2 (W-1)^2 <= ((W-1)(H-1))^2 with x, y from the
                          anchor: of odd equal sides, skimage's disk */
    CRN_ELEMENT_CROSS, /* the anchor's row and column */
    CRN_ELEMENT_PICTURE,
} crn_element_shape;

#define CRN_ELEMENT_MAX 4095 /* largest width and height of a structuring element */

/* A structuring element. The arrays are the caller's, height x width, dense. */
typedef struct crn_element {
    crn_element_shape shape;
    int32_t width, height;
    const uint8_t *members; /* PICTURE: non-zero = member, at least one; else NULL */
    const float *heights;   /* non-flat: per member, finite, for u8 pictures whole numbers from -255
                               to 255; NULL: flat */
} crn_element;

typedef struct crn_morphology_params {
    crn_morphology_operation operation;
    crn_element element;
} crn_morphology_params;

/* in: u8 or f32, any strides. out: the same type and size, any strides, no element shared with
 * `in`. */
typedef int crn_morphology_fn(crn_context *context, const crn_morphology_params *params,
                              const crn_image *in, crn_image *out);

crn_morphology_fn crn_morphology_serial;
crn_morphology_fn crn_morphology_openmp;

/*
 * Convolution as image processing calls it, a correlation: the kernel laid over the picture as it
 * is written, with its anchor (width / 2, height / 2), rounded down, on the pixel. What OpenCV's
 * filter2D computes.
 *
 * f32: |error| <= 2 k 2^-24 S, with k the kernel's number of weights and S the sum of |weight x
 * pixel|: sums may be taken in any order, fused, or separably where the kernel is a product of a
 * column and a row. u8: the sum rounded half to even and saturated; exact for kernels of whole
 * numbers with a sum of |weights| up to 2^24 / 255, else off by one only where the sum is that near
 * to a tie. The bounds hold where all pixels under the kernel are finite and nothing overflows or
 * underflows; otherwise, where a weight other than 0 lies on such a pixel, the result is not finite
 * either.
 */
typedef enum crn_convolve_border {
    CRN_CONVOLVE_REPLICATE, /* aaa|abcd|ddd */
    CRN_CONVOLVE_REFLECT,   /* dcb|abcd|cba: OpenCV's reflect-101; repeated when the picture is
                               smaller than the kernel, one pixel alone is replicated */
    CRN_CONVOLVE_WRAP,      /* bcd|abcd|abc */
    CRN_CONVOLVE_ZERO,
} crn_convolve_border;

#define CRN_KERNEL_TAPS_MAX 16384 /* most weights of a kernel, width x height */

typedef struct crn_convolve_params {
    const float *weights; /* height x width, dense, finite; the caller's */
    int32_t width, height;
    crn_convolve_border border;
} crn_convolve_params;

/* in: u8 or f32, any strides. out: the same type and size, any strides, no element shared with
 * `in`. */
typedef int crn_convolve_fn(crn_context *context, const crn_convolve_params *params,
                            const crn_image *in, crn_image *out);

crn_convolve_fn crn_convolve_serial;
crn_convolve_fn crn_convolve_openmp;

/*
 * The orthonormal Haar transform in two dimensions, PyWavelets' signs, in the quadrant layout: a
 * level turns the averages of the one before, h x w, into averages (top left, ceil(h/2) x
 * ceil(w/2)), differences along a row (top right), along a column (bottom left) and along both
 * (bottom right). Of each square a b / c d, in this order of additions:
 *
 *   average  ((a + b) + (c + d)) / 2      row       ((a - b) + (c - d)) / 2
 *   column   ((a + b) - (c + d)) / 2      diagonal  ((a - b) - (c - d)) / 2
 *
 * Odd sizes keep ceil(n/2) averages and floor(n/2) differences: the last sample is its own pair.
 * The inverse takes the same four sums of (average, row, column, diagonal), differences that were
 * not kept being 0, and gives a, b, c, d in that order; a sample's twin is dropped. inverse(forward
 * (x)) is within 4 levels 2^-24 max|x|.
 */
typedef enum crn_haar_direction {
    CRN_HAAR_FORWARD,
    CRN_HAAR_INVERSE,
    CRN_HAAR_DENOISE, /* forward, every difference d of every level becomes sign(d) max(|d| -
                         threshold, 0), and back; what becomes 0 keeps the sign, a NaN stays one */
} crn_haar_direction;

typedef struct crn_haar_params {
    crn_haar_direction direction;
    int32_t levels;  /* 0 to crn_haar_levels_max() */
    float threshold; /* DENOISE: >= 0, +inf leaves the averages alone */
    bool unit;       /* u8: read as value / 255, a probability, instead of as the whole number */
} crn_haar_params;

/* ceil(log2(max(height, width))). */
int32_t crn_haar_levels_max(int32_t height, int32_t width);

/* in: u8 or f32, any strides. out: f32 of the same
 * size, any strides, no element shared with `in`. */
typedef int crn_haar_fn(crn_context *context, const crn_haar_params *params, const crn_image *in,
                        crn_image *out);

crn_haar_fn crn_haar_serial;
crn_haar_fn crn_haar_openmp;

/*
 * Ranklets (Smeraldi, ICPR 2002): for every position of a window, the Wilcoxon statistic of one
 * half of its pixels, the treatment T, against the other, the control C, from -1 to 1:
 *
 *   R = sum over all pairs of sign(t - c) / (|T| |C|)
 *
 * The sum is a whole number, so ties count 0 and a constant window gives 0. vertical: T is the left
 * half; horizontal: the top half; diagonal: the top left and bottom right quarters. R is (float)
 * ((double)sum / (double)(|T| |C|)).
 */
typedef struct crn_ranklet_params {
    int32_t width, height; /* of the window: even, from 2, at most the picture's */
} crn_ranklet_params;

/* Most pixels of half a window: the number of pairs fits into 63 bits. */
#define CRN_RANKLET_HALF_MAX INT64_C(3037000499)

/* in: u8 or u16, any strides, h x w. out: f32, any strides, 3 planes (vertical, horizontal,
 * diagonal) for each of `in`, (h - window height + 1) x (w - window width + 1): an element a
 * position, that of the window's top left pixel. */
typedef int crn_ranklet_fn(crn_context *context, const crn_ranklet_params *params,
                           const crn_image *in, crn_image *out);

crn_ranklet_fn crn_ranklet_serial;
crn_ranklet_fn crn_ranklet_openmp;

/*
 * Diamond-square (Fournier, Fussell, Carpenter 1982): a fractal field of side 2^exponent + 1, about
 * 128, in f32. With word(i, j, level, phase) = word i mod 4 of Philox4x32-10 (Salmon et al. 2011)
 * on the counter (i div 4, j, level, phase) with the key (seed low, seed high), as a signed number,
 * and noise = amplitude x ((float)word x 2^-31), amplitude = (float)(128 R R ...), R `level` times,
 * in double:
 *
 *   corners  (phase 2, level 0): 128 + noise; j, i = 0, 1 from the top left
 *   level 0, 1, ... exponent - 1 halves the squares' side:
 *     diamond (phase 0): the middle of each square is the mean of its corners, (((top left + top
 *             right) + bottom left) + bottom right) x 0.25f, + noise
 *     square  (phase 1): the middle of each side is the mean of its neighbours at half that
 *             distance, added in the order up, left, right, down, x 0.25f, at the picture's border
 *             of its three x (1.0f / 3.0f), + noise
 *
 * The i-th point from the left of the j-th row, from the top, of those made in a phase of a level.
 */
typedef struct crn_diamond_square_params {
    int32_t exponent; /* 0 to CRN_DIAMOND_SQUARE_EXPONENT_MAX */
    uint64_t seed;
    double roughness; /* R, 0 to 1 */
    int32_t x, y;     /* where `out` lies on the field */
} crn_diamond_square_params;

#define CRN_DIAMOND_SQUARE_EXPONENT_MAX 20

/* out: f32, or u8 (rounded half to even, saturated); one plane, any strides; a rectangle of the
 * field, the same bytes whichever rectangle they are in. */
typedef int crn_diamond_square_fn(crn_context *context, const crn_diamond_square_params *params,
                                  crn_image *out);

crn_diamond_square_fn crn_diamond_square_serial;
crn_diamond_square_fn crn_diamond_square_openmp;

/*
 * What is no operator of the chain, but must be done where its images live: binary16 to f32,
 * exactly (crn_f16_to_f32). in: f16. out: f32 of the same size, both dense and of one layout.
 */
typedef int crn_widen_fn(crn_context *context, const crn_image *in, crn_image *out);

crn_widen_fn crn_widen; /* the CPU's */

/* The table of operators that a backend offers. */
typedef struct crn_ops {
    const char *name;
    crn_contours_fn *contours;
    crn_morphology_fn *morphology;
    crn_convolve_fn *convolve;
    crn_haar_fn *haar;
    crn_ranklet_fn *ranklet;
    crn_diamond_square_fn *diamond_square;
    crn_widen_fn *widen;
} crn_ops;

CRN_C_END

#endif

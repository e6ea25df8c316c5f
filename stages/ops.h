/**
 * @file
 * The operators: one function type and one parameter struct each. Every operator has a serial
 * reference implementation (serial/, the test oracle), an optimised CPU one (openmp/) and a CUDA
 * one (gpu/), which agree in semantics and return the same bytes.
 *
 * All functions return 0 or a negative errno: -EINVAL for invalid parameters or images, -ENOMEM
 * when scratch memory cannot be allocated, -ETIME when the context's time limit has passed
 * (context.h). They never abort, log or keep a pointer after they return.
 *
 * Dilates a map by 3 x 3 pixels on four threads:
 *
 * @code{.c}
 * int dilate(uint8_t *map, uint8_t *dilated, int32_t height, int32_t width)
 * {
 *     crn_context *context;
 *     int r = crn_context_create(4, &context);
 *     if (r < 0)
 *         return r;
 *     crn_image in = crn_image_dense(map, CRN_U8, CRN_CHW, 1, height, width);
 *     crn_image out = crn_image_dense(dilated, CRN_U8, CRN_CHW, 1, height, width);
 *     crn_morphology_params params = {
 *         .operation = CRN_DILATE,
 *         .element = {.shape = CRN_ELEMENT_RECT, .width = 3, .height = 3}};
 *     r = crn_morphology_openmp(context, &params, &in, &out);
 *     crn_context_free(&context);
 *     return r;
 * }
 * @endcode
 *
 * A caller with more pictures keeps the context.
 */
#ifndef CRN_STAGES_OPS_H
#define CRN_STAGES_OPS_H

#include "stages/base/api.h"
#include "stages/image.h"
#include "stages/result.h"

CRN_C_BEGIN

/** Execution context of an operator: threads and scratch memory. One context serves one caller at a
 * time. The first call with an image shape reserves address space for its worst case; later calls
 * with that shape or a smaller one allocate nothing. */
typedef struct crn_context crn_context;

/**
 * Creates a context.
 *
 * @param threads >= 1; with 1 no parallel region is entered
 * @param ret_context free it with crn_context_free()
 * @return 0, -EINVAL or -ENOMEM
 */
CRN_API int crn_context_create(int32_t threads, crn_context **ret_context);

/** Frees *context and sets it to NULL; NULL is allowed. */
CRN_API void crn_context_free(crn_context **context);

/** Number of threads that its operators use. */
CRN_API int32_t crn_context_threads(const crn_context *context);

/** Number of scratch buffers of a context. */
#define CRN_SCRATCH_SLOTS 24

/**
 * Scratch buffer `slot`: at least `bytes` long, 64-byte aligned, contents undefined, valid until
 * the next call with the same slot. Untouched pages cost nothing, so request the worst case.
 *
 * @param slot 0 <= slot < CRN_SCRATCH_SLOTS; the first 16 belong to operators, the others to stages
 * @return the context's memory; NULL if the memory cannot be allocated
 */
CRN_API void *crn_context_scratch(crn_context *context, int32_t slot, size_t bytes);

/** Which values are connected at a saddle. */
typedef enum crn_connectivity {
    CRN_CONNECT_LOW,  /**< at a saddle the low values are connected (skimage's default) */
    CRN_CONNECT_HIGH, /**< at a saddle the high values are connected */
} crn_connectivity;

/** Direction in which the points of a contour run. */
typedef enum crn_orientation {
    CRN_ORIENT_LOW, /**< low values lie left of the direction of travel (skimage's default) */
    /** High values lie left of it: the points of every contour reversed, the order of contours
     * unchanged. */
    CRN_ORIENT_HIGH,
} crn_orientation;

/** What contours do at the border of the picture. */
typedef enum crn_border {
    CRN_BORDER_OPEN, /**< contours end at the picture's border (skimage) */
    /** As if the picture were padded by one row and column of zeros: contours close around it. */
    CRN_BORDER_CLOSED,
} crn_border;

/** Parameters of crn_contours_fn. */
typedef struct crn_contours_params {
    /** One per plane, in the image's values; NaN: no contours of that plane. */
    const double *levels;
    const uint8_t *mask; /**< height x width, dense, 0 = masked; NULL: all pixels are valid */
    crn_connectivity connectivity;
    crn_orientation orientation;
    crn_border border;
} crn_contours_params;

/**
 * Contours: marching squares with the semantics of skimage.measure.find_contours: same polylines,
 * order, starting points and doubles. A pixel is inside when value > level; a cell with a NaN or
 * masked corner is skipped.
 *
 * Closed border: cells, order and starting points are those of the zero-padded map (whose mask is
 * padded valid); coordinates are (unpadded row or column) + fraction, from -1 to H or W. Every
 * level must then be >= 0. NaN still cuts contours.
 *
 * Pixels exactly at the level: segments are linked by cell edge, consecutive equal points are
 * merged, a contour left with one point is dropped, and start and order are computed from what
 * remains.
 *
 * Next to an infinite value the point is placed on its finite neighbour, between two infinite ones
 * half-way (skimage's formula gives NaN there). Planes must have fewer than 2^30 cells, else
 * -EINVAL.
 *
 * @param in u8, u16, f16 or f32, any strides; at least 2 x 2 with an open border, 1 x 1 with a
 *        closed one, else -EINVAL
 * @param out overwritten; see crn_contours in result.h
 * @return 0, -EINVAL, -ENOMEM or -ETIME, see the head of this file
 * @see skimage.measure.find_contours
 */
typedef int crn_contours_fn(crn_context *context, const crn_contours_params *params,
                            const crn_image *in, crn_contours *out);

crn_contours_fn crn_contours_serial;
CRN_API crn_contours_fn crn_contours_openmp;

/** Operations of crn_morphology_fn. */
typedef enum crn_morphology_operation {
    CRN_ERODE,
    CRN_DILATE,
    CRN_OPEN,
    CRN_CLOSE,
    CRN_GRADIENT,
    CRN_TOPHAT,
    CRN_BLACKHAT,
} crn_morphology_operation;

/** Shapes of a structuring element. */
typedef enum crn_element_shape {
    CRN_ELEMENT_RECT,
    /** (2x)^2 (H-1)^2 + (2y)^2 (W-1)^2 <= ((W-1)(H-1))^2 with x, y from the anchor: skimage's disk
     * if both sides are equal and odd. */
    CRN_ELEMENT_DISK,
    CRN_ELEMENT_CROSS, /**< the anchor's row and column */
    CRN_ELEMENT_PICTURE,
} crn_element_shape;

#define CRN_ELEMENT_MAX 4095 /**< largest width and height of a structuring element */

/** A structuring element. The arrays belong to the caller: height x width, dense. */
typedef struct crn_element {
    crn_element_shape shape;
    int32_t width, height;
    const uint8_t *members; /**< PICTURE: non-zero = member, at least one; else NULL */
    /** Non-flat: one per pixel, finite at members, for u8 pictures whole numbers from -255 to 255;
     * NULL: flat. */
    const float *heights;
} crn_element;

/** Parameters of crn_morphology_fn. */
typedef struct crn_morphology_params {
    crn_morphology_operation operation;
    crn_element element;
} crn_morphology_params;

/**
 * Morphology: erosion, dilation and their combinations, with the semantics of scipy.ndimage (OpenCV
 * does not reflect the element when it dilates). With s the offsets of the element's members from
 * its anchor, (width / 2, height / 2) rounded down, and b their heights (0 if flat):
 *
 *     erode(x)  = min of f(x + s) - b(s)        dilate(x) = max of f(x - s) + b(s)
 *     open      = dilate(erode(f))              close     = erode(dilate(f))
 *     gradient  = dilate(f) - erode(f)          tophat    = f - open(f)
 *     blackhat  = close(f) - f
 *
 * Only members that lie on the picture count. Where none does, erosion returns the maximum (255,
 * +inf) and dilation the minimum (0, -inf).
 *
 * u8 saturates at every step; differences saturate at 0. f32: erosion reads NaN as +inf, dilation
 * as -inf; -0 becomes +0 (in differences too); a difference that is NaN (a NaN pixel, inf - inf) is
 * the quiet NaN 0x7fc00000.
 *
 * @param in u8 or f32, any strides
 * @param out same type and size as `in`, any strides, no element shared with `in`
 * @return 0, -EINVAL, -ENOMEM or -ETIME, see the head of this file
 * @see scipy.ndimage
 */
typedef int crn_morphology_fn(crn_context *context, const crn_morphology_params *params,
                              const crn_image *in, crn_image *out);

crn_morphology_fn crn_morphology_serial;
CRN_API crn_morphology_fn crn_morphology_openmp;

/** Pixels beyond the border of a picture. */
typedef enum crn_convolve_border {
    CRN_CONVOLVE_REPLICATE, /**< aaa|abcd|ddd */
    /** dcb|abcd|cba: OpenCV's reflect-101; repeated if the picture is smaller than the kernel,
     * replicated if it is one pixel. */
    CRN_CONVOLVE_REFLECT,
    CRN_CONVOLVE_WRAP, /**< bcd|abcd|abc */
    CRN_CONVOLVE_ZERO,
} crn_convolve_border;

#define CRN_KERNEL_TAPS_MAX 16384 /**< maximum number of weights, width x height */

/** Parameters of crn_convolve_fn. */
typedef struct crn_convolve_params {
    const float *weights; /**< height x width, dense, finite; owned by the caller */
    int32_t width, height;
    crn_convolve_border border;
} crn_convolve_params;

/**
 * Convolution in the image-processing sense, that is, a correlation: the kernel is not flipped and
 * its anchor is (width / 2, height / 2), rounded down, as in OpenCV's filter2D.
 *
 * f32: |error| <= 2 k 2^-24 S, with k the number of the kernel's weights and S the sum of |weight x
 * pixel|. Sums may be evaluated in any order, with FMA, or as two passes where the kernel is
 * separable. u8: the sum rounded half to even and saturated; exact for integer kernels with a sum
 * of |weights| up to 2^24 / 255, else off by one at most, only where the sum is that near to a tie.
 * The bounds hold if all pixels under the kernel are finite and nothing overflows or underflows; a
 * non-finite pixel under a non-zero weight gives a non-finite result.
 *
 * @param in u8 or f32, any strides
 * @param out same type and size as `in`, any strides, no element shared with `in`
 * @return 0, -EINVAL, -ENOMEM or -ETIME, see the head of this file
 * @see OpenCV, filter2D
 */
typedef int crn_convolve_fn(crn_context *context, const crn_convolve_params *params,
                            const crn_image *in, crn_image *out);

crn_convolve_fn crn_convolve_serial;
CRN_API crn_convolve_fn crn_convolve_openmp;

/** Transforms of crn_haar_fn. */
typedef enum crn_haar_direction {
    CRN_HAAR_FORWARD,
    CRN_HAAR_INVERSE,
    /** Forward, soft threshold of every difference d of every level (sign(d) max(|d| - threshold,
     * 0)), inverse; zeros keep their sign, NaN stays NaN. */
    CRN_HAAR_DENOISE,
} crn_haar_direction;

/** Parameters of crn_haar_fn. */
typedef struct crn_haar_params {
    crn_haar_direction direction;
    int32_t levels;  /**< 0 to crn_haar_levels_max() */
    float threshold; /**< DENOISE: >= 0; with +inf only the averages remain */
    bool unit;       /**< u8: read as value / 255, a probability, instead of as an integer */
} crn_haar_params;

/** Maximum number of levels: ceil(log2(max(height, width))). */
CRN_API int32_t crn_haar_levels_max(int32_t height, int32_t width);

/**
 * Orthonormal 2D Haar transform with PyWavelets' signs, in quadrant layout: each level transforms
 * the h x w averages of the previous one into averages (top left, ceil(h/2) x ceil(w/2)) and
 * differences along rows (top right), along columns (bottom left) and along both (bottom right).
 * Each square a b / c d gives, in this order of additions:
 *
 *     average  ((a + b) + (c + d)) / 2      row       ((a - b) + (c - d)) / 2
 *     column   ((a + b) - (c + d)) / 2      diagonal  ((a - b) - (c - d)) / 2
 *
 * Odd sizes keep ceil(n/2) averages and floor(n/2) differences: the last sample is paired with
 * itself. The inverse takes the same four sums of (average, row, column, diagonal), with 0 for
 * differences that were not kept, and gives a, b, c, d in that order; the duplicate of an odd last
 * sample is dropped. inverse(forward(x)) is within 4 levels 2^-24 max|x|.
 *
 * @param in u8 or f32, any strides
 * @param out f32, same size as `in`, any strides, no element shared with `in`
 * @return 0, -EINVAL, -ENOMEM or -ETIME, see the head of this file
 * @see PyWavelets
 */
typedef int crn_haar_fn(crn_context *context, const crn_haar_params *params, const crn_image *in,
                        crn_image *out);

crn_haar_fn crn_haar_serial;
CRN_API crn_haar_fn crn_haar_openmp;

/** Parameters of crn_ranklet_fn. */
typedef struct crn_ranklet_params {
    int32_t width, height; /**< of the window: even, >= 2, at most the picture's */
} crn_ranklet_params;

/** Maximum number of pixels in half a window: the number of pairs then fits into 63 bits. */
#define CRN_RANKLET_HALF_MAX INT64_C(3037000499)

/**
 * Ranklets (Smeraldi, ICPR 2002): for every window position, the Wilcoxon statistic of one half of
 * its pixels, the treatment set T, against the other half, the control set C, from -1 to 1:
 *
 *     R = sum over all pairs of sign(t - c) / (|T| |C|)
 *
 * The sum is an integer, so ties count 0 and a constant window gives 0. vertical: T is the left
 * half; horizontal: the top half; diagonal: the top left and bottom right quarters. R is
 * (float)((double)sum / (double)(|T| |C|)).
 *
 * @param in u8 or u16, any strides, h x w
 * @param out f32, any strides, 3 planes (vertical, horizontal, diagonal) for each of `in`, (h -
 *        window height + 1) x (w - window width + 1): one element per window, at its top left pixel
 * @return 0, -EINVAL, -ENOMEM or -ETIME, see the head of this file
 */
typedef int crn_ranklet_fn(crn_context *context, const crn_ranklet_params *params,
                           const crn_image *in, crn_image *out);

crn_ranklet_fn crn_ranklet_serial;
CRN_API crn_ranklet_fn crn_ranklet_openmp;

/** Parameters of crn_diamond_square_fn. */
typedef struct crn_diamond_square_params {
    int32_t exponent; /**< 0 to CRN_DIAMOND_SQUARE_EXPONENT_MAX */
    uint64_t seed;
    double roughness; /**< R, 0 to 1 */
    int32_t x, y;     /**< offset of `out` in the field */
} crn_diamond_square_params;

#define CRN_DIAMOND_SQUARE_EXPONENT_MAX 20

/**
 * Diamond-square (Fournier, Fussell, Carpenter 1982): a fractal field of side 2^exponent + 1,
 * around 128, in f32. word(i, j, level, phase) is word i mod 4 of Philox4x32-10 (Salmon et al.
 * 2011) for the counter (i div 4, j, level, phase) and the key (seed low, seed high), as a signed
 * integer; noise = amplitude x ((float)word x 2^-31), amplitude = (float)(128 R R ...) with `level`
 * factors R, in double:
 *
 *     corners  (phase 2, level 0): 128 + noise; j, i = 0, 1 from the top left
 *     level 0, 1, ... exponent - 1 halves the side of the squares:
 *       diamond (phase 0): the centre of each square is the mean of its corners, (((top left + top
 *               right) + bottom left) + bottom right) x 0.25f, + noise
 *       square  (phase 1): the midpoint of each side is the mean of its neighbours at half that
 *               distance, added in the order up, left, right, down, x 0.25f (at the field's border
 *               of three neighbours, x (1.0f / 3.0f)), + noise
 *
 * i and j count the points made in one phase of a level: the i-th from the left in the j-th row
 * from the top.
 *
 * @param out f32, or u8 (rounded half to even, saturated); one plane, any strides; a rectangle of
 *        the field. A point has the same bytes in every rectangle that contains it.
 * @return 0, -EINVAL, -ENOMEM or -ETIME, see the head of this file
 * @see philox.h
 */
typedef int crn_diamond_square_fn(crn_context *context, const crn_diamond_square_params *params,
                                  crn_image *out);

crn_diamond_square_fn crn_diamond_square_serial;
CRN_API crn_diamond_square_fn crn_diamond_square_openmp;

/**
 * Converts binary16 to f32 exactly, as crn_f16_to_f32(). No operator of the chain, but it must run
 * where the images are stored.
 *
 * @param in f16, dense
 * @param out f32, same size and layout as `in`, dense
 */
typedef int crn_widen_fn(crn_context *context, const crn_image *in, crn_image *out);

crn_widen_fn crn_widen; /**< the CPU implementation */

/** The operator table of a backend. */
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

/** Initialises a crn_ops with the functions `<prefix><operator><suffix>`: crn_convolve_serial. */
#define CRN_OPS(label, prefix, suffix, widen)                                                      \
    {                                                                                              \
        label, prefix##contours##suffix, prefix##morphology##suffix, prefix##convolve##suffix,     \
            prefix##haar##suffix, prefix##ranklet##suffix, prefix##diamond_square##suffix, widen,  \
    }

CRN_C_END

#endif

/**
 * @file
 * The operators: one function type each; cernita.h has their parameters and says what they compute.
 * Every operator has a serial reference implementation (serial/, the test oracle), an optimised CPU
 * one (openmp/) and a CUDA one (gpu/), which agree in semantics and return the same bytes.
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
#include "stages/cernita.h"
#include "stages/image.h"
#include "stages/maps/seen.h"

CRN_C_BEGIN

/**
 * Creates a context, of threads and scratch memory alone: for the operators of one backend, which
 * the caller chooses. crn_context_open() chooses one as well.
 *
 * @param threads >= 1; with 1 no parallel region is entered
 * @param ret_context free it with crn_context_free()
 * @return 0, -EINVAL or -ENOMEM
 */
CRN_API int crn_context_create(int32_t threads, crn_context **ret_context);

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

/** crn_find_contours(). The arrays of `out` and its capacities are the caller's; overwritten. */
typedef int crn_contours_fn(crn_context *context, const crn_contours_params *params,
                            const crn_image *in, crn_contours *out);

crn_contours_fn crn_contours_serial;
CRN_API crn_contours_fn crn_contours_openmp;

/** crn_morphology(). */
typedef int crn_morphology_fn(crn_context *context, const crn_morphology_params *params,
                              const crn_image *in, crn_image *out);

crn_morphology_fn crn_morphology_serial;
CRN_API crn_morphology_fn crn_morphology_openmp;

/**
 * crn_convolve(). Sums may be evaluated in any order, with FMA, or as two passes where the kernel
 * is separable.
 */
typedef int crn_convolve_fn(crn_context *context, const crn_convolve_params *params,
                            const crn_image *in, crn_image *out);

crn_convolve_fn crn_convolve_serial;
CRN_API crn_convolve_fn crn_convolve_openmp;

/** crn_haar(). */
typedef int crn_haar_fn(crn_context *context, const crn_haar_params *params, const crn_image *in,
                        crn_image *out);

crn_haar_fn crn_haar_serial;
CRN_API crn_haar_fn crn_haar_openmp;

/** crn_ranklet(). The sum is an integer. */
typedef int crn_ranklet_fn(crn_context *context, const crn_ranklet_params *params,
                           const crn_image *in, crn_image *out);

crn_ranklet_fn crn_ranklet_serial;
CRN_API crn_ranklet_fn crn_ranklet_openmp;

/**
 * crn_diamond_square(), in f32. word(i, j, level, phase) is word i mod 4 of Philox4x32-10 (Salmon
 * et al. 2011) for the counter (i div 4, j, level, phase) and the key (seed low, seed high), as a
 * signed integer; noise = amplitude x ((float)word x 2^-31), amplitude = (float)(128 R R ...) with
 * `level` factors R, in double:
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
 * @see philox.h
 */
typedef int crn_diamond_square_fn(crn_context *context, const crn_diamond_square_params *params,
                                  crn_image *out);

crn_diamond_square_fn crn_diamond_square_serial;
CRN_API crn_diamond_square_fn crn_diamond_square_openmp;

/*
 * Not operators of the chain, but what stages read from maps besides: these run where the images
 * are stored too. On a device they return once the work is enqueued; runs, boxes and results then
 * lie in pinned host memory (crn_job_shared) and must not be touched before the work is done.
 */

/**
 * Converts binary16 to f32 exactly, as crn_f16_to_f32().
 *
 * @param in f16, dense
 * @param out f32, same size and layout as `in`, dense
 */
typedef int crn_widen_fn(crn_context *context, const crn_image *in, crn_image *out);

crn_widen_fn crn_widen; /**< the CPU implementation */

/**
 * Converts probabilities to 8 bits: 255 p rounded half to even, saturated, NaN 0.
 *
 * @param in f16 or f32, any strides
 * @param out u8, size of `in`, dense and planar
 */
typedef int crn_narrow_fn(crn_context *context, const crn_image *in, crn_image *out);

crn_narrow_fn crn_narrow; /**< the CPU implementation */

/** Adjacent pixels of a row: x0 <= x < x1, within the image. */
typedef struct crn_run {
    int32_t plane, y, x0, x1;
} crn_run;

/** The finite pixels of a run. */
typedef struct crn_run_sum {
    double sum;      /**< of their values, u8 as 0 to 255 */
    uint32_t pixels; /**< their number */
} crn_run_sum;

/**
 * Sums the finite pixels of runs. The order of additions is defined, so that all backends give the
 * same bytes: in double, s[i mod 4] of every fourth pixel in order, then (s[0] + s[1]) + (s[2] +
 * s[3]).
 *
 * @param in any type but f64, any strides
 * @param runs on a device aligned to 16 bytes, as `sums`
 * @param sums one per run
 */
typedef int crn_sum_runs_fn(crn_context *context, const crn_image *in, const crn_run *runs,
                            uint32_t count, crn_run_sum *sums);

crn_sum_runs_fn crn_sum_runs; /**< the CPU implementation */

/** A rectangle of pixels, its last column and row included. */
typedef struct crn_box {
    int32_t plane; /**< the first of three */
    int32_t x0, y0, x1, y1;
} crn_box;

/** Rectangles for crn_mean_boxes(). */
typedef struct crn_boxes {
    const crn_box *all;
    uint32_t count;
    bool exact; /**< every sum of their values is exact in double, in whatever order */
} crn_boxes;

/** The means over a rectangle of three adjacent planes. */
typedef struct crn_box_mean {
    float of[3];
} crn_box_mean;

/**
 * Means over rectangles: sums in double, in raster order, divided by the number of pixels.
 *
 * @param in f32, any strides
 * @param means one per rectangle
 */
typedef int crn_mean_boxes_fn(crn_context *context, const crn_image *in, const crn_boxes *boxes,
                              crn_box_mean *means);

crn_mean_boxes_fn crn_mean_boxes; /**< the CPU implementation */

/** Parts in which crn_see_values() validates a view: blocks of a device, which share nothing. */
#define CRN_VALUES_PARTS 64

/**
 * Validates the probabilities of each view of the context.
 *
 * @param in u8, f16 or f32, dense
 * @param parts CRN_VALUES_PARTS of each view, on a device aligned to 8 bytes; crn_values_join() of
 *        them is the view's
 */
typedef int crn_see_values_fn(crn_context *context, const crn_image *in, crn_values_seen *parts);

crn_see_values_fn crn_see_values; /**< the CPU implementation, for a context of one view */

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
    crn_narrow_fn *narrow;
    crn_sum_runs_fn *sum_runs;
    crn_mean_boxes_fn *mean_boxes;
    crn_see_values_fn *see_values;
} crn_ops;

/** Initialises a crn_ops with the functions `<prefix><operator><suffix>`, crn_convolve_serial, and
 * then those that read maps. */
#define CRN_OPS(label, prefix, suffix, ...)                                                        \
    {                                                                                              \
        label, prefix##contours##suffix, prefix##morphology##suffix, prefix##convolve##suffix,     \
            prefix##haar##suffix, prefix##ranklet##suffix, prefix##diamond_square##suffix,         \
            __VA_ARGS__,                                                                           \
    }

/** The CPU's functions that read maps, for CRN_OPS. */
#define CRN_OPS_ON_MAPS crn_widen, crn_narrow, crn_sum_runs, crn_mean_boxes, crn_see_values

CRN_C_END

#endif

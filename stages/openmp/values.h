/*
 * Validation of probabilities, fused into the copy of a view's maps from the socket's memory into
 * their slot, so that it needs no pass of its own. What is valid: stages/maps/seen.h.
 */
#ifndef CRN_STAGES_OPENMP_VALUES_H
#define CRN_STAGES_OPENMP_VALUES_H

#include "stages/base/api.h"
#include "stages/image.h"
#include "stages/maps/seen.h"
#include "stages/openmp/simd.h"

#define CRN_VALUES_CHANNELS_MAX 256 /* maximum number of channels per count */

/* Copies elements. `to` may be NULL: no copy. Pointers need no alignment, not even to elements. */
typedef crn_values_seen crn_values_copy_fn(void *restrict to, const void *restrict from,
                                           size_t bytes);

/* What was seen of a map read piece by piece: extremes of vectors; all 0 at first. */
typedef struct crn_values_sight {
    _Alignas(64) uint8_t above[64];
    _Alignas(64) uint8_t below[64];
} crn_values_sight;

/* Adds elements that the caller reads anyway, and has in the cache. */
typedef void crn_values_see_fn(crn_values_sight *sight, const void *from, size_t bytes,
                               crn_type type);
typedef crn_values_seen crn_values_judge_fn(const crn_values_sight *sight, crn_type type);

/* Asks the first operator that reads all of an image to validate it on the way
 * (crn_context_watch). */
typedef struct crn_values_watch {
    const void *data; /* of the image: dense, u8, f16 or f32 */
    bool is_seen;     /* an operator did; then: */
    crn_values_seen seen;
} crn_values_watch;

/* Statistics of one channel. */
typedef struct crn_values_count {
    uint64_t not_finite, out_of_range;
    float min, max; /* of 0 and all finite values */
} crn_values_count;

/* Detailed count of f16 or f32 values, for each channel of interleaved pixels (planar:
 * one channel). */
typedef void crn_values_count_fn(const void *from, crn_type type, size_t pixels, int32_t channels,
                                 crn_values_count *ret_counts);

/* The functions of one target. */
typedef struct crn_values_kernels {
    crn_values_copy_fn *copy_u8, *copy_f16, *copy_f32;
    crn_values_count_fn *count;
    crn_values_see_fn *see;
    crn_values_judge_fn *judge;
} crn_values_kernels;

/* The copy for elements of that type: u8, f16 or f32. */
static inline crn_values_copy_fn *crn_values_copy_of(const crn_values_kernels *kernels,
                                                     crn_type type)
{
    return type == CRN_U8    ? kernels->copy_u8
           : type == CRN_F16 ? kernels->copy_f16
                             : kernels->copy_f32;
}

CRN_API extern const crn_values_kernels crn_values_kernels_baseline;
CRN_API extern const crn_values_kernels crn_values_kernels_avx2;
CRN_API extern const crn_values_kernels crn_values_kernels_avx512;

/* The functions of the best target of this processor. */
CRN_API const crn_values_kernels *crn_values_kernels_best(void);

#endif

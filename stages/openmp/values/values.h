/*
 * The check of probabilities, fused into the copy that brings a view's maps from the socket's
 * memory into their slot: whoever reads the maps first checks them, so it costs no pass of its own.
 *
 * A probability is a number from -0.001 to 1.001 (the margin is for rounding); for f16, the two
 * halves nearest to these. NaN and the infinities are none. A u8 of 255 is certainty: maps whose
 * greatest value is 1 look like a mask of zeros and ones. The operators take any value; what
 * follows from a check is for the line to decide (src/fruit/values.h).
 */
#ifndef CRN_STAGES_OPENMP_VALUES_VALUES_H
#define CRN_STAGES_OPENMP_VALUES_VALUES_H

#include "stages/image.h"
#include "stages/openmp/simd.h"

#define CRN_VALUES_MIN     (-0.001f)
#define CRN_VALUES_MAX     1.001f
#define CRN_VALUES_MIN_F16 0x9419u /* as bits: -1049 x 2^-20 */
#define CRN_VALUES_MAX_F16 0x3c01u /* 1 + 2^-10 */

#define CRN_VALUES_CHANNELS_MAX 256 /* that a count takes at once */

/*
 * Copies elements and says whether they need a closer look: f32 and f16, when one of them is no
 * probability; u8, when the greatest is exactly 1. `to` may be NULL: nothing is copied. Neither
 * needs to be aligned, not even to an element.
 */
typedef bool crn_values_copy_fn(void *restrict to, const void *restrict from, size_t bytes);

/* What a channel holds. */
typedef struct crn_values_count {
    uint64_t not_finite, out_of_range;
    float min, max; /* of 0 and the finite values */
} crn_values_count;

/* The closer look at f16 or f32: every channel of interleaved pixels (planar: one channel). */
typedef void crn_values_count_fn(const void *from, crn_type type, size_t pixels, int32_t channels,
                                 crn_values_count *ret_counts);

/* What each target has. */
typedef struct crn_values_kernels {
    crn_values_copy_fn *copy_u8, *copy_f16, *copy_f32;
    crn_values_count_fn *count;
} crn_values_kernels;

extern const crn_values_kernels crn_values_kernels_baseline;
extern const crn_values_kernels crn_values_kernels_avx2;
extern const crn_values_kernels crn_values_kernels_avx512;

/* Those of the best target that this processor has. */
const crn_values_kernels *crn_values_kernels_best(void);

#endif

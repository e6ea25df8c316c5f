/* Argument checks and border handling of convolution, shared by all backends. */
#ifndef CRN_STAGES_SERIAL_CONVOLVE_H
#define CRN_STAGES_SERIAL_CONVOLVE_H

#include "stages/ops.h"

/* 0, or -EINVAL: no data, types that differ or are not u8 or f32, sizes that differ or are empty, a
 * kernel without weights, with more than CRN_KERNEL_TAPS_MAX or with a non-finite one, a border
 * mode out of range. */
int crn_convolve_check(const crn_convolve_params *params, const crn_image *in,
                       const crn_image *out);

/* The row (or column) of a picture of `size` that the border mode substitutes for `index`, which
 * may lie outside; -1: zero. */
int32_t crn_convolve_source(crn_convolve_border border, int64_t index, int32_t size);

#endif

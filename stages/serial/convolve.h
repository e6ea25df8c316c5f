/* What every convolution, of whichever backend, asks of its arguments, and what lies outside. */
#ifndef CRN_STAGES_SERIAL_CONVOLVE_H
#define CRN_STAGES_SERIAL_CONVOLVE_H

#include "stages/ops.h"

/*
 * 0, or -EINVAL: no data, types that are not u8 or f32 or differ, sizes that differ or have nothing
 * in them, a kernel without weights, of more than CRN_KERNEL_TAPS_MAX or with one that is not
 * finite, a border out of range.
 */
int crn_convolve_check(const crn_convolve_params *params, const crn_image *in,
                       const crn_image *out);

/* The row (or column) of a picture of `size` that stands at `index`, which may lie outside; -1:
 * zeros do. */
int32_t crn_convolve_source(crn_convolve_border border, int64_t index, int32_t size);

#endif

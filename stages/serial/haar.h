/* Argument checks of the Haar operator, shared by all backends. */
#ifndef CRN_STAGES_SERIAL_HAAR_H
#define CRN_STAGES_SERIAL_HAAR_H

#include "stages/ops.h"

/* 0, or -EINVAL: a direction out of range, fewer levels than 0 or more than crn_haar_levels_max(),
 * a threshold for denoising that is NaN or below 0, no data, no pixel, `in` neither u8 nor f32,
 * `out` not f32 of the same size. */
int crn_haar_check(const crn_haar_params *params, const crn_image *in, const crn_image *out);

#endif

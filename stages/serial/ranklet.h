/* Argument checks of the ranklet operator, shared by all backends. */
#ifndef CRN_STAGES_SERIAL_RANKLET_H
#define CRN_STAGES_SERIAL_RANKLET_H

#include "stages/ops.h"

/*
 * 0, or -EINVAL: no data, a type that is not u8 or u16 in and f32 out, a window with an odd side, a
 * side below 2 or larger than the picture's, or more than CRN_RANKLET_HALF_MAX pixels per half, an
 * output whose size is not the number of window positions or without three planes for each of the
 * picture's.
 */
int crn_ranklet_check(const crn_ranklet_params *params, const crn_image *in, const crn_image *out);

#endif

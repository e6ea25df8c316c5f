/* What every ranklet operator, of whichever backend, asks of its arguments. */
#ifndef CRN_STAGES_SERIAL_RANKLET_H
#define CRN_STAGES_SERIAL_RANKLET_H

#include "stages/ops.h"

/*
 * 0, or -EINVAL: no data, a type that is not u8 or u16 in and f32 out, a window with a side that is
 * odd, below 2 or beyond the picture, or of more than CRN_RANKLET_HALF_MAX pixels a half, an output
 * of another size than the window's positions or without three planes for each of the picture's.
 */
int crn_ranklet_check(const crn_ranklet_params *params, const crn_image *in, const crn_image *out);

#endif

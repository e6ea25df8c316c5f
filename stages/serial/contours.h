/* Argument checks of the contours operator, shared by all backends. */
#ifndef CRN_STAGES_SERIAL_CONTOURS_H
#define CRN_STAGES_SERIAL_CONTOURS_H

#include "stages/ops.h"

/* Segments are numbered in 31 bits, and a cell has up to two. */
#define CRN_CONTOURS_CELLS_MAX ((int64_t)1 << 30)

/* 0, or -EINVAL: an enumerator out of range, no data, a picture too small for its border mode,
 * CRN_CONTOURS_CELLS_MAX cells per plane or more, a level below 0 with a closed border. */
int crn_contours_check(const crn_contours_params *params, const crn_image *in,
                       const crn_contours *out);

#endif

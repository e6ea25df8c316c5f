/* Argument checks of the morphology operator, shared by all backends. */
#ifndef CRN_STAGES_SERIAL_MORPHOLOGY_H
#define CRN_STAGES_SERIAL_MORPHOLOGY_H

#include "stages/ops.h"

/* 0, or -EINVAL: an enumerator out of range, an element that crn_element_check rejects, no data, no
 * pixel, a type other than u8 and f32, an `out` of another type or size. */
int crn_morphology_check(const crn_morphology_params *params, const crn_image *in,
                         const crn_image *out);

#endif

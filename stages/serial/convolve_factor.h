/* Separable kernels: factoring a kernel into a column and a row, for the fast backends. */
#ifndef CRN_STAGES_SERIAL_CONVOLVE_FACTOR_H
#define CRN_STAGES_SERIAL_CONVOLVE_FACTOR_H

#include "stages/ops.h"

/* True if the kernel is separable; then writes its factors (`height` and `width` elements). A
 * product is 0 exactly where its weight is, integers stay integers, and any other product is near
 * enough to its weight for the error bound of cernita.h. */
bool crn_convolve_factor(const crn_convolve_params *params, float *column, float *row);

#endif

/* Kernels that are the product of a column and a row: what the fast backends share of them. */
#ifndef CRN_STAGES_SERIAL_CONVOLVE_FACTOR_H
#define CRN_STAGES_SERIAL_CONVOLVE_FACTOR_H

#include "stages/ops.h"

/*
 * Is the kernel the product of a column and a row? Then writes both (height and width of them); a
 * product is 0 just where the weight is, whole numbers stay whole, and every other product is near
 * enough to its weight for the bound of ops.h.
 */
bool crn_convolve_factor(const crn_convolve_params *params, float *column, float *row);

#endif

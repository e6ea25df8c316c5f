/**
 * @file
 * The values of a picture of one plane, for kernels and elements.
 */
#ifndef CRN_STAGES_KERNEL_PLANE_LOAD_H
#define CRN_STAGES_KERNEL_PLANE_LOAD_H

#include "stages/base/error.h"
#include "stages/base/param.h"

/**
 * Reads a picture of one plane of finite values.
 *
 * @param noun,unit what it is to be and what a pixel is then, for messages: "a kernel", "weights"
 * @param side_max largest width and height; 0: any
 * @param ret_values of CRN_KERNEL_TAPS_MAX, row by row
 * @return 0, or negative errno with one clause in *error; -ENOENT: there is no such file
 */
int crn_plane_load(const char *path, const char *noun, const char *unit, int32_t side_max,
                   float *ret_values, crn_size *ret_size, crn_error *error);

#endif

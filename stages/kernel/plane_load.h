/**
 * @file
 * The values of a picture of one plane, for kernels and elements.
 */
#ifndef CRN_STAGES_KERNEL_PLANE_LOAD_H
#define CRN_STAGES_KERNEL_PLANE_LOAD_H

#include "stages/base/error.h"
#include "stages/base/param.h"

/** What the picture is to be. */
typedef struct crn_plane_use {
    const char *noun, *unit; /**< it and its pixels, for messages: "a kernel", "weights" */
    int32_t side_max;        /**< largest width and height; 0: any */
} crn_plane_use;

/**
 * Reads a picture of one plane of finite values.
 *
 * @param ret_values of CRN_KERNEL_TAPS_MAX, row by row
 * @return 0, or negative errno with one clause in *error; -ENOENT: there is no such file
 */
int crn_plane_load(const char *path, const crn_plane_use *use, float *ret_values,
                   crn_size *ret_size, crn_error *error);

#endif

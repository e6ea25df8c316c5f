/**
 * @file
 * Convolution kernels, predefined or from a file.
 */
#ifndef CRN_STAGES_KERNEL_KERNEL_H
#define CRN_STAGES_KERNEL_KERNEL_H

#include "stages/base/api.h"
#include "stages/base/error.h"
#include "stages/base/param.h"
#include "stages/ops.h"

/** A kernel that contains its weights, so that it may be copied. */
typedef struct crn_kernel {
    crn_size size;
    float weights[CRN_KERNEL_TAPS_MAX]; /**< height x width, dense */
} crn_kernel;

/**
 * Names of the predefined kernels, NULL-terminated:
 *
 * - blur: 1/k^2
 * - gaussian: sigma = 0.3 ((k-1)/2 - 1) + 0.8, normalised, as OpenCV's getGaussianKernel with that
 *   sigma
 * - sharpen: all -1, centre k^2
 * - edge: all -1, centre k^2 - 1
 * - emboss: -2 -1 0, -1 1 1, 0 1 2
 * - sobel-x and sobel-y: as OpenCV's
 *
 * The last three are of size 3, the others of any odd size k.
 */
CRN_API extern const char *const crn_kernel_names[];

/**
 * Makes a predefined kernel.
 *
 * @param size square and odd
 * @return 0; -ENOENT: unknown name; -EINVAL: size not supported by that kernel; errors with one
 *        clause in *error
 */
CRN_API int crn_kernel_make(const char *name, crn_size size, crn_kernel *ret_kernel,
                            crn_error *error);

/**
 * Makes a predefined kernel, or reads one from a file.
 *
 * @param text a predefined name, or the path of a file: rows of numbers (separated by blanks or
 *        by commas, in a row all alike; `#` begins a comment), or a TIFF or PNG of one plane
 * @param size of a predefined kernel; a file has its own
 * @return 0, or negative errno with one clause in *error that names file, line and cause
 */
CRN_API int crn_kernel_load(const char *text, crn_size size, crn_kernel *ret_kernel,
                            crn_error *error);

#endif

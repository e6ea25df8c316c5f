/* Convolution kernels: the usual ones by name, others from a file. */
#ifndef CRN_STAGES_KERNEL_H
#define CRN_STAGES_KERNEL_H

#include "stages/base/error.h"
#include "stages/base/param.h"
#include "stages/ops.h"

/* A kernel with the memory of its weights in itself, so that it may be copied. */
typedef struct crn_kernel {
    crn_size size;
    float weights[CRN_KERNEL_TAPS_MAX]; /* height x width, dense */
} crn_kernel;

/*
 * The names, NULL-ended: blur (1/k^2), gaussian (sigma = 0.3 ((k-1)/2 - 1) + 0.8, normalised, as
 * OpenCV's getGaussianKernel with that sigma), sharpen (all -1, the centre k^2), edge (all -1, the
 * centre k^2 - 1), of any odd size k; emboss (-2 -1 0, -1 1 1, 0 1 2), sobel-x and sobel-y (as
 * OpenCV's), of size 3.
 */
extern const char *const crn_kernel_names[];

/* The kernel of that name; size is a square of an odd side. 0; -ENOENT: no such name; -EINVAL: not
 * of that size. With one clause in *error. */
int crn_kernel_make(const char *name, crn_size size, crn_kernel *ret_kernel, crn_error *error);

/*
 * text: a name, or the path of a file, whose own size counts: rows of numbers (spaces, tabs or
 * commas between them, `#` begins a comment), or a TIFF or PNG of one plane. 0, or negative errno
 * with one clause in *error (which names the file, the line and the fault).
 */
int crn_kernel_load(const char *text, crn_size size, crn_kernel *ret_kernel, crn_error *error);

#endif

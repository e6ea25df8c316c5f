/* Reads a frame from a .npy file: H x W x C float32 maps as numpy.save writes them. */
#ifndef CRN_TOOLS_BENCH_NPY_H
#define CRN_TOOLS_BENCH_NPY_H

#include "stages/base/error.h"
#include "stages/image.h"

/*
 * Reads little-endian float32 in C order, H x W or H x W x C. ret_image is interleaved and owned by
 * the caller (free ret_image->data). 0 or negative errno with one line in *error.
 */
int crn_npy_read(const char *path, crn_image *ret_image, crn_error *error);

#endif

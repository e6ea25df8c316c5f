/* A view's maps from a file, for the benchmarks. */
#ifndef CRN_TOOLS_BENCH_FRAME_H
#define CRN_TOOLS_BENCH_FRAME_H

#include "stages/base/error.h"
#include "stages/image.h"

/*
 * Reads float32 maps from a .npy file of H x W or H x W x C, or from a TIFF. *ret_image is owned by
 * the caller (free ret_image->data). 0 or negative errno with one line in *error.
 */
int crn_frame_read(const char *path, crn_image *ret_image, crn_error *error);

#endif

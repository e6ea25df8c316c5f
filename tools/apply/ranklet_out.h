/* Where cernita-apply ranklet puts its results, window by window: TIFF, CSV or a panel in a PNG. */
#ifndef CRN_TOOLS_APPLY_RANKLET_OUT_H
#define CRN_TOOLS_APPLY_RANKLET_OUT_H

#include "stages/base/new_file.h"
#include "tools/apply/panel.h"
#include "tools/apply/windows.h"

typedef struct crn_ranklet_out {
    const char *path;
    crn_picture_writer *writer; /* TIFF */
    crn_new_file csv;
    crn_picture picture; /* PNG */
    bool several;        /* planes */
    crn_panel panel;
} crn_ranklet_out;

/* What the panel of a PNG takes; 0 for the others, which need the memory of one window. Negative
 * errno in *ret_fault, with a line in *error, when it cannot be. */
int crn_ranklet_out_bytes(const char *path, const crn_image *image, const crn_windows *windows,
                          uint64_t *ret_bytes, crn_error *error);

/* Begins the file for all planes of `image` and all windows. 0 or negative errno. */
int crn_ranklet_out_open(const char *path, const crn_image *image, const crn_windows *windows,
                         crn_ranklet_out *ret_out, crn_error *error);

/* One plane with one window: three planes, v, h, d; `row` counts all of them. */
int crn_ranklet_out_add(crn_ranklet_out *out, int32_t plane, crn_size window, int32_t row,
                        const crn_image *ranklets, crn_error *error);

/* Puts the file in its place. 0 or negative errno. */
int crn_ranklet_out_finish(crn_ranklet_out *out, crn_error *error);

/* Frees; unless it was finished there is no file. A zeroed one is fine. */
void crn_ranklet_out_free(crn_ranklet_out *out);

#endif

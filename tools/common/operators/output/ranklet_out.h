/* Output of cernita-apply ranklet, window by window: TIFF, CSV or a panel as PNG. */
#ifndef CRN_TOOLS_COMMON_OPERATORS_OUTPUT_RANKLET_OUT_H
#define CRN_TOOLS_COMMON_OPERATORS_OUTPUT_RANKLET_OUT_H

#include "stages/base/file/new_file.h"
#include "tools/common/operators/output/panel.h"
#include "tools/common/operators/windows.h"

typedef struct crn_ranklet_out {
    const char *path;
    crn_picture_writer *writer; /* TIFF */
    crn_new_file csv;
    crn_picture picture; /* PNG */
    bool several;        /* more than one plane */
    crn_panel panel;
} crn_ranklet_out;

/* Memory of a PNG's panel; 0 for TIFF and CSV, which need the memory of one window. 0 or negative
 * errno with *error, when the panel would be too large. */
int crn_ranklet_out_bytes(const char *path, const crn_image *image, const crn_windows *windows,
                          uint64_t *ret_bytes, crn_error *error);

/* Begins the file for all planes of `image` and all windows. 0 or negative errno. */
int crn_ranklet_out_open(const char *path, const crn_image *image, const crn_windows *windows,
                         crn_ranklet_out *ret_out, crn_error *error);

/* Appends one plane's result for one window: three planes, v, h, d; `row` counts all calls. */
int crn_ranklet_out_add(crn_ranklet_out *out, int32_t plane, crn_size window, int32_t row,
                        const crn_image *ranklets, crn_error *error);

/* Completes the file and renames it to its final name. 0 or negative errno. */
int crn_ranklet_out_finish(crn_ranklet_out *out, crn_error *error);

/* Frees; removes the file unless it was finished. A zeroed one is fine. */
void crn_ranklet_out_free(crn_ranklet_out *out);

#endif

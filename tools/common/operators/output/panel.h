/* Ranklets for viewing: one row per plane and window, with captions. */
#ifndef CRN_TOOLS_COMMON_OPERATORS_OUTPUT_PANEL_H
#define CRN_TOOLS_COMMON_OPERATORS_OUTPUT_PANEL_H

#include "stages/base/param.h"
#include "tools/common/operators/output/map.h"

/* Margins in pixels above and left of the pictures, for the captions of columns and rows. */
#define CRN_PANEL_TOP  22
#define CRN_PANEL_LEFT 76

/* Layout of the panel. Each row shows vertical, horizontal, diagonal and their sum, in cells that
 * fit the picture and its caption. */
typedef struct crn_panel {
    int32_t width, height;           /* of the panel */
    int32_t cell_width, cell_height; /* pitch of the cells, gap included */
} crn_panel;

/* Computes the layout. 0, or -EFBIG if the panel would exceed a PNG's size limit. */
int crn_panel_plan(int32_t picture_width, int32_t picture_height, int64_t rows,
                   crn_panel *ret_panel);

/* Draws the background and the column captions. */
void crn_panel_begin(const crn_panel *panel, const crn_image *to);

/*
 * Draws one row: values from -1 to 1 become 0 to 255, the sum is scaled by its largest magnitude in
 * this row. A value is drawn at its window's centre; other pixels stay dark. The caption names the
 * window and, unless negative, the plane.
 */
void crn_panel_row(const crn_panel *panel, const crn_image *ranklets, crn_size window,
                   int32_t plane, int32_t row, const crn_image *to);

#endif

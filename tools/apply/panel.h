/* Ranklets to look at: a row for each plane and window, with captions. */
#ifndef CRN_TOOLS_APPLY_PANEL_H
#define CRN_TOOLS_APPLY_PANEL_H

#include "stages/base/param.h"
#include "tools/apply/map.h"

/* Pixels above and left of the pictures, for the columns' and the rows' captions. */
#define CRN_PANEL_TOP  22
#define CRN_PANEL_LEFT 76

/* In each row vertical, horizontal, diagonal and their sum, each in a cell that the picture, and
 * its caption, fit into. */
typedef struct crn_panel {
    int32_t width, height;           /* of the panel */
    int32_t cell_width, cell_height; /* from one picture to the next, with the gap */
} crn_panel;

/* 0, or -EFBIG when it would be larger than a PNG may be. */
int crn_panel_plan(int32_t picture_width, int32_t picture_height, int64_t rows,
                   crn_panel *ret_panel);

/* The ground and the columns' captions. */
void crn_panel_begin(const crn_panel *panel, const crn_image *to);

/*
 * One row: -1 to 1 become 0 to 255, the sum by its largest in this row. A value stands where its
 * window's centre is; pixels that are no window's centre stay dark. The caption is the window and,
 * unless it is negative, the plane.
 */
void crn_panel_row(const crn_panel *panel, const crn_image *ranklets, crn_size window,
                   int32_t plane, int32_t row, const crn_image *to);

#endif

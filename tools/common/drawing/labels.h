/* Labels for the larger defects of a view, placed where they cover nothing; used by draw.c only. */
#ifndef CRN_TOOLS_COMMON_DRAWING_LABELS_H
#define CRN_TOOLS_COMMON_DRAWING_LABELS_H

#include <cairo.h>

#include "tools/common/drawing/draw.h"

/*
 * Draws the labels of `view` into a frame of width x height picture pixels at cairo's origin, in
 * which a view pixel is `scale` wide. Uses cairo's current font.
 */
void crn_labels_draw(cairo_t *cairo, const crn_decoded *verdict, int32_t view, crn_palette *palette,
                     double scale, double width, double height);

/* Adds a rectangle with rounded corners to cairo's path. */
void crn_label_frame(cairo_t *cairo, double x, double y, double width, double height,
                     double radius);

#endif

/* The labels of a view's larger defects, placed where they cover nothing; used by draw.c alone. */
#ifndef CRN_TOOLS_TAIL_LABELS_H
#define CRN_TOOLS_TAIL_LABELS_H

#include <cairo.h>

#include "tools/tail/draw.h"

/*
 * Draws the labels of `view` into a frame of width x height pixels of the picture, whose left top
 * is cairo's origin and in which a pixel of the view is `scale` wide. Takes cairo's font as it is.
 */
void crn_labels_draw(cairo_t *cairo, const crn_decoded *verdict, int32_t view, crn_palette *palette,
                     double scale, double width, double height);

/* A rectangle with rounded corners as cairo's path. */
void crn_label_frame(cairo_t *cairo, double x, double y, double width, double height,
                     double radius);

#endif

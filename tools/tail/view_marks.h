/* Marks on the picture of a view that was not judged, or whose values are at fault; used by draw.c
 * alone. */
#ifndef CRN_TOOLS_TAIL_VIEW_MARKS_H
#define CRN_TOOLS_TAIL_VIEW_MARKS_H

#include <cairo.h>

#include "tools/common/decode.h"

/*
 * Marks the view in a frame of width x height pixels of the picture, whose left top is cairo's
 * origin: one that was received and not judged is hatched, one that was not received or was refused
 * is dark; both say why. One whose values are at fault says so below its outlines. Changes cairo's
 * font size.
 */
void crn_view_marks_draw(cairo_t *cairo, const crn_decoded_view *view, double width, double height);

#endif

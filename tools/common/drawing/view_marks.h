/* Marks on the picture of a view that was not judged or has invalid values; used by draw.c only. */
#ifndef CRN_TOOLS_COMMON_DRAWING_VIEW_MARKS_H
#define CRN_TOOLS_COMMON_DRAWING_VIEW_MARKS_H

#include <cairo.h>

#include "src/formats/verdict/decode.h"

/*
 * Marks the view in a frame of width x height picture pixels at cairo's origin: a view received but
 * not judged is hatched, one missing or refused is dark; both show the reason. Invalid values are
 * named below the contours. Changes cairo's font size.
 */
void crn_view_marks_draw(cairo_t *cairo, const crn_decoded_view *view, double width, double height);

#endif

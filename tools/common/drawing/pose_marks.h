/* Where a view shows the fruit: its outline, and the strip that the view answers for; used by
 * draw.c only. */
#ifndef CRN_TOOLS_COMMON_DRAWING_POSE_MARKS_H
#define CRN_TOOLS_COMMON_DRAWING_POSE_MARKS_H

#include <cairo.h>

#include "src/formats/verdict/decode.h"

/*
 * Draws them for `view` in view pixels, of which one is `scale` picture pixels; nothing where the
 * verdict knows no pose of it. The fruit beside the strip is darkened: its outlines count in other
 * views. The strip's borders are drawn as a camera far away sees them.
 */
void crn_pose_marks_draw(cairo_t *cairo, const crn_decoded_surface *surface, uint64_t view,
                         double scale);

#endif

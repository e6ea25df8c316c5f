/* Contours in files: as JSON, and drawn over their picture. */
#ifndef CRN_TOOLS_COMMON_OPERATORS_OUTPUT_OUTLINES_H
#define CRN_TOOLS_COMMON_OPERATORS_OUTPUT_OUTLINES_H

#include "stages/cernita.h"
#include "tools/common/operators/apply.h"

/* [{"plane":0,"closed":true,"points":[[x,y],...]},...], one contour per line, every double with the
 * fewest digits that read back as the same value. 0 or negative errno. */
int crn_outlines_write_json(const char *path, const crn_contours *contours, crn_error *error);

/* Size of the drawing with `scale` pixels per picture
 * pixel. 0, or -EFBIG with a message about the path. */
int crn_outlines_size(const char *path, const crn_picture *picture, int32_t scale,
                      int32_t *ret_width, int32_t *ret_height, crn_error *error);

/*
 * Draws each plane's contours in a colour of its own over the page (a page of three samples in
 * colour, others grey; types other than u8 scaled from their smallest to their largest value) into
 * a PNG. Several pages stand below one another, or side by side when they are taller than wide. 0
 * or negative errno.
 */
int crn_outlines_draw(const char *path, const crn_picture *picture, const crn_contours *contours,
                      int32_t scale, crn_error *error);

#endif

/* Contours in files: as JSON, and drawn over the picture that they are of. */
#ifndef CRN_TOOLS_APPLY_OUTLINES_H
#define CRN_TOOLS_APPLY_OUTLINES_H

#include "stages/result.h"
#include "tools/apply/apply.h"

/* [{"plane":0,"closed":true,"points":[[x,y],...]},...], a contour a line, every double with as many
 * digits as it takes to read the same one again. 0 or negative errno. */
int crn_outlines_write_json(const char *path, const crn_contours *contours, crn_error *error);

/* The size of that picture with `scale` pixels for one of its own. 0, or -EFBIG with a line about
 * the path. */
int crn_outlines_size(const char *path, const crn_picture *picture, int32_t scale,
                      int32_t *ret_width, int32_t *ret_height, crn_error *error);

/*
 * Draws every plane's contours in a colour of its own over its page (a page of three samples in
 * colour, others grey, not u8: from the least to the greatest value); several pages stand below one
 * another, or beside one another when they are taller than wide. A PNG. 0 or negative errno.
 */
int crn_outlines_draw(const char *path, const crn_picture *picture, const crn_contours *contours,
                      int32_t scale, crn_error *error);

#endif

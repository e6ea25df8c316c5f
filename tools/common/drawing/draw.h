/* A verdict as a picture: the fruit's views with every defect's contour over the photograph. */
#ifndef CRN_TOOLS_COMMON_DRAWING_DRAW_H
#define CRN_TOOLS_COMMON_DRAWING_DRAW_H

#include <stdio.h>

#include "stages/base/error.h"
#include "src/formats/verdict/decode.h"
#include "tools/common/drawing/palette.h"
#include "tools/common/drawing/photo.h"

#define CRN_DRAW_VIEWS_MAX CRN_FRUIT_VIEWS_MAX

/*
 * Draws a verdict into a PNG. photos[i] is the background of view i, for i < photo_count; a view
 * without one gets plain grey, large enough for its contours and for `size_min`, a size known from
 * other views (zeros: none). Views that would be too much for one picture are drawn smaller. 0,
 * -ENOMEM, or negative errno with the path in *error.
 */
int crn_draw_verdict(const crn_decoded *verdict, const crn_photo *photos, int32_t photo_count,
                     crn_photo size_min, crn_palette *palette, const char *path, crn_error *error);

/* What is drawn of a fruit, as in crn_draw_verdict. */
typedef struct crn_drawing {
    const crn_decoded *verdict;
    const crn_decoded *before; /* another verdict on the fruit, whose contours are white; or NULL */
    const crn_photo *photos;
    int32_t photo_count;
    crn_photo size_min;
    crn_palette *palette;
    double pixels_max; /* of all views in the picture, which are drawn smaller then; 0: no bound */
} crn_drawing;

/* Writes the PNG to a stream, whose failures are left to the caller. 0, or negative errno with
 * *error, which names the picture `name`. */
int crn_draw_fruit(const crn_drawing *drawing, FILE *stream, const char *name, crn_error *error);

/* Enlarges *size to contain every contour of the verdict. */
void crn_draw_extent(const crn_decoded *verdict, crn_photo *size);

#endif

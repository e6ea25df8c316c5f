/* Corners of a chequerboard's squares in a picture: where two dark and two bright squares meet. */
#ifndef CRN_TOOLS_COMMON_CALIBRATION_CORNERS_H
#define CRN_TOOLS_COMMON_CALIBRATION_CORNERS_H

#include <stdbool.h>
#include <stddef.h>

#include "stages/image.h"

typedef struct crn_corner {
    double x, y;         /* in pixels, pixel centres at whole numbers */
    double angle[4];     /* of the edges that meet here, ascending from -pi, from x towards y */
    bool first_bright;   /* between the first edge and the second */
    double contrast;     /* half of what lies between bright and dark */
    int32_t column, row; /* of the board, once grid.h has found it */
} crn_corner;

typedef struct crn_corners {
    crn_corner *at; /* owned */
    size_t count;
} crn_corners;

/* A picture, smoothed and reduced: what corners are found in. */
typedef struct crn_level {
    float *at; /* owned, rows of `width` */
    int32_t width, height;
    int32_t reduction; /* a pixel here is so many of the picture's, squared */
} crn_level;

/* Reduces one plane of u8. 0 or -ENOMEM. */
int crn_level_create(const crn_image *plane, int32_t reduction, crn_level *ret_level);
void crn_level_free(crn_level *level);

/* The value between pixels, of the level's own; beyond its border that of the border. */
double crn_level_value(const crn_level *level, double x, double y);

/* The corners of a level, in the picture's pixels. `contrast`: between the picture's bright and
 * dark parts. 0 or -ENOMEM. */
int crn_corners_find(const crn_level *level, double contrast, crn_corners *ret_corners);
void crn_corners_free(crn_corners *corners);

/*
 * Moves a corner to where the edges around it meet: the point that the lines through all pixels
 * within `reach`, across their gradients, pass at the least squared distance, weighted by the
 * gradients (Foerstner and Guelch 1987). False, and the corner stays, if there is none nearby.
 */
bool crn_corner_refine(const crn_image *plane, double reach, crn_corner *corner);

#endif

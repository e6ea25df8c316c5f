/* The board's plane and the picture's: a homography, and what it says of how the board lies. */
#ifndef CRN_TOOLS_COMMON_CALIBRATION_PLANE_H
#define CRN_TOOLS_COMMON_CALIBRATION_PLANE_H

#include "tools/common/calibration/corners.h"

typedef struct crn_plane_fit {
    double h[9];        /* from columns and rows to pixels, as a matrix in rows */
    double residual_px; /* root mean square of what corners lie off it, in x and y */
    double worst_px;    /* the most by which one does */
    double pitch_px; /* from corner to corner at the middle of the board, in the direction that is
                        not shortened */
    double squeeze;  /* the direction that is shortened most to that one: the cosine of how much the
                        board is inclined */
    double growth;   /* how much larger than the smallest the largest square is seen, less 1 */
} crn_plane_fit;

/* By least squares; false if the corners lie on a line or are less than four. */
bool crn_plane_find(const crn_corners *corners, crn_plane_fit *ret_fit);

/* Where a place of the board is in the picture. */
void crn_plane_place(const crn_plane_fit *fit, double column, double row, double *ret_x,
                     double *ret_y);

#endif

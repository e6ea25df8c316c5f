/* Outlines and views that tests make by hand. */
#ifndef CRN_TESTS_SUPPORT_SURFACE_OUTLINES_H
#define CRN_TESTS_SUPPORT_SURFACE_OUTLINES_H

#include "stages/cernita_surface.h"

enum { OUTLINES_POINTS = 8192, OUTLINES_COUNT = 64 };

/* The outlines of one view, with room for more. */
typedef struct outlines {
    crn_defects defects;
    crn_defect all[OUTLINES_COUNT];
    float xy[2 * OUTLINES_POINTS];
} outlines;

void outlines_clear(outlines *it);

/* Appends an outline of `count` points (x, y) and returns it. */
crn_defect *outlines_add(outlines *it, const float *xy, uint32_t count);

/* Appends an ellipse of 64 points, clockwise on screen or, as a hole of `parent`, the other way. */
crn_defect *outlines_add_ellipse(outlines *it, const double centre[2], double rx, double ry,
                                 int32_t parent);

/* A view of a sphere of 40 px about (50, 47), 0.5 mm each, in a picture of 101 x 95. */
crn_surface_view outlines_view(const outlines *it, double roll_rad);

#endif

/*
 * What an operator leaves behind that is no image: the contours of a picture.
 *
 * One block of points for all contours, each contour a range of it: no allocation per contour, one
 * copy out.
 */
#ifndef CRN_STAGES_RESULT_H
#define CRN_STAGES_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "stages/base/cplusplus.h"

CRN_C_BEGIN

typedef struct crn_point {
    double x, y; /* pixels; x right (column), y down (row), pixel centres at whole numbers */
} crn_point;

typedef struct crn_contour {
    int32_t plane;
    bool closed;    /* a closed contour repeats its first point as its last */
    uint32_t first; /* index of its first point */
    uint32_t count; /* points, at least 2 */
} crn_contour;

/*
 * Contours in canonical order: by plane, within a plane by the raster position of each contour's
 * first cell. The arrays are the caller's, of the given capacities; an operator fills them from the
 * start. Contours from the first that does not fit on are left out, and `truncated` is set: what
 * stands is always a prefix of the whole.
 */
typedef struct crn_contours {
    crn_point *points;
    crn_contour *contours;
    uint32_t point_capacity, contour_capacity;
    uint32_t point_count, contour_count;
    bool truncated;
} crn_contours;

/* The mean ranklets (ops.h) around one defect, with windows of one size. */
typedef struct crn_texture {
    int32_t width, height; /* of the window */
    float vertical, horizontal, diagonal;
} crn_texture;

/*
 * One contour as the line reports it: geometry in double, in point order, by the stage that asked
 * for the contours.
 */
typedef struct crn_defect {
    int32_t channel; /* class, in channel order */
    int32_t
        parent; /* index, within this view's defects, of the nearest enclosing contour; -1: none */
    bool closed;
    bool hole; /* closed, and it encloses low values, whatever the orientation asked for */
    uint32_t first_point, point_count;
    double area_px;        /* >= 0, shoelace; an open contour's is closed by its chord */
    double perimeter_px;   /* length as drawn: an open contour's without its chord */
    double x0, y0, x1, y1; /* bounding box of the points */
    double centroid_x, centroid_y;
    uint32_t first_texture, texture_count; /* 0 without a stage that makes them */
    double mean_probability; /* of the map as received, over pixel centres inside this outline alone
                                (even-odd) */
} crn_defect;

/*
 * The defects of one view, in the order of class, then contour. The arrays are the caller's; what
 * did not fit is left out in canonical order and `truncated` is set.
 */
typedef struct crn_defects {
    crn_defect *defects;
    float *xy; /* x, y pairs */
    crn_texture *textures;
    uint32_t defect_capacity, point_capacity, texture_capacity;
    uint32_t defect_count, point_count, texture_count;
    bool truncated;
} crn_defects;

CRN_C_END

#endif

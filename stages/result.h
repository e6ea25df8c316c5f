/*
 * What an operator leaves behind that is no image: the contours of a picture.
 *
 * One block of points for all contours, each contour a range of it: no allocation per contour, one
 * copy out.
 */
#ifndef CRN_RESULT_H
#define CRN_RESULT_H

#include <stdbool.h>
#include <stdint.h>

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

#endif

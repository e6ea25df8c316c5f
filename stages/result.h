/**
 * @file
 * Result types of operators and stages other than images: contours, textures and defects.
 *
 * The points of all contours are in one array of which each contour is a range: no allocation per
 * contour, and one copy moves them all.
 */
#ifndef CRN_STAGES_RESULT_H
#define CRN_STAGES_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "stages/base/api.h"

CRN_C_BEGIN

/** A point in pixels; x right (column), y down (row); pixel centres have integer coordinates. */
typedef struct crn_point {
    double x, y;
} crn_point;

/** One contour: a polyline. */
typedef struct crn_contour {
    int32_t plane;
    bool closed;    /**< a closed contour repeats its first point as its last */
    uint32_t first; /**< index of its first point */
    uint32_t count; /**< points, at least 2 */
} crn_contour;

/**
 * Contours in canonical order: by plane, within a plane by the raster position of each contour's
 * first cell. The arrays and their capacities are the caller's; operators overwrite them. If a
 * contour does not fit, it and all later ones are left out and `truncated` is set: the result is
 * always a prefix of the complete one.
 */
typedef struct crn_contours {
    crn_point *points;
    crn_contour *contours;
    uint32_t point_capacity, contour_capacity;
    uint32_t point_count, contour_count;
    bool truncated;
} crn_contours;

/** The mean ranklets (ops.h) around one defect, with windows of one size. */
typedef struct crn_texture {
    int32_t width, height; /**< of the window */
    float vertical, horizontal, diagonal;
} crn_texture;

/** One contour as a verdict reports it. Geometry is in double and in point order, computed by the
 * contours stage. */
typedef struct crn_defect {
    int32_t channel; /**< class, in channel order */
    /** Index of the nearest enclosing contour among this view's defects; -1: none. */
    int32_t parent;
    bool closed;
    bool hole; /**< closed and encloses low values, for either orientation */
    uint32_t first_point, point_count;
    double area_px;        /**< >= 0, shoelace formula; an open contour is closed by its chord */
    double perimeter_px;   /**< polyline length; without the chord of an open contour */
    double x0, y0, x1, y1; /**< bounding box of the points */
    double centroid_x, centroid_y;
    uint32_t first_texture, texture_count; /**< 0 without a stage that computes textures */
    /** Of the map as received, over pixel centres inside this contour alone (even-odd rule). */
    double mean_probability;
} crn_defect;

/** The defects of one view, by class, then contour. The arrays are the caller's; defects that do
 * not fit are left out from the end of that order and `truncated` is set. */
typedef struct crn_defects {
    crn_defect *defects;
    float *xy; /**< x, y pairs */
    crn_texture *textures;
    uint32_t defect_capacity, point_capacity, texture_capacity;
    uint32_t defect_count, point_count, texture_count;
    bool truncated;
} crn_defects;

CRN_C_END

#endif

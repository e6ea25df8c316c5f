/**
 * @file
 * Geometry of contours, on the host, in double and in point order: measures of one contour, nesting
 * of contours, and which pixels are inside them. It reads no pixels.
 *
 * It relies on properties of marching squares: contour points lie on edges of the pixel grid, each
 * segment lies in one grid cell, and contours of one plane never cross (they may touch where a
 * pixel is exactly at the level).
 */
#ifndef CRN_STAGES_STAGE_GEOMETRY_H
#define CRN_STAGES_STAGE_GEOMETRY_H

#include "stages/context.h"
#include "stages/image.h"
#include "stages/ops.h"
#include "stages/cernita.h"

/** Measures of one contour. */
typedef struct crn_outline {
    /** Signed, shoelace formula, an open contour closed by its chord; > 0: clockwise on screen (x
     * right, y down). */
    double area_px;
    double perimeter_px;   /**< without the chord */
    double x0, y0, x1, y1; /**< bounding box of the points */
    double centroid_x, centroid_y;
} crn_outline;

/**
 * Measures one contour.
 *
 * The centroid is that of the area. If an open contour crosses its chord, signed parts of the area
 * may cancel and put the centroid outside of the bounding box; then, and if the area is 0, it is
 * the mean of the points (a closed contour's first point counted once).
 *
 * All sums are relative to the first point, so that a small contour far from the origin loses no
 * digits. Non-finite points give a non-finite area.
 *
 * @param count >= 2
 * @param closed the contour repeats its first point as its last
 */
void crn_outline_measure(const crn_point *points, uint32_t count, bool closed,
                         crn_outline *ret_outline);

/**
 * True if the contour can be one of a picture of that size: its points are finite and lie within
 * one pixel of it. Others come of maps that change while they are read.
 */
bool crn_outline_is_possible(const crn_outline *outline, int32_t height, int32_t width);

/** Position of one contour in the nesting of its plane, and the sum over the pixels inside it. */
typedef struct crn_nest {
    bool wanted;        /**< in: find the pixels inside it */
    bool ignored;       /**< in: it is left out of the sweep, and no contour's parent */
    int32_t parent;     /**< index of the nearest enclosing closed contour; -1: none */
    uint32_t pixels;    /**< number of finite pixels inside; set by crn_nest_add() */
    double sum;         /**< of their values, u8 as 0 to 255; likewise */
    int32_t row, start; /**< internal to the sweep */
} crn_nest;

/** Contours of one plane of an image, all of one level and orientation. */
typedef struct crn_plane_contours {
    int32_t plane, height, width; /**< the image's */
    crn_orientation orientation;
    const crn_point *points; /**< that contours[i].first is an index of */
    const crn_contour *contours;
    uint32_t count;
    uint32_t first; /**< number of contours of earlier planes */
} crn_plane_contours;

/** The pixels inside contours, row by row, in the order in which crn_nest_add() adds their sums.
 * The arrays are the caller's, as long as the contours have points. */
typedef struct crn_nest_runs {
    crn_run *all;
    uint32_t *contour; /**< of each run, counted over all planes */
    uint32_t count;
} crn_nest_runs;

/** Bytes of scratch memory that crn_nest_sweep needs for up to `points` points of one plane. */
size_t crn_nest_scratch_bytes(uint32_t points, int32_t height, int32_t width);

/**
 * Fills nests[0 .. count-1] for the contours of one plane in one scanline sweep: the cost is the
 * number of points. The sums remain 0 until crn_nest_add().
 *
 * Inside is defined by the even-odd rule for each contour separately, an open one closed by its
 * chord. A pixel centre exactly on a contour counts on its left and upper edges, not on its right
 * and lower ones. Positions outside of the image are skipped.
 *
 * @param nests as many as `plane` has contours; the caller sets `wanted` and `ignored`
 * @param runs the pixels inside the contours that are wanted are appended
 * @param scratch crn_nest_scratch_bytes() for at least the contours' points, 8-byte aligned
 * @param pace once it is over the sweep returns early and the nests are undefined
 */
void crn_nest_sweep(const crn_plane_contours *plane, crn_nest *nests, crn_nest_runs *runs,
                    void *scratch, crn_pace *pace);

/**
 * Adds the sums of the runs to their contours.
 *
 * @param sums of the runs, by crn_sum_runs()
 * @param nests of all planes
 */
void crn_nest_add(const crn_nest_runs *runs, const crn_run_sum *sums, crn_nest *nests);

#endif

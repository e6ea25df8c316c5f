/*
 * Geometry of contours, on the host, in double, in point order: what one outline measures, which
 * outline encloses which, and which pixels lie inside.
 *
 * It relies on what marching squares gives: the points of a contour lie on the edges of the pixel
 * grid, each segment lies in one cell of it, and contours of one plane never cross (they may touch
 * where a pixel is exactly at the level).
 */
#ifndef CRN_STAGES_GEOMETRY_H
#define CRN_STAGES_GEOMETRY_H

#include "stages/context.h"
#include "stages/image.h"
#include "stages/ops.h"
#include "stages/result.h"

typedef struct crn_outline {
    double area_px;      /* signed shoelace, an open contour closed by its chord; > 0: clockwise as
                            seen on a screen (x right, y down) */
    double perimeter_px; /* without the chord */
    double x0, y0, x1, y1; /* bounding box of the points */
    double centroid_x, centroid_y;
} crn_outline;

/*
 * Measures one contour of count >= 2 points; a closed one repeats its first point as its last.
 *
 * The centroid is that of the area. Where an open line and its chord cross, the signed parts of the
 * area may cancel and throw it out of the bounding box; then, and without an area, it is the mean
 * of the points (a closed contour's first point counted once).
 *
 * Everything is computed relative to the first point, so that a small outline far from the origin
 * loses no digits. Points that are not finite give an area that is not.
 */
void crn_outline_measure(const crn_point *points, uint32_t count, bool closed,
                         crn_outline *ret_outline);

/* One contour's place among the others of its plane, and the pixels inside it. */
typedef struct crn_nest {
    bool wanted;        /* in: sum the pixels inside it */
    int32_t parent;     /* index in the given contours of the nearest closed one around it; -1 */
    uint32_t pixels;    /* finite pixels inside; 0 where not wanted */
    double sum;         /* of them, u8 as 0 to 255 */
    int32_t row, start; /* the sweep's own */
} crn_nest;

/* Memory that crn_nest_sweep needs for up to that many points of one plane. */
size_t crn_nest_scratch_bytes(uint32_t points, int32_t height, int32_t width);

/*
 * Fills nests[0 .. count-1] for the contours of one plane, all of one level and one orientation.
 *
 * Inside means even-odd in this outline alone, an open one closed by its chord. A pixel centre
 * exactly on the outline belongs to it on its left and upper edges and does not on its right and
 * lower ones. A pixel that is NaN or infinite is left out, and what lies outside of the image
 * counts for nothing. `image` is read at `plane`, with any strides.
 *
 * One sweep over the rows: cost is the number of points plus the area inside. `scratch` is of
 * crn_nest_scratch_bytes() for at least the contours' points, aligned to 8 bytes. Once `pace` is
 * over it ends at once, and the nests say nothing.
 */
void crn_nest_sweep(const crn_image *image, int32_t plane, crn_orientation orientation,
                    const crn_point *points, const crn_contour *contours, uint32_t count,
                    crn_nest *nests, void *scratch, crn_pace *pace);

#endif

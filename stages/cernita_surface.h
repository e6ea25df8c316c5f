/**
 * @file
 * The surface of a fruit from its views: areas and lengths in millimetres, and no spot twice.
 *
 * A fruit rolls under the camera, and each view shows a part of it. The model is a spheroid that
 * turns about its own axis, which is the roll axis. Where a view shows it is the view's pose.
 *
 *  - Every view owns the strip of longitudes that is nearer to its middle than to another view's.
 *    What an outline has within its view's strip counts, the rest is left to the neighbours.
 *  - Points go to a chart in which equal areas have equal size: longitude about the roll axis, and
 *    the integral of the spheroid's circumference along it (Lambert's cylindrical projection, on a
 *    spheroid). There the shoelace formula gives the area.
 *  - Pieces that meet at the border of two strips are one defect.
 *
 * That pose and roll are taken from the pictures alone is due to Albiol and others (Sensors 2021,
 * 21, 2232; 2022, 22, 5452); the strips and the chart are not theirs.
 */
#ifndef CRN_STAGES_CERNITA_SURFACE_H
#define CRN_STAGES_CERNITA_SURFACE_H

#include "cernita.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CRN_SURFACE_VIEWS_MAX   64       /**< of a fruit */
#define CRN_SURFACE_CLASSES_MAX 256      /**< of its defects */
#define CRN_SURFACE_POINTS_MAX  16777216 /**< of all outlines of a fruit; as many outlines */
#define CRN_SURFACE_RADIUS_MAX  1e6      /**< of a pose, in pixels */
#define CRN_SURFACE_SIDE_MAX    16384    /**< of a photograph, in pixels */

/** Confidence below which a pose is not what the picture shows: noise gives up to 0.5. */
#define CRN_SURFACE_POSE_SURE 0.5

/** Confidence below which a roll is not what the skins show. */
#define CRN_SURFACE_ROLL_SURE 0.15

/** The axis of the picture about which the fruit rolls. */
typedef enum crn_roll_axis {
    CRN_ROLL_AXIS_Y, /**< it travels along x */
    CRN_ROLL_AXIS_X, /**< it travels along y */
} crn_roll_axis;

/** Where a view shows the fruit, and how far it has rolled: the ellipse of its outline. */
typedef struct crn_surface_pose {
    double x;          /**< centre in pixels, column */
    double y;          /**< row */
    double rx;         /**< semi-axis along x before the tilt, in pixels; above 0 */
    double ry;         /**< along y */
    double tilt_rad;   /**< turns the ellipse, and the roll axis with it, from x towards y */
    double roll_rad;   /**< since any instant, the same for all views: spots move along +x (+y) */
    double confidence; /**< 0 to 1: of two views within 5 degrees the surer one is used */
    double pitch_rad;  /**< turns the roll axis out of the picture: its +y (+x) end to the camera */
} crn_surface_pose;

/** What a crn_surface is for. */
typedef struct crn_surface_settings {
    crn_roll_axis roll_axis; /**< of all its views */
    double distance_mm;      /**< from the camera to the roll axis; 0: orthographic, far away */
    double roll_error_rad;   /**< up to which pieces are joined across the border of two strips */
    int32_t classes;         /**< 1 to CRN_SURFACE_CLASSES_MAX: channels of the defects */
    int32_t views;           /**< of a fruit at most, 1 to CRN_SURFACE_VIEWS_MAX */
    uint32_t defects;        /**< outlines of all views of a fruit at most, at least 1 */
    uint32_t points;         /**< of all these outlines at most; memory: 0.3 KiB each, if used */
} crn_surface_settings;

/** One view of a fruit. */
typedef struct crn_surface_view {
    crn_surface_pose pose;      /**< where it shows the fruit */
    double mm_per_px;           /**< at the roll axis; above 0 */
    int32_t height;             /**< of the picture, from which coverage is known; 0: unlimited */
    int32_t width;              /**< likewise */
    const crn_defects *defects; /**< the caller's: outlines, holes and their parents */
} crn_surface_view;

/** An outline that a defect was seen in. */
typedef struct crn_surface_part {
    int32_t view;    /**< index of the view */
    uint32_t defect; /**< index in its `defects` */
} crn_surface_part;

/** A defect of the fruit: pieces of outlines of one or several views. */
typedef struct crn_surface_defect {
    int32_t channel;     /**< its class */
    double area_mm2;     /**< less its holes */
    double length_mm;    /**< longest chord between two points of its outline */
    double width_mm;     /**< extent across that chord, along the surface */
    double lambda_rad;   /**< longitude of its middle, -pi to pi: 0 faces the camera at roll 0 */
    double v;            /**< place of its middle along the roll axis, -1 to 1 */
    uint64_t views;      /**< bit i: view i has a part of it */
    uint32_t first_part; /**< index in `parts` */
    uint32_t part_count; /**< at least 1, in the order of views and outlines, without holes */
} crn_surface_defect;

/** The defects of one class. */
typedef struct crn_surface_total {
    uint32_t count;     /**< defects */
    double area_mm2;    /**< of all */
    double largest_mm2; /**< area of the largest; 0 without one */
    double longest_mm;  /**< length of the longest; 0 without one */
} crn_surface_total;

/** What crn_surface_measure() finds: finite numbers, no area above `surface_mm2`. */
typedef struct crn_surface_fruit {
    double diameter_mm;                /**< across the roll axis: mean of the views */
    double length_mm;                  /**< along it */
    double surface_mm2;                /**< of the spheroid with these axes */
    double seen_mm2;                   /**< of it, what a view shows at most 75 degrees inclined */
    double coverage;                   /**< seen_mm2 / surface_mm2 */
    const crn_surface_total *totals;   /**< one for each class */
    const crn_surface_defect *defects; /**< in the order of their first parts */
    const crn_surface_part *parts;     /**< of all defects */
    uint32_t defect_count;             /**< length of `defects` */
    uint32_t part_count;               /**< length of `parts` */
} crn_surface_fruit;

/** Memory for the union of one fruit at a time, and its result. */
typedef struct crn_surface crn_surface;

/**
 * Reserves memory for fruits of these limits.
 *
 * @param context for the texts of errors; must outlive it; one thread at a time
 * @param settings copied
 * @param ret_surface free it with crn_surface_free()
 * @return 0; -EINVAL: a setting, which crn_context_error() names; -ENOMEM
 */
CRN_API int crn_surface_open(crn_context *context, const crn_surface_settings *settings,
                             crn_surface **ret_surface);

/** Frees *surface, its last result too, and sets it to NULL; both may be NULL. */
CRN_API void crn_surface_free(crn_surface **surface);

/**
 * Joins the views of a fruit. Allocates nothing.
 *
 * Outlines are polygons, open ones closed by their chord. Left out are those whose centroid lies
 * beside the fruit, those without an area, and holes without an outline around them; points beyond
 * the fruit's outline, or less than 0.3 px within it, are moved to it. What comes within a pixel of
 * a pole is one defect with what comes there in other views. Missing views leave a gap in
 * `coverage` if no other view sees what they would have. Neither the order of the views nor the
 * instant at which the roll is 0 changes a result, but for rounding and the order of defects.
 *
 * Time: O(points + outlines x log outlines).
 *
 * @param surface gives its context the text of an error
 * @param views the caller's, of the same fruit, with their own roll each
 * @param view_count 1 to `settings.views`
 * @param ret_fruit the surface's, until its next call
 * @return 0; -EINVAL, and a text that names view and value: a pose or scale that is not finite or
 *         out of range, a fruit that reaches the camera, more outlines or points than the
 *         settings allow, a point that is not finite, an outline of less than two points or
 *         beyond its view's arrays, a parent or class that does not exist
 */
CRN_API int crn_surface_measure(crn_surface *surface, const crn_surface_view *views,
                                int32_t view_count, const crn_surface_fruit **ret_fruit);

/** A photograph of a fruit, and where it shows the fruit. */
typedef struct crn_surface_photograph {
    crn_image image;       /**< one plane of u8 in host memory, any strides, the caller's */
    crn_surface_pose pose; /**< its roll does not matter */
    double mm_per_px;      /**< at the roll axis; above 0 */
} crn_surface_photograph;

/**
 * Finds the fruit in a photograph: the ellipse, upright, that fits best where it meets what is
 * behind it. That is known by the picture's border: it may be darker or brighter than the fruit.
 * Allocates nothing. Time: O(pixels).
 *
 * @param surface gives its context the text of an error
 * @param photograph one plane of u8 in host memory, any strides, sides up to CRN_SURFACE_SIDE_MAX
 * @param ret_pose roll and tilt 0; `confidence` is the share of the outline that lies on the
 *        ellipse, less where fruit and background are alike; half of CRN_SURFACE_POSE_SURE at most
 *        where the picture shows two fruits that its left or right end does not cut off; 0:
 *        nothing was found, and the pose is the circle in the picture's middle
 * @return 0 or -EINVAL
 */
CRN_API int crn_surface_find_pose(crn_surface *surface, const crn_image *photograph,
                                  crn_surface_pose *ret_pose);

/** How far a fruit has rolled between two photographs. */
typedef struct crn_surface_roll {
    double roll_rad;   /**< as `roll_rad` of a pose */
    double confidence; /**< the correlation there, less the best elsewhere, 0 to 1; 0: none found */
} crn_surface_roll;

/**
 * Finds by how much the fruit has rolled from one photograph to another, from its skin: where both
 * show it, unwrapped and without its shading, it correlates best. Looks at rolls within `range_rad`
 * of the expected one; finds none without an overlap or on a skin without marks. Allocates nothing.
 * Time: O(range).
 *
 * @param surface gives its context the text of an error
 * @param first,second photographs of the same fruit, with their poses
 * @param expected_rad from the first to the second; positive: spots move along +x (+y)
 * @param range_rad 0 to pi
 * @param ret_roll with confidence 0 the expected one
 * @return 0 or -EINVAL
 */
CRN_API int crn_surface_find_roll(crn_surface *surface, const crn_surface_photograph *first,
                                  const crn_surface_photograph *second, double expected_rad,
                                  double range_rad, crn_surface_roll *ret_roll);

#ifdef __cplusplus
}
#endif
#endif

/**
 * @file
 * What the parts of a crn_surface share: the pose of a view in numbers ready for use, the strips,
 * and the pieces of outlines within them.
 */
#ifndef CRN_STAGES_SURFACE_SURFACE_H
#define CRN_STAGES_SURFACE_SURFACE_H

#include "stages/base/error.h"
#include "stages/cernita_surface.h"
#include "stages/surface/skin.h"

/** What each function begins with: clears the context's error. NULL surfaces and missing outputs,
 * of which `name` is the parameter, are refused. *ret_error is then for the function's own texts.
 */
int crn_surface_begin(crn_surface *surface, const void *output, const char *name,
                      crn_error **ret_error);

/** The longitude of a skin's column, and the height of its row. */
static inline double crn_skin_lambda(int column)
{
    return (column - (CRN_SKIN_COLUMNS - 1) / 2.0) * CRN_SKIN_COLUMN_RAD;
}

static inline double crn_skin_height(int row)
{
    return CRN_SKIN_HEIGHT_MAX * ((2 * row + 1.0) / CRN_SKIN_ROWS - 1);
}

/** A point of the unit sphere, to which the spheroid is stretched: x across the roll axis, y along
 * it, z towards the camera. */
typedef struct crn_sphere_point {
    double x, y, z;
} crn_sphere_point;

/** A point of the equal-area chart of a view. */
typedef struct crn_chart_point {
    double lambda; /**< longitude from the middle of the view, -pi/2 to pi/2 */
    double w;      /**< in mm, as crn_spheroid_along() */
    double v;      /**< along the roll axis, -1 to 1 */
    double z;      /**< towards the camera, 0 to 1 */
    int side;      /**< of the view's strip: -1, 0, 1 */
    crn_sphere_point sphere;
} crn_chart_point;

/** A spheroid with the semi-axes a across the roll axis and c along it. */
typedef struct crn_spheroid {
    double a_mm, c_mm;
    double e;    /**< a^2 - c^2 */
    double root; /**< of |e|; 0 for a sphere, to rounding */
} crn_spheroid;

crn_spheroid crn_spheroid_of(double a_mm, double c_mm);

/** w(v): a d(lambda) d(w) is an element of the surface. Odd; in mm. */
double crn_spheroid_along(const crn_spheroid *spheroid, double v);

double crn_spheroid_surface_mm2(const crn_spheroid *spheroid);

/** A view, ready to take points to the chart, and the strip that it owns. */
typedef struct crn_surface_lens {
    double x, y;                         /**< centre of the ellipse, in pixels */
    double across_x, across_y;           /**< u = across . (point - centre) */
    double along_x, along_y;             /**< v likewise */
    double across_px, along_px;          /**< semi-axes */
    double snap2;                        /**< u^2 + v^2 from which a point is on the rim */
    double distance;                     /**< of the camera in units of the radius; 0: infinite */
    double a_mm, c_mm;                   /**< of the fruit, as this view shows it */
    double roll_rad, cos_roll, sin_roll; /**< to the fruit's own longitudes */
    double cos_pitch, sin_pitch;         /**< of the axis, out of the picture */
    double confidence;
    double lo, hi; /**< longitudes of its strip, from its middle; lo >= hi: none */
    int32_t strip; /**< its place among all strips */
} crn_surface_lens;

/** Fills all but the strip. The view was checked. False if the fruit reaches the camera. */
bool crn_surface_lens_set(const crn_surface_settings *settings, const crn_surface_view *view,
                          crn_surface_lens *lens);

/** The pixel's place in the ellipse, as its centre is (0, 0) and its rim has the radius 1. */
void crn_surface_lens_place(const crn_surface_lens *lens, double px, double py, double *ret_u,
                            double *ret_v);

/** Takes a place in the ellipse to the sphere; one beyond its rim, to the rim. */
crn_sphere_point crn_surface_lens_sphere(const crn_surface_lens *lens, double u, double v);

/** The pixel that shows a point of the sphere that faces the camera. */
crn_point crn_surface_lens_pixel(const crn_surface_lens *lens, const crn_sphere_point *point);

/** fmin(most, fmax(least, value)) without calls; `least` for NaN. */
static inline double crn_surface_within(double value, double least, double most)
{
    return value > least ? value < most ? value : most : least;
}

/** The v that the picture shows, on the middle meridian, so many pixels within the fruit's end. */
double crn_surface_lens_pole(const crn_surface_lens *lens, double px);

/** The value at a place of a photograph, between its pixels; that of its border beyond it. Inline,
 * as a pose and a roll mostly consist of it. */
static inline float crn_surface_value_at(const crn_image *image, double x, double y)
{
    x = crn_surface_within(x, 0, image->width - 1);
    y = crn_surface_within(y, 0, image->height - 1);
    int32_t x0 = (int32_t)x, y0 = (int32_t)y;
    ptrdiff_t right = x0 + 1 < image->width ? image->step : 0;
    ptrdiff_t below = y0 + 1 < image->height ? image->row_stride : 0;
    const uint8_t *at = (const uint8_t *)image->data + y0 * image->row_stride + x0 * image->step;
    float s = (float)(x - x0), t = (float)(y - y0);
    float upper = (float)at[0] + s * (float)(at[right] - at[0]);
    float lower = (float)at[below] + s * (float)(at[below + right] - at[below]);
    return upper + t * (lower - upper);
}

/** Gives each view the longitudes nearest to its middle. Fills `order` with the views that own a
 * strip, by longitude, and returns their number. */
int32_t crn_surface_divide(crn_surface_lens *lenses, int32_t count, int32_t *order);

/** The area that the view shows of its own strip at most 75 degrees inclined. */
double crn_surface_seen_mm2(const crn_surface_lens *lens, const crn_surface_view *view,
                            const crn_spheroid *spheroid);

/** A run of an outline within its strip. */
typedef struct crn_surface_run {
    double area_mm; /**< its part of the integral of lambda dw; negative for holes */
    uint32_t first_point, point_count; /**< in `points` */
    uint32_t defect;                   /**< index in its view's defects */
    int32_t view, channel;
    uint32_t joined; /**< a run of the same defect with a lower number, or itself */
    uint32_t next;   /**< of the same defect; 0: the last one */
    bool hole;
} crn_surface_run;

/** Where a run crosses a border of its strip, or what a piece occupies of it. */
typedef struct crn_surface_mark {
    uint32_t group; /**< marks of one group are compared with each other */
    uint32_t run;
    double from, to; /**< a crossing: w and v; an occupied range: v */
} crn_surface_mark;

/** A point of an outline on the stretched sphere, in the fruit's own longitudes. */
typedef struct crn_surface_vertex {
    float x, y, z;
} crn_surface_vertex;

/** Sorts by group, then `from`; without memory of its own (heap sort). */
void crn_surface_sort(crn_surface_mark *marks, uint32_t count);

/** One fruit at a time. */
struct crn_surface {
    crn_context *context;
    crn_surface_settings settings;
    crn_spheroid spheroid;
    crn_surface_lens lenses[CRN_SURFACE_VIEWS_MAX];
    int32_t order[CRN_SURFACE_VIEWS_MAX]; /**< views that own a strip, by longitude */
    int32_t strips;                       /**< how many these are */

    crn_surface_vertex *vertices; /**< of all runs */
    crn_surface_run *runs;
    crn_surface_mark *crossings; /**< of the outline at hand and its holes */
    crn_surface_mark *ranges;    /**< occupied at borders, by all runs */
    uint32_t *first_hole;        /**< of an outline of the view at hand; UINT32_MAX: none */
    uint32_t *next_hole;         /**< of the same outline */
    uint32_t vertex_count, run_count, crossing_count, range_count;
    uint32_t vertex_capacity, run_capacity, crossing_capacity, range_capacity;
    uint32_t at_pole[2][CRN_SURFACE_CLASSES_MAX]; /**< a run that reaches it; UINT32_MAX: none */
    bool full;                                    /**< something did not fit */

    crn_surface_total totals[CRN_SURFACE_CLASSES_MAX];
    crn_surface_defect *defects;
    crn_surface_part *parts;
    crn_surface_fruit fruit;

    uint32_t profile[CRN_SURFACE_SIDE_MAX]; /**< of the photograph at hand: pixels of the fruit */
    crn_surface_skin skins[2];
    float means[CRN_SKIN_ROWS][CRN_SKIN_COLUMNS]; /**< of the skin at hand */
};

/** 0, or -EINVAL with a text that names view and value. */
int crn_surface_check(const crn_surface *surface, const crn_surface_view *views, int32_t count,
                      crn_error *error);

/** The same for a pose and a scale. */
int crn_surface_check_pose(const char *name, const crn_surface_view *view, crn_error *error);

/** The same for a photograph. */
int crn_surface_check_image(const char *name, const crn_image *image, crn_error *error);

/** Cuts the outlines of a view to its strip: appends runs, vertices and occupied ranges. */
void crn_surface_cut_view(crn_surface *surface, const crn_surface_view *views, int32_t view);

/** The run that stands for all that are joined with this one: that with the lowest number. */
uint32_t crn_surface_root(crn_surface *surface, uint32_t run);

void crn_surface_join(crn_surface *surface, uint32_t a, uint32_t b);

/** Joins what meets at the borders of neighbouring strips. */
void crn_surface_join_strips(crn_surface *surface);

/** Makes defects, parts and totals of the joined runs. */
void crn_surface_list_defects(crn_surface *surface);

#endif

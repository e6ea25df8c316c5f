/* The surface of cernita_surface.h: its memory, and the union of a fruit's views. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/library/library.h"
#include "stages/surface/surface.h"

#define MORE_CROSSINGS 64 /* than points: of outlines with few, long edges */

static int check_settings(const crn_surface_settings *settings, crn_error *error)
{
    if ((unsigned)settings->roll_axis > CRN_ROLL_AXIS_X)
        return crn_error_set(error, -EINVAL, "settings.roll_axis is %d; see crn_roll_axis",
                             (int)settings->roll_axis);
    if (!(settings->distance_mm >= 0 && isfinite(settings->distance_mm)))
        return crn_error_set(error, -EINVAL, "settings.distance_mm is %g; it must be 0 or more",
                             settings->distance_mm);
    if (!(settings->roll_error_rad >= 0 && settings->roll_error_rad <= M_PI))
        return crn_error_set(error, -EINVAL, "settings.roll_error_rad is %g; it must be 0 to pi",
                             settings->roll_error_rad);
    const struct {
        const char *name;
        int64_t value, most;
    } rows[] = {
        {"classes", settings->classes, CRN_SURFACE_CLASSES_MAX},
        {"views", settings->views, CRN_SURFACE_VIEWS_MAX},
        {"defects", settings->defects, CRN_SURFACE_POINTS_MAX},
        {"points", settings->points, CRN_SURFACE_POINTS_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].value < 1 || rows[i].value > rows[i].most)
            return crn_error_set(error, -EINVAL, "settings.%s is %lld; it must be 1 to %lld",
                                 rows[i].name, (long long)rows[i].value, (long long)rows[i].most);
    return 0;
}

/* Memory that is not touched costs nothing, so that all may be there for the worst case. */
static int reserve(crn_surface *surface)
{
    uint32_t points = surface->settings.points, outlines = surface->settings.defects;
    surface->crossing_capacity = 2 * points + MORE_CROSSINGS;
    surface->vertex_capacity = points + surface->crossing_capacity;
    surface->run_capacity = outlines + surface->crossing_capacity / 2;
    surface->range_capacity = surface->crossing_capacity / 2 + 2 * surface->run_capacity;
    surface->crossings = calloc(surface->crossing_capacity, sizeof *surface->crossings);
    surface->vertices = calloc(surface->vertex_capacity, sizeof *surface->vertices);
    surface->runs = calloc(surface->run_capacity, sizeof *surface->runs);
    surface->ranges = calloc(surface->range_capacity, sizeof *surface->ranges);
    surface->first_hole = calloc(outlines, sizeof *surface->first_hole);
    surface->next_hole = calloc(outlines, sizeof *surface->next_hole);
    surface->defects = calloc(surface->run_capacity, sizeof *surface->defects);
    surface->parts = calloc(surface->run_capacity, sizeof *surface->parts);
    bool all = surface->crossings && surface->vertices && surface->runs && surface->ranges &&
               surface->first_hole && surface->next_hole && surface->defects && surface->parts;
    return all ? 0 : -ENOMEM;
}

int crn_surface_begin(crn_surface *surface, const void *output, const char *name,
                      crn_error **ret_error)
{
    if (!surface)
        return -EINVAL;
    *ret_error = crn_context_error_of(surface->context);
    int r = crn_context_begin(surface->context);
    if (r == 0 && !output)
        r = crn_error_set(*ret_error, -EINVAL, "%s is NULL", name);
    return r;
}

int crn_surface_open(crn_context *context, const crn_surface_settings *settings,
                     crn_surface **ret_surface)
{
    if (!context)
        return -EINVAL;
    crn_error *error = crn_context_error_of(context);
    int r = crn_context_begin(context);
    if (r < 0)
        return r;
    if (!settings || !ret_surface)
        return crn_error_set(error, -EINVAL, "%s is NULL", settings ? "ret_surface" : "settings");
    r = check_settings(settings, error);
    if (r < 0)
        return r;
    crn_surface *surface = calloc(1, sizeof *surface);
    r = -ENOMEM;
    if (surface) {
        surface->context = context;
        surface->settings = *settings;
        r = reserve(surface);
    }
    if (r < 0) {
        crn_surface_free(&surface);
        return crn_error_set(error, r, "no memory for settings.points and settings.defects");
    }
    *ret_surface = surface;
    return 0;
}

void crn_surface_free(crn_surface **surface)
{
    crn_surface *it = surface ? *surface : NULL;
    if (!it)
        return;
    free(it->crossings);
    free(it->vertices);
    free(it->runs);
    free(it->ranges);
    free(it->first_hole);
    free(it->next_hole);
    free(it->defects);
    free(it->parts);
    free(it);
    *surface = NULL;
}

/* Lenses, strips and the fruit's own size. */
static int arrange(crn_surface *surface, const crn_surface_view *views, int32_t count,
                   crn_error *error)
{
    double a = 0, c = 0;
    for (int32_t i = 0; i < count; i++) {
        crn_surface_lens *lens = &surface->lenses[i];
        if (!crn_surface_lens_set(&surface->settings, &views[i], lens))
            return crn_error_set(error, -EINVAL,
                                 "views[%d]: a fruit of %g mm reaches the camera at %g mm, "
                                 "settings.distance_mm",
                                 (int)i, 2 * lens->a_mm, surface->settings.distance_mm);
        a += lens->a_mm / count;
        c += lens->c_mm / count;
    }
    surface->spheroid = crn_spheroid_of(a, c);
    surface->strips = crn_surface_divide(surface->lenses, count, surface->order);
    return 0;
}

static void begin_fruit(crn_surface *surface, const crn_surface_view *views)
{
    surface->vertex_count = surface->run_count = surface->crossing_count = 0;
    surface->range_count = 0;
    memset(surface->at_pole, 0xff, sizeof surface->at_pole);
    surface->full = false;
    const crn_spheroid *shape = &surface->spheroid;
    crn_surface_fruit *fruit = &surface->fruit;
    *fruit = (crn_surface_fruit){
        .diameter_mm = 2 * shape->a_mm,
        .length_mm = 2 * shape->c_mm,
        .surface_mm2 = crn_spheroid_surface_mm2(shape),
        .totals = surface->totals,
        .defects = surface->defects,
        .parts = surface->parts,
    };
    for (int32_t i = 0; i < surface->strips; i++) {
        int32_t view = surface->order[i];
        fruit->seen_mm2 += crn_surface_seen_mm2(&surface->lenses[view], &views[view], shape);
    }
    fruit->seen_mm2 = fmin(fruit->seen_mm2, fruit->surface_mm2);
    fruit->coverage = fruit->seen_mm2 / fruit->surface_mm2;
}

int crn_surface_measure(crn_surface *surface, const crn_surface_view *views, int32_t view_count,
                        const crn_surface_fruit **ret_fruit)
{
    crn_error *error;
    int r = crn_surface_begin(surface, ret_fruit, "ret_fruit", &error);
    if (r == 0)
        r = crn_surface_check(surface, views, view_count, error);
    if (r == 0)
        r = arrange(surface, views, view_count, error);
    if (r < 0)
        return r;
    begin_fruit(surface, views);
    for (int32_t i = 0; i < view_count; i++)
        if (surface->lenses[i].lo < surface->lenses[i].hi)
            crn_surface_cut_view(surface, views, i);
    if (surface->full)
        return crn_error_set(error, -EINVAL,
                             "the outlines cross the strips' borders too often; raise "
                             "settings.points");
    crn_surface_join_strips(surface);
    crn_surface_list_defects(surface);
    *ret_fruit = &surface->fruit;
    return 0;
}

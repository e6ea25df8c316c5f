/* Refuses views that cannot be measured, before anything is computed. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "stages/library/library.h"
#include "stages/surface/surface.h"

/* Of a centre, in pixels; of a fruit's scale, in mm for a pixel. */
#define PLACE_MAX  1e9
#define SCALE_MIN  1e-6
#define SCALE_MAX  1e6
#define RADIUS_MIN 0.5

static bool is_within(double value, double least, double most)
{
    return value >= least && value <= most; /* false for NaN */
}

int crn_surface_check_pose(const char *name, const crn_surface_view *view, crn_error *error)
{
    const crn_surface_pose *pose = &view->pose;
    const struct {
        const char *name;
        double value, least, most;
    } rows[] = {
        {"pose.x", pose->x, -PLACE_MAX, PLACE_MAX},
        {"pose.y", pose->y, -PLACE_MAX, PLACE_MAX},
        {"pose.rx", pose->rx, RADIUS_MIN, CRN_SURFACE_RADIUS_MAX},
        {"pose.ry", pose->ry, RADIUS_MIN, CRN_SURFACE_RADIUS_MAX},
        {"pose.tilt_rad", pose->tilt_rad, -PLACE_MAX, PLACE_MAX},
        {"pose.roll_rad", pose->roll_rad, -PLACE_MAX, PLACE_MAX},
        {"pose.confidence", pose->confidence, 0, 1},
        {"pose.pitch_rad", pose->pitch_rad, -M_PI / 2, M_PI / 2},
        {"mm_per_px", view->mm_per_px, SCALE_MIN, SCALE_MAX},
        {"height", view->height, 0, INT32_MAX},
        {"width", view->width, 0, INT32_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!is_within(rows[i].value, rows[i].least, rows[i].most))
            return crn_error_set(error, -EINVAL, "%s.%s is %g; it must be %g to %g", name,
                                 rows[i].name, rows[i].value, rows[i].least, rows[i].most);
    return 0;
}

int crn_surface_check_image(const char *name, const crn_image *image, crn_error *error)
{
    if (!image || !image->data)
        return crn_error_set(error, -EINVAL, "%s%s is NULL", name, image ? ".data" : "");
    if (image->type != CRN_U8 || image->planes != 1)
        return crn_error_set(error, -EINVAL, "%s has %d planes of type %d; it must be one of u8",
                             name, (int)image->planes, (int)image->type);
    if (image->height < 1 || image->height > CRN_SURFACE_SIDE_MAX || image->width < 1 ||
        image->width > CRN_SURFACE_SIDE_MAX)
        return crn_error_set(error, -EINVAL, "%s is %d x %d (height x width); each must be 1 to %d",
                             name, (int)image->height, (int)image->width, CRN_SURFACE_SIDE_MAX);
    return crn_library_check_image(name, image, error);
}

/* By the exponents, all ones of which are no number's: so the loop needs no branch. */
static bool are_finite(const float *values, size_t count)
{
    uint32_t odd = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        odd |= (bits & 0x7f800000) == 0x7f800000;
    }
    return !odd;
}

/* One outline: its class, its parent, and points that lie in the view's array and are finite. */
static int check_outline(const crn_surface *surface, const crn_defects *all, int view, uint32_t i,
                         crn_error *error)
{
    const crn_defect *outline = &all->defects[i];
    uint32_t first = outline->first_point, count = outline->point_count;
    if (outline->channel < 0 || outline->channel >= surface->settings.classes)
        return crn_error_set(error, -EINVAL,
                             "views[%d].defects[%u] is of channel %d; it must be 0 to %d", view, i,
                             (int)outline->channel, (int)surface->settings.classes - 1);
    if (outline->parent < -1 ||
        (outline->parent >= 0 && (uint32_t)outline->parent >= all->defect_count))
        return crn_error_set(error, -EINVAL,
                             "views[%d].defects[%u] has the parent %d; the view has %u outlines",
                             view, i, (int)outline->parent, all->defect_count);
    if (count < 2)
        return crn_error_set(error, -EINVAL,
                             "views[%d].defects[%u] has %u points; an outline has at least 2", view,
                             i, count);
    if (first > all->point_count || count > all->point_count - first)
        return crn_error_set(error, -EINVAL,
                             "views[%d].defects[%u] has %u points from number %u on; the view has "
                             "%u in all",
                             view, i, count, first, all->point_count);
    const float *xy = all->xy + 2 * (size_t)first;
    if (are_finite(xy, 2 * (size_t)count))
        return 0;
    for (size_t k = 0; k < 2 * (size_t)count; k++)
        if (!isfinite(xy[k]))
            return crn_error_set(error, -EINVAL,
                                 "views[%d].defects[%u]: its point %zu is not finite", view, i,
                                 k / 2);
    return 0;
}

int crn_surface_check(const crn_surface *surface, const crn_surface_view *views, int32_t count,
                      crn_error *error)
{
    uint64_t outlines = 0, points = 0;
    if (!views)
        return crn_error_set(error, -EINVAL, "views is NULL");
    if (count < 1 || count > surface->settings.views)
        return crn_error_set(error, -EINVAL, "view_count is %d; it must be 1 to settings.views, %d",
                             (int)count, (int)surface->settings.views);
    for (int32_t i = 0; i < count; i++) {
        const crn_defects *all = views[i].defects;
        char name[24];
        snprintf(name, sizeof name, "views[%d]", (int)i);
        int r = crn_surface_check_pose(name, &views[i], error);
        if (r < 0)
            return r;
        if (!all || (all->defect_count && !all->defects) || (all->point_count && !all->xy))
            return crn_error_set(error, -EINVAL, "views[%d].defects%s is NULL", (int)i,
                                 all ? ": an array of it" : "");
        for (uint32_t k = 0; k < all->defect_count; k++)
            points += all->defects[k].point_count;
        outlines += all->defect_count;
        if (outlines > surface->settings.defects || points > surface->settings.points)
            return crn_error_set(error, -EINVAL,
                                 "the views have more than %u outlines or %u points; raise "
                                 "settings.defects and settings.points",
                                 surface->settings.defects, surface->settings.points);
        for (uint32_t k = 0; k < all->defect_count && r == 0; k++)
            r = check_outline(surface, all, (int)i, k, error);
        if (r < 0)
            return r;
    }
    return 0;
}

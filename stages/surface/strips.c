/* Which longitudes a view owns, and how much of them it shows. */
#include <math.h>

#include "stages/surface/surface.h"

#define SAME_MIDDLE_RAD (5 * M_PI / 180)  /* nearer views show the same: one of them is used */
#define SEEN_RAD        (75 * M_PI / 180) /* largest inclination at which a spot is seen */
#define SLICES          24                /* of a strip, whose seen area is summed up */
#define HALVINGS        10                /* of an interval of v, to find where that ends */

/* The longitude of the view's middle on the fruit, 0 to 2 pi. */
static double middle(const crn_surface_lens *lens)
{
    double turned = fmod(-lens->roll_rad, 2 * M_PI);
    return turned < 0 ? turned + 2 * M_PI : turned;
}

static bool is_surer(const crn_surface_lens *lenses, int32_t a, int32_t b)
{
    return lenses[a].confidence > lenses[b].confidence ||
           (lenses[a].confidence == lenses[b].confidence && a < b);
}

/* Leaves in `order` the views that are the surest within 5 degrees. */
static int32_t choose(const crn_surface_lens *lenses, int32_t count, int32_t *order)
{
    int32_t chosen = 0;
    for (int32_t i = 0; i < count; i++) {
        int32_t at = i;
        while (at > 0 && is_surer(lenses, i, order[at - 1])) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
    for (int32_t i = 0; i < count; i++) {
        bool is_new = true;
        for (int32_t j = 0; j < chosen && is_new; j++) {
            double apart = lenses[order[i]].roll_rad - lenses[order[j]].roll_rad;
            is_new = fabs(remainder(apart, 2 * M_PI)) >= SAME_MIDDLE_RAD;
        }
        if (is_new)
            order[chosen++] = order[i];
    }
    return chosen;
}

int32_t crn_surface_divide(crn_surface_lens *lenses, int32_t count, int32_t *order)
{
    int32_t chosen = choose(lenses, count, order);
    for (int32_t i = 1; i < chosen; i++)
        for (int32_t j = i; j > 0 && middle(&lenses[order[j]]) < middle(&lenses[order[j - 1]]);
             j--) {
            int32_t other = order[j];
            order[j] = order[j - 1];
            order[j - 1] = other;
        }
    for (int32_t i = 0; i < chosen; i++) {
        crn_surface_lens *lens = &lenses[order[i]], *next = &lenses[order[(i + 1) % chosen]];
        double apart = middle(next) - middle(lens);
        if (apart <= 0)
            apart += 2 * M_PI; /* with one view: itself, once around */
        lens->strip = i;
        lens->hi = apart / 2;
        next->lo = -apart / 2;
    }
    return chosen;
}

bool crn_surface_strip(const crn_surface *surface, int32_t view, double *ret_from_rad,
                       double *ret_to_rad)
{
    const crn_surface_lens *lens = &surface->lenses[view];
    if (lens->lo >= lens->hi)
        return false;
    *ret_from_rad = lens->lo;
    *ret_to_rad = lens->hi;
    return true;
}

/* The cosine of the angle between the surface's normal and the ray to the camera. */
static double facing(const crn_surface_lens *lens, double ratio, double cos_lambda, double v)
{
    double d = lens->distance, r2 = 1 - v * v, z = sqrt(r2) * cos_lambda;
    double normal2 = r2 + v * v * ratio * ratio;
    double ray2 = d * d - 2 * d * z + r2 + v * v / (ratio * ratio);
    return (d * z - 1) / sqrt(normal2 * ray2);
}

/* The largest v of a meridian at which the surface is seen; 0 if it is nowhere. */
static double find_top(const crn_surface_lens *lens, const crn_spheroid *spheroid,
                       double cos_lambda)
{
    double ratio = spheroid->a_mm / spheroid->c_mm, least = cos(SEEN_RAD);
    if (lens->distance == 0) {
        double slope = fmax(0, cos_lambda * cos_lambda / (least * least) - 1) / (ratio * ratio);
        return sqrt(slope / (1 + slope));
    }
    double seen = 0, unseen = 1;
    if (facing(lens, ratio, cos_lambda, 0) < least)
        return 0;
    for (int i = 0; i < HALVINGS; i++) {
        double v = (seen + unseen) / 2;
        if (facing(lens, ratio, cos_lambda, v) < least)
            unseen = v;
        else
            seen = v;
    }
    return (seen + unseen) / 2;
}

static bool is_in_picture(const crn_surface_view *view, crn_point at)
{
    return view->height == 0 || view->width == 0 ||
           (at.x >= -0.5 && at.y >= -0.5 && at.x <= view->width - 0.5 &&
            at.y <= view->height - 0.5);
}

/* The bounding box of the ellipse lies in the picture. */
static bool is_whole(const crn_surface_lens *lens, const crn_surface_view *view)
{
    double across2 = lens->across_px * lens->across_px, along2 = lens->along_px * lens->along_px;
    double half_x = hypot(across2 * lens->across_x, along2 * lens->along_x);
    double half_y = hypot(across2 * lens->across_y, along2 * lens->along_y);
    return is_in_picture(view, (crn_point){lens->x - half_x, lens->y - half_y}) &&
           is_in_picture(view, (crn_point){lens->x + half_x, lens->y + half_y});
}

/* Of the meridian's part from -top to top, the length in w that lies in the picture. */
static double in_picture_mm(const crn_surface_lens *lens, const crn_surface_view *view,
                            const crn_spheroid *spheroid, double lambda, double top)
{
    double sum = 0, before = crn_spheroid_along(spheroid, -top);
    for (int i = 0; i < SLICES; i++) {
        double v = top * ((2 * i + 1.0) / SLICES - 1), r = sqrt(1 - v * v);
        double after = crn_spheroid_along(spheroid, top * ((2 * i + 2.0) / SLICES - 1));
        crn_sphere_point point = {r * sin(lambda), v, r * cos(lambda)};
        if (is_in_picture(view, crn_surface_lens_pixel(lens, &point)))
            sum += after - before;
        before = after;
    }
    return sum;
}

double crn_surface_seen_mm2(const crn_surface_lens *lens, const crn_surface_view *view,
                            const crn_spheroid *spheroid)
{
    double lo = fmax(lens->lo, -SEEN_RAD), hi = fmin(lens->hi, SEEN_RAD), sum = 0;
    bool whole = is_whole(lens, view);
    for (int i = 0; i < SLICES && lo < hi; i++) {
        double lambda = lo + (hi - lo) * (i + 0.5) / SLICES;
        double top = find_top(lens, spheroid, cos(lambda));
        sum += whole ? 2 * crn_spheroid_along(spheroid, top)
                     : in_picture_mm(lens, view, spheroid, lambda, top);
    }
    return lo < hi ? spheroid->a_mm * sum * (hi - lo) / SLICES : 0;
}

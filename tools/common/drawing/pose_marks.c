#include "tools/common/drawing/pose_marks.h"

#include <math.h>
#include <string.h>

#define STEPS       24 /* of a meridian */
#define SIDE_MAX    1e5
#define RAD_PER_DEG (M_PI / 180)

/* The ellipse's axes in view pixels: across the roll axis, and along it. */
typedef struct ellipse {
    double x, y;
    double across_x, across_y, along_x, along_y;
} ellipse;

static bool is_drawable(const crn_decoded_pose *pose)
{
    return fabs(pose->x) < SIDE_MAX && fabs(pose->y) < SIDE_MAX && pose->rx > 0 &&
           pose->rx < SIDE_MAX && pose->ry > 0 && pose->ry < SIDE_MAX && isfinite(pose->tilt_deg);
}

static const crn_decoded_pose *find_pose(const crn_decoded_surface *surface, uint64_t view)
{
    for (uint32_t i = 0; i < surface->pose_count; i++)
        if (surface->poses[i].view == view && is_drawable(&surface->poses[i]))
            return &surface->poses[i];
    return NULL;
}

static ellipse ellipse_of(const crn_decoded_pose *pose, bool rolls_about_x)
{
    double tilt = pose->tilt_deg * RAD_PER_DEG, cosine = cos(tilt), sine = sin(tilt);
    ellipse of = {.x = pose->x + 0.5, .y = pose->y + 0.5};
    of.across_x = rolls_about_x ? -sine * pose->ry : cosine * pose->rx;
    of.across_y = rolls_about_x ? cosine * pose->ry : sine * pose->rx;
    of.along_x = rolls_about_x ? cosine * pose->rx : -sine * pose->ry;
    of.along_y = rolls_about_x ? sine * pose->rx : cosine * pose->ry;
    return of;
}

/* Adds half a meridian to the path, from one pole to the other. */
static void add_meridian(cairo_t *cairo, const ellipse *of, double degrees, int direction)
{
    double across = sin(fmax(-90, fmin(90, degrees)) * RAD_PER_DEG);
    for (int i = -STEPS; i <= STEPS; i++) {
        double turn = direction * i * M_PI / 2 / STEPS, v = sin(turn), u = across * cos(turn);
        cairo_line_to(cairo, of->x + u * of->across_x + v * of->along_x,
                      of->y + u * of->across_y + v * of->along_y);
    }
}

static void add_part(cairo_t *cairo, const ellipse *of, double from_deg, double to_deg)
{
    cairo_new_sub_path(cairo);
    add_meridian(cairo, of, from_deg, 1);
    add_meridian(cairo, of, to_deg, -1);
    cairo_close_path(cairo);
}

static void stroke(cairo_t *cairo, bool dashed, double scale)
{
    if (dashed)
        cairo_set_dash(cairo, (const double[]){6 / scale, 4 / scale}, 2, 0);
    cairo_set_line_width(cairo, 1.4 / scale);
    cairo_set_source_rgba(cairo, 0.93, 0.94, 0.95, 0.8);
    cairo_stroke(cairo);
    cairo_set_dash(cairo, NULL, 0, 0);
}

void crn_pose_marks_draw(cairo_t *cairo, const crn_decoded_surface *surface, uint64_t view,
                         double scale)
{
    const crn_decoded_pose *pose = find_pose(surface, view);
    if (!pose)
        return;
    ellipse of = ellipse_of(pose, strcmp(surface->roll_axis, "x") == 0);
    bool owns = pose->from_deg < pose->to_deg;
    double from_deg = owns ? pose->from_deg : 90, to_deg = owns ? pose->to_deg : 90;
    if (surface->is_measured) {
        add_part(cairo, &of, -90, from_deg);
        add_part(cairo, &of, to_deg, 90);
        cairo_set_source_rgba(cairo, 0, 0, 0, 0.4);
        cairo_fill(cairo);
    }
    if (surface->is_measured && owns) {
        add_part(cairo, &of, from_deg, to_deg);
        stroke(cairo, false, scale);
    }
    /* One that no picture shows is dashed. */
    add_part(cairo, &of, -90, 90);
    stroke(cairo, strcmp(pose->source, "expected") == 0, scale);
}

/* From a pixel to the sphere that the fruit is stretched to, and back. With a camera at a distance,
 * stretching along the roll axis leaves the camera where it is. */
#include <math.h>
#include <string.h>

#include "stages/surface/surface.h"

/* A camera nearer than this many radii sees next to nothing of the fruit. */
#define DISTANCE_MIN 1.05

/* An outline that is nearer to the fruit's own, as where a spot turns away from the camera, follows
 * it: in these last pixels lies much of what is seen of the poles. */
#define SNAP_PX 0.3

bool crn_surface_lens_set(const crn_surface_settings *settings, const crn_surface_view *view,
                          crn_surface_lens *lens)
{
    const crn_surface_pose *pose = &view->pose;
    double tilt_cos = cos(pose->tilt_rad), tilt_sin = sin(pose->tilt_rad);
    bool is_x = settings->roll_axis == CRN_ROLL_AXIS_X;
    double across = is_x ? pose->ry : pose->rx, along = is_x ? pose->rx : pose->ry;
    memset(lens, 0, sizeof *lens);
    lens->x = pose->x;
    lens->y = pose->y;
    lens->across_px = across;
    lens->along_px = along;
    lens->across_x = (is_x ? -tilt_sin : tilt_cos) / across;
    lens->across_y = (is_x ? tilt_cos : tilt_sin) / across;
    lens->along_x = (is_x ? tilt_cos : -tilt_sin) / along;
    lens->along_y = (is_x ? tilt_sin : tilt_cos) / along;
    lens->roll_rad = pose->roll_rad;
    lens->cos_roll = cos(pose->roll_rad);
    lens->sin_roll = sin(pose->roll_rad);
    lens->cos_pitch = cos(pose->pitch_rad);
    lens->sin_pitch = sin(pose->pitch_rad);
    lens->confidence = pose->confidence;
    double inner = fmax(0.5, 1 - SNAP_PX / fmin(across, along));
    lens->snap2 = inner * inner;
    lens->a_mm = across * view->mm_per_px;
    lens->c_mm = along * view->mm_per_px;
    if (settings->distance_mm > 0) {
        /* The cone that touches the fruit is wider, where it crosses the axis, than the fruit. */
        double narrower =
            settings->distance_mm / hypot(settings->distance_mm, across * view->mm_per_px);
        lens->a_mm *= narrower;
        lens->c_mm *= narrower;
        lens->distance = settings->distance_mm / lens->a_mm;
        return lens->distance >= DISTANCE_MIN;
    }
    return true;
}

void crn_surface_lens_place(const crn_surface_lens *lens, double px, double py, double *ret_u,
                            double *ret_v)
{
    double dx = px - lens->x, dy = py - lens->y;
    *ret_u = lens->across_x * dx + lens->across_y * dy;
    *ret_v = lens->along_x * dx + lens->along_y * dy;
}

/* From the camera's to the axis' own frame. What lies behind the poles there goes to the meridians
 * beside the view, so that a view's chart ends where it does without a pitch. */
static crn_sphere_point upright(const crn_surface_lens *lens, crn_sphere_point point)
{
    double y = lens->cos_pitch * point.y + lens->sin_pitch * point.z;
    double z = lens->cos_pitch * point.z - lens->sin_pitch * point.y;
    if (z >= 0)
        return (crn_sphere_point){point.x, y, z};
    double size = hypot(point.x, y);
    return (crn_sphere_point){point.x / size, y / size, 0};
}

/* The place on the sphere that the camera sees there. */
static crn_sphere_point look_at(const crn_surface_lens *lens, double u, double v)
{
    double rim = u * u + v * v, depth = 0;
    if (rim < lens->snap2) {
        depth = sqrt(1 - rim);
    } else {
        double inward = 1 / sqrt(rim);
        u *= inward;
        v *= inward;
        rim = 1;
    }
    if (lens->distance == 0)
        return (crn_sphere_point){u, v, depth};
    /* The ray from the camera at (0, 0, d), through the place in the plane of the axis. */
    double d = lens->distance, wide = d / sqrt(d * d - 1);
    double t = d * (d - depth) / (rim * wide * wide + d * d);
    return (crn_sphere_point){u * wide * t, v * wide * t, d * (1 - t)};
}

crn_sphere_point crn_surface_lens_sphere(const crn_surface_lens *lens, double u, double v)
{
    crn_sphere_point point = look_at(lens, u, v);
    return lens->sin_pitch == 0 ? point : upright(lens, point);
}

crn_point crn_surface_lens_pixel(const crn_surface_lens *lens, const crn_sphere_point *point)
{
    double u = point->x, v = point->y, d = lens->distance;
    if (d > 0) {
        double scale = sqrt(d * d - 1) / (d - point->z);
        u *= scale;
        v *= scale;
    }
    double across2 = lens->across_px * lens->across_px, along2 = lens->along_px * lens->along_px;
    return (crn_point){lens->x + u * across2 * lens->across_x + v * along2 * lens->along_x,
                       lens->y + u * across2 * lens->across_y + v * along2 * lens->along_y};
}

double crn_surface_lens_pole(const crn_surface_lens *lens, double px)
{
    return look_at(lens, 0, fmax(0, 1 - px / lens->along_px)).y;
}

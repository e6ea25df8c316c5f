/*
 * Where a photograph shows the fruit. Along rays from the middle of its box the outline is found to
 * a part of a pixel; an ellipse is fitted, and points that lie off it are left out and the fit is
 * repeated.
 */
#include <errno.h>
#include <math.h>

#include "stages/library/library.h"
#include "stages/surface/division.h"
#include "stages/surface/surface.h"

enum {
    RAYS = 96,
    RAYS_MIN = 32, /* on the ellipse: below, nothing was found */
    ROUNDS = 5,    /* of the fit */
};

#define RAY_FROM  1.4  /* of the box's half, inwards */
#define RAY_TO    0.6  /* to here */
#define RAY_STEP  1.0  /* in pixels */
#define HITS      2    /* in a row: the fruit, not a speck */
#define FINE_STEP 0.5  /* in pixels, where the outline is searched */
#define NEAR_PX   1.0  /* off the ellipse, and still on it */
#define CONTRAST  8.0  /* between fruit and background at which the confidence is one half */
#define RATIO_MAX 2.5  /* of the semi-axes */
#define CLEAR     0.75 /* confidence of a fruit with nothing beside it */
#define OBLONG    1.15 /* a box so much wider than high is looked at more closely, if not clear */
#define LONG      1.4  /* it is of more than a fruit */
#define ALIKE     1.6  /* at most, the ratio of two fruits' radii */

/* Points of an outline, and whether they count. */
typedef struct surface_outline {
    double x[RAYS], y[RAYS], contrast[RAYS];
    bool is_found[RAYS], counts[RAYS];
} surface_outline;

static bool is_inside(const crn_image *image, double x, double y)
{
    return x >= 0 && y >= 0 && x <= image->width - 1 && y <= image->height - 1;
}

/* The mean from 2 to 5 pixels off a point, along (dx, dy). */
static double level_beside(const crn_image *image, double x, double y, double dx, double dy)
{
    double sum = 0;
    for (int k = 2; k <= 5; k++)
        sum += (double)crn_surface_value_at(image, x + k * dx, y + k * dy);
    return sum / 4;
}

/* Where the picture changes most within 2 pixels of (x, y), along (dx, dy): half-way between the
 * levels would lie inside, as a fruit is darker at its edge. */
static void refine(const crn_division *division, surface_outline *outline, int ray, double dx,
                   double dy)
{
    enum { STEPS = 13 };
    double x = outline->x[ray], y = outline->y[ray], value[STEPS], change[STEPS] = {0};
    double apart =
        level_beside(division->image, x, y, -dx, -dy) - level_beside(division->image, x, y, dx, dy);
    int best = 2;
    for (int k = 0; k < STEPS; k++) {
        double off = FINE_STEP * (k - STEPS / 2);
        value[k] = (double)crn_surface_value_at(division->image, x + off * dx, y + off * dy);
    }
    for (int k = 1; k < STEPS - 1; k++)
        change[k] = (value[k - 1] - value[k + 1]) * (apart > 0 ? 1 : -1);
    for (int k = 2; k < STEPS - 2; k++)
        best = change[k] > change[best] ? k : best;
    /* A shadow is as deep as an edge, but not as sharp. */
    outline->contrast[ray] = fmin(fabs(apart), change[best]);
    double bend = change[best - 1] - 2 * change[best] + change[best + 1];
    double part = bend < 0 ? (change[best - 1] - change[best + 1]) / (2 * bend) : 0;
    double off = FINE_STEP * (best - STEPS / 2 + fmax(-1, fmin(1, part)));
    outline->x[ray] = x + off * dx;
    outline->y[ray] = y + off * dy;
}

/* Where rays come upon the fruit, from outside. A ray that begins in it leaves the picture. */
static void find_outline(const crn_division *division, const crn_surface_pose *box,
                         surface_outline *outline)
{
    for (int ray = 0; ray < RAYS; ray++) {
        double phi = 2 * M_PI * ray / RAYS, dx = box->rx * cos(phi), dy = box->ry * sin(phi);
        double reach = sqrt(dx * dx + dy * dy), at = RAY_FROM * reach;
        int hits = -1; /* until the ray was outside */
        dx /= reach;
        dy /= reach;
        outline->is_found[ray] = false;
        for (; at >= RAY_TO * reach && hits < HITS; at -= RAY_STEP) {
            double x = box->x + at * dx, y = box->y + at * dy;
            if (!is_inside(division->image, x, y))
                continue;
            bool is_hit = crn_division_is_fruit(
                division, (double)crn_surface_value_at(division->image, x, y));
            hits = !is_hit ? 0 : hits < 0 ? hits : hits + 1;
        }
        if (hits < HITS)
            continue;
        outline->is_found[ray] = true;
        outline->x[ray] = box->x + (at + HITS * RAY_STEP) * dx;
        outline->y[ray] = box->y + (at + HITS * RAY_STEP) * dy;
        refine(division, outline, ray, dx, dy);
    }
}

/* Solves four equations, the coefficients and the right side of each in a row; false if they are
 * not independent. */
static bool solve(double rows[4][5], double ret_values[4])
{
    for (int i = 0; i < 4; i++) {
        int pivot = i;
        for (int k = i + 1; k < 4; k++)
            pivot = fabs(rows[k][i]) > fabs(rows[pivot][i]) ? k : pivot;
        if (fabs(rows[pivot][i]) < 1e-12)
            return false;
        for (int j = 0; j < 5; j++) {
            double moved = rows[i][j];
            rows[i][j] = rows[pivot][j];
            rows[pivot][j] = moved;
        }
        for (int k = 0; k < 4; k++) {
            double factor = k == i ? 0 : rows[k][i] / rows[i][i];
            for (int j = i; j < 5; j++)
                rows[k][j] -= factor * rows[i][j];
        }
    }
    for (int i = 0; i < 4; i++)
        ret_values[i] = rows[i][4] / rows[i][i];
    return true;
}

/* The upright ellipse A x^2 + B y^2 + C x + D y = 1 through the points that count, by least
 * squares. False if there is none. */
static bool fit(const surface_outline *outline, const crn_surface_pose *box,
                crn_surface_pose *ellipse)
{
    double rows[4][5] = {{0}}, p[4], scale = fmax(box->rx, box->ry);
    for (int i = 0; i < RAYS; i++) {
        double x = (outline->x[i] - box->x) / scale, y = (outline->y[i] - box->y) / scale;
        const double terms[5] = {x * x, y * y, x, y, 1};
        for (int j = 0; j < 4 && outline->counts[i]; j++)
            for (int k = 0; k < 5; k++)
                rows[j][k] += terms[j] * terms[k];
    }
    if (!solve(rows, p) || p[0] <= 0 || p[1] <= 0)
        return false;
    double x = -p[2] / (2 * p[0]), y = -p[3] / (2 * p[1]);
    double right = 1 + p[0] * x * x + p[1] * y * y;
    ellipse->x = box->x + scale * x;
    ellipse->y = box->y + scale * y;
    ellipse->rx = scale * sqrt(right / p[0]);
    ellipse->ry = scale * sqrt(right / p[1]);
    return ellipse->rx >= CRN_DIVISION_RADIUS_MIN && ellipse->ry >= CRN_DIVISION_RADIUS_MIN &&
           ellipse->rx <= RATIO_MAX * ellipse->ry && ellipse->ry <= RATIO_MAX * ellipse->rx;
}

/* Lets points count that lie on the ellipse: nearer than `reach`. Returns how many, and the sum of
 * their distances. */
static int choose_points(surface_outline *outline, const crn_surface_pose *ellipse, double reach,
                         double *ret_sum)
{
    int count = 0;
    double mean_radius = sqrt(ellipse->rx * ellipse->ry);
    *ret_sum = 0;
    for (int i = 0; i < RAYS; i++) {
        double x = (outline->x[i] - ellipse->x) / ellipse->rx;
        double y = (outline->y[i] - ellipse->y) / ellipse->ry;
        double off = fabs(sqrt(x * x + y * y) - 1) * mean_radius;
        outline->counts[i] = outline->is_found[i] && off <= reach;
        if (outline->counts[i]) {
            count++;
            *ret_sum += off;
        }
    }
    return count;
}

/* Leaves the pose as it is, and returns false, if there is no fruit. */
static bool find_ellipse(surface_outline *outline, const crn_surface_pose *box,
                         crn_surface_pose *pose)
{
    crn_surface_pose ellipse = *box;
    double sum = 0, contrast = 0;
    int count = choose_points(outline, box, INFINITY, &sum);
    for (int round = 0; round < ROUNDS; round++) {
        if (count < RAYS_MIN || !fit(outline, box, &ellipse))
            return false;
        double reach = round + 1 < ROUNDS ? fmax(NEAR_PX, 2 * sum / count) : NEAR_PX;
        count = choose_points(outline, &ellipse, round ? reach : INFINITY, &sum);
        if (round == 0)
            count = choose_points(outline, &ellipse, fmax(NEAR_PX, 1.5 * sum / count), &sum);
    }
    for (int i = 0; i < RAYS; i++)
        contrast += outline->counts[i] ? outline->contrast[i] / count : 0;
    if (count < RAYS_MIN)
        return false;
    *pose = ellipse;
    pose->confidence = (double)count / RAYS * contrast / (contrast + CONTRAST);
    return true;
}

/* Replaces the pose by the ellipse near a box, if that is surer. Leaves in *box what was found. */
static void try_box(const crn_division *division, crn_surface_pose *box, crn_surface_pose *pose)
{
    crn_surface_pose found = {.confidence = 0};
    surface_outline outline;
    find_outline(division, box, &outline);
    if (!find_ellipse(&outline, box, &found))
        return;
    *box = found;
    if (found.confidence > pose->confidence)
        *pose = found;
}

/* Looks for the fruit in the middle and at either end of a box that is another one's, or rollers',
 * as well. Of two fruits that are sure it is not known which one is meant. */
static void try_parts(const crn_division *division, const crn_surface_pose *whole,
                      crn_surface_pose *pose)
{
    double least = INFINITY, most = -INFINITY;
    for (int part = -1; part <= 1; part++) {
        crn_surface_pose box = *whole, best = {.confidence = 0};
        box.rx = whole->ry;
        box.x = whole->x + part * (whole->rx - whole->ry);
        try_box(division, &box, &best); /* the second time from the ellipse */
        try_box(division, &box, &best);
        if (best.confidence >= CRN_SURFACE_POSE_SURE) {
            least = fmin(least, best.x);
            most = fmax(most, best.x);
        }
        if (best.confidence > pose->confidence)
            *pose = best;
    }
    if (most - least > pose->rx)
        pose->confidence = fmin(pose->confidence, CRN_SURFACE_POSE_SURE / 2);
}

/* Looks for the fruit in the box of what is the fruit's. */
static void find_with(crn_surface *surface, const crn_division *division, crn_surface_pose *pose)
{
    crn_surface_pose whole = *pose;
    crn_division_find_box(surface, division, crn_division_stride(division->image), &whole);
    crn_surface_pose box = whole;
    if (box.rx < CRN_DIVISION_RADIUS_MIN || box.ry < CRN_DIVISION_RADIUS_MIN)
        return;
    try_box(division, &box, pose);
    double more = pose->confidence < CRN_SURFACE_POSE_SURE ? 1
                  : pose->confidence < CLEAR               ? OBLONG
                                                           : LONG;
    if (whole.rx > more * whole.ry)
        try_parts(division, &whole, pose);
}

/* Cut off by the picture's left or right end, by more than a pixel. */
static bool is_at_end(const crn_image *image, const crn_surface_pose *pose)
{
    return pose->x - pose->rx < -1 || pose->x + pose->rx > image->width;
}

/* Cut off above or below, likewise. */
static bool is_too_high(const crn_image *image, const crn_surface_pose *pose)
{
    return pose->y - pose->ry < -1 || pose->y + pose->ry > image->height;
}

static bool is_alike(const crn_surface_pose *a, const crn_surface_pose *b)
{
    double ratio2 = a->rx * a->ry / (b->rx * b->ry);
    return ratio2 <= ALIKE * ALIKE && ratio2 * ALIKE * ALIKE >= 1;
}

/* The picture on one side of a fruit: left, right, above, below. */
static crn_image part_beside(const crn_image *image, const crn_surface_pose *pose, int side,
                             int32_t *ret_x, int32_t *ret_y)
{
    bool is_y = side >= 2, is_after = side % 2 == 1;
    double centre = is_y ? pose->y : pose->x, radius = is_y ? pose->ry : pose->rx;
    int32_t count = is_y ? image->height : image->width;
    double border = is_after ? floor(centre + radius) + 1 : ceil(centre - radius);
    int32_t at = (int32_t)crn_surface_within(border, 0, count), from = is_after ? at : 0;
    crn_image part = *image;
    *(is_y ? &part.height : &part.width) = is_after ? count - at : at;
    *ret_x = is_y ? 0 : from;
    *ret_y = is_y ? from : 0;
    part.data = (uint8_t *)image->data + *ret_y * image->row_stride + *ret_x * image->step;
    return part;
}

/* Looks for another fruit beside the one that was found. Of two it is not known which one is meant;
 * one that is cut off by the picture's left or right end is not, as fruits follow each other along
 * x. Cut off above or below, a fruit is too large for the picture, and may be meant. */
static void look_beside(crn_surface *surface, const crn_division *division, crn_surface_pose *pose)
{
    for (int side = 0; side < 4; side++) {
        crn_division beside = *division;
        int32_t x, y;
        crn_image part = part_beside(division->image, pose, side, &x, &y);
        beside.image = &part;
        if (part.width * ALIKE < 2 * pose->rx || part.height * ALIKE < 2 * pose->ry)
            continue; /* no room for another one */
        crn_surface_pose box = *pose, other = {.confidence = 0};
        crn_division_find_box(surface, &beside, 2 * crn_division_stride(division->image), &box);
        box.x += x;
        box.y += y;
        if (!is_alike(&box, pose))
            continue;
        try_box(division, &box, &other); /* the second time from the ellipse */
        try_box(division, &box, &other);
        bool is_meant = !is_at_end(division->image, &other) &&
                        (side < 2 || !is_too_high(division->image, &other));
        if (other.confidence < CRN_SURFACE_POSE_SURE || !is_alike(&other, pose) || !is_meant)
            continue;
        if (is_at_end(division->image, pose))
            *pose = other;
        else
            pose->confidence = CRN_SURFACE_POSE_SURE / 2;
        return;
    }
}

int crn_surface_find_pose(crn_surface *surface, const crn_image *photograph,
                          crn_surface_pose *ret_pose)
{
    crn_error *error;
    int r = crn_surface_begin(surface, ret_pose, "ret_pose", &error);
    if (r == 0)
        r = crn_surface_check_image("photograph", photograph, error);
    if (r < 0)
        return r;
    double width = photograph->width, height = photograph->height;
    double radius = fmax(1, fmin(width, height) / 2);
    crn_surface_pose pose = {(width - 1) / 2, (height - 1) / 2, radius, radius, 0, 0, 0, 0};
    double means[2];
    bool is_dark = crn_division_find_levels(photograph, means);
    crn_division division = crn_division_of(photograph, means, is_dark);
    find_with(surface, &division, &pose);
    if (pose.confidence < CRN_SURFACE_POSE_SURE) { /* rollers may be what the border shows */
        division = crn_division_of(photograph, means, !is_dark);
        find_with(surface, &division, &pose);
    }
    if (pose.confidence >= CRN_SURFACE_POSE_SURE)
        look_beside(surface, &division, &pose);
    *ret_pose = pose;
    return 0;
}

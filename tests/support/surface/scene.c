#include "tests/support/surface/scene.h"

#include <math.h>
#include <string.h>

#define SPLIT      3    /* a pixel has SPLIT x SPLIT rays */
#define QUADRATURE 48   /* points of an integral, in either direction */
#define RIM        96   /* points of a spot's edge */
#define GAP        0.13 /* between spots, in radians */
#define BESIDE     (-2) /* no class: there is no fruit */

static double dot(scene_vector a, scene_vector b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static scene_vector sum(double s, scene_vector a, double t, scene_vector b)
{
    return (scene_vector){s * a.x + t * b.x, s * a.y + t * b.y, s * a.z + t * b.z};
}

static scene_vector cross(scene_vector a, scene_vector b)
{
    return (scene_vector){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static scene_vector unit(scene_vector a)
{
    double length = sqrt(dot(a, a));
    return (scene_vector){a.x / length, a.y / length, a.z / length};
}

static double angle(scene_vector a, scene_vector b)
{
    return acos(fmax(-1, fmin(1, dot(a, b))));
}

/* A direction of the arc from p: along it, or any if it is a point. */
static scene_vector along_arc(scene_vector p, scene_vector q)
{
    scene_vector t = sum(1, q, -dot(p, q), p);
    if (dot(t, t) < 1e-12) {
        scene_vector any = fabs(p.y) < 0.9 ? (scene_vector){0, 1, 0} : (scene_vector){1, 0, 0};
        t = cross(any, p);
    }
    return unit(t);
}

static void complete(scene_spot *spot)
{
    spot->length = angle(spot->p, spot->q);
    spot->t = along_arc(spot->p, spot->q);
    spot->n = cross(spot->p, spot->t);
    spot->t_q = sum(-sin(spot->length), spot->p, cos(spot->length), spot->t);
    spot->cos_radius = cos(spot->radius);
    spot->sin_radius = sin(spot->radius);
    spot->cos_inner = spot->inner > 0 ? cos(spot->inner) : 2;
    spot->sin_inner = spot->inner > 0 ? sin(spot->inner) : -1;
}

/* Whether a point is within an angle of the spot's arc. */
static bool is_near(const scene_spot *spot, scene_vector point, double cosine, double sine)
{
    return dot(spot->p, point) >= cosine || dot(spot->q, point) >= cosine ||
           (fabs(dot(spot->n, point)) <= sine && dot(spot->t, point) > 0 &&
            dot(spot->t_q, point) < 0);
}

static scene_vector random_direction(crn_random *random)
{
    double y = 2 * crn_random_unit(random) - 1, r = sqrt(1 - y * y);
    double lambda = 2 * M_PI * crn_random_unit(random);
    return (scene_vector){r * sin(lambda), y, r * cos(lambda)};
}

static double between(crn_random *random, double least, double most)
{
    return least + (most - least) * crn_random_unit(random);
}

static bool is_apart(const scene_fruit *fruit, const scene_spot *spot)
{
    for (int i = 0; i < fruit->spot_count; i++)
        for (int k = 0; k <= 12; k++) {
            const scene_spot *other = &fruit->spots[i];
            double s = spot->length * k / 12, reach = other->radius + spot->radius + GAP;
            scene_vector at = sum(cos(s), spot->p, sin(s), spot->t);
            if (is_near(other, at, cos(reach), sin(reach)))
                return false;
        }
    return true;
}

static void add_spots(const scene_kind *kind, scene_fruit *fruit, crn_random *random)
{
    int wanted = crn_random_between(random, 3, 8);
    for (int tries = 0; tries < 60 && fruit->spot_count < wanted; tries++) {
        scene_spot spot = {.channel = crn_random_between(random, 0, SCENE_CLASSES - 1),
                           .p = random_direction(random),
                           .radius = between(random, kind->spot_min, kind->spot_max)};
        spot.q = spot.p;
        if (crn_random_once_in(random, 3)) { /* a long one */
            double length = between(random, 0.2, 0.9);
            scene_vector t = unit(cross(random_direction(random), spot.p));
            spot.q = sum(cos(length), spot.p, sin(length), t);
            spot.radius = fmin(spot.radius, 0.15);
        } else if (spot.radius > 0.25 && crn_random_once_in(random, 3)) {
            spot.inner = spot.radius * between(random, 0.4, 0.6);
        }
        complete(&spot);
        if (is_apart(fruit, &spot))
            fruit->spots[fruit->spot_count++] = spot;
    }
}

scene_fruit scene_random(const scene_kind *kind, crn_random *random)
{
    scene_fruit fruit = {.view_count = kind->views, .mm_per_px = between(random, 0.3, 0.9)};
    double ratio = between(random, kind->ratio_min, kind->ratio_max);
    double px = between(random, 34, 42) / fmax(1, ratio), start = between(random, 0, 2 * M_PI);
    fruit.a_mm = px * fruit.mm_per_px;
    fruit.c_mm = fruit.a_mm * ratio;
    fruit.distance_mm = kind->distance_radii * fruit.a_mm;
    for (int i = 0; i < kind->views; i++) {
        double slip = kind->slip > 0 ? between(random, -kind->slip, kind->slip) : 0;
        double step = kind->step_rad * (1 + slip);
        fruit.roll[i] = i ? fruit.roll[i - 1] + step : start;
        fruit.tilt[i] = between(random, -kind->wobble_rad, kind->wobble_rad);
        fruit.pitch[i] = between(random, -kind->wobble_rad, kind->wobble_rad);
        fruit.x[i] = SCENE_WIDTH / 2 + between(random, -2, 2);
        fruit.y[i] = SCENE_HEIGHT / 2 + between(random, -2, 2);
    }
    fruit.speckle = kind->speckle > 0 ? kind->speckle : 0.35;
    fruit.skin = (uint32_t)random->state;
    add_spots(kind, &fruit, random);
    return fruit;
}

/* Area of the spheroid for an area of the unit sphere there. */
static double stretch(const scene_fruit *fruit, scene_vector p)
{
    return fruit->a_mm * hypot(fruit->c_mm * sqrt(fmax(0, 1 - p.y * p.y)), fruit->a_mm * p.y);
}

bool scene_shows(const scene_fruit *fruit, scene_vector p, double inclined_rad)
{
    double a = fruit->a_mm, c = fruit->c_mm, d = fruit->distance_mm;
    for (int i = 0; i < fruit->view_count; i++) {
        double cosine = cos(fruit->roll[i]), sine = sin(fruit->roll[i]);
        scene_vector at = {cosine * p.x + sine * p.z, p.y, cosine * p.z - sine * p.x};
        scene_vector normal = unit((scene_vector){at.x / a, at.y / c, at.z / a}), to = {0, 0, 1};
        if (d > 0)
            to = unit((scene_vector){-a * at.x, -c * at.y, d - a * at.z});
        if (dot(normal, to) >= cos(inclined_rad))
            return true;
    }
    return false;
}

static double weight(const scene_fruit *fruit, scene_vector p, bool only_visible)
{
    return only_visible && !scene_shows(fruit, p, M_PI / 2) ? 0 : stretch(fruit, p);
}

/* What lies within `radius` of the arc: a band along it, and half a cap at either end. */
static double area_within(const scene_fruit *fruit, const scene_spot *spot, double radius,
                          bool only_visible)
{
    double length = spot->length, area = 0;
    scene_vector t = spot->t, n = spot->n;
    for (int i = 0; i < QUADRATURE; i++)
        for (int k = 0; k < QUADRATURE; k++) {
            double s = length * (i + 0.5) / QUADRATURE;
            double off = radius * (2 * (k + 0.5) / QUADRATURE - 1);
            scene_vector on_arc = sum(cos(s), spot->p, sin(s), t);
            area += weight(fruit, sum(cos(off), on_arc, sin(off), n), only_visible) * cos(off) *
                    (length / QUADRATURE) * (2 * radius / QUADRATURE);
            double r = radius * (k + 0.5) / QUADRATURE, phi = 2 * M_PI * (i + 0.5) / QUADRATURE;
            bool at_q = cos(phi) > 0;
            scene_vector end = at_q ? spot->q : spot->p;
            scene_vector on = at_q ? spot->t_q : t;
            scene_vector out = sum(cos(phi), on, sin(phi), n);
            area += weight(fruit, sum(cos(r), end, sin(r), out), only_visible) * sin(r) *
                    (2 * M_PI / QUADRATURE) * (radius / QUADRATURE);
        }
    return area;
}

double scene_area_mm2(const scene_fruit *fruit, int channel, bool only_visible)
{
    double area = 0;
    for (int i = 0; i < fruit->spot_count; i++) {
        const scene_spot *spot = &fruit->spots[i];
        if (spot->channel != channel)
            continue;
        area += area_within(fruit, spot, spot->radius, only_visible);
        if (spot->inner > 0)
            area -= area_within(fruit, spot, spot->inner, only_visible);
    }
    return area;
}

double scene_surface_mm2(const scene_fruit *fruit)
{
    double area = 0;
    for (int i = 0; i < 4096; i++)
        area += 4 * M_PI / 4096 * stretch(fruit, (scene_vector){0, 2 * (i + 0.5) / 4096 - 1, 0});
    return area;
}

int scene_count(const scene_fruit *fruit, int channel)
{
    int count = 0;
    for (int i = 0; i < fruit->spot_count; i++)
        count += fruit->spots[i].channel == channel;
    return count;
}

double scene_length_mm(const scene_fruit *fruit, const scene_spot *spot)
{
    scene_vector edge[RIM], t = spot->t, n = spot->n;
    double longest = 0;
    for (int i = 0; i < RIM; i++) {
        double phi = 2 * M_PI * (i + 0.5) / RIM;
        bool at_q = cos(phi) > 0;
        scene_vector end = at_q ? spot->q : spot->p;
        scene_vector on = at_q ? spot->t_q : t;
        scene_vector out = sum(cos(phi), on, sin(phi), n);
        scene_vector at = sum(cos(spot->radius), end, sin(spot->radius), out);
        edge[i] = (scene_vector){fruit->a_mm * at.x, fruit->c_mm * at.y, fruit->a_mm * at.z};
        for (int k = 0; k < i; k++) {
            scene_vector chord = sum(1, edge[i], -1, edge[k]);
            longest = fmax(longest, dot(chord, chord));
        }
    }
    return sqrt(longest);
}

crn_surface_pose scene_pose(const scene_fruit *fruit, int view)
{
    double d = fruit->distance_mm, wider = d > 0 ? d / sqrt(d * d - fruit->a_mm * fruit->a_mm) : 1;
    double s = sin(fruit->pitch[view]);
    double along = hypot(fruit->c_mm * sqrt(1 - s * s), fruit->a_mm * s);
    return (crn_surface_pose){
        .x = fruit->x[view],
        .y = fruit->y[view],
        .rx = fruit->a_mm * wider / fruit->mm_per_px,
        .ry = along * wider / fruit->mm_per_px,
        .roll_rad = fruit->roll[view],
        .confidence = 1,
    };
}

/* From the picture to the axis' own frame: against the tilt, then against the pitch. */
static scene_vector upright(const scene_fruit *fruit, int view, scene_vector p)
{
    double c = cos(fruit->tilt[view]), s = sin(fruit->tilt[view]);
    p = (scene_vector){c * p.x + s * p.y, c * p.y - s * p.x, p.z};
    c = cos(fruit->pitch[view]);
    s = sin(fruit->pitch[view]);
    return (scene_vector){p.x, c * p.y + s * p.z, c * p.z - s * p.y};
}

bool scene_hit(const scene_fruit *fruit, int view, double px, double py, scene_vector *ret_point)
{
    double x = (px - fruit->x[view]) * fruit->mm_per_px;
    double y = (py - fruit->y[view]) * fruit->mm_per_px, d = fruit->distance_mm;
    scene_vector from = {x, y, 0}, ray = {0, 0, -1};
    if (d > 0) {
        from = (scene_vector){0, 0, d};
        ray = (scene_vector){x, y, -d};
    }
    from = upright(fruit, view, from);
    ray = upright(fruit, view, ray);
    from = (scene_vector){from.x / fruit->a_mm, from.y / fruit->c_mm, from.z / fruit->a_mm};
    ray = (scene_vector){ray.x / fruit->a_mm, ray.y / fruit->c_mm, ray.z / fruit->a_mm};
    double a = dot(ray, ray), b = dot(from, ray), root = b * b - a * (dot(from, from) - 1);
    if (root < 0)
        return false;
    scene_vector at = sum(1, from, (-b - sqrt(root)) / a, ray);
    double c = cos(fruit->roll[view]), s = sin(fruit->roll[view]);
    *ret_point = (scene_vector){c * at.x - s * at.z, at.y, c * at.z + s * at.x};
    return true;
}

int scene_class_of(const scene_fruit *fruit, scene_vector point)
{
    for (int i = 0; i < fruit->spot_count; i++) {
        const scene_spot *spot = &fruit->spots[i];
        if (is_near(spot, point, spot->cos_radius, spot->sin_radius))
            return is_near(spot, point, spot->cos_inner, spot->sin_inner) ? -1 : spot->channel;
    }
    return -1;
}

/* The class at a place; BESIDE where there is no fruit. */
static int class_at(const scene_fruit *fruit, int view, double px, double py)
{
    scene_vector point;
    return scene_hit(fruit, view, px, py, &point) ? scene_class_of(fruit, point) : BESIDE;
}

/* Whether a pixel and those around it are of one class. */
static bool is_even(const signed char *classes, int i)
{
    int x = i % SCENE_WIDTH, y = i / SCENE_WIDTH;
    if (x == 0 || y == 0 || x == SCENE_WIDTH - 1 || y == SCENE_HEIGHT - 1)
        return false;
    for (int k = 0; k < 9; k++)
        if (classes[i + (k / 3 - 1) * SCENE_WIDTH + k % 3 - 1] != classes[i])
            return false;
    return true;
}

void scene_render(const scene_fruit *fruit, int view, float *ret_maps)
{
    signed char classes[SCENE_PIXELS];
    memset(ret_maps, 0, sizeof *ret_maps * SCENE_CLASSES * SCENE_PIXELS);
    for (int i = 0; i < SCENE_PIXELS; i++)
        classes[i] = (signed char)class_at(fruit, view, i % SCENE_WIDTH, i / SCENE_WIDTH);
    for (int i = 0; i < SCENE_PIXELS; i++) {
        bool even = is_even(classes, i);
        if (even && classes[i] >= 0)
            ret_maps[classes[i] * SCENE_PIXELS + i] = 1;
        for (int k = 0; k < SPLIT * SPLIT && !even; k++) {
            double px = i % SCENE_WIDTH + (k % SPLIT + 0.5) / SPLIT - 0.5;
            double py = i / SCENE_WIDTH + (k / SPLIT + 0.5) / SPLIT - 0.5;
            int channel = class_at(fruit, view, px, py);
            if (channel >= 0)
                ret_maps[channel * SCENE_PIXELS + i] += 1.0f / (SPLIT * SPLIT);
        }
    }
}

/* A number from 0 to 1 for each corner of a grid. */
static double corner(uint32_t seed, int x, int y, int z)
{
    uint32_t h =
        seed ^ (uint32_t)x * 0x9e3779b1u ^ (uint32_t)y * 0x85ebca77u ^ (uint32_t)z * 0xc2b2ae3du;
    h = (h ^ h >> 15) * 0x2c1b3c6du;
    h = (h ^ h >> 12) * 0x297a2d39u;
    return (h ^ h >> 15) / 4294967296.0;
}

/* Speckles of a size of 1 / scale of the radius: noise between the corners of a grid in space. */
static double speckles(uint32_t seed, scene_vector p, double scale)
{
    double at[3] = {scale * p.x, scale * p.y, scale * p.z}, sum_of_all = 0;
    int cell[3];
    for (int i = 0; i < 3; i++) {
        cell[i] = (int)floor(at[i]);
        at[i] -= cell[i];
        at[i] = at[i] * at[i] * (3 - 2 * at[i]);
    }
    for (int k = 0; k < 8; k++) {
        double weight = 1;
        for (int i = 0; i < 3; i++)
            weight *= k >> i & 1 ? at[i] : 1 - at[i];
        sum_of_all += weight * corner(seed, cell[0] + (k & 1), cell[1] + (k >> 1 & 1),
                                      cell[2] + (k >> 2 & 1));
    }
    return sum_of_all - 0.5;
}

/* Light from the upper left of the camera; x, y are relative to the middle, in radii. */
static double brightness(const scene_fruit *fruit, scene_vector point, double x, double y)
{
    double z = sqrt(fmax(0, 1 - x * x - y * y)), shade = 0.45 + 0.55 * fmax(0, 0.9 * z - 0.3 * x);
    double facing = fmax(0, 0.95 * z - 0.2 * x - 0.2 * y), highlight = 90 * pow(facing, 50);
    double skin = 1 + fruit->speckle * speckles(fruit->skin, point, 7) +
                  fruit->speckle * speckles(fruit->skin + 1, point, 14);
    return 150 * shade * skin * (scene_class_of(fruit, point) >= 0 ? 0.55 : 1) + highlight;
}

void scene_photograph(const scene_fruit *fruit, int view, crn_random *random, uint8_t *ret_photo)
{
    double a = fruit->a_mm / fruit->mm_per_px, c = fruit->c_mm / fruit->mm_per_px;
    for (int i = 0; i < SCENE_PIXELS; i++) {
        double value = 0;
        for (int k = 0; k < SPLIT * SPLIT; k++) {
            double px = i % SCENE_WIDTH + (k % SPLIT + 0.5) / SPLIT - 0.5;
            double py = i / SCENE_WIDTH + (k / SPLIT + 0.5) / SPLIT - 0.5;
            scene_vector point;
            double light = 20;
            if (scene_hit(fruit, view, px, py, &point))
                light =
                    brightness(fruit, point, (px - fruit->x[view]) / a, (py - fruit->y[view]) / c);
            value += light / (SPLIT * SPLIT);
        }
        if (crn_random_once_in(random, 400))
            value += 60;
        value += between(random, -5, 5);
        ret_photo[i] = (uint8_t)fmax(0, fmin(255, value));
    }
}

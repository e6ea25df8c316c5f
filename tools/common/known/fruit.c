/* Random fruits, and what of them a ray meets. */
#include "tools/common/known/known.h"
#include "tools/common/known/vectors.h"

#define GAP         0.13 /* between spots, in radians */
#define DENT_WIDTH  0.25 /* of the dent around the stem, in radians */
#define DENT_ROUNDS 4    /* until a ray meets it */
#define STEM_REACH  0.5  /* from the stem, where there are no spots if there is a dent */

/* A direction of the arc from p: along it, or any if it is a point. */
static crn_known_vector along_arc(crn_known_vector p, crn_known_vector q)
{
    crn_known_vector t = crn_vector_sum(1, q, -crn_vector_dot(p, q), p);
    if (crn_vector_dot(t, t) < 1e-12) {
        crn_known_vector any =
            fabs(p.y) < 0.9 ? (crn_known_vector){0, 1, 0} : (crn_known_vector){1, 0, 0};
        t = crn_vector_cross(any, p);
    }
    return crn_vector_unit(t);
}

static void complete(crn_known_spot *spot)
{
    spot->length = crn_vector_angle(spot->p, spot->q);
    spot->t = along_arc(spot->p, spot->q);
    spot->n = crn_vector_cross(spot->p, spot->t);
    spot->t_q = crn_vector_sum(-sin(spot->length), spot->p, cos(spot->length), spot->t);
    spot->cos_radius = cos(spot->radius);
    spot->sin_radius = sin(spot->radius);
    spot->cos_inner = spot->inner > 0 ? cos(spot->inner) : 2;
    spot->sin_inner = spot->inner > 0 ? sin(spot->inner) : -1;
}

/* Whether a point is within an angle of the spot's arc. */
static bool is_near(const crn_known_spot *spot, crn_known_vector point, double cosine, double sine)
{
    return crn_vector_dot(spot->p, point) >= cosine || crn_vector_dot(spot->q, point) >= cosine ||
           (fabs(crn_vector_dot(spot->n, point)) <= sine && crn_vector_dot(spot->t, point) > 0 &&
            crn_vector_dot(spot->t_q, point) < 0);
}

static double between(crn_draws *random, double least, double most)
{
    return least + (most - least) * (double)crn_draws_between(random, 0, 1);
}

static bool once_in(crn_draws *random, int times)
{
    return between(random, 0, times) < 1;
}

static crn_known_vector random_direction(crn_draws *random)
{
    double y = between(random, -1, 1), r = sqrt(1 - y * y);
    double lambda = between(random, 0, 2 * M_PI);
    return (crn_known_vector){r * sin(lambda), y, r * cos(lambda)};
}

static bool is_apart(const crn_known_fruit *fruit, const crn_known_spot *spot)
{
    double from_stem = STEM_REACH + spot->radius;
    if (fruit->dent > 0 && is_near(spot, fruit->stem, cos(from_stem), sin(from_stem)))
        return false;
    for (int i = 0; i < fruit->spot_count; i++)
        for (int k = 0; k <= 12; k++) {
            const crn_known_spot *other = &fruit->spots[i];
            double s = spot->length * k / 12, reach = other->radius + spot->radius + GAP;
            crn_known_vector at = crn_vector_sum(cos(s), spot->p, sin(s), spot->t);
            if (is_near(other, at, cos(reach), sin(reach)))
                return false;
        }
    return true;
}

static void add_spots(const crn_known_kind *kind, crn_known_fruit *fruit, crn_draws *random)
{
    int wanted = kind->spots ? kind->spots : (int)between(random, 3, 9);
    int classes = fruit->classes - kind->first_class;
    for (int tries = 0; tries < 60 && fruit->spot_count < wanted; tries++) {
        crn_known_spot spot = {.channel = kind->first_class + (int)between(random, 0, classes),
                               .p = random_direction(random),
                               .radius = between(random, kind->spot_min, kind->spot_max)};
        spot.q = spot.p;
        if (once_in(random, 3)) { /* a long one */
            double length = between(random, 0.2, 0.9);
            crn_known_vector t =
                crn_vector_unit(crn_vector_cross(random_direction(random), spot.p));
            spot.q = crn_vector_sum(cos(length), spot.p, sin(length), t);
            spot.radius = fmin(spot.radius, 0.15);
        } else if (spot.radius > 0.25 && once_in(random, 3)) {
            spot.inner = spot.radius * between(random, 0.4, 0.6);
        }
        complete(&spot);
        if (is_apart(fruit, &spot))
            fruit->spots[fruit->spot_count++] = spot;
    }
}

static void place_views(const crn_known_kind *kind, crn_known_fruit *fruit, crn_draws *random)
{
    double pace = kind->along ? (double)fruit->width / kind->views : 0;
    double first = kind->along ? pace / 2 : (double)(fruit->width / 2);
    double start = between(random, 0, 2 * M_PI);
    for (int i = 0; i < kind->views; i++) {
        double slip = kind->slip > 0 ? between(random, -kind->slip, kind->slip) : 0;
        fruit->roll[i] = i ? fruit->roll[i - 1] + kind->step_rad * (1 + slip) : start;
        fruit->tilt[i] = between(random, -kind->wobble_rad, kind->wobble_rad);
        fruit->pitch[i] = between(random, -kind->wobble_rad, kind->wobble_rad);
        fruit->turn[i] =
            (crn_known_turn){cos(fruit->roll[i]), sin(fruit->roll[i]),  cos(fruit->tilt[i]),
                             sin(fruit->tilt[i]), cos(fruit->pitch[i]), sin(fruit->pitch[i])};
        fruit->x[i] = first + pace * i + between(random, -2, 2);
        fruit->y[i] = (double)(fruit->height / 2) + between(random, -2, 2);
    }
}

crn_known_fruit crn_known_random(const crn_known_kind *kind, crn_draws *random)
{
    crn_known_fruit fruit = {
        .view_count = kind->views,
        .height = kind->height ? kind->height : CRN_KNOWN_HEIGHT,
        .width = kind->width ? kind->width : CRN_KNOWN_WIDTH,
        .classes = kind->first_class + (kind->classes ? kind->classes : CRN_KNOWN_CLASSES),
        .dent = kind->dent,
        .look = kind->look,
    };
    double of_usual =
        fmin((double)fruit.height / CRN_KNOWN_HEIGHT, (double)fruit.width / CRN_KNOWN_WIDTH);
    double mm_per_px = between(random, 0.3, 0.9);
    double ratio = between(random, kind->ratio_min, kind->ratio_max);
    double px = of_usual * between(random, 34, 42) / fmax(1, ratio);
    fruit.mm_per_px = kind->mm_per_px > 0 ? kind->mm_per_px : mm_per_px;
    fruit.a_mm = px * fruit.mm_per_px;
    fruit.c_mm = fruit.a_mm * ratio;
    fruit.distance_mm = kind->distance_radii * fruit.a_mm;
    fruit.stem = random_direction(random);
    fruit.texture = (uint32_t)between(random, 0, 1 << 24);
    place_views(kind, &fruit, random);
    add_spots(kind, &fruit, random);
    return fruit;
}

/* Where a ray meets a sphere of that radius; beside it, its nearest point, and false. */
static bool meet(crn_known_vector from, crn_known_vector ray, double radius,
                 crn_known_vector *ret_at)
{
    double a = crn_vector_dot(ray, ray), b = crn_vector_dot(from, ray);
    double root = b * b - a * (crn_vector_dot(from, from) - radius * radius);
    *ret_at = crn_vector_unit(crn_vector_sum(1, from, (-b - sqrt(fmax(0, root))) / a, ray));
    return root >= 0;
}

bool crn_known_hit(const crn_known_fruit *fruit, int view, double px, double py,
                   crn_known_vector *ret_point)
{
    const crn_known_turn *turn = &fruit->turn[view];
    double x = (px - fruit->x[view]) * fruit->mm_per_px;
    double y = (py - fruit->y[view]) * fruit->mm_per_px, d = fruit->distance_mm;
    crn_known_vector from = {x, y, 0}, ray = {0, 0, -1}, at;
    if (d > 0) {
        from = (crn_known_vector){0, 0, d};
        ray = (crn_known_vector){x, y, -d};
    }
    from = crn_vector_upright(turn, from);
    ray = crn_vector_upright(turn, ray);
    from = (crn_known_vector){from.x / fruit->a_mm, from.y / fruit->c_mm, from.z / fruit->a_mm};
    ray = (crn_known_vector){ray.x / fruit->a_mm, ray.y / fruit->c_mm, ray.z / fruit->a_mm};
    bool is_hit = meet(from, ray, 1, &at);
    *ret_point = crn_vector_unrolled(turn, at);
    /* The surface of a dent is where a sphere of its own radius there is. */
    for (int i = 0; i < DENT_ROUNDS && fruit->dent > 0; i++) {
        double off = crn_vector_angle(*ret_point, fruit->stem) / DENT_WIDTH;
        is_hit = meet(from, ray, 1 - fruit->dent * exp(-off * off), &at);
        *ret_point = crn_vector_unrolled(turn, at);
    }
    return is_hit;
}

int crn_known_class_of(const crn_known_fruit *fruit, crn_known_vector point)
{
    for (int i = 0; i < fruit->spot_count; i++) {
        const crn_known_spot *spot = &fruit->spots[i];
        if (is_near(spot, point, spot->cos_radius, spot->sin_radius))
            return is_near(spot, point, spot->cos_inner, spot->sin_inner) ? -1 : spot->channel;
    }
    return -1;
}

#include "tools/common/scene/scene_fruit.h"

#include <math.h>

#define PI 3.14159265f

/* Appearance of a class on the skin and in the maps. Sizes are sines of half angles. */
typedef struct scene_fruit_look {
    float weight;             /* relative frequency */
    float size_min, size_max; /* half length */
    float aspect;             /* minimum of width over length */
    float ragged;             /* amplitude of the outline's clouds */
    float grain;              /* frequency of these clouds, texture pixels over the radius */
    float soft;               /* width of the edge in the maps */
    float peak;               /* logit in the middle */
    float albedo, rim;        /* of the photograph; the rim lightens or darkens the edge */
    int confused;             /* the class that the CNN half confuses it with */
} scene_fruit_look;

static const scene_fruit_look looks[CRN_SCENE_CLASSES] = {
    [CLASS_ROT] = {2.0f, .20f, .50f, .7f, .45f, 60, .12f, 13.0f, .20f, -.05f, CLASS_BRUISE},
    [CLASS_RUST] = {1.5f, .25f, .50f, .6f, 2.2f, 150, .25f, 12.0f, .48f, 0, CLASS_HEALED_HAIL},
    [CLASS_FRESH_HAIL] = {1.2f, .07f, .14f, .8f, .20f, 80, .16f, 13.0f, .32f, .20f, CLASS_PICKING},
    [CLASS_HEALED_HAIL] = {1.2f, .09f, .18f, .7f, .40f, 110, .18f, 12.5f, .86f, -.25f, CLASS_RUST},
    [CLASS_PICKING] = {1.0f, .18f, .36f, .22f, .30f, 60, .20f, 12.5f, .30f, .10f, CLASS_TRANSPORT},
    [CLASS_TRANSPORT] = {1.0f, .25f, .45f, .3f, .55f, 90, .25f, 12.0f, .44f, 0, CLASS_PICKING},
    [CLASS_BRUISE] = {1.6f, .20f, .42f, .75f, .25f, 40, .30f, 11.5f, .50f, 0, CLASS_ROT},
    [CLASS_MOULD] = {1.3f, .14f, .34f, .8f, .55f, 120, .14f, 13.0f, .93f, -.30f, CLASS_ROT},
    [CLASS_STEM] = {0, .13f, .17f, .8f, .20f, 60, .14f, 13.5f, .16f, -.12f, CLASS_CALYX},
    [CLASS_CALYX] = {0, .08f, .11f, .8f, .50f, 100, .20f, 12.5f, .22f, .12f, CLASS_STEM},
};

static vector scaled(vector a, float s)
{
    return (vector){a.x * s, a.y * s, a.z * s};
}

static vector sum(vector a, vector b)
{
    return (vector){a.x + b.x, a.y + b.y, a.z + b.z};
}

static vector cross(vector a, vector b)
{
    return (vector){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static vector unit(vector a)
{
    return scaled(a, 1.0f / sqrtf(dot(a, a)));
}

/* Uniform on the sphere. */
static vector any_direction(crn_draws *random)
{
    float z = crn_draws_between(random, -1, 1);
    float angle = crn_draws_between(random, -PI, PI), r = sqrtf(fmaxf(0, 1 - z * z));
    return (vector){r * cosf(angle), r * sinf(angle), z};
}

/* v rotated about a unit axis (Rodrigues). */
static vector turned(vector v, vector axis, float angle)
{
    float c = cosf(angle), s = sinf(angle);
    return sum(sum(scaled(v, c), scaled(cross(axis, v), s)), scaled(axis, dot(axis, v) * (1 - c)));
}

static void place_defect(crn_draws *random, int kind, vector centre, crn_scene_defect *ret_defect)
{
    const scene_fruit_look *l = &looks[kind];
    vector other = fabsf(centre.z) < 0.8f ? (vector){0, 0, 1} : (vector){1, 0, 0};
    vector along = turned(unit(cross(centre, other)), centre, crn_draws_between(random, -PI, PI));
    float length = crn_draws_between(random, l->size_min, l->size_max);
    *ret_defect = (crn_scene_defect){.kind = kind,
                                     .centre = centre,
                                     .along = along,
                                     .across = cross(centre, along),
                                     .length = length,
                                     .width = length * crn_draws_between(random, l->aspect, 1),
                                     .texture_x = crn_draws_between(random, 0, 1000),
                                     .texture_y = crn_draws_between(random, 0, 1000)};
}

/* Random class by weight, among those with a channel. */
static int any_kind(const crn_scene *scene, crn_draws *random)
{
    float total = 0;
    for (int kind = 0; kind < CRN_SCENE_CLASSES && kind < scene->classes; kind++)
        total += looks[kind].weight;
    float at = crn_draws_between(random, 0, total);
    for (int kind = 0; kind < CRN_SCENE_CLASSES && kind < scene->classes; kind++) {
        if (looks[kind].weight > 0 && at < looks[kind].weight)
            return kind;
        at -= looks[kind].weight;
    }
    return CLASS_BACKGROUND;
}

void crn_fruit_make(const crn_scene *scene, uint64_t number, crn_scene_fruit *ret_fruit)
{
    crn_draws random = {scene->seed, number, 0};
    float side = fminf((float)scene->height, (float)scene->width * 0.5f);
    crn_scene_fruit fruit = {.radius_px = side * crn_draws_between(&random, 0.34f, 0.42f)};
    fruit.axes = (vector){1, crn_draws_between(&random, 0.93f, 1.0f),
                          crn_draws_between(&random, 0.9f, 1.04f)};
    fruit.turn[2] = any_direction(&random);
    vector other = fabsf(fruit.turn[2].z) < 0.8f ? (vector){0, 0, 1} : (vector){1, 0, 0};
    fruit.turn[0] = unit(cross(other, fruit.turn[2]));
    fruit.turn[1] = cross(fruit.turn[2], fruit.turn[0]);
    /* Rolls along the picture's rows, one turn over its views, never quite straight. */
    fruit.spin = unit((vector){crn_draws_between(&random, -0.15f, 0.15f), 1,
                               crn_draws_between(&random, -0.15f, 0.15f)});
    fruit.step = 2 * PI / (float)scene->views * crn_draws_between(&random, 0.8f, 0.95f);
    fruit.texture_x = crn_draws_between(&random, 0, 1000);
    fruit.texture_y = crn_draws_between(&random, 0, 1000);
    fruit.lightness = crn_draws_between(&random, 0.9f, 1.05f);

    place_defect(&random, CLASS_STEM, (vector){0, 0, 1}, &fruit.defect[0]);
    place_defect(&random, CLASS_CALYX, (vector){0, 0, -1}, &fruit.defect[1]);
    fruit.defects = 2;
    float luck = crn_draws_between(&random, 0, 1); /* three in ten are sound */
    int wanted = luck < 0.3f ? 0 : luck < 0.6f ? 1 : luck < 0.8f ? 2 : luck < 0.93f ? 3 : 4;
    while (wanted-- > 0) {
        int kind = any_kind(scene, &random);
        if (kind != CLASS_BACKGROUND)
            place_defect(&random, kind, any_direction(&random), &fruit.defect[fruit.defects++]);
    }
    *ret_fruit = fruit;
}

void crn_fruit_pose(const crn_scene *scene, const crn_scene_fruit *fruit, uint64_t number,
                    int32_t view, crn_pose *ret_pose)
{
    /* Eight numbers per view, after those shared by all views of the fruit. */
    crn_draws shared = {scene->seed ^ UINT64_C(0x706f7365), number, 0};
    crn_draws random = {scene->seed ^ UINT64_C(0x706f7365), number, (uint64_t)view * 8 + 8};
    static const vector seen[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    float width = (float)scene->width, height = (float)scene->height;
    crn_pose pose = {.roller_pitch = height * 0.92f};
    pose.wear = (int32_t)crn_draws_between(&shared, 0, 1000);
    if (pose.roller_pitch > width * 0.5f)
        pose.roller_pitch = width * 0.5f;
    pose.x = width * ((float)view + 0.5f) / (float)scene->views +
             width * crn_draws_between(&random, -0.02f, 0.02f);
    pose.y = height * (0.5f + crn_draws_between(&random, -0.03f, 0.03f));
    float angle = fruit->step * (float)view + crn_draws_between(&random, -0.06f, 0.06f);
    for (int i = 0; i < 3; i++) {
        vector v = turned(seen[i], fruit->spin, -angle); /* into the first view's frame */
        vector own = sum(sum(scaled(fruit->turn[0], v.x), scaled(fruit->turn[1], v.y)),
                         scaled(fruit->turn[2], v.z));
        pose.column[i] =
            (vector){own.x / fruit->axes.x, own.y / fruit->axes.y, own.z / fruit->axes.z};
    }
    *ret_pose = pose;
}

/* The ellipsoid is |column * seen| = 1: a quadratic in the depth, whose nearer root is visible.
 * Just outside, the nearest point is used, which allows antialiasing of the outline. */
crn_hit crn_fruit_hit(const crn_scene_fruit *fruit, const crn_pose *pose, float x, float y)
{
    float u = (x - pose->x) / fruit->radius_px, v = (y - pose->y) / fruit->radius_px;
    crn_hit hit = {.outside = 1};
    if (u * u + v * v > 1.5f)
        return hit;
    const vector *c = pose->column;
    vector flat = sum(scaled(c[0], u), scaled(c[1], v));
    float a = dot(c[2], c[2]), b = dot(flat, c[2]), rest = dot(flat, flat) - 1;
    hit.outside = rest - b * b / a;
    float depth = (-b + sqrtf(fmaxf(0, b * b - a * rest))) / a;
    hit.skin = unit(sum(flat, scaled(c[2], depth)));
    hit.normal = unit((vector){dot(hit.skin, c[0]), dot(hit.skin, c[1]), dot(hit.skin, c[2])});
    return hit;
}

/* Seamless clouds on the sphere: triplanar mapping. */
static float clouds_on(const crn_noise *clouds, vector p, float scale, float x, float y)
{
    float wx = p.x * p.x, wy = p.y * p.y, wz = p.z * p.z, value = 0;
    if (wx > 0.02f)
        value += wx * crn_noise_at(clouds, x + p.y * scale, y + p.z * scale);
    if (wy > 0.02f)
        value += wy * crn_noise_at(clouds, x + 77 + p.z * scale, y + p.x * scale);
    if (wz > 0.02f)
        value += wz * crn_noise_at(clouds, x + p.x * scale, y + 155 + p.y * scale);
    return value;
}

/* Coverage of a point by a defect, 0 to 1: distance from an ellipse on the skin whose outline is
 * displaced by clouds. */
static float share(const crn_scene *scene, const crn_scene_defect *defect, vector skin, float soft)
{
    const scene_fruit_look *l = &looks[defect->kind];
    if (dot(skin, defect->centre) <= 0)
        return 0;
    float along = dot(skin, defect->along) / defect->length;
    float across = dot(skin, defect->across) / defect->width;
    float distance = sqrtf(along * along + across * across) - 1;
    float reach = l->ragged + 5 * soft;
    if (distance > reach)
        return 0;
    distance -=
        l->ragged * clouds_on(&scene->clouds, skin, l->grain, defect->texture_x, defect->texture_y);
    float s = distance / soft;
    return s > 8 ? 0 : s < -8 ? 1 : 1 / (1 + expf(s));
}

void crn_fruit_skin(const crn_scene *scene, const crn_scene_fruit *fruit, const crn_hit *hit,
                    crn_skin *ret_skin)
{
    float fine = clouds_on(&scene->clouds, hit->skin, 130, fruit->texture_x, fruit->texture_y);
    float broad = clouds_on(&scene->clouds, hit->skin, 35, fruit->texture_y, fruit->texture_x);
    crn_skin skin = {.albedo = fruit->lightness * (0.62f + 0.10f * broad + 0.05f * fine)};
    float rim_fade = clamp((hit->normal.z - 0.05f) * 5, 0, 1); /* a CNN sees little at the limb */
    for (int32_t i = 0; i < fruit->defects; i++) {
        const crn_scene_defect *defect = &fruit->defect[i];
        const scene_fruit_look *l = &looks[defect->kind];
        float sharp = share(scene, defect, hit->skin, l->soft * 0.6f);
        float seen = share(scene, defect, hit->skin, l->soft) * rim_fade;
        if (sharp <= 0 && seen <= 0)
            continue;
        float albedo = l->albedo * (1 + 0.2f * fine) + l->rim * 4 * sharp * (1 - sharp);
        skin.albedo +=
            (albedo - skin.albedo) * sharp * (defect->kind == CLASS_BRUISE ? 0.6f : 0.9f);
        skin.logit[CLASS_BACKGROUND] -= 2 * seen;
        skin.logit[defect->kind] += l->peak * seen;
        skin.logit[l->confused] += 4.5f * seen;
    }
    *ret_skin = skin;
}

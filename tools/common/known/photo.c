/* Photographs of a known fruit: what turns with its skin, and what does not. */
#include "tools/common/known/known.h"
#include "tools/common/known/vectors.h"

#define SPLIT     3     /* a pixel has SPLIT x SPLIT rays */
#define LIT       150.0 /* brightness of the skin that faces the light */
#define BEHIND    20.0  /* of a dark background */
#define NOISE     5.0   /* of a pixel, at most */
#define SPECK     60.0  /* brightness of a speck */
#define SPECKS    400   /* one pixel in so many has one */
#define SPOT      0.55  /* brightness of a spot, as a part of the skin's */
#define STEM      0.06  /* radius of a stem, in radians */
#define HOLLOW    0.25  /* of the shade around it */
#define PITCH     2.2   /* of the rollers, in radii of the fruit's longer semi-axis */
#define ROLLER    0.36  /* half a roller's width, as a part of the pitch */
#define SMUDGES   7
#define SMUDGE_PX 4.0 /* size of a smudge in a picture of CRN_KNOWN_HEIGHT */

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
static double speckles(uint32_t seed, crn_known_vector p, double scale)
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

/* Parts of the skin's brightness that turn with it. */
static double albedo(const crn_known_fruit *fruit, crn_known_vector point)
{
    const crn_known_look *look = &fruit->look;
    double value = 1;
    if (look->skin)
        value += crn_known_skin_at(look->skin, point);
    else
        value += look->speckle *
                 (speckles(fruit->texture, point, 7) + speckles(fruit->texture + 1, point, 14));
    if (crn_known_class_of(fruit, point) >= 0)
        value *= SPOT;
    if (fruit->dent > 0) {
        double off = crn_vector_angle(point, fruit->stem);
        value *= off < STEM ? 0.3 : 1 - 0.45 * exp(-off * off / (HOLLOW * HOLLOW));
    }
    return value;
}

/* Light from the upper left of the camera; x, y are relative to the middle, in radii. */
static double lit(const crn_known_look *look, double skin, double x, double y)
{
    double z = sqrt(fmax(0, 1 - x * x - y * y)), shade = 0.45 + 0.55 * fmax(0, 0.9 * z - 0.3 * x);
    double facing = fmax(0, 0.95 * z - 0.2 * x - 0.2 * y);
    return LIT * shade * skin + look->highlight * pow(facing, 50);
}

/* What is behind the fruit: rollers, which move with it and lie in its shadow, and the next one. */
static double behind(const crn_known_fruit *fruit, int view, double px, double py)
{
    double radius = fmax(fruit->a_mm, fruit->c_mm) / fruit->mm_per_px, pitch = PITCH * radius;
    double from = (px - fruit->x[view]) / pitch, y = (py - fruit->y[view]) / radius;
    if (fruit->look.neighbour > 0) {
        double x = (px - fruit->x[view]) / radius - fruit->look.neighbour;
        if (x * x + y * y < 1) {
            crn_known_vector skin = {x, y, sqrt(1 - x * x - y * y)};
            return lit(&fruit->look, 1 + 0.3 * speckles(fruit->texture + 7, skin, 7), x, y);
        }
    }
    double across = (from - floor(from) - 0.5) / ROLLER;
    if (fruit->look.rollers <= 0 || fabs(across) >= 1)
        return BEHIND;
    double shade = 0.45 + 0.55 * fmax(0, 0.9 * sqrt(1 - across * across) - 0.3 * across);
    double worn = speckles(fruit->texture + 9, (crn_known_vector){floor(from) + across, y, 0}, 9);
    double shadow = fmax(0.35, fmin(1, 0.35 + 1.6 * (hypot(from * PITCH, y) - 0.95)));
    return fmax(BEHIND, LIT * fruit->look.rollers * shade * shadow * (1 + 0.3 * worn));
}

/* Light that is left behind the smudges on the glass, which stay where they are. */
static double through(const crn_known_fruit *fruit, double px, double py)
{
    double left = 1, size = SMUDGE_PX * fruit->height / CRN_KNOWN_HEIGHT;
    for (int i = 0; i < SMUDGES && fruit->look.dirt > 0; i++) {
        double x = px - fruit->width * corner(fruit->texture + 11, i, 0, 0);
        double y = py - fruit->height * corner(fruit->texture + 11, i, 1, 0);
        left *= 1 - fruit->look.dirt * exp(-(x * x + y * y) / (2 * size * size));
    }
    return left;
}

static double brightness(const crn_known_fruit *fruit, int view, double px, double py)
{
    double x = (px - fruit->x[view]) * fruit->mm_per_px / fruit->a_mm;
    double y = (py - fruit->y[view]) * fruit->mm_per_px / fruit->c_mm;
    crn_known_vector point;
    if (fabs(x) > 1.2 || fabs(y) > 1.4 || !crn_known_hit(fruit, view, px, py, &point))
        return behind(fruit, view, px, py);
    return lit(&fruit->look, albedo(fruit, point), x, y);
}

void crn_known_photograph(const crn_known_fruit *fruit, int view, crn_draws *random,
                          uint8_t *ret_photo)
{
    for (int i = 0; i < fruit->height * fruit->width; i++) {
        int column = i % fruit->width, row = i / fruit->width;
        double value = 0;
        for (int k = 0; k < SPLIT * SPLIT; k++)
            value += brightness(fruit, view, column + (k % SPLIT + 0.5) / SPLIT - 0.5,
                                row + (k / SPLIT + 0.5) / SPLIT - 0.5) /
                     (SPLIT * SPLIT);
        value *= fruit->look.light * through(fruit, column, row);
        value += (double)crn_draws_between(random, 0, SPECKS) < 1 ? SPECK * fruit->look.light : 0;
        value += (double)crn_draws_between(random, -NOISE, NOISE);
        ret_photo[i] = (uint8_t)fmax(0, fmin(255, value));
    }
}

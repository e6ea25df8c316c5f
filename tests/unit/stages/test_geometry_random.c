/*
 * The sweep against brute force (all pairs of contours, all pairs of pixel and contour) on seeded
 * fields, smooth and noisy, with NaN, and with many pixels exactly at the level. CRN_CASES is the
 * number of fields of each kind (24 by default), CRN_SEED the first seed; a failing case names its
 * own seed, and CRN_CASES=1 with it repeats that one alone.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/stage/geometry.h"
#include "tests/support/cmocka_prelude.h"

#define H        31
#define W        37
#define POINTS   (4 * (H + 1) * (W + 1))
#define CONTOURS 2000

static uint32_t random_state;

static uint32_t setting(const char *name, uint32_t fallback)
{
    const char *text = getenv(name);
    return text ? (uint32_t)strtoul(text, NULL, 10) : fallback;
}

static uint32_t random_word(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

/*
 * Definition: even-odd rule with a ray to the left; a segment includes its upper end and not its
 * lower one; a crossing at the point itself counts.
 */
static bool is_inside(const crn_point *points, uint32_t count, double x, double y)
{
    bool inside = false;
    for (uint32_t i = 0; i < count; i++) {
        crn_point a = points[i], b = points[(i + 1) % count];
        crn_point upper = a.y < b.y ? a : b, lower = a.y < b.y ? b : a;
        if (upper.y <= y && y < lower.y) {
            double slope = (lower.x - upper.x) / (lower.y - upper.y);
            inside ^= upper.x + (y - upper.y) * slope <= x;
        }
    }
    return inside;
}

static double area_of(const crn_point *points, const crn_contour *c)
{
    crn_outline o;
    crn_outline_measure(points + c->first, c->count, c->closed, &o);
    return fabs(o.area_px);
}

/* A point next to the middle of a segment, on its right or (sign -1) on its left. */
static crn_point beside(const crn_point *segment, int sign)
{
    double dx = segment[1].x - segment[0].x, dy = segment[1].y - segment[0].y;
    double out = sign * 1e-7 / hypot(dx, dy);
    return (crn_point){(segment[0].x + segment[1].x) / 2 - out * dy,
                       (segment[0].y + segment[1].y) / 2 + out * dx};
}

/*
 * Sample points that are inside exactly those contours that enclose this one. For a closed contour
 * a point just inside; for an open one both sides, since it may touch an enclosing contour. False
 * for a closed contour of zero width.
 */
static bool stand_ins(const crn_point *points, const crn_contour *c, crn_point ret[2])
{
    const crn_point *p = points + c->first;
    if (!c->closed) {
        ret[0] = beside(p, 1);
        ret[1] = beside(p, -1);
        return true;
    }
    for (uint32_t i = 0; i + 1 < c->count; i++)
        for (int sign = -1; sign <= 1; sign += 2) {
            ret[0] = ret[1] = beside(p + i, sign);
            if (is_inside(p, c->count, ret[0].x, ret[0].y))
                return true;
        }
    return false;
}

#define NOWHERE INT32_MIN

static int32_t parent_by_force(const crn_contours *all, uint32_t child)
{
    const crn_contour *c = &all->contours[child];
    crn_point at[2];
    if (!stand_ins(all->points, c, at))
        return NOWHERE;
    double area = c->closed ? area_of(all->points, c) : 0, nearest_area = INFINITY;
    int32_t nearest = -1;
    for (uint32_t i = 0; i < all->contour_count; i++) {
        const crn_contour *d = &all->contours[i];
        const crn_point *p = all->points + d->first;
        double around = area_of(all->points, d);
        if (i != child && d->closed && around > area && around < nearest_area &&
            is_inside(p, d->count, at[0].x, at[0].y) && is_inside(p, d->count, at[1].x, at[1].y)) {
            nearest = (int32_t)i;
            nearest_area = around;
        }
    }
    return nearest;
}

static void check_pixels(const crn_image *image, const crn_contours *all, uint32_t i,
                         const crn_nest *nest, uint32_t seed)
{
    const crn_contour *c = &all->contours[i];
    double sum = 0;
    uint32_t pixels = 0;
    for (int32_t y = 0; y < H; y++)
        for (int32_t x = 0; x < W; x++) {
            float value = crn_image_at(image, 0, y, x);
            if (isfinite(value) && is_inside(all->points + c->first, c->count, x, y)) {
                sum += (double)value;
                pixels++;
            }
        }
    /* Exact, because all values are multiples of 2^-16. */
    if (nest->pixels != pixels || nest->sum != sum)
        fail_msg("CRN_SEED=%u: contour %u has %u pixels of sum %.17g, not %u of %.17g", seed, i,
                 nest->pixels, nest->sum, pixels, sum);
}

/* Noise, averaged over a square of 2 * smooth + 1,
 * quantised to 1/steps; one in `nan_one_in` pixels is NaN. */
static void make_field(float *field, int smooth, int steps, int nan_one_in)
{
    static float noise[H + 16][W + 16];
    for (int y = 0; y < H + 16; y++)
        for (int x = 0; x < W + 16; x++)
            noise[y][x] = (float)(random_word() >> 8) * 0x1p-24f;
    float spread = (float)(2 * smooth + 1);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            float sum = 0;
            for (int j = -smooth; j <= smooth; j++)
                for (int i = -smooth; i <= smooth; i++)
                    sum += noise[y + 8 + j][x + 8 + i] - 0.5f;
            /* Averaging reduces the contrast by `spread`;
             * restored here, so that the level is crossed often. */
            float value = 0.5f + sum / spread;
            value = value < 0 ? 0 : value > 1 ? 1 : value;
            field[y * W + x] = roundf(value * (float)steps) / (float)steps;
            if (nan_one_in && random_word() % (uint32_t)nan_one_in == 0)
                field[y * W + x] = NAN;
        }
}

typedef struct geometry_random_tally {
    uint32_t contours, nested, open;
} geometry_random_tally;

static void check_field(crn_context *context, const crn_contours_params *params, float *field,
                        uint32_t seed, geometry_random_tally *seen)
{
    static crn_point points[POINTS];
    static crn_contour contours[CONTOURS];
    static crn_nest nests[CONTOURS];
    crn_contours all = {.points = points,
                        .contours = contours,
                        .point_capacity = POINTS,
                        .contour_capacity = CONTOURS};
    crn_image image = crn_image_dense(field, CRN_F32, CRN_CHW, 1, H, W);
    assert_int_equal(crn_contours_serial(context, params, &image, &all), 0);
    assert_false(all.truncated);
    for (uint32_t i = 0; i < all.contour_count; i++)
        nests[i].wanted = true;
    void *scratch = malloc(crn_nest_scratch_bytes(all.point_count, H, W));
    crn_pace pace = crn_pace_start(NULL);
    const crn_plane_contours of_plane = {
        0, H, W, params->orientation, points, contours, all.contour_count, 0};
    static crn_run run[POINTS];
    static uint32_t contour[POINTS];
    static crn_run_sum sums[POINTS];
    crn_nest_runs runs = {.all = run, .contour = contour};
    crn_nest_sweep(&of_plane, nests, &runs, scratch, &pace);
    assert_true(runs.count <= all.point_count);
    assert_int_equal(crn_sum_runs(context, &image, runs.all, runs.count, sums), 0);
    crn_nest_add(&runs, sums, nests);
    free(scratch);
    for (uint32_t i = 0; i < all.contour_count; i++) {
        int32_t parent = parent_by_force(&all, i);
        if (parent != NOWHERE && nests[i].parent != parent)
            fail_msg("CRN_SEED=%u: contour %u has parent %d, not %d", seed, i, nests[i].parent,
                     parent);
        check_pixels(&image, &all, i, &nests[i], seed);
        seen->nested += nests[i].parent >= 0;
        seen->open += !contours[i].closed;
    }
    seen->contours += all.contour_count;
}

/* All combinations of the three choices. `least`:
 * minimum number of such cases with the default seeds. */
static void check_fields(int smooth, int steps, double level, int nan_one_in,
                         geometry_random_tally least)
{
    uint32_t cases = setting("CRN_CASES", 24), first = setting("CRN_SEED", 1);
    crn_context *context = NULL;
    assert_int_equal(crn_context_create(1, &context), 0);
    static float field[H * W];
    geometry_random_tally seen = {0};
    for (uint32_t seed = first; seed < first + cases; seed++) {
        random_state = seed * 2654435761u | 1; /* never 0, and neighbouring seeds start far apart */
        make_field(field, smooth, steps, nan_one_in);
        crn_contours_params params = {.levels = &level,
                                      .connectivity = seed & 1 ? CRN_CONNECT_HIGH : CRN_CONNECT_LOW,
                                      .orientation = seed & 2 ? CRN_ORIENT_HIGH : CRN_ORIENT_LOW,
                                      .border = seed & 4 ? CRN_BORDER_CLOSED : CRN_BORDER_OPEN};
        check_field(context, &params, field, seed, &seen);
    }
    crn_context_free(&context);
    if (getenv("CRN_CASES") || getenv("CRN_SEED"))
        return;
    if (seen.contours < least.contours || seen.nested < least.nested || seen.open < least.open)
        fail_msg("%u contours, %u nested, %u open: too few", seen.contours, seen.nested, seen.open);
}

/* A level that no pixel quantised to 65536 steps has. */
static const double between = 0.5 + 0x1p-18;

static void test_smooth_fields(void **state)
{
    (void)state;
    check_fields(3, 65536, between, 0, (geometry_random_tally){300, 50, 100});
}

static void test_noise(void **state)
{
    (void)state;
    check_fields(0, 65536, between, 0, (geometry_random_tally){1000, 300, 300});
}

static void test_noise_with_nan(void **state)
{
    (void)state;
    check_fields(0, 65536, between, 150, (geometry_random_tally){1000, 10, 300});
}

static void test_pixels_at_the_level(void **state)
{
    (void)state;
    check_fields(0, 4, 0.5, 0, (geometry_random_tally){1000, 50, 100});
    check_fields(1, 8, 0.5, 0, (geometry_random_tally){300, 10, 50});
    check_fields(0, 4, 0.5, 150, (geometry_random_tally){1000, 10, 300});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_smooth_fields),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_noise_with_nan),
        cmocka_unit_test(test_pixels_at_the_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

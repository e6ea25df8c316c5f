/*
 * Poses and rolls from photographs of synthetic fruits, against the truth, and areas measured with
 * them. Prints the table of stages/surface/README.md; CRN_CASES is the number of fruits for each
 * row (10 by default), CRN_SEED the seed.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/surface/seen.h"

#define DEG (M_PI / 180)

/* Below it a roll or a pose is not to be believed. */
#define SURE 0.15

enum { CASES_MAX = 4000, SAMPLES = CASES_MAX * SCENE_VIEWS };

/* Errors of one kind, in the order of their size once they are printed. */
typedef struct photo_errors {
    uint32_t count;
    double of[SAMPLES];
} photo_errors;

static scene_seen seen;
static crn_random source;
static uint8_t photographs[SCENE_VIEWS][SCENE_PIXELS];
static photo_errors centre, radius, roll, area, pose_us, roll_us;
static uint32_t unsure, rolls;

static int set_up(void **state)
{
    (void)state;
    scene_seen_open(&seen);
    source.state = getenv("CRN_SEED") ? crn_random_seed() : 31;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scene_seen_close(&seen);
    return 0;
}

static crn_surface *open_surface(double distance_mm, double roll_error_rad)
{
    crn_surface_settings settings = scene_settings(distance_mm);
    crn_surface *surface = NULL;
    settings.roll_error_rad = roll_error_rad;
    if (crn_surface_open(seen.context, &settings, &surface) != 0)
        fail_msg("%s", crn_context_error(seen.context));
    return surface;
}

static void note(photo_errors *errors, double error)
{
    assert_true(errors->count < SAMPLES);
    errors->of[errors->count++] = fabs(error);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(photo_errors *errors, double part)
{
    qsort(errors->of, errors->count, sizeof *errors->of, by_size);
    return errors->of[(uint32_t)(part * (errors->count - 1))];
}

static double mean(const photo_errors *errors)
{
    double sum = 0;
    for (uint32_t i = 0; i < errors->count; i++)
        sum += errors->of[i];
    return sum / errors->count;
}

static crn_image image_of(int view)
{
    return crn_image_dense(photographs[view], CRN_U8, CRN_CHW, 1, SCENE_HEIGHT, SCENE_WIDTH);
}

static void find_pose(crn_surface *surface, int view)
{
    crn_surface_pose truth = seen.views[view].pose, *found = &seen.views[view].pose;
    crn_image image = image_of(view);
    int64_t begin_ns = (int64_t)crn_now_ns();
    assert_int_equal(crn_surface_find_pose(surface, &image, found), 0);
    note(&pose_us, (double)((int64_t)crn_now_ns() - begin_ns) / 1000);
    note(&centre, hypot(found->x - truth.x, found->y - truth.y));
    note(&radius, found->rx / truth.rx - 1);
    note(&radius, found->ry / truth.ry - 1);
}

static void find_roll(crn_surface *surface, const scene_fruit *fruit, int view, double expected,
                      double range)
{
    crn_surface_photograph photos[2];
    crn_surface_roll found;
    double truth = fruit->roll[view] - fruit->roll[view - 1];
    for (int i = 0; i < 2; i++)
        photos[i] = (crn_surface_photograph){image_of(view - 1 + i), seen.views[view - 1 + i].pose,
                                             fruit->mm_per_px};
    int64_t begin_ns = (int64_t)crn_now_ns();
    assert_int_equal(
        crn_surface_find_roll(surface, &photos[0], &photos[1], expected, range, &found), 0);
    note(&roll_us, (double)((int64_t)crn_now_ns() - begin_ns) / 1000);
    rolls++;
    if (found.confidence < SURE) {
        found.roll_rad = expected;
        unsure++;
    }
    note(&roll, remainder(found.roll_rad - truth, 2 * M_PI) / DEG);
    seen.views[view].pose.roll_rad = seen.views[view - 1].pose.roll_rad + found.roll_rad;
}

static void measure(crn_surface *surface, const scene_fruit *fruit)
{
    const crn_surface_fruit *found;
    double surface_mm2 = scene_surface_mm2(fruit);
    if (crn_surface_measure(surface, seen.views, seen.view_count, &found) != 0)
        fail_msg("%s", crn_context_error(seen.context));
    for (int i = 0; i < SCENE_CLASSES; i++) {
        double truth = scene_area_mm2(fruit, i, true);
        if (truth >= 0.01 * surface_mm2)
            note(&area, found->totals[i].area_mm2 / truth - 1);
    }
}

/* A row: fruits of a kind; the expected roll of a step, and how far the true one may be from it. */
typedef struct photo_row {
    const char *name;
    int views;
    double ratio_min, ratio_max, slip, range_rad, wobble_rad, speckle;
    double roll_max, area_max; /* promised: median in degrees, mean */
} photo_row;

static bool look_at_row(const photo_row *row, uint32_t cases)
{
    const scene_kind kind = {.views = row->views,
                             .slip = row->slip,
                             .wobble_rad = row->wobble_rad,
                             .speckle = row->speckle,
                             .step_rad = 2 * M_PI / row->views,
                             .ratio_min = row->ratio_min,
                             .ratio_max = row->ratio_max,
                             .spot_min = 0.08,
                             .spot_max = 0.42};
    crn_surface *surface = open_surface(0, 2 * DEG);
    centre.count = radius.count = roll.count = area.count = pose_us.count = roll_us.count = 0;
    unsure = rolls = 0;
    for (uint32_t i = 0; i < cases; i++) {
        scene_fruit fruit = scene_random(&kind, &source);
        scene_look(&seen, &fruit);
        for (int view = 0; view < kind.views; view++) {
            scene_photograph(&fruit, view, &source, photographs[view]);
            find_pose(surface, view);
            if (view)
                find_roll(surface, &fruit, view, kind.step_rad, row->range_rad);
        }
        measure(surface, &fruit);
    }
    crn_surface_free(&surface);
    double centre_px = quantile(&centre, 0.5), radius_part = quantile(&radius, 0.5);
    double roll_deg = quantile(&roll, 0.5), area_part = mean(&area);
    printf("| %s | %.2f | %.2f | %.2f | %.1f | %.1f | %.1f | %.1f | %.0f | %.0f |\n", row->name,
           centre_px, 100 * radius_part, roll_deg, quantile(&roll, 0.95), 100.0 * unsure / rolls,
           100 * area_part, 100 * quantile(&area, 0.95), quantile(&pose_us, 0.5),
           quantile(&roll_us, 0.5));
    return centre_px <= 0.6 && radius_part <= 0.015 && roll_deg <= row->roll_max &&
           area_part <= row->area_max;
}

static void poses_are_found_in_photographs(void **state)
{
    (void)state;
    const photo_row rows[] = {
        {"4 views, spheres", 4, 1, 1, 0, 25 * DEG, 0, 0, 1, 0.04},
        {"6 views, spheres", 6, 1, 1, 0, 25 * DEG, 0, 0, 1, 0.04},
        {"8 views, spheres", 8, 1, 1, 0, 25 * DEG, 0, 0, 1, 0.04},
        {"4 views, 0.8 to 1.25", 4, 0.8, 1.25, 0, 25 * DEG, 0, 0, 1, 0.04},
        {"4 views, spheres, roll ±20 %", 4, 1, 1, 0.2, 25 * DEG, 0, 0, 1, 0.04},
        {"6 views, spheres, roll ±20 %", 6, 1, 1, 0.2, 25 * DEG, 0, 0, 1, 0.04},
        {"8 views, spheres, roll ±20 %", 8, 1, 1, 0.2, 25 * DEG, 0, 0, 1, 0.04},
        {"8 views, spheres, roll unknown", 8, 1, 1, 0, M_PI, 0, 0, 1, 0.04},
        {"4 views, spheres, roll unknown", 4, 1, 1, 0, M_PI, 0, 0, 1, 0.04},
        {"4 views, spheres, axis ±10°", 4, 1, 1, 0, 25 * DEG, 10 * DEG, 0, 9, 0.1},
        {"4 views, spheres, roll ±10 %, speckles of 7 %", 4, 1, 1, 0.1, 25 * DEG, 0, 0.07, 1, 0.06},
        {"4 views, spheres, roll ±10 %, speckles of 2 %", 4, 1, 1, 0.1, 25 * DEG, 0, 0.02, 9, 0.2},
    };
    uint32_t cases = crn_random_cases(10);
    assert_in_range(cases, 1, CASES_MAX);
    bool kept = true;
    printf(
        "| fruits | centre px | semi-axes %% | roll ° | p95 | unsure %% | area %% | p95 | pose µs "
        "| roll µs |\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        kept &= look_at_row(&rows[i], cases);
    assert_true(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(poses_are_found_in_photographs)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

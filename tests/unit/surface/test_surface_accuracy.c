/*
 * Rows of `cernita-bench surface` with few fruits keep what is promised on average, and photographs
 * without a pose are recognised. CRN_CASES is the number of fruits (8), CRN_SEED the seed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/random.h"
#include "tools/bench/surface/surface.h"

static crn_fruit_errors *errors;
static int32_t fruits;
static uint64_t seed;

static int set_up(void **state)
{
    (void)state;
    fruits = (int32_t)crn_random_cases(8);
    seed = getenv("CRN_SEED") ? crn_random_seed() : 31;
    errors = calloc((size_t)fruits, sizeof *errors);
    return errors ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    free(errors);
    return 0;
}

static const crn_surface_row *measure(const char *name)
{
    const crn_known_skin none = {0, NULL};
    crn_error error;
    int32_t i = 0;
    while (i < crn_surface_row_count && strcmp(crn_surface_rows[i].name, name) != 0)
        i++;
    if (i == crn_surface_row_count)
        fail_msg("no row '%s'", name);
    if (crn_surface_bench_row(&crn_surface_rows[i], &none, fruits, seed, errors, &error) < 0)
        fail_msg("%s", error.text);
    return &crn_surface_rows[i];
}

/* `most` in per cent; that of an area may be more than is promised of thousands of fruits. */
static void assert_most(const char *name, const char *what, double value, double most)
{
    if (!(value <= most))
        fail_msg("%s: %s %g, not %g at most", name, what, value, most);
}

static void areas_are_the_true_ones(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double area;
    } rows[] = {
        {"pose: 4 views, spheres", 2},          {"pose: 8 views, spheres", 2},
        {"pose: 6 views, 0.8 to 1.25", 2},      {"pose: 4 views, at 15 radii", 3},
        {"pose: 4 views, at 8 radii", 4},       {"pose: 4 views, axis +-10 deg", 12},
        {"pose: 4 views, roll sigma 2 deg", 6}, {"pose: 4 views, sigma 0.6 px, 1.5 %, 1.5 deg", 9},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const crn_surface_row *row = measure(rows[i].name);
        assert_most(row->name, "area", 100 * CRN_SURFACE_SAMPLE(errors, fruits, area).mean,
                    rows[i].area);
        if (row->radius_sigma == 0)
            assert_most(row->name, "diameter",
                        100 * CRN_SURFACE_SAMPLE(errors, fruits, diameter).mean, 0.01);
        assert_most(row->name, "coverage", CRN_SURFACE_SAMPLE(errors, fruits, coverage).median,
                    0.01);
        if (row->targets->counts_min > 0)
            assert_true(CRN_SURFACE_SAMPLE(errors, fruits, counts_right).mean >= 0.8);
    }
}

static void poses_are_found_in_photographs(void **state)
{
    (void)state;
    static const char *const names[] = {
        "photo: 4 views, spheres",      "photo: 6 views, 0.8 to 1.25",
        "photo: 4 views, slip 20 %",    "photo: 4 views, roll unknown",
        "photo: 8 views, roll unknown", "photo: 4 views, highlight of 200",
        "photo: 4 views, a neighbour",  "photo: 4 views, a dent",
        "photo: 4 views, dirt",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const crn_surface_row *row = measure(names[i]);
        const crn_surface_targets *targets = row->targets;
        assert_most(row->name, "area", 100 * CRN_SURFACE_SAMPLE(errors, fruits, area).mean,
                    targets->area);
        assert_most(row->name, "centre", CRN_SURFACE_SAMPLE(errors, fruits, centre_px).median,
                    targets->centre);
        assert_most(row->name, "axes", 100 * CRN_SURFACE_SAMPLE(errors, fruits, axes).median,
                    targets->axes);
        assert_most(row->name, "roll",
                    180 / M_PI * CRN_SURFACE_SAMPLE(errors, fruits, roll_rad).median,
                    targets->roll);
    }
}

/* Three angles are found where the roll alone is not sure; without them these rows lose 6 to 12 %.
 */
static void a_wobbling_axis_is_found_in_photographs(void **state)
{
    (void)state;
    static const char *const names[] = {
        "photo: 4 views, axis +-10 deg, slip 20 %",
        "photo: 6 views, axis +-10 deg",
        "photo: 8 views, axis +-10 deg",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        measure(names[i]);
        assert_most(names[i], "area", 100 * CRN_SURFACE_SAMPLE(errors, fruits, area).mean, 4);
        assert_most(names[i], "unsure", CRN_SURFACE_SAMPLE(errors, fruits, is_unsure).mean, 0.1);
    }
}

/* The expected pose is taken, and its confidence says so. */
static void photographs_without_a_pose_are_recognised(void **state)
{
    (void)state;
    static const char *const names[] = {"unusable: dark", "unusable: over-exposed",
                                        "unusable: noise", "unusable: one colour",
                                        "unusable: 1 x 1"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const crn_surface_row *row = measure(names[i]);
        assert_most(row->name, "confidence",
                    CRN_SURFACE_SAMPLE(errors, fruits, pose_confidence).most,
                    CRN_SURFACE_POSE_SURE);
        assert_true(CRN_SURFACE_SAMPLE(errors, fruits, is_measured).mean == 1);
        assert_most(row->name, "area", 100 * CRN_SURFACE_SAMPLE(errors, fruits, area).mean, 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(areas_are_the_true_ones),
        cmocka_unit_test(poses_are_found_in_photographs),
        cmocka_unit_test(a_wobbling_axis_is_found_in_photographs),
        cmocka_unit_test(photographs_without_a_pose_are_recognised),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

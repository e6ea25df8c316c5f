/* How a fruit has turned from view to view: what the turn from the last view to the first tells. */
#include <math.h>
#include <stdlib.h>

#include "stages/surface/skin.h"
#include "tests/support/cmocka_prelude.h"
#include "tools/common/known/vectors.h"

#define DEG (M_PI / 180)

enum { VIEWS = 8, RANGE_DEG = 25 };

static crn_context *context;
static crn_surface *surface;
static crn_known_fruit fruit;
static crn_surface_skin skins[VIEWS];
static crn_surface_pose poses[VIEWS];
static crn_surface_turning views[VIEWS];
static uint8_t photograph[CRN_KNOWN_HEIGHT * CRN_KNOWN_WIDTH];

static int set_up(void **state)
{
    (void)state;
    const crn_surface_settings settings = {.classes = 1, .views = 1, .defects = 1, .points = 1};
    assert_int_equal(crn_context_open(NULL, &context), 0);
    return crn_surface_open(context, &settings, &surface);
}

static int tear_down(void **state)
{
    (void)state;
    crn_surface_free(&surface);
    crn_context_free(&context);
    return 0;
}

/* A fruit of `count` views; nothing is known of its rolls but what is expected. */
static void make_views(uint64_t number, int count, double step_deg, double wobble_deg)
{
    crn_draws random = {17, number, 0};
    crn_known_kind kind = {.views = count,
                           .step_rad = step_deg * DEG,
                           .wobble_rad = wobble_deg * DEG,
                           .ratio_min = 1,
                           .ratio_max = 1,
                           .spot_min = 0.1,
                           .spot_max = 0.2,
                           .look = CRN_KNOWN_LOOK};
    fruit = crn_known_random(&kind, &random);
    for (int i = 0; i < count; i++) {
        crn_surface_photograph photo = {
            crn_image_dense(photograph, CRN_U8, CRN_CHW, 1, CRN_KNOWN_HEIGHT, CRN_KNOWN_WIDTH),
            crn_known_pose(&fruit, i), fruit.mm_per_px};
        crn_known_photograph(&fruit, i, &random, photograph);
        assert_int_equal(crn_surface_take_skin(surface, "photo", &photo, &skins[i]), 0);
        poses[i] = photo.pose;
        views[i] = (crn_surface_turning){
            .skin = &skins[i], .expected_rad = step_deg * DEG, .pose = &poses[i]};
    }
}

static double roll_deg(int view)
{
    return (poses[view].roll_rad - poses[view - 1].roll_rad) / DEG;
}

static void assert_near(double value, double expected, double most)
{
    if (!(fabs(value - expected) <= most))
        fail_msg("%g is not %g to %g", value, expected, most);
}

/* A step that slipped by 20 degrees, without a skin that shows it. */
static void a_roll_that_is_not_sure_is_told_by_the_loop(void **state)
{
    (void)state;
    make_views(1, 4, 90, 0);
    views[2].roll = (crn_surface_roll){110 * DEG, 0.01};
    views[2].expected_rad = NAN; /* so that no three angles are looked for */
    assert_true(crn_surface_find_turns(surface, views, 4, RANGE_DEG * DEG));
    for (int i = 1; i < 4; i++)
        assert_near(roll_deg(i), 90, 1);
    assert_true(views[2].roll.confidence >= CRN_SURFACE_ROLL_SURE);
}

/* Two unsure ones: what is missing is shared, and neither is sure. */
static void two_rolls_that_are_not_sure_share_what_is_missing(void **state)
{
    (void)state;
    make_views(1, 4, 90, 0);
    views[1].skin = NULL;
    views[1].expected_rad = views[2].expected_rad = 82 * DEG;
    assert_true(crn_surface_find_turns(surface, views, 4, RANGE_DEG * DEG));
    for (int i = 1; i < 4; i++)
        assert_near(roll_deg(i), 90, 1);
    assert_true(views[1].roll.confidence == 0 && views[2].roll.confidence == 0);
}

/* The surest ones take the least of what is left over. */
static void what_is_left_over_goes_where_it_is_least_sure(void **state)
{
    (void)state;
    make_views(1, 4, 90, 0);
    views[1].roll = (crn_surface_roll){94 * DEG, 0.16};
    views[2].roll = views[3].roll = (crn_surface_roll){90 * DEG, 0.9};
    assert_true(crn_surface_find_turns(surface, views, 4, RANGE_DEG * DEG));
    assert_true(views[0].roll.confidence >= CRN_SURFACE_ROLL_SURE);
    assert_near(roll_deg(1), 90, 1);
    assert_near(roll_deg(2), 90, 0.2);
    assert_near(roll_deg(3), 90, 0.2);
}

/* The last view is 110 degrees and more from the first: skins would match by chance. */
static void without_a_loop_rolls_are_as_they_were_found(void **state)
{
    (void)state;
    static const double steps_deg[] = {60, 75, 82};
    for (int i = 0; i < 3; i++) {
        make_views(2, 4, steps_deg[i], 0);
        views[2].roll = (crn_surface_roll){steps_deg[i] * DEG, 0.2};
        assert_true(crn_surface_find_turns(surface, views, 4, 10 * DEG));
        assert_true(views[0].roll.confidence == 0);
        assert_near(roll_deg(2), steps_deg[i], 1e-9);
    }
}

/* No roll is expected, and a view is missing: nothing but the loop tells it. */
static void an_unknown_roll_is_told_by_the_loop(void **state)
{
    (void)state;
    for (int missing = 0; missing < 2; missing++) {
        make_views(3, 4, 90, 0);
        for (int i = 0; i < 4; i++)
            views[i].expected_rad = NAN;
        views[2] = views[3];
        views[2].skin = missing ? NULL : views[2].skin;
        assert_int_equal(crn_surface_find_turns(surface, views, 3, RANGE_DEG * DEG), !missing);
        if (!missing)
            assert_near(fabs(remainder(poses[3].roll_rad - poses[1].roll_rad, 2 * M_PI)) / DEG, 180,
                        1.5);
    }
}

/* Two views are no loop: the turn back is the same one. */
static void few_views_have_their_rolls(void **state)
{
    (void)state;
    make_views(4, 2, 45, 0);
    assert_true(crn_surface_find_turns(surface, views, 1, RANGE_DEG * DEG));
    assert_true(poses[0].roll_rad == 0 && poses[0].pitch_rad == 0 && poses[0].tilt_rad == 0);
    assert_true(crn_surface_find_turns(surface, views, 2, RANGE_DEG * DEG));
    assert_near(roll_deg(1), 45, 1);
    assert_true(views[0].roll.confidence == 0);
    assert_true(poses[1].pitch_rad == 0 && poses[1].tilt_rad == 0);
}

static crn_known_turn turn_of(double roll, double tilt, double pitch)
{
    return (crn_known_turn){cos(roll), sin(roll), cos(tilt), sin(tilt), cos(pitch), sin(pitch)};
}

/* The cosine between an axis of the one view and one of the other, on the fruit. */
static double between(const crn_known_turn *one, int i, const crn_known_turn *other, int k)
{
    const crn_known_vector axes[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    return crn_vector_dot(crn_vector_unrolled(one, crn_vector_upright(one, axes[i])),
                          crn_vector_unrolled(other, crn_vector_upright(other, axes[k])));
}

/* By how much the turn from the last view to the first is off, in radians, about. */
static double last_is_off(int count)
{
    const crn_surface_pose *first = &poses[0], *last = &poses[count - 1];
    crn_known_turn a = turn_of(first->roll_rad, first->tilt_rad, first->pitch_rad);
    crn_known_turn b = turn_of(last->roll_rad, last->tilt_rad, last->pitch_rad);
    double most = 0;
    for (int i = 0; i < 9; i++)
        most = fmax(most, fabs(between(&a, i / 3, &b, i % 3) -
                               between(&fruit.turn[0], i / 3, &fruit.turn[count - 1], i % 3)));
    return most;
}

static void errors_of_a_wobbling_axis_do_not_add_up(void **state)
{
    (void)state;
    enum { FRUITS = 12 };
    double sum = 0;
    for (uint64_t i = 0; i < FRUITS; i++) {
        make_views(100 + i, VIEWS, 360.0 / VIEWS, 10);
        assert_true(crn_surface_find_turns(surface, views, VIEWS, RANGE_DEG * DEG));
        sum += last_is_off(VIEWS) / FRUITS;
    }
    if (sum > 0.75 * DEG)
        fail_msg("the last view is off by %.2f degrees", sum / DEG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_roll_that_is_not_sure_is_told_by_the_loop),
        cmocka_unit_test(two_rolls_that_are_not_sure_share_what_is_missing),
        cmocka_unit_test(what_is_left_over_goes_where_it_is_least_sure),
        cmocka_unit_test(without_a_loop_rolls_are_as_they_were_found),
        cmocka_unit_test(an_unknown_roll_is_told_by_the_loop),
        cmocka_unit_test(few_views_have_their_rolls),
        cmocka_unit_test(errors_of_a_wobbling_axis_do_not_add_up),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

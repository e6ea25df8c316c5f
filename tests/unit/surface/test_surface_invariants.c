/* What must hold for the surface of any fruit, by random synthetic ones: CRN_CASES (40), CRN_SEED.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/random.h"
#include "tests/support/surface/outlines.h"
#include "tools/common/known/seen.h"

/* What is compared, of a crn_surface_fruit that does not last. */
typedef struct measures {
    double coverage, surface_mm2;
    crn_surface_total totals[CRN_KNOWN_CLASSES];
} measures;

static crn_known_seen seen;
static crn_surface *surface;
static crn_random source;
static crn_draws fruits;
static crn_known_fruit fruit;

static int set_up(void **state)
{
    (void)state;
    const crn_surface_settings settings = crn_known_settings(0);
    crn_error error;
    if (crn_known_seen_open(&seen, CRN_KNOWN_HEIGHT * CRN_KNOWN_WIDTH, &error) < 0)
        fail_msg("%s", error.text);
    source.state = crn_random_seed();
    fruits.key = source.state;
    return crn_surface_open(seen.context, &settings, &surface);
}

static int tear_down(void **state)
{
    (void)state;
    crn_surface_free(&surface);
    crn_known_seen_close(&seen);
    return 0;
}

static void look_at_a_random_fruit(void)
{
    crn_error error;
    const crn_known_kind kind = {.views = crn_random_between(&source, 4, CRN_SEEN_VIEWS),
                                 .ratio_min = 0.8,
                                 .ratio_max = 1.25,
                                 .spot_min = 0.08,
                                 .spot_max = 0.4};
    crn_known_kind even = kind;
    even.step_rad = 2 * M_PI / kind.views;
    fruit = crn_known_random(&even, &fruits);
    if (crn_known_look_at(&seen, &fruit, &error) < 0)
        fail_msg("%s", error.text);
}

/* As views of a wobbling axis, whatever they show. */
static void look_at_a_wobbling_fruit(void)
{
    look_at_a_random_fruit();
    for (int i = 0; i < seen.view_count && crn_random_once_in(&source, 2); i++) {
        seen.views[i].pose.pitch_rad = 0.4 * crn_random_unit(&source) - 0.2;
        seen.views[i].pose.tilt_rad = 0.4 * crn_random_unit(&source) - 0.2;
    }
}

static measures measure_views(const crn_surface_view *views, int count)
{
    const crn_surface_fruit *found;
    if (crn_surface_measure(surface, views, count, &found) != 0)
        fail_msg("%s", crn_context_error(seen.context));
    measures result = {found->coverage, found->surface_mm2, {{0, 0, 0, 0}}};
    memcpy(result.totals, found->totals, sizeof result.totals);
    return result;
}

static void assert_relative(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance * fabs(expected) + 1e-12))
        fail_msg("%.15g is not %.15g", value, expected);
}

/* All lengths of the second are `scale` times those of the first. */
static void assert_same(const measures *a, const measures *b, double scale)
{
    assert_relative(b->coverage, a->coverage, 1e-9);
    assert_relative(b->surface_mm2, a->surface_mm2 * scale * scale, 1e-9);
    for (int i = 0; i < CRN_KNOWN_CLASSES; i++) {
        assert_int_equal(b->totals[i].count, a->totals[i].count);
        assert_relative(b->totals[i].area_mm2, a->totals[i].area_mm2 * scale * scale, 1e-9);
        assert_relative(b->totals[i].largest_mm2, a->totals[i].largest_mm2 * scale * scale, 1e-9);
        /* Points are kept in f32. */
        assert_relative(b->totals[i].longest_mm, a->totals[i].longest_mm * scale, 2e-2);
    }
}

static void turning_all_views_changes_nothing(void **state)
{
    (void)state;
    for (uint32_t i = crn_random_cases(40); i-- > 0;) {
        look_at_a_wobbling_fruit();
        measures before = measure_views(seen.views, seen.view_count);
        double turn = 20 * crn_random_unit(&source) - 10;
        for (int k = 0; k < seen.view_count; k++)
            seen.views[k].pose.roll_rad += turn;
        measures after = measure_views(seen.views, seen.view_count);
        assert_same(&before, &after, 1);
    }
}

static void the_order_of_the_views_does_not_matter(void **state)
{
    (void)state;
    for (uint32_t i = crn_random_cases(40); i-- > 0;) {
        look_at_a_wobbling_fruit();
        measures before = measure_views(seen.views, seen.view_count);
        for (uint32_t k = (uint32_t)seen.view_count; k-- > 1;) {
            uint32_t other = crn_random_below(&source, k + 1);
            crn_surface_view view = seen.views[k];
            seen.views[k] = seen.views[other];
            seen.views[other] = view;
        }
        measures after = measure_views(seen.views, seen.view_count);
        assert_same(&before, &after, 1);
    }
}

static void twice_the_scale_is_four_times_the_area(void **state)
{
    (void)state;
    for (uint32_t i = crn_random_cases(40); i-- > 0;) {
        look_at_a_wobbling_fruit();
        measures before = measure_views(seen.views, seen.view_count);
        for (int k = 0; k < seen.view_count; k++)
            seen.views[k].mm_per_px *= 2;
        measures after = measure_views(seen.views, seen.view_count);
        assert_same(&before, &after, 2);
    }
}

/* An outline cut in two between two of its points. */
static void halves_sum_to_the_whole(void **state)
{
    (void)state;
    static outlines whole, halves;
    for (uint32_t i = crn_random_cases(40); i-- > 0;) {
        float xy[2 * 66];
        double centre[2] = {50 + 24 * (crn_random_unit(&source) - 0.5),
                            47 + 24 * (crn_random_unit(&source) - 0.5)};
        outlines_clear(&whole);
        outlines_clear(&halves);
        outlines_add_ellipse(&whole, centre, 12, 5 + 7 * crn_random_unit(&source), -1);
        uint32_t cut = (uint32_t)crn_random_between(&source, 8, 56);
        outlines_add(&halves, whole.xy, cut + 1);
        memcpy(xy, whole.xy + 2 * cut, 2 * (64 - cut) * sizeof *xy);
        memcpy(xy + 2 * (64 - cut), whole.xy, 2 * sizeof *xy);
        outlines_add(&halves, xy, 64 - cut + 1);
        const crn_surface_view one = outlines_view(&whole, 0), two = outlines_view(&halves, 0);
        measures in_one = measure_views(&one, 1), in_two = measure_views(&two, 1);
        assert_int_equal(in_two.totals[0].count, 2);
        assert_relative(in_two.totals[0].area_mm2, in_one.totals[0].area_mm2, 1e-9);
    }
}

/* Borders lie elsewhere where only some of the views are used. */
static void other_strips_give_the_same_area(void **state)
{
    (void)state;
    double off = 0, areas = 0;
    for (uint32_t i = crn_random_cases(40); i-- > 0;) {
        do
            look_at_a_random_fruit();
        while (seen.view_count != 8);
        measures all = measure_views(seen.views, 8);
        for (int k = 0; k < 4; k++)
            seen.views[k] = seen.views[2 * k + 1];
        measures some = measure_views(seen.views, 4);
        for (int k = 0; k < CRN_KNOWN_CLASSES; k++)
            if (all.totals[k].area_mm2 > 0.01 * all.surface_mm2) {
                off += fabs(some.totals[k].area_mm2 / all.totals[k].area_mm2 - 1);
                areas++;
            }
    }
    assert_true(off / areas < 0.02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turning_all_views_changes_nothing),
        cmocka_unit_test(the_order_of_the_views_does_not_matter),
        cmocka_unit_test(twice_the_scale_is_four_times_the_area),
        cmocka_unit_test(halves_sum_to_the_whole),
        cmocka_unit_test(other_strips_give_the_same_area),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

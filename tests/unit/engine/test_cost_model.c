/* The cost model: lines through two measurements, and the cheaper option by size. */
#include "src/engine/cost_model.h"
#include "tests/support/cmocka_prelude.h"

static void a_line_goes_through_both_measurements(void **state)
{
    (void)state;
    crn_cost cost = crn_cost_fit(1000, 5000, 3000, 9000);
    assert_float_equal(cost.per_byte_ns, 2, 1e-12);
    assert_float_equal(cost.fixed_ns, 3000, 1e-9);
    assert_int_equal(crn_cost_ns(&cost, 1000), 5000);
    assert_int_equal(crn_cost_ns(&cost, 3000), 9000);
    assert_int_equal(crn_cost_ns(&cost, 10000), 23000);
}

static void nothing_costs_less_than_nothing(void **state)
{
    (void)state;
    crn_cost falling = crn_cost_fit(1000, 5000, 3000, 4000);
    assert_int_equal(crn_cost_ns(&falling, 1000000), 4000);
    crn_cost steep = crn_cost_fit(1000, 100, 3000, 9000);
    assert_int_equal(crn_cost_ns(&steep, 0), 0);
    assert_int_equal(crn_cost_ns(&steep, 1000), 3000);
}

static void each_side_has_its_sizes(void **state)
{
    (void)state;
    crn_cost processor = {.fixed_ns = 1000, .per_byte_ns = 1};
    crn_cost device = {.fixed_ns = 101000, .per_byte_ns = 0.5};
    assert_false(crn_cost_model_is_device(&processor, &device, 100));
    assert_false(crn_cost_model_is_device(&processor, &device, 200000));
    assert_true(crn_cost_model_is_device(&processor, &device, 200100));
    assert_true(crn_cost_model_is_device(&processor, &device, 100000000));
}

static void the_median_is_in_the_middle(void **state)
{
    (void)state;
    int64_t odd[] = {9, 1, 1000000};
    int64_t even[] = {4, 1000000, 2, 1};
    int64_t one[] = {7};
    assert_int_equal(crn_cost_model_median_ns(odd, 3), 9);
    assert_int_equal(crn_cost_model_median_ns(even, 4), 3);
    assert_int_equal(crn_cost_model_median_ns(one, 1), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_goes_through_both_measurements),
        cmocka_unit_test(nothing_costs_less_than_nothing),
        cmocka_unit_test(each_side_has_its_sizes),
        cmocka_unit_test(the_median_is_in_the_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

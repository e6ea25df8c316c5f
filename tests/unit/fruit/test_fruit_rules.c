/* Rules that change while fruits are open: each fruit keeps those of its first view. */
#include <errno.h>

#include "tests/unit/fruit/fruit_bench.h"

static crn_config settings[2] = {{.generation = 0}, {.generation = CRN_GENERATIONS + 1}};

static int set_up(void **state)
{
    (void)state;
    crn_fruit_rules rules = {.open_fruits = 8,
                             .judged_fruits = 1024,
                             .views = 8,
                             .workers = 1,
                             .budget_ns = CRN_FRUIT_BUDGET,
                             .assemble_ns = CRN_FRUIT_ASSEMBLE,
                             .guard_ns = CRN_FRUIT_GUARD,
                             .config = &settings[0]};
    return bench_start(&rules);
}

static int change_rules(int32_t open_fruits)
{
    crn_fruit_rules rules = {.open_fruits = open_fruits,
                             .judged_fruits = 1024,
                             .views = 8,
                             .workers = 1,
                             .budget_ns = 10 * CRN_FRUIT_MS,
                             .assemble_ns = 40 * CRN_FRUIT_MS,
                             .guard_ns = CRN_FRUIT_MS,
                             .config = &settings[1]};
    return crn_fruits_set_rules(fruits, &rules);
}

static void an_open_fruit_keeps_its_rules(void **state)
{
    (void)state;
    arrive(1, 0, 2, CRN_FRUIT_NEVER);
    assert_int_equal(change_rules(8), 0);
    arrive(2, 0, 2, CRN_FRUIT_NEVER);
    assert_int_equal(crn_fruits_open_of(fruits, 0), 1);
    assert_int_equal(crn_fruits_open_of(fruits, 1), 1);
    assert_int_equal(crn_fruits_wake_ns(fruits), CRN_FRUIT_START + 40 * CRN_FRUIT_MS);

    now_ns = CRN_FRUIT_START + 49 * CRN_FRUIT_MS;
    const crn_fruit *fruit = expect_due(2);
    assert_ptr_equal(fruit->config, &settings[1]);
    assert_int_equal(fruit->deadline_ns, CRN_FRUIT_START + 50 * CRN_FRUIT_MS);
    judge(2, CRN_VERDICT_LATE);
    assert_int_equal(crn_fruits_open_of(fruits, 1), 0);

    arrive(1, 1, 2, CRN_FRUIT_NEVER); /* closes it; its settings are the former ones */
    now_ns += CRN_FRUIT_BUDGET - CRN_FRUIT_GUARD - 1;
    expect_not_due();
    now_ns++;
    fruit = expect_due(1);
    assert_ptr_equal(fruit->config, &settings[0]);
    judge(1, CRN_VERDICT_LATE);
    assert_int_equal(crn_fruits_open_of(fruits, 0), 0);
}

static void rules_of_other_tables_are_refused(void **state)
{
    (void)state;
    assert_int_equal(change_rules(9), -EINVAL);
    arrive(1, 0, 1, CRN_FRUIT_NEVER);
    assert_int_equal(crn_fruits_open_of(fruits, 0), 1);
    run_all();
    judge(1, CRN_VERDICT_COMPLETE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_open_fruit_keeps_its_rules, set_up, bench_tear_down),
        cmocka_unit_test_setup_teardown(rules_of_other_tables_are_refused, set_up, bench_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

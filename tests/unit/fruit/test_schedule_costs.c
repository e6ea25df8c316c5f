/* The queue of views: what views cost recently, and what that decides. */
#include "tests/unit/fruit/schedule_fixture.h"

/* A view is discarded only if it is due sooner than a typical one takes. The first view of a fruit
 * that is due sooner than a slow one takes waits for those of others, if it is not discarded. */
static void expect_estimate(int64_t typical_ns, int64_t slow_ns)
{
    uint32_t first, view;
    for (int64_t early_ns = typical_ns > 0; early_ns >= 0; early_ns--) {
        open_fruit(6, NOW + typical_ns - early_ns, 1);
        expect(early_ns ? CRN_NEXT_DISCARD : CRN_NEXT_RUN, 6, 0);
    }
    crn_schedule_end(schedule, 0, 0);
    for (int64_t early_ns = slow_ns > 0; early_ns >= 0; early_ns--) {
        open_fruit(6, NOW + slow_ns - early_ns, 1);
        open_fruit(7, NOW + 1000000, 1);
        while (crn_schedule_next(schedule, NOW, &first, &view) == CRN_NEXT_DISCARD)
            continue;
        assert_int_equal(first, early_ns ? 7 : 6);
        crn_schedule_end(schedule, 0, 0);
        crn_schedule_close(schedule, early_ns ? 6 : 7);
    }
}

static void test_estimate_is_of_recent_views(void **state)
{
    (void)state;
    expect_estimate(0, 0);
    crn_schedule_end(schedule, 50, 0);
    expect_estimate(50, 50);
    for (int64_t cost = 1; cost <= CRN_SCHEDULE_COSTS; cost++)
        crn_schedule_end(schedule, cost * 7 % 37, 0); /* 32 different ones, unsorted; 50 is out */
    /* They are 1 to 36 without 9, 16, 23 and 30. */
    expect_estimate(18, 33);
    crn_schedule_end(schedule, 0, 0);
    expect_estimate(18, 33);
}

static void test_one_hiccup_changes_no_estimate(void **state)
{
    (void)state;
    set_cost(20);
    for (int i = 0; i < 3; i++)
        crn_schedule_end(schedule, 500000, 0);
    expect_estimate(20, 20);
    crn_schedule_end(schedule, 500000, 0);
    expect_estimate(20, 500000);
    for (int i = 0; i < CRN_SCHEDULE_COSTS; i++)
        crn_schedule_end(schedule, 21, 0);
    expect_estimate(21, 21);
}

/* A too high estimate must not block the line: after so many discards one view runs again. */
static void test_barren_discards_forget_the_estimate(void **state)
{
    (void)state;
    set_cost(1000);
    for (int i = 0; i < CRN_SCHEDULE_BARREN; i++) {
        open_fruit(0, NOW + 500, 1);
        expect(CRN_NEXT_DISCARD, 0, 0);
        crn_schedule_close(schedule, 0);
    }
    open_fruit(0, NOW + 500, 1);
    expect(CRN_NEXT_RUN, 0, 0);
    crn_schedule_end(schedule, 30, 0);
    expect_estimate(30, 30);
}

static void test_a_run_between_discards_keeps_the_estimate(void **state)
{
    (void)state;
    set_cost(1000);
    for (int i = 0; i < 3 * CRN_SCHEDULE_BARREN; i++) {
        bool hopeful = i % (CRN_SCHEDULE_BARREN - 1) == 0;
        open_fruit(0, NOW + (hopeful ? 2000 : 500), 1);
        expect(hopeful ? CRN_NEXT_RUN : CRN_NEXT_DISCARD, 0, 0);
        if (hopeful)
            crn_schedule_end(schedule, 0, 0);
        crn_schedule_close(schedule, 0);
    }
    expect_estimate(1000, 1000);
}

/* Before any other cost is known, a view of another size runs until its deadline. */
static void test_one_stopped_view_discards_no_others(void **state)
{
    (void)state;
    crn_schedule_give_up(schedule, 98);
    for (uint32_t place = 0; place < 8; place++) {
        open_fruit(place, NOW + 97, 1);
        expect_run(place, 0);
        crn_schedule_close(schedule, place);
        crn_schedule_end(schedule, 5, 0);
    }
}

/* What steps cost that can be skipped decides no discard, but how many views are submitted ahead.
 */
static void test_optional_steps_discard_no_views(void **state)
{
    (void)state;
    for (int i = 0; i < CRN_SCHEDULE_FEW; i++)
        crn_schedule_end(schedule, 1000, 990);
    for (int i = 0; i < CRN_SCHEDULE_FEW; i++)
        crn_schedule_give_up(schedule, 2000); /* may have been stopped in such a step */
    open_fruit(0, NOW + 10, 1);
    expect_run(0, 0);
    open_fruit(1, NOW + 9, 1);
    expect(CRN_NEXT_DISCARD, 1, 0);
}

static void test_what_was_given_up_costs_that_much_at_least(void **state)
{
    (void)state;
    crn_schedule_give_up(schedule, 40); /* nothing else is known: it tells only of itself */
    expect_estimate(0, 0);
    for (int i = 0; i < CRN_SCHEDULE_FEW; i++) {
        expect_estimate(i > 0 ? 20 : 0, i > 0 ? 20 : 0);
        crn_schedule_end(schedule, 20, 0);
        crn_schedule_give_up(schedule, 40); /* fewer than CRN_SCHEDULE_FEW are left out */
    }
    expect_estimate(20, 40);
    set_cost(20);
    for (int i = 0; i < CRN_SCHEDULE_COSTS; i++)
        crn_schedule_give_up(schedule, 5); /* started late: not cheaper than before */
    expect_estimate(20, 20);
    for (int i = 0; i < CRN_SCHEDULE_COSTS; i++)
        crn_schedule_give_up(schedule, 90);
    expect_estimate(90, 90);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_estimate_is_of_recent_views, one_worker, tear_down),
        cmocka_unit_test_setup_teardown(test_one_hiccup_changes_no_estimate, one_worker, tear_down),
        cmocka_unit_test_setup_teardown(test_barren_discards_forget_the_estimate, one_worker,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_run_between_discards_keeps_the_estimate, one_worker,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_one_stopped_view_discards_no_others, one_worker,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_optional_steps_discard_no_views, one_worker,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_what_was_given_up_costs_that_much_at_least, one_worker,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

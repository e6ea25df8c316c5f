/* The queue of views: which runs next, which gives up its slot. */
#include <errno.h>

#include "tests/unit/fruit/schedule_fixture.h"

static int four_workers(void **state)
{
    (void)state;
    return start(4);
}

static void expect_none(void)
{
    uint32_t place, view;
    assert_int_equal(crn_schedule_next(schedule, NOW, &place, &view), CRN_NEXT_NONE);
}

static void expect_no_eviction(uint32_t for_place)
{
    uint32_t place, view;
    assert_false(crn_schedule_evict(schedule, for_place, &place, &view));
}

static void expect_evict(uint32_t for_place, uint32_t place, uint32_t view)
{
    uint32_t got_place, got_view;
    assert_true(crn_schedule_evict(schedule, for_place, &got_place, &got_view));
    assert_int_equal(got_place, place);
    assert_int_equal(got_view, view);
}

static void test_earliest_due_runs_first(void **state)
{
    (void)state;
    open_fruit(0, NOW + 300, 1);
    open_fruit(1, NOW + 100, 2);
    open_fruit(2, NOW + 200, 1);
    expect_run(1, 0);
    expect_run(1, 1);
    expect_run(2, 0);
    crn_schedule_set_due(schedule, 0, NOW + 50);
    expect_run(0, 0);
    expect_none();
}

static void test_older_runs_first_of_two_due_alike(void **state)
{
    (void)state;
    open_fruit(0, NOW + 100, 1);
    open_fruit(2, NOW + 100, 1);
    open_fruit(1, NOW + 100, 1);
    expect_run(0, 0);
    expect_run(1, 0);
    expect_run(2, 0);
}

static void test_whole_runs_before_broken(void **state)
{
    (void)state;
    open_fruit(0, NOW + 100, 1);
    open_fruit(1, NOW + 200, 1);
    open_fruit(2, NOW + 150, 1);
    crn_schedule_lose(schedule, 0);
    crn_schedule_lose(schedule, 2);
    expect_run(1, 0);
    expect_run(0, 0);
    expect_run(2, 0);
}

static void test_fitting_runs_before_tight(void **state)
{
    (void)state;
    set_cost(20);
    open_fruit(0, NOW + 79, 4); /* needs 80 */
    open_fruit(1, NOW + 500, 4);
    open_fruit(2, NOW + 81, 1);
    crn_schedule_lose(schedule, 2);
    expect_run(1, 0);
    crn_schedule_set_due(schedule, 0, NOW + 80);
    expect_run(0, 0);
    crn_schedule_set_due(schedule, 0, NOW + 59);
    for (uint32_t view = 1; view < 4; view++)
        expect_run(1, view);
    for (uint32_t view = 1; view < 4; view++)
        expect_run(0, view); /* tight is better than hopeless */
    expect_run(2, 0);
}

static void test_of_tight_ones_begun_then_youngest(void **state)
{
    (void)state;
    set_cost(20);
    open_fruit(0, NOW + 40, 2);
    expect_run(0, 0);
    open_fruit(1, NOW + 70, 4);
    open_fruit(2, NOW + 75, 4);
    crn_schedule_queue(schedule, 0, 2);
    crn_schedule_queue(schedule, 0, 3);
    expect_run(0, 1); /* 3 views queued, time for 2 */
    crn_schedule_set_due(schedule, 0, NOW + 20);
    expect_run(0, 2);
    crn_schedule_set_due(schedule, 0, NOW + 19);
    expect(CRN_NEXT_DISCARD, 0, 3);
    expect_run(2, 0);
}

static void test_begun_fruit_fits_at_typical_cost(void **state)
{
    (void)state;
    for (int i = 0; i < CRN_SCHEDULE_COSTS; i++)
        crn_schedule_end(schedule, i < 24 ? 10 : 30, 0);
    open_fruit(0, NOW + 49, 3); /* 10 + 10 + 30 do not fit */
    open_fruit(1, NOW + 90, 3);
    expect_run(1, 0);
    crn_schedule_set_due(schedule, 1, NOW + 20); /* two more typical ones fit */
    expect_run(1, 1);
    expect_run(1, 2);
    crn_schedule_set_due(schedule, 0, NOW + 50);
    expect_run(0, 0);
}

static void test_rounds_count_workers_and_what_runs(void **state)
{
    (void)state;
    set_cost(20);
    open_fruit(0, NOW + 20, 4); /* one round, on idle workers */
    open_fruit(1, NOW + 400, 8);
    expect(CRN_NEXT_RUN, 0, 0);
    expect(CRN_NEXT_RUN, 0, 1);
    expect(CRN_NEXT_RUN, 0, 2);
    expect(CRN_NEXT_RUN, 0, 3);
    crn_schedule_close(schedule, 0);
    open_fruit(2, NOW + 39, 4); /* four still run, half done: two rounds */
    expect(CRN_NEXT_RUN, 1, 0);
    crn_schedule_set_due(schedule, 2, NOW + 40);
    expect(CRN_NEXT_RUN, 2, 0);
    crn_schedule_set_due(schedule, 2, NOW + 39);
    for (int i = 0; i < 6; i++)
        crn_schedule_end(schedule, 0, 0); /* the workers are idle: one round suffices */
    expect(CRN_NEXT_RUN, 2, 1);
}

static void test_only_brief_views_are_handed_out_ahead(void **state)
{
    (void)state;
    open_fruit(0, NOW + 5000, 8);
    expect(CRN_NEXT_RUN, 0, 0); /* costs are unknown yet */
    expect(CRN_NEXT_RUN, 0, 1);
    crn_schedule_end(schedule, BRIEF + 1, 0);
    expect_none(); /* one runs */
    crn_schedule_end(schedule, BRIEF + 1, 0);
    expect(CRN_NEXT_RUN, 0, 2);
    expect_none();
    crn_schedule_end(schedule, 0, 0);
    set_cost(BRIEF);
    expect(CRN_NEXT_RUN, 0, 3);
    expect(CRN_NEXT_RUN, 0, 4);
}

static void test_more_workers_take_more(void **state)
{
    (void)state;
    open_fruit(0, NOW + 5000, 8);
    set_cost(BRIEF + 1);
    expect(CRN_NEXT_RUN, 0, 0);
    expect_none();
    crn_schedule_set_workers(schedule, 3);
    expect(CRN_NEXT_RUN, 0, 1);
    expect(CRN_NEXT_RUN, 0, 2);
    expect_none();
    crn_schedule_set_workers(schedule, 1);
    crn_schedule_end(schedule, 0, 0);
    expect_none(); /* two still run */
}

static void test_hopeless_is_discarded(void **state)
{
    (void)state;
    set_cost(20);
    open_fruit(0, NOW + 19, 2);
    open_fruit(1, NOW + 500, 1);
    expect(CRN_NEXT_DISCARD, 0, 0);
    expect(CRN_NEXT_DISCARD, 0, 1);
    expect_run(1, 0);
    expect_none();
    open_fruit(2, NOW + 20, 1);
    expect_run(2, 0);
}

static void test_discard_breaks_the_fruit(void **state)
{
    (void)state;
    set_cost(20);
    open_fruit(0, NOW + 19, 2);
    open_fruit(1, NOW + 900, 1);
    expect(CRN_NEXT_DISCARD, 0, 0);
    crn_schedule_set_due(schedule, 0, NOW + 500);
    expect_run(1, 0);
    expect_run(0, 1);
}

static void test_everything_runs_while_nothing_is_known(void **state)
{
    (void)state;
    open_fruit(0, NOW, 1);
    expect_run(0, 0);
    open_fruit(1, NOW - 1, 1);
    expect(CRN_NEXT_DISCARD, 1, 0);
}

static void test_closed_fruit_is_forgotten(void **state)
{
    (void)state;
    for (uint32_t place = 0; place < 4; place++)
        open_fruit(place, NOW + 100 + place, 2);
    crn_schedule_close(schedule, 1);
    crn_schedule_close(schedule, 3);
    crn_schedule_close(schedule, 0);
    expect_run(2, 0);
    expect_run(2, 1);
    expect_none();
    crn_schedule_close(schedule, 2);
    open_fruit(1, NOW + 100, 1);
    expect_run(1, 0);
    expect_none();
}

static void test_eviction_takes_broken_then_youngest(void **state)
{
    (void)state;
    crn_schedule_open(schedule, 3, 3);
    expect_no_eviction(3); /* nothing is queued */
    open_fruit(0, NOW + 100, 2);
    open_fruit(1, NOW + 900, 2);
    expect_no_eviction(3); /* the new one is the youngest */
    crn_schedule_lose(schedule, 0);
    expect_evict(3, 0, 1);
    expect_evict(3, 0, 0);
    expect_no_eviction(3);
    open_fruit(4, NOW + 50, 2);
    open_fruit(5, NOW + 60, 1);
    expect_evict(3, 5, 0);
    expect_evict(3, 4, 1);
    expect_evict(3, 4, 0); /* hopeless by now, as 5 is, which has no view left */
    expect_no_eviction(3);
    expect_run(1, 0);
    expect_run(1, 1);
    expect_none();
}

static void test_a_broken_fruit_evicts_only_younger_broken_ones(void **state)
{
    (void)state;
    crn_schedule_open(schedule, 1, 1);
    crn_schedule_lose(schedule, 1);
    open_fruit(0, NOW + 100, 1);
    open_fruit(2, NOW + 100, 1);
    expect_no_eviction(1);
    crn_schedule_lose(schedule, 0);
    expect_no_eviction(1);
    crn_schedule_lose(schedule, 2);
    expect_evict(1, 2, 0);
}

static void test_evicting_breaks_the_fruit(void **state)
{
    (void)state;
    crn_schedule_open(schedule, 0, 0);
    open_fruit(1, NOW + 50, 2);
    open_fruit(2, NOW + 100, 1);
    crn_schedule_lose(schedule, 2);
    expect_evict(0, 2, 0);
    expect_evict(0, 1, 1);
    open_fruit(3, NOW + 900, 1);
    expect_run(3, 0);
    expect_run(1, 0);
}

static void test_highest_view_index_is_served(void **state)
{
    (void)state;
    crn_schedule_open(schedule, 0, 0);
    crn_schedule_open(schedule, 1, 1);
    crn_schedule_queue(schedule, 1, CRN_FRUIT_VIEWS_MAX - 1);
    crn_schedule_queue(schedule, 1, 5);
    expect_evict(0, 1, CRN_FRUIT_VIEWS_MAX - 1);
    crn_schedule_queue(schedule, 0, CRN_FRUIT_VIEWS_MAX - 1);
    expect_run(0, CRN_FRUIT_VIEWS_MAX - 1);
    expect_run(1, 5);
}

static void test_create_refuses_nonsense(void **state)
{
    (void)state;
    crn_schedule *none = NULL;
    assert_int_equal(crn_schedule_create(0, 1, 0, &none), -EINVAL);
    assert_int_equal(crn_schedule_create(1, 0, 0, &none), -EINVAL);
    assert_null(none);
    crn_schedule_free(&none);
    crn_schedule_free(NULL);
}

int main(void)
{
#define ON_ONE(test)  cmocka_unit_test_setup_teardown(test, one_worker, tear_down)
#define ON_FOUR(test) cmocka_unit_test_setup_teardown(test, four_workers, tear_down)
    const struct CMUnitTest tests[] = {
        ON_ONE(test_earliest_due_runs_first),
        ON_ONE(test_older_runs_first_of_two_due_alike),
        ON_ONE(test_whole_runs_before_broken),
        ON_ONE(test_fitting_runs_before_tight),
        ON_ONE(test_of_tight_ones_begun_then_youngest),
        ON_ONE(test_begun_fruit_fits_at_typical_cost),
        ON_FOUR(test_rounds_count_workers_and_what_runs),
        ON_ONE(test_only_brief_views_are_handed_out_ahead),
        ON_ONE(test_more_workers_take_more),
        ON_ONE(test_hopeless_is_discarded),
        ON_ONE(test_discard_breaks_the_fruit),
        ON_ONE(test_everything_runs_while_nothing_is_known),
        ON_ONE(test_closed_fruit_is_forgotten),
        ON_ONE(test_eviction_takes_broken_then_youngest),
        ON_ONE(test_a_broken_fruit_evicts_only_younger_broken_ones),
        ON_ONE(test_evicting_breaks_the_fruit),
        ON_ONE(test_highest_view_index_is_served),
        cmocka_unit_test(test_create_refuses_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

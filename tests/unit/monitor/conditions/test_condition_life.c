/* When conditions begin and end: in the first seconds of a line and its last, about a threshold, by
 * what an operator does. */
#include "tests/unit/monitor/conditions/condition_fixture.h"

static void a_worker_that_is_busy_from_the_start_is_overloaded(void **state)
{
    watch_fixture *f = *state;
    for (int second = 0; second < 4; second++) {
        pass_second(f);
        f->now->views.run[CRN_SIDE_PROCESSOR].sum_ns += CRN_NS_PER_S * 95 / 100;
        f->now->metrics.fruits.unfinished += 20;
        look(f);
    }
    const crn_condition_list *list = crn_condition_watch_list(f->watch);
    assert_true(list->count > 0);
    assert_string_equal(list->at[0].row->id, "overload");
}

/* The line's thread has ended; log and recordings are still written. */
static void a_line_that_is_ended_does_not_hang(void **state)
{
    watch_fixture *f = *state;
    pass_second(f);
    f->now->state = CRN_STATE_STOPPING;
    look(f);
    f->hangs = true;
    for (int second = 0; second < LONG_TIME; second++) {
        pass_second(f);
        look(f);
    }
    assert_int_equal(f->told[CRN_CONDITION_RAISED], 0);
}

static void a_reload_that_is_taken_in_ends_what_a_refused_one_raised(void **state)
{
    watch_fixture *f = *state;
    pass_second(f);
    look(f);
    f->now->settings.last_was_refused = true;
    pass_second(f);
    look(f);
    assert_int_equal(crn_condition_watch_list(f->watch)->count, 1);
    f->now->settings.last_was_refused = false;
    pass_second(f);
    look(f);
    assert_int_equal(crn_condition_watch_list(f->watch)->count, 0);
}

/* As free space and memory in use vary about where they become short. */
static void what_varies_about_its_threshold_is_told_once(void **state)
{
    watch_fixture *f = *state;
    for (int second = 0; second < 2 * LONG_TIME; second++) {
        f->resources.disks[CRN_RESOURCE_LOG] = (crn_resource_disk){
            .on = true, .size_bytes = 1 << 30, .hours_left = second / 10 % 2 ? 26 : 22};
        f->resources.memory =
            (crn_resource_memory){.limit_bytes = 100, .used = second / 10 % 2 ? 0.94 : 0.96};
        pass_second(f);
        look(f);
    }
    assert_int_equal(f->told[CRN_CONDITION_RAISED], 2);
    assert_int_equal(f->told[CRN_CONDITION_ENDED], 0);
    f->resources.disks[CRN_RESOURCE_LOG].hours_left = 40;
    f->resources.memory.used = 0.9;
    for (int second = 0; second < 10; second++) {
        pass_second(f);
        look(f);
    }
    assert_int_equal(f->told[CRN_CONDITION_ENDED], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_worker_that_is_busy_from_the_start_is_overloaded, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_line_that_is_ended_does_not_hang, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reload_that_is_taken_in_ends_what_a_refused_one_raised,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_varies_about_its_threshold_is_told_once, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What a line is said to suffer from in its first seconds and its last. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_worker_that_is_busy_from_the_start_is_overloaded, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_line_that_is_ended_does_not_hang, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* When the views of recordings are due, in whatever order they stand there. */
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/recorded.h"
#include "tools/replay/schedule.h"

#define START_NS UINT64_C(1790000000000000000)

/* Views that arrived so many milliseconds after the start are due so many after the first. */
static void expect_due(const int64_t *arrived_ms, const int64_t *due_ms, size_t count)
{
    static const crn_tool tool = {.name = "test"};
    static const crn_replay_filter all;
    char *paths[] = {recorded_path};
    crn_replay_schedule schedule;
    crn_error error = {""};
    crn_recording_writer *writer = recorded_create();
    for (size_t i = 0; i < count; i++) {
        crn_recorded_view view = recorded_small(i);
        view.arrived_ns = START_NS + (uint64_t)(arrived_ms[i] * CRN_NS_PER_MS);
        recorded_add(writer, &view);
    }
    recorded_finish(writer);
    if (crn_replay_schedule_open(&tool, paths, 1, &all, 0, &schedule, &error))
        fail_msg("%s", error.text);
    assert_int_equal(schedule.count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(schedule.views[i].due_ns, due_ms[i] * CRN_NS_PER_MS);
    crn_replay_schedule_close(&schedule);
}

/* Views stand in the order in which they ended, or in which their fruits were judged: that must not
 * make a replay longer than what was recorded. */
static void disorder_adds_no_time(void **state)
{
    (void)state;
    expect_due((const int64_t[]){1, 0, 101, 100, 201, 200},
               (const int64_t[]){0, 0, 100, 100, 200, 200}, 6);
    expect_due((const int64_t[]){0, 300, 100, 400, 200, 500},
               (const int64_t[]){0, 300, 300, 400, 400, 500}, 6);
}

static void a_clock_that_was_set_back_goes_on_from_there(void **state)
{
    (void)state;
    expect_due((const int64_t[]){3600000, 3600100, 0, 50, 150},
               (const int64_t[]){0, 100, 100, 150, 250}, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(disorder_adds_no_time),
        cmocka_unit_test(a_clock_that_was_set_back_goes_on_from_there),
    };
    return cmocka_run_group_tests(tests, recorded_setup, recorded_teardown);
}

/* A queue of views of up to eight fruits, for its tests. */
#ifndef CRN_TESTS_UNIT_FRUIT_SCHEDULE_FIXTURE_H
#define CRN_TESTS_UNIT_FRUIT_SCHEDULE_FIXTURE_H

#include "src/fruit/schedule.h"
#include "tests/support/cmocka_prelude.h"

enum {
    NOW = 1000, /* the tests' unit is one ns */
    BRIEF = 50,
};

static crn_schedule *schedule;

static int start(int32_t workers)
{
    return crn_schedule_create(8, workers, BRIEF, &schedule);
}

static int one_worker(void **state)
{
    (void)state;
    return start(1);
}

static int tear_down(void **state)
{
    (void)state;
    crn_schedule_free(&schedule);
    return schedule ? -1 : 0;
}

/* Opens a fruit (table entries in order of opening) with that many queued views. */
static void open_fruit(uint32_t place, int64_t due_ns, uint32_t views)
{
    crn_schedule_open(schedule, place, place);
    crn_schedule_set_due(schedule, place, due_ns);
    for (uint32_t view = 0; view < views; view++)
        crn_schedule_queue(schedule, place, view);
}

static void set_cost(int64_t cost_ns)
{
    for (int i = 0; i < CRN_SCHEDULE_COSTS; i++)
        crn_schedule_end(schedule, cost_ns, 0);
}

static void expect(crn_next next, uint32_t place, uint32_t view)
{
    uint32_t got_place, got_view;
    assert_int_equal(crn_schedule_next(schedule, NOW, &got_place, &got_view), next);
    assert_int_equal(got_place, place);
    assert_int_equal(got_view, view);
}

static void expect_run(uint32_t place, uint32_t view)
{
    expect(CRN_NEXT_RUN, place, view);
    crn_schedule_end(schedule, 0, 0);
}

#endif

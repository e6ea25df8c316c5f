/* What the pages say of the last two minutes, and since when the budget is kept. */
#include <stdlib.h>
#include <string.h>

#include "src/monitor/events/history.h"
#include "tests/support/cmocka_prelude.h"

#define LANES   2
#define START_S 1000

typedef struct history_fixture {
    crn_history *history;
    crn_snapshot *now;
    int64_t at_s;
} history_fixture;

static int set_up(void **state)
{
    static history_fixture f;
    f = (history_fixture){.at_s = START_S, .now = calloc(1, crn_snapshot_bytes(LANES))};
    *state = &f;
    return f.now ? crn_history_create(LANES, &f.history) : -1;
}

static int tear_down(void **state)
{
    history_fixture *f = *state;
    crn_history_free(&f->history);
    free(f->now);
    return 0;
}

/* Seconds pass, in each of which lane 1 gives a verdict; the first `missed` of them too late. */
static void pass(history_fixture *f, int seconds, int missed)
{
    f->now->lane_count = LANES;
    for (int i = 0; i < seconds; i++) {
        crn_lane_meters *lane = &f->now->lanes[1].meters;
        lane->verdicts[CRN_VERDICT_COMPLETE]++;
        lane->missed += i < missed;
        f->now->number++;
        f->now->taken_ns = ++f->at_s * CRN_NS_PER_S;
        crn_history_update(f->history, f->now, f->now->taken_ns);
    }
}

static void at_first_it_compares_with_the_start(void **state)
{
    history_fixture *f = *state;
    assert_int_equal(crn_history_before(f->history)->number, 0);
    pass(f, 100, 0);
    assert_int_equal(crn_history_before(f->history)->number, 0);
    crn_budget_watch budget = crn_history_budget(f->history);
    assert_true(budget.kept);
    assert_int_equal(budget.since_ns, 0);
    assert_int_equal(budget.verdicts, 100);
}

static void then_with_two_minutes_ago(void **state)
{
    history_fixture *f = *state;
    for (int i = 0; i < 1000; i++) {
        pass(f, 1, 0);
        int64_t age_ns = f->now->taken_ns - crn_history_before(f->history)->taken_ns;
        if (i > 200)
            assert_true(age_ns >= CRN_HISTORY_NS && age_ns < CRN_HISTORY_NS + CRN_HISTORY_STEP_NS);
    }
    const crn_snapshot *before = crn_history_before(f->history);
    assert_int_equal(crn_history_budget(f->history).verdicts, f->now->number - before->number);
}

static void a_miss_counts_for_two_minutes(void **state)
{
    history_fixture *f = *state;
    pass(f, 300, 0);
    pass(f, 2, 2);
    crn_budget_watch budget = crn_history_budget(f->history);
    assert_false(budget.kept);
    assert_int_equal(budget.missed, 2);
    assert_int_equal(budget.since_ns, (START_S + 301) * CRN_NS_PER_S); /* of the first */
    pass(f, 117, 0);
    assert_false(crn_history_budget(f->history).kept);
    pass(f, 40, 0);
    budget = crn_history_budget(f->history);
    assert_true(budget.kept);
    assert_int_equal(budget.since_ns, (START_S + 302) * CRN_NS_PER_S); /* of the last */
    pass(f, 5, 1);
    assert_int_equal(crn_history_budget(f->history).since_ns, (START_S + 460) * CRN_NS_PER_S);
}

/* Lanes are only ever added. */
static void a_lane_that_is_new_had_nothing_before(void **state)
{
    history_fixture *f = *state;
    for (int i = 0; i < 200; i++) {
        f->now->lane_count = 1;
        f->now->number++;
        crn_history_update(f->history, f->now, ++f->at_s * CRN_NS_PER_S);
    }
    f->now->lanes[1].meters.missed = 7; /* written while only one lane counts */
    pass(f, 1, 0);
    assert_int_equal(crn_history_budget(f->history).missed, 7);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(at_first_it_compares_with_the_start),
        TEST(then_with_two_minutes_ago),
        TEST(a_miss_counts_for_two_minutes),
        TEST(a_lane_that_is_new_had_nothing_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

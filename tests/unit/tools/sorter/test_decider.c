/* One decision per fruit, and what fails safe: each row of the table in tools/sorter/README.md. */
#include <stdio.h>
#include <string.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/rule_fruit.h"
#include "tools/sorter/decide/decider.h"

enum outlets { SOUND, WASTE, LATE, PARTIAL, SILENCE, UNMEASURED };

static crn_sorter_settings settings;
static crn_decider *decider;
static crn_rule_fruit fruit;
static crn_decision told[16];
static int told_count;
static int64_t now_ns, utc_ns;

static void keep(void *context, const crn_decision *decision)
{
    (void)context;
    assert_true(told_count < 16);
    told[told_count++] = *decision;
}

static int set_up(void **state)
{
    (void)state;
    crn_rule_faults faults;
    memset(&settings, 0, sizeof settings);
    settings.outlets.choice = (crn_outlet_choice){SOUND, LATE, PARTIAL, SILENCE, UNMEASURED};
    settings.line.late_ms = 50;
    told_count = 0;
    now_ns = 1000 * CRN_NS_PER_S;
    utc_ns = 2000 * CRN_NS_PER_S;
    crn_rule_fruit_init(&fruit);
    crn_rule_fruit_look_for(&fruit, "rot");
    strcpy(fruit.verdict.run, "first");
    fruit.verdict.fruit = 4711;
    fruit.verdict.encoder = 99;
    fruit.verdict.deadline_ns = (uint64_t)utc_ns;
    if (crn_rules_create(&settings.outlets.rules) < 0 ||
        crn_rules_add(settings.outlets.rules, "rot.area_px > 50", 16, &faults) < 0)
        return -1;
    settings.outlets.rule_outlet[0] = WASTE;
    return crn_decider_create(&settings, keep, NULL, NULL, &decider);
}

static int tear_down(void **state)
{
    (void)state;
    crn_decider_free(&decider);
    crn_rules_free(&settings.outlets.rules);
    return 0;
}

/* Hands a verdict over, and expects as many decisions. */
static void give(uint64_t lane, uint64_t sequence, int decisions)
{
    told_count = 0;
    fruit.verdict.lane = lane;
    fruit.verdict.sequence = sequence;
    crn_decider_verdict(decider, &fruit.verdict, now_ns, utc_ns);
    assert_int_equal(told_count, decisions);
}

static void expect(int at, int outlet, crn_decision_reason reason)
{
    assert_int_equal(told[at].outlet, outlet);
    assert_string_equal(crn_decision_reason_names[told[at].reason],
                        crn_decision_reason_names[reason]);
}

/* Encoder and time are those of the lowest view received: of a fruit without its first view they
 * tell another place. */
static void only_the_first_view_locates_a_fruit(void **state)
{
    (void)state;
    give(3, 0, 1);
    assert_false(told[0].is_located); /* no captured_ns */
    fruit.verdict.captured_ns = 5;
    give(3, 1, 1);
    assert_true(told[0].is_located);
    fruit.verdict.view_count = 2;
    fruit.verdict.views[0] = (crn_decoded_view){.view = 0};
    fruit.verdict.views[1] = (crn_decoded_view){.view = 1, .captured_ns = 5};
    give(3, 2, 1);
    assert_false(told[0].is_located);
    fruit.verdict.views[0].captured_ns = 5;
    give(3, 3, 1);
    assert_true(told[0].is_located);
}

static void rules_decide_about_complete_fruits(void **state)
{
    (void)state;
    give(3, 0, 1);
    expect(0, SOUND, CRN_DECIDED_DEFAULT);
    assert_int_equal(told[0].fruit, 4711);
    assert_int_equal(told[0].encoder, 99);
    assert_int_equal(told[0].rule, -1);
    crn_rule_fruit_add(&fruit, "rot", 60, 0.8);
    give(3, 1, 1);
    expect(0, WASTE, CRN_DECIDED_RULE);
    assert_int_equal(told[0].rule, 0);
    fruit.verdict.total_count = 0;
    give(3, 2, 1);
    expect(0, UNMEASURED, CRN_DECIDED_UNMEASURED);
    const crn_decider_stats *stats = crn_decider_get_stats(decider);
    assert_int_equal(stats->outlet[SOUND], 1);
    assert_int_equal(stats->outlet[WASTE], 1);
    assert_int_equal(stats->reason[CRN_DECIDED_UNMEASURED], 1);
}

static void partial_fruits_have_an_outlet_or_the_rules(void **state)
{
    (void)state;
    fruit.verdict.kind = CRN_VERDICT_PARTIAL;
    crn_rule_fruit_add(&fruit, "rot", 60, 0.8);
    give(3, 0, 1);
    expect(0, PARTIAL, CRN_DECIDED_PARTIAL);
    settings.outlets.choice.partial = CRN_NO_OUTLET;
    give(3, 1, 1);
    expect(0, WASTE, CRN_DECIDED_RULE);
    fruit.verdict.totals[0].area_px = 10;
    give(3, 2, 1);
    expect(0, UNMEASURED, CRN_DECIDED_UNMEASURED);
}

static void late_and_stale_verdicts_go_to_the_outlet_of_late(void **state)
{
    (void)state;
    crn_rule_fruit_add(&fruit, "rot", 60, 0.8);
    fruit.verdict.kind = CRN_VERDICT_LATE;
    give(3, 0, 1);
    expect(0, LATE, CRN_DECIDED_LATE);
    fruit.verdict.kind = CRN_VERDICT_COMPLETE;
    fruit.verdict.stale = true;
    give(3, 1, 1);
    expect(0, LATE, CRN_DECIDED_STALE);
    fruit.verdict.stale = false;
    utc_ns += 50 * CRN_NS_PER_MS;
    give(3, 2, 1);
    expect(0, WASTE, CRN_DECIDED_RULE);
    utc_ns++;
    give(3, 3, 1);
    expect(0, LATE, CRN_DECIDED_STALE);
    fruit.verdict.deadline_ns = 0;
    give(3, 4, 1);
    expect(0, WASTE, CRN_DECIDED_RULE);
}

static void lost_verdicts_are_told_before_the_next(void **state)
{
    (void)state;
    give(3, 5, 1);
    give(4, 7, 1);
    give(3, 9, 2);
    expect(0, SILENCE, CRN_DECIDED_LOST);
    assert_int_equal(told[0].lane, 3);
    assert_int_equal(told[0].sequence, 6);
    assert_int_equal(told[0].lost, 3);
    expect(1, SOUND, CRN_DECIDED_DEFAULT);
    assert_int_equal(crn_decider_get_stats(decider)->outlet[SILENCE], 3);
}

static void no_fruit_is_decided_twice(void **state)
{
    (void)state;
    give(3, 5, 1);
    give(3, 5, 0);
    give(3, 4, 0);
    assert_int_equal(crn_decider_get_stats(decider)->repeated, 2);
}

static void a_restarted_line_counts_from_zero(void **state)
{
    (void)state;
    give(3, 5, 1);
    strcpy(fruit.verdict.run, "second");
    give(3, 0, 1);
    give(4, 2, 2);
    expect(0, SILENCE, CRN_DECIDED_LOST);
    assert_int_equal(told[0].sequence, 0);
    assert_int_equal(told[0].lost, 2);
}

static void alive_messages_show_lost_last_verdicts(void **state)
{
    (void)state;
    crn_decoded_status status = {
        .run = "first", .alive_ms = 100, .lane_count = 2, .lanes = {{3, 7}, {4, 9}}};
    give(3, 5, 1);
    told_count = 0;
    crn_decider_alive(decider, &status, now_ns);
    assert_int_equal(told_count, 1); /* lane 4 was never heard in this run */
    expect(0, SILENCE, CRN_DECIDED_LOST);
    assert_int_equal(told[0].sequence, 6);
    assert_int_equal(told[0].lost, 2);
    told_count = 0;
    crn_decider_alive(decider, &status, now_ns);
    assert_int_equal(told_count, 0);
}

/* When a line is taken for silent whose limit is that: within it. */
static int64_t due_within(int64_t limit_ms)
{
    return limit_ms * CRN_NS_PER_MS / 16 * 15;
}

static void a_silent_line_is_told_once_for_each_lane(void **state)
{
    (void)state;
    crn_decoded_status status = {.run = "first", .alive_ms = 100};
    assert_int_equal(crn_decider_state(decider), CRN_LINE_WAITING);
    give(3, 0, 1);
    give(7, 0, 1);
    assert_int_equal(crn_decider_look(decider, now_ns + CRN_NS_PER_S), CRN_NEVER_NS);
    crn_decider_alive(decider, &status, now_ns);
    told_count = 0;
    int64_t due_ns = crn_decider_look(decider, now_ns);
    assert_int_equal(due_ns, now_ns + due_within(300));
    crn_decider_look(decider, due_ns - 1);
    assert_int_equal(told_count, 0);
    assert_int_equal(crn_decider_state(decider), CRN_LINE_HEARD);
    crn_decider_look(decider, due_ns);
    assert_int_equal(told_count, 2);
    expect(0, SILENCE, CRN_DECIDED_SILENCE);
    expect(1, SILENCE, CRN_DECIDED_SILENCE);
    assert_int_equal(told[1].lane, 7);
    assert_int_equal(crn_decider_state(decider), CRN_LINE_SILENT);
    assert_int_equal(crn_decider_look(decider, due_ns + CRN_NS_PER_S), CRN_NEVER_NS);
    assert_int_equal(told_count, 2);
    assert_int_equal(crn_decider_get_stats(decider)->outlet[SILENCE], 0);
    give(3, 1, 1);
    assert_int_equal(crn_decider_state(decider), CRN_LINE_HEARD);
}

static void the_file_s_own_limit_of_silence_counts_first(void **state)
{
    (void)state;
    settings.line.silence_ms = 40;
    give(3, 0, 1);
    assert_int_equal(crn_decider_look(decider, now_ns), now_ns + due_within(40));
    crn_decider_alive(decider, &(crn_decoded_status){.run = "first", .alive_ms = 100}, now_ns);
    assert_int_equal(crn_decider_silence_ns(decider), 40 * CRN_NS_PER_MS);
}

/* Who looks too late was held up, and does not know what waits: it asks once more. */
static void a_sorter_that_was_held_up_waits_as_long_again(void **state)
{
    (void)state;
    const int64_t limit_ns = 300 * CRN_NS_PER_MS, late_ns = 40 * CRN_NS_PER_MS;
    crn_decoded_status status = {.run = "first", .alive_ms = 100};
    give(3, 0, 1);
    crn_decider_alive(decider, &status, now_ns);
    told_count = 0;
    int64_t due_ns = now_ns + due_within(300);
    assert_int_equal(crn_decider_look(decider, due_ns + late_ns), due_ns + 2 * late_ns);
    crn_decider_alive(decider, &status, due_ns + late_ns + 1); /* it did wait */
    assert_int_equal(crn_decider_look(decider, due_ns + 2 * late_ns),
                     due_ns + late_ns + 1 + due_within(300));
    assert_int_equal(told_count, 0);
    due_ns += late_ns + 1 + due_within(300);
    assert_int_equal(crn_decider_look(decider, due_ns + 9 * limit_ns), due_ns + 10 * limit_ns);
    crn_decider_look(decider, due_ns + 10 * limit_ns - 1);
    assert_int_equal(told_count, 0);
    crn_decider_look(decider, due_ns + 90 * limit_ns); /* once, however late it is then */
    assert_int_equal(told_count, 1);
    assert_int_equal(crn_decider_state(decider), CRN_LINE_SILENT);
}

/* Deadlines are of CLOCK_REALTIME: a verdict that was under way when the clock was set forward
 * counts as stale, one with the new time does not. Silence is of the other clock. */
static void a_clock_that_is_set_delays_nothing(void **state)
{
    (void)state;
    const int64_t hour_ns = 3600 * CRN_NS_PER_S;
    settings.line.silence_ms = 40;
    give(3, 0, 1);
    expect(0, SOUND, CRN_DECIDED_DEFAULT);
    utc_ns += hour_ns;
    give(3, 1, 1);
    expect(0, LATE, CRN_DECIDED_STALE);
    fruit.verdict.deadline_ns += (uint64_t)hour_ns;
    give(3, 2, 1);
    expect(0, SOUND, CRN_DECIDED_DEFAULT);
    utc_ns -= 2 * hour_ns;
    give(3, 3, 1);
    expect(0, SOUND, CRN_DECIDED_DEFAULT);
    fruit.verdict.stale = true; /* the line knows by the other clock */
    give(3, 4, 1);
    expect(0, LATE, CRN_DECIDED_STALE);
    assert_int_equal(crn_decider_look(decider, now_ns), now_ns + due_within(40));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(only_the_first_view_locates_a_fruit),
        TEST(rules_decide_about_complete_fruits),
        TEST(partial_fruits_have_an_outlet_or_the_rules),
        TEST(late_and_stale_verdicts_go_to_the_outlet_of_late),
        TEST(lost_verdicts_are_told_before_the_next),
        TEST(no_fruit_is_decided_twice),
        TEST(a_restarted_line_counts_from_zero),
        TEST(alive_messages_show_lost_last_verdicts),
        TEST(a_silent_line_is_told_once_for_each_lane),
        TEST(the_file_s_own_limit_of_silence_counts_first),
        TEST(a_sorter_that_was_held_up_waits_as_long_again),
        TEST(a_clock_that_is_set_delays_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

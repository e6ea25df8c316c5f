/* Fruit numbers that return: stragglers never get their fruit a second verdict, and a number that
 * a later fruit has gets it one of its own. */
#include "tests/unit/fruit/fruit_bench.h"

#define VIEWS   4
#define S       (1000 * CRN_FRUIT_MS)
#define BELT    (100 * CRN_FRUIT_MS)                          /* between two fruits */
#define DEFAULT (2 * (CRN_FRUIT_ASSEMBLE + CRN_FRUIT_BUDGET)) /* of straggler_ns */

static bool timed; /* views have capture times */

static crn_view_header view_of(uint64_t fruit, uint16_t view)
{
    crn_view_header header = header_of(1, 1, fruit, view, VIEWS);
    header.captured_ns = timed ? (uint64_t)now_ns : 0;
    return header;
}

static crn_arrival send(crn_view_header header)
{
    crn_ticket ticket;
    crn_arrival arrival = arrive_as(header, CRN_FRUIT_NEVER, &ticket);
    if (arrival == CRN_ARRIVAL_WANTED)
        assert_true(crn_fruits_queue(fruits, ticket, next_slot++));
    return arrival;
}

/* Judges all that is due; returns how many verdicts. */
static uint64_t judge_due(void)
{
    uint64_t verdicts = 0;
    const crn_fruit *fruit;
    run_all();
    while ((fruit = crn_fruits_due(fruits, now_ns))) {
        crn_lane_next_sequence(fruit->lane);
        crn_fruits_judge(fruits, fruit);
        verdicts++;
    }
    return verdicts;
}

/* A fruit whose views of the mask come, a millisecond apart; returns how many verdicts it got. */
static uint64_t pass(uint64_t fruit, unsigned views)
{
    uint64_t verdicts = 0;
    for (uint16_t view = 0; view < VIEWS; view++) {
        if (views >> view & 1)
            send(view_of(fruit, view));
        now_ns += CRN_FRUIT_MS;
        verdicts += judge_due();
    }
    now_ns += BELT - VIEWS * CRN_FRUIT_MS;
    return verdicts + judge_due();
}

static uint64_t lane_sequence(void)
{
    return crn_lanes_look_up(lanes, 1)->verdicts;
}

static void test_768_fruits_numbered_modulo_256(void **state)
{
    (void)state;
    uint64_t verdicts = 0;
    for (uint64_t fruit = 0; fruit < 768; fruit++)
        verdicts += pass(fruit % 256, 15);
    const crn_fruit_stats *stats = crn_fruits_get_stats(fruits);
    assert_int_equal(verdicts, 768);
    assert_int_equal(stats->complete, 768);
    assert_int_equal(stats->stragglers, 0);
    assert_int_equal(stats->returned, 512);
    assert_int_equal(lane_sequence(), 768);
    assert_true(crn_fruits_returned_after_ns(fruits) > 255 * BELT);
}

/* Each fruit lacks the same view for once; from the next round on that costs nothing. */
static void test_numbers_return_after_partial_fruits(void **state)
{
    (void)state;
    uint64_t verdicts = 0;
    for (uint64_t fruit = 0; fruit < 4 * 256; fruit++)
        verdicts += pass(fruit % 256, fruit < 256 ? 14 : 15);
    now_ns += CRN_FRUIT_ASSEMBLE + CRN_FRUIT_BUDGET;
    verdicts += judge_due();
    const crn_fruit_stats *stats = crn_fruits_get_stats(fruits);
    assert_int_equal(verdicts, 4 * 256);
    assert_int_equal(stats->partial, timed ? 256 : 512);
    assert_int_equal(stats->returned, 3 * 256);
}

/* The time in which 8 bits return has passed, and 300 verdicts. */
static void test_a_straggler_after_300_verdicts_opens_nothing(void **state)
{
    (void)state;
    crn_view_header late = view_of(0, 3);
    assert_int_equal(pass(0, 7), 0);
    uint64_t verdicts = 0;
    for (uint64_t fruit = 1; fruit <= 300; fruit++)
        verdicts += pass(fruit, 15);
    assert_int_equal(verdicts, 301);
    late.sequence = next_sequence++;
    assert_int_equal(send(late), CRN_ARRIVAL_STRAGGLER);
    assert_int_equal(crn_fruits_open(fruits), 0);
    assert_int_equal(crn_fruits_get_stats(fruits)->returned, 0);
    assert_int_equal(lane_sequence(), 301);
}

/* One view's clock is out of its mind; a straggler is still one. */
static void test_an_impossible_capture_time_tells_nothing(void **state)
{
    (void)state;
    static const uint64_t impossible[] = {UINT64_MAX, (uint64_t)INT64_MAX + 1};
    for (uint64_t fruit = 0; fruit < 2; fruit++) {
        crn_view_header wrong = view_of(fruit, 0), late = view_of(fruit, 3);
        wrong.captured_ns = impossible[fruit];
        assert_int_equal(send(wrong), CRN_ARRIVAL_WANTED);
        assert_int_equal(pass(fruit, 6), 0);
        now_ns += 10 * S;
        assert_int_equal(judge_due(), 1);
        now_ns += 30 * S;
        late.sequence = next_sequence++;
        assert_int_equal(send(late), CRN_ARRIVAL_STRAGGLER);
        late.captured_ns = impossible[fruit];
        assert_int_equal(send(late), CRN_ARRIVAL_STRAGGLER);
    }
    assert_int_equal(crn_fruits_open(fruits), 0);
}

/* The same message again, from a sender that does not know what arrived. */
static void test_a_repeated_view_opens_nothing(void **state)
{
    (void)state;
    crn_view_header first = view_of(0, 0);
    assert_int_equal(send(first), CRN_ARRIVAL_WANTED);
    for (uint16_t view = 1; view < VIEWS; view++)
        send(view_of(0, view));
    assert_int_equal(judge_due(), 1);
    for (int64_t at = 0; at < 600; at++) {
        now_ns += S;
        assert_int_equal(send(first), CRN_ARRIVAL_STRAGGLER);
    }
    assert_int_equal(crn_fruits_get_stats(fruits)->returned_early, 0);
}

/* Every number is used again after 0.8 s: half of the fruits get no verdict, and the grader sees
 * it. */
static void test_what_returns_too_early_is_a_gap_for_the_grader(void **state)
{
    (void)state;
    uint64_t verdicts = 0;
    for (uint64_t fruit = 0; fruit < 400; fruit++)
        verdicts += pass(fruit % 8, 15);
    const crn_fruit_stats *stats = crn_fruits_get_stats(fruits);
    assert_int_equal(verdicts, 200);
    assert_int_equal(stats->returned_early, 200);
    assert_int_equal(stats->stragglers, 200 * VIEWS);
    assert_int_equal(stats->returned, 200 - 8);
    assert_int_equal(lane_sequence(), 400);
}

/* The time ends between two views of each fruit whose number returns. */
static void test_a_fruit_is_either_a_gap_or_a_verdict(void **state)
{
    (void)state;
    crn_fruit_rules rules = bench_rules;
    rules.straggler_ns = 8 * BELT - VIEWS / 2 * CRN_FRUIT_MS;
    assert_int_equal(crn_fruits_set_rules(fruits, &rules), 0);
    uint64_t verdicts = 0;
    for (uint64_t fruit = 0; fruit < 80; fruit++)
        verdicts += pass(fruit % 8, 15);
    const crn_fruit_stats *stats = crn_fruits_get_stats(fruits);
    assert_true(stats->returned_early > 0);
    assert_int_equal(stats->partial, 0);
    assert_int_equal(verdicts + stats->returned_early, 80);
    assert_int_equal(lane_sequence(), 80);
}

static void test_a_time_of_its_own_decides(void **state)
{
    (void)state;
    crn_fruit_rules rules = bench_rules;
    rules.straggler_ns = 700 * CRN_FRUIT_MS;
    assert_int_equal(crn_fruits_set_rules(fruits, &rules), 0);
    uint64_t verdicts = 0;
    for (uint64_t fruit = 0; fruit < 80; fruit++)
        verdicts += pass(fruit % 8, 15);
    assert_int_equal(verdicts, 80);
    rules.straggler_ns = 2 * S;
    assert_int_equal(crn_fruits_set_rules(fruits, &rules), 0);
    for (uint64_t fruit = 80; fruit < 104; fruit++)
        verdicts += pass(fruit % 8, 15);
    assert_int_equal(verdicts, 88);
    assert_int_equal(lane_sequence(), 104);
}

/* A lane on which views were late by 3 s waits longer, for ten minutes at least. */
static void test_the_lanes_own_delays_make_the_time_longer(void **state)
{
    (void)state;
    assert_int_equal(pass(0, 7), 0);
    now_ns += 3 * S;
    judge_due();
    now_ns += 3 * S;
    crn_view_header late = view_of(0, 3);
    late.captured_ns = 0;
    assert_int_equal(send(late), CRN_ARRIVAL_STRAGGLER); /* 3 s after the verdict */
    now_ns += 500 * S;
    assert_int_equal(pass(7, 15), 1);
    now_ns += 5 * S;
    assert_int_equal(pass(7, 15), 0);
    now_ns += 5 * S;
    assert_int_equal(pass(7, 15), 1);
    now_ns += 1300 * S;
    assert_int_equal(pass(8, 15), 1); /* forgotten */
    now_ns += 1 * S;
    assert_int_equal(pass(8, 15), 1);
}

static void test_verdicts_forgotten_too_soon_are_counted(void **state)
{
    (void)state;
    for (uint64_t fruit = 0; fruit < 8 + 1; fruit++)
        assert_int_equal(pass(fruit, 15), 1);
    assert_int_equal(crn_fruits_get_stats(fruits)->forgotten, 1);
    now_ns += DEFAULT;
    for (uint64_t fruit = 9; fruit < 9 + 8; fruit++)
        assert_int_equal(pass(fruit, 15), 1);
    assert_int_equal(crn_fruits_get_stats(fruits)->forgotten, 1);
}

static int set_up_timed(void **state)
{
    timed = true;
    return bench_set_up(state);
}

static int set_up_untimed(void **state)
{
    timed = false;
    return bench_set_up(state);
}

static int set_up_small(void **state)
{
    (void)state;
    timed = true;
    crn_fruit_rules rules = bench_rules;
    rules.judged_fruits = 8;
    return bench_start(&rules);
}

int main(void)
{
#define TIMED_OR_NOT(test)                                                                         \
    cmocka_unit_test_setup_teardown(test, set_up_timed, bench_tear_down),                          \
        cmocka_unit_test_setup_teardown(test, set_up_untimed, bench_tear_down)
    const struct CMUnitTest tests[] = {
        TIMED_OR_NOT(test_768_fruits_numbered_modulo_256),
        TIMED_OR_NOT(test_numbers_return_after_partial_fruits),
        TIMED_OR_NOT(test_a_straggler_after_300_verdicts_opens_nothing),
        TIMED_OR_NOT(test_an_impossible_capture_time_tells_nothing),
        TIMED_OR_NOT(test_a_repeated_view_opens_nothing),
        TIMED_OR_NOT(test_what_returns_too_early_is_a_gap_for_the_grader),
        TIMED_OR_NOT(test_a_fruit_is_either_a_gap_or_a_verdict),
        TIMED_OR_NOT(test_a_time_of_its_own_decides),
        TIMED_OR_NOT(test_the_lanes_own_delays_make_the_time_longer),
        cmocka_unit_test_setup_teardown(test_verdicts_forgotten_too_soon_are_counted, set_up_small,
                                        bench_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Lanes that come and go: which are taken in, which are freed for others, and what goes on. */
#include "tests/unit/fruit/fruit_bench.h"

#define S          (1000 * CRN_FRUIT_MS)
#define IDLE       (60 * S)
#define LANES      8 /* of the bench */
#define NEVER_SEEN 4000000000u

static int set_up(void **state)
{
    int r = bench_set_up(state);
    if (r == 0)
        crn_lanes_set_rules(lanes, &(crn_lane_rules){.idle_ns = IDLE});
    return r;
}

static crn_arrival send(uint32_t lane, uint64_t fruit)
{
    crn_ticket ticket;
    crn_view_header header = header_of(lane, 1, fruit, 0, 1);
    header.sequence = fruit;
    crn_arrival arrival = arrive_as(header, CRN_FRUIT_NEVER, &ticket);
    if (arrival == CRN_ARRIVAL_WANTED)
        assert_true(crn_fruits_queue(fruits, ticket, next_slot++));
    return arrival;
}

/* Judges all that is due; returns the last verdict's sequence. */
static uint64_t judge_due(void)
{
    uint64_t sequence = UINT64_MAX;
    const crn_fruit *fruit;
    run_all();
    while ((fruit = crn_fruits_due(fruits, now_ns))) {
        sequence = crn_lane_next_sequence(fruit->lane);
        crn_fruits_judge(fruits, fruit);
    }
    return sequence;
}

static uint64_t frees(void)
{
    return crn_lanes_totals_of(lanes)->frees;
}

/* Invented lanes fill the table, and keep out new ones only until they have been silent. */
static void test_invented_lanes_make_room(void **state)
{
    (void)state;
    for (uint32_t lane = 1000; lane < 1000 + LANES; lane++)
        assert_int_equal(send(lane, 0), CRN_ARRIVAL_WANTED);
    judge_due();
    now_ns += IDLE - 1;
    assert_int_equal(send(1, 0), CRN_ARRIVAL_NO_LANE);
    assert_int_equal(frees(), 0);
    now_ns += 1;
    for (uint32_t lane = 1; lane < 4; lane++)
        assert_int_equal(send(lane, 0), CRN_ARRIVAL_WANTED);
    assert_int_equal(frees(), 3);
    assert_int_equal(crn_lanes_count(lanes), LANES);
    for (uint32_t lane = 1000; lane < 1003; lane++)
        assert_null(crn_lanes_look_up(lanes, lane));
    assert_non_null(crn_lanes_look_up(lanes, 1003));
    assert_int_equal(crn_fruits_get_stats(fruits)->lanes, 1);
    assert_int_equal(crn_lanes_totals_of(lanes)->refused_elsewhere.count[CRN_REFUSAL_LANES], 1);
}

static void test_a_lane_with_an_open_fruit_stays(void **state)
{
    (void)state;
    crn_fruit_rules rules = bench_rules;
    rules.budget_ns = 2 * IDLE;
    assert_int_equal(crn_fruits_set_rules(fruits, &rules), 0);
    for (uint32_t lane = 0; lane < LANES; lane++)
        assert_int_equal(send(lane, 0), CRN_ARRIVAL_WANTED);
    now_ns += IDLE;
    assert_int_equal(send(100, 0), CRN_ARRIVAL_NO_LANE);
    judge_due();
    assert_int_equal(send(100, 0), CRN_ARRIVAL_WANTED);
    judge_due();
    assert_int_equal(frees(), 1);
}

/* The sums over all lanes never fall, and refused messages are counted elsewhere. */
static void test_counts_of_freed_lanes_go_on(void **state)
{
    (void)state;
    for (uint32_t lane = 0; lane < 5 * LANES; lane++) {
        crn_lane_stats before = crn_lanes_sum(lanes);
        assert_int_equal(send(lane, 0), CRN_ARRIVAL_WANTED);
        assert_int_equal(send(lane, 5), CRN_ARRIVAL_WANTED); /* four views are missing */
        judge_due();
        crn_fruits_refuse(fruits, &(crn_view_header){.lane = lane}, CRN_REFUSAL_VIEWS_MISMATCH);
        crn_lane_stats after = crn_lanes_sum(lanes);
        assert_int_equal(after.views, before.views + 2);
        assert_int_equal(after.missing, before.missing + 4);
        assert_int_equal(
            after.refused.count[CRN_REFUSAL_VIEWS_MISMATCH] +
                crn_lanes_totals_of(lanes)->refused_elsewhere.count[CRN_REFUSAL_VIEWS_MISMATCH],
            lane + 1);
        now_ns += IDLE;
    }
    const crn_lane_stats *freed = &crn_lanes_totals_of(lanes)->freed;
    assert_int_equal(frees(), 4 * LANES);
    assert_int_equal(freed->views, 2 * 4 * LANES);
    assert_int_equal(freed->missing, 4 * 4 * LANES);
}

/* A grader that knew the lane sees no sequence again, and none skipped. */
static void test_a_lane_that_comes_again_goes_on_with_its_sequence(void **state)
{
    (void)state;
    for (uint64_t fruit = 0; fruit < 3; fruit++) {
        assert_int_equal(send(7, fruit), CRN_ARRIVAL_WANTED);
        assert_int_equal(judge_due(), fruit);
    }
    for (uint32_t lane = 100; lane < 100 + 2 * LANES; lane++) {
        now_ns += IDLE;
        assert_int_equal(send(lane, 0), CRN_ARRIVAL_WANTED);
        assert_int_equal(judge_due(), 0);
    }
    assert_null(crn_lanes_look_up(lanes, 7));
    now_ns += IDLE;
    assert_int_equal(send(7, 3), CRN_ARRIVAL_WANTED);
    assert_int_equal(judge_due(), 3);
}

/* So many others came in between that its sequence is forgotten: none comes a second time. */
static void test_a_forgotten_sequence_does_not_begin_again(void **state)
{
    (void)state;
    for (uint64_t fruit = 0; fruit < 3; fruit++)
        send(7, fruit);
    judge_due();
    for (uint32_t lane = 100; lane < 100 + LANES + CRN_LANES_LEFT; lane++) {
        now_ns += IDLE;
        assert_int_equal(send(lane, 0), CRN_ARRIVAL_WANTED);
        judge_due();
    }
    now_ns += IDLE;
    assert_int_equal(send(7, 3), CRN_ARRIVAL_WANTED);
    assert_int_equal(judge_due(), 3);
}

static void test_lanes_that_are_not_listed_are_refused(void **state)
{
    (void)state;
    assert_int_equal(send(5, 0), CRN_ARRIVAL_WANTED);
    judge_due();
    crn_lane_rules rules = {.idle_ns = IDLE, .listed = {2, {{0, 3}, {UINT32_MAX, UINT32_MAX}}}};
    crn_lanes_set_rules(lanes, &rules);
    static const uint32_t others[] = {4, 5, UINT32_MAX - 1, NEVER_SEEN};
    for (int i = 0; i < 4; i++)
        assert_int_equal(send(others[i], 1), CRN_ARRIVAL_LANE_NOT_LISTED);
    static const uint32_t listed[] = {0, 1, 2, 3, UINT32_MAX};
    for (int i = 0; i < 5; i++)
        assert_int_equal(send(listed[i], 1), CRN_ARRIVAL_WANTED);
    judge_due();
    const crn_fruit_stats *stats = crn_fruits_get_stats(fruits);
    assert_int_equal(stats->lanes_not_listed, 4);
    assert_int_equal(stats->opened, 6);
    assert_int_equal(crn_lanes_count(lanes), 6);
    assert_string_equal(crn_refusal_name(CRN_REFUSAL_LANE_NOT_LISTED), "lane_not_listed");
}

/* Random lanes against a plain list of those that were used last. */
static void test_the_index_keeps_up(void **state)
{
    (void)state;
    uint32_t random = 1;
    crn_lanes_set_rules(lanes, &(crn_lane_rules){.idle_ns = 1});
    for (int i = 0; i < 20000; i++) {
        random = random * 1664525u + 1013904223u;
        uint32_t lane = (random >> 16) % 40 * 4096;
        now_ns += 1;
        assert_int_not_equal(send(lane, (uint64_t)i), CRN_ARRIVAL_NO_LANE);
        judge_due();
        assert_int_equal(crn_lanes_look_up(lanes, lane)->number, lane);
        for (int32_t at = 0; at < crn_lanes_count(lanes); at++)
            assert_ptr_equal(crn_lanes_look_up(lanes, crn_lanes_at(lanes, at)->number),
                             crn_lanes_at(lanes, at));
    }
    assert_true(frees() > 1000);
}

int main(void)
{
#define ON_LANES(test) cmocka_unit_test_setup_teardown(test, set_up, bench_tear_down)
    const struct CMUnitTest tests[] = {
        ON_LANES(test_invented_lanes_make_room),
        ON_LANES(test_a_lane_with_an_open_fruit_stays),
        ON_LANES(test_counts_of_freed_lanes_go_on),
        ON_LANES(test_a_lane_that_comes_again_goes_on_with_its_sequence),
        ON_LANES(test_a_forgotten_sequence_does_not_begin_again),
        ON_LANES(test_lanes_that_are_not_listed_are_refused),
        ON_LANES(test_the_index_keeps_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

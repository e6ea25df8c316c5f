/* Refused views: recorded in their fruit, which they neither open nor close. */
#include "tests/unit/fruit/fruit_bench.h"

static void refuse(uint32_t lane, uint64_t fruit, uint16_t view, uint16_t views, crn_refusal why)
{
    crn_view_header header = header_of(lane, 1, fruit, view, views);
    crn_fruits_refuse(fruits, &header, why);
}

#define CHANNELS   ((crn_refusal)CRN_WIRE_CHANNELS)
#define TENSOR     ((crn_refusal)CRN_WIRE_TENSOR_SIZE)
#define VIEW_INDEX ((crn_refusal)CRN_WIRE_VIEW_INDEX)

static void test_a_refused_view_makes_its_open_fruit_partial(void **state)
{
    (void)state;
    arrive(1, 0, 3, CRN_FRUIT_NEVER);
    refuse(1, 1, 1, 3, CHANNELS);
    refuse(1, 1, 1, 3, TENSOR); /* the first reason is kept */
    arrive(1, 2, 3, CRN_FRUIT_NEVER);
    run_all();
    expect_not_due(); /* does not count as received, so nothing closes yet */
    now_ns += CRN_FRUIT_ASSEMBLE;
    const crn_fruit *due = expect_due(1);
    assert_int_equal(due->received, 2);
    assert_int_equal(due->judged, 2);
    assert_int_equal(due->refused, 1);
    assert_int_equal(due->views[1].state, CRN_VIEW_REFUSED);
    assert_int_equal(due->views[1].refusal, CHANNELS);
    judge(1, CRN_VERDICT_PARTIAL);
    assert_int_equal(crn_fruits_get_stats(fruits)->refused, 1);
    expect_sums(0);
}

/* If the number of views is unknown, only the refusal shows that one is missing. */
static void test_with_unknown_views_it_is_never_complete(void **state)
{
    (void)state;
    arrive(1, 0, 0, CRN_FRUIT_NEVER);
    refuse(1, 1, 1, 0, CHANNELS);
    run_all();
    now_ns += CRN_FRUIT_ASSEMBLE;
    judge(1, CRN_VERDICT_PARTIAL);
    arrive(2, 0, 0, CRN_FRUIT_NEVER);
    run_all();
    now_ns += CRN_FRUIT_ASSEMBLE;
    judge(2, CRN_VERDICT_COMPLETE);
}

static void test_a_good_copy_replaces_the_refusal(void **state)
{
    (void)state;
    arrive(1, 0, 2, CRN_FRUIT_NEVER);
    refuse(1, 1, 1, 2, TENSOR);
    arrive(1, 1, 2, CRN_FRUIT_NEVER);
    refuse(1, 1, 1, 2, TENSOR); /* a valid one exists: no effect */
    run_all();
    const crn_fruit *due = expect_due(1);
    assert_int_equal(due->refused, 0);
    assert_int_equal(due->received, 2);
    judge(1, CRN_VERDICT_COMPLETE);
    expect_sums(0);
}

static void test_it_opens_no_fruit_and_no_lane(void **state)
{
    (void)state;
    for (uint32_t lane = 1; lane <= 1000; lane++)
        refuse(lane, lane, 0, 1, CHANNELS);
    crn_fruits_refuse(fruits, NULL, (crn_refusal)CRN_WIRE_MAGIC);
    assert_int_equal(crn_fruits_open(fruits), 0);
    assert_int_equal(crn_lanes_count(lanes), 0);
    assert_int_equal(crn_lanes_totals_of(lanes)->refused_elsewhere.count[CHANNELS], 1000);
    assert_int_equal(crn_lanes_totals_of(lanes)->refused_elsewhere.count[CRN_WIRE_MAGIC], 1);
    assert_int_equal(crn_fruits_wake_ns(fruits), CRN_FRUIT_NEVER);
}

static void test_what_was_refused_before_its_fruit_opened_shows_in_it(void **state)
{
    (void)state;
    refuse(1, 7, 0, 4, CHANNELS); /* the lane does not exist either */
    refuse(1, 7, 1, 4, TENSOR);
    refuse(1, 7, 2, 4, TENSOR);
    refuse(1, 7, 9, 4, VIEW_INDEX);   /* not a view of such a fruit */
    refuse(1, 7, 4, 0, CHANNELS);     /* nor this one, as it turns out */
    refuse(1, 8, 3, 4, CHANNELS);     /* another fruit */
    refuse(2, 7, 3, 4, CHANNELS);     /* another lane */
    arrive(7, 1, 4, CRN_FRUIT_NEVER); /* a valid copy of view 1 */
    now_ns += CRN_FRUIT_ASSEMBLE;
    run_all();
    const crn_fruit *due = expect_due(7);
    assert_int_equal(due->refused, 2);
    assert_int_equal(due->views[0].state, CRN_VIEW_REFUSED);
    assert_int_equal(due->views[0].refusal, CHANNELS);
    assert_int_equal(due->views[1].state, CRN_VIEW_JUDGED);
    assert_int_equal(due->views[2].refusal, TENSOR);
    assert_int_equal(due->views[3].state, CRN_VIEW_ABSENT);
    judge(7, CRN_VERDICT_PARTIAL);
    refuse(1, 7, 3, 4, CHANNELS); /* already judged: not recorded */
    assert_int_equal(crn_fruits_open(fruits), 0);
}

/* A flood of refusals has no worse effect than a refused view reported as missing. */
static void test_only_the_latest_are_remembered(void **state)
{
    (void)state;
    refuse(1, 1, 1, 4, CHANNELS);
    for (uint64_t i = 0; i < CRN_REFUSED_KEPT; i++)
        refuse(3, 100 + i, 0, 4, CHANNELS);
    arrive(1, 0, 4, CRN_FRUIT_NEVER);
    now_ns += CRN_FRUIT_ASSEMBLE;
    run_all();
    assert_int_equal(expect_due(1)->refused, 0);
    judge(1, CRN_VERDICT_PARTIAL);
}

static void test_they_are_counted_for_lanes_that_are_open(void **state)
{
    (void)state;
    arrive(1, 0, 2, CRN_FRUIT_NEVER);
    refuse(1, 1, 1, 2, CHANNELS);
    refuse(1, 5, 0, 2, CHANNELS);
    refuse(4, 5, 0, 2, CHANNELS);
    crn_ticket ticket;
    assert_int_equal(arrive_as(header_of(1, 1, 1, 1, 3), CRN_FRUIT_NEVER, &ticket),
                     CRN_ARRIVAL_VIEWS_MISMATCH);
    const crn_lane_stats *stats = &crn_lanes_look_up(lanes, 1)->stats;
    assert_int_equal(stats->refused.count[CHANNELS], 2);
    assert_int_equal(stats->refused.count[CRN_REFUSAL_VIEWS_MISMATCH], 1);
    assert_int_equal(crn_lanes_totals_of(lanes)->refused_elsewhere.count[CHANNELS], 1);
    assert_null(crn_lanes_look_up(lanes, 4));
    for (uint32_t lane = 10; lane < 20; lane++)
        arrive_as(header_of(lane, 1, lane, 0, 1), CRN_FRUIT_NEVER, &ticket);
    assert_int_equal(crn_lanes_totals_of(lanes)->refused_elsewhere.count[CRN_REFUSAL_LANES], 3);
    assert_int_equal(crn_lanes_sum(lanes).refused.count[CHANNELS], 2);
}

static void test_every_reason_has_its_name(void **state)
{
    (void)state;
    for (int why = 1; why < CRN_REFUSALS; why++) {
        assert_non_null(crn_refusal_name((crn_refusal)why));
        for (int other = 0; other < why; other++)
            assert_string_not_equal(crn_refusal_name((crn_refusal)why),
                                    crn_refusal_name((crn_refusal)other));
    }
    assert_string_equal(crn_refusal_name(CHANNELS), "channels");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CRN_ON_BENCH(test_a_refused_view_makes_its_open_fruit_partial),
        CRN_ON_BENCH(test_with_unknown_views_it_is_never_complete),
        CRN_ON_BENCH(test_a_good_copy_replaces_the_refusal),
        CRN_ON_BENCH(test_it_opens_no_fruit_and_no_lane),
        CRN_ON_BENCH(test_what_was_refused_before_its_fruit_opened_shows_in_it),
        CRN_ON_BENCH(test_only_the_latest_are_remembered),
        CRN_ON_BENCH(test_they_are_counted_for_lanes_that_are_open),
        CRN_ON_BENCH(test_every_reason_has_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Lanes: sequence numbers distinguish loss, repetition,
 * reordering and restarts. */
#include <errno.h>

#include "src/fruit/lane/lane.h"
#include "tests/support/cmocka_prelude.h"

static crn_lanes *lanes;
static crn_lane *lane;

static int set_up(void **state)
{
    (void)state;
    if (crn_lanes_create(4, &lanes) < 0)
        return -1;
    lane = crn_lanes_find(lanes, 9);
    return lane ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    crn_lanes_free(&lanes);
    return lanes ? -1 : 0;
}

static void count(uint64_t epoch, uint64_t sequence)
{
    crn_lane_count(lane, &(crn_view_header){.lane = 9, .epoch = epoch, .sequence = sequence}, 0);
}

static void expect(uint64_t views, uint64_t missing, uint64_t reordered, uint64_t duplicates,
                   uint64_t restarts)
{
    const crn_lane_stats *stats = &lane->stats;
    assert_int_equal(stats->views, views);
    assert_int_equal(stats->missing, missing);
    assert_int_equal(stats->reordered, reordered);
    assert_int_equal(stats->duplicates, duplicates);
    assert_int_equal(stats->restarts, restarts);
}

static void test_in_order_counts_nothing(void **state)
{
    (void)state;
    for (uint64_t sequence = 1000; sequence < 1300; sequence++)
        count(1, sequence);
    expect(300, 0, 0, 0, 0);
}

static void test_first_message_may_have_any_number(void **state)
{
    (void)state;
    count(1, 77);
    expect(1, 0, 0, 0, 0);
    count(2, UINT64_MAX);
    expect(2, 0, 0, 0, 1);
}

static void test_gap_is_missing_until_it_comes(void **state)
{
    (void)state;
    count(1, 0);
    count(1, 4);
    expect(2, 3, 0, 0, 0);
    count(1, 2);
    expect(3, 2, 1, 0, 0);
    count(1, 2);
    expect(4, 2, 1, 1, 0);
    count(1, 3);
    count(1, 1);
    expect(6, 0, 3, 1, 0);
    count(1, 5);
    expect(7, 0, 3, 1, 0);
}

static void test_repeats_are_duplicates(void **state)
{
    (void)state;
    count(1, 5);
    count(1, 5);
    count(1, 6);
    count(1, 5);
    expect(4, 0, 0, 2, 0);
}

static void test_window_ends_at_64(void **state)
{
    (void)state;
    count(1, 0);
    count(1, 65); /* 1 to 64 are missing, and 1 is 64 behind */
    expect(2, 64, 0, 0, 0);
    count(1, 1);
    expect(3, 64, 1, 0, 0);
    count(1, 2);
    expect(4, 63, 2, 0, 0);
    count(1, 1); /* too far back to be recognised as a repeat */
    expect(5, 63, 3, 0, 0);
}

static void test_jump_beyond_window_forgets_it(void **state)
{
    (void)state;
    count(1, 9);
    count(1, 10);
    count(1, 10 + 64);
    expect(3, 63, 0, 0, 0);
    count(1, 73); /* in the bit of 9, had the window not moved on */
    expect(4, 62, 1, 0, 0);
    count(1, 11);
    expect(5, 61, 2, 0, 0);
    count(1, 1000);
    expect(6, 61 + 925, 2, 0, 0);
    count(1, 999);
    expect(7, 61 + 924, 3, 0, 0);
}

static void test_numbers_before_the_first_were_never_missing(void **state)
{
    (void)state;
    count(1, 10);
    count(1, 8);
    count(1, 9);
    count(1, 9);
    expect(4, 0, 2, 1, 0);
}

static void test_another_epoch_is_one_restart(void **state)
{
    (void)state;
    count(1, 100);
    count(2, 0);
    count(2, 1);
    expect(3, 0, 0, 0, 1);
    count(3, 50);
    count(3, 51);
    expect(5, 0, 0, 0, 2);
}

static void test_late_news_of_the_epoch_before(void **state)
{
    (void)state;
    count(1, 100);
    count(1, 102);
    count(2, 0);
    expect(3, 1, 0, 0, 1);
    count(1, 101); /* was missing */
    expect(4, 0, 1, 0, 1);
    count(1, 102); /* a repeat */
    expect(5, 0, 1, 1, 1);
    count(1, 105); /* two more are missing, and this one is itself out of order */
    expect(6, 2, 2, 1, 1);
    count(2, 1); /* no effect on the current epoch */
    expect(7, 2, 2, 1, 1);
    count(3, 0);
    count(1, 103); /* was missing */
    expect(9, 1, 3, 1, 2);
}

static void send_captured(uint64_t epoch, uint64_t sequence, uint64_t captured_ns)
{
    crn_lane_count(lane,
                   &(crn_view_header){
                       .lane = 9, .epoch = epoch, .sequence = sequence, .captured_ns = captured_ns},
                   0);
}

static uint64_t reused(void)
{
    assert_int_equal(crn_lanes_totals_of(lanes)->reused, lane->stats.reused);
    return crn_lanes_totals_of(lanes)->reused;
}

static void test_an_epoch_used_again_is_seen_with_its_first_view(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {1, 3, 64, 65, 1000};
    uint64_t time_ns = 1000;
    for (uint64_t epoch = 0; epoch < 5; epoch++) {
        for (int start = 0; start < 3; start++) {
            send_captured(epoch, 0, time_ns++);
            assert_int_equal(reused(), 2 * epoch + (uint64_t)start);
            for (uint64_t sequence = 1; sequence < lengths[epoch]; sequence++)
                send_captured(epoch, sequence, time_ns++);
            assert_int_equal(reused(), 2 * epoch + (uint64_t)start);
        }
    }
    expect(3 * (1 + 3 + 64 + 65 + 1000), 0, 0, 0, 4);
}

/* The daemon started later than the sender, whose clock then jumps. */
static void test_an_epoch_used_again_is_seen_in_the_middle_and_without_a_clock(void **state)
{
    (void)state;
    for (uint64_t sequence = 5000; sequence < 5010; sequence++)
        send_captured(1, sequence, sequence);
    send_captured(1, 0, 6000);
    assert_int_equal(reused(), 1);
    for (uint64_t sequence = 1; sequence < 10; sequence++)
        send_captured(1, sequence, 6000 + sequence);
    send_captured(1, 0, 17); /* a sender's clock that starts in 1970 */
    assert_int_equal(reused(), 2);
    send_captured(2, 0, 7000);
    send_captured(1, 0, 7001); /* not even when new after another */
    assert_int_equal(reused(), 3);
    expect(23, 0, 0, 0, 1);
}

static void test_without_times_of_capture_repeats_in_order_tell(void **state)
{
    (void)state;
    for (uint64_t sequence = 7; sequence < 20; sequence++)
        count(1, sequence);
    for (uint64_t sequence = 7; sequence < 10; sequence++)
        count(1, sequence);
    assert_int_equal(reused(), 0);
    count(1, 10);
    assert_int_equal(reused(), 1);
    for (uint64_t sequence = 11; sequence < 30; sequence++)
        count(1, sequence);
    assert_int_equal(reused(), 1);
    expect(36, 0, 0, 3, 0);
}

/* Late, reordered, repeated, or a whole session sent again: the capture times tell. */
static void test_what_is_late_or_sent_twice_is_no_epoch_used_again(void **state)
{
    (void)state;
    for (uint64_t sequence = 0; sequence < 400; sequence++) {
        uint64_t captured_ns = 10 * sequence + 7 * (sequence % 3); /* cameras in turn */
        send_captured(1, sequence, 1000 + captured_ns);
        if (sequence % 5 == 4)
            send_captured(1, sequence, 1000 + captured_ns); /* a duplicate */
        if (sequence % 50 == 49) /* the last ten again, as after a reconnect */
            for (uint64_t again = sequence - 9; again <= sequence; again++)
                send_captured(1, again, 1000 + 10 * again + 7 * (again % 3));
        if (sequence > 200) /* from another connection that lags behind */
            send_captured(1, sequence - 200, 1000 + 10 * (sequence - 200));
    }
    for (uint64_t sequence = 0; sequence < 400; sequence++)
        send_captured(1, sequence, 1000 + 10 * sequence + 7 * (sequence % 3));
    assert_int_equal(reused(), 0);
    send_captured(2, 0, 9000);
    send_captured(1, 399, 4990); /* a late view of the previous epoch */
    send_captured(1, 400, 9001);
    assert_int_equal(reused(), 0);
}

static void test_without_times_of_capture_what_is_sent_twice_is_no_epoch_used_again(void **state)
{
    (void)state;
    for (uint64_t sequence = 0; sequence < 200; sequence++) {
        count(1, sequence);
        count(1, sequence);
        if (sequence % 20 == 19)
            for (uint64_t again = sequence - 9; again <= sequence; again++)
                count(1, again);
        if (sequence > 100)
            count(1, sequence - 100 + 1);
    }
    assert_int_equal(reused(), 0);
}

static uint64_t jumps(void)
{
    assert_int_equal(crn_lanes_totals_of(lanes)->jumps, lane->stats.jumps);
    return crn_lanes_totals_of(lanes)->jumps;
}

/* With and without capture times, whatever the far view's own is. */
static void test_one_number_far_away_is_no_gap_and_leaves_the_sequence(void **state)
{
    (void)state;
    static const uint64_t far[] = {UINT64_MAX, UINT64_MAX - 1, 1u << 31, 100 + (2 << 20)};
    static const uint64_t captured[] = {0, 1, UINT64_MAX, INT64_MAX, 5000};
    uint64_t views = 0, expected = 0;
    for (uint64_t with_times = 0; with_times < 2; with_times++) {
        uint64_t epoch = 1 + with_times, sequence = 100, time_ns = 1000 * with_times;
        for (size_t c = 0; c < 5; c++) {
            for (size_t i = 0; i < 4; i++) {
                send_captured(epoch, sequence++, with_times ? time_ns++ : 0);
                send_captured(epoch, far[i], captured[c]);
                send_captured(epoch, far[i], captured[c]); /* twice is not a sequence */
                send_captured(epoch, sequence++, with_times ? time_ns++ : 0);
                views += 4;
                assert_int_equal(jumps(), ++expected);
            }
        }
        expect(views, 3 * with_times, 0, 0, with_times);
        send_captured(epoch, sequence + 3, with_times ? time_ns++ : 0);
        expect(++views, 3 * (1 + with_times), 0, 0, with_times);
    }
    assert_int_equal(reused(), 0);
}

static void test_a_sequence_that_goes_on_far_away_is_followed(void **state)
{
    (void)state;
    count(1, 5);
    count(1, UINT64_MAX - 20);
    count(1, UINT64_MAX - 18); /* now it goes on there */
    count(1, UINT64_MAX - 15);
    expect(4, 2, 0, 0, 0);
    assert_int_equal(jumps(), 1);
    count(1, 6);
    count(1, 7);
    count(1, 9);
    expect(7, 3, 0, 0, 0);
    assert_int_equal(jumps(), 2);
    assert_int_equal(reused(), 0);
}

static void test_a_gap_has_a_bound(void **state)
{
    (void)state;
    count(1, 0);
    count(1, CRN_LANE_GAP_MAX);
    expect(2, CRN_LANE_GAP_MAX - 1, 0, 0, 0);
    count(1, 2 * CRN_LANE_GAP_MAX + 1);
    expect(3, CRN_LANE_GAP_MAX - 1, 0, 0, 0);
    assert_int_equal(jumps(), 1);
}

/* A capture time that is none must not hide what later ones tell. */
static void test_an_epoch_used_again_is_seen_after_an_impossible_capture_time(void **state)
{
    (void)state;
    send_captured(1, 0, 1000);
    send_captured(1, 1, UINT64_MAX);
    for (uint64_t sequence = 2; sequence < 200; sequence++)
        send_captured(1, sequence, 1000 + sequence);
    send_captured(1, 0, 5000);
    assert_int_equal(reused(), 1);
}

static void test_lanes_are_opened_at_first_sight_and_bounded(void **state)
{
    (void)state;
    static const uint32_t numbers[] = {9, 0, UINT32_MAX, 1u << 20};
    for (int i = 0; i < 4; i++)
        assert_int_equal(crn_lanes_find(lanes, numbers[i])->number, numbers[i]);
    assert_int_equal(crn_lanes_count(lanes), 4);
    assert_null(crn_lanes_find(lanes, 5));
    assert_int_equal(crn_lanes_count(lanes), 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(crn_lanes_at(lanes, i)->number, numbers[i]);
        assert_ptr_equal(crn_lanes_find(lanes, numbers[i]), crn_lanes_at(lanes, i));
    }
    assert_null(crn_lanes_at(lanes, 4));
    assert_null(crn_lanes_at(lanes, -1));
    assert_ptr_equal(lane, crn_lanes_at(lanes, 0));
}

static void test_many_lanes_are_told_apart(void **state)
{
    (void)state;
    crn_lanes *many = NULL;
    assert_int_equal(crn_lanes_create(1000, &many), 0);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(crn_lanes_find(many, i * 4096)->number, i * 4096);
    for (uint32_t i = 0; i < 1000; i++)
        assert_ptr_equal(crn_lanes_find(many, i * 4096), crn_lanes_at(many, (int32_t)i));
    assert_null(crn_lanes_find(many, 1));
    crn_lanes_free(&many);
}

static void test_the_longest_delay_is_forgotten_in_the_end(void **state)
{
    (void)state;
    int64_t second = INT64_C(1000000000);
    assert_int_equal(crn_lane_longest_delay_ns(lane), 0);
    crn_lane_delay(lane, 5, 1 * second);
    crn_lane_delay(lane, 4, 2 * second);
    assert_int_equal(crn_lane_longest_delay_ns(lane), 5);
    crn_lane_delay(lane, 3, 601 * second);
    assert_int_equal(crn_lane_longest_delay_ns(lane), 5);
    crn_lane_delay(lane, 2, 1201 * second);
    assert_int_equal(crn_lane_longest_delay_ns(lane), 3);
    crn_lane_delay(lane, 1, 9000 * second);
    assert_int_equal(crn_lane_longest_delay_ns(lane), 1);
}

static void test_verdicts_are_numbered_per_lane(void **state)
{
    (void)state;
    crn_lane *other = crn_lanes_find(lanes, 10);
    assert_int_equal(lane->verdicts, 0);
    assert_int_equal(crn_lane_next_sequence(lane), 0);
    assert_int_equal(crn_lane_next_sequence(lane), 1);
    assert_int_equal(crn_lane_next_sequence(other), 0);
    assert_int_equal(lane->verdicts, 2);
    assert_int_equal(other->verdicts, 1);
}

static void test_create_refuses_no_lanes(void **state)
{
    (void)state;
    crn_lanes *none = (crn_lanes *)&none;
    assert_int_equal(crn_lanes_create(0, &none), -EINVAL);
    assert_ptr_equal(none, &none);
    none = NULL;
    crn_lanes_free(&none);
    crn_lanes_free(NULL);
}

int main(void)
{
#define ON_A_LANE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON_A_LANE(test_in_order_counts_nothing),
        ON_A_LANE(test_first_message_may_have_any_number),
        ON_A_LANE(test_gap_is_missing_until_it_comes),
        ON_A_LANE(test_repeats_are_duplicates),
        ON_A_LANE(test_window_ends_at_64),
        ON_A_LANE(test_jump_beyond_window_forgets_it),
        ON_A_LANE(test_numbers_before_the_first_were_never_missing),
        ON_A_LANE(test_another_epoch_is_one_restart),
        ON_A_LANE(test_late_news_of_the_epoch_before),
        ON_A_LANE(test_an_epoch_used_again_is_seen_with_its_first_view),
        ON_A_LANE(test_an_epoch_used_again_is_seen_in_the_middle_and_without_a_clock),
        ON_A_LANE(test_without_times_of_capture_repeats_in_order_tell),
        ON_A_LANE(test_what_is_late_or_sent_twice_is_no_epoch_used_again),
        ON_A_LANE(test_without_times_of_capture_what_is_sent_twice_is_no_epoch_used_again),
        ON_A_LANE(test_one_number_far_away_is_no_gap_and_leaves_the_sequence),
        ON_A_LANE(test_a_sequence_that_goes_on_far_away_is_followed),
        ON_A_LANE(test_a_gap_has_a_bound),
        ON_A_LANE(test_an_epoch_used_again_is_seen_after_an_impossible_capture_time),
        ON_A_LANE(test_lanes_are_opened_at_first_sight_and_bounded),
        ON_A_LANE(test_many_lanes_are_told_apart),
        ON_A_LANE(test_the_longest_delay_is_forgotten_in_the_end),
        ON_A_LANE(test_verdicts_are_numbered_per_lane),
        cmocka_unit_test(test_create_refuses_no_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Several senders on one lane: those that are there at once and send different views of the same
 * fruits are joined; one that restarts never is with itself; others are told. */
#include "tests/unit/fruit/fruit_bench.h"

#define S    (1000 * CRN_FRUIT_MS)
#define BELT (100 * CRN_FRUIT_MS) /* between two fruits */

static bool timed; /* views have capture times */

/* A process: its epoch, the views that it sends, and how far its clock and its fruit numbers are
 * from the belt's. */
typedef struct process {
    uint64_t epoch;
    unsigned views;
    uint64_t sequence, first_fruit;
    int64_t clock_ns;
} process;

static crn_arrival send(process *from, uint64_t fruit, uint16_t view, uint16_t views)
{
    crn_ticket ticket;
    crn_view_header header = header_of(1, from->epoch, fruit - from->first_fruit, view, views);
    header.sequence = from->sequence++;
    header.captured_ns = timed ? (uint64_t)(now_ns + from->clock_ns) : 0;
    crn_arrival arrival = arrive_as(header, CRN_FRUIT_NEVER, &ticket);
    if (arrival == CRN_ARRIVAL_WANTED)
        assert_true(crn_fruits_queue(fruits, ticket, next_slot++));
    return arrival;
}

static uint64_t last_epoch; /* of the last verdict */

static void judge_due(void)
{
    const crn_fruit *fruit;
    run_all();
    while ((fruit = crn_fruits_due(fruits, now_ns))) {
        last_epoch = fruit->epoch;
        crn_fruits_judge(fruits, fruit);
    }
}

static uint64_t belt; /* the next fruit */

/* So many fruits pass the cameras of all these. */
static void pass(uint64_t count, uint16_t views, process *const *processes)
{
    for (uint64_t i = 0; i < count; i++, belt++) {
        for (process *const *p = processes; *p; p++)
            for (uint16_t view = 0; view < views; view++)
                if ((*p)->views >> view & 1) {
                    send(*p, belt, view, views);
                    now_ns += CRN_FRUIT_MS;
                    judge_due();
                }
        now_ns += BELT;
        judge_due();
    }
    now_ns += CRN_FRUIT_ASSEMBLE + CRN_FRUIT_BUDGET;
    judge_due();
}

static const crn_lane_stats *lane(void)
{
    return &crn_lanes_look_up(lanes, 1)->stats;
}

static crn_fruit_stats before;

static void mark(void)
{
    before = *crn_fruits_get_stats(fruits);
}

/* Expects so many complete and partial verdicts since the mark. */
static void expect_verdicts(uint64_t complete, uint64_t partial)
{
    const crn_fruit_stats *stats = crn_fruits_get_stats(fruits);
    assert_int_equal(stats->complete - before.complete, complete);
    assert_int_equal(stats->partial - before.partial, partial);
}

#define PASS(count, views, ...) pass(count, views, (process *const[]){__VA_ARGS__, NULL})

/* Each fruit is in two until it is sure, within a second, that both are alive. */
static void test_two_cameras_are_joined_within_a_second(void **state)
{
    (void)state;
    process a = {.epoch = 10, .views = 3}, b = {.epoch = 20, .views = 12};
    PASS(8, 4, &a, &b);
    uint64_t partial = crn_fruits_get_stats(fruits)->partial;
    assert_true(partial > 0 && partial <= 2 * 6);
    assert_int_equal(lane()->joined, 1);
    assert_int_equal(crn_fruits_get_stats(fruits)->complete, 8 - partial / 2);
    mark();
    PASS(1000, 4, &a, &b);
    expect_verdicts(1000, 0);
    assert_int_equal(last_epoch, 10);
    assert_int_equal(lane()->mixed, 0);
    assert_int_equal(lane()->missing + lane()->duplicates, 0);
    assert_int_equal(crn_lanes_totals_of(lanes)->joined.epoch, 20);
    assert_int_equal(crn_lanes_totals_of(lanes)->joined.other, 10);
}

static void test_four_cameras_in_any_order(void **state)
{
    (void)state;
    process a = {.epoch = 10, .views = 1}, b = {.epoch = 9, .views = 2},
            c = {.epoch = 8, .views = 4}, d = {.epoch = 0, .views = 8};
    PASS(10, 4, &a, &b, &c, &d);
    mark();
    PASS(100, 4, &d, &b, &a, &c);
    PASS(100, 4, &c, &d, &b, &a);
    expect_verdicts(200, 0);
    assert_int_equal(lane()->joined, 3);
    assert_int_equal(lane()->mixed, 0);
}

/* A restarted sender's numbers begin anew, or go on; late views of the former one come between. */
static void test_a_sender_that_restarts_is_not_joined_with_itself(void **state)
{
    (void)state;
    uint64_t restarts = 0;
    for (uint64_t epoch = 1; epoch < 40; epoch++) {
        process former = {.epoch = epoch, .views = 15};
        process after = {.epoch = epoch + 1, .views = 15, .first_fruit = epoch % 2 ? belt + 5 : 0};
        if (epoch > 1)
            former.sequence = 1000;
        for (int i = 0; i < 5; i++) {
            belt += i > 0;
            for (uint16_t view = 0; view < 4 - (i == 4); view++)
                send(&former, belt, view, 4);
            now_ns += BELT;
            judge_due();
        }
        send(&after, belt + 1, 0, 4); /* its first, before the last of the former */
        int64_t began_ns = now_ns;
        now_ns -= BELT; /* when that was captured */
        crn_view_header late = header_of(1, epoch, belt, 3, 4);
        late.sequence = former.sequence++;
        late.captured_ns = timed ? (uint64_t)now_ns : 0;
        now_ns = began_ns + (int64_t)(epoch % 5) * (timed ? 200 : 100) * CRN_FRUIT_MS;
        crn_ticket ticket;
        if (arrive_as(late, CRN_FRUIT_NEVER, &ticket) == CRN_ARRIVAL_WANTED)
            assert_true(crn_fruits_queue(fruits, ticket, next_slot++));
        belt++;
        for (uint16_t view = 1; view < 4; view++)
            send(&after, belt, view, 4);
        restarts++;
        belt += 20;
        now_ns += 2 * S;
        judge_due();
    }
    assert_int_equal(lane()->joined, 0);
    assert_int_equal(lane()->mixed, 0);
    assert_true(lane()->restarts >= restarts);
}

static void test_one_that_restarts_joins_the_others_again(void **state)
{
    (void)state;
    process a = {.epoch = 10, .views = 3}, b = {.epoch = 20, .views = 12};
    PASS(30, 4, &a, &b);
    process b2 = {.epoch = 21, .views = 12}, a2 = {.epoch = 11, .views = 3};
    PASS(10, 4, &a, &b2);
    assert_int_equal(lane()->joined, 2);
    mark();
    PASS(30, 4, &a, &b2);
    expect_verdicts(30, 0);
    PASS(10, 4, &a2, &b2); /* the earlier one, whose epoch the fruits have */
    assert_int_equal(lane()->joined, 3);
    mark();
    PASS(30, 4, &a2, &b2);
    expect_verdicts(30, 0);
    assert_int_equal(last_epoch, 10);
    assert_int_equal(lane()->mixed, 0);
}

static void test_both_restart(void **state)
{
    (void)state;
    process a = {.epoch = 10, .views = 3}, b = {.epoch = 20, .views = 12};
    PASS(30, 4, &a, &b);
    process b2 = {.epoch = 21, .views = 12, .first_fruit = belt},
            a2 = {.epoch = 11, .views = 3, .first_fruit = belt};
    PASS(10, 4, &b2, &a2);
    assert_int_equal(lane()->joined, 2);
    mark();
    PASS(50, 4, &b2, &a2);
    expect_verdicts(50, 0);
    assert_int_equal(last_epoch, 21);
    assert_int_equal(lane()->mixed, 0);
}

/* The same process started twice: each fruit has a verdict for each, as before, but it is told. */
static void test_the_same_views_twice_are_told(void **state)
{
    (void)state;
    process a = {.epoch = 10, .views = 3}, b = {.epoch = 20, .views = 3};
    PASS(10, 2, &a, &b);
    assert_int_equal(lane()->joined, 0);
    assert_true(lane()->mixed > 0);
    assert_int_equal(crn_fruits_get_stats(fruits)->complete, 20);
    const crn_met_senders *mixed = &crn_lanes_totals_of(lanes)->mixed;
    assert_int_equal(mixed->meeting, CRN_MEETING_SAME);
    assert_int_equal(mixed->lane, 1);
    assert_int_equal(mixed->epoch + mixed->other, 30);
}

static void test_different_numbers_are_told(void **state)
{
    (void)state;
    process a = {.epoch = 10, .views = 3, .first_fruit = 0};
    belt = 5000;
    process b = {.epoch = 20, .views = 12, .first_fruit = 4000};
    PASS(10, 4, &a, &b);
    assert_int_equal(lane()->joined, 0);
    assert_true(lane()->mixed > 0);
    assert_int_equal(crn_lanes_totals_of(lanes)->mixed.meeting, CRN_MEETING_NUMBER);
    assert_int_equal(crn_fruits_get_stats(fruits)->partial, 20);
}

/* One of two begins its numbers anew, while the other goes on: no fruit is mixed with another. */
static void test_numbers_that_part_are_not_mixed(void **state)
{
    (void)state;
    process a = {.epoch = 10, .views = 3}, b = {.epoch = 20, .views = 12};
    PASS(30, 4, &a, &b);
    process b2 = {.epoch = 21, .views = 12, .first_fruit = belt};
    mark();
    PASS(20, 4, &a, &b2);
    expect_verdicts(0, 40);
    assert_int_equal(lane()->joined, 1);
    assert_true(lane()->mixed > 0);
}

/* Processes that take fruits in turn are sound: each fruit is of one. */
static void test_fruits_in_turn_are_sound(void **state)
{
    (void)state;
    process a = {.epoch = 10, .views = 15}, b = {.epoch = 20, .views = 15};
    for (int i = 0; i < 50; i++) {
        PASS(1, 4, &a);
        PASS(1, 4, &b);
    }
    assert_int_equal(crn_fruits_get_stats(fruits)->complete, 100);
    assert_int_equal(lane()->joined + lane()->mixed, 0);
}

/* A joined one that begins to send another's views is on its own again. */
static void test_joined_ones_that_send_the_same_part(void **state)
{
    (void)state;
    process a = {.epoch = 10, .views = 3}, b = {.epoch = 20, .views = 12};
    PASS(30, 4, &a, &b);
    assert_int_equal(lane()->joined, 1);
    b.views = 15;
    uint64_t complete = crn_fruits_get_stats(fruits)->complete;
    PASS(30, 4, &a, &b);
    assert_true(crn_fruits_get_stats(fruits)->complete >= complete + 29);
    assert_true(lane()->mixed > 0);
    assert_int_equal(lane()->joined, 1);
}

/* The camera's machine is an hour behind: it takes some seconds. */
static void test_clocks_that_disagree_join_later(void **state)
{
    (void)state;
    process a = {.epoch = 10, .views = 3, .clock_ns = 0}, b = {.epoch = 20, .views = 12};
    now_ns += 10000 * S;
    a.clock_ns = -3600 * S;
    PASS(60, 4, &a, &b);
    PASS(5, 4, &a, &b);
    assert_int_equal(lane()->joined + (lane()->mixed > 0), 1);
}

/* As many epochs as an attacker likes. */
static void test_epochs_without_end(void **state)
{
    (void)state;
    for (uint64_t epoch = 0; epoch < 1000; epoch++) {
        process one = {.epoch = epoch * 7919, .views = 1u << epoch % 8};
        PASS(1, 8, &one);
    }
    assert_int_equal(lane()->joined, 0);
    assert_int_equal(lane()->restarts, 999);
    expect_sums(0);
}

static int set_up_timed(void **state)
{
    belt = 0;
    timed = true;
    return bench_set_up(state);
}

static int set_up_untimed(void **state)
{
    belt = 0;
    timed = false;
    return bench_set_up(state);
}

int main(void)
{
#define TIMED_OR_NOT(test)                                                                         \
    cmocka_unit_test_setup_teardown(test, set_up_timed, bench_tear_down),                          \
        cmocka_unit_test_setup_teardown(test, set_up_untimed, bench_tear_down)
    const struct CMUnitTest tests[] = {
        TIMED_OR_NOT(test_two_cameras_are_joined_within_a_second),
        TIMED_OR_NOT(test_four_cameras_in_any_order),
        TIMED_OR_NOT(test_a_sender_that_restarts_is_not_joined_with_itself),
        TIMED_OR_NOT(test_one_that_restarts_joins_the_others_again),
        TIMED_OR_NOT(test_both_restart),
        TIMED_OR_NOT(test_the_same_views_twice_are_told),
        TIMED_OR_NOT(test_different_numbers_are_told),
        TIMED_OR_NOT(test_numbers_that_part_are_not_mixed),
        TIMED_OR_NOT(test_fruits_in_turn_are_sound),
        TIMED_OR_NOT(test_joined_ones_that_send_the_same_part),
        cmocka_unit_test_setup_teardown(test_clocks_that_disagree_join_later, set_up_timed,
                                        bench_tear_down),
        TIMED_OR_NOT(test_epochs_without_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

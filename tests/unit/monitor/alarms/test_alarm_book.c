/* The alarm list in memory: the states of an alarm, shelving, what is told and for how long. */
#include <errno.h>
#include <string.h>

#include "src/monitor/alarms/book.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/fixture.h"

#define NOW_MS    INT64_C(1764230000000)
#define MINUTE_MS INT64_C(60000)
#define DAY_MS    (1440 * MINUTE_MS)

static crn_alarm_book *book;
static const crn_condition *silent, *no_grader, *viewer; /* critical, critical, notice */

static int set_up(void **state)
{
    (void)state;
    silent = crn_condition_named("lane_silent");
    no_grader = crn_condition_named("no_grader");
    viewer = crn_condition_named("viewer_stuck");
    return crn_alarm_book_create(NOW_MS, &book);
}

static int tear_down(void **state)
{
    (void)state;
    crn_alarm_book_free(&book);
    return 0;
}

static uint64_t raise_at(const crn_condition *row, int64_t lane, int64_t now_ms)
{
    crn_condition_values values = {.lane = lane, .count = 3};
    return crn_alarm_book_raise(book, row, &values, now_ms)->number;
}

/* Raised and ended at once. */
static uint64_t pass(const crn_condition *row, int64_t lane, int64_t now_ms)
{
    uint64_t number = raise_at(row, lane, now_ms);
    crn_alarm_book_clear(book, row, lane, now_ms + 1);
    return number;
}

static void expect_summary(int64_t now_ms, uint64_t open, const char *loudest)
{
    crn_alarm_summary summary = crn_alarm_book_summary(book, now_ms);
    assert_int_equal(summary.open, open);
    assert_string_equal(crn_alarm_loudest(&summary), loudest);
}

static void an_alarm_goes_through_its_states(void **state)
{
    (void)state;
    expect_summary(NOW_MS, 0, "none");
    assert_true(crn_alarm_book_summary(book, NOW_MS).change > NOW_MS); /* of no earlier start */
    uint64_t number = raise_at(silent, 2, NOW_MS);
    const crn_alarm *alarm = crn_alarm_book_find(book, number);
    assert_int_equal(number, 1);
    assert_int_equal(alarm->raised_ms, NOW_MS);
    assert_int_equal(alarm->cleared_ms, 0);
    expect_summary(NOW_MS, 1, "critical");
    crn_alarm_book_clear(book, silent, 2, NOW_MS + 5);
    assert_int_equal(alarm->cleared_ms, NOW_MS + 5);
    expect_summary(NOW_MS + 5, 1, "critical");
    assert_int_equal(crn_alarm_book_acknowledge(book, number, "192.168.0.7", NOW_MS + 9), 1);
    assert_int_equal(alarm->acknowledged_ms, NOW_MS + 9);
    assert_string_equal(alarm->acknowledged_by, "192.168.0.7");
    expect_summary(NOW_MS + 9, 0, "none");
    /* And the other way round. */
    number = raise_at(silent, 2, NOW_MS + 20);
    assert_int_equal(number, 2);
    assert_int_equal(crn_alarm_book_acknowledge(book, number, "local", NOW_MS + 21), 1);
    expect_summary(NOW_MS + 21, 1, "none");
    crn_alarm_book_clear(book, silent, 2, NOW_MS + 22);
    expect_summary(NOW_MS + 22, 0, "none");
}

static void each_row_and_lane_has_alarms_of_its_own(void **state)
{
    (void)state;
    assert_int_equal(raise_at(silent, 2, NOW_MS), 1);
    assert_int_equal(raise_at(silent, 3, NOW_MS), 2);
    assert_int_equal(raise_at(no_grader, -1, NOW_MS), 3);
    assert_int_equal(raise_at(silent, 2, NOW_MS), 1); /* it is active already */
    crn_alarm_book_clear(book, silent, 3, NOW_MS + 1);
    crn_alarm_book_clear(book, silent, 4, NOW_MS + 1); /* was never raised */
    assert_int_equal(crn_alarm_book_find(book, 1)->cleared_ms, 0);
    assert_int_equal(crn_alarm_book_find(book, 2)->cleared_ms, NOW_MS + 1);
    crn_alarm_book_clear(book, silent, 3, NOW_MS + 2); /* has ended already */
    assert_int_equal(crn_alarm_book_find(book, 2)->cleared_ms, NOW_MS + 1);
}

static void an_alarm_is_acknowledged_once(void **state)
{
    (void)state;
    raise_at(silent, 2, NOW_MS);
    assert_int_equal(crn_alarm_book_acknowledge(book, 1, "first", NOW_MS + 1), 1);
    assert_int_equal(crn_alarm_book_acknowledge(book, 1, "second", NOW_MS + 2), 0);
    assert_string_equal(crn_alarm_book_find(book, 1)->acknowledged_by, "first");
    assert_int_equal(crn_alarm_book_acknowledge(book, 0, "x", NOW_MS), -ENOENT);
    assert_int_equal(crn_alarm_book_acknowledge(book, 2, "x", NOW_MS), -ENOENT);
    assert_int_equal(crn_alarm_book_acknowledge(book, 1 + CRN_ALARMS_KEPT, "x", NOW_MS), -ENOENT);
}

/* What was raised after the operator looked stays. */
static void all_up_to_a_number_are_acknowledged(void **state)
{
    (void)state;
    for (int64_t lane = 0; lane < 5; lane++)
        raise_at(silent, lane, NOW_MS);
    crn_alarm_book_acknowledge(book, 2, "x", NOW_MS);
    assert_int_equal(crn_alarm_book_acknowledge_to(book, 4, "local", NOW_MS + 1), 3);
    assert_int_equal(crn_alarm_book_find(book, 5)->acknowledged_ms, 0);
    expect_summary(NOW_MS + 1, 5, "critical");
}

static void the_worst_unacknowledged_is_the_loudest(void **state)
{
    (void)state;
    raise_at(viewer, -1, NOW_MS);
    expect_summary(NOW_MS, 1, "notice");
    raise_at(crn_condition_named("clock_jump"), -1, NOW_MS);
    expect_summary(NOW_MS, 2, "warning");
    raise_at(silent, 1, NOW_MS);
    expect_summary(NOW_MS, 3, "critical");
    crn_alarm_book_acknowledge(book, 3, "x", NOW_MS);
    expect_summary(NOW_MS, 3, "warning");
}

static void shelving_holds_for_the_row_and_lane(void **state)
{
    (void)state;
    pass(silent, 2, NOW_MS);
    pass(silent, 2, NOW_MS + 10);
    raise_at(silent, 3, NOW_MS + 20);
    expect_summary(NOW_MS + 20, 3, "critical");
    assert_int_equal(crn_alarm_book_shelve(book, 1, 30, NOW_MS + 30), 2);
    expect_summary(NOW_MS + 30, 1, "critical");
    crn_alarm_book_acknowledge(book, 3, "x", NOW_MS + 30);
    /* It comes again: that is recorded, and not told. */
    uint64_t again = raise_at(silent, 2, NOW_MS + MINUTE_MS);
    assert_int_equal(again, 4);
    assert_true(crn_alarm_is_shelved(crn_alarm_book_find(book, again), NOW_MS + MINUTE_MS));
    expect_summary(NOW_MS + MINUTE_MS, 1, "none");
    /* The end: what is active is told, and so is what was never acknowledged. */
    expect_summary(NOW_MS + 30 + 30 * MINUTE_MS - 1, 1, "none");
    expect_summary(NOW_MS + 30 + 30 * MINUTE_MS, 4, "critical");
    crn_alarm_book_clear(book, silent, 2, NOW_MS + 40 * MINUTE_MS);
    assert_int_equal(
        crn_alarm_book_find(book, raise_at(silent, 2, NOW_MS + 41 * MINUTE_MS))->shelved_until_ms,
        0);
}

static void shelving_is_ended_and_renewed(void **state)
{
    (void)state;
    raise_at(silent, 2, NOW_MS);
    assert_int_equal(crn_alarm_book_shelve(book, 7, 30, NOW_MS), -ENOENT);
    assert_int_equal(crn_alarm_book_shelve(book, 1, 0, NOW_MS), 0);
    assert_int_equal(crn_alarm_book_shelve(book, 1, 30, NOW_MS), 1);
    assert_int_equal(crn_alarm_book_shelve(book, 1, 1, NOW_MS + 1), 1);
    expect_summary(NOW_MS + MINUTE_MS, 0, "none");
    expect_summary(NOW_MS + MINUTE_MS + 1, 1, "critical");
    assert_int_equal(crn_alarm_book_shelve(book, 1, 5, NOW_MS + 2 * MINUTE_MS), 1);
    expect_summary(NOW_MS + 2 * MINUTE_MS, 0, "none");
    assert_int_equal(crn_alarm_book_shelve(book, 1, 0, NOW_MS + 3 * MINUTE_MS), 1);
    expect_summary(NOW_MS + 3 * MINUTE_MS, 1, "critical");
}

/* An alarm that is long over and acknowledged is shelved for the times to come. */
static void an_alarm_that_is_over_can_be_shelved(void **state)
{
    (void)state;
    pass(silent, 2, NOW_MS);
    crn_alarm_book_acknowledge(book, 1, "x", NOW_MS);
    assert_int_equal(crn_alarm_book_shelve(book, 1, 30, NOW_MS + MINUTE_MS), 1);
    raise_at(silent, 2, NOW_MS + 2 * MINUTE_MS);
    expect_summary(NOW_MS + 2 * MINUTE_MS, 0, "none");
}

static void a_clock_that_is_set_back_shelves_no_longer_than_can_be_asked(void **state)
{
    (void)state;
    raise_at(silent, 2, NOW_MS);
    crn_alarm_book_shelve(book, 1, CRN_ALARM_SHELVE_MINUTES, NOW_MS);
    expect_summary(NOW_MS, 0, "none");
    expect_summary(NOW_MS - DAY_MS, 1, "critical");
}

/* A page looks again when the number has changed, and only then. */
static void the_change_moves_when_something_else_is_shown(void **state)
{
    (void)state;
    uint64_t change = crn_alarm_book_summary(book, NOW_MS).change;
#define MOVES(now_ms, moves)                                                                       \
    do {                                                                                           \
        uint64_t then = crn_alarm_book_summary(book, now_ms).change;                               \
        assert_int_equal(then != change, moves);                                                   \
        change = then;                                                                             \
    } while (0)
    MOVES(NOW_MS + 1, false);
    raise_at(silent, 2, NOW_MS);
    MOVES(NOW_MS + 1, true);
    MOVES(NOW_MS + 2, false);
    crn_alarm_book_shelve(book, 1, 1, NOW_MS + 2);
    MOVES(NOW_MS + 2, true);
    MOVES(NOW_MS + MINUTE_MS, false);
    MOVES(NOW_MS + MINUTE_MS + 2, true);
    crn_alarm_book_clear(book, silent, 2, NOW_MS + DAY_MS);
    MOVES(NOW_MS + DAY_MS, true);
    MOVES(NOW_MS + 30 * DAY_MS, false);
    MOVES(NOW_MS + 31 * DAY_MS, true); /* it is told no more */
    crn_alarm_book_acknowledge_to(book, 1, "x", NOW_MS + 31 * DAY_MS);
    MOVES(NOW_MS + 31 * DAY_MS, false);
#undef MOVES
}

static void what_is_over_is_told_for_thirty_days(void **state)
{
    (void)state;
    uint64_t over = pass(silent, 2, NOW_MS), active = raise_at(silent, 3, NOW_MS);
    int64_t last_ms = NOW_MS + 1 + 30 * DAY_MS - 1;
    assert_true(crn_alarm_is_told(crn_alarm_book_find(book, over), last_ms));
    expect_summary(last_ms, 2, "critical");
    assert_false(crn_alarm_is_told(crn_alarm_book_find(book, over), last_ms + 1));
    assert_true(crn_alarm_is_told(crn_alarm_book_find(book, active), last_ms + 100 * DAY_MS));
    expect_summary(last_ms + 1, 1, "critical");
    assert_int_equal(crn_alarm_book_acknowledge(book, over, "x", last_ms + 1), -ENOENT);
    assert_int_equal(crn_alarm_book_shelve(book, over, 5, last_ms + 1), -ENOENT);
}

static void the_oldest_make_room(void **state)
{
    (void)state;
    for (uint64_t number = 1; number <= CRN_ALARMS_KEPT; number++)
        assert_int_equal(pass(silent, (int64_t)number % 7, NOW_MS + (int64_t)number), number);
    assert_int_equal(crn_alarm_book_oldest(book), 1);
    assert_non_null(crn_alarm_book_find(book, 1));
    assert_int_equal(raise_at(silent, 100, NOW_MS), CRN_ALARMS_KEPT + 1);
    assert_null(crn_alarm_book_find(book, 1));
    assert_int_equal(crn_alarm_book_oldest(book), 2);
    assert_int_equal(crn_alarm_book_newest(book), CRN_ALARMS_KEPT + 1);
    expect_summary(NOW_MS, CRN_ALARMS_KEPT, "critical");
    crn_alarm_book_clear(book, silent, 100, NOW_MS + 1);
    assert_int_equal(crn_alarm_book_acknowledge_to(book, UINT64_MAX, "x", NOW_MS), CRN_ALARMS_KEPT);
    expect_summary(NOW_MS, 0, "none");
}

static void a_restart_goes_on_with_the_list(void **state)
{
    (void)state;
    crn_alarm earlier = {.number = 41,
                         .row = silent,
                         .values = {.lane = 2},
                         .raised_ms = NOW_MS - 9,
                         .shelved_until_ms = NOW_MS + MINUTE_MS};
    crn_alarm_book_restore(book, &earlier);
    earlier.number = 40;
    crn_alarm_book_restore(book, &earlier);
    crn_alarm_book_clear_all(book, NOW_MS);
    assert_int_equal(crn_alarm_book_find(book, 41)->cleared_ms, NOW_MS);
    assert_int_equal(raise_at(silent, 2, NOW_MS + 1), 42);
    expect_summary(NOW_MS + 1, 0, "none"); /* shelved as before */
    expect_summary(NOW_MS + MINUTE_MS, 3, "critical");
}

static void each_change_is_taken_once(void **state)
{
    (void)state;
    crn_alarm alarm;
    uint32_t at = 0;
    assert_false(crn_alarm_book_take_changed(book, &at, &alarm));
    pass(silent, 2, NOW_MS);
    raise_at(no_grader, -1, NOW_MS);
    at = 0;
    assert_true(crn_alarm_book_take_changed(book, &at, &alarm));
    assert_int_equal(alarm.number, 1);
    assert_int_equal(alarm.cleared_ms, NOW_MS + 1);
    /* Changed again behind the round: for the next one. */
    crn_alarm_book_acknowledge(book, 1, "x", NOW_MS);
    assert_true(crn_alarm_book_take_changed(book, &at, &alarm));
    assert_int_equal(alarm.number, 2);
    assert_false(crn_alarm_book_take_changed(book, &at, &alarm));
    at = 0;
    assert_true(crn_alarm_book_take_changed(book, &at, &alarm));
    assert_int_equal(alarm.acknowledged_ms, NOW_MS);
    assert_false(crn_alarm_book_take_changed(book, &at, &alarm));
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(an_alarm_goes_through_its_states),
        cmocka_unit_test(each_row_and_lane_has_alarms_of_its_own),
        cmocka_unit_test(an_alarm_is_acknowledged_once),
        cmocka_unit_test(all_up_to_a_number_are_acknowledged),
        cmocka_unit_test(the_worst_unacknowledged_is_the_loudest),
        cmocka_unit_test(shelving_holds_for_the_row_and_lane),
        cmocka_unit_test(shelving_is_ended_and_renewed),
        cmocka_unit_test(an_alarm_that_is_over_can_be_shelved),
        cmocka_unit_test(a_clock_that_is_set_back_shelves_no_longer_than_can_be_asked),
        cmocka_unit_test(the_change_moves_when_something_else_is_shown),
        cmocka_unit_test(what_is_over_is_told_for_thirty_days),
        cmocka_unit_test(the_oldest_make_room),
        cmocka_unit_test(a_restart_goes_on_with_the_list),
        cmocka_unit_test(each_change_is_taken_once),
    };
    CRN_SET_FIXTURE(tests, set_up, tear_down);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

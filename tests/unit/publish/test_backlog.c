/* The grader's backlog is bounded, and the number of
 * possibly lost verdicts is never underestimated. */
#include <errno.h>
#include <string.h>

#include "src/publish/backlog.h"
#include "tests/support/cmocka_prelude.h"

#define DOUBT_NS 1000

static size_t push(crn_backlog *backlog, uint32_t number, size_t bytes)
{
    crn_waiting item = {.stale_at = number, .deadline_ns = number, .lane = number};
    assert_int_equal(zmq_msg_init_size(&item.body, bytes), 0);
    memset(zmq_msg_data(&item.body), (int)number, bytes);
    return crn_backlog_push(backlog, &item);
}

/* Sends the oldest as libzmq does, which leaves an empty message. */
static void send_front(crn_backlog *backlog, bool counted, int64_t now_ns)
{
    zmq_msg_t taken;
    zmq_msg_init(&taken);
    zmq_msg_move(&taken, &crn_backlog_front(backlog)->body);
    crn_backlog_sent(backlog, counted, now_ns);
    zmq_msg_close(&taken);
}

static void expect_front(crn_backlog *backlog, uint32_t number, size_t bytes)
{
    crn_waiting *front = crn_backlog_front(backlog);
    assert_non_null(front);
    assert_int_equal(front->lane, number);
    assert_int_equal(front->stale_at, number);
    assert_int_equal(front->deadline_ns, number);
    assert_int_equal(zmq_msg_size(&front->body), bytes);
    unsigned char *body = zmq_msg_data(&front->body);
    assert_int_equal(body[0], number);
    assert_int_equal(body[bytes - 1], number);
}

static void test_a_full_one_drops_its_oldest(void **state)
{
    (void)state;
    crn_backlog *backlog = NULL;
    assert_int_equal(crn_backlog_create(3, 1 << 20, DOUBT_NS, &backlog), 0);
    assert_null(crn_backlog_front(backlog));
    for (uint32_t number = 1; number <= 3; number++)
        assert_int_equal(push(backlog, number, 100), 0);
    assert_int_equal(push(backlog, 4, 100), 1);
    assert_int_equal(push(backlog, 5, 100), 1);
    assert_int_equal(crn_backlog_count(backlog), 3);
    for (uint32_t number = 3; number <= 5; number++) {
        expect_front(backlog, number, 100);
        send_front(backlog, false, 0);
    }
    assert_null(crn_backlog_front(backlog));
    crn_backlog_free(&backlog);
    assert_null(backlog);
    crn_backlog_free(&backlog);
}

static void test_bytes_are_bounded_too(void **state)
{
    (void)state;
    crn_backlog *backlog = NULL;
    assert_int_equal(crn_backlog_create(100, 1000, DOUBT_NS, &backlog), 0);
    assert_int_equal(push(backlog, 1, 400), 0);
    assert_int_equal(push(backlog, 2, 400), 0);
    assert_int_equal(push(backlog, 3, 200), 0);
    assert_int_equal(push(backlog, 4, 401), 2); /* dropping 1 alone would not suffice */
    expect_front(backlog, 3, 200);
    assert_int_equal(push(backlog, 5, 5000), 2); /* at least one is always kept, however large */
    expect_front(backlog, 5, 5000);
    send_front(backlog, false, 0);
    /* A sent verdict no longer counts. */
    assert_int_equal(push(backlog, 6, 1000), 0);
    expect_front(backlog, 6, 1000);
    crn_backlog_free(&backlog); /* with one verdict left */
}

static void send_many(crn_backlog *backlog, uint32_t count, int64_t now_ns)
{
    for (uint32_t i = 0; i < count; i++) {
        push(backlog, 1, 1);
        send_front(backlog, false, now_ns);
    }
}

static void test_recent_sends_are_doubtful_once(void **state)
{
    (void)state;
    crn_backlog *backlog = NULL;
    assert_int_equal(crn_backlog_create(3, 1000, DOUBT_NS, &backlog), 0);
    assert_int_equal(crn_backlog_count_doubtful(backlog, 0), 0);
    send_many(backlog, 5, 999);
    send_many(backlog, 3, 1000);
    send_many(backlog, 2, 1500);
    assert_int_equal(crn_backlog_count_doubtful(backlog, 2000), 5); /* since 1000 */
    assert_int_equal(crn_backlog_count_doubtful(backlog, 2000), 0);
    send_many(backlog, 4, 2000);
    assert_int_equal(crn_backlog_count_doubtful(backlog, 3001), 0);
    crn_backlog_free(&backlog);
}

/* Verdicts counted when sent, between two graders, are not counted again with the next. */
static void test_what_is_counted_already_is_left_out(void **state)
{
    (void)state;
    crn_backlog *backlog = NULL;
    assert_int_equal(crn_backlog_create(3, 1000, DOUBT_NS, &backlog), 0);
    for (uint32_t i = 0; i < 5; i++) {
        push(backlog, i, 1);
        send_front(backlog, i % 2 == 0, 1500);
    }
    assert_int_equal(crn_backlog_count(backlog), 0);
    assert_int_equal(crn_backlog_count_doubtful(backlog, 2000), 2);
    assert_int_equal(crn_backlog_count_doubtful(backlog, 2000), 0);
    crn_backlog_free(&backlog);
}

static void test_what_a_stuck_grader_got_is_doubtful(void **state)
{
    (void)state;
    crn_backlog *backlog = NULL;
    assert_int_equal(crn_backlog_create(3, 1000, DOUBT_NS, &backlog), 0);
    send_many(backlog, 7, 3999);
    send_many(backlog, 4, 4000);
    for (int64_t now_ns = 5000; now_ns <= 20000; now_ns += 500)
        crn_backlog_blocked(backlog, now_ns);
    assert_int_equal(crn_backlog_count_doubtful(backlog, 21000), 4); /* since 5000 - DOUBT_NS */

    /* Sending has worked for long enough: only the last ones are in doubt. */
    send_many(backlog, 4, 30000);
    crn_backlog_blocked(backlog, 30500);
    send_many(backlog, 2, 31600);
    assert_int_equal(crn_backlog_count_doubtful(backlog, 31600), 2);
    crn_backlog_free(&backlog);
}

static void test_more_sends_than_remembered_are_all_doubtful(void **state)
{
    (void)state;
    crn_backlog *backlog = NULL;
    assert_int_equal(crn_backlog_create(3, 1000, DOUBT_NS, &backlog), 0);
    send_many(backlog, 10000, 50);
    assert_int_equal(crn_backlog_count_doubtful(backlog, 100), 10000);
    crn_backlog_free(&backlog);
}

static void test_no_place_is_refused(void **state)
{
    (void)state;
    crn_backlog *backlog = NULL;
    assert_int_equal(crn_backlog_create(0, 1000, DOUBT_NS, &backlog), -EINVAL);
    assert_null(backlog);
    crn_backlog_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_full_one_drops_its_oldest),
        cmocka_unit_test(test_bytes_are_bounded_too),
        cmocka_unit_test(test_recent_sends_are_doubtful_once),
        cmocka_unit_test(test_what_is_counted_already_is_left_out),
        cmocka_unit_test(test_what_a_stuck_grader_got_is_doubtful),
        cmocka_unit_test(test_more_sends_than_remembered_are_all_doubtful),
        cmocka_unit_test(test_no_place_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

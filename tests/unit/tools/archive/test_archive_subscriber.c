/* An archive of what viewers get: each verdict once, and what did not arrive is counted. */
#include "tools/archive/subscriber.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <zmq.h>

#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/archived.h"
#include "tests/support/parts/logged.h"
#include "tests/support/peers/peer.h"
#include "tools/archive/rows/tables.h"

#define LANE      2
#define VERDICTS  UINT64_C(500) /* below the limit of what libzmq queues for a viewer */
#define LOST_FROM 100
#define LOST      7

typedef struct subscribed {
    void *zmq, *publisher;
    crn_encoder *encoder;
    crn_random random;
    crn_made_sums sums;
    crn_archive archive;
    crn_archive_tables tables;
    crn_subscriber *subscriber;
} subscribed;

static char told[1024];

static void tell(const char *line)
{
    snprintf(told, sizeof told, "%s", line);
}

static int set_up(void **state)
{
    static subscribed f;
    f = (subscribed){.random = {crn_random_seed()}};
    char endpoint[64], topic[16];
    size_t size = sizeof endpoint;
    crn_error error;
    archived_setup(state);
    f.zmq = zmq_ctx_new();
    f.publisher = zmq_socket(f.zmq, ZMQ_XPUB);
    assert_int_equal(zmq_bind(f.publisher, "tcp://127.0.0.1:*"), 0);
    assert_int_equal(zmq_getsockopt(f.publisher, ZMQ_LAST_ENDPOINT, endpoint, &size), 0);
    assert_int_equal(crn_encoder_create(CRN_FORMAT_MSGPACK, &f.encoder), 0);
    assert_int_equal(crn_archive_open(&f.archive, archived_path, &error), 0);
    assert_int_equal(crn_archive_tables_init(&f.tables, &f.archive, &error), 0);
    crn_subscriber_settings settings = {.endpoint = endpoint, .tell = tell};
    assert_int_equal(crn_subscriber_open(&f.tables.destination, &settings, &f.subscriber, &error),
                     0);
    for (int subscriptions = 0; subscriptions < 2; subscriptions++)
        assert_true(zmq_recv(f.publisher, topic, sizeof topic, 0) > 0);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    subscribed *f = *state;
    crn_subscriber_close(&f->subscriber);
    crn_archive_close(&f->archive);
    crn_encoder_free(&f->encoder);
    zmq_close(f->publisher);
    zmq_ctx_term(f->zmq);
    return logged_teardown(state);
}

static void send_message(const subscribed *f, const char *topic, const void *bytes, size_t size)
{
    assert_true(zmq_send(f->publisher, topic, strlen(topic), ZMQ_SNDMORE) >= 0);
    assert_true(zmq_send(f->publisher, bytes, size, 0) >= 0);
}

static void send_verdicts(subscribed *f, uint64_t from, uint64_t to)
{
    for (uint64_t sequence = from; sequence < to; sequence++) {
        const unsigned char *bytes;
        size_t size;
        crn_made_verdict(f->encoder, &f->random,
                         &(crn_made_facts){CRN_ARCHIVED_RUN, LANE, sequence}, &f->sums, &bytes,
                         &size);
        send_message(f, "fruit/2", bytes, size);
    }
}

static void step_until(const subscribed *f, const uint64_t *counter, uint64_t value)
{
    int64_t until_ns = crn_now_ns() + CRN_PEER_WAIT_MS * CRN_NS_PER_MS;
    crn_error error;
    while (*counter < value) {
        assert_true(crn_now_ns() < until_ns);
        if (crn_subscriber_step(f->subscriber, &error) < 0)
            fail_msg("%s", error.text);
    }
    assert_int_equal(*counter, value);
}

static void what_arrives_is_archived(void **state)
{
    subscribed *f = *state;
    const crn_intake_stats *stats = crn_subscriber_get_stats(f->subscriber);
    send_verdicts(f, 0, LOST_FROM);
    send_message(f, "status", "{\"run\":\"a\"}", 11);
    send_verdicts(f, LOST_FROM + LOST, VERDICTS);
    step_until(f, &stats->added, VERDICTS - LOST);
    assert_int_equal(stats->missing, LOST);
    assert_int_equal(stats->known + stats->unreadable, 0);
    archived_expect_sums(&f->sums);
    assert_true(archived_ask("SELECT first FROM gaps") == LOST_FROM);
    assert_true(archived_ask("SELECT last FROM gaps") == LOST_FROM + LOST - 1);
}

static void what_comes_again_is_not_doubled(void **state)
{
    subscribed *f = *state;
    const crn_intake_stats *stats = crn_subscriber_get_stats(f->subscriber);
    send_verdicts(f, 0, 20);
    step_until(f, &stats->added, 20);
    crn_made_sums sums = f->sums;
    send_verdicts(f, 0, 20);
    step_until(f, &stats->known, 20);
    archived_expect_sums(&sums);
}

static void what_is_no_verdict_is_passed_over(void **state)
{
    subscribed *f = *state;
    const crn_intake_stats *stats = crn_subscriber_get_stats(f->subscriber);
    send_message(f, "fruit/2", "{\"v\":1}", 7);
    send_verdicts(f, 0, 10);
    step_until(f, &stats->added, 10);
    assert_int_equal(stats->unreadable, 1);
    assert_non_null(strstr(told, "'run' is missing"));
    archived_expect_sums(&f->sums);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    crn_log_set_level(CRN_LOG_ERROR);
    const struct CMUnitTest tests[] = {
        TEST(what_arrives_is_archived),
        TEST(what_comes_again_is_not_doubled),
        TEST(what_is_no_verdict_is_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Verdicts through real loopback sockets: losses are always counted, no peer is waited for, and the
 * descriptors signal everything that service left to do.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <zmq.h>

#include "tests/support/line/log_capture.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/peers/decode.h"
#include "tests/support/peers/peer.h"
#include "tests/support/parts/publishing.h"

static void test_each_socket_has_its_format(void **state)
{
    crn_publishing *f = *state;
    f->config.publish.viewers.format = CRN_FORMAT_JSON;
    crn_publishing_open(f);
    void *grader = crn_publishing_grader(f);
    void *viewer = crn_publishing_viewer(f, "fruit/7");
    crn_publishing_serve_until(f, &crn_publishing_stats(f)->graders, 1);
    crn_publishing_serve_viewers(f, &crn_publishing_stats(f)->viewer_subscriptions, 1);
    crn_publishing_give(f);
    crn_peer_message *packed = crn_peer_message_new(), *json = crn_peer_message_new();
    const msgpack_object *verdict = crn_peer_receive_map(grader, packed);
    assert_string_equal(packed->topic, "fruit/7");
    crn_expect_text(crn_decoded_field(verdict, "run"), crn_publish_run(f->publish));
    crn_expect_unsigned(crn_decoded_field(verdict, "lane"), CRN_PUBLISHING_LANE);
    crn_expect_text(crn_decoded_field(verdict, "verdict"), "complete");
    crn_expect_bool(crn_decoded_field(verdict, "stale"), false);
    crn_expect_items(crn_decoded_field(verdict, "defects"), 1);
    crn_peer_receive(viewer, json);
    assert_string_equal(json->topic, "fruit/7");
    yajl_val tree = yajl_tree_parse(json->bytes, NULL, 0);
    assert_non_null(tree);
    crn_expect_same(verdict, tree);
    yajl_tree_free(tree);
    const crn_published *last = crn_publish_last(f->publish);
    assert_int_equal(last->grader_bytes, packed->size);
    assert_int_equal(last->msgpack.size, packed->size);
    assert_memory_equal(last->msgpack.bytes, packed->bytes, packed->size);
    crn_peer_message_free(packed);
    crn_peer_message_free(json);
}

/* A poller of the descriptors sleeps when there is nothing to do. */
static void test_descriptors_fall_silent(void **state)
{
    crn_publishing *f = *state;
    crn_publishing_open(f);
    crn_publishing_grader(f);
    crn_publishing_viewer(f, "");
    crn_publishing_serve_until(f, &crn_publishing_stats(f)->graders, 1);
    crn_publishing_serve_viewers(f, &crn_publishing_stats(f)->viewer_subscriptions, 1);
    int descriptors[2];
    int count = crn_publish_descriptors(f->publish, descriptors);
    struct pollfd items[2];
    for (int i = 0; i < count; i++)
        items[i] = (struct pollfd){.fd = descriptors[i], .events = POLLIN};
    int rounds = 0;
    while (poll(items, (nfds_t)count, 0) > 0) {
        crn_publish_service(f->publish, "running", f->now_ns);
        assert_true(++rounds < 1000);
    }
}

static void test_without_a_grader_verdicts_wait(void **state)
{
    crn_publishing *f = *state;
    crn_publishing_open(f);
    f->budget_ns = 10;
    crn_publishing_give(f);
    f->budget_ns = 1000;
    crn_publishing_give(f);
    assert_int_equal(crn_publishing_stats(f)->waiting, 2);
    assert_int_equal(crn_publishing_stats(f)->sent, 0);
    f->now_ns += 1000; /* the first one's deadline is past, the second one's is not */
    void *grader = crn_publishing_grader(f);
    crn_publishing_serve_peer(f, grader);
    crn_peer_message *m = crn_peer_message_new();
    for (uint64_t sequence = 0; sequence < 2; sequence++) {
        assert_int_equal(crn_peer_receive_sequence(grader, m), sequence);
        crn_expect_bool(crn_decoded_field(&m->unpacked.data, "stale"), sequence == 0);
    }
    assert_int_equal(crn_publishing_stats(f)->waiting, 0);
    assert_int_equal(crn_publishing_stats(f)->sent, 2);
    assert_int_equal(crn_publishing_stats(f)->stale, 1);
    assert_int_equal(crn_publishing_stats(f)->dropped, 0);

    /* Verdicts sent long ago have arrived. */
    f->now_ns += CRN_PUBLISH_DOUBT_NS + 1;
    crn_log_capture log;
    crn_log_capture_start(&log);
    crn_publishing_leave(f, grader);
    crn_publishing_serve_until(f, &crn_publishing_stats(f)->graders, 0);
    assert_non_null(
        strstr(crn_log_capture_stop(&log), ", 0 remain; no verdict was in transit to it\n"));
    assert_int_equal(crn_publishing_stats(f)->possibly_lost, 0);
    crn_peer_message_free(m);
}

/* A deadline already past before the verdict: a late view, or a late line. */
static void test_a_verdict_past_its_deadline_is_stale_for_all(void **state)
{
    crn_publishing *f = *state;
    crn_publishing_open(f);
    void *readers[] = {crn_publishing_grader(f), crn_publishing_viewer(f, "fruit/7")};
    crn_publishing_serve_until(f, &crn_publishing_stats(f)->graders, 1);
    crn_publishing_serve_viewers(f, &crn_publishing_stats(f)->viewer_subscriptions, 1);
    f->budget_ns = -1;
    crn_publishing_give(f);
    f->budget_ns = 0; /* due now is not past */
    crn_publishing_give(f);
    crn_peer_message *m = crn_peer_message_new();
    for (int reader = 0; reader < 2; reader++) {
        for (uint64_t sequence = 0; sequence < 2; sequence++) {
            assert_int_equal(crn_peer_receive_sequence(readers[reader], m), sequence);
            const msgpack_object *verdict = &m->unpacked.data;
            crn_expect_bool(crn_decoded_field(verdict, "stale"), sequence == 0);
            int64_t left_ns = (int64_t)(crn_decoded_field(verdict, "deadline_ns")->via.u64 -
                                        crn_decoded_field(verdict, "published_ns")->via.u64);
            assert_int_equal(left_ns, sequence == 0 ? -1 : 0);
        }
    }
    assert_int_equal(crn_publishing_stats(f)->stale, 1);
    crn_peer_message_free(m);
}

static void test_a_full_queue_drops_its_oldest(void **state)
{
    crn_publishing *f = *state;
    f->config.publish.grader.high_water_mark = 5;
    crn_publishing_open(f);
    for (int i = 0; i < 8; i++)
        crn_publishing_give(f);
    assert_int_equal(crn_publishing_stats(f)->dropped, 3);
    assert_int_equal(crn_publishing_stats(f)->waiting, 5);
    void *grader = crn_publishing_grader(f);
    crn_publishing_serve_peer(f, grader);
    crn_peer_message *m = crn_peer_message_new();
    for (uint64_t sequence = 3; sequence < 8; sequence++)
        assert_int_equal(crn_peer_receive_sequence(grader, m), sequence);
    crn_peer_message_free(m);
}

/* What a departed grader had not read is lost, but all of it is counted. */
static void test_a_grader_that_leaves_and_returns(void **state)
{
    crn_publishing *f = *state;
    enum { VERDICTS = 120, READ = 30 };
    f->points = CRN_PUBLISHING_POINTS; /* 160 kB each: most still wait when it leaves */
    crn_publishing_open(f);
    void *grader = crn_publishing_connect(f, ZMQ_PULL, CRN_OUTLET_GRADER, true);
    crn_publishing_serve_until(f, &crn_publishing_stats(f)->graders, 1);
    for (int i = 0; i < VERDICTS; i++)
        crn_publishing_give(f);
    crn_peer_message *m = crn_peer_message_new();
    bool seen[VERDICTS] = {false};
    for (uint64_t i = 0; i < READ; i++) {
        crn_publishing_serve_peer(f, grader);
        assert_int_equal(crn_peer_receive_sequence(grader, m), i);
        seen[i] = true;
    }
    crn_publishing_leave(f, grader);
    crn_publishing_serve_until(f, &crn_publishing_stats(f)->graders, 0);
    assert_int_equal(crn_publishing_stats(f)->grader_disconnects, 1);
    uint64_t sent_before = crn_publishing_stats(f)->sent;
    assert_true(crn_publishing_stats(f)->possibly_lost >= sent_before - READ);
    assert_true(sent_before < VERDICTS);

    grader = crn_publishing_grader(f);
    uint64_t last = READ - 1;
    do {
        crn_publishing_serve_peer(f, grader);
        uint64_t sequence = crn_peer_receive_sequence(grader, m);
        assert_true(sequence > last && sequence < VERDICTS);
        seen[sequence] = true;
        last = sequence;
    } while (last < VERDICTS - 1);
    uint64_t missing = 0;
    for (int i = 0; i < VERDICTS; i++)
        missing += !seen[i];
    assert_int_equal(crn_publishing_stats(f)->sent, VERDICTS);
    assert_int_equal(crn_publishing_stats(f)->dropped, 0);
    assert_true(missing <= crn_publishing_stats(f)->possibly_lost);
    crn_peer_message_free(m);
}

typedef struct churn {
    void *zmq;
    const char *endpoint;
    atomic_bool over, ended;
} churn;

static void *come_and_go(void *argument)
{
    churn *it = argument;
    crn_peer_message *m = crn_peer_message_new();
    while (!it->over) {
        void *grader = crn_peer_connect(it->zmq, ZMQ_PULL, false, it->endpoint);
        crn_peer_receive(grader, m);
        zmq_close(grader);
    }
    crn_peer_message_free(m);
    it->ended = true;
    return NULL;
}

/* The clock stands still, so without a grader every verdict sent is in doubt, and counted once,
 * including those that libzmq accepted between two graders. */
static void test_what_is_lost_between_graders_is_counted_once(void **state)
{
    crn_publishing *f = *state;
    enum { DEPARTURES = 200 };
    crn_publishing_open(f);
    churn coming = {.zmq = f->zmq, .endpoint = crn_publish_endpoint(f->publish, CRN_OUTLET_GRADER)};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, come_and_go, &coming), 0);
    while (!coming.ended) { /* a grader stays until it has a verdict */
        crn_publishing_give(f);
        coming.over = crn_publishing_stats(f)->grader_disconnects >= DEPARTURES;
    }
    pthread_join(thread, NULL);
    crn_publishing_serve_until(f, &crn_publishing_stats(f)->graders, 0);
    assert_int_equal(crn_publishing_stats(f)->possibly_lost, crn_publishing_stats(f)->sent);
}

static void test_a_second_grader_is_counted(void **state)
{
    crn_publishing *f = *state;
    crn_publishing_open(f);
    void *first = crn_publishing_grader(f);
    crn_publishing_serve_until(f, &crn_publishing_stats(f)->graders, 1);
    assert_int_equal(crn_publishing_stats(f)->extra_graders, 0);
    void *second = crn_publishing_grader(f);
    crn_publishing_serve_until(f, &crn_publishing_stats(f)->graders, 2);
    assert_int_equal(crn_publishing_stats(f)->extra_graders, 1);

    crn_publishing_leave(f, second);
    crn_publishing_serve_until(f, &crn_publishing_stats(f)->graders, 1);
    assert_int_equal(crn_publishing_stats(f)->grader_disconnects, 1);
    crn_publishing_leave(f, first);
    crn_publishing_serve_until(f, &crn_publishing_stats(f)->graders, 0);
    assert_int_equal(crn_publishing_stats(f)->grader_disconnects, 2);
    assert_int_equal(crn_publishing_stats(f)->grader_connects, 2);
}

/* A port scanner or a browser on the grader's port is not a grader and gets no verdict. */
static void test_what_speaks_no_zeromq_gets_no_verdict(void **state)
{
    crn_publishing *f = *state;
    crn_publishing_open(f);
    int port = atoi(strrchr(crn_publish_endpoint(f->publish, CRN_OUTLET_GRADER), ':') + 1);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int browser = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(browser, (struct sockaddr *)&address, sizeof address), 0);
    static const char request[] = "GET / HTTP/1.1\r\nHost: grader\r\n\r\n";
    assert_int_equal(send(browser, request, sizeof request, 0), sizeof request);
    crn_publishing_serve_until(f, &crn_publishing_stats(f)->refused, 1);
    close(browser);
    crn_publishing_give(f);
    assert_int_equal(crn_publishing_stats(f)->sent, 0);
    assert_int_equal(crn_publishing_stats(f)->waiting, 1);
    assert_int_equal(crn_publishing_stats(f)->graders, 0);
    assert_int_equal(crn_publishing_stats(f)->grader_connects, 0);
    assert_int_equal(crn_publishing_stats(f)->grader_disconnects, 0);
    void *grader = crn_publishing_grader(f);
    crn_publishing_serve_peer(f, grader);
    crn_peer_message *m = crn_peer_message_new();
    assert_int_equal(crn_peer_receive_sequence(grader, m), 0);
    crn_peer_message_free(m);
}

/* A viewer connected to the grader's port by mistake does not count as a grader. */
static void test_a_viewer_at_the_graders_port_is_no_grader(void **state)
{
    crn_publishing *f = *state;
    crn_publishing_open(f);
    void *grader = crn_publishing_grader(f);
    crn_publishing_serve_until(f, &crn_publishing_stats(f)->graders, 1);
    void *lost = crn_publishing_connect(f, ZMQ_SUB, CRN_OUTLET_GRADER, false);
    crn_publishing_serve_until(f, &crn_publishing_stats(f)->refused, 1);
    crn_publishing_leave(f, lost);
    assert_int_equal(crn_publishing_stats(f)->graders, 1);
    assert_int_equal(crn_publishing_stats(f)->grader_connects, 1);
    assert_int_equal(crn_publishing_stats(f)->grader_disconnects, 0);
    crn_publishing_leave(f, grader);
    crn_publishing_serve_until(f, &crn_publishing_stats(f)->graders, 0);
    assert_int_equal(crn_publishing_stats(f)->grader_disconnects, 1);
}

static void test_a_viewer_that_stops_reading_holds_nobody(void **state)
{
    crn_publishing *f = *state;
    enum { VERDICTS = 400 };
    f->points = 2500; /* 8 MB in all: more than the kernel buffers for the stopped one */
    f->config.publish.viewers.high_water_mark = 4;
    crn_publishing_open(f);
    void *grader = crn_publishing_grader(f);
    void *stuck = crn_publishing_connect(f, ZMQ_SUB, CRN_OUTLET_VIEWERS, true);
    zmq_setsockopt(stuck, ZMQ_SUBSCRIBE, "", 0);
    void *viewer = crn_publishing_viewer(f, "fruit/7");
    crn_publishing_serve_until(f, &crn_publishing_stats(f)->graders, 1);
    crn_publishing_serve_viewers(f, &crn_publishing_stats(f)->viewer_subscriptions, 2);
    crn_peer_message *m = crn_peer_message_new();
    for (uint64_t sequence = 0; sequence < VERDICTS; sequence++) {
        crn_publishing_give(f);
        assert_int_equal(crn_peer_receive_sequence(viewer, m), sequence);
        assert_int_equal(crn_peer_receive_sequence(grader, m), sequence);
    }
    assert_int_equal(crn_publishing_stats(f)->sent, VERDICTS);
    int got = 0;
    char part[32];
    while (zmq_recv(stuck, part, sizeof part, ZMQ_DONTWAIT) >= 0)
        got++;
    assert_true(got < 2 * VERDICTS); /* it did stop reading */
    crn_peer_message_free(m);
}

static void test_status_once_a_second(void **state)
{
    crn_publishing *f = *state;
    crn_publishing_open(f);
    crn_publish_service(f->publish, "to nobody", f->now_ns);
    void *viewer = crn_publishing_viewer(f, "status");
    crn_publishing_serve_viewers(f, &crn_publishing_stats(f)->viewer_subscriptions, 1);
    crn_lanes_find(f->lanes, 3); /* a lane without a verdict yet */
    crn_publishing_give(f);
    crn_publishing_give(f);
    assert_int_equal(crn_publish_wake_ns(f->publish), f->now_ns + CRN_NS_PER_S);
    f->now_ns += CRN_NS_PER_S;
    crn_publish_service(f->publish, "degraded", f->now_ns);
    crn_publish_service(f->publish, "a second one too early", f->now_ns + CRN_NS_PER_S - 1);
    crn_publish_service(f->publish, "the next", f->now_ns + CRN_NS_PER_S);
    crn_peer_message *m = crn_peer_message_new();
    const msgpack_object *status = crn_peer_receive_map(viewer, m);
    assert_string_equal(m->topic, "status");
    crn_expect_text(crn_decoded_field(status, "run"), crn_publish_run(f->publish));
    crn_expect_text(crn_decoded_field(status, "state"), "degraded");
    const msgpack_object *lanes = crn_decoded_field(status, "lanes");
    crn_expect_items(lanes, 2);
    const msgpack_object *without = crn_decoded_item(lanes, 0);
    crn_expect_unsigned(crn_decoded_field(without, "lane"), 3);
    assert_int_equal(crn_decoded_field(without, "sequence")->type, MSGPACK_OBJECT_NIL);
    const msgpack_object *with = crn_decoded_item(lanes, 1);
    crn_expect_unsigned(crn_decoded_field(with, "lane"), CRN_PUBLISHING_LANE);
    crn_expect_unsigned(crn_decoded_field(with, "sequence"), 1);
    crn_expect_unsigned(crn_decoded_field(status, "waiting"), 2);
    crn_expect_unsigned(crn_decoded_field(status, "viewers"), 1);
    status = crn_peer_receive_map(viewer, m);
    crn_expect_text(crn_decoded_field(status, "state"), "the next");
    crn_peer_message_free(m);
}

typedef struct reader {
    void *socket;
    uint64_t count; /* verdicts read, in order from 0 */
} reader;

static void *read_all(void *argument)
{
    reader *reading = argument;
    crn_peer_message *m = crn_peer_message_new();
    while (reading->count < 300 && crn_peer_receive_sequence(reading->socket, m) == reading->count)
        reading->count++;
    crn_peer_message_free(m);
    return NULL;
}

/* Closing delivers the waiting verdicts to the grader, within its time limit. */
static void test_closing_delivers_what_waits(void **state)
{
    crn_publishing *f = *state;
    f->points = CRN_PUBLISHING_POINTS;
    crn_publishing_open(f);
    void *grader = crn_publishing_connect(f, ZMQ_PULL, CRN_OUTLET_GRADER, true);
    crn_publishing_serve_until(f, &crn_publishing_stats(f)->graders, 1);
    for (int i = 0; i < 300; i++)
        crn_publishing_give(f);
    assert_true(crn_publishing_stats(f)->waiting > 0);
    reader reading = {grader, 0};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, read_all, &reading), 0);
    crn_publish_close(&f->publish, CRN_PEER_WAIT_MS);
    assert_null(f->publish);
    pthread_join(thread, NULL);
    assert_int_equal(reading.count, 300);
}

static void test_an_endpoint_in_use_is_told_by_name(void **state)
{
    crn_publishing *f = *state;
    crn_publishing_open(f);
    snprintf(f->config.publish.viewers.bind, CRN_TEXT_BYTES, "%s",
             crn_publish_endpoint(f->publish, CRN_OUTLET_GRADER));
    crn_publish *second = NULL;
    crn_error error = {""};
    int r = crn_publish_open(f->zmq, &f->config, f->lanes, &second, &error);
    assert_int_equal(r, -EADDRINUSE);
    assert_null(second);
    assert_non_null(strstr(error.text, "publish.viewers.bind"));
    assert_non_null(strstr(error.text, f->config.publish.viewers.bind));
    crn_publish_close(NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_socket_has_its_format, crn_publishing_set_up,
                                        crn_publishing_tear_down),
        cmocka_unit_test_setup_teardown(test_descriptors_fall_silent, crn_publishing_set_up,
                                        crn_publishing_tear_down),
        cmocka_unit_test_setup_teardown(test_without_a_grader_verdicts_wait, crn_publishing_set_up,
                                        crn_publishing_tear_down),
        cmocka_unit_test_setup_teardown(test_a_verdict_past_its_deadline_is_stale_for_all,
                                        crn_publishing_set_up, crn_publishing_tear_down),
        cmocka_unit_test_setup_teardown(test_a_full_queue_drops_its_oldest, crn_publishing_set_up,
                                        crn_publishing_tear_down),
        cmocka_unit_test_setup_teardown(test_a_grader_that_leaves_and_returns,
                                        crn_publishing_set_up, crn_publishing_tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_lost_between_graders_is_counted_once,
                                        crn_publishing_set_up, crn_publishing_tear_down),
        cmocka_unit_test_setup_teardown(test_a_second_grader_is_counted, crn_publishing_set_up,
                                        crn_publishing_tear_down),
        cmocka_unit_test_setup_teardown(test_what_speaks_no_zeromq_gets_no_verdict,
                                        crn_publishing_set_up, crn_publishing_tear_down),
        cmocka_unit_test_setup_teardown(test_a_viewer_at_the_graders_port_is_no_grader,
                                        crn_publishing_set_up, crn_publishing_tear_down),
        cmocka_unit_test_setup_teardown(test_a_viewer_that_stops_reading_holds_nobody,
                                        crn_publishing_set_up, crn_publishing_tear_down),
        cmocka_unit_test_setup_teardown(test_status_once_a_second, crn_publishing_set_up,
                                        crn_publishing_tear_down),
        cmocka_unit_test_setup_teardown(test_closing_delivers_what_waits, crn_publishing_set_up,
                                        crn_publishing_tear_down),
        cmocka_unit_test_setup_teardown(test_an_endpoint_in_use_is_told_by_name,
                                        crn_publishing_set_up, crn_publishing_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

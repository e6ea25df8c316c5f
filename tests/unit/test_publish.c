/*
 * Verdicts through real sockets on the loopback: nothing is lost unseen, nobody is waited for, and
 * the descriptors tell of everything that service left to do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <zmq.h>

#include "src/publish.h"
#include "tests/support/caught_log.h"
#include "tests/support/decode.h"
#include "tests/support/peer.h"

#define LANE   7
#define POINTS 20000

static const crn_stage outlines = {.name = "contours", .kind = CRN_STAGE_CONTOURS};

typedef struct fixture {
    void *zmq;
    crn_config config;
    crn_lanes *lanes;
    crn_store *store;
    crn_publish *publish;
    crn_fruit_view view;
    int64_t now_ns;    /* the clock the publisher sees */
    uint32_t points;   /* of the next verdict's only defect: its size */
    int64_t budget_ns; /* of the next verdict: to its deadline */
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    f->zmq = zmq_ctx_new();
    assert_non_null(f->zmq);
    f->config.limits.views = 1;
    f->config.limits.defects = 4;
    f->config.limits.points = POINTS;
    f->config.latency.budget_ms = 100;
    f->config.classes = (crn_classes){.count = 1, .name = {"rot"}, .level = {0.5}};
    f->config.steps = 1;
    f->config.chain[0].stage = &outlines;
    f->config.publish.grader.high_water_mark = 1000;
    f->config.publish.viewers.high_water_mark = 100;
    snprintf(f->config.publish.grader.bind, CRN_TEXT_BYTES, "tcp://127.0.0.1:*");
    snprintf(f->config.publish.viewers.bind, CRN_TEXT_BYTES, "tcp://127.0.0.1:*");
    assert_int_equal(crn_lanes_create(4, &f->lanes), 0);
    assert_int_equal(crn_store_create(1 << 20, &f->store), 0);
    f->now_ns = 1000 * CRN_NS_PER_S;
    f->points = 10;
    f->budget_ns = CRN_NS_PER_S;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    crn_publish_close(&f->publish, 0);
    crn_lanes_free(&f->lanes);
    crn_store_free(&f->store);
    zmq_ctx_term(f->zmq);
    free(f);
    return 0;
}

static void open_publish(fixture *f)
{
    crn_error error = {""};
    int r = crn_publish_open(f->zmq, &f->config, f->lanes, &f->publish, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(r, 0);
}

static const crn_publish_stats *stats(const fixture *f)
{
    return crn_publish_get_stats(f->publish);
}

/* A fruit of one view with one defect goes through the publisher. */
static void give_verdict(fixture *f)
{
    static float xy[2 * POINTS];
    crn_defect rot = {.parent = -1, .closed = true, .area_px = 2, .point_count = f->points};
    crn_defects in = {&rot, xy, 1, f->points, 1, f->points, false};
    f->view = (crn_fruit_view){.state = CRN_VIEW_JUDGED, .judgement = {.defect_count = 1}};
    assert_int_equal(crn_store_put(f->store, &in, &f->view.judgement.result), 0);
    crn_lane *lane = crn_lanes_find(f->lanes, LANE);
    crn_fruit fruit = {
        .lane = lane,
        .fruit = crn_lane_verdicts(lane),
        .expected = 1,
        .received = 1,
        .judged = 1,
        .closed_ns = f->now_ns,
        .deadline_ns = f->now_ns + f->budget_ns,
        .views = &f->view,
    };
    crn_publish_verdict(f->publish, &fruit, f->store, f->now_ns);
    crn_store_give(f->store, f->view.judgement.result);
}

/*
 * Services as the daemon does: sleeps on the descriptors alone (and on `peer`, a test's own socket,
 * when given), so that an event the publisher had lost would never end this.
 */
static void serve_once(fixture *f, void *peer)
{
    int descriptors[4];
    int count = crn_publish_descriptors(f->publish, descriptors);
    zmq_pollitem_t items[5] = {{0}};
    for (int i = 0; i < count; i++)
        items[i] = (zmq_pollitem_t){.fd = descriptors[i], .events = ZMQ_POLLIN};
    if (peer)
        items[count++] = (zmq_pollitem_t){.socket = peer, .events = ZMQ_POLLIN};
    assert_true(zmq_poll(items, count, CRN_PEER_WAIT_MS) > 0);
    crn_publish_service(f->publish, "running", f->now_ns);
}

/* Serves until one of the publisher's counters has the value. */
static void serve_until(fixture *f, const uint64_t *counter, uint64_t value)
{
    crn_publish_service(f->publish, "running", f->now_ns);
    while (*counter != value)
        serve_once(f, NULL);
}

/* Serves until the peer has something to read. */
static void serve_peer(fixture *f, void *peer)
{
    int events = 0;
    size_t size = sizeof events;
    crn_publish_service(f->publish, "running", f->now_ns);
    while (zmq_getsockopt(peer, ZMQ_EVENTS, &events, &size) == 0 && !(events & ZMQ_POLLIN))
        serve_once(f, peer);
}

static void *connect_grader(fixture *f)
{
    return crn_peer_connect(f->zmq, ZMQ_PULL, crn_publish_endpoint(f->publish, CRN_OUTLET_GRADER));
}

static void *connect_viewer(fixture *f, const char *topic)
{
    void *socket =
        crn_peer_connect(f->zmq, ZMQ_SUB, crn_publish_endpoint(f->publish, CRN_OUTLET_VIEWERS));
    assert_int_equal(zmq_setsockopt(socket, ZMQ_SUBSCRIBE, topic, strlen(topic)), 0);
    return socket;
}

static void test_each_socket_has_its_format(void **state)
{
    fixture *f = *state;
    f->config.publish.viewers.format = CRN_FORMAT_JSON;
    open_publish(f);
    void *grader = connect_grader(f);
    void *viewer = connect_viewer(f, "fruit/7");
    serve_until(f, &stats(f)->graders, 1);
    serve_until(f, &stats(f)->viewer_subscriptions, 1);
    give_verdict(f);
    crn_peer_message *packed = crn_peer_message_new(), *json = crn_peer_message_new();
    const msgpack_object *verdict = crn_peer_receive_map(grader, packed);
    assert_string_equal(packed->topic, "fruit/7");
    crn_expect_text(crn_decoded_field(verdict, "run"), crn_publish_run(f->publish));
    crn_expect_unsigned(crn_decoded_field(verdict, "lane"), LANE);
    crn_expect_text(crn_decoded_field(verdict, "verdict"), "complete");
    crn_expect_bool(crn_decoded_field(verdict, "stale"), false);
    crn_expect_items(crn_decoded_field(verdict, "defects"), 1);
    crn_peer_receive(viewer, json);
    assert_string_equal(json->topic, "fruit/7");
    yajl_val tree = yajl_tree_parse(json->bytes, NULL, 0);
    assert_non_null(tree);
    crn_expect_same(verdict, tree);
    yajl_tree_free(tree);
    crn_peer_message_free(packed);
    crn_peer_message_free(json);
    zmq_close(grader);
    zmq_close(viewer);
}

static void test_without_a_grader_verdicts_wait(void **state)
{
    fixture *f = *state;
    open_publish(f);
    f->budget_ns = 10;
    give_verdict(f);
    f->budget_ns = 1000;
    give_verdict(f);
    assert_int_equal(stats(f)->waiting, 2);
    assert_int_equal(stats(f)->sent, 0);
    f->now_ns += 1000; /* the first one's deadline is past, the second one's is not */
    void *grader = connect_grader(f);
    serve_peer(f, grader);
    crn_peer_message *m = crn_peer_message_new();
    for (uint64_t sequence = 0; sequence < 2; sequence++) {
        assert_int_equal(crn_peer_receive_sequence(grader, m), sequence);
        crn_expect_bool(crn_decoded_field(&m->unpacked.data, "stale"), sequence == 0);
    }
    assert_int_equal(stats(f)->waiting, 0);
    assert_int_equal(stats(f)->sent, 2);
    assert_int_equal(stats(f)->stale, 1);
    assert_int_equal(stats(f)->dropped, 0);

    /* What was sent long ago has arrived. */
    f->now_ns += CRN_PUBLISH_DOUBT_NS + 1;
    zmq_close(grader);
    serve_until(f, &stats(f)->graders, 0);
    assert_int_equal(stats(f)->possibly_lost, 0);
    crn_peer_message_free(m);
}

static void test_a_full_queue_drops_its_oldest(void **state)
{
    fixture *f = *state;
    f->config.publish.grader.high_water_mark = 5;
    open_publish(f);
    for (int i = 0; i < 8; i++)
        give_verdict(f);
    assert_int_equal(stats(f)->dropped, 3);
    assert_int_equal(stats(f)->waiting, 5);
    void *grader = connect_grader(f);
    serve_peer(f, grader);
    crn_peer_message *m = crn_peer_message_new();
    for (uint64_t sequence = 3; sequence < 8; sequence++)
        assert_int_equal(crn_peer_receive_sequence(grader, m), sequence);
    crn_peer_message_free(m);
    zmq_close(grader);
}

/* What a grader that left had not read is lost, but every one of them is counted. */
static void test_a_grader_that_leaves_and_returns(void **state)
{
    fixture *f = *state;
    enum { VERDICTS = 120, READ = 30 };
    f->points = POINTS; /* 160 kB each: most of them still wait when it leaves */
    open_publish(f);
    void *grader = connect_grader(f);
    serve_until(f, &stats(f)->graders, 1);
    for (int i = 0; i < VERDICTS; i++)
        give_verdict(f);
    crn_peer_message *m = crn_peer_message_new();
    bool seen[VERDICTS] = {false};
    for (uint64_t i = 0; i < READ; i++) {
        serve_peer(f, grader);
        assert_int_equal(crn_peer_receive_sequence(grader, m), i);
        seen[i] = true;
    }
    zmq_close(grader);
    serve_until(f, &stats(f)->graders, 0);
    assert_int_equal(stats(f)->grader_disconnects, 1);
    uint64_t sent_before = stats(f)->sent;
    assert_true(stats(f)->possibly_lost >= sent_before - READ);
    assert_true(sent_before < VERDICTS);

    grader = connect_grader(f);
    uint64_t last = READ - 1;
    do {
        serve_peer(f, grader);
        uint64_t sequence = crn_peer_receive_sequence(grader, m);
        assert_true(sequence > last && sequence < VERDICTS);
        seen[sequence] = true;
        last = sequence;
    } while (last < VERDICTS - 1);
    uint64_t missing = 0;
    for (int i = 0; i < VERDICTS; i++)
        missing += !seen[i];
    assert_int_equal(stats(f)->sent, VERDICTS);
    assert_int_equal(stats(f)->dropped, 0);
    assert_true(missing <= stats(f)->possibly_lost);
    crn_peer_message_free(m);
    zmq_close(grader);
}

static void test_a_second_grader_is_alarmed(void **state)
{
    fixture *f = *state;
    open_publish(f);
    crn_caught_log log;
    crn_log_catch(&log);
    void *first = connect_grader(f);
    serve_until(f, &stats(f)->graders, 1);
    assert_int_equal(stats(f)->extra_graders, 0);
    void *second = connect_grader(f);
    serve_until(f, &stats(f)->graders, 2);
    const char *text = crn_log_release(&log);
    assert_int_equal(stats(f)->extra_graders, 1);
    assert_non_null(strstr(text, "2 graders"));
    assert_non_null(strstr(text, "stop all but one"));
    assert_non_null(strstr(text, crn_publish_endpoint(f->publish, CRN_OUTLET_GRADER)));

    zmq_close(second);
    serve_until(f, &stats(f)->graders, 1);
    assert_int_equal(stats(f)->grader_disconnects, 1);
    zmq_close(first);
    serve_until(f, &stats(f)->graders, 0);
    assert_int_equal(stats(f)->grader_disconnects, 2);
    assert_int_equal(stats(f)->grader_connects, 2);
}

/* A port scanner or a browser on the grader's port is no grader, and gets no verdict. */
static void test_what_speaks_no_zeromq_gets_no_verdict(void **state)
{
    fixture *f = *state;
    open_publish(f);
    int port = atoi(strrchr(crn_publish_endpoint(f->publish, CRN_OUTLET_GRADER), ':') + 1);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int browser = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(browser, (struct sockaddr *)&address, sizeof address), 0);
    static const char request[] = "GET / HTTP/1.1\r\nHost: grader\r\n\r\n";
    assert_int_equal(send(browser, request, sizeof request, 0), sizeof request);
    serve_until(f, &stats(f)->refused, 1);
    close(browser);
    give_verdict(f);
    assert_int_equal(stats(f)->sent, 0);
    assert_int_equal(stats(f)->waiting, 1);
    assert_int_equal(stats(f)->graders, 0);
    assert_int_equal(stats(f)->grader_connects, 0);
    assert_int_equal(stats(f)->grader_disconnects, 0);
    void *grader = connect_grader(f);
    serve_peer(f, grader);
    crn_peer_message *m = crn_peer_message_new();
    assert_int_equal(crn_peer_receive_sequence(grader, m), 0);
    crn_peer_message_free(m);
    zmq_close(grader);
}

/* A viewer that was given the grader's port by mistake neither comes nor goes as a grader. */
static void test_a_viewer_at_the_graders_port_is_no_grader(void **state)
{
    fixture *f = *state;
    open_publish(f);
    void *grader = connect_grader(f);
    serve_until(f, &stats(f)->graders, 1);
    void *lost =
        crn_peer_connect(f->zmq, ZMQ_SUB, crn_publish_endpoint(f->publish, CRN_OUTLET_GRADER));
    serve_until(f, &stats(f)->refused, 1);
    zmq_close(lost);
    assert_int_equal(stats(f)->graders, 1);
    assert_int_equal(stats(f)->grader_connects, 1);
    assert_int_equal(stats(f)->grader_disconnects, 0);
    zmq_close(grader);
    serve_until(f, &stats(f)->graders, 0);
    assert_int_equal(stats(f)->grader_disconnects, 1);
}

static void test_a_viewer_that_stops_reading_holds_nobody(void **state)
{
    fixture *f = *state;
    enum { VERDICTS = 400 };
    f->points = 2500; /* 8 MB in all: more than the kernel holds for the one that stops */
    f->config.publish.viewers.high_water_mark = 4;
    open_publish(f);
    void *grader = connect_grader(f);
    void *stuck = zmq_socket(f->zmq, ZMQ_SUB);
    int one = 1, little = 4096;
    zmq_setsockopt(stuck, ZMQ_RCVHWM, &one, sizeof one);
    zmq_setsockopt(stuck, ZMQ_RCVBUF, &little, sizeof little);
    zmq_setsockopt(stuck, ZMQ_SUBSCRIBE, "", 0);
    zmq_connect(stuck, crn_publish_endpoint(f->publish, CRN_OUTLET_VIEWERS));
    void *viewer = connect_viewer(f, "fruit/7");
    serve_until(f, &stats(f)->graders, 1);
    serve_until(f, &stats(f)->viewer_subscriptions, 2);
    crn_peer_message *m = crn_peer_message_new();
    for (uint64_t sequence = 0; sequence < VERDICTS; sequence++) {
        give_verdict(f);
        assert_int_equal(crn_peer_receive_sequence(viewer, m), sequence);
        assert_int_equal(crn_peer_receive_sequence(grader, m), sequence);
    }
    assert_int_equal(stats(f)->sent, VERDICTS);
    int got = 0;
    zmq_msg_t part;
    zmq_msg_init(&part);
    while (zmq_msg_recv(&part, stuck, ZMQ_DONTWAIT) >= 0)
        got++;
    zmq_msg_close(&part);
    assert_true(got < 2 * VERDICTS); /* it did stop reading */
    crn_peer_message_free(m);
    zmq_close(grader);
    zmq_close(stuck);
    zmq_close(viewer);
}

static void test_status_once_a_second(void **state)
{
    fixture *f = *state;
    open_publish(f);
    void *viewer = connect_viewer(f, "status");
    serve_until(f, &stats(f)->viewer_subscriptions, 1);
    crn_lanes_find(f->lanes, 3); /* a lane without a verdict yet */
    give_verdict(f);
    give_verdict(f);
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
    crn_expect_unsigned(crn_decoded_field(with, "lane"), LANE);
    crn_expect_unsigned(crn_decoded_field(with, "sequence"), 1);
    crn_expect_unsigned(crn_decoded_field(status, "waiting"), 2);
    crn_expect_unsigned(crn_decoded_field(status, "viewers"), 1);
    status = crn_peer_receive_map(viewer, m);
    crn_expect_text(crn_decoded_field(status, "state"), "the next");
    crn_peer_message_free(m);
    zmq_close(viewer);
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

/* A stop gives the grader what waits for it, as long as it may take. */
static void test_closing_delivers_what_waits(void **state)
{
    fixture *f = *state;
    f->points = POINTS;
    open_publish(f);
    void *grader = connect_grader(f);
    serve_until(f, &stats(f)->graders, 1);
    for (int i = 0; i < 300; i++)
        give_verdict(f);
    assert_true(stats(f)->waiting > 0);
    reader reading = {grader, 0};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, read_all, &reading), 0);
    crn_publish_close(&f->publish, CRN_PEER_WAIT_MS);
    assert_null(f->publish);
    pthread_join(thread, NULL);
    assert_int_equal(reading.count, 300);
    zmq_close(grader);
}

static void test_an_endpoint_in_use_is_told_by_name(void **state)
{
    fixture *f = *state;
    open_publish(f);
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
        cmocka_unit_test_setup_teardown(test_each_socket_has_its_format, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_without_a_grader_verdicts_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_full_queue_drops_its_oldest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_grader_that_leaves_and_returns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_second_grader_is_alarmed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_speaks_no_zeromq_gets_no_verdict, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_viewer_at_the_graders_port_is_no_grader, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_viewer_that_stops_reading_holds_nobody, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_status_once_a_second, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_closing_delivers_what_waits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_endpoint_in_use_is_told_by_name, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

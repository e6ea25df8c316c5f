/* Senders' errors are reported in the fruit's verdict, in the status and in the counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zmq.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/peers/decode.h"
#include "tests/support/line/line_fixture.h"
#include "tests/support/peers/peer.h"

#define HEIGHT 48
#define WIDTH  64

#define ASSEMBLE_NS (60 * CRN_NS_PER_S)

static const char yaml[] = "classes: [{name: ground}, {name: rot, level: 0.5}]\n"
                           "chain: [contours: {border: closed}]\n"
                           "run: {backend: serial, workers: 1, threads: 1}\n"
                           "limits: {view_mib: 1}\n"
                           "latency: {budget_ms: 60000, assemble_ms: 60000}\n"
                           "log: {level: error}\n";

/* A view of a mismatched CNN: three channels where the line has two classes. */
static void send_wrong(line_fixture *line, uint32_t lane, uint64_t fruit, uint16_t view,
                       const float *maps)
{
    crn_view_header header = line_header(line, fruit, view, 3, HEIGHT, WIDTH);
    header.lane = lane;
    header.channels = 3;
    line_send(line, header, maps, NULL);
}

static void send_good(line_fixture *line, uint64_t fruit, uint16_t view, uint16_t views,
                      const float *maps)
{
    line_send(line, line_header(line, fruit, view, views, HEIGHT, WIDTH), maps, NULL);
}

static seen_verdict expect_verdict(line_fixture *line, uint64_t fruit, const char *word)
{
    seen_verdict verdict;
    assert_true(line_receive(line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    assert_int_equal(verdict.fruit, fruit);
    assert_string_equal(verdict.verdict, word);
    return verdict;
}

/* A third more than limits.view_mib: its header is read and identifies the fruit. */
static void send_too_large(line_fixture *line, uint64_t fruit)
{
    float *maps = calloc(400 * 437 * 2, sizeof *maps);
    assert_non_null(maps);
    line_send(line, line_header(line, fruit, 0, 1, 400, 437), maps, NULL);
    free(maps);
}

/* The first status packed after everything sent so far was read. */
static const msgpack_object *next_status(line_fixture *line, crn_peer_message *m)
{
    char endpoint[128];
    snprintf(endpoint, sizeof endpoint, "ipc://%s/viewers", line->folder);
    void *viewer = crn_peer_connect(line->zmq, ZMQ_SUB, false, endpoint);
    assert_int_equal(zmq_setsockopt(viewer, ZMQ_SUBSCRIBE, "status", 6), 0);
    const msgpack_object *status = crn_peer_receive_map(viewer, m);
    zmq_close(viewer);
    return status;
}

static void expect_refusals_in_status(line_fixture *line)
{
    crn_peer_message *m = crn_peer_message_new();
    const msgpack_object *status = next_status(line, m);
    const msgpack_object *lanes = crn_decoded_field(status, "lanes");
    crn_expect_items(lanes, 1);
    static const char *const of_lane[] = {"too_large", "channels"};
    const msgpack_object *refused = crn_decoded_field(crn_decoded_item(lanes, 0), "refused");
    crn_expect_keys(refused, of_lane, 2);
    crn_expect_unsigned(crn_decoded_field(refused, "channels"), 4);
    crn_expect_unsigned(crn_decoded_field(refused, "too_large"), 1);
    refused = crn_decoded_field(status, "refused_elsewhere");
    crn_expect_unsigned(crn_decoded_field(refused, "channels"), 2);
    crn_expect_unsigned(crn_decoded_field(refused, "magic"), 1);
    refused = crn_decoded_field(status, "refused");
    crn_expect_unsigned(crn_decoded_field(refused, "channels"), 6);
    crn_expect_unsigned(crn_decoded_field(refused, "too_large"), 1);
    crn_expect_unsigned(crn_decoded_field(refused, "magic"), 1);
    crn_expect_unsigned(crn_decoded_field(status, "slots"), 20);
    const msgpack_object *classes = crn_decoded_field(status, "classes");
    crn_expect_items(classes, 2);
    crn_expect_text(crn_decoded_item(classes, 1), "rot");
    crn_peer_message_free(m);
}

static void a_wrong_sender_finds_out(void **state)
{
    (void)state;
    static line_fixture line;
    line_start(&line, yaml);
    float *maps = line_discs(HEIGHT, WIDTH, 2), *wrong = line_discs(HEIGHT, WIDTH, 3);
    send_wrong(&line, 0, 1, 1, wrong); /* the first of its fruit and lane */
    send_good(&line, 1, 0, 3, maps);
    send_wrong(&line, 0, 1, 2, wrong);
    send_good(&line, 1, 2, 3, maps); /* a valid copy of the same view */
    for (uint16_t view = 0; view < 3; view++)
        send_wrong(&line, 0, 2, view, wrong); /* a fruit that never opens */
    send_wrong(&line, 99, 3, 0, wrong);       /* a lane that never opens */
    send_too_large(&line, 4);
    line_send_parts(&line, (const void *const[]){"GET /", "HTTP"}, (const size_t[]){5, 4}, 2);
    send_good(&line, 5, 0, 1, maps);
    expect_verdict(&line, 5, "complete"); /* its verdict shows that all of the above was read */
    line_move_clock(&line, ASSEMBLE_NS);
    seen_verdict verdict = expect_verdict(&line, 1, "partial");
    assert_int_equal(verdict.views_received, 2);
    assert_int_equal(verdict.views_judged, 2);
    expect_refusals_in_status(&line);
    line_stop(&line);
    assert_int_equal(line.metrics.lane_count, 1);
    assert_int_equal(line.metrics.fruits.opened, 2);
    assert_int_equal(line.metrics.lanes.refused.count[CRN_WIRE_CHANNELS], 4);
    assert_int_equal(line.metrics.refused_elsewhere.count[CRN_WIRE_CHANNELS], 2);
    assert_int_equal(line.metrics.ingest.faults[CRN_WIRE_CHANNELS], 6);
    assert_int_equal(line.metrics.ingest.faults[CRN_WIRE_TOO_LARGE], 1);
    free(maps);
    free(wrong);
}

static void send_on(line_fixture *line, uint32_t lane, uint64_t fruit, const float *maps)
{
    crn_view_header header = line_header(line, fruit, 0, 1, HEIGHT, WIDTH);
    header.lane = lane;
    line_send(line, header, maps, NULL);
}

static void expect_verdict_of_lane(line_fixture *line, uint32_t lane, uint64_t sequence)
{
    seen_verdict verdict;
    assert_true(line_receive(line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    assert_int_equal(verdict.lane, lane);
    assert_int_equal(verdict.sequence, sequence);
}

/* As many invented lanes as there may be, then an honest one, which is taken in later. */
static void invented_lanes_make_room_once_they_are_silent(void **state)
{
    (void)state;
    static line_fixture line;
    line_configure(&line, yaml);
    line.config.limits.lane_idle_s = 3600; /* however long the test takes until then */
    int64_t count = line.config.limits.lanes;
    line_run(&line, NULL);
    float *maps = line_discs(HEIGHT, WIDTH, 2);
    for (uint32_t lane = 0; lane < (uint32_t)count; lane++) {
        send_on(&line, 5000 + lane, 0, maps);
        expect_verdict_of_lane(&line, 5000 + lane, 0);
    }
    send_on(&line, 7, 0, maps);
    send_on(&line, 5000, 1, maps); /* its verdict shows that the view before it was refused */
    expect_verdict_of_lane(&line, 5000, 1);
    line_move_clock(&line, 3600 * CRN_NS_PER_S);
    send_on(&line, 7, 1, maps);
    expect_verdict_of_lane(&line, 7, 0);
    line_stop(&line);
    assert_int_equal(line.metrics.lane_count, count);
    assert_int_equal(line.metrics.lanes_freed, 1);
    assert_int_equal(line.metrics.lanes.views, count + 2);
    free(maps);
}

static void lanes_that_are_not_listed_open_nothing(void **state)
{
    (void)state;
    static line_fixture line;
    line_configure(&line, yaml);
    strcpy(line.config.ingest.lanes.item[0], "0-2,7");
    line.config.ingest.lanes.count = 1;
    line_run(&line, NULL);
    float *maps = line_discs(HEIGHT, WIDTH, 2);
    seen_verdict verdict;
    for (uint32_t lane = 0; lane < 9; lane++)
        send_on(&line, lane, 0, maps);
    static const uint64_t listed[] = {0, 1, 2, 7};
    for (int i = 0; i < 4; i++) {
        assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
        assert_int_equal(verdict.lane, listed[i]);
    }
    crn_peer_message *m = crn_peer_message_new();
    const msgpack_object *refused = crn_decoded_field(next_status(&line, m), "refused_elsewhere");
    crn_expect_unsigned(crn_decoded_field(refused, "lane_not_listed"), 5);
    crn_peer_message_free(m);
    line_stop(&line);
    assert_int_equal(line.metrics.lane_count, 4);
    assert_int_equal(line.metrics.fruits.lanes_not_listed, 5);
    free(maps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_sender_finds_out),
        cmocka_unit_test(invented_lanes_make_room_once_they_are_silent),
        cmocka_unit_test(lanes_that_are_not_listed_open_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

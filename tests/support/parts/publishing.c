#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zmq.h>

#include "tests/support/parts/stored.h"
#include "tests/support/peers/peer.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/publishing.h"

static const crn_stage outlines = {.name = "contours", .kind = CRN_STAGE_CONTOURS};

int crn_publishing_set_up(void **state)
{
    crn_publishing *f = calloc(1, sizeof *f);
    f->zmq = zmq_ctx_new();
    assert_non_null(f->zmq);
    f->config.limits.views = 1;
    f->config.limits.peers = 256;
    f->config.limits.viewers_mib = 64;
    f->config.limits.defects = 4;
    f->config.limits.points = CRN_PUBLISHING_POINTS;
    f->config.latency.budget_ms = 100;
    f->config.classes = (crn_classes){.count = 1, .name = {"rot"}, .level = {0.5}};
    f->config.steps = 1;
    f->config.chain[0].stage = &outlines;
    f->config.publish.grader.high_water_mark = 1000;
    f->config.publish.viewers.high_water_mark = 100;
    snprintf(f->config.publish.grader.bind, CRN_TEXT_BYTES, "tcp://127.0.0.1:*");
    snprintf(f->config.publish.viewers.bind, CRN_TEXT_BYTES, "tcp://127.0.0.1:*");
    assert_int_equal(crn_lanes_create(4, &f->lanes), 0);
    assert_int_equal(crn_result_store_create(1 << 20, &f->store), 0);
    f->now_ns = 1000 * CRN_NS_PER_S;
    f->points = 10;
    f->budget_ns = CRN_NS_PER_S;
    *state = f;
    return 0;
}

int crn_publishing_tear_down(void **state)
{
    crn_publishing *f = *state;
    crn_publish_close(&f->publish, 0);
    for (int i = 0; i < 4; i++)
        if (f->peers[i])
            zmq_close(f->peers[i]);
    crn_lanes_free(&f->lanes);
    crn_result_store_free(&f->store);
    zmq_ctx_term(f->zmq);
    free(f);
    return 0;
}

void crn_publishing_open(crn_publishing *f)
{
    crn_error error = {""};
    int r = crn_publish_open(f->zmq, &f->config, f->lanes, &f->publish, &error);
    assert_string_equal(error.text, "");
    assert_int_equal(r, 0);
}

const crn_publish_stats *crn_publishing_stats(const crn_publishing *f)
{
    return crn_publish_get_stats(f->publish);
}

void crn_publishing_give(crn_publishing *f)
{
    static float xy[2 * CRN_PUBLISHING_POINTS];
    crn_defect rot = {.parent = -1, .closed = true, .area_px = 2, .point_count = f->points};
    crn_defects in = {.defects = &rot,
                      .xy = xy,
                      .defect_capacity = 1,
                      .point_capacity = f->points,
                      .defect_count = 1,
                      .point_count = f->points};
    f->view = (crn_fruit_view){.state = CRN_VIEW_JUDGED, .judgement = {.defect_count = 1}};
    f->view.judgement.result = crn_store_defects(&f->config, f->store, &in, 0, 0);
    crn_lane *lane = crn_lanes_find(f->lanes, CRN_PUBLISHING_LANE);
    crn_fruit fruit = {
        .lane = lane,
        .fruit = lane->verdicts,
        .expected = 1,
        .received = 1,
        .judged = 1,
        .closed_ns = f->now_ns,
        .deadline_ns = f->now_ns + f->budget_ns,
        .views = &f->view,
    };
    crn_publish_verdict(f->publish, &fruit, f->store, f->now_ns);
    crn_result_store_release(f->store, f->view.judgement.result);
}

static void serve_once(crn_publishing *f, void *peer)
{
    int descriptors[2];
    int count = crn_publish_descriptors(f->publish, descriptors);
    zmq_pollitem_t items[3] = {{0}};
    for (int i = 0; i < count; i++)
        items[i] = (zmq_pollitem_t){.fd = descriptors[i], .events = ZMQ_POLLIN};
    if (peer)
        items[count++] = (zmq_pollitem_t){.socket = peer, .events = ZMQ_POLLIN};
    assert_true(zmq_poll(items, count, CRN_PEER_WAIT_MS) > 0);
    crn_publish_service(f->publish, "running", f->now_ns);
}

void crn_publishing_serve_until(crn_publishing *f, const uint64_t *counter, uint64_t value)
{
    crn_publish_service(f->publish, "running", f->now_ns);
    while (*counter != value)
        serve_once(f, NULL);
}

void crn_publishing_serve_viewers(crn_publishing *f, const uint64_t *counter, uint64_t value)
{
    int64_t until_ns = crn_now_ns() + CRN_PEER_WAIT_MS * CRN_NS_PER_MS;
    for (;;) {
        crn_publish_service(f->publish, "running", f->now_ns);
        if (*counter == value)
            return;
        assert_true(crn_now_ns() < until_ns);
        poll(NULL, 0, 1);
    }
}

void crn_publishing_serve_peer(crn_publishing *f, void *peer)
{
    int events = 0;
    size_t size = sizeof events;
    crn_publish_service(f->publish, "running", f->now_ns);
    while (zmq_getsockopt(peer, ZMQ_EVENTS, &events, &size) == 0 && !(events & ZMQ_POLLIN))
        serve_once(f, peer);
}

void *crn_publishing_connect(crn_publishing *f, int type, crn_outlet outlet, bool little)
{
    int place = 0;
    while (f->peers[place])
        place++;
    f->peers[place] =
        crn_peer_connect(f->zmq, type, little, crn_publish_endpoint(f->publish, outlet));
    return f->peers[place];
}

void crn_publishing_leave(crn_publishing *f, void *peer)
{
    for (int i = 0; i < 4; i++)
        if (f->peers[i] == peer)
            f->peers[i] = NULL;
    zmq_close(peer);
}

void *crn_publishing_grader(crn_publishing *f)
{
    return crn_publishing_connect(f, ZMQ_PULL, CRN_OUTLET_GRADER, false);
}

void *crn_publishing_viewer(crn_publishing *f, const char *topic)
{
    void *socket = crn_publishing_connect(f, ZMQ_SUB, CRN_OUTLET_VIEWERS, false);
    assert_int_equal(zmq_setsockopt(socket, ZMQ_SUBSCRIBE, topic, strlen(topic)), 0);
    return socket;
}

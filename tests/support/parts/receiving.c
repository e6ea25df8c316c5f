#include "tests/support/parts/receiving.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"

#include <zmq.h>

void crn_receiving_open(const char *address, crn_receiving *ret_receiving)
{
    crn_receiving *r = ret_receiving;
    memset(r, 0, sizeof *r);
    r->zmq = zmq_ctx_new();
    r->config.ingest.bind.count = 1;
    snprintf(r->config.ingest.bind.item[0], CRN_TEXT_BYTES, "%s", address);
    r->config.ingest.high_water_mark = 16;
    r->config.limits.view_mib = 1;
    r->config.limits.peers = 256;
    r->config.limits.peer_mib = 4; /* more than the part size that is read only to be refused */
    r->config.limits.views = 5;
    static const char *const names[] = {"background", "rot", "stem", "bruise"};
    for (const char *const *name = names; name < names + 4; name++)
        strcpy(r->config.classes.name[r->config.classes.count++], *name);
    r->rules = (crn_wire_rules){.max_bytes = 1 << 20,
                                .channels = 4,
                                .views = 5,
                                .class_set = crn_classes_hash(&r->config.classes)};
    r->good = crn_message_header(&r->rules);
    crn_error error = {""};
    if (crn_ingest_open(r->zmq, &r->config, &r->ingest, &error) < 0)
        fail_msg("%s", error.text);
    r->push = crn_receiving_connect(r);
}

void *crn_receiving_connect(const crn_receiving *receiving)
{
    void *push = zmq_socket(receiving->zmq, ZMQ_PUSH);
    int none = 0;
    zmq_setsockopt(push, ZMQ_LINGER, &none, sizeof none);
    assert_int_equal(zmq_connect(push, crn_ingest_endpoint(receiving->ingest, 0)), 0);
    return push;
}

void crn_receiving_close(crn_receiving *receiving)
{
    if (receiving->push)
        zmq_close(receiving->push);
    crn_ingest_close(&receiving->ingest);
    assert_null(receiving->ingest);
    zmq_ctx_term(receiving->zmq);
}

/* Waits for either descriptor, and reads the monitor. */
static void wait_descriptors(crn_receiving *receiving)
{
    int descriptors[2];
    assert_int_equal(crn_ingest_descriptors(receiving->ingest, descriptors), 2);
    struct pollfd items[2] = {{descriptors[0], POLLIN, 0}, {descriptors[1], POLLIN, 0}};
    if (poll(items, 2, CRN_PATIENCE_MS) < 1)
        fail_msg("nothing came");
    crn_ingest_service(receiving->ingest);
}

void crn_receiving_next(crn_receiving *receiving, crn_view_header *ret_header)
{
    for (;;) {
        int r = crn_ingest_receive(receiving->ingest, ret_header);
        if (r == 1)
            return;
        assert_int_equal(r, 0);
        if (!crn_ingest_pending(receiving->ingest))
            wait_descriptors(receiving);
    }
}

void crn_receiving_wait_peers(crn_receiving *receiving, uint64_t connected, uint64_t disconnected,
                              uint64_t failed_handshakes)
{
    const crn_ingest_stats *stats = crn_ingest_get_stats(receiving->ingest);
    crn_ingest_service(receiving->ingest);
    while (stats->connected < connected || stats->disconnected < disconnected ||
           stats->failed_handshakes < failed_handshakes) {
        int descriptors[2];
        crn_ingest_descriptors(receiving->ingest, descriptors);
        struct pollfd item = {descriptors[1], POLLIN, 0};
        if (poll(&item, 1, CRN_PATIENCE_MS) < 1)
            fail_msg("peers: %u came, %u went, %u failed handshakes", (unsigned)stats->connected,
                     (unsigned)stats->disconnected, (unsigned)stats->failed_handshakes);
        crn_ingest_service(receiving->ingest);
    }
    assert_int_equal(stats->connected, connected);
    assert_int_equal(stats->disconnected, disconnected);
    assert_int_equal(stats->failed_handshakes, failed_handshakes);
}

void crn_receiving_send_good(crn_receiving *receiving, void *push, uint64_t sequence)
{
    crn_view_header header = receiving->good;
    header.sequence = sequence;
    crn_message message;
    crn_message_make_good(&header, &message);
    assert_int_equal(crn_message_send(&message, push), 0);
    crn_message_done(&message);
}

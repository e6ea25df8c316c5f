/* Peers that exhaust what libzmq does not limit: each is disconnected, and only it; every view of
 * other senders is judged whole meanwhile, in order. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <zmq.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/daemon.h"
#include "tests/support/line/line_fixture.h"
#include "tests/support/peers/peer.h"
#include "tests/support/parts/receiving.h"
#include "tests/support/peers/zmtp.h"

#define PEERS      8
#define CLOSING_MS 60000
/* More than the kernel buffers per connection and the limits allow together. */
#define FLOOD_BYTES (UINT64_C(256) << 20)

#define LINE                                                                                       \
    "classes: [{name: background}, {name: rot, level: 0.5}]\n"                                     \
    "chain: [contours: {}]\n"                                                                      \
    "run: {backend: openmp, workers: 1, threads: 1}\n"                                             \
    "latency: {budget_ms: 60000, assemble_ms: 60000}\n"

static void start(line_fixture *f)
{
    line_start_on(f, LINE "limits: {view_mib: 1, peer_mib: 1, peers: 8}\n", NULL);
}

/* Passes that many fruits of one view through the line. */
static void pass_fruits(line_fixture *f, uint64_t count)
{
    static uint64_t fruit;
    float *maps = line_discs(20, 30, 2);
    for (uint64_t i = 0; i < count; i++) {
        line_send(f, line_header(f, fruit + i, 0, 1, 20, 30), maps, NULL);
        seen_verdict seen;
        assert_true(line_receive(f, CRN_FIXTURE_PATIENCE_MS, &seen));
        assert_int_equal(seen.fruit, fruit + i);
        assert_string_equal(seen.verdict, "complete");
    }
    fruit += count;
    free(maps);
}

static void write_endpoint(const line_fixture *f, const char *name, char endpoint[128])
{
    snprintf(endpoint, 128, "ipc://%s/%s", f->folder, name);
}

/* Sends the chunk repeatedly until the connection is cut. At the grader's port it is sent with the
 * handshake, because a peer that completed it would receive verdicts like any second grader. */
static void flood(const line_fixture *f, const char *port, const char *kind, const void *chunk,
                  size_t size)
{
    char endpoint[128];
    unsigned char introduction[CRN_ZMTP_BYTES];
    write_endpoint(f, port, endpoint);
    bool grader = strcmp(kind, "PULL") == 0;
    int peer;
    do /* again where the viewers' thread was at work for too long to admit one */
        peer = grader ? crn_zmtp_connect(endpoint) : crn_zmtp_connect_as(endpoint, kind);
    while (peer < 0 && strcmp(port, "viewers") == 0);
    assert_true(peer >= 0);
    unsigned char *bytes = malloc(sizeof introduction + size);
    assert_non_null(bytes);
    size_t introduced = grader ? crn_zmtp_introduction(kind, introduction) : 0;
    memcpy(bytes, introduction, introduced);
    memcpy(bytes + introduced, chunk, size);
    int r = crn_zmtp_send(peer, bytes, introduced + size);
    uint64_t sent = 0;
    while (r == 0 && (sent += size) < FLOOD_BYTES)
        r = crn_zmtp_send(peer, chunk, size);
    if (r == 0)
        fail_msg("%s sent %u MiB to %s and goes on", kind, (unsigned)(sent >> 20), port);
    close(peer);
    free(bytes);
}

static void parts_without_end_cut_their_sender_at_every_port(void **state)
{
    (void)state;
    static const struct {
        const char *port, *kind;
    } ports[] = {{"in", "PUSH"}, {"grader", "PULL"}, {"viewers", "SUB"}};
    static unsigned char large[9 + 65536] = {3, 0, 0, 0, 0, 0, 1}, tiny[65536];
    for (size_t i = 0; i < sizeof tiny; i += 2)
        tiny[i] = 1;
    static line_fixture f;
    start(&f);
    pass_fruits(&f, 3);
    for (size_t i = 0; i < sizeof ports / sizeof ports[0]; i++) {
        flood(&f, ports[i].port, ports[i].kind, large, sizeof large);
        pass_fruits(&f, 3);
        flood(&f, ports[i].port, ports[i].kind, tiny, sizeof tiny);
        pass_fruits(&f, 3);
    }
    line_stop(&f);
    const crn_peers_stats *senders = &f.metrics.ingest.peers, *readers = &f.metrics.publish.peers;
    assert_int_equal(senders->cut[CRN_CUT_BYTES], 1);
    assert_int_equal(senders->cut[CRN_CUT_PARTS], 1);
    assert_int_equal(readers->cut[CRN_CUT_PARTS] + readers->cut[CRN_CUT_BYTES], 4);
    assert_int_equal(f.metrics.ingest.messages, 21);
    assert_int_equal(f.metrics.publish.sent, 21);
}

/* libzmq stores a handshake's metadata at ten times its
 * size, and buffers any command until it is complete. */
static void commands_of_a_megabyte_cut_their_sender(void **state)
{
    (void)state;
    enum { BODY = 1000000 };
    static unsigned char command[9 + BODY] = "\6\0\0\0\0\0\0\0\0\4PING";
    for (int i = 0; i < 4; i++)
        command[5 + i] = (unsigned char)(BODY >> (24 - 8 * i));
    static line_fixture f;
    start(&f);
    pass_fruits(&f, 3);
    flood(&f, "in", "PUSH", command, sizeof command);
    pass_fruits(&f, 3);
    memcpy(command + 9, "\5READY", 6);
    char endpoint[128];
    write_endpoint(&f, "in", endpoint);
    int peer = crn_zmtp_connect(endpoint);
    assert_true(peer >= 0);
    unsigned char introduction[CRN_ZMTP_BYTES];
    crn_zmtp_introduction("PUSH", introduction);
    assert_int_equal(crn_zmtp_send(peer, introduction, 64), 0);
    crn_zmtp_send(peer, command, sizeof command);
    assert_int_equal(crn_zmtp_wait_closed(peer, CRN_FIXTURE_PATIENCE_MS), 0);
    close(peer);
    pass_fruits(&f, 3);
    line_stop(&f);
    assert_int_equal(f.metrics.ingest.peers.cut[CRN_CUT_COMMAND], 2);
}

/* One message, completed by its last part. */
static void a_message_of_very_many_parts_is_never_read(void **state)
{
    (void)state;
    enum { PARTS = 1000000 };
    unsigned char *message = calloc(PARTS + 1, 2);
    assert_non_null(message);
    for (size_t i = 0; i < PARTS; i++)
        message[2 * i] = 1;
    static line_fixture f;
    start(&f);
    pass_fruits(&f, 3);
    flood(&f, "in", "PUSH", message, 2 * (PARTS + 1));
    pass_fruits(&f, 3);
    line_stop(&f);
    free(message);
    assert_int_equal(f.metrics.ingest.messages, 6);
    assert_int_equal(f.metrics.ingest.peers.cut[CRN_CUT_PARTS], 1);
}

static void subscriptions_by_the_thousand_cut_their_viewer(void **state)
{
    (void)state;
    enum { TOPIC = 100, COUNT = 10000, FRUITS = 20 };
    static unsigned char subscriptions[COUNT * (3 + TOPIC)];
    for (int i = 0; i < COUNT; i++) {
        unsigned char *at = subscriptions + i * (3 + TOPIC);
        at[1] = 1 + TOPIC;
        at[2] = i % 3 != 2; /* including unsubscriptions */
        memset(at + 3, 'x', TOPIC);
        memcpy(at + 3, &i, sizeof i);
    }
    static line_fixture f;
    start(&f);
    char endpoint[128];
    write_endpoint(&f, "viewers", endpoint);
    void *viewer = crn_peer_connect(f.zmq, ZMQ_SUB, false, endpoint);
    assert_int_equal(zmq_setsockopt(viewer, ZMQ_SUBSCRIBE, "", 0), 0);
    crn_peer_message *m = crn_peer_message_new();
    crn_peer_receive(viewer, m); /* a status: subscribed */
    for (int i = 0; i < 3; i++)
        flood(&f, "viewers", "SUB", subscriptions, sizeof subscriptions);
    pass_fruits(&f, FRUITS);
    for (uint64_t sequence = 0; sequence < FRUITS;) {
        const msgpack_object *message = crn_peer_receive_map(viewer, m);
        if (strcmp(m->topic, "status") == 0)
            continue;
        for (uint32_t i = 0; i < message->via.map.size; i++)
            if (strncmp(message->via.map.ptr[i].key.via.str.ptr, "sequence", 8) == 0)
                assert_int_equal(message->via.map.ptr[i].val.via.u64, sequence);
        sequence++;
    }
    crn_peer_message_free(m);
    zmq_close(viewer);
    line_stop(&f);
    assert_int_equal(f.metrics.publish.peers.cut[CRN_CUT_TOTAL], 3);
}

/* Topics that maximise libzmq's subscription trie,
 * which it traverses for every peer that leaves. */
static void viewers_that_come_and_go_with_thousands_of_subscriptions_end_nothing(void **state)
{
    (void)state;
    enum { TOPIC = 4, COUNT = 4 * 1300, VIEWERS = 200 };
    static unsigned char subscriptions[COUNT * (2 + TOPIC)];
    static line_fixture f;
    line_start_on(&f, LINE "limits: {view_mib: 1, peer_mib: 1, peers: 100}\n", NULL);
    char endpoint[128];
    write_endpoint(&f, "viewers", endpoint);
    pass_fruits(&f, 3);
    for (int viewer = 0; viewer < VIEWERS; viewer++) {
        for (int i = 0; i < COUNT; i++) {
            unsigned prefix = (unsigned)(viewer * COUNT + i) / 2;
            unsigned char *at = subscriptions + i * (2 + TOPIC);
            at[1] = TOPIC;
            at[2] = 1;
            at[3] = (unsigned char)(prefix >> 8);
            at[4] = (unsigned char)prefix;
            at[5] = i % 2 ? 255 : 0;
        }
        int peer = crn_zmtp_connect_as(endpoint, "SUB");
        if (peer < 0)
            continue; /* refused: too many disconnects at once */
        crn_zmtp_send(peer, subscriptions, sizeof subscriptions);
        close(peer);
    }
    pass_fruits(&f, 3);
    line_stop(&f);
    assert_int_equal(f.metrics.publish.sent, 6);
}

/* Peers that send nothing, and peers that only complete the handshake. */
static void more_connections_than_allowed_keep_no_sender_out(void **state)
{
    (void)state;
    enum { IDLE = 5 * PEERS };
    static line_fixture f;
    start(&f);
    pass_fruits(&f, 3);
    char endpoint[128];
    write_endpoint(&f, "in", endpoint);
    int idle[IDLE];
    unsigned char introduction[CRN_ZMTP_BYTES];
    size_t size = crn_zmtp_introduction("PUSH", introduction);
    for (int i = 0; i < IDLE; i++) {
        idle[i] = crn_zmtp_connect(endpoint);
        assert_true(idle[i] >= 0);
        if (i % 2)
            crn_zmtp_send(idle[i], introduction, size);
    }
    pass_fruits(&f, 3); /* the earlier connection survives */
    void *before = f.sender;
    f.sender = crn_peer_connect(f.zmq, ZMQ_PUSH, false, endpoint);
    pass_fruits(&f, 3); /* and a new one is accepted once the others were silent for a second */
    zmq_close(before);
    for (int i = 0; i < IDLE; i++)
        close(idle[i]);
    line_stop(&f);
    assert_true(f.metrics.ingest.peers.cut[CRN_CUT_CONNECTIONS] >= IDLE - PEERS);
    assert_int_equal(f.metrics.ingest.messages, 9);
}

static void lower_descriptors(void)
{
    struct rlimit limit = {64, 64};
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* libzmq aborts if it has no descriptor for an ipc connection. */
static void a_process_of_few_descriptors_outlives_a_flood_of_connections(void **state)
{
    (void)state;
    enum { IDLE = 300 };
    char folder[64], path[128], endpoint[128];
    assert_int_equal(daemon_make_folder(folder), 0);
    /* No device: its library needs more descriptors than these. */
    daemon_config_with(folder, "openmp", path);
    daemon_process daemon;
    const char *const arguments[] = {"cernitad", "--config", path, NULL};
    daemon_start_as(&daemon, CRN_BIN "/cernitad", arguments, lower_descriptors);
    daemon_read_until(&daemon, "ready");
    int idle[IDLE];
    static const char *const ports[] = {"in", "grader", "viewers"};
    for (int i = 0; i < IDLE; i++) {
        snprintf(endpoint, sizeof endpoint, "ipc://%s/%s", folder, ports[i % 3]);
        idle[i] = crn_zmtp_connect(endpoint);
        assert_true(idle[i] >= 0);
    }
    for (int i = 0; i < IDLE; i++)
        close(idle[i]);
    /* Accepts a sender again once it has noticed the disconnects. */
    snprintf(endpoint, sizeof endpoint, "ipc://%s/in", folder);
    int64_t until_ns = crn_now_ns() + CLOSING_MS * CRN_NS_PER_MS;
    int sender;
    while ((sender = crn_zmtp_connect_push(endpoint)) < 0)
        assert_true(crn_now_ns() < until_ns);
    close(sender);
    assert_int_equal(kill(daemon.pid, SIGTERM), 0);
    int status = daemon_end(&daemon);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(daemon_remove_folder(folder), 0);
}

/* Peers that each stay below their individual limit. */
static void unfinished_views_of_all_have_a_bound_together(void **state)
{
    (void)state;
    enum { ATTACKERS = 9, BYTES = 2000000 };
    crn_receiving line;
    crn_receiving_open("tcp://127.0.0.1:*", &line);
    crn_receiving_send_good(&line, line.push, 0);
    crn_view_header header;
    crn_receiving_next(&line, &header);
    int attacker[ATTACKERS];
    for (int i = 0; i < ATTACKERS; i++) {
        attacker[i] = crn_zmtp_connect_push(crn_ingest_endpoint(line.ingest, 0));
        assert_true(attacker[i] >= 0);
    }
    crn_receiving_wait_peers(&line, 1 + ATTACKERS, 0, 0);
    for (int i = 0; i < ATTACKERS; i++)
        assert_int_equal(crn_zmtp_send_head(attacker[i], BYTES, true), 0);
    /* Eight fit below four times peer_mib; the ninth causes the oldest to be cut. */
    crn_receiving_wait_peers(&line, 1 + ATTACKERS, 1, 0);
    assert_int_equal(crn_ingest_get_stats(line.ingest)->peers.cut[CRN_CUT_SHARE], 1);
    crn_receiving_send_good(&line, line.push, 1);
    crn_receiving_next(&line, &header);
    for (int i = 0; i < ATTACKERS; i++)
        close(attacker[i]);
    crn_receiving_close(&line);
}

/* Its messages are queued, so nothing is read from it when heartbeats are due. */
static void a_sender_that_goes_while_nobody_reads_takes_nothing_along(void **state)
{
    (void)state;
    enum { MESSAGES = 200, PINGS = 3, PING_BYTES = 9 };
    static unsigned char messages[MESSAGES * 3], pings[PINGS * PING_BYTES];
    for (int i = 0; i < MESSAGES; i++)
        messages[3 * i + 1] = 1;
    char folder[64], endpoint[128];
    assert_int_equal(daemon_make_folder(folder), 0);
    snprintf(endpoint, sizeof endpoint, "ipc://%s/in", folder);
    crn_receiving line;
    crn_receiving_open(endpoint, &line);
    int sender = crn_zmtp_connect_push(endpoint);
    assert_true(sender >= 0);
    assert_int_equal(crn_zmtp_send(sender, messages, sizeof messages), 0);
    close(sender);
    /* Waits for another peer's heartbeats: the first one's were due as well. */
    int other = crn_zmtp_connect_push(endpoint);
    assert_true(other >= 0);
    assert_int_equal(recv(other, pings, sizeof pings, MSG_WAITALL), sizeof pings);
    assert_memory_equal(pings + 2, "\4PING", 5);
    close(other);
    crn_receiving_send_good(&line, line.push, 0);
    crn_view_header header;
    crn_receiving_next(&line, &header);
    crn_receiving_close(&line);
    assert_int_equal(daemon_remove_folder(folder), 0);
}

/* Beside one that answers. */
static void a_viewer_that_answers_no_heartbeat_is_counted(void **state)
{
    (void)state;
    static line_fixture f;
    start(&f);
    char endpoint[128];
    write_endpoint(&f, "viewers", endpoint);
    void *viewer = crn_peer_connect(f.zmq, ZMQ_SUB, false, endpoint);
    assert_int_equal(zmq_setsockopt(viewer, ZMQ_SUBSCRIBE, "", 0), 0);
    int silent = crn_zmtp_connect_as(endpoint, "SUB");
    assert_true(silent >= 0);
    assert_int_equal(crn_zmtp_wait_closed(silent, CRN_FIXTURE_PATIENCE_MS), 0);
    close(silent);
    pass_fruits(&f, 3);
    zmq_close(viewer);
    line_stop(&f);
    assert_int_equal(f.metrics.publish.peers.cut[CRN_CUT_SILENT], 1);
    assert_int_equal(f.metrics.ingest.peers.cut[CRN_CUT_SILENT], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_without_end_cut_their_sender_at_every_port),
        cmocka_unit_test(commands_of_a_megabyte_cut_their_sender),
        cmocka_unit_test(a_message_of_very_many_parts_is_never_read),
        cmocka_unit_test(subscriptions_by_the_thousand_cut_their_viewer),
        cmocka_unit_test(viewers_that_come_and_go_with_thousands_of_subscriptions_end_nothing),
        cmocka_unit_test(more_connections_than_allowed_keep_no_sender_out),
        cmocka_unit_test(a_process_of_few_descriptors_outlives_a_flood_of_connections),
        cmocka_unit_test(unfinished_views_of_all_have_a_bound_together),
        cmocka_unit_test(a_sender_that_goes_while_nobody_reads_takes_nothing_along),
        cmocka_unit_test(a_viewer_that_answers_no_heartbeat_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

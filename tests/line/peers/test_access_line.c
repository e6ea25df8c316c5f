/* A line that requires keys: clients with keys pass, strangers are refused by reason and change
 * nothing, and the limits of peers hold for clients, too. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <zmq.h>

#include "stages/base/clock.h"
#include "src/ingest/access/access.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/line_fixture.h"
#include "tests/support/peers/free_port.h"
#include "tests/support/peers/keys.h"
#include "tests/support/peers/peer.h"
#include "tests/support/peers/zmtp.h"

#define LINE                                                                                       \
    "classes: [{name: background}, {name: rot, level: 0.5}]\n"                                     \
    "chain: [contours: {}]\n"                                                                      \
    "run: {backend: openmp, workers: 1, threads: 1}\n"                                             \
    "latency: {budget_ms: 60000, assemble_ms: 60000}\n"                                            \
    "limits: {view_mib: 1, peer_mib: 1, peers: 64}\n"

#define PART_BYTES (1 << 20)

enum { IN, GRADER, VIEWERS, PORTS };

typedef struct guarded_line {
    line_fixture line; /* its sender and grader are connected as given below */
    crn_test_keys keys;
    crn_test_pair cnn, grader, viewer, all, unknown;
    char endpoint[PORTS][64];
    void *viewers; /* the honest viewer */
    uint64_t fruits;
} guarded_line;

static void *join_line(guarded_line *g, int type, int port, const crn_test_pair *pair)
{
    return crn_test_keys_connect(g->line.zmq, type, g->endpoint[port], pair, g->keys.server);
}

/* Starts it on tcp, views also at ipc; connects sender and grader with keys. */
static void start(guarded_line *g)
{
    memset(g, 0, sizeof *g);
    line_fixture *f = &g->line;
    line_configure(f, LINE);
    crn_test_keys_make(f->folder, &g->keys);
    crn_test_keys_add(&g->keys, "cnn", "ingest", &g->cnn);
    crn_test_keys_add(&g->keys, "grader", "grader", &g->grader);
    crn_test_keys_add(&g->keys, "viewer", "viewers", &g->viewer);
    crn_test_keys_add(&g->keys, "all", NULL, &g->all);
    crn_test_pair_make(&g->unknown);
    if (crn_access_open(g->keys.folder, false, &f->config.guard, &f->error) < 0)
        fail_msg("%s", f->error.text);
    int first = crn_test_free_ports(false, PORTS);
    for (int port = 0; port < PORTS; port++)
        snprintf(g->endpoint[port], sizeof g->endpoint[port], "tcp://127.0.0.1:%d", first + port);
    f->config.ingest.bind.count = 2;
    snprintf(f->config.ingest.bind.item[1], CRN_TEXT_BYTES, "%s", g->endpoint[IN]);
    snprintf(f->config.publish.grader.bind, CRN_TEXT_BYTES, "%s", g->endpoint[GRADER]);
    snprintf(f->config.publish.viewers.bind, CRN_TEXT_BYTES, "%s", g->endpoint[VIEWERS]);
    line_run(f, NULL);
    zmq_close(f->sender);
    zmq_close(f->grader);
    f->sender = join_line(g, ZMQ_PUSH, IN, &g->cnn);
    f->grader = join_line(g, ZMQ_PULL, GRADER, &g->grader);
}

static void stop(guarded_line *g)
{
    crn_access *guard = g->line.config.guard;
    line_stop(&g->line);
    crn_access_close(&guard);
}

static void pass_fruits(guarded_line *g, uint64_t count)
{
    float *maps = line_discs(20, 30, 2);
    for (uint64_t i = 0; i < count; i++) {
        seen_verdict seen;
        line_send(&g->line, line_header(&g->line, g->fruits, 0, 1, 20, 30), maps, NULL);
        assert_true(line_receive(&g->line, CRN_FIXTURE_PATIENCE_MS, &seen));
        assert_int_equal(seen.fruit, g->fruits++);
        assert_string_equal(seen.verdict, "complete");
    }
    free(maps);
}

static uint64_t refused(const guarded_line *g, crn_access_use use, crn_access_refusal reason)
{
    crn_access_stats stats;
    crn_access_get_stats(g->line.config.guard, &stats);
    return stats.refused[use][reason];
}

static void wait_refused(const guarded_line *g, crn_access_use use, crn_access_refusal reason,
                         uint64_t count)
{
    int64_t until_ns = crn_now_ns() + CRN_FIXTURE_PATIENCE_MS * CRN_NS_PER_MS;
    while (refused(g, use, reason) < count && crn_now_ns() < until_ns)
        poll(NULL, 0, 5);
    if (refused(g, use, reason) < count)
        fail_msg("%s at %s: %u of %u", crn_access_refusal_names[reason], crn_access_use_names[use],
                 (unsigned)refused(g, use, reason), (unsigned)count);
}

/* Connects without keys, sends its whole handshake at once, and sees that it was refused. */
static int introduce(const char *endpoint, const char *kind)
{
    unsigned char bytes[CRN_ZMTP_BYTES];
    size_t size = crn_zmtp_introduction(kind, bytes);
    int peer = crn_zmtp_connect(endpoint);
    assert_true(peer >= 0);
    assert_int_equal(crn_zmtp_send(peer, bytes, size), 0);
    assert_int_equal(crn_zmtp_wait_closed(peer, CRN_FIXTURE_PATIENCE_MS), 0);
    return peer;
}

/* A connection that says nothing ends counted, too. */
static void half_open_connections_are_counted(void **state)
{
    (void)state;
    static guarded_line g;
    start(&g);
    int half_open[PORTS];
    for (int port = 0; port < PORTS; port++) {
        half_open[port] = crn_zmtp_connect(g.endpoint[port]);
        assert_true(half_open[port] >= 0);
    }
    pass_fruits(&g, 3);
    for (int port = 0; port < PORTS; port++)
        assert_int_equal(crn_zmtp_wait_closed(half_open[port], CRN_FIXTURE_PATIENCE_MS), 0);
    wait_refused(&g, CRN_ACCESS_INGEST, CRN_ACCESS_MALFORMED, 1);
    wait_refused(&g, CRN_ACCESS_GRADER, CRN_ACCESS_MALFORMED, 1);
    wait_refused(&g, CRN_ACCESS_VIEWERS, CRN_ACCESS_MALFORMED, 1);
    for (int port = 0; port < PORTS; port++)
        close(half_open[port]);
    stop(&g);
    assert_int_equal(g.line.metrics.fruits.complete, 3);
}

static void clients_with_keys_use_their_sockets(void **state)
{
    (void)state;
    static guarded_line g;
    start(&g);
    pass_fruits(&g, 3);
    void *viewer = join_line(&g, ZMQ_SUB, VIEWERS, &g.viewer);
    assert_int_equal(zmq_setsockopt(viewer, ZMQ_SUBSCRIBE, "", 0), 0);
    char topic[64];
    /* The status message comes once a second. */
    assert_true(zmq_recv(viewer, topic, sizeof topic, 0) > 0);
    zmq_close(viewer);
    /* One key for several sockets. */
    zmq_close(g.line.sender);
    g.line.sender = join_line(&g, ZMQ_PUSH, IN, &g.all);
    pass_fruits(&g, 3);
    /* Files decide at ipc. */
    char ipc[128];
    snprintf(ipc, sizeof ipc, "ipc://%s/in", g.line.folder);
    zmq_close(g.line.sender);
    g.line.sender = crn_peer_connect(g.line.zmq, ZMQ_PUSH, false, ipc);
    pass_fruits(&g, 3);
    stop(&g);
    assert_int_equal(g.line.metrics.fruits.complete, 9);
    assert_int_equal(g.line.metrics.access.clients, 4);
    for (int use = 0; use < CRN_ACCESS_USES; use++)
        for (int reason = 0; reason < CRN_ACCESS_REFUSALS; reason++)
            assert_int_equal(g.line.metrics.access.refused[use][reason], 0);
}

static void strangers_are_refused_by_reason_at_every_socket(void **state)
{
    (void)state;
    enum { STRANGERS = 3 };
    static const char *const kinds[PORTS] = {"PUSH", "PULL", "SUB"};
    static const int types[PORTS] = {ZMQ_PUSH, ZMQ_PULL, ZMQ_SUB};
    static const crn_access_use uses[PORTS] = {CRN_ACCESS_INGEST, CRN_ACCESS_GRADER,
                                               CRN_ACCESS_VIEWERS};
    static guarded_line g;
    start(&g);
    pass_fruits(&g, 3);
    const crn_test_pair *wrong[PORTS] = {&g.viewer, &g.cnn, &g.grader};
    crn_test_pair other_server;
    crn_test_pair_make(&other_server);
    void *stranger[PORTS][STRANGERS];
    for (int port = 0; port < PORTS; port++) {
        stranger[port][0] = join_line(&g, types[port], port, &g.unknown);
        stranger[port][1] = join_line(&g, types[port], port, wrong[port]);
        stranger[port][2] = crn_test_keys_connect(g.line.zmq, types[port], g.endpoint[port], &g.all,
                                                  other_server.public);
        for (int i = 0; i < STRANGERS && types[port] == ZMQ_SUB; i++)
            assert_int_equal(zmq_setsockopt(stranger[port][i], ZMQ_SUBSCRIBE, "", 0), 0);
        for (int i = 0; i < STRANGERS && types[port] == ZMQ_PUSH; i++)
            zmq_send(stranger[port][i], "x", 1, ZMQ_DONTWAIT);
        int plain = introduce(g.endpoint[port], kinds[port]);
        wait_refused(&g, uses[port], CRN_ACCESS_UNKNOWN_KEY, 1);
        wait_refused(&g, uses[port], CRN_ACCESS_NOT_FOR_SOCKET, 1);
        wait_refused(&g, uses[port], CRN_ACCESS_PLAIN, 1);
        wait_refused(&g, uses[port], CRN_ACCESS_MALFORMED, 1);
        close(plain);
    }
    pass_fruits(&g, 10);
    for (int port = 0; port < PORTS; port++)
        for (int i = 0; i < STRANGERS; i++) {
            char byte;
            if (types[port] != ZMQ_PUSH)
                assert_int_equal(zmq_recv(stranger[port][i], &byte, 1, ZMQ_DONTWAIT), -1);
            zmq_close(stranger[port][i]);
        }
    stop(&g);
    assert_int_equal(g.line.metrics.ingest.messages, 13);
    assert_int_equal(g.line.metrics.publish.grader_connects, 1);
    assert_int_equal(g.line.metrics.fruits.complete, 13);
}

static void a_socket_file_requires_keys_if_asked_to(void **state)
{
    (void)state;
    static guarded_line g;
    line_fixture *f = &g.line;
    crn_test_keys keys;
    crn_test_pair all;
    char in[128], grader[128];
    line_configure(f, LINE);
    crn_test_keys_make(f->folder, &keys);
    crn_test_keys_add(&keys, "all", NULL, &all);
    assert_int_equal(crn_access_open(keys.folder, true, &f->config.guard, &f->error), 0);
    crn_access *guard = f->config.guard;
    line_run(f, NULL); /* connects without keys */
    snprintf(in, sizeof in, "ipc://%s/in", f->folder);
    snprintf(grader, sizeof grader, "ipc://%s/grader", f->folder);
    close(introduce(in, "PUSH"));
    close(introduce(grader, "PULL"));
    wait_refused(&g, CRN_ACCESS_INGEST, CRN_ACCESS_PLAIN, 1);
    wait_refused(&g, CRN_ACCESS_GRADER, CRN_ACCESS_PLAIN, 1);
    zmq_close(f->sender);
    zmq_close(f->grader);
    f->sender = crn_test_keys_connect(f->zmq, ZMQ_PUSH, in, &all, keys.server);
    f->grader = crn_test_keys_connect(f->zmq, ZMQ_PULL, grader, &all, keys.server);
    float *maps = line_discs(20, 30, 2);
    seen_verdict seen;
    line_send(f, line_header(f, 1, 0, 1, 20, 30), maps, NULL);
    assert_true(line_receive(f, CRN_FIXTURE_PATIENCE_MS, &seen));
    free(maps);
    line_stop(f);
    crn_access_close(&guard);
    assert_int_equal(f->metrics.ingest.messages, 1);
}

/* Of its parts only the sizes are seen: what the line has not read counts. */
static void a_client_with_a_key_has_limits(void **state)
{
    (void)state;
    enum { PARTS = 100 };
    static char part[PART_BYTES];
    static guarded_line g;
    start(&g);
    pass_fruits(&g, 3);
    /* Far more than the limits, but read as it comes. */
    zmq_close(g.line.sender);
    void *honest = g.line.sender = join_line(&g, ZMQ_PUSH, IN, &g.all);
    for (int i = 0; i < PARTS; i++)
        assert_int_equal(zmq_send(honest, part, sizeof part, 0), sizeof part);
    pass_fruits(&g, 3);
    /* Cut before its message is whole. */
    void *hostile = join_line(&g, ZMQ_PUSH, IN, &g.all),
         *monitor = zmq_socket(g.line.zmq, ZMQ_PAIR);
    assert_int_equal(zmq_socket_monitor(hostile, "inproc://hostile", ZMQ_EVENT_DISCONNECTED), 0);
    assert_int_equal(zmq_connect(monitor, "inproc://hostile"), 0);
    for (int i = 0; i < PARTS; i++)
        assert_int_equal(zmq_send(hostile, part, sizeof part, i + 1 < PARTS ? ZMQ_SNDMORE : 0),
                         sizeof part);
    zmq_pollitem_t item = {.socket = monitor, .events = ZMQ_POLLIN};
    assert_int_equal(zmq_poll(&item, 1, CRN_FIXTURE_PATIENCE_MS), 1);
    zmq_socket_monitor(hostile, NULL, 0);
    zmq_close(hostile);
    zmq_close(monitor);
    pass_fruits(&g, 3);
    stop(&g);
    assert_true(g.line.metrics.ingest.peers.cut[CRN_CUT_BYTES] >= 1);
    assert_int_equal(g.line.metrics.ingest.messages, 9 + PARTS);
    assert_int_equal(g.line.metrics.fruits.complete, 9);
}

static void failed_handshakes_have_a_rate(void **state)
{
    (void)state;
    static guarded_line g;
    start(&g);
    pass_fruits(&g, 3);
    static const unsigned char greeting[64] = {0xff, [9] = 0x7f, [10] = 3, [12] = 'C',
                                               'U',  'R',        'V',      'E'};
    /* More than an address has at once. */
    for (int i = 0; i < 200 && refused(&g, CRN_ACCESS_INGEST, CRN_ACCESS_ATTEMPTS) == 0; i++) {
        int half_open = crn_zmtp_connect(g.endpoint[IN]);
        assert_true(half_open >= 0);
        crn_zmtp_send(half_open, greeting, sizeof greeting);
        close(half_open);
    }
    wait_refused(&g, CRN_ACCESS_INGEST, CRN_ACCESS_ATTEMPTS, 1);
    pass_fruits(&g, 3);
    assert_int_equal(refused(&g, CRN_ACCESS_GRADER, CRN_ACCESS_ATTEMPTS), 0);
    /* A client that comes meanwhile succeeds after some attempts. */
    zmq_close(g.line.sender);
    g.line.sender = join_line(&g, ZMQ_PUSH, IN, &g.cnn);
    pass_fruits(&g, 3);
    stop(&g);
    assert_int_equal(g.line.metrics.fruits.complete, 9);
}

/* Reads the folder of keys again. */
static crn_access_changed change_keys(guarded_line *g)
{
    crn_access_update *update = NULL;
    assert_int_equal(crn_access_prepare(g->line.config.guard, stderr, &update), 0);
    return crn_access_change(g->line.config.guard, &update);
}

static void remove_client(guarded_line *g, const char *name)
{
    char path[160];
    snprintf(path, sizeof path, "%s/clients/%s.pub", g->keys.folder, name);
    assert_int_equal(unlink(path), 0);
}

/* Waits until a verdict reaches the viewer. */
static void expect_shown(void *viewer)
{
    char topic[64];
    int size = zmq_recv(viewer, topic, sizeof topic, 0);
    if (size < 0)
        fail_msg("the viewer was shown nothing: %s", zmq_strerror(errno));
    int more = 1;
    size_t bytes = sizeof more;
    while (zmq_getsockopt(viewer, ZMQ_RCVMORE, &more, &bytes) == 0 && more)
        assert_true(zmq_recv(viewer, topic, sizeof topic, 0) >= 0);
}

/* Of each socket two clients from the same address; that which stays loses nothing. */
static void a_client_without_its_key_is_cut_off(void **state)
{
    (void)state;
    static guarded_line g;
    start(&g);
    pass_fruits(&g, 3);
    void *sender = join_line(&g, ZMQ_PUSH, IN, &g.all);
    void *viewer = join_line(&g, ZMQ_SUB, VIEWERS, &g.viewer);
    void *leaving = join_line(&g, ZMQ_SUB, VIEWERS, &g.all);
    assert_int_equal(zmq_setsockopt(viewer, ZMQ_SUBSCRIBE, "", 0), 0);
    assert_int_equal(zmq_setsockopt(leaving, ZMQ_SUBSCRIBE, "", 0), 0);
    expect_shown(viewer);
    expect_shown(leaving);
    assert_int_equal(zmq_send(sender, "x", 1, 0), 1); /* it is admitted */
    crn_access_changed none = change_keys(&g);
    assert_int_equal(none.lost + none.ended, 0);
    remove_client(&g, "all");
    crn_access_changed changed = change_keys(&g);
    assert_int_equal(changed.clients, 3);
    assert_int_equal(changed.lost, 1);
    assert_int_equal(changed.ended, 2);
    /* They connect again, and are refused. */
    wait_refused(&g, CRN_ACCESS_INGEST, CRN_ACCESS_UNKNOWN_KEY, 1);
    wait_refused(&g, CRN_ACCESS_VIEWERS, CRN_ACCESS_UNKNOWN_KEY, 1);
    assert_int_equal(zmq_send(sender, "x", 1, ZMQ_DONTWAIT), -1);
    pass_fruits(&g, 10);
    expect_shown(viewer);
    zmq_close(sender);
    zmq_close(viewer);
    zmq_close(leaving);
    stop(&g);
    assert_int_equal(g.line.metrics.ingest.peers.cut[CRN_CUT_REVOKED], 1);
    assert_int_equal(g.line.metrics.publish.peers.cut[CRN_CUT_REVOKED], 1);
    assert_int_equal(g.line.metrics.fruits.complete, 13);
    assert_int_equal(g.line.metrics.publish.grader_connects, 1);
}

/* With the same key: a permission for a socket less, or the grader's whole key. */
static void a_client_without_a_permission_is_cut_off(void **state)
{
    (void)state;
    static guarded_line g;
    char text[160];
    start(&g);
    zmq_close(g.line.grader);
    g.line.grader = join_line(&g, ZMQ_PULL, GRADER, &g.all);
    pass_fruits(&g, 3);
    snprintf(text, sizeof text, "for: ingest, viewers\n%s\n", g.all.public);
    crn_test_keys_write(&g.keys, "clients/all.pub", text, 0644);
    crn_access_changed changed = change_keys(&g);
    assert_int_equal(changed.lost, 1);
    assert_int_equal(changed.ended, 1);
    wait_refused(&g, CRN_ACCESS_GRADER, CRN_ACCESS_NOT_FOR_SOCKET, 1);
    zmq_close(g.line.grader);
    g.line.grader = join_line(&g, ZMQ_PULL, GRADER, &g.grader);
    pass_fruits(&g, 3);
    stop(&g);
    assert_int_equal(g.line.metrics.fruits.complete, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clients_with_keys_use_their_sockets),
        cmocka_unit_test(half_open_connections_are_counted),
        cmocka_unit_test(strangers_are_refused_by_reason_at_every_socket),
        cmocka_unit_test(a_socket_file_requires_keys_if_asked_to),
        cmocka_unit_test(a_client_with_a_key_has_limits),
        cmocka_unit_test(failed_handshakes_have_a_rate),
        cmocka_unit_test(a_client_without_its_key_is_cut_off),
        cmocka_unit_test(a_client_without_a_permission_is_cut_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

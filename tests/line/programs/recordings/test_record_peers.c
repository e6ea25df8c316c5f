/* Peers of cernita-record that take more than a sender may: each is disconnected, it alone, and
 * what honest senders send is passed on. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <zmq.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/daemon.h"
#include "tests/support/parts/recorded.h"
#include "tests/support/peers/peer.h"
#include "tests/support/peers/zmtp.h"

/* More than the kernel's buffers and the limits allow together. */
#define FLOOD_BYTES (UINT64_C(256) << 20)
#define CLOSING_MS  60000

typedef struct recording {
    char from[96], to[96];
    daemon_process recorder;
    void *zmq, *sender, *line;
} recording;

static void connect_line(recording *f)
{
    int wait_ms = CRN_PEER_WAIT_MS;
    f->line = zmq_socket(f->zmq, ZMQ_PULL);
    zmq_setsockopt(f->line, ZMQ_RCVTIMEO, &wait_ms, sizeof wait_ms);
    assert_int_equal(zmq_bind(f->line, f->to), 0);
}

static void start(recording *f, const char *view_mib, void (*prepare)(void))
{
    memset(f, 0, sizeof *f);
    snprintf(f->from, sizeof f->from, "ipc://%s/from", recorded_folder);
    snprintf(f->to, sizeof f->to, "ipc://%s/to", recorded_folder);
    const char *const arguments[] = {
        "cernita-record", "--from",        f->from,   "--to", f->to,
        "--dir",          recorded_folder, "--queue", "8",    view_mib ? "--view-mib" : NULL,
        view_mib,         "--peer-mib",    view_mib,  NULL};
    daemon_start_as(&f->recorder, CRN_BIN "/cernita-record", arguments, prepare);
    daemon_read_until(&f->recorder, "ready");
    f->zmq = zmq_ctx_new();
    f->sender = crn_peer_connect(f->zmq, ZMQ_PUSH, false, f->from);
}

/* Ends it; its output must name what was cut. */
static void stop(recording *f, const char *cut)
{
    assert_int_equal(kill(f->recorder.pid, SIGTERM), 0);
    daemon_read_until(&f->recorder, NULL);
    if (!strstr(f->recorder.text, cut))
        fail_msg("no '%s' in: %s", cut, f->recorder.text);
    int status = daemon_end(&f->recorder);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    zmq_close(f->sender);
    if (f->line)
        zmq_close(f->line);
    zmq_ctx_term(f->zmq);
    recorded_clear();
}

static void send_number(recording *f, unsigned number)
{
    assert_int_equal(zmq_send(f->sender, &number, sizeof number, 0), sizeof number);
}

static void receive_number(recording *f, unsigned number)
{
    unsigned got;
    assert_int_equal(zmq_recv(f->line, &got, sizeof got, 0), sizeof got);
    assert_int_equal(got, number);
}

static void pass(recording *f)
{
    send_number(f, 7);
    receive_number(f, 7);
}

/* Sends the chunk until the connection is cut. */
static void flood(const recording *f, const void *chunk, size_t size)
{
    int peer = crn_zmtp_connect_push(f->from);
    assert_true(peer >= 0);
    struct timeval patience = {.tv_sec = CRN_PEER_WAIT_MS / 1000};
    setsockopt(peer, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    int r = 0;
    for (uint64_t sent = 0; r == 0 && sent < FLOOD_BYTES; sent += size)
        r = crn_zmtp_send(peer, chunk, size);
    if (r != -EPIPE && r != -ECONNRESET)
        fail_msg("the peer was not disconnected: %s", r ? strerror(-r) : "it goes on");
    close(peer);
}

static void a_message_without_end_cuts_its_sender(void **state)
{
    (void)state;
    static unsigned char large[9 + 65536] = {3, 0, 0, 0, 0, 0, 1}, tiny[65536];
    for (size_t i = 0; i < sizeof tiny; i += 2)
        tiny[i] = 1;
    recording f;
    start(&f, NULL, NULL);
    connect_line(&f);
    pass(&f);
    flood(&f, large, sizeof large);
    pass(&f);
    flood(&f, tiny, sizeof tiny);
    pass(&f);
    stop(&f, "disconnected: cut_parts=2");
}

/* Nothing is read then, so that messages wait: those of an honest sender, too, and complete ones
 * that are larger than views. */
static void what_waits_for_a_line_is_bounded(void **state)
{
    (void)state;
    enum { PARTS = 8, PART = 9 + (1 << 20), NUMBERS = 5 };
    static unsigned char message[PARTS * PART];
    for (int i = 0; i < PARTS; i++) {
        message[i * PART] = i + 1 < PARTS ? 3 : 2; /* long, and more parts follow */
        message[i * PART + 6] = 1 << 4;
    }
    recording f;
    start(&f, "1", NULL);
    for (unsigned i = 0; i < NUMBERS; i++)
        send_number(&f, i);
    for (int i = 0; i < 3; i++)
        flood(&f, message, sizeof message);
    connect_line(&f);
    for (unsigned i = 0; i < NUMBERS; i++)
        receive_number(&f, i);
    stop(&f, "disconnected: cut_bytes=3");
    assert_non_null(strstr(f.recorder.text, "raise the limit"));
    assert_non_null(strstr(f.recorder.text, "--peer-mib"));
}

static void lower_descriptors(void)
{
    struct rlimit limit = {64, 64};
    setrlimit(RLIMIT_NOFILE, &limit);
}

static void few_descriptors_keep_no_sender_out(void **state)
{
    (void)state;
    enum { IDLE = 300 };
    recording f;
    start(&f, NULL, lower_descriptors);
    connect_line(&f);
    pass(&f);
    int idle[IDLE];
    for (int i = 0; i < IDLE; i++)
        assert_true((idle[i] = crn_zmtp_connect(f.from)) >= 0);
    /* All but a few are closed: no connection waits that nobody takes. */
    for (int i = 0; i < IDLE - 64; i++)
        assert_int_equal(crn_zmtp_wait_closed(idle[i], CLOSING_MS), 0);
    pass(&f);
    for (int i = 0; i < IDLE; i++)
        close(idle[i]);
    stop(&f, "disconnected: cut_connections=");
    assert_non_null(strstr(f.recorder.text, "--peers: 256 connections to each port need"));
}

static rlim_t processes; /* of a user without another one: root's are not limited */

static void lower_threads(void)
{
    const uid_t nobody_else = 1000000 + (uid_t)getpid(); /* not another test's, either */
    struct rlimit limit = {processes, processes};
    setrlimit(RLIMIT_NPROC, &limit);
    if (setresuid(nobody_else, nobody_else, nobody_else) < 0)
        _exit(99);
}

/* Too few for libzmq's, or for them and the one that writes. */
static void too_few_threads_are_said(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    char from[96];
    snprintf(from, sizeof from, "ipc://%s/from", recorded_folder);
    const char *const arguments[] = {"cernita-record", "--from",        from,
                                     "--dir",          recorded_folder, NULL};
    assert_int_equal(chmod(recorded_folder, 0777), 0);
    for (processes = 1; processes <= 3; processes++) {
        daemon_process recorder;
        daemon_start_as(&recorder, CRN_BIN "/cernita-record", arguments, lower_threads);
        daemon_read_until(&recorder, NULL);
        int status = daemon_end(&recorder);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 1);
        if (!strstr(recorder.text, "thread"))
            fail_msg("%s", recorder.text);
    }
    assert_int_equal(chmod(recorded_folder, 0700), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_without_end_cuts_its_sender),
        cmocka_unit_test(what_waits_for_a_line_is_bounded),
        cmocka_unit_test(few_descriptors_keep_no_sender_out),
        cmocka_unit_test(too_few_threads_are_said),
    };
    return cmocka_run_group_tests(tests, recorded_setup, recorded_teardown);
}

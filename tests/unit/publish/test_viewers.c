/* Viewers that answer heartbeats and do not read: what waits for them is bounded, they are
 * disconnected, and one that reads loses nothing. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <zmq.h>

#include "src/publish/viewers.h"
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/daemon.h"
#include "tests/support/peers/peer.h"
#include "tests/support/peers/zmtp.h"

#define BODY_BYTES  65536
#define STUCK_MAX   3
#define PATIENCE_NS (300 * CRN_NS_PER_S)

typedef struct viewing {
    char folder[64], endpoint[96];
    crn_config config;
    crn_viewers *viewers;
    void *zmq, *reader; /* a viewer that reads */
    int stuck[STUCK_MAX];
    int stuck_count;
    uint64_t sent, most_unread;
    int64_t until_ns; /* of the whole test */
} viewing;

static crn_viewers_stats stats_of(viewing *f)
{
    crn_viewers_stats stats;
    crn_viewers_get_stats(f->viewers, &stats);
    if (crn_now_ns() > f->until_ns)
        fail_msg("%u were disconnected as they do not read, %u bytes wait, %u viewers",
                 (unsigned)stats.peers.cut[CRN_CUT_UNREAD], (unsigned)stats.unread_bytes,
                 (unsigned)stats.viewers);
    if (stats.unread_bytes > f->most_unread)
        f->most_unread = stats.unread_bytes;
    return stats;
}

static void pause_ms(void)
{
    nanosleep(&(struct timespec){.tv_nsec = CRN_NS_PER_MS}, NULL);
}

/* Sends what a viewer answers to a heartbeat; a connection that was cut takes nothing. */
static void beat(const viewing *f)
{
    static const unsigned char pong[] = "\4\5\4PONG";
    for (int i = 0; i < f->stuck_count; i++)
        send(f->stuck[i], pong, sizeof pong - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void start(viewing *f, int64_t viewers_mib, int stuck)
{
    memset(f, 0, sizeof *f);
    f->until_ns = crn_now_ns() + PATIENCE_NS;
    assert_int_equal(daemon_make_folder(f->folder), 0);
    snprintf(f->endpoint, sizeof f->endpoint, "ipc://%s/viewers", f->folder);
    f->config.limits.peers = 8;
    f->config.limits.viewers_mib = viewers_mib;
    f->config.publish.viewers.high_water_mark = 100;
    snprintf(f->config.publish.viewers.bind, CRN_TEXT_BYTES, "%s", f->endpoint);
    crn_error error;
    assert_int_equal(crn_viewers_open(&f->config, &f->viewers, &error), 0);
    f->zmq = zmq_ctx_new();
    f->reader = crn_peer_connect(f->zmq, ZMQ_SUB, false, f->endpoint);
    assert_int_equal(zmq_setsockopt(f->reader, ZMQ_SUBSCRIBE, "fruit/", 6), 0);
    static const unsigned char subscription[] = "\0\7\1fruit/";
    for (; f->stuck_count < stuck; f->stuck_count++) {
        int peer = crn_zmtp_connect_as(f->endpoint, "SUB");
        assert_true(peer >= 0);
        assert_int_equal(crn_zmtp_send(peer, subscription, sizeof subscription - 1), 0);
        f->stuck[f->stuck_count] = peer;
    }
    while (stats_of(f).viewers < (uint64_t)stuck + 1 || stats_of(f).subscriptions == 0)
        pause_ms();
    /* libzmq tells of the first subscription only: the reader's own is there once it gets one. */
    zmq_pollitem_t item = {.socket = f->reader, .events = ZMQ_POLLIN};
    do {
        zmq_msg_t probe;
        assert_int_equal(zmq_msg_init_size(&probe, 1), 0);
        crn_viewers_send(f->viewers, "fruit/0", &probe);
        stats_of(f);
    } while (zmq_poll(&item, 1, 10) == 0);
}

static void stop(viewing *f)
{
    for (int i = 0; i < f->stuck_count; i++)
        close(f->stuck[i]);
    zmq_close(f->reader);
    zmq_ctx_term(f->zmq);
    crn_viewers_close(&f->viewers, 0);
    assert_int_equal(daemon_remove_folder(f->folder), 0);
}

static bool read_next(viewing *f, uint64_t *ret_number)
{
    static unsigned char body[BODY_BYTES];
    char topic[32];
    int size = 1;
    while (size == 1) { /* start() probed with it */
        if (zmq_recv(f->reader, topic, sizeof topic, 0) < 0)
            return false;
        size = zmq_recv(f->reader, body, sizeof body, 0);
    }
    assert_int_equal(size, sizeof body);
    memcpy(ret_number, body, sizeof *ret_number);
    return true;
}

/* Sends one verdict, which the reader must get as the next one. */
static void pass(viewing *f)
{
    zmq_msg_t body;
    assert_int_equal(zmq_msg_init_size(&body, BODY_BYTES), 0);
    memset(zmq_msg_data(&body), 0, BODY_BYTES);
    memcpy(zmq_msg_data(&body), &f->sent, sizeof f->sent);
    crn_viewers_send(f->viewers, "fruit/0", &body);
    uint64_t number;
    assert_true(read_next(f, &number));
    assert_int_equal(number, f->sent);
    f->sent++;
    beat(f);
}

/* Waits until so many have been disconnected as they do not read. */
static void await_cut(viewing *f, uint64_t count)
{
    while (stats_of(f).peers.cut[CRN_CUT_UNREAD] < count) {
        beat(f);
        pause_ms();
    }
}

static void what_waits_is_bounded_and_who_reads_loses_nothing(void **state)
{
    (void)state;
    enum { BOUND = 1 << 20 };
    viewing f;
    start(&f, 1, STUCK_MAX);
    /* Above half of the bound one is disconnected after the other. */
    while (stats_of(&f).peers.cut[CRN_CUT_UNREAD] < STUCK_MAX) {
        if (stats_of(&f).unread_bytes <= BOUND / 2)
            pass(&f);
        beat(&f);
        pause_ms();
    }
    crn_viewers_stats stats = stats_of(&f);
    assert_int_equal(stats.peers.cut[CRN_CUT_UNREAD], STUCK_MAX);
    for (int i = 0; i < STUCK_MAX; i++)
        assert_int_equal(crn_zmtp_wait_closed(f.stuck[i], CRN_PEER_WAIT_MS), 0);
    while (stats_of(&f).unread_bytes > 0 || stats_of(&f).viewers > 1)
        pause_ms();
    for (int i = 0; i < 100; i++)
        pass(&f);
    stats = stats_of(&f);
    assert_int_equal(stats.dropped, 0);
    assert_int_equal(stats.peers.cut[CRN_CUT_UNREAD], STUCK_MAX);
    assert_in_range(f.most_unread, BOUND / 2, BOUND);
    stop(&f);
}

/* Nobody reads, and nobody is disconnected in this time: what does not fit is dropped. */
/* Of as many as may wait at a time at most, one for each KiB of the bound. */
static void records_of_what_was_read_are_used_again(void **state)
{
    (void)state;
    enum { RECORDS = 1024 };
    viewing f;
    start(&f, 1, 0);
    for (int i = 0; i < 2 * RECORDS; i++)
        pass(&f);
    assert_int_equal(stats_of(&f).dropped, 0);
    stop(&f);
}

static void more_than_the_bound_is_dropped(void **state)
{
    (void)state;
    enum { BOUND = 1 << 20, MESSAGES = 64 };
    viewing f;
    start(&f, 1, 1);
    for (int i = 0; i < MESSAGES; i++) {
        zmq_msg_t body;
        assert_int_equal(zmq_msg_init_size(&body, BOUND / 4), 0);
        memset(zmq_msg_data(&body), 0, BOUND / 4);
        crn_viewers_send(f.viewers, "fruit/0", &body);
        stats_of(&f);
    }
    assert_in_range(f.most_unread, BOUND / 4, BOUND);
    /* A verdict that is larger alone than the bound still goes out. */
    while (stats_of(&f).peers.cut[CRN_CUT_UNREAD] == 0) {
        char bytes[8192];
        while (zmq_recv(f.reader, bytes, sizeof bytes, ZMQ_DONTWAIT) >= 0)
            continue;
        beat(&f);
        pause_ms();
    }
    stop(&f);
}

/* However little waits for it. */
static void who_reads_nothing_for_seconds_is_disconnected(void **state)
{
    (void)state;
    viewing f;
    start(&f, 64, 1);
    while (stats_of(&f).unread_bytes == 0 || f.sent < 20)
        pass(&f);
    await_cut(&f, 1);
    assert_int_equal(crn_zmtp_wait_closed(f.stuck[0], CRN_PEER_WAIT_MS), 0);
    while (stats_of(&f).viewers > 1)
        pause_ms();
    pass(&f);
    crn_viewers_stats stats = stats_of(&f);
    assert_int_equal(stats.peers.cut[CRN_CUT_UNREAD], 1);
    assert_int_equal(stats.peers.cut[CRN_CUT_SILENT], 0);
    assert_int_equal(stats.dropped, 0);
    assert_int_equal(stats.viewers, 1);
    stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_waits_is_bounded_and_who_reads_loses_nothing),
        cmocka_unit_test(records_of_what_was_read_are_used_again),
        cmocka_unit_test(more_than_the_bound_is_dropped),
        cmocka_unit_test(who_reads_nothing_for_seconds_is_disconnected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Connections that idle or never end are closed, and those that are used are not. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/peers/http.h"
#include "tests/support/parts/served.h"

static int set_up(void **state)
{
    static served_pages pages;
    served_start(&pages, NULL, 1, 3);
    *state = &pages;
    return 0;
}

static int tear_down(void **state)
{
    served_stop(*state);
    return 0;
}

/* Opens an event stream and reads its first event. */
static int open_stream(const served_pages *f)
{
    char text[16384];
    int stream = http_connect(f->address);
    assert_true(http_send(stream, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    assert_true(http_read_until(stream, "event: snapshot", text, sizeof text));
    return stream;
}

static void expect_event(int stream)
{
    char text[16384];
    assert_true(http_read_until(stream, "event: snapshot", text, sizeof text));
}

static bool is_closed(int connection)
{
    char byte;
    ssize_t got = recv(connection, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    return got == 0 || (got < 0 && errno != EAGAIN);
}

/* The value of a counter of the pages. */
static double count(const served_pages *f, const char *sample)
{
    int code;
    char *text = http_get(f->address, "/metrics", &code);
    assert_int_equal(code, 200);
    double value = http_sample(text, sample);
    free(text);
    return value;
}

/* An event stream that was opened before goes on after all that were closed. */
static void silent_clients_are_closed(void **state)
{
    served_pages *f = *state;
    int stream = open_stream(f);
    int silent = http_connect(f->address), half = http_connect(f->address);
    assert_true(http_send(half, "GET /metrics HTTP/1.1\r\nHost: loc"));
    free(http_read_all(silent)); /* until it is closed */
    free(http_read_all(half));
    close(silent);
    close(half);
    expect_event(stream);
    expect_event(stream);
    close(stream);
    assert_true(count(f, "cernita_http_clients_dropped_total{kind=\"connection\"}") >= 1);
}

/* It is never idle. */
static void a_request_that_never_ends_is_closed(void **state)
{
    served_pages *f = *state;
    int64_t begun_ns = crn_now_ns(), sent_ns = begun_ns, longest_ns = 0;
    int stream = open_stream(f), slow = http_connect(f->address);
    assert_true(http_send(slow, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: "));
    while (!is_closed(slow)) {
        struct pollfd polled = {.fd = slow, .events = POLLIN};
        http_send(slow, "a");
        int64_t now_ns = crn_now_ns();
        longest_ns = now_ns - sent_ns > longest_ns ? now_ns - sent_ns : longest_ns;
        sent_ns = now_ns;
        (void)poll(&polled, 1, 100);
        assert_true(crn_now_ns() - begun_ns < 60 * CRN_NS_PER_S);
    }
    close(slow);
    /* Not for being idle, unless a busy machine made it so. */
    if (longest_ns < CRN_NS_PER_S / 2 && crn_now_ns() - sent_ns < CRN_NS_PER_S / 2)
        assert_true(crn_now_ns() - begun_ns > 2 * CRN_NS_PER_S);
    expect_event(stream);
    expect_event(stream);
    close(stream);
}

/* Snapshots are as large as lanes make them, so that the kernel's buffers fill. */
static void a_stream_that_nobody_reads_is_closed(void **state)
{
    served_pages *f = *state;
    int bytes = 4096, stream = open_stream(f);
    setsockopt(stream, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    int64_t begun_ns = crn_now_ns();
    for (uint64_t number = 1; count(f, "cernita_http_clients_dropped_total{kind=\"stream\"}") < 1;
         number++) {
        crn_snapshot *snapshot = crn_snapshots_begin(f->snapshots);
        snapshot->number = number;
        snapshot->lane_count = (int32_t)f->config.limits.lanes;
        crn_snapshots_publish(f->snapshots);
        (void)poll(NULL, 0, 50);
        assert_true(crn_now_ns() - begun_ns < 120 * CRN_NS_PER_S);
    }
    close(stream);
    stream = open_stream(f); /* its place is free */
    expect_event(stream);
    close(stream);
}

#define ON_TIMES(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_TIMES(silent_clients_are_closed),
        ON_TIMES(a_request_that_never_ends_is_closed),
        ON_TIMES(a_stream_that_nobody_reads_is_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

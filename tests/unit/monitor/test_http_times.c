/* Connections that idle or never end are closed, and those that are used are not. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/monitor/http/server.h"
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/peers/http.h"

static const char yaml[] = "classes: [{name: ground}, {name: rot, level: 0.5}]\n"
                           "chain: [contours]\n"
                           "monitor: {http: '127.0.0.1:0'}\n";

typedef struct times_fixture {
    crn_config config;
    crn_meters meters;
    crn_snapshots *snapshots;
    crn_conditions *conditions;
    crn_flight *flight;
    crn_http *http;
    const char *address;
} times_fixture;

static int set_up(void **state)
{
    times_fixture *f = calloc(1, sizeof *f);
    crn_error error;
    assert_int_equal(crn_config_parse("f", yaml, strlen(yaml), stderr, &f->config), 0);
    crn_config_resolve(&f->config, 2);
    assert_int_equal(crn_meters_init(&f->config, &f->meters), 0);
    assert_int_equal(crn_snapshots_create((int32_t)f->config.limits.lanes, &f->snapshots), 0);
    assert_int_equal(crn_conditions_open(&f->config, NULL, &f->conditions), 0);
    assert_int_equal(crn_flight_create(&f->config, &f->flight), 0);
    crn_http_settings settings = {.run = "run",
                                  .meters = &f->meters,
                                  .snapshots = f->snapshots,
                                  .conditions = f->conditions,
                                  .flight = f->flight,
                                  .idle_s = 1,
                                  .request_s = 3};
    assert_int_equal(crn_http_open(&f->config, &settings, &f->http, &error), 0);
    f->address = crn_http_address(f->http);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    times_fixture *f = *state;
    crn_http_close(&f->http);
    crn_flight_free(&f->flight);
    crn_conditions_close(&f->conditions);
    crn_snapshots_free(&f->snapshots);
    crn_meters_done(&f->meters);
    crn_config_done(&f->config);
    free(f);
    return 0;
}

/* Opens an event stream and reads its first event. */
static int open_stream(const times_fixture *f)
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
static double count(const times_fixture *f, const char *sample)
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
    times_fixture *f = *state;
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
    times_fixture *f = *state;
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
    times_fixture *f = *state;
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

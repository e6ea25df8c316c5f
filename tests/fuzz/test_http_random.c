/*
 * Random requests to the HTTP thread: mutated, cut off, in pieces, several on a connection, by
 * clients that read the answer or leave. After each batch the pages must be served as before, and
 * in the end no connection and no event stream may be left. CRN_CASES (10000 by default) and
 * CRN_SEED.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/monitor/http/server.h"
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/peers/http.h"
#include "tests/support/random.h"

#define BATCH         100
#define PATIENCE_NS   (60 * CRN_NS_PER_S)
#define REQUEST_BYTES 40000

static const char yaml[] = "classes: [{name: rot, level: 0.5}]\n"
                           "chain: [contours]\n"
                           "run: {backend: openmp, workers: 1, threads: 1}\n"
                           "monitor: {http: '127.0.0.1:0'}\n";

typedef struct text_buffer {
    size_t size;
    char bytes[REQUEST_BYTES];
} text_buffer;

/* What does not fit is left out. */
static void append(text_buffer *text, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size && text->size < sizeof text->bytes; i++)
        text->bytes[text->size++] = bytes[i];
}

#define CHOOSE(random, list) (list)[crn_random_below(random, sizeof(list) / sizeof((list)[0]))]

static void append_text(text_buffer *text, const char *part)
{
    append(text, part, strlen(part));
}

static void append_noise(crn_random *random, text_buffer *text)
{
    uint32_t size = crn_random_below(random, crn_random_once_in(random, 20) ? 20000 : 40);
    for (uint32_t i = 0; i < size; i++) {
        char byte = (char)crn_random_below(random, crn_random_once_in(random, 8) ? 256 : 95);
        byte = (char)(byte + (byte >= 0 && byte < 95 ? ' ' : 0));
        append(text, &byte, 1);
    }
}

static void append_header(crn_random *random, text_buffer *text)
{
    static const char *const headers[] = {
        "Host: 127.0.0.1:9464",
        "Host: evil.example",
        "Host:",
        "Connection: keep-alive",
        "Connection: close",
        "Connection: Upgrade",
        "Content-Length: 5",
        "Content-Length: 8\r\n\r\nnumber=1",
        ("Content-Length: 75\r\n\r\n{\"file\":\"a\",\"faults\":[],\"outlets\":[{\"name\":\"x\","
         "\"fruits\":1,\"per_minute\":2}]}"),
        "Content-Length: -1",
        "Content-Length: 99999999999999999999",
        "Transfer-Encoding: chunked",
        "Expect: 100-continue",
        "Accept-Encoding: gzip",
        "Range: bytes=0-",
        "If-None-Match: *",
        " folded",
        ":",
        "Cookie: a=b; c",
        "Origin: null",
        "Via: 1.1 a",
        "X-Cernita-Token:",
    };
    if (crn_random_once_in(random, 6)) {
        append_text(text, "X: ");
        append_noise(random, text);
    } else {
        append_text(text, CHOOSE(random, headers));
    }
    append_text(text, crn_random_once_in(random, 10) ? "\n" : "\r\n");
}

/* One request, sound in half of the cases. */
static void append_request(crn_random *random, text_buffer *text)
{
    static const char *const methods[] = {"GET",     "GET",     "GET", "HEAD", "POST", "PUT",
                                          "OPTIONS", "CONNECT", "get", "",     "TRACE"};
    static const char *const paths[] = {"/metrics",
                                        "/healthz",
                                        "/readyz",
                                        "/events",
                                        "/alarms?most=2",
                                        "/alarms.csv",
                                        "/alarms/acknowledge",
                                        "/alarms/shelve",
                                        "/outlets",
                                        "/verdicts",
                                        "/trace",
                                        "/maps/0/1/2",
                                        "/maps/0/-1/",
                                        "/",
                                        "*",
                                        "//",
                                        "/%00%zz%2e",
                                        "/?a=%",
                                        "/a/../metrics",
                                        "http://127.0.0.1/metrics"};
    static const char *const versions[] = {" HTTP/1.1", " HTTP/1.1", " HTTP/1.0", " HTTP/0.9",
                                           " HTTP/2.0", "",          " HTTP/1.1 "};
    static const char sound[] = " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    append_text(text, CHOOSE(random, methods));
    append_text(text, " ");
    append_text(text, CHOOSE(random, paths));
    if (crn_random_once_in(random, 10))
        append_noise(random, text);
    if (crn_random_once_in(random, 2)) {
        append_text(text, sound);
        return;
    }
    append_text(text, CHOOSE(random, versions));
    append_text(text, "\r\n");
    for (uint32_t headers = crn_random_below(random, 6); headers > 0; headers--)
        append_header(random, text);
    append_text(text, "\r\n");
    if (crn_random_once_in(random, 4))
        append_noise(random, text);
}

static void make_input(crn_random *random, text_buffer *text)
{
    text->size = 0;
    if (crn_random_once_in(random, 20)) {
        append_noise(random, text);
        return;
    }
    do
        append_request(random, text);
    while (crn_random_once_in(random, 4));
    if (crn_random_once_in(random, 4))
        for (uint32_t i = crn_random_below(random, 4); i > 0 && text->size > 0; i--)
            text->bytes[crn_random_below(random, (uint32_t)text->size)] =
                (char)crn_random_below(random, 256);
    if (crn_random_once_in(random, 4))
        text->size = crn_random_below(random, (uint32_t)text->size + 1);
}

/* Sends the input, perhaps in pieces, and reads some of the answer or none. */
static void attack(crn_random *random, const char *address, const text_buffer *text)
{
    char answer[4096];
    int connection = http_connect(address);
    size_t sent = 0;
    while (sent < text->size) {
        size_t part = text->size - sent;
        if (crn_random_once_in(random, 4))
            part = 1 + crn_random_below(random, (uint32_t)part);
        ssize_t taken = send(connection, text->bytes + sent, part, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (taken <= 0)
            break;
        sent += (size_t)taken;
    }
    if (crn_random_once_in(random, 3))
        shutdown(connection, SHUT_WR);
    if (crn_random_once_in(random, 2))
        while (recv(connection, answer, sizeof answer, MSG_DONTWAIT) > 0 &&
               !crn_random_once_in(random, 3))
            ;
    close(connection);
}

/* Requests the page until it is answered: a place may be free only when the server has seen that
 * others left. */
static char *get_at_last(const char *address, const char *path)
{
    int64_t until_ns = crn_now_ns() + PATIENCE_NS;
    for (;;) {
        if (crn_now_ns() > until_ns)
            fail_msg("%s is not served any more", path);
        char request[128];
        int connection = http_connect(address);
        snprintf(request, sizeof request, "GET %s HTTP/1.0\r\n\r\n", path);
        http_send(connection, request);
        char *text = http_read_all(connection);
        close(connection);
        if (http_code(text) == 200)
            return text;
        assert_int_equal(http_code(text), 0);
        free(text);
    }
}

static int count_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

/* None but the one that asks. */
static void await_no_client(const char *address)
{
    double streams = 1, connections = 2;
    int64_t until_ns = crn_now_ns() + PATIENCE_NS;
    while (streams > 0 || connections > 1) { /* its own */
        if (crn_now_ns() > until_ns)
            fail_msg("left: %.0f connections, %.0f streams", connections, streams);
        char *metrics = get_at_last(address, "/metrics");
        streams = http_sample(metrics, "cernita_http_clients{kind=\"stream\"}");
        connections = http_sample(metrics, "cernita_http_clients{kind=\"connection\"}");
        free(metrics);
    }
}

static void attack_often(const char *address)
{
    static text_buffer text;
    uint64_t seed = crn_random_seed();
    uint32_t cases = crn_random_cases(10000);
    for (uint32_t i = 0; i < cases; i++) {
        crn_random random = {seed + i};
        make_input(&random, &text);
        attack(&random, address, &text);
        if (i % BATCH == 0)
            free(get_at_last(address, "/healthz"));
    }
    await_no_client(address);
}

static void random_requests_leave_the_pages_as_they_were(void **state)
{
    (void)state;
    crn_config config;
    crn_meters meters;
    crn_snapshots *snapshots;
    crn_alarms *alarms;
    crn_conditions *conditions;
    crn_minutes *minutes;
    crn_flight *flight;
    crn_http *http;
    crn_error error;
    assert_int_equal(crn_config_parse("f", yaml, strlen(yaml), stderr, &config), 0);
    crn_config_resolve(&config, 2);
    assert_int_equal(crn_meters_init(&config, &meters), 0);
    assert_int_equal(crn_snapshots_create((int32_t)config.limits.lanes, &snapshots), 0);
    assert_int_equal(crn_alarms_open("", &alarms), 0);
    assert_int_equal(crn_conditions_open(&config, NULL, NULL, crn_alarms_tell, alarms, &conditions),
                     0);
    assert_int_equal(crn_minutes_start("", 1, (int32_t)config.limits.lanes, &minutes), 0);
    int descriptors = count_descriptors();
    assert_int_equal(crn_flight_create(&config, &flight), 0);
    crn_http_settings settings = {.run = "run",
                                  .meters = &meters,
                                  .snapshots = snapshots,
                                  .conditions = conditions,
                                  .alarms = alarms,
                                  .minutes = minutes,
                                  .flight = flight,
                                  .idle_s = CRN_HTTP_IDLE_S,
                                  .request_s = CRN_HTTP_REQUEST_S};
    assert_int_equal(crn_http_open(&config, &settings, &http, &error), 0);
    attack_often(crn_http_address(http));
    crn_http_close(&http);
    assert_int_equal(count_descriptors(), descriptors);
    crn_flight_free(&flight);
    crn_minutes_stop(&minutes);
    crn_conditions_close(&conditions);
    crn_alarms_close(&alarms);
    crn_snapshots_free(&snapshots);
    crn_meters_done(&meters);
    crn_config_done(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_requests_leave_the_pages_as_they_were),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

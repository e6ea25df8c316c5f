/* The line's pages, as its clients see them, while it sorts. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/monitor/http/server.h"
#include "src/monitor/http/responses/streams.h"
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/peers/http.h"
#include "tests/support/line/line_fixture.h"

typedef struct http_fixture {
    line_fixture line;
    float *maps;
    uint64_t fruits;
    char address[64];
} http_fixture;

static int set_up(void **state)
{
    http_fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    line_start_on(&f->line, line_with_pages, NULL);
    f->maps = line_discs(40, 60, 2);
    snprintf(f->address, sizeof f->address, "%s", crn_line_http(f->line.line));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    http_fixture *f = *state;
    if (f->line.line)
        line_stop(&f->line);
    free(f->maps);
    free(f);
    return 0;
}

static void judge(http_fixture *f, int fruits)
{
    for (int i = 0; i < fruits; i++, f->fruits++) {
        for (uint16_t view = 0; view < 2; view++)
            line_send(&f->line, line_header(&f->line, f->fruits, view, 2, 40, 60), f->maps, NULL);
        seen_verdict verdict;
        assert_true(line_receive(&f->line, CRN_FIXTURE_PATIENCE_MS, &verdict));
        assert_string_equal(verdict.verdict, "complete");
    }
}

/* Opens an event stream and reads its head. */
static int open_stream(http_fixture *f)
{
    char text[4096];
    int stream = http_connect(f->address);
    assert_true(http_send(stream, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    http_read_head(stream, text, sizeof text);
    assert_int_equal(http_code(text), 200);
    return stream;
}

/* Waits until the pages show a number of complete verdicts. */
static void wait_for_verdicts(http_fixture *f)
{
    char text[8192], wanted[64];
    snprintf(wanted, sizeof wanted, "\"complete\":%d,", (int)f->fruits);
    int stream = open_stream(f);
    assert_true(http_read_until(stream, wanted, text, sizeof text));
    close(stream);
}

/* Status code of the answer to raw bytes; 0 if the connection is closed without one. */
static int code_of(http_fixture *f, const char *request)
{
    int connection = http_connect(f->address);
    http_send(connection, request);
    shutdown(connection, SHUT_WR);
    char *answer = http_read_all(connection);
    int code = http_code(answer);
    free(answer);
    close(connection);
    return code;
}

/* --- pages ------------------------------------------------------------------------------------ */

static void metrics_are_the_lines_own(void **state)
{
    http_fixture *f = *state;
    int code;
    judge(f, 20);
    crn_view_header bad = line_header(&f->line, 99, 0, 2, 40, 60);
    bad.class_set = 1;
    line_send(&f->line, bad, f->maps, NULL);
    judge(f, 1);
    wait_for_verdicts(f);
    char *text = http_get(f->address, "/metrics", &code);
    assert_int_equal(code, 200);
    line_stop(&f->line);
    const crn_metrics *metrics = &f->line.metrics;
    assert_int_equal(metrics->fruits.complete, 21);
#define SAME(sample, number) assert_int_equal((uint64_t)http_sample(text, sample), number)
    SAME("cernita_messages_received_total", metrics->ingest.messages);
    SAME("cernita_views_received_total{lane=\"0\",path=\"ipc\"}", metrics->lanes.views);
    SAME("cernita_views_received_total{lane=\"0\",path=\"tcp\"}", 0);
    SAME("cernita_views_rejected_total{reason=\"class_set\"}", 1);
    SAME("cernita_sequence_gaps_total{lane=\"0\"}", metrics->lanes.missing);
    SAME("cernita_views_judged_total", metrics->fruits.judged);
    SAME("cernita_verdicts_total{lane=\"0\",kind=\"complete\"}", metrics->fruits.complete);
    SAME("cernita_verdicts_sent_total", metrics->publish.sent);
    SAME("cernita_fruits_opened_total", metrics->fruits.opened);
    SAME("cernita_views_ended_total{backend=\"openmp\"}", metrics->engine.processor);
    SAME("cernita_fruit_latency_seconds_count{lane=\"0\"}", 21);
    SAME("cernita_fruit_latency_seconds_bucket{lane=\"0\",le=\"60\"}", 21);
    SAME("cernita_view_run_seconds_count{backend=\"openmp\"}", 42);
    SAME("cernita_stage_seconds_count{stage=\"contours\",backend=\"openmp\"}", 42);
    SAME("cernita_view_queue_seconds_count", 42);
    SAME("cernita_state{state=\"running\"}", 1);
    SAME("cernita_graders", 1);
    assert_true(http_sample(text, "process_resident_memory_bytes") > 1e6);
    assert_true(http_sample(text, "cernita_last_view_timestamp_seconds{lane=\"0\"}") >
                http_sample(text, "cernita_start_time_seconds"));
    free(text);
    f->line.line = NULL;
}

static void lateness_is_counted_from_the_capture(void **state)
{
    http_fixture *f = *state;
    int code;
    crn_view_header header = line_header(&f->line, f->fruits++, 0, 1, 40, 60);
    seen_verdict verdict;
    header.captured_ns = (uint64_t)crn_realtime_ns() - 5 * CRN_NS_PER_S;
    line_send(&f->line, header, f->maps, NULL);
    assert_true(line_receive(&f->line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    header = line_header(&f->line, f->fruits++, 0, 1, 40, 60);
    header.captured_ns = UINT64_MAX;
    line_send(&f->line, header, f->maps, NULL);
    assert_true(line_receive(&f->line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    wait_for_verdicts(f);
    char *text = http_get(f->address, "/metrics", &code);
    SAME("cernita_view_lateness_seconds_count{lane=\"0\"}", 2);
    SAME("cernita_view_lateness_seconds_bucket{lane=\"0\",le=\"3.75\"}", 1);
    assert_true(http_sample(text, "cernita_view_lateness_seconds_sum{lane=\"0\"}") >= 5);
    SAME("cernita_views_captured_later_total{lane=\"0\"}", 1);
    free(text);
}

/* As of a clock that counts from the machine's start: together more than 64 bits of nanoseconds. */
static void a_clock_of_another_beginning_overflows_no_sum(void **state)
{
    http_fixture *f = *state;
    int code;
    for (int i = 1; i <= 20; i++) {
        crn_view_header header = line_header(&f->line, f->fruits++, 0, 1, 40, 60);
        seen_verdict verdict;
        header.captured_ns = (uint64_t)i;
        line_send(&f->line, header, f->maps, NULL);
        assert_true(line_receive(&f->line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    }
    wait_for_verdicts(f);
    char *text = http_get(f->address, "/metrics", &code);
    double sum = http_sample(text, "cernita_view_lateness_seconds_sum{lane=\"0\"}");
    assert_true(sum > 20 && sum < 1e6);
    free(text);
}

static void views_that_never_come_are_counted(void **state)
{
    http_fixture *f = *state;
    int code;
    crn_view_header header = line_header(&f->line, 99, 0, 3, 40, 60);
    seen_verdict verdict;
    header.deadline_ns = (uint64_t)crn_realtime_ns(); /* its fruit is due at once */
    line_send(&f->line, header, f->maps, NULL);
    assert_true(line_receive(&f->line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    assert_int_equal(verdict.views_received, 1);
    header = line_header(&f->line, 100, 0, 0, 40, 60); /* nobody knows how many it has */
    header.deadline_ns = (uint64_t)crn_realtime_ns();
    line_send(&f->line, header, f->maps, NULL);
    assert_true(line_receive(&f->line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    judge(f, 1);
    wait_for_verdicts(f);
    char *text = http_get(f->address, "/metrics", &code);
    SAME("cernita_views_missing_total{lane=\"0\"}", 2);
    free(text);
}

static void health_says_the_state_and_why(void **state)
{
    http_fixture *f = *state;
    int code;
    char *text = http_get(f->address, "/readyz", &code);
    assert_int_equal(code == 200 || strstr(text, "\"starting\""), true);
    free(text);
    judge(f, 1);
    wait_for_verdicts(f);
    text = http_get(f->address, "/readyz", &code);
    assert_int_equal(code, 200);
    assert_non_null(strstr(text, "{\"state\":\"running\",\"healthy\":true,\"ready\":true,"
                                 "\"headline\":{\"level\":\""));
    free(text);
    text = http_get(f->address, "/healthz", &code);
    assert_int_equal(code, 200);
    free(text);
}

/* For a program it ends at a NUL byte, for a proxy that decides by it perhaps not. */
static void an_address_with_control_bytes_names_no_page(void **state)
{
    http_fixture *f = *state;
    static const char *const paths[] = {"/metrics%00.html", "/metrics%00",  "/healthz%01",
                                        "/readyz%7F",       "/%00",         "/page/live.js%00.css",
                                        "/metrics?a=%00b",  "/metrics\x01", "/fruits/0/1/2%0a"};
    int code;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        free(http_get(f->address, paths[i], &code));
        if (code != 404)
            fail_msg("%s: %d", paths[i], code);
    }
    free(http_get(f->address, "/metrics?a=%41%0a", &code));
    assert_int_equal(code, 200);
    free(http_get(f->address, "/metric%73", &code));
    assert_int_equal(code, 200);
}

static void events_are_whole_snapshots(void **state)
{
    http_fixture *f = *state;
    char text[8192];
    judge(f, 3);
    wait_for_verdicts(f);
    int stream = open_stream(f);
    assert_true(http_read_until(stream, "\n\n", text, sizeof text));
    assert_non_null(strstr(text, "event: snapshot\ndata: {\"number\":"));
    assert_non_null(strstr(text, "\"verdicts\":{\"complete\":3,\"partial\":0,\"late\":0}"));
    assert_non_null(strstr(text, "\"within_budget\":1"));
    assert_non_null(strstr(text, "\"lanes\":[{\"lane\":0,\"state\":\"good\",\"causes\":{},"
                                 "\"views\":6,\"gaps\":0,\"rejected\":0,"));
    assert_true(http_read_until(stream, "event: snapshot", text, sizeof text)); /* the next one */
    close(stream);
}

/* nginx and its kin collect what an answer without these says, and so hold events back. */
static void a_proxy_is_told_to_pass_events_on(void **state)
{
    http_fixture *f = *state;
    char text[4096];
    int stream = http_connect(f->address);
    assert_true(http_send(stream, "GET /events HTTP/1.0\r\nHost: localhost\r\n\r\n"));
    assert_true(http_read_until(stream, "\r\n\r\n", text, sizeof text));
    assert_int_equal(http_code(text), 200);
    assert_non_null(strstr(text, "\r\nX-Accel-Buffering: no\r\n"));
    assert_non_null(strstr(text, "\r\nCache-Control: no-store, no-cache, no-transform\r\n"));
    assert_non_null(strstr(text, "\r\nContent-Type: text/event-stream\r\n"));
    close(stream);
}

static void a_proxys_name_is_served_where_the_file_has_it(void **state)
{
    http_fixture *f = *state;
    static const char named[] = "GET /healthz HTTP/1.1\r\nHost: line3.example.com\r\n\r\n";
    static const char other[] = "GET /healthz HTTP/1.1\r\nHost: line4.example.com\r\n\r\n";
    assert_int_equal(code_of(f, named), 421);
    line_stop(&f->line);
    line_configure(&f->line, line_with_pages);
    f->line.config.monitor.hosts = (crn_texts){1, {"line3.example.com"}};
    line_run(&f->line, NULL);
    snprintf(f->address, sizeof f->address, "%s", crn_line_http(f->line.line));
    judge(f, 1); /* it is ready */
    wait_for_verdicts(f);
    assert_int_equal(code_of(f, named), 200);
    assert_int_equal(code_of(f, other), 421);
}

/* --- what is refused -------------------------------------------------------------------------- */

static void only_own_names_pages_and_methods_are_served(void **state)
{
    http_fixture *f = *state;
    static const struct {
        const char *request;
        int code;
    } cases[] = {
        {"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", 200},
        {"HEAD /events HTTP/1.1\r\nHost: localhost\r\n\r\n", 200},
        {"GET /healthz?a=b HTTP/1.1\r\nHost: [::1]:1\r\n\r\n", 200},
        {"GET /metrics HTTP/1.0\r\n\r\n", 200},
        {"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 200},
        {"GET /page/live.js HTTP/1.1\r\nHost: localhost\r\n\r\n", 200},
        {"GET /page/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 404},
        {"GET /page/../metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", 404},
        {"GET /fruits/0/1/2 HTTP/1.1\r\nHost: localhost\r\n\r\n", 200},
        {"GET /fruits/0/1/2.json HTTP/1.1\r\nHost: localhost\r\n\r\n", 404},
        {"GET /fruits/0/1 HTTP/1.1\r\nHost: localhost\r\n\r\n", 404},
        {"GET /fruits/.json HTTP/1.1\r\nHost: localhost\r\n\r\n", 404},
        {"GET /photos/1 HTTP/1.1\r\nHost: localhost\r\n\r\n", 404},
        {"GET /photos/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 404},
        {"GET /maps HTTP/1.1\r\nHost: localhost\r\n\r\n", 404},
        {"GET /maps/0/1 HTTP/1.1\r\nHost: localhost\r\n\r\n", 404},
        {"GET /maps/0/1/2 HTTP/1.1\r\nHost: localhost\r\n\r\n", 404},
        {"GET /metrics/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 404},
        {"GET /%6Detrics HTTP/1.1\r\nHost: localhost\r\n\r\n", 200},
        {"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc", 405},
        {"DELETE /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", 405},
        {"get /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", 405},
        {"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421},
        {"GET /metrics HTTP/1.1\r\n\r\n", 400},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int code = code_of(f, cases[i].request);
        if (code != cases[i].code)
            fail_msg("%s: %d", cases[i].request, code);
    }
}

static void long_headers_are_refused(void **state)
{
    http_fixture *f = *state;
    size_t bytes = 4 * CRN_HTTP_CLIENT_BYTES;
    char *request = malloc(bytes);
    assert_non_null(request);
    int used = sprintf(request, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: ");
    memset(request + used, 'a', bytes - (size_t)used);
    strcpy(request + bytes - 5, "\r\n\r\n");
    int code = code_of(f, request);
    assert_true(code == 0 || code == 413 || code == 431);
    memset(request + 4, 'a', 3 * CRN_HTTP_CLIENT_BYTES);
    code = code_of(f, request);
    assert_true(code == 0 || code == 414);
    free(request);
    judge(f, 1);
}

static void event_streams_are_bounded(void **state)
{
    http_fixture *f = *state;
    int streams[CRN_STREAMS_MAX];
    char text[4096];
    for (int i = 0; i < CRN_STREAMS_MAX; i++)
        streams[i] = open_stream(f);
    int one_more = http_connect(f->address);
    assert_true(http_send(one_more, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    assert_true(http_read_until(one_more, "\r\n\r\n", text, sizeof text));
    assert_int_equal(http_code(text), 503);
    close(one_more);
    for (int i = 0; i < CRN_STREAMS_MAX; i++) { /* all of them go on */
        assert_true(http_read_until(streams[i], "event: snapshot", text, sizeof text));
        assert_true(http_read_until(streams[i], "event: snapshot", text, sizeof text));
        close(streams[i]);
    }
    /* A place is free once the server has seen that one left. */
    int code = 503;
    while (code == 503) {
        one_more = http_connect(f->address);
        assert_true(http_send(one_more, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        assert_true(http_read_until(one_more, "\r\n\r\n", text, sizeof text));
        code = http_code(text);
        close(one_more);
    }
    assert_int_equal(code, 200);
}

/* Half-open clients take the places for one address; the line goes on, and so do the pages when
 * they leave. */
static void a_thousand_connections_do_not_matter(void **state)
{
    http_fixture *f = *state;
    enum { MANY = 1000 };
    static int connections[MANY];
    for (int i = 0; i < MANY; i++) {
        connections[i] = http_connect(f->address);
        http_send(connections[i], i % 2 ? "GET /metrics HT" : "");
    }
    judge(f, 10);
    for (int i = 0; i < MANY; i++)
        close(connections[i]);
    judge(f, 10);
    int code = 0;
    while (code != 200) { /* 0: closed, as a place for this address was not free yet */
        code = code_of(f, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
}

/* Suspended connections must not keep the server from stopping. */
static void streams_end_with_the_line(void **state)
{
    http_fixture *f = *state;
    int streams[3];
    char text[4096];
    for (int i = 0; i < 3; i++) {
        streams[i] = open_stream(f);
        assert_true(http_read_until(streams[i], "event: snapshot", text, sizeof text));
    }
    line_stop(&f->line);
    f->line.line = NULL;
    for (int i = 0; i < 3; i++) {
        char *rest = http_read_all(streams[i]);
        size_t length = strlen(rest);
        assert_true(length >= 5);
        assert_string_equal(rest + length - 5, "0\r\n\r\n"); /* the last chunk */
        free(rest);
        close(streams[i]);
    }
}

/* --- with and without ------------------------------------------------------------------------- */

static int count_threads(const char *name)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    assert_non_null(folder);
    const struct dirent *entry;
    while ((entry = readdir(folder))) {
        char path[300], found[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = fopen(path, "r");
        if (file && fgets(found, sizeof found, file))
            found[strcspn(found, "\n")] = '\0';
        if (file)
            fclose(file);
        count += strcmp(found, name) == 0;
    }
    closedir(folder);
    return count;
}

static void without_an_address_there_is_no_thread(void **state)
{
    http_fixture *f = *state;
    int code;
    free(http_get(f->address, "/healthz", &code)); /* it has its name by now */
    assert_int_equal(count_threads("http"), 1);
    line_stop(&f->line);
    assert_int_equal(count_threads("http"), 0);
    line_start_on(&f->line,
                  "classes: [{name: rot, level: 0.5}]\n"
                  "chain: [contours]\n"
                  "run: {backend: openmp, workers: 1, threads: 1}\n"
                  "monitor: {http: ''}\n"
                  "log: {level: error}\n",
                  NULL);
    assert_int_equal(count_threads("http"), 0);
    assert_string_equal(crn_line_http(f->line.line), "");
}

static void a_taken_address_matters_only_if_it_was_named(void **state)
{
    http_fixture *f = *state;
    crn_config config = f->line.config;
    crn_line *line = NULL;
    crn_error error;
    config.ingest.bind.count = 0;
    snprintf(config.publish.grader.bind, CRN_TEXT_BYTES, "ipc://%s/g2", f->line.folder);
    snprintf(config.publish.viewers.bind, CRN_TEXT_BYTES, "ipc://%s/v2", f->line.folder);
    snprintf(config.monitor.http, CRN_TEXT_BYTES, "%s", f->address);
    assert_int_equal(crn_line_open(&config, NULL, &line, &error), -EADDRINUSE);
    assert_non_null(strstr(error.text, f->address));
    assert_non_null(strstr(error.text, "the port is in use: stop the program that has it"));
    config.monitor.http_named = false;
    assert_int_equal(crn_line_open(&config, NULL, &line, &error), 0);
    assert_string_not_equal(crn_line_http(line), f->address); /* the next one, or none is free */
    crn_line_close(&line);
    strcpy(config.monitor.http, "192.0.2.1:80");
    assert_int_equal(crn_line_open(&config, NULL, &line, &error), 0);
    assert_string_equal(crn_line_http(line), "");
    crn_line_close(&line);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(metrics_are_the_lines_own),
        TEST(lateness_is_counted_from_the_capture),
        TEST(a_clock_of_another_beginning_overflows_no_sum),
        TEST(views_that_never_come_are_counted),
        TEST(health_says_the_state_and_why),
        TEST(an_address_with_control_bytes_names_no_page),
        TEST(events_are_whole_snapshots),
        TEST(a_proxy_is_told_to_pass_events_on),
        TEST(a_proxys_name_is_served_where_the_file_has_it),
        TEST(only_own_names_pages_and_methods_are_served),
        TEST(long_headers_are_refused),
        TEST(event_streams_are_bounded),
        TEST(a_thousand_connections_do_not_matter),
        TEST(streams_end_with_the_line),
        TEST(without_an_address_there_is_no_thread),
        TEST(a_taken_address_matters_only_if_it_was_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

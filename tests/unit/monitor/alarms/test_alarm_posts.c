/* Alarms acknowledged and shelved over HTTP: what is answered, and what it does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/fixture.h"
#include "tests/support/folder.h"
#include "tests/support/line/log_capture.h"
#include "tests/support/parts/served.h"
#include "tests/support/peers/http.h"

#define TOKEN "abcdefgh12345678"

static served_pages pages;

static int set_up(void **state)
{
    char path[96], monitor[256];
    int r = test_folder_make(state);
    snprintf(path, sizeof path, "%s/token", test_folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(TOKEN "\n", file);
    fclose(file);
    snprintf(monitor, sizeof monitor, "hosts: [line3.example.com], token_file: '%s'", path);
    served_start(&pages, monitor, 60, 60);
    for (int64_t lane = 0; lane < 4; lane++) {
        crn_condition_held held = {.row = crn_condition_named("lane_silent"),
                                   .values = {.lane = lane}};
        crn_alarms_tell(pages.alarms, &held, CRN_CONDITION_RAISED);
    }
    return r;
}

static int tear_down(void **state)
{
    served_stop(&pages);
    return test_folder_remove(state);
}

/* Sends a request as it is; returns the answer, freed by the next call. */
static const char *ask(const char *request)
{
    static char *answer;
    int connection = http_connect(pages.address);
    free(answer);
    assert_true(http_send(connection, request));
    shutdown(connection, SHUT_WR);
    answer = http_read_all(connection);
    close(connection);
    return answer;
}

/* Posts a form with further headers, each with its line end. */
static const char *post(const char *path, const char *headers, const char *form)
{
    char request[4096];
    snprintf(request, sizeof request,
             "POST %s HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %zu\r\n"
             "Connection: close\r\n\r\n%s",
             path, headers, strlen(form), form);
    return ask(request);
}

static void expect(const char *answer, int code, const char *text)
{
    if (http_code(answer) != code || !strstr(answer, text))
        fail_msg("%d with '%s' expected, not: %s", code, text, answer);
}

static crn_alarm alarm_of(uint64_t number)
{
    crn_alarm alarm;
    assert_true(crn_alarms_get(pages.alarms, number, &alarm));
    return alarm;
}

static void an_alarm_is_acknowledged(void **state)
{
    (void)state;
    const char *answer = post("/alarms/acknowledge", "", "number=2");
    expect(answer, 200, "\r\n\r\n{\"acknowledged\":1}");
    expect(answer, 200, "Content-Type: application/json");
    expect(answer, 200, "Cache-Control: no-store");
    assert_string_equal(alarm_of(2).acknowledged_by, "local");
    assert_int_equal(alarm_of(1).acknowledged_ms, 0);
    expect(post("/alarms/acknowledge", "", "number=2"), 200, "{\"acknowledged\":0}");
}

static void all_are_acknowledged_as_far_as_they_were_seen(void **state)
{
    (void)state;
    expect(post("/alarms/acknowledge", "", "number=all&newest=3"), 200, "{\"acknowledged\":3}");
    assert_int_equal(alarm_of(4).acknowledged_ms, 0);
    expect(post("/alarms/acknowledge", "", "number=all"), 200, "{\"acknowledged\":1}");
    assert_int_equal(crn_alarms_summary(pages.alarms).unacknowledged, 0);
}

static void an_alarm_is_shelved(void **state)
{
    (void)state;
    expect(post("/alarms/shelve", "", "number=2&minutes=30"), 200, "{\"shelved\":1}");
    crn_alarm alarm = alarm_of(2);
    assert_in_range(alarm.shelved_until_ms - alarm.raised_ms, 30 * 60000, 40 * 60000);
    assert_int_equal(crn_alarms_summary(pages.alarms).open, 3);
    expect(post("/alarms/shelve", "", "minutes=0&number=2"), 200, "{\"shelved\":1}");
    assert_int_equal(crn_alarms_summary(pages.alarms).open, 4);
}

static void the_log_says_who_did_what(void **state)
{
    (void)state;
    crn_log_capture caught;
    crn_log_capture_start(&caught);
    post("/alarms/acknowledge", "", "number=2");
    post("/alarms/acknowledge", "", "number=2"); /* changes nothing */
    post("/alarms/acknowledge", "X-Forwarded-For: 10.1.2.3\r\nX-Cernita-Token: " TOKEN "\r\n",
         "number=all");
    post("/alarms/shelve", "", "number=1&minutes=480");
    post("/alarms/shelve", "", "number=1&minutes=0");
    const char *said = crn_log_capture_stop(&caught);
    static const char *const wanted[] = {
        "info alarm 2 acknowledged by local: Lane 1: no pictures [lane_silent]\n",
        "info 3 alarms acknowledged by 127.0.0.1, up to number 4\n",
        "info alarm 1 shelved for 480 min by local: Lane 0: no pictures [lane_silent]\n",
        "info alarm 1 no longer shelved by local: Lane 0: no pictures [lane_silent]\n",
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        said = strstr(said, wanted[i]);
        assert_non_null(said);
        said += strlen(wanted[i]);
    }
    assert_string_equal(said, "");
}

static void a_form_that_is_not_understood_is_refused(void **state)
{
    (void)state;
    static const char *const faulty[][2] = {
        {"/alarms/acknowledge", ""},
        {"/alarms/acknowledge", "number"},
        {"/alarms/acknowledge", "number="},
        {"/alarms/acknowledge", "number=x"},
        {"/alarms/acknowledge", "number=-1"},
        {"/alarms/acknowledge", "number=1 "},
        {"/alarms/acknowledge", "number=1&"},
        {"/alarms/acknowledge", "number=1&number=2"},
        {"/alarms/acknowledge", "number=all&number=all"},
        {"/alarms/acknowledge", "number=1&number=all"},
        {"/alarms/acknowledge", "number=all&number=1"},
        {"/alarms/acknowledge", "number=1&newest=2"},
        {"/alarms/acknowledge", "newest=2"},
        {"/alarms/acknowledge", "number=1&minutes=3"},
        {"/alarms/acknowledge", "number=1&other=3"},
        {"/alarms/acknowledge", "number=99999999999999999999"},
        {"/alarms/acknowledge", "{\"number\":1}"},
        {"/alarms/shelve", "number=1"},
        {"/alarms/shelve", "minutes=1"},
        {"/alarms/shelve", "number=all&minutes=1"},
        {"/alarms/shelve", "number=1&minutes=481"},
        {"/alarms/shelve", "number=1&minutes=-1"},
        {"/alarms/shelve", "number=1&minutes=1&newest=4"},
    };
    for (size_t i = 0; i < sizeof faulty / sizeof *faulty; i++)
        expect(post(faulty[i][0], "", faulty[i][1]), 400, "expected ");
    expect(ask("POST /alarms/acknowledge HTTP/1.0\r\nHost: localhost\r\n\r\n"), 400, "expected ");
    assert_int_equal(crn_alarms_summary(pages.alarms).unacknowledged, 4);
    expect(post("/alarms/acknowledge", "", "number=5"), 404, "no such alarm");
    expect(post("/alarms/acknowledge", "", "number=0"), 404, "no such alarm");
    expect(post("/alarms/shelve", "", "number=5&minutes=1"), 404, "no such alarm");
}

static void a_long_body_is_refused(void **state)
{
    (void)state;
    char form[512], request[2048];
    memset(form, '0', sizeof form);
    memcpy(form, "number=", 7);
    form[256] = '\0';
    expect(post("/alarms/acknowledge", "", form), 404, "no such alarm");
    form[256] = '0';
    form[257] = '\0';
    expect(post("/alarms/acknowledge", "", form), 413, "too long");
    /* Of unknown length. */
    snprintf(request, sizeof request,
             "POST /alarms/acknowledge HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
             "Transfer-Encoding: chunked\r\n\r\n8\r\nnumber=0\r\n101\r\n%s\r\n0\r\n\r\n",
             form);
    expect(ask(request), 413, "too long");
    expect(ask("POST /alarms/acknowledge HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
               "Transfer-Encoding: chunked\r\n\r\n3\r\nnum\r\n5\r\nber=1\r\n0\r\n\r\n"),
           200, "{\"acknowledged\":1}");
}

static void a_method_is_refused_with_those_that_are_taken(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"GET", "/alarms/acknowledge", "Allow: POST\r\n"},
        {"PUT", "/alarms/shelve", "Allow: POST\r\n"},
        {"HEAD", "/alarms/shelve", "Allow: POST\r\n"},
        {"POST", "/alarms", "Allow: GET, HEAD\r\n"},
        {"POST", "/", "Allow: GET, HEAD\r\n"},
        {"POST", "/alarms/acknowledge/", "Allow: GET, HEAD\r\n"},
        {"DELETE", "/alarms", "Allow: GET, HEAD\r\n"},
    };
    char request[256];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(request, sizeof request,
                 "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", cases[i][0],
                 cases[i][1]);
        expect(ask(request), 405, cases[i][2]);
    }
}

/* test_http_guard has all cases; here each header arrives. */
static void strangers_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *headers;
        int code;
        const char *text;
    } cases[] = {
        {"Origin: http://evil.example\r\n", 403, "another server"},
        {"Origin: null\r\n", 403, "another server"},
        {"Sec-Fetch-Site: cross-site\r\n", 403, "another server"},
        {"X-Forwarded-For: 10.0.0.7\r\n", 403, "X-Cernita-Token: wanted\r\n"},
        {"x-forwarded-for:\r\n", 403, "monitor.token_file"},
        {"X-Real-IP: 10.0.0.7\r\n", 403, "monitor.token_file"},
        {"Forwarded: for=10.0.0.7\r\n", 403, "monitor.token_file"},
        {"Via: 1.1 proxy\r\n", 403, "monitor.token_file"},
        {"Via: 1.1 proxy\r\nX-Cernita-Token: wrong\r\n", 403, "X-Cernita-Token: wanted\r\n"},
        {"Via: 1.1 proxy\r\nx-cernita-token: " TOKEN "\r\n", 404, "no such alarm"},
        {"Origin: http://localhost\r\nSec-Fetch-Site: same-origin\r\n", 404, "no such alarm"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(post("/alarms/acknowledge", cases[i].headers, "number=9"), cases[i].code,
               cases[i].text);
    assert_null(strstr(post("/alarms/acknowledge", "Origin: null\r\n", "number=1"), "wanted"));
    expect(ask("POST /alarms/acknowledge HTTP/1.1\r\nHost: line3.example.com\r\n"
               "Content-Length: 8\r\nConnection: close\r\n\r\nnumber=1"),
           403, "monitor.token_file");
    expect(ask("POST /alarms/acknowledge HTTP/1.1\r\nHost: evil.example\r\n"
               "Content-Length: 8\r\nConnection: close\r\n\r\nnumber=1"),
           421, "unknown host name");
    expect(ask("POST /alarms/acknowledge%00 HTTP/1.1\r\nHost: localhost\r\n"
               "Content-Length: 8\r\nConnection: close\r\n\r\nnumber=1"),
           405, "");
    assert_int_equal(crn_alarms_summary(pages.alarms).unacknowledged, 4);
}

/* Several requests of one connection do not share their bodies. */
static void a_connection_may_post_twice(void **state)
{
    (void)state;
    const char *answer =
        ask("POST /alarms/acknowledge HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8\r\n\r\n"
            "number=1"
            "POST /alarms/acknowledge HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8\r\n"
            "Connection: close\r\n\r\nnumber=2");
    const char *first = strstr(answer, "{\"acknowledged\":1}");
    assert_non_null(first);
    assert_non_null(strstr(first + 1, "{\"acknowledged\":1}"));
}

static void a_faulty_token_file_is_named(void **state)
{
    (void)state;
    crn_config config = pages.config;
    crn_http *http = NULL;
    crn_http_settings settings = {.run = "run", .meters = &pages.meters};
    crn_error error;
    snprintf(config.monitor.token_file, sizeof config.monitor.token_file, "/nowhere/token");
    assert_true(crn_http_open(&config, &settings, &http, &error) < 0);
    assert_null(http);
    assert_string_equal(error.text, "monitor.token_file: /nowhere/token: cannot be read: No such "
                                    "file or directory");
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(an_alarm_is_acknowledged),
        cmocka_unit_test(all_are_acknowledged_as_far_as_they_were_seen),
        cmocka_unit_test(an_alarm_is_shelved),
        cmocka_unit_test(the_log_says_who_did_what),
        cmocka_unit_test(a_form_that_is_not_understood_is_refused),
        cmocka_unit_test(a_long_body_is_refused),
        cmocka_unit_test(a_method_is_refused_with_those_that_are_taken),
        cmocka_unit_test(strangers_are_refused),
        cmocka_unit_test(a_connection_may_post_twice),
        cmocka_unit_test(a_faulty_token_file_is_named),
    };
    CRN_SET_FIXTURE(tests, set_up, tear_down);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

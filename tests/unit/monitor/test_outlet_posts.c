/* Reports of outlets over HTTP: what is taken, what is refused, how long it is shown. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/formats/outlets/report.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/fixture.h"
#include "tests/support/folder.h"
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
    snprintf(monitor, sizeof monitor, "token_file: '%s'", path);
    served_start(&pages, monitor, 60, 60);
    return r;
}

static int tear_down(void **state)
{
    served_stop(&pages);
    return test_folder_remove(state);
}

/* Posts a body with further headers, each with its line end; returns the answer, freed by the next
 * call. */
static const char *post(const char *headers, const char *body)
{
    static char *answer;
    char head[1024];
    int connection = http_connect(pages.address);
    snprintf(head, sizeof head,
             "POST /outlets HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %zu\r\n"
             "Connection: close\r\n\r\n",
             headers, strlen(body));
    free(answer);
    assert_true(http_send(connection, head));
    http_send(connection, body); /* what is too long is refused before */
    shutdown(connection, SHUT_WR);
    answer = http_read_all(connection);
    close(connection);
    return answer;
}

static void expect(const char *answer, int code, const char *text)
{
    if (http_code(answer) != code || !strstr(answer, text))
        fail_msg("%d with '%s' expected, not: %s", code, text, answer);
}

/* Reads events until one says that. */
static void expect_event(const char *wanted)
{
    static char text[1 << 18];
    int stream = http_connect(pages.address);
    assert_true(http_send(stream, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    if (!http_read_until(stream, wanted, text, sizeof text))
        fail_msg("'%s' expected in: %.2000s", wanted, text);
    close(stream);
}

#define ONE(name) "{\"name\":\"" name "\",\"fruits\":7,\"per_minute\":3}"
#define REPORT(file, faults, outlets)                                                              \
    "{\"file\":\"" file "\",\"faults\":[" faults "],\"outlets\":[" outlets "]}"

static void a_report_is_shown_until_none_comes(void **state)
{
    static const char report[] =
        REPORT("a.yaml", "{\"id\":\"plc_gone\",\"severity\":\"critical\",\"text\":\"no PLC\"}",
               ONE("first") "," ONE("äpfel"));
    char wanted[sizeof report + 16];
    (void)state;
    expect_event("\"sorter\":null");
    expect(post("", report), 200, "\r\n\r\n{}\n");
    snprintf(wanted, sizeof wanted, "\"sorter\":%s", report);
    expect_event(wanted);
    expect_event("\"sorter\":null"); /* five seconds later */
}

static void other_keys_are_passed_over(void **state)
{
    (void)state;
    expect(post("", "{\"file\":\"a\",\"faults\":[],\"more\":[{}],\"outlets\":[{\"name\":\"x\","
                    "\"fruits\":1,\"per_minute\":0,\"colour\":\"red\"}]}"),
           200, "{}");
    expect_event("\"sorter\":" REPORT("a", "", "{\"name\":\"x\",\"fruits\":1,\"per_minute\":0}"));
}

#define FOUR(name)    ONE(name "1") "," ONE(name "2") "," ONE(name "3") "," ONE(name "4")
#define SIXTEEN       FOUR("a") "," FOUR("b") "," FOUR("c") "," FOUR("d")
#define BYTES_31      "abcdefghijklmnopqrstuvwxyz01234"
#define FAULT         "{\"id\":\"x\",\"severity\":\"notice\",\"text\":\"y\"}"
#define COUNTED(more) REPORT("a", "", "{\"name\":\"x\"," more "}")

static void a_report_that_is_not_one_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *body, *said;
    } faulty[] = {
        {"", "an object of JSON"},
        {"x", "an object of JSON"},
        {"\x80", "an object of JSON"}, /* MessagePack */
        {"{", "not a report"},
        {"{}", "file: printable text of 1 to 63 bytes"},
        {"{\"file\":7}", "file: "},
        {REPORT("", "", ONE("x")), "file: "},
        {REPORT(BYTES_31 BYTES_31 "ab", "", ONE("x")), "file: "},
        {"{\"file\":\"a\",\"outlets\":[]}", "faults: a list of 0 to 4"},
        {"{\"file\":\"a\",\"faults\":{},\"outlets\":[]}", "faults: a list of 0 to 4"},
        {REPORT("a", FAULT "," FAULT "," FAULT "," FAULT "," FAULT, ONE("x")), "faults: a list"},
        {REPORT("a", "{\"id\":\"x\"}", ONE("x")), "severity: "},
        {REPORT("a", "{\"id\":\"x\",\"severity\":\"notice\"}", ONE("x")), "text: "},
        {REPORT("a", "{\"id\":\"x\",\"severity\":\"bad\",\"text\":\"y\"}", ONE("x")),
         "severity: notice, warning or critical"},
        {REPORT("a", "7", ONE("x")), "severity: "},
        {REPORT("a", "", ""), "outlets: a list of 1 to 16"},
        {REPORT("a", "", SIXTEEN "," ONE("e")), "outlets: a list of 1 to 16"},
        {REPORT("a", "", "null"), "name: "},
        {REPORT("a", "", ONE(BYTES_31 "5")), "name: printable text of 1 to 31 bytes"},
        {REPORT("a", "", ONE("a\\u0000b")), "name: "},
        {REPORT("a", "", ONE("\\u001b[2J")), "name: "},
        {REPORT("a", "",
                ONE("a\xe2\x80\xae"
                    "b")),
         "name: "}, /* a bidirectional override */
        {REPORT("a", "", ONE("a\xff")), "not a report"},
        {REPORT("a", "", ONE("a") "," ONE("a")), "name: 'a' is there twice"},
        {COUNTED("\"fruits\":1"), "per_minute: a whole number"},
        {COUNTED("\"fruits\":-1,\"per_minute\":1"), "fruits: a whole number"},
        {COUNTED("\"fruits\":1.5,\"per_minute\":1"), "fruits: a whole number"},
        {COUNTED("\"fruits\":\"1\",\"per_minute\":1"), "fruits: a whole number"},
        {COUNTED("\"fruits\":9223372036854775808,\"per_minute\":1"), "fruits: a whole number"},
    };
    for (size_t i = 0; i < sizeof faulty / sizeof *faulty; i++)
        expect(post("", faulty[i].body), 400, faulty[i].said);
    expect_event("\"sorter\":null");
    expect(post("", REPORT("a", "", SIXTEEN)), 200, "{}");
    expect(post("", REPORT("a", "", ONE(BYTES_31))), 200, "{}");
}

static void deep_and_long_bodies_are_refused(void **state)
{
    static char body[CRN_OUTLET_REPORT_BYTES_MAX + 2];
    (void)state;
    memset(body, '[', CRN_OUTLET_REPORT_BYTES_MAX);
    memcpy(body, "{\"a\":", 5);
    expect(post("", body), 400, "not a report");
    body[CRN_OUTLET_REPORT_BYTES_MAX] = ' ';
    expect(post("", body), 413, "too long");
}

/* The largest report that a program may make fits into what is taken. */
static void the_largest_report_fits(void **state)
{
    (void)state;
    crn_outlet_report report = {.fault_count = CRN_OUTLET_FAULTS_MAX,
                                .outlet_count = CRN_OUTLETS_MAX},
                      read;
    crn_encoder *encoder;
    const unsigned char *bytes;
    size_t size;
    crn_error error;
    memset(report.file, 'f', sizeof report.file - 1);
    for (int32_t i = 0; i < report.fault_count; i++) {
        memset(report.faults[i].id, 'i', sizeof report.faults[i].id - 1);
        strcpy(report.faults[i].severity, "critical");
        memset(report.faults[i].text, 't', sizeof report.faults[i].text - 1);
    }
    for (int32_t i = 0; i < report.outlet_count; i++) {
        memset(report.outlets[i].name, 'a' + i, sizeof report.outlets[i].name - 1);
        report.outlets[i].fruits = report.outlets[i].per_minute = INT64_MAX;
    }
    assert_int_equal(crn_encoder_create(CRN_FORMAT_JSON, &encoder), 0);
    crn_encoder_begin(encoder);
    crn_outlet_report_put(&report, encoder);
    assert_int_equal(crn_encoder_end(encoder, &bytes, &size), 0);
    assert_in_range(size, 1, CRN_OUTLET_REPORT_BYTES_MAX);
    memset(&read, 0, sizeof read);
    assert_int_equal(crn_outlet_report_parse((const char *)bytes, size, &read, &error), 0);
    assert_memory_equal(&read, &report, sizeof read);
    crn_encoder_free(&encoder);
}

static void the_first_of_two_programs_is_shown(void **state)
{
    (void)state;
    expect(post("", REPORT("first.yaml", "", ONE("x"))), 200, "{}");
    expect(post("", REPORT("second.yaml", "", ONE("y"))), 409, "with the file first.yaml");
    expect_event("\"sorter\":{\"file\":\"first.yaml\"");
    expect_event("\"sorter\":null");
    expect(post("", REPORT("second.yaml", "", ONE("y"))), 200, "{}");
}

/* As for alarms: test_alarm_posts and test_http_guard have all cases. */
static void strangers_are_refused(void **state)
{
    static const char report[] = REPORT("a", "", ONE("x"));
    (void)state;
    expect(post("Origin: http://evil.example\r\n", report), 403, "another server");
    expect(post("Via: 1.1 proxy\r\n", report), 403, "X-Cernita-Token: wanted\r\n");
    expect(post("Via: 1.1 proxy\r\nX-Cernita-Token: wrong\r\n", report), 403, "token is missing");
    expect_event("\"sorter\":null");
    expect(post("Via: 1.1 proxy\r\nX-Cernita-Token: " TOKEN "\r\n", report), 200, "{}");
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_is_shown_until_none_comes),
        cmocka_unit_test(other_keys_are_passed_over),
        cmocka_unit_test(a_report_that_is_not_one_is_refused),
        cmocka_unit_test(deep_and_long_bodies_are_refused),
        cmocka_unit_test(the_largest_report_fits),
        cmocka_unit_test(the_first_of_two_programs_is_shown),
        cmocka_unit_test(strangers_are_refused),
    };
    CRN_SET_FIXTURE(tests, set_up, tear_down);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

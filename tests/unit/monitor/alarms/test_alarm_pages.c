/* /alarms and /alarms.csv, as clients of the HTTP thread see them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/monitor/http/server.h"
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/fixture.h"
#include "tests/support/peers/http.h"
#include "tests/support/parts/served.h"

static served_pages pages;

static int set_up(void **state)
{
    (void)state;
    served_start(&pages, NULL, 60, 60);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    served_stop(&pages);
    return 0;
}

/* Raises an alarm of a lane, and ends it if asked to. */
static void raise_alarm(int64_t lane, bool ends)
{
    crn_condition_held held = {.row = crn_condition_named("lane_silent"), .values = {.lane = lane}};
    crn_alarms_tell(pages.alarms, &held, CRN_CONDITION_RAISED);
    if (ends)
        crn_alarms_tell(pages.alarms, &held, CRN_CONDITION_ENDED);
}

/* The answer, not in chunks; freed by the next call. */
static const char *get_head(const char *path)
{
    static char *response;
    char request[256];
    int connection = http_connect(pages.address);
    free(response);
    snprintf(request, sizeof request, "GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n", path);
    assert_true(http_send(connection, request));
    response = http_read_all(connection);
    close(connection);
    return response;
}

/* Its body, behind the empty line. */
static const char *get(const char *path, int wanted)
{
    const char *response = get_head(path);
    assert_int_equal(http_code(response), wanted);
    return strstr(response, "\r\n\r\n") + 2;
}

static int count(const char *text, const char *wanted)
{
    int found = 0;
    for (const char *at = text; (at = strstr(at, wanted)); at += strlen(wanted))
        found++;
    return found;
}

static void an_empty_list_is_a_list(void **state)
{
    (void)state;
    const char *list = get("/alarms", 200);
    assert_non_null(strstr(list, "{\"now_ms\":"));
    assert_non_null(strstr(list, ",\"open\":0,\"loudest\":\"none\",\"alarms\":[]}"));
    assert_string_equal(get("/alarms.csv", 200),
                        "\r\nnumber,condition,severity,misjudged,lane,raised,cleared,acknowledged,"
                        "acknowledged_by,shelved_until,what,action\r\n");
}

static void the_newest_come_first(void **state)
{
    (void)state;
    for (int64_t lane = 0; lane < 300; lane++)
        raise_alarm(lane, lane % 2);
    crn_alarms_acknowledge_to(pages.alarms, 299, "local");
    const char *list = get("/alarms", 200);
    assert_non_null(
        strstr(list, ",\"open\":151,\"loudest\":\"critical\",\"alarms\":[{\"number\":300,"));
    assert_int_equal(count(list, "\"number\":"), 300);
    /* What is open is never left out. */
    list = get("/alarms?most=3", 200);
    assert_int_equal(count(list, "\"number\":"), 151 + 3);
    assert_non_null(strstr(list, "},{\"number\":294,"));
    assert_null(strstr(list, "},{\"number\":292,"));
    assert_non_null(strstr(list, "},{\"number\":1,"));
    assert_int_equal(crn_alarms_shelve(pages.alarms, 292, 30, "local"), 1);
    assert_non_null(strstr(get("/alarms?most=3", 200), "},{\"number\":292,"));
}

/* Where nobody acknowledges, a page does not grow without end. */
static void a_thousand_of_those_that_nobody_acknowledged_are_enough(void **state)
{
    (void)state;
    raise_alarm(5000, false);
    for (int64_t lane = 0; lane < 1500; lane++)
        raise_alarm(lane, true);
    assert_int_equal(count(get("/alarms", 200), "\"number\":"), 1000 + 1);
    assert_non_null(strstr(get("/alarms", 200), "\"open\":1501,"));
    assert_non_null(strstr(get("/alarms", 200), "},{\"number\":1,")); /* it is active */
    assert_int_equal(count(get("/alarms?most=1200", 200), "\"number\":"), 1200 + 1);
}

static void a_time_leaves_out_what_was_before(void **state)
{
    (void)state;
    char path[64];
    int64_t before_ms = crn_realtime_ns() / CRN_NS_PER_MS;
    raise_alarm(1, true);
    crn_alarms_acknowledge(pages.alarms, 1, "local");
    snprintf(path, sizeof path, "/alarms?from=%" PRId64, before_ms);
    assert_int_equal(count(get(path, 200), "\"number\":"), 1);
    snprintf(path, sizeof path, "/alarms?from=%" PRId64, before_ms + 600000);
    assert_int_equal(count(get(path, 200), "\"number\":"), 0);
}

static void what_is_not_a_number_is_refused(void **state)
{
    (void)state;
    static const char *const paths[] = {"/alarms?from=x", "/alarms?from=-1",
                                        "/alarms?most=", "/alarms?most=1x",
                                        "/alarms?most=99999999999999999999"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_non_null(strstr(get(paths[i], 400), "whole numbers"));
    get("/alarms/", 404);
    get("/alarms.csv2", 404);
}

static void the_csv_has_all_the_oldest_first(void **state)
{
    (void)state;
    for (int64_t lane = 0; lane < 300; lane++)
        raise_alarm(lane, true);
    const char *csv = get("/alarms.csv", 200);
    assert_int_equal(count(csv, "\r\n1,lane_silent,critical,yes,0,2"), 1);
    assert_int_equal(count(csv, "\r\n300,lane_silent,critical,yes,299,2"), 1);
    assert_true(strstr(csv, "\r\n1,") < strstr(csv, "\r\n300,"));
    assert_int_equal(count(csv, ",lane_silent,"), 300);
    const char *head = get_head("/alarms.csv");
    assert_non_null(strstr(head, "\r\nContent-Type: text/csv; charset=utf-8\r\n"));
    assert_non_null(strstr(head, "filename=\"alarms.csv\""));
    assert_non_null(strstr(head, "\r\nCache-Control: no-store\r\n"));
}

static void events_and_metrics_have_the_sum(void **state)
{
    (void)state;
    char text[16384];
    raise_alarm(1, false);
    raise_alarm(2, true);
    raise_alarm(3, true);
    crn_alarms_acknowledge(pages.alarms, 2, "x");
    int stream = http_connect(pages.address);
    assert_true(http_send(stream, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    assert_true(http_read_until(stream,
                                "\"alarms\":{\"open\":2,\"unacknowledged\":2,\"loudest\":"
                                "\"critical\",\"newest\":3,\"change\":",
                                text, sizeof text));
    close(stream);
    assert_int_equal(http_sample(get("/metrics", 200), "cernita_alarms_open"), 2);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_list_is_a_list),
        cmocka_unit_test(the_newest_come_first),
        cmocka_unit_test(a_thousand_of_those_that_nobody_acknowledged_are_enough),
        cmocka_unit_test(a_time_leaves_out_what_was_before),
        cmocka_unit_test(what_is_not_a_number_is_refused),
        cmocka_unit_test(the_csv_has_all_the_oldest_first),
        cmocka_unit_test(events_and_metrics_have_the_sum),
    };
    CRN_SET_FIXTURE(tests, set_up, tear_down);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

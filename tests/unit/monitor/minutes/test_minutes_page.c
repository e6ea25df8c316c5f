/* /minutes, as clients of the HTTP thread see it. */
#include <inttypes.h>
#include <sched.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "tests/support/fixture.h"
#include "tests/support/parts/served.h"
#include "tests/support/peers/http.h"
#include "tests/unit/monitor/minutes/minutes_fixture.h"

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

/* The body of the answer; freed by the next call. */
static const char *get_page(const char *page, int wanted)
{
    static char *response;
    char request[256];
    int connection = http_connect(pages.address);
    free(response);
    snprintf(request, sizeof request, "GET /%s HTTP/1.0\r\nHost: localhost\r\n\r\n", page);
    assert_true(http_send(connection, request));
    response = http_read_all(connection);
    close(connection);
    assert_int_equal(http_code(response), wanted);
    return strstr(response, "\r\n\r\n") + 4;
}

static const char *get(const char *query, int wanted)
{
    char page[128];
    snprintf(page, sizeof page, "minutes%s", query);
    return get_page(page, wanted);
}

static void count(int64_t minute, uint64_t fruits)
{
    static const crn_class_total totals[CRN_CLASSES_MAX] = {[1] = {2, 12.25}};
    crn_lane lane = {.number = 3};
    crn_fruit fruit = {.lane = &lane, .config = &pages.config};
    crn_published published = {.facts = {.published_ns = (uint64_t)(minute * CRN_MINUTE_NS)},
                               .totals = totals};
    for (; fruits > 0; fruits--)
        crn_minute_counter_add(crn_minutes_counter(pages.minutes), &fruit, &published);
    crn_minute_counter_look(crn_minutes_counter(pages.minutes), 0, true);
}

static void a_range_of_minutes_and_hours_is_told(void **state)
{
    (void)state;
    char query[128], wanted[256];
    int64_t end_ns = crn_now_ns() + 60 * CRN_NS_PER_S;
    int64_t hour = crn_realtime_ns() / CRN_MINUTE_NS / 60 - 3;
    count(hour * 60 + 1, 2);
    count(hour * 60 + 2, 3);
    count(hour * 60 + 3, 4);
    while (!strstr(get("", 200), "\"complete\":4") && crn_now_ns() < end_ns)
        sched_yield();
    snprintf(query, sizeof query, "?from=%" PRId64 "&to=%" PRId64, (hour * 60 + 2) * 60000,
             (hour * 60 + 3) * 60000);
    snprintf(wanted, sizeof wanted,
             "\"step_s\":60,\"rows\":[{\"at_ms\":%" PRId64
             ",\"complete\":3,\"partial\":0,\"late\":0,"
             "\"with_defect\":3,\"classes\":{\"rot\":{\"looked_for\":3,\"fruits\":3,\"area_px\":"
             "36.75,\"area_mm2\":null}}}]}",
             (hour * 60 + 2) * 60000);
    assert_non_null(strstr(get(query, 200), wanted));
    snprintf(wanted, sizeof wanted,
             "\"step_s\":3600,\"rows\":[{\"at_ms\":%" PRId64 ",\"complete\":9,", hour * 3600000);
    assert_non_null(strstr(get("?step=3600", 200), wanted));
}

/* Also of queries that differ in what is within the same step; until a minute comes. */
static void clients_share_an_answer(void **state)
{
    (void)state;
    int64_t end_ns = crn_now_ns() + 50 * CRN_NS_PER_S, now_ns = crn_realtime_ns();
    int64_t minute = now_ns / CRN_MINUTE_NS;
    crn_clock_set((minute + 10) * CRN_MINUTE_NS - now_ns); /* no minute begins meanwhile */
    char *first = NULL;
    bool is_shared = false;
    /* Until the minutes' thread has taken notice of the clock, answers are made again. */
    while (!is_shared && crn_now_ns() < end_ns) {
        free(first);
        first = strdup(get("?step=600&from=1", 200));
        int64_t asked_ms = crn_realtime_ns() / CRN_NS_PER_MS;
        while (crn_realtime_ns() / CRN_NS_PER_MS == asked_ms)
            sched_yield();
        is_shared = strcmp(get("?step=600&from=2", 200), first) == 0;
    }
    assert_true(is_shared);
    assert_string_not_equal(get("?step=60&from=1", 200), first);
    assert_string_equal(get("?step=600&from=600000", 200), first);
    assert_string_not_equal(get("?step=600&from=600001", 200), first);
    free(first);
    get("?step=600", 200);
    count(minute, 7);
    while (!strstr(get("?step=600", 200), "\"complete\":7") && crn_now_ns() < end_ns)
        sched_yield();
    assert_non_null(strstr(get("?step=600", 200), "\"complete\":7"));
}

/* Those of this start alone. */
static void metrics_have_the_fruits_of_each_class(void **state)
{
    (void)state;
    int64_t end_ns = crn_now_ns() + 60 * CRN_NS_PER_S;
    static const char rot[] = "\ncernita_fruits_with_defect_total{class=\"rot\"} ";
    const char *found = strstr(get_page("metrics", 200), rot);
    assert_non_null(found);
    uint64_t before = strtoull(found + strlen(rot), NULL, 10), now = before;
    count(crn_realtime_ns() / CRN_MINUTE_NS, 5);
    while (now == before && crn_now_ns() < end_ns)
        now = strtoull(strstr(get_page("metrics", 200), rot) + strlen(rot), NULL, 10);
    assert_int_equal(now, before + 5);
}

static void other_queries_are_refused(void **state)
{
    (void)state;
    const char *const queries[] = {"?step=61", "?step=",  "?from=-1",
                                   "?from=x",  "?to=1e3", "?to=99999999999999999999"};
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        assert_non_null(strstr(get(queries[i], 400), "step is 60, 600 or 3600"));
    assert_non_null(strstr(get("?from=9223372036854775807", 200), "\"rows\":[]"));
    assert_non_null(strstr(get("?to=0&step=3600", 200), "\"rows\":[]"));
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_of_minutes_and_hours_is_told),
        cmocka_unit_test(clients_share_an_answer),
        cmocka_unit_test(metrics_have_the_fruits_of_each_class),
        cmocka_unit_test(other_queries_are_refused),
    };
    CRN_SET_FIXTURE(tests, set_up, tear_down);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

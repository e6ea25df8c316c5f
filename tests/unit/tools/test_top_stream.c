/* Server-sent events, cut anywhere; and what cernita-top reads of one. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tools/top/sse.h"
#include "src/client/daemon_state.h"
#include "src/monitor/conditions/conditions.h"

typedef struct seen_events {
    int count;
    char text[256];
} seen_events;

static void take(void *context, const char *data, size_t size)
{
    seen_events *seen = context;
    snprintf(seen->text + strlen(seen->text), sizeof seen->text - strlen(seen->text), "[%.*s]",
             (int)size, data);
    seen->count++;
}

static const char stream[] = "\n: a comment\nevent: snapshot\ndata: {\"a\":1}\n\n"
                             "data:two\r\ndata: lines\r\n\r\nid: 7\n\ndata\n\ndata: cut";

static void events_are_whole_however_they_are_cut(void **state)
{
    (void)state;
    for (size_t step = 1; step < sizeof stream; step++) {
        seen_events seen = {.count = 0};
        crn_sse sse = {.event = take, .context = &seen, .bytes_max = 1000};
        for (size_t at = 0; at < sizeof stream - 1; at += step) {
            size_t left = sizeof stream - 1 - at;
            assert_true(crn_sse_read(&sse, stream + at, left < step ? left : step));
        }
        assert_string_equal(seen.text, "[{\"a\":1}][two\nlines]");
        crn_sse_restart(&sse);
        assert_true(crn_sse_read(&sse, "data: new\n\n", 11));
        assert_int_equal(seen.count, 3);
        crn_sse_done(&sse);
    }
}

static void large_events_are_given_up(void **state)
{
    (void)state;
    seen_events seen = {.count = 0};
    crn_sse sse = {.event = take, .context = &seen, .bytes_max = 100};
    bool good = true;
    for (int i = 0; i < 99 && good; i++)
        good = crn_sse_read(&sse, "x", 1);
    assert_true(good);
    assert_false(crn_sse_read(&sse, "xx", 2));
    crn_sse_restart(&sse);
    good = true;
    for (int i = 0; i < 30 && good; i++)
        good = crn_sse_read(&sse, "data: 12345\n", 12);
    assert_false(good);
    crn_sse_done(&sse);
}

static int parse(const char *json, crn_daemon_state *status)
{
    crn_error error;
    memset(status, 0, sizeof *status);
    return crn_daemon_state_parse(json, strlen(json), status, &error);
}

static void an_event_is_read(void **state)
{
    (void)state;
    static crn_daemon_state s;
    assert_int_equal(
        parse("{\"state\":\"running\",\"healthy\":true,"
              "\"headline\":{\"level\":\"warning\",\"misjudged\":true},"
              "\"conditions\":[{\"id\":\"frozen\",\"severity\":\"warning\",\"misjudged\":true,"
              "\"lane\":3,\"since_s\":9.5,\"what\":\"Same picture\",\"action\":\"Check.\","
              "\"details\":\"all\"},{\"id\":\"x\",\"severity\":\"notice\",\"what\":\"two\"}],"
              "\"config\":\"a.yaml\",\"budget_ms\":100,\"views_per_s\":40.5,\"slots\":20,"
              "\"budget\":{\"kept\":false,\"since_s\":7,\"missed\":2,\"verdicts\":9},"
              "\"verdicts\":{\"complete\":5,\"partial\":1,\"late\":0},"
              "\"latency_ms\":{\"p50\":8,\"p99\":9},"
              "\"recent\":{\"verdicts\":{\"partial\":7},\"latency_ms\":{\"p50\":0.5,\"p99\":null},"
              "\"stages\":[{\"stage\":"
              "\"queue\",\"backend\":\"\",\"mean_ms\":1,\"share\":0.25}]},"
              "\"lanes\":[{\"lane\":3,\"state\":\"silent\",\"causes\":{\"over_budget\":2,"
              "\"late\":1},\"last_view_s\":5,\"latency_ms\":{\"p99\":2}}],"
              "\"bad\":[{\"lane\":1,\"fruit\":22,\"verdict\":\"late\",\"over_budget\":true,"
              "\"latency_ms\":120,\"published_s\":6}],"
              "\"alarms\":{\"open\":5,\"unacknowledged\":4},"
              "\"recorder\":{\"on\":true,\"lost\":1,\"bytes\":9,\"free_bytes\":1,"
              "\"size_bytes\":4}}",
              &s),
        0);
    assert_string_equal(s.state, "running");
    assert_string_equal(s.config, "a.yaml");
    assert_true(s.level == CRN_LEVEL_WARNING && s.misjudged && s.conditions_known);
    assert_int_equal(s.condition_count, 2);
    assert_string_equal(s.conditions[0].id, "frozen");
    assert_string_equal(s.conditions[0].action, "Check.");
    assert_string_equal(s.conditions[0].details, "all");
    assert_true(s.conditions[0].misjudged && s.conditions[0].lane == 3);
    assert_true(s.conditions[0].since_s == 9.5);
    assert_int_equal(s.conditions[1].severity, CRN_LEVEL_NOTICE);
    assert_int_equal(s.conditions[1].lane, -1);
    assert_true(s.budget_known && !s.budget_kept && s.missed == 2 && s.recent_verdicts == 9);
    assert_true(s.complete == 5 && s.views_per_s == 40.5 && s.p50_ms == 0.5 && isnan(s.p99_ms));
    assert_true(isnan(s.graders) && !s.has_counts && s.alarms == 4);
    assert_int_equal(s.stage_count, 1);
    assert_true(s.stages[0].share == 0.25);
    assert_int_equal(s.lane_count, 1);
    assert_int_equal(s.lanes[0].state, CRN_LANE_SILENT);
    assert_string_equal(s.lanes[0].causes, "2 over budget, 1 late");
    assert_int_equal(s.bad_count, 1);
    assert_int_equal(s.bad[0].fruit, 22);
    assert_true(s.recorder.on && s.recorder.free_share == 0.25 && !s.log.on);
}

static void the_last_hour_is_read(void **state)
{
    (void)state;
    static crn_daemon_state s;
    assert_int_equal(parse("{\"state\":\"running\",\"last_hour\":{\"fruits\":9,\"with_defect\":4,"
                           "\"worst\":{\"class\":\"rot\",\"looked_for\":8,\"fruits\":2}}}",
                           &s),
                     0);
    assert_true(s.hour_fruits == 9 && s.hour_with_defect == 4 && s.hour_worst_share == 0.25);
    assert_string_equal(s.hour_worst, "rot");
    assert_int_equal(parse("{\"state\":\"running\",\"last_hour\":{\"worst\":null}}", &s), 0);
    assert_true(isnan(s.hour_fruits));
    assert_string_equal(s.hour_worst, "");
}

static void the_lot_is_read(void **state)
{
    (void)state;
    static crn_daemon_state s;
    assert_int_equal(parse("{\"state\":\"running\",\"lot\":\"Hof 7\"}", &s), 0);
    assert_string_equal(s.lot, "Hof 7");
}

static void a_sorters_outlets_and_faults_are_read(void **state)
{
    (void)state;
    static crn_daemon_state s;
    assert_int_equal(
        parse("{\"state\":\"running\",\"headline\":{\"level\":\"warning\",\"misjudged\":false},"
              "\"conditions\":[{\"id\":\"a\",\"severity\":\"warning\",\"what\":\"A\"},"
              "{\"id\":\"b\",\"severity\":\"notice\",\"what\":\"B\"}],"
              "\"sorter\":{\"file\":\"f\",\"faults\":[{\"id\":\"c\",\"severity\":\"critical\","
              "\"text\":\"no PLC\"},{\"id\":\"d\",\"severity\":\"warning\",\"text\":\"low\"}],"
              "\"outlets\":[{\"name\":\"first\",\"fruits\":9,\"per_minute\":7},"
              "{\"name\":\"w\\u001b\",\"fruits\":9,\"per_minute\":0}]}}",
              &s),
        0);
    assert_int_equal(s.condition_count, 4);
    static const char order[] = "cadb";
    for (int i = 0; i < 4; i++)
        assert_int_equal(s.conditions[i].id[0], order[i]);
    assert_string_equal(s.conditions[0].what, "No PLC");
    assert_true(s.misjudged && s.conditions_known && s.level == CRN_LEVEL_CRITICAL);
    assert_int_equal(s.outlet_count, 2);
    assert_string_equal(s.outlets[0].name, "first");
    assert_string_equal(s.outlets[1].name, "w?");
    assert_true(s.outlets[0].per_minute == 7);
    assert_int_equal(parse("{\"state\":\"running\",\"sorter\":null}", &s), 0);
    assert_int_equal(s.outlet_count, 0);
}

/* A fault of 64 lanes beside another of theirs. */
static void as_many_conditions_are_read_as_a_daemon_tells(void **state)
{
    (void)state;
    static crn_daemon_state s;
    static char json[CRN_CONDITIONS_MAX * 64];
    size_t used = (size_t)snprintf(json, sizeof json, "{\"state\":\"running\",\"conditions\":[");
    for (int i = 0; i < CRN_CONDITIONS_MAX; i++)
        used += (size_t)snprintf(json + used, sizeof json - used,
                                 "%s{\"id\":\"x\",\"what\":\"two\"}", i ? "," : "");
    snprintf(json + used, sizeof json - used, "]}");
    assert_int_equal(parse(json, &s), 0);
    assert_int_equal(s.condition_count, CRN_CONDITIONS_MAX);
}

/* Wrong types count as absent; what a terminal would obey is not shown. */
static void strange_events_do_no_harm(void **state)
{
    (void)state;
    static crn_daemon_state s;
    assert_true(parse("[1]", &s) < 0);
    assert_true(parse("{\"stat", &s) < 0);
    assert_true(parse("{}", &s) < 0);
    assert_int_equal(parse("{\"state\":7,\"conditions\":{},\"headline\":[],\"lanes\":[1,{\"lane\":-"
                           "4,\"causes\":[]},"
                           "{\"lane\":1e300}],\"bad\":[null],\"recent\":[],\"budget\":1,"
                           "\"verdicts\":\"x\",\"edges_ms\":[1],\"latency_ms\":3}",
                           &s),
                     0);
    assert_string_equal(s.state, "");
    assert_int_equal(s.lane_count, 3);
    assert_int_equal(s.lanes[1].number, -1);
    assert_int_equal(s.lanes[2].number, -1);
    assert_false(s.budget_known);
    assert_int_equal(parse("{\"state\":\"a\\u001b[2Jb\\n\\u202e\\u00e9\\u4e2d\"}", &s), 0);
    assert_string_equal(s.state, "a?[2Jb??\u00e9?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_whole_however_they_are_cut),
        cmocka_unit_test(large_events_are_given_up),
        cmocka_unit_test(an_event_is_read),
        cmocka_unit_test(the_lot_is_read),
        cmocka_unit_test(the_last_hour_is_read),
        cmocka_unit_test(a_sorters_outlets_and_faults_are_read),
        cmocka_unit_test(as_many_conditions_are_read_as_a_daemon_tells),
        cmocka_unit_test(strange_events_do_no_harm),
    };
    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

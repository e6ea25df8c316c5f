/* Health in every state; the rates of events. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/monitor/events/events.h"
#include "src/monitor/events/health.h"
#include "src/monitor/events/sentence.h"
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"

static const char yaml[] = "classes: [{name: rot, level: 0.5}]\n"
                           "chain: [contours]\n"
                           "run: {workers: 1, threads: 1}\n";

typedef struct health_fixture {
    crn_config config;
    crn_monitor_facts facts;
    crn_histogram_edges edges[CRN_SCALES];
    crn_snapshot *snapshot;
    crn_snapshot *before;
    crn_condition_list conditions;
    crn_observation observation;
    crn_encoder *encoder;
} health_fixture;

static const crn_last_fruits no_fruits;

/* A running line with its grader, nothing out of the ordinary. */
static int set_up(void **state)
{
    health_fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    assert_int_equal(crn_config_parse("f", yaml, strlen(yaml), stderr, &f->config), 0);
    crn_config_resolve(&f->config, 2);
    assert_int_equal(crn_encoder_create(CRN_FORMAT_JSON, &f->encoder), 0);
    for (crn_histogram_scale scale = 0; scale < CRN_SCALES; scale++)
        f->edges[scale] = crn_histogram_edges_of(scale, 100 * CRN_NS_PER_MS);
    f->snapshot = calloc(1, sizeof *f->snapshot + sizeof f->snapshot->lanes[0]);
    assert_non_null(f->snapshot);
    f->before = calloc(1, crn_snapshot_bytes(1));
    assert_non_null(f->before);
    f->snapshot->number = 7;
    f->snapshot->taken_ns = 100 * CRN_NS_PER_S;
    f->snapshot->state = CRN_STATE_RUNNING;
    f->snapshot->metrics.publish.graders = 1;
    f->facts = (crn_monitor_facts){.config = &f->config, .processor = "openmp", .run = "00ff"};
    f->observation = (crn_observation){
        .facts = &f->facts,
        .edges = f->edges,
        .snapshot = f->snapshot,
        .before = f->before,
        .conditions = &f->conditions,
        .now_ns = f->snapshot->taken_ns + CRN_NS_PER_S,
    };
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    health_fixture *f = *state;
    crn_encoder_free(&f->encoder);
    crn_config_done(&f->config);
    free(f->snapshot);
    free(f->before);
    free(f);
    return 0;
}

/* The page must say this, and be good or not as /healthz and /readyz. */
static void expect(health_fixture *f, const char *said, bool healthy, bool ready)
{
    const unsigned char *bytes;
    size_t size;
    char text[2048], flags[64];
    crn_health_page(&f->observation, f->encoder);
    assert_int_equal(crn_encoder_end(f->encoder, &bytes, &size), 0);
    snprintf(text, sizeof text, "%.*s", (int)size, (const char *)bytes);
    if (!strstr(text, said))
        fail_msg("not '%s', but: %s", said, text);
    snprintf(flags, sizeof flags, "\"healthy\":%s,\"ready\":%s,", healthy ? "true" : "false",
             ready ? "true" : "false");
    assert_non_null(strstr(text, flags));
    assert_int_equal(crn_health_is_healthy(&f->observation), healthy);
    assert_int_equal(crn_health_is_ready(&f->observation), ready);
}

static void hold(health_fixture *f, const char *id, double count)
{
    f->conditions.at[f->conditions.count++] =
        (crn_condition_held){.row = crn_condition_named(id),
                             .values = {.lane = -1, .count = count},
                             .since_ns = f->observation.now_ns - 10 * CRN_NS_PER_S};
}

static void a_sound_line_has_no_conditions(void **state)
{
    health_fixture *f = *state;
    f->conditions.state = CRN_STATE_RUNNING;
    expect(f, "{\"state\":\"running\",", true, true);
    expect(f,
           "\"headline\":{\"level\":\"good\",\"misjudged\":false},\"conditions\":[],\"reasons\":[],"
           "\"version\":\"" CRN_VERSION
           "\",\"run\":\"00ff\",\"settings\":\"0000000000000000\",\"recipe\":\"\",\"lot\":\"\","
           "\"grower\":\"\",\"variety\":\"\",\"lot_since_s\":0,\"uptime_s\":",
           true, true);
}

static void conditions_are_told_in_full(void **state)
{
    health_fixture *f = *state;
    hold(f, "no_grader", 5);
    hold(f, "not_finite", 7);
    f->conditions.at[1].values.lane = 2;
    expect(f,
           "\"headline\":{\"level\":\"critical\",\"misjudged\":true},\"conditions\":[{\"id\":"
           "\"no_grader\",\"severity\":\"critical\",\"misjudged\":true,\"values\":{\"count\":5,",
           true, true);
    expect(f, "{\"id\":\"not_finite\",\"severity\":\"critical\",\"misjudged\":true,\"lane\":2,",
           true, true);
    expect(
        f,
        ",\"what\":\"Lane 2: the CNN sends invalid numbers\",\"action\":\"Restart the CNN of this "
        "lane.\",\"details\":\"NaN or infinity",
        true, true);
    expect(f,
           "\"reasons\":[\"Nothing is ejected: no ejector program is connected. Start the ejector "
           "program.\",\"Lane 2: ",
           true, true);
}

static void a_line_that_stops_is_healthy_and_not_ready(void **state)
{
    health_fixture *f = *state;
    f->snapshot->state = CRN_STATE_STOPPING;
    expect(f, "\"state\":\"stopping\"", true, false);
    f->snapshot->number = 0; /* the line's thread does not run yet */
    f->snapshot->taken_ns = 0;
    f->snapshot->state = CRN_STATE_STARTING;
    expect(f, "\"level\":\"none\"", true, false);
}

static void a_line_that_hangs_is_not_healthy(void **state)
{
    health_fixture *f = *state;
    f->observation.now_ns = f->snapshot->taken_ns + CRN_HEALTH_SILENCE_NS - 1;
    expect(f, "\"state\":\"running\"", true, true);
    f->observation.now_ns++;
    expect(f, "\"state\":\"running\"", false, false);
}

static void a_sentence_has_the_state_and_the_conditions_that_fit(void **state)
{
    health_fixture *f = *state;
    char text[300];
    f->conditions.state = CRN_STATE_RUNNING;
    crn_sentence_write(&f->conditions, text, sizeof text);
    assert_string_equal(text, "running, nothing out of the ordinary");
    f->conditions.state = CRN_STATE_READY;
    hold(f, "no_grader", 0);
    crn_sentence_write(&f->conditions, text, sizeof text);
    assert_string_equal(text, "ready: no view has arrived yet; Nothing is ejected: no ejector "
                              "program is connected. Start the ejector program.");
    crn_sentence_write(&f->conditions, text, 60);
    assert_string_equal(text, "ready: no view has arrived yet; and more");
    f->conditions.state = CRN_STATE_RUNNING;
    crn_sentence_write(&f->conditions, text, sizeof text);
    assert_string_equal(text, "running: Nothing is ejected: no ejector program is connected. Start "
                              "the ejector program.");
    hold(f, "recipe_lost", 0);
    crn_sentence_write(&f->conditions, text, sizeof text);
    assert_string_equal(text, "running: Nothing is ejected: no ejector program is connected. Start "
                              "the ejector program. Recipe '' was lost in a restart: fruit is "
                              "sorted by other limits. Choose the recipe again.");
    crn_sentence_write(&f->conditions, text, 120);
    assert_string_equal(text, "running: Nothing is ejected: no ejector program is connected. Start "
                              "the ejector program. And more.");
    crn_sentence_write(&f->conditions, text, 20);
    assert_string_equal(text, "running; and more");
}

static void rates_follow_from_the_last_snapshot(void **state)
{
    health_fixture *f = *state;
    crn_event_rates rates = {.taken_ns = 0};
    const unsigned char *bytes;
    size_t size;
    f->snapshot->metrics.lanes.views = 1000;
    f->snapshot->metrics.publish.verdicts = 250;
    crn_event_rates_update(&rates, f->snapshot);
    assert_true(rates.views_per_s == 0);
    f->snapshot->taken_ns += 2 * CRN_NS_PER_S;
    f->snapshot->metrics.lanes.views += 80;
    f->snapshot->metrics.publish.verdicts += 21;
    crn_event_rates_update(&rates, f->snapshot);
    crn_event_snapshot(&f->observation, (crn_budget_watch){.kept = true}, &no_fruits, &rates,
                       f->encoder);
    assert_int_equal(crn_encoder_end(f->encoder, &bytes, &size), 0);
    char text[4096];
    snprintf(text, sizeof text, "%.*s", (int)size, (const char *)bytes);
    assert_non_null(strstr(text, "\"last_hour\":{\"fruits\":0,\"with_defect\":0,\"worst\":null}"));
    assert_non_null(strstr(text, "\"views_per_s\":40,\"verdicts_per_s\":10.5,\"views\":"));
    crn_event_rates_update(&rates, f->snapshot); /* the same snapshot again */
    assert_true(rates.views_per_s == 40);
}

static void events_show_shares_and_quantiles(void **state)
{
    health_fixture *f = *state;
    crn_event_rates rates = {.taken_ns = 0};
    const unsigned char *bytes;
    size_t size;
    crn_lane_meters *lane = &f->snapshot->lanes[0].meters;
    f->snapshot->lane_count = 1;
    f->snapshot->lanes[0].number = 4;
    for (int i = 0; i < 3; i++)
        crn_histogram_add(&lane->latency, &f->edges[CRN_SCALE_FRUIT], 90 * CRN_NS_PER_MS);
    crn_histogram_add(&lane->latency, &f->edges[CRN_SCALE_FRUIT], 110 * CRN_NS_PER_MS);
    lane->over_budget = 1;
    f->observation.hour = (crn_minutes_hour){9, 4, {"rot", 8, 2}};
    crn_event_snapshot(&f->observation, (crn_budget_watch){.kept = true}, &no_fruits, &rates,
                       f->encoder);
    assert_int_equal(crn_encoder_end(f->encoder, &bytes, &size), 0);
    char text[4096];
    snprintf(text, sizeof text, "%.*s", (int)size, (const char *)bytes);
    /* Two thirds of 62.5 to 100 ms; 96 % of 100 to 160 ms. */
    static const char figures[] =
        "\"latency_ms\":{\"p50\":87.5,\"p99\":157.6,\"within_budget\":0.75}";
    char *all = strstr(text, figures);
    assert_non_null(all);
    assert_non_null(strstr(all, "\"lanes\":[{\"lane\":4,"));
    assert_non_null(strstr(all + 1, figures));
    assert_non_null(
        strstr(all, "\"last_hour\":{\"fruits\":9,\"with_defect\":4,\"worst\":{\"class\":\"rot\","
                    "\"looked_for\":8,\"fruits\":2}}"));
}

/* The clock was at 1970 when the daemon started, and on 2020-09-13 when a view came; then it was
 * set. */
static void times_of_day_follow_a_clock_that_is_set(void **state)
{
    health_fixture *f = *state;
    crn_event_rates rates = {.taken_ns = 0};
    const unsigned char *bytes;
    size_t size;
    char text[4096];
    f->facts.started_ns = 0;
    f->facts.began_ns = f->observation.now_ns - 50 * CRN_NS_PER_S;
    f->snapshot->lane_count = 1;
    f->snapshot->lanes[0].stats.views = 1;
    f->snapshot->lanes[0].meters.last_view_ns = UINT64_C(1600000000) * CRN_NS_PER_S;
    f->snapshot->lanes[0].meters.arrived_ns = f->observation.now_ns - 2 * CRN_NS_PER_S;
    int64_t now_s = crn_realtime_ns() / CRN_NS_PER_S;
    crn_event_snapshot(&f->observation, (crn_budget_watch){.kept = true}, &no_fruits, &rates,
                       f->encoder);
    assert_int_equal(crn_encoder_end(f->encoder, &bytes, &size), 0);
    snprintf(text, sizeof text, "%.*s", (int)size, (const char *)bytes);
    static const struct {
        const char *key;
        int64_t ago_s;
    } times[] = {{"\"started_s\":", 50}, {"\"since_s\":", 50}, {"\"last_view_s\":", 2}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        const char *at = strstr(text, times[i].key);
        assert_non_null(at);
        double late_s = strtod(at + strlen(times[i].key), NULL) - (double)(now_s - times[i].ago_s);
        if (late_s < -1 || late_s > 60) /* the second one may be long under a sanitizer */
            fail_msg("%s is off by %g s", times[i].key, late_s);
    }
    assert_non_null(strstr(text, "\"state\":\"good\""));
    expect(f, "\"uptime_s\":50}", true, true);
}

/* Whatever the table has as a sample of it. */
static void all_lost_views_are_in_the_sum(void **state)
{
    health_fixture *f = *state;
    crn_event_rates rates = {.taken_ns = 0};
    const unsigned char *bytes;
    size_t size;
    char expected[64];
    uint64_t sum = 0;
    for (int i = 0; i < crn_counts_count; i++) {
        const crn_family *row = &crn_counts[i];
        if (!row->sample_of || strcmp(row->sample_of, "cernita_views_lost_total") != 0)
            continue;
        *(uint64_t *)((char *)&f->snapshot->metrics + row->log_offset) = 1000 + (uint64_t)i;
        sum += 1000 + (uint64_t)i;
    }
    assert_true(sum >= 6000);
    crn_event_snapshot(&f->observation, (crn_budget_watch){.kept = true}, &no_fruits, &rates,
                       f->encoder);
    assert_int_equal(crn_encoder_end(f->encoder, &bytes, &size), 0);
    char text[4096];
    snprintf(text, sizeof text, "%.*s", (int)size, (const char *)bytes);
    snprintf(expected, sizeof expected, "\"lost\":%llu,", (unsigned long long)sum);
    assert_non_null(strstr(text, expected));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_sound_line_has_no_conditions),
        TEST(conditions_are_told_in_full),
        TEST(a_line_that_stops_is_healthy_and_not_ready),
        TEST(a_line_that_hangs_is_not_healthy),
        TEST(a_sentence_has_the_state_and_the_conditions_that_fit),
        TEST(rates_follow_from_the_last_snapshot),
        TEST(all_lost_views_are_in_the_sum),
        TEST(events_show_shares_and_quantiles),
        TEST(times_of_day_follow_a_clock_that_is_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

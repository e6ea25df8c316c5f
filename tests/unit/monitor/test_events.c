/* Health and its reasons in every state; the rates of events. */
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
    assert_int_equal(crn_reasons_is_healthy(&f->observation), healthy);
    assert_int_equal(crn_reasons_is_ready(&f->observation), ready);
}

static void a_sound_line_has_no_reasons(void **state)
{
    health_fixture *f = *state;
    expect(f, "{\"state\":\"running\",", true, true);
    expect(f,
           "\"reasons\":[],\"version\":\"" CRN_VERSION
           "\",\"run\":\"00ff\",\"settings\":\"0000000000000000\",\"recipe\":\"\",\"uptime_s\":",
           true, true);
}

static void each_state_says_why(void **state)
{
    health_fixture *f = *state;
    f->snapshot->state = CRN_STATE_READY;
    expect(f, "\"reasons\":[\"no view has arrived yet\"]", true, true);
    f->snapshot->state = CRN_STATE_STOPPING;
    f->snapshot->levels.fruits_open = 3;
    expect(f, "\"reasons\":[\"no more views are read, 3 open fruits are judged\"]", true, false);
    f->snapshot->levels.fruits_open = 1;
    expect(f, "\"reasons\":[\"no more views are read, 1 open fruit is judged\"]", true, false);
    f->snapshot->state = CRN_STATE_DEGRADED;
    f->snapshot->levels.devices = 2;
    f->snapshot->levels.devices_lost = 1;
    expect(f, "\"reasons\":[\"1 of 2 devices lost: ", true, true);
    f->snapshot->levels.devices_lost = 0;
    f->snapshot->levels.devices = 0;
    f->snapshot->levels.devices_left_out = 1;
    strcpy(f->snapshot->metrics.engine.left_out_why, "device 0: No such device");
    expect(f,
           "\"reasons\":[\"device 0: No such device: left out at the start, views run on the "
           "processor until restart\"]",
           true, true);
    f->snapshot->levels.devices_left_out = 0;
    f->snapshot->number = 0; /* the line's thread does not run yet */
    f->snapshot->taken_ns = 0;
    f->snapshot->state = CRN_STATE_STARTING;
    expect(f, "\"reasons\":[\"memory is being reserved, devices are being prepared\"]", true,
           false);
}

static void a_disk_that_hangs_is_reported(void **state)
{
    health_fixture *f = *state;
    f->snapshot->metrics.recorder.quiet_ns = CRN_REASONS_SILENCE_NS - 1;
    expect(f, "\"reasons\":[]", true, true);
    f->snapshot->metrics.recorder.quiet_ns = 12 * CRN_NS_PER_S;
    expect(f, "[\"record.dir: the disk has taken no view that is to be recorded for 12 s: ", true,
           true);
    f->snapshot->metrics.recorder.quiet_ns = 0;
    f->snapshot->metrics.publish.log.quiet_ns = 7 * CRN_NS_PER_S;
    expect(f, "[\"publish.log: the disk has taken no verdict for 7 s: ", true, true);
}

static void a_sentence_has_the_state_and_the_reasons_that_fit(void **state)
{
    health_fixture *f = *state;
    char text[300];
    crn_sentence_write(&f->observation, text, sizeof text);
    assert_string_equal(text, "running, nothing out of the ordinary");
    f->snapshot->state = CRN_STATE_READY;
    f->snapshot->metrics.publish.graders = 0;
    crn_sentence_write(&f->observation, text, sizeof text);
    assert_string_equal(text, "ready: no view has arrived yet; no grader is connected, 0 verdicts "
                              "wait for it, 0 were dropped");
    crn_sentence_write(&f->observation, text, 60);
    assert_string_equal(text, "ready: no view has arrived yet; and more");
    crn_sentence_write(&f->observation, text, 20);
    assert_string_equal(text, "ready; and more");
}

static void graders_are_counted(void **state)
{
    health_fixture *f = *state;
    f->snapshot->metrics.publish.graders = 0;
    f->snapshot->metrics.publish.waiting = 5;
    expect(f, "[\"no grader is connected, 5 verdicts wait for it, 0 were dropped\"]", true, true);
    f->snapshot->metrics.publish.waiting = 1;
    f->snapshot->metrics.publish.dropped = 1;
    expect(f, "[\"no grader is connected, 1 verdict waits for it, 1 was dropped\",", true, true);
    f->snapshot->metrics.publish.dropped = 0;
    f->snapshot->metrics.publish.graders = 2;
    expect(f, "[\"2 graders are connected, each gets a part of the verdicts: stop all but one\"]",
           true, true);
}

static void losses_are_told_while_they_are_recent(void **state)
{
    health_fixture *f = *state;
    crn_metrics *now = &f->snapshot->metrics;
    now->publish.log.failed = 42;
    now->publish.peers.cut[CRN_CUT_SILENT] = 1;
    now->fruits.duplicates = 3; /* no loss */
    expect(
        f,
        "\"reasons\":[\"cut_silent: 1 in the last two minutes: it answered no heartbeat for 5 s: "
        "its program is stopped or does not read, or its machine or the network is down\","
        "\"log_failed: 42 in the last two minutes: the disk is too slow or full "
        "(publish.log.dir)\"]",
        true, true);
    f->before->metrics = *now;
    now->publish.log.failed++;
    expect(f, "\"reasons\":[\"log_failed: 1 in the last two minutes: ", true, true);
    f->before->metrics = *now;
    expect(f, "\"reasons\":[]", true, true);
}

static void a_line_that_hangs_is_not_healthy(void **state)
{
    health_fixture *f = *state;
    f->observation.now_ns = f->snapshot->taken_ns + CRN_REASONS_SILENCE_NS - 1;
    expect(f, "\"reasons\":[]", true, true);
    f->observation.now_ns++;
    expect(f, "\"reasons\":[\"the line's thread has not answered for 5 s\"]", false, false);
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
}

/* Programs tell by it why no view is accepted; a view that was lost later was accepted. */
static void codes_say_which_refuse_messages(void **state)
{
    health_fixture *f = *state;
    crn_event_rates rates = {.taken_ns = 0};
    const unsigned char *bytes;
    size_t size;
    char text[4096];
    f->snapshot->metrics.ingest.faults[CRN_WIRE_MAGIC] = 3;
    f->snapshot->metrics.fruits.views_mismatch = 2;
    f->snapshot->metrics.fruits.lanes = 1;
    f->snapshot->metrics.fruits.stragglers = 4;
    crn_event_snapshot(&f->observation, (crn_budget_watch){.kept = true}, &no_fruits, &rates,
                       f->encoder);
    assert_int_equal(crn_encoder_end(f->encoder, &bytes, &size), 0);
    snprintf(text, sizeof text, "%.*s", (int)size, (const char *)bytes);
    assert_non_null(strstr(text, "\"codes\":[{\"code\":\"magic\",\"count\":3,\"refused\":true},"
                                 "{\"code\":\"views_mismatch\",\"count\":2,\"refused\":true},"
                                 "{\"code\":\"lanes\",\"count\":1,\"refused\":true},"
                                 "{\"code\":\"straggler\",\"count\":4,\"refused\":false}],"));
    /* A deadline of the sender closes fruits, too. */
    assert_non_null(strstr(text, "latency.assemble_ms or the sender's deadline_ns too short"));
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_sound_line_has_no_reasons),
        TEST(each_state_says_why),
        TEST(graders_are_counted),
        TEST(a_disk_that_hangs_is_reported),
        TEST(a_sentence_has_the_state_and_the_reasons_that_fit),
        TEST(losses_are_told_while_they_are_recent),
        TEST(a_line_that_hangs_is_not_healthy),
        TEST(rates_follow_from_the_last_snapshot),
        TEST(events_show_shares_and_quantiles),
        TEST(codes_say_which_refuse_messages),
        TEST(times_of_day_follow_a_clock_that_is_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

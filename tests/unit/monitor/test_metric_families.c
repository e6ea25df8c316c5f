/* The table of metric families: complete, named by Prometheus' rules, documented in the README; and
 * the exposition that is printed from it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/monitor/families.h"
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/peers/http.h"
#include "tests/support/programs/readme_reference.h"

static const char yaml[] =
    "classes: [{name: ground}, {name: rot, level: 0.5}, {name: rust, level: 0.5}]\n"
    "chain: [convolve, convolve, contours]\n"
    "latency: {budget_ms: 120}\n"
    "run: {backend: openmp, workers: 3, threads: 1}\n";

typedef struct families_fixture {
    crn_config config;
    crn_monitor_facts facts;
    crn_histogram_edges edges[CRN_SCALES];
    crn_snapshot *snapshot;
    crn_condition_list conditions;
    crn_minutes_totals totals;
    crn_drift *drift;
    crn_observation observation;
    char *text;
} families_fixture;

static families_fixture the;

static const crn_surfaces_stats surfaces = {
    .measured = 4,
    .unmeasured = 1,
    .skipped = 2,
    .poses = {[CRN_POSE_PHOTO] = 9, [CRN_POSE_CLASS] = 1, [CRN_POSE_EXPECTED] = 3},
    .rolls = {[CRN_POSE_HEADER] = 6},
    .confidence = 8.5,
    .coverage = 3.75,
    .busy_ns = 2500000};

/* The caller frees it. */
static char *print_families(void)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    crn_families_print(&the.observation, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* A fruit with rot on lane 7. */
static int offer_fruit(void)
{
    crn_lane lane = {.number = 7};
    crn_fruit fruit = {.lane = &lane, .config = &the.config};
    crn_class_total totals[CRN_CLASSES_MAX] = {{.count = 1}};
    crn_published published = {.totals = totals};
    int r = crn_drift_create(1, &the.drift);
    if (r == 0) {
        crn_drift_offer(the.drift, &fruit, &published);
        crn_drift_look(the.drift);
    }
    return r;
}

static void fill_lanes(void)
{
    the.snapshot->lane_count = 2;
    crn_lane_snapshot *lane = &the.snapshot->lanes[1];
    lane->number = UINT32_MAX;
    lane->meters.received[CRN_INGEST_IPC] = 5;
    lane->meters.last_view_ns = UINT64_C(1795000000500000000);
    the.snapshot->lanes[0].meters.last_view_ns = 1;
    crn_histogram_add(&lane->meters.latency, &the.edges[CRN_SCALE_FRUIT], 120 * CRN_NS_PER_MS);
    crn_histogram_add(&lane->meters.latency, &the.edges[CRN_SCALE_FRUIT], 121 * CRN_NS_PER_MS);
}

/* Two lanes, a device, disks: every family has a sample. */
static int set_up(void **state)
{
    (void)state;
    if (crn_config_parse("line.yaml", yaml, strlen(yaml), stderr, &the.config) < 0)
        return -1;
    crn_config_resolve(&the.config, 4);
    for (crn_histogram_scale scale = 0; scale < CRN_SCALES; scale++)
        the.edges[scale] = crn_histogram_edges_of(scale, 120 * CRN_NS_PER_MS);
    the.snapshot = calloc(1, sizeof *the.snapshot + 2 * sizeof the.snapshot->lanes[0]);
    the.snapshot->number = 9;
    the.snapshot->taken_ns = crn_now_ns();
    the.snapshot->state = CRN_STATE_RUNNING;
    the.snapshot->levels.devices = 1;
    strcpy(the.snapshot->settings.recipe, "plum");
    the.snapshot->settings.refused = 8;
    the.snapshot->views.steps = the.config.steps;
    for (int32_t i = 0; i < the.config.steps; i++)
        the.snapshot->views.step[i] = crn_config_step_kind(&the.config, i);
    the.snapshot->metrics.fruits.no_slot = UINT64_MAX;
    the.snapshot->metrics.lanes.refused.count[CRN_WIRE_MAGIC] = 3;
    the.snapshot->metrics.refused_elsewhere.count[CRN_WIRE_MAGIC] = 4;
    the.snapshot->metrics.surfaces = surfaces;
    fill_lanes();
    the.facts = (crn_monitor_facts){.config = &the.config, .processor = "openmp", .run = "a"};
    static const crn_snapshot nothing;
    the.conditions.count = 1;
    the.conditions.at[0] =
        (crn_condition_held){.row = crn_condition_named("lane_silent"), .values = {.lane = 7}};
    crn_minutes_totals_add(&the.totals, "rot", 100, 7);
    if (offer_fruit() < 0)
        return -1;
    the.observation = (crn_observation){
        .drift = the.drift,
        .totals = &the.totals,
        .before = &nothing,
        .conditions = &the.conditions,
        .facts = &the.facts,
        .edges = the.edges,
        .snapshot = the.snapshot,
        .disks = {[CRN_RESOURCE_RECORD] = {.on = true, .silent_s = 12.5},
                  [CRN_RESOURCE_LOG] = {.on = true, .free_bytes = 3, .size_bytes = 4}},
        .now_ns = the.snapshot->taken_ns + CRN_NS_PER_S / 2,
    };
    the.text = print_families();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(the.text);
    free(the.snapshot);
    crn_drift_free(&the.drift);
    crn_config_done(&the.config);
    return 0;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static void names_follow_the_rules(void **state)
{
    (void)state;
    for (const crn_family *family = NULL; (family = crn_families_next(family));) {
        bool counter = family->type == CRN_FAMILY_COUNTER;
        if (ends_with(family->name, "_total") != counter)
            fail_msg("%s: counters, and they alone, end with _total", family->name);
        if (family->type == CRN_FAMILY_HISTOGRAM)
            assert_true(ends_with(family->name, "_seconds"));
        assert_int_equal(strspn(family->name, "abcdefghijklmnopqrstuvwxyz_"), strlen(family->name));
        assert_null(strstr(family->name, "_ms"));
        assert_true(family->help[0] && !ends_with(family->help, "."));
        assert_null(strpbrk(family->help, "|\\\n"));
        for (const crn_family *other = family; (other = crn_families_next(other));)
            assert_string_not_equal(other->name, family->name);
    }
}

/* Length of a `name="value",…` list without its braces; fails the test on anything else. */
static size_t labels_length(const char *labels)
{
    const char *at = labels;
    for (;;) {
        size_t name = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
        if (name == 0 || strncmp(at + name, "=\"", 2) != 0)
            fail_msg("no labels: %.60s", labels);
        at += name + 2;
        at += strcspn(at, "\"\\\n");
        if (*at++ != '"')
            fail_msg("no label value: %.60s", labels);
        if (*at != ',')
            return (size_t)(at - labels);
        at++;
    }
}

/* Checks `name{labels} value`, where the name is the family's. */
static void expect_sample(const crn_family *family, const char *line)
{
    size_t length = strlen(family->name);
    assert_memory_equal(line, family->name, length);
    const char *at = line + length;
    if (family->type == CRN_FAMILY_HISTOGRAM || family->type == CRN_FAMILY_SUMMARY) {
        assert_int_equal(*at, '_');
        at += 1 + strspn(at + 1, "abcdefghijklmnopqrstuvwxyz");
    }
    if (*at == '{') {
        at += 1 + labels_length(at + 1);
        assert_int_equal(*at++, '}');
    }
    assert_int_equal(*at++, ' ');
    char *end;
    strtod(at, &end);
    assert_true(end > at && *end == '\0');
}

static void every_family_has_help_type_and_samples(void **state)
{
    (void)state;
    static const char *const types[] = {"counter", "gauge", "histogram", "summary"};
    char *copy = strdup(the.text), *rest = copy, *line = strsep(&rest, "\n");
    for (const crn_family *family = NULL; (family = crn_families_next(family));) {
        char head[512];
        snprintf(head, sizeof head, "# HELP %s %s", family->name, family->help);
        assert_string_equal(line, head);
        snprintf(head, sizeof head, "# TYPE %s %s", family->name, types[family->type]);
        assert_string_equal(strsep(&rest, "\n"), head);
        int samples = 0;
        while ((line = strsep(&rest, "\n")) && line[0] && line[0] != '#') {
            expect_sample(family, line);
            samples++;
        }
        if (samples == 0)
            fail_msg("%s has no sample", family->name);
    }
    assert_string_equal(line, "");
    assert_null(rest);
    free(copy);
}

static void no_sample_is_printed_twice(void **state)
{
    (void)state;
    for (const char *line = the.text; *line; line = strchr(line, '\n') + 1) {
        const char *value = line[0] == '#' ? NULL : strchr(line, ' ');
        size_t length = value ? (size_t)(value - line) + 1 : 0;
        for (const char *other = strchr(line, '\n') + 1; length && *other;
             other = strchr(other, '\n') + 1)
            if (strncmp(line, other, length) == 0)
                fail_msg("twice: %.*s", (int)length, line);
    }
}

static void values_are_those_of_the_snapshot(void **state)
{
    (void)state;
    assert_true(http_sample(the.text, "cernita_views_lost_total{reason=\"no_slot\"}") == 0x1p64);
    assert_true(http_sample(the.text, "cernita_views_rejected_total{reason=\"magic\"}") == 7);
    assert_true(http_sample(the.text, "cernita_lane_views_rejected_total{lane=\"other\"}") == 4);
#define RECEIVED "cernita_views_received_total{lane=\"4294967295\",path="
    assert_true(http_sample(the.text, RECEIVED "\"ipc\"}") == 5);
    assert_true(http_sample(the.text, RECEIVED "\"tcp\"}") == 0);
    assert_true(http_sample(the.text, "cernita_state{state=\"running\"}") == 1);
    assert_true(http_sample(the.text, "cernita_condition{condition=\"lane_silent\",lane=\"7\"}") ==
                1);
    assert_true(http_sample(the.text, "cernita_condition{condition=\"no_grader\",lane=\"\"}") == 0);
    assert_true(http_sample(the.text, "cernita_state{state=\"ready\"}") == 0);
    assert_true(http_sample(the.text, "cernita_snapshot_age_seconds") == 0.5);
    assert_true(http_sample(the.text, "cernita_budget_seconds") == 0.12);
    assert_true(http_sample(the.text, "cernita_last_view_timestamp_seconds{lane=\"4294967295\"}") ==
                1795000000.5);
    assert_true(http_sample(the.text, "cernita_disk_free_bytes{use=\"log\"}") == 3);
    assert_null(
        strstr(the.text, "cernita_disk_free_bytes{use=\"record\"}")); /* it never answered */
    assert_true(http_sample(the.text, "cernita_disk_silent_seconds{use=\"record\"}") == 12.5);
    assert_true(http_sample(the.text, "cernita_disk_silent_seconds{use=\"log\"}") == 0);
    assert_null(strstr(the.text, "use=\"state\"")); /* no such folder is set */
    assert_non_null(strstr(the.text, "cernita_recipe{recipe=\"plum\"} 1\n"));
    assert_non_null(strstr(the.text, "cernita_reloads_total{result=\"refused\"} 8\n"));
    assert_non_null(strstr(the.text, "cernita_stage_seconds_count{stage=\"convolve_2\",backend="
                                     "\"cuda\"} 0\n"));
    assert_non_null(
        strstr(the.text, "cernita_build_info{version=\"" CRN_VERSION "\",backend=\"cuda\"} 1\n"));
}

static void each_chart_has_its_level(void **state)
{
    (void)state;
    assert_true(http_sample(the.text, "cernita_drift{lane=\"7\",class=\"rot\"}") == 0);
}

static void measures_of_fruits_have_sums_and_sources(void **state)
{
    (void)state;
    assert_true(http_sample(the.text, "cernita_fruits_measured_total{result=\"measured\"}") == 4);
    assert_true(http_sample(the.text, "cernita_fruits_measured_total{result=\"unmeasured\"}") == 1);
    assert_true(http_sample(the.text, "cernita_fruits_measured_total{result=\"skipped\"}") == 2);
    assert_true(http_sample(the.text, "cernita_fruit_coverage_sum") == 3.75);
    assert_true(http_sample(the.text, "cernita_fruit_coverage_count") == 4);
    assert_true(http_sample(the.text, "cernita_view_poses_total{source=\"photo\"}") == 9);
    assert_true(http_sample(the.text, "cernita_view_poses_total{source=\"expected\"}") == 3);
    assert_true(http_sample(the.text, "cernita_view_poses_total{source=\"none\"}") == 0);
    assert_true(http_sample(the.text, "cernita_view_rolls_total{source=\"header\"}") == 6);
    assert_true(http_sample(the.text, "cernita_view_pose_confidence_sum") == 8.5);
    assert_true(http_sample(the.text, "cernita_view_pose_confidence_count") == 10);
    assert_true(http_sample(the.text, "cernita_surface_seconds_sum") == 0.0025);
    assert_true(http_sample(the.text, "cernita_surface_seconds_count") == 5);
}

static void classes_have_their_fruits(void **state)
{
    (void)state;
    assert_true(http_sample(the.text, "cernita_fruits_looked_for_total{class=\"rot\"}") == 100);
    assert_true(http_sample(the.text, "cernita_fruits_with_defect_total{class=\"rot\"}") == 7);
    /* One that is looked for and was not counted yet begins with 0. */
    assert_true(http_sample(the.text, "cernita_fruits_with_defect_total{class=\"rust\"}") == 0);
    assert_null(strstr(the.text, "class=\"ground\""));
    crn_minutes_totals_add(&the.totals, "a \"b\\", 2, 1);
    char *text = print_families();
    assert_non_null(strstr(text, "\ncernita_fruits_with_defect_total{class=\"a \\\"b\\\\\"} 1\n"));
    free(text);
}

/* Their counts must not vanish from sums over lanes; without such lanes there is no such sample. */
static void lanes_that_were_freed_are_other(void **state)
{
    (void)state;
    assert_null(strstr(the.text, "cernita_verdicts_total{lane=\"other\""));
    the.snapshot->metrics.lanes_freed = 3;
    the.snapshot->freed.stats.restarts = 4;
    the.snapshot->freed.meters.verdicts[CRN_VERDICT_LATE] = 5;
    the.snapshot->freed.meters.received[CRN_INGEST_TCP] = 6;
    crn_histogram_add(&the.snapshot->freed.meters.latency, &the.edges[CRN_SCALE_FRUIT], 7);
    char *text = print_families();
    static const char *const lines[] = {
        "\ncernita_lanes_freed_total 3\n",
        "\ncernita_sender_restarts_total{lane=\"other\"} 4\n",
        "\ncernita_verdicts_total{lane=\"other\",kind=\"late\"} 5\n",
        "\ncernita_views_received_total{lane=\"other\",path=\"tcp\"} 6\n",
        "\ncernita_fruit_latency_seconds_count{lane=\"other\"} 1\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_non_null(strstr(text, lines[i]));
    free(text);
}

static void buckets_are_cumulative_with_an_edge_at_the_budget(void **state)
{
    (void)state;
#define LATENCY "cernita_fruit_latency_seconds"
#define LANE    "{lane=\"4294967295\""
    assert_true(http_sample(the.text, LATENCY "_bucket" LANE ",le=\"0.075\"}") == 0);
    assert_true(http_sample(the.text, LATENCY "_bucket" LANE ",le=\"0.12\"}") == 1);
    assert_true(http_sample(the.text, LATENCY "_bucket" LANE ",le=\"0.192\"}") == 2);
    assert_true(http_sample(the.text, LATENCY "_bucket" LANE ",le=\"+Inf\"}") == 2);
    assert_true(http_sample(the.text, LATENCY "_count" LANE "}") == 2);
    assert_true(http_sample(the.text, LATENCY "_sum" LANE "}") == 0.241);
    assert_true(http_sample(the.text, "cernita_view_queue_seconds_bucket{le=\"0.12\"}") == 0);
    assert_true(http_sample(the.text, "cernita_view_queue_seconds_sum") == 0);
}

/* Prometheus' own opinion, where it is installed (Debian: prometheus). */
static void promtool_accepts_it(void **state)
{
    (void)state;
    if (system("command -v promtool >/dev/null") != 0)
        skip();
    FILE *promtool = popen("promtool check metrics", "w");
    assert_non_null(promtool);
    fputs(the.text, promtool);
    assert_int_equal(pclose(promtool), 0);
}

static void the_readme_has_the_reference(void **state)
{
    (void)state;
    readme_expect_reference("src/monitor/README.md", crn_families_print_reference);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_follow_the_rules),
        cmocka_unit_test(every_family_has_help_type_and_samples),
        cmocka_unit_test(no_sample_is_printed_twice),
        cmocka_unit_test(values_are_those_of_the_snapshot),
        cmocka_unit_test(each_chart_has_its_level),
        cmocka_unit_test(measures_of_fruits_have_sums_and_sources),
        cmocka_unit_test(classes_have_their_fruits),
        cmocka_unit_test(lanes_that_were_freed_are_other),
        cmocka_unit_test(buckets_are_cumulative_with_an_edge_at_the_budget),
        cmocka_unit_test(promtool_accepts_it),
        cmocka_unit_test(the_readme_has_the_reference),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

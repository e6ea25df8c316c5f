/* cernita-top's screen: what matters is there at every size, and nothing overlaps. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tools/top/layout.h"

static crn_daemon_state status;
static crn_top_view view;

static int set_up(void **state)
{
    (void)state;
    status = (crn_daemon_state){.healthy = true,
                                .level = CRN_LEVEL_GOOD,
                                .state = "running",
                                .config = "line.yaml",
                                .backend = "openmp",
                                .workers = 2,
                                .now_s = 1000120,
                                .budget_ms = 100,
                                .budget_known = true,
                                .budget_kept = true,
                                .budget_since_s = 1000000,
                                .missed = 0,
                                .recent_verdicts = 1200,
                                .verdicts_per_s = 123456,
                                .views_per_s = 400.25,
                                .complete = 4e9,
                                .p50_ms = 1.25,
                                .p99_ms = 88.8,
                                .slots = 4096,
                                .slots_free = 4000,
                                .graders = 1,
                                .has_counts = true,
                                .stage_count = 2,
                                .stages = {{.name = "queue", .mean_ms = 1.5, .share = 0.75},
                                           {.name = "morphology_2", .mean_ms = 0.5, .share = 0.25}},
                                .lane_count = 40,
                                .bad_count = 1,
                                .bad = {{.lane = 3,
                                         .fruit = 4711,
                                         .verdict = "partial",
                                         .over_budget = true,
                                         .latency_ms = 123}}};
    for (int i = 0; i < CRN_STATE_EDGES; i++)
        status.edges_ms[i] = i < 9 ? 10 * (i + 1) : 100 * (i - 8);
    status.counts[0] = 1000;
    status.counts[10] = 7;
    for (int i = 0; i < status.lane_count; i++)
        status.lanes[i] = (crn_state_lane){.number = i, .p99_ms = 5};
    status.lanes[1].state = CRN_LANE_SILENT;
    status.lanes[1].last_view_s = status.now_s - 9;
    status.lanes[2].state = CRN_LANE_DEGRADED;
    strcpy(status.lanes[2].causes, "3 late");
    view = (crn_top_view){.endpoint = "host:9464", .status = &status, .lost_s = -1, .fault = ""};
    return 0;
}

/* The screen as text. */
static char *draw(int rows, int columns)
{
    static char *text;
    size_t size;
    crn_canvas canvas;
    free(text);
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_true(crn_canvas_init(&canvas, rows, columns));
    crn_layout(&view, &canvas);
    crn_canvas_print(&canvas, out);
    crn_canvas_done(&canvas);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void expect(const char *text, const char *wanted)
{
    if (!strstr(text, wanted))
        fail_msg("not '%s' in:\n%s", wanted, text);
}

static void essentials_fit_80_by_24(void **state)
{
    (void)state;
    const char *text = draw(24, 80);
    expect(text, "✓ NOTHING OUT OF THE ORDINARY  within the budget since ");
    expect(text, " (2 min)");
    expect(text, "fruits/s     123456  ");
    expect(text, "99 % ms        88.8 ");
    expect(text, "complete 4000000000 ");
    expect(text, "slots     4000/4096");
    expect(text, "── budget 100 ms ──");
    expect(text, "▲   2 degraded 3 late");
    expect(text, "○   1 SILENT   no view for 9 s");
    expect(text, "lanes  1 to ");
    expect(text, " 3/4711 partial over 123 ms");
    expect(text, "waiting      █");
    expect(text, "recording off  log off");
    expect(text, "q quit  ? help\n");
    expect(text, "cernita-top  host:9464  line.yaml  openmp");
    strcpy(status.lot, "Hof 7");
    expect(draw(24, 80), "cernita-top  host:9464  lot Hof 7  line.yaml  openmp, 2 workers\n");
}

/* Fruits of the ranges that have no row stand in the first one. */
static void no_fruit_is_missing_in_the_histogram(void **state)
{
    (void)state;
    for (int rows = 20; rows <= 60; rows++) {
        const char *text = draw(rows, 100);
        expect(text, " 1000 ");
        expect(text, " 7");
    }
}

static void all_lanes_can_be_seen(void **state)
{
    (void)state;
    expect(draw(24, 80), "lanes  1 to 6 of 40 (arrow keys)");
    expect(draw(24, 80), "\n○   1 SILENT   no view for 9 s");
    view.first_lane = 30;
    expect(draw(24, 80), "●  30 good ");
    view.first_lane = 1000;
    expect(draw(24, 80), "●  39 good ");
    expect(draw(60, 200), "●  39 good ");
}

static void hold(int index, crn_state_level severity, const char *what, const char *action)
{
    crn_state_condition *one = &status.conditions[index];
    one->severity = severity;
    snprintf(one->what, sizeof one->what, "%s", what);
    snprintf(one->action, sizeof one->action, "%s", action);
    status.condition_count = index + 1;
    status.level = status.conditions[0].severity;
}

static void states_have_their_words(void **state)
{
    (void)state;
    status.budget_kept = false;
    status.missed = 3;
    expect(draw(24, 80),
           "ORDINARY\n  3 of 1200 fruits of the last two minutes missed the budget\n");
    status.level = CRN_LEVEL_NONE;
    strcpy(status.state, "ready");
    expect(draw(24, 80), "READY, NO VIEW HAS ARRIVED YET");
    strcpy(status.state, "starting");
    expect(draw(24, 80), "STARTING");
    strcpy(status.state, "stopping");
    expect(draw(24, 80), "STOPPING");
    status.healthy = false;
    expect(draw(24, 80), "✕ THE LINE DOES NOT ANSWER");
    hold(0, CRN_LEVEL_CRITICAL, "The line hangs", "Start it again.");
    expect(draw(24, 80), "✕ The line hangs.  Start it again.");
    view.lost_s = 61;
    view.fault = "the network is down";
    expect(draw(24, 80), "✕ NO CONNECTION  for 61 s: the network is down; what follows is old\n");
    view.status = NULL;
    view.lost_s = -1;
    expect(draw(24, 80), "… CONNECTING");
    view.help = true;
    expect(draw(24, 80), "q           quit");
}

static void add_outlets(int count)
{
    status.outlet_count = count;
    for (int i = 0; i < count; i++) {
        snprintf(status.outlets[i].name, sizeof status.outlets[i].name, "outlet%d", i);
        status.outlets[i].per_minute = i == 0 ? 300 : 100;
    }
}

static void outlets_have_their_fruits_and_shares(void **state)
{
    (void)state;
    assert_null(strstr(draw(24, 80), "outlets"));
    add_outlets(2);
    expect(draw(24, 80), "\noutlets, last minute  outlet0 300 75 %  outlet1 100 25 %\n\nlatency");
    status.outlets[0].per_minute = status.outlets[1].per_minute = 0;
    expect(draw(24, 80), "outlet0 0 0 %  outlet1 0 0 %\n");
}

static void the_last_hour_is_told(void **state)
{
    (void)state;
    assert_null(strstr(draw(24, 80), "last hour"));
    status.hour_fruits = 36000;
    status.hour_with_defect = 5400;
    strcpy(status.hour_worst, "fresh hail");
    status.hour_worst_share = 0.1;
    expect(draw(24, 80),
           "\n\nlast hour  36000 fruits, 15.0 % with a defect, 10.0 % with fresh hail\n\nlatency");
    essentials_fit_80_by_24(state);
    add_outlets(2);
    expect(draw(24, 80), "outlet1 100 25 %\nlast hour  36000 fruits");
    status.hour_worst[0] = '\0';
    status.hour_with_defect = 0;
    expect(draw(24, 80), "36000 fruits, 0.00 % with a defect\n");
    status.hour_fruits = NAN; /* of a daemon that does not say it */
    assert_null(strstr(draw(24, 80), "last hour"));
}

/* As many rows as there is room for; the last says how many more there are. */
static void outlets_are_never_cut(void **state)
{
    (void)state;
    add_outlets(4);
    expect(draw(24, 80), "last minute  outlet0 300 50 %  outlet1 100 17 %  outlet2 100 17 %\n"
                         "                      outlet3 100 17 %\n\nlatency");
    expect(draw(23, 80), "outlet1 100 17 %  outlet2 100 17 %  +1\n\nlatency");
    add_outlets(16);
    expect(draw(24, 80), "outlet5 100 6 %  +10\n\nlatency");
    essentials_fit_80_by_24(state);
}

static void alarms_that_nobody_acknowledged_are_told(void **state)
{
    (void)state;
    assert_null(strstr(draw(24, 120), "unacknowledged"));
    status.alarms = 1;
    expect(draw(24, 120), "  1 alarm unacknowledged");
    status.alarms = 12;
    expect(draw(24, 120), "  12 alarms unacknowledged");
    status.alarms = NAN; /* of a daemon that does not know them */
    assert_null(strstr(draw(24, 120), "unacknowledged"));
}

/* What does not fit beside the sentence has the row below it. */
static void what_to_do_is_whole(void **state)
{
    (void)state;
    hold(0, CRN_LEVEL_CRITICAL, "The recipe was lost in a restart: fruit is sorted by other limits",
         "Choose the recipe again.");
    status.alarms = 12;
    expect(draw(24, 80), "other limits.\n  Choose the recipe again.  12 alarms unacknowledged\n");
    hold(1, CRN_LEVEL_CRITICAL, "Lane 1: no pictures", "Check the camera.");
    expect(draw(24, 80),
           "  Choose the recipe again.  12 alarms unacknowledged\n  Lane 1: no pictures. Ch");
    expect(draw(24, 140), "other limits.  Choose the recipe again.  12 alarms unacknowledged\n");
}

static void the_worst_condition_is_the_headline(void **state)
{
    (void)state;
    hold(0, CRN_LEVEL_NOTICE, "A viewer is slow", "Close it.");
    expect(draw(24, 80), "… A viewer is slow.  Close it.");
    hold(0, CRN_LEVEL_WARNING, "The disk is full", "Delete files.");
    expect(draw(24, 80), "! The disk is full.  Delete files.");
    hold(0, CRN_LEVEL_CRITICAL, "Lane 2: no pictures", "Check camera and CNN.");
    for (int i = 1; i < 6; i++)
        hold(i, CRN_LEVEL_WARNING, (const char *[]){"one", "two", "three", "four", "five"}[i - 1],
             "Do.");
    expect(draw(24, 80), "✕ Lane 2: no pictures.  Check camera and CNN.\n  one. Do.\n"
                         "  two. Do.\n  3 more: three. Do.\n");
}

/* No row is wider than the screen, whatever its size; ASCII stays ASCII. */
static void any_size_is_drawn(void **state)
{
    (void)state;
    view.ascii = true;
    hold(0, CRN_LEVEL_WARNING, "", "");
    hold(1, CRN_LEVEL_WARNING, "", "");
    for (int i = 0; i < 2; i++) {
        memset(status.conditions[i].what, 'x', sizeof status.conditions[i].what - 1);
        memset(status.conditions[i].action, 'y', sizeof status.conditions[i].action - 1);
    }
    for (int rows = 1; rows < 70; rows += 3)
        for (int columns = 1; columns < 210; columns += 7) {
            const char *text = draw(rows, columns);
            int used = 0, lines = 0;
            for (; *text; text++) {
                assert_true((unsigned char)*text < 0x80);
                lines += *text == '\n';
                used = *text == '\n' ? 0 : used + 1;
                assert_true(used <= columns);
            }
            assert_true(lines <= rows);
        }
}

static void unknown_numbers_are_dashes(void **state)
{
    (void)state;
    memset(&status, 0, sizeof status);
    strcpy(status.state, "running");
    status.healthy = true;
    status.views_per_s = status.p50_ms = status.complete = status.memory_bytes = NAN;
    status.budget_known = true;
    status.now_s = status.budget_since_s = NAN;
    const char *text = draw(24, 80);
    expect(text, "views/s           - ");
    expect(text, "memory -");
    assert_null(strstr(text, "nan"));
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(essentials_fit_80_by_24), TEST(no_fruit_is_missing_in_the_histogram),
        TEST(all_lanes_can_be_seen),   TEST(outlets_have_their_fruits_and_shares),
        TEST(the_last_hour_is_told),   TEST(outlets_are_never_cut),
        TEST(states_have_their_words), TEST(alarms_that_nobody_acknowledged_are_told),
        TEST(what_to_do_is_whole),     TEST(the_worst_condition_is_the_headline),
        TEST(any_size_is_drawn),       TEST(unknown_numbers_are_dashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

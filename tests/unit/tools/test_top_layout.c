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
    expect(text, "✓ WITHIN THE BUDGET  since ");
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

static void states_have_their_words(void **state)
{
    (void)state;
    status.budget_kept = false;
    status.missed = 3;
    expect(draw(24, 80), "! 3 OF 1200 FRUITS MISSED THE BUDGET  since ");
    status.missed = 12;
    expect(draw(24, 80), "✕ 12 OF 1200 FRUITS MISSED");
    status.undelivered = 4;
    expect(draw(24, 80), "✕ 4 VERDICTS REACHED NO GRADER  in the last two minutes");
    status.undelivered = 0;
    status.budget_kept = true;
    status.graders = 0;
    expect(draw(24, 80), "! WITHIN THE BUDGET  but no grader is connected");
    for (int i = 0; i < status.lane_count; i++)
        status.lanes[i].state = CRN_LANE_SILENT;
    expect(draw(24, 80), "NO FRUITS ARRIVE");
    status.lane_count = 0;
    strcpy(status.state, "ready");
    expect(draw(24, 80), "READY, NO VIEW HAS ARRIVED YET");
    strcpy(status.state, "stopping");
    expect(draw(24, 80), "STOPPING");
    strcpy(status.state, "degraded");
    expect(draw(24, 80), "! DEGRADED: A DEVICE IS LOST");
    status.healthy = false;
    expect(draw(24, 80), "✕ THE LINE DOES NOT ANSWER");
    view.lost_s = 61;
    view.fault = "the network is down";
    expect(draw(24, 80), "✕ NO CONNECTION  for 61 s: the network is down");
    view.status = NULL;
    view.lost_s = -1;
    expect(draw(24, 80), "… CONNECTING");
    view.help = true;
    expect(draw(24, 80), "q           quit");
}

static void partial_fruits_warn(void **state)
{
    (void)state;
    status.recent_partial = 11; /* below 1 % */
    expect(draw(24, 80), "✓ WITHIN THE BUDGET");
    status.recent_partial = 12;
    expect(draw(24, 80), "! 12 OF 1200 FRUITS ARE PARTIAL  views missing or unfinished; see lists");
    status.recent_partial = status.recent_verdicts = 1;
    expect(draw(24, 80), "! 1 OF 1 FRUITS IS PARTIAL  ");
    status.graders = 0; /* worse */
    expect(draw(24, 80), "! WITHIN THE BUDGET  but no grader");
    status.budget_kept = false;
    status.missed = 1;
    expect(draw(24, 80), "✕ 1 OF 1 FRUITS MISSED");
}

static void without_views_it_says_why_they_are_refused(void **state)
{
    (void)state;
    status.refused = 30;
    status.reason_count = 2;
    status.refused_reason = 1;
    strcpy(status.reasons[1], "magic: 20 in the last two minutes");
    expect(draw(24, 80), "✓ WITHIN THE BUDGET"); /* others' views are accepted */
    for (int i = 0; i < status.lane_count; i++)
        status.lanes[i].state = CRN_LANE_SILENT;
    expect(draw(24, 80), "! NO FRUITS ARRIVE, 30 MESSAGES REFUSED  magic: 20 in the last two");
    strcpy(status.state, "ready");
    status.refused = 1;
    expect(draw(24, 80), "! NO VIEW ACCEPTED YET, 1 MESSAGE REFUSED  magic: 20 in");
}

static void reasons_say_how_many_more_there_are(void **state)
{
    (void)state;
    status.reason_count = 5;
    for (int i = 0; i < 5; i++)
        snprintf(status.reasons[i], sizeof status.reasons[i], "reason %d", i);
    expect(draw(24, 80), "\n  reason 0\n  reason 1\n  3 more: reason 2\n");
}

/* No row is wider than the screen, whatever its size; ASCII stays ASCII. */
static void any_size_is_drawn(void **state)
{
    (void)state;
    view.ascii = true;
    status.reason_count = 1;
    memset(status.reasons[0], 'x', sizeof status.reasons[0] - 1);
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
        TEST(essentials_fit_80_by_24),
        TEST(no_fruit_is_missing_in_the_histogram),
        TEST(all_lanes_can_be_seen),
        TEST(states_have_their_words),
        TEST(partial_fruits_warn),
        TEST(without_views_it_says_why_they_are_refused),
        TEST(reasons_say_how_many_more_there_are),
        TEST(any_size_is_drawn),
        TEST(unknown_numbers_are_dashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

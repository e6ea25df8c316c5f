/* The table of latencies, the sequence check, the verdict lines (tools/tail/latency.h,
 * sequence_check.h, verdict_text.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/cmocka_prelude.h"
#include "tools/common/verdicts/sequence_check.h"
#include "tools/tail/latency.h"
#include "tools/tail/verdict_text.h"

static crn_decoded make_verdict(double total_ms, double ranklet_ms)
{
    crn_decoded verdict = {
        .run = "a",
        .fruit = 17,
        .kind = CRN_VERDICT_COMPLETE,
        .published_ns = 3600u * UINT64_C(1000000000) + 23456789,
        .views_expected = 4,
        .views_received = 4,
        .views_judged = 4,
        .budget_ms = 100,
        .total_ms = total_ms,
        .time_count = 2,
        .times = {{"total", total_ms}, {"ranklet", ranklet_ms}},
        .total_count = 3,
        .totals = {{.name = "rot", .count = 2, .area_px = 143.4},
                   {.name = "rust"},
                   {.name = "stem", .count = 1, .area_px = 55}},
    };
    return verdict;
}

static void percentiles_are_nearest_ranks(void **state)
{
    (void)state;
    crn_latency *latency = NULL;
    assert_int_equal(crn_latency_create(&latency), 0);
    for (int i = 0; i < 200; i++) { /* 1 to 200, shuffled: 73 and 200 are coprime */
        crn_decoded verdict = make_verdict(1 + i * 73 % 200, 0.5);
        assert_int_equal(crn_latency_add(latency, &verdict), 0);
    }
    crn_latency_row row;
    assert_true(crn_latency_get(latency, 0, &row));
    assert_string_equal(row.name, "total");
    assert_int_equal(row.count, 200);
    assert_true(row.p50 == 100 && row.p99 == 198 && row.max == 200);
    assert_true(crn_latency_get(latency, 1, &row));
    assert_true(row.p50 == 0.5 && row.max == 0.5);
    assert_false(crn_latency_get(latency, 2, &row));
    crn_latency_free(&latency);
    assert_null(latency);
}

static void only_the_last_ones_make_percentiles(void **state)
{
    (void)state;
    crn_latency *latency = NULL;
    assert_int_equal(crn_latency_create(&latency), 0);
    crn_decoded verdict = make_verdict(900, 900);
    for (int i = 0; i < CRN_LATENCY_KEPT / 50; i++)
        assert_int_equal(crn_latency_add(latency, &verdict), 0);
    verdict = make_verdict(5, 5);
    for (int i = 0; i < CRN_LATENCY_KEPT; i++)
        assert_int_equal(crn_latency_add(latency, &verdict), 0);
    crn_latency_row row;
    assert_true(crn_latency_get(latency, 0, &row));
    assert_int_equal(row.count, CRN_LATENCY_KEPT + CRN_LATENCY_KEPT / 50);
    assert_true(row.p50 == 5 && row.p99 == 5 && row.max == 900);
    crn_latency_free(&latency);
}

static void a_stage_that_never_ran_counts_nowhere(void **state)
{
    (void)state;
    crn_latency *latency = NULL;
    assert_int_equal(crn_latency_create(&latency), 0);
    crn_decoded verdict = make_verdict(10, 4);
    crn_latency_add(latency, &verdict);
    verdict = make_verdict(10, 0); /* ran, in 0 ms */
    crn_latency_add(latency, &verdict);
    verdict.skipped_count = 1;
    strcpy(verdict.skipped[0], "ranklet");
    crn_latency_add(latency, &verdict);
    verdict.skipped_count = 0;
    verdict.kind = CRN_VERDICT_LATE;
    verdict.views_judged = 0;
    crn_latency_add(latency, &verdict);
    crn_latency_row row;
    assert_true(crn_latency_get(latency, 0, &row));
    assert_int_equal(row.count, 4);
    assert_true(crn_latency_get(latency, 1, &row));
    assert_int_equal(row.count, 2);
    crn_latency_free(&latency);
}

static char *print_table(crn_latency *latency, crn_sequence_check_stats sequences)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    crn_latency_print(latency, &sequences, out);
    fclose(out);
    return text;
}

static void the_table_says_what_was_lost(void **state)
{
    (void)state;
    crn_latency *latency = NULL;
    assert_int_equal(crn_latency_create(&latency), 0);
    char *text = print_table(latency, (crn_sequence_check_stats){0});
    assert_string_equal(text, "no verdict came\n");
    free(text);
    crn_decoded verdict = make_verdict(25, 4);
    crn_latency_add(latency, &verdict);
    verdict = make_verdict(150, 8);
    verdict.kind = CRN_VERDICT_PARTIAL;
    verdict.stale = verdict.truncated = true;
    crn_latency_add(latency, &verdict);
    text = print_table(latency, (crn_sequence_check_stats){.lanes = 2, .runs = 1});
    assert_string_equal(text,
                        "  latency, ms          p50       p99       max p99/budget\n"
                        "  ranklet             4.00      8.00      8.00      8.0 %\n"
                        "  total              25.00    150.00    150.00    150.0 %  of 100 ms\n"
                        "verdicts: 2 (1 complete, 1 partial, 0 late), 1 over budget, 1 stale, "
                        "1 truncated\n"
                        "sequences: every one was there (2 lanes)\n");
    free(text);
    text = print_table(latency,
                       (crn_sequence_check_stats){.lanes = 1, .runs = 2, .lost = 1, .old = 3});
    assert_non_null(strstr(text, "sequences: 1 verdict lost, 3 again or out of order "
                                 "(1 lane, 2 runs of the daemon)\n"));
    free(text);
    crn_latency_free(&latency);
}

static void gaps_are_told_once_and_per_lane(void **state)
{
    (void)state;
    crn_sequence_check *follow = NULL;
    uint64_t first = 99;
    assert_int_equal(crn_sequence_check_create(&follow), 0);
    assert_false(crn_sequence_check_run(follow, "a"));
    assert_int_equal(crn_sequence_check_verdict(follow, 3, 16, &first), CRN_FOLLOWED_FIRST);
    assert_int_equal(crn_sequence_check_verdict(follow, 0, 5, &first), CRN_FOLLOWED_FIRST);
    assert_int_equal(first, 99);
    assert_int_equal(crn_sequence_check_verdict(follow, 3, 19, &first), CRN_FOLLOWED_GAP);
    assert_int_equal(first, 17);
    assert_int_equal(crn_sequence_check_verdict(follow, 3, 20, &first), CRN_FOLLOWED_NEXT);
    assert_int_equal(crn_sequence_check_verdict(follow, 3, 20, &first), CRN_FOLLOWED_OLD);
    assert_int_equal(crn_sequence_check_verdict(follow, 0, 6, &first), CRN_FOLLOWED_NEXT);

    assert_false(crn_sequence_check_last(follow, 3, 20, &first));
    assert_true(crn_sequence_check_last(follow, 3, 22, &first));
    assert_int_equal(first, 21);
    assert_false(crn_sequence_check_last(follow, 3, 22, &first));
    assert_false(crn_sequence_check_last(follow, 8, 22, &first)); /* a lane without any verdict */
    assert_int_equal(crn_sequence_check_verdict(follow, 3, 23, &first), CRN_FOLLOWED_NEXT);

    const crn_sequence_check_stats *stats = crn_sequence_check_get_stats(follow);
    assert_int_equal(stats->lost, 4);
    assert_int_equal(stats->old, 1);
    assert_int_equal(stats->lanes, 2);
    crn_sequence_check_free(&follow);
}

static void a_new_run_begins_every_lane_anew(void **state)
{
    (void)state;
    crn_sequence_check *follow = NULL;
    uint64_t first = 0;
    assert_int_equal(crn_sequence_check_create(&follow), 0);
    for (uint64_t lane = 0; lane < 40; lane++) /* more than the initial capacity */
        assert_int_equal(crn_sequence_check_verdict(follow, lane, 100, &first), CRN_FOLLOWED_FIRST);
    assert_false(crn_sequence_check_run(follow, "a"));
    assert_false(crn_sequence_check_run(follow, "a"));
    assert_true(crn_sequence_check_run(follow, "b"));
    assert_false(crn_sequence_check_last(follow, 2, 500, &first));
    for (uint64_t lane = 0; lane < 40; lane++)
        assert_int_equal(crn_sequence_check_verdict(follow, lane, 0, &first), CRN_FOLLOWED_FIRST);
    assert_int_equal(crn_sequence_check_get_stats(follow)->lost, 0);
    assert_int_equal(crn_sequence_check_get_stats(follow)->lanes, 40);
    crn_sequence_check_free(&follow);
}

static void gaps_are_named(void **state)
{
    (void)state;
    char text[128];
    crn_sequence_check_name_gap(17, 17, text, sizeof text);
    assert_string_equal(text, "17");
    crn_sequence_check_name_gap(17, 20, text, sizeof text);
    assert_string_equal(text, "17, 18, 19, 20");
    crn_sequence_check_name_gap(17, 21, text, sizeof text);
    assert_string_equal(text, "17 to 21");
    crn_sequence_check_name_gap(0, UINT64_MAX, text, sizeof text);
    assert_string_equal(text, "0 to 18446744073709551615");
}

static void a_measured_fruit_is_told_in_millimetres(void **state)
{
    (void)state;
    setenv("TZ", "UTC", 1);
    tzset();
    char line[CRN_LINE_BYTES];
    crn_decoded verdict = make_verdict(12.34, 4);
    verdict.surface = (crn_decoded_surface){
        .is_measured = true, .diameter_mm = 62.14, .coverage = 0.957, .measure_count = 2};
    verdict.surface.measures[0] = (crn_decoded_measure){"rot", 1, 63.4, 63.4, 9};
    verdict.surface.measures[1] = (crn_decoded_measure){.name = "stem"};
    crn_verdict_text(&verdict, false, line);
    assert_non_null(strstr(line, "100 ms  rot 1 (63.4 mm2)  62.1 mm, 96 % seen"));
    verdict.surface.measure_count = 1;
    verdict.surface.measures[0].count = 0;
    crn_verdict_text(&verdict, false, line);
    assert_non_null(strstr(line, "100 ms  no defects  62.1 mm, 96 % seen"));
}

static void a_verdict_is_one_aligned_line(void **state)
{
    (void)state;
    setenv("TZ", "UTC", 1);
    tzset();
    char line[CRN_LINE_BYTES];
    crn_decoded verdict = make_verdict(12.34, 4);
    crn_verdict_text(&verdict, false, line);
    assert_string_equal(line,
                        "01:00:00.023  lane 0   fruit     17  complete  views 4/4     12.3 of "
                        "100 ms  rot 2 (143 px), stem 1 (55 px)");
    verdict.kind = CRN_VERDICT_LATE;
    verdict.total_count = 0;
    verdict.stale = verdict.truncated = true;
    verdict.skipped_count = 2;
    strcpy(verdict.skipped[0], "haar");
    strcpy(verdict.skipped[1], "ranklet");
    strcpy(verdict.lot, "Hof 7");
    verdict.views_expected = 0;
    verdict.views_judged = 0;
    verdict.published_ns = 0;
    verdict.total_ms = verdict.budget_ms = NAN;
    crn_verdict_text(&verdict, true, line);
    assert_string_equal(
        line, "    --:--:--  lane 0   fruit     17  \033[31mlate    \033[0m  views "
              "0/4        - ms  nothing was ready  [4 received]  [skipped haar, ranklet]  "
              "[lot Hof 7]  [truncated]  [stale]");
}

static void a_line_too_long_is_cut(void **state)
{
    (void)state;
    char line[CRN_LINE_BYTES];
    crn_decoded verdict = make_verdict(12.34, 4);
    verdict.total_count = CRN_CLASSES_MAX;
    for (int i = 0; i < CRN_CLASSES_MAX; i++)
        verdict.totals[i] = (crn_decoded_total){
            .name = "a class with a name of some length", .count = 1000, .area_px = 1e9};
    crn_verdict_text(&verdict, false, line);
    assert_int_equal(strlen(line), CRN_LINE_BYTES - 1);
}

/* Adds `count` numbered lines and returns what a flush printed (owned by the caller). */
static char *fill_screen(bool terminal, int count)
{
    static crn_screen screen;
    char *text = NULL;
    size_t length;
    screen = (crn_screen){.out = open_memstream(&text, &length), .terminal = terminal};
    for (int i = 0; i < count; i++)
        crn_screen_add(&screen, "%d", i);
    crn_screen_flush(&screen);
    fclose(screen.out);
    return text;
}

static int count_lines(const char *text)
{
    int lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

static void a_slow_terminal_gets_the_latest_lines(void **state)
{
    (void)state;
    char *text = fill_screen(true, CRN_SCREEN_LINES);
    assert_int_equal(count_lines(text), CRN_SCREEN_LINES);
    free(text);
    text = fill_screen(true, CRN_SCREEN_LINES + 10);
    static const char head[] =
        "\r\033[K(10 lines not shown: more than a terminal can follow)\n\r\033[K10\n\r\033[K11\n";
    assert_int_equal(strncmp(text, head, strlen(head)), 0);
    assert_int_equal(count_lines(text), CRN_SCREEN_LINES + 1);
    free(text);
    text = fill_screen(false, 3 * CRN_SCREEN_LINES + 10); /* a file gets them all */
    assert_int_equal(count_lines(text), 3 * CRN_SCREEN_LINES + 10);
    assert_int_equal(strncmp(text, "0\n1\n", 4), 0);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_are_nearest_ranks),
        cmocka_unit_test(only_the_last_ones_make_percentiles),
        cmocka_unit_test(a_stage_that_never_ran_counts_nowhere),
        cmocka_unit_test(the_table_says_what_was_lost),
        cmocka_unit_test(gaps_are_told_once_and_per_lane),
        cmocka_unit_test(a_new_run_begins_every_lane_anew),
        cmocka_unit_test(gaps_are_named),
        cmocka_unit_test(a_measured_fruit_is_told_in_millimetres),
        cmocka_unit_test(a_verdict_is_one_aligned_line),
        cmocka_unit_test(a_line_too_long_is_cut),
        cmocka_unit_test(a_slow_terminal_gets_the_latest_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

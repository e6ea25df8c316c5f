/* From verdicts to the cause (tools/why/cause/diagnosis.h) and to what went on meanwhile
 * (tools/why/cause/surroundings.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tools/why/selection.h"
#include "tools/why/output/sentence.h"

#define AT (UINT64_C(1763672705) * 1000000000) /* when fruits are published, unless told */

static uint64_t in_ms(double ms)
{
    return AT + (uint64_t)(int64_t)(ms * 1e6);
}

/* A fruit of lane 1 whose latency is all but used up; its views are added below. */
static crn_decoded *make(uint64_t fruit, crn_verdict_kind kind, double assembly_ms)
{
    crn_decoded *verdict = calloc(1, sizeof *verdict);
    assert_non_null(verdict);
    strcpy(verdict->run, "a");
    strcpy(verdict->closed_by, "views");
    verdict->lane = 1;
    verdict->fruit = verdict->sequence = fruit;
    verdict->kind = kind;
    verdict->published_ns = AT;
    verdict->total_ms = 98;
    verdict->budget_ms = 100;
    verdict->deadline_ns = in_ms(2);
    verdict->assembly_ms = assembly_ms;
    strcpy(verdict->times[0].name, "queue");
    strcpy(verdict->times[1].name, "contours");
    strcpy(verdict->times[2].name, "total");
    verdict->times[2].ms = 98;
    verdict->time_count = 3;
    return verdict;
}

static void add(crn_decoded *verdict, const char *state, const char *reason, double received_ms,
                double queue_ms, double run_ms)
{
    crn_decoded_view *view = &verdict->views[verdict->view_count];
    *view = (crn_decoded_view){.view = verdict->view_count++,
                               .received_ms = received_ms,
                               .queue_ms = queue_ms,
                               .run_ms = run_ms};
    strcpy(view->state, state);
    strcpy(view->reason, reason);
    verdict->views_expected++;
    verdict->views_received += isfinite(received_ms);
    verdict->views_judged += !strcmp(state, "judged");
}

/* Asserts the sentence on the first of these verdicts, of one log. Frees them. */
static void expect(crn_decoded **verdicts, uint32_t count, const char *sentence)
{
    crn_selection *selection;
    char text[CRN_SENTENCE_BYTES];
    crn_choice choice = {.fruit = true, .lane = 1, .number = verdicts[0]->fruit, .count = 1};
    crn_decoded *first = verdicts[0];
    crn_decoded *copy = malloc(sizeof *copy);
    *copy = *first;
    assert_int_equal(crn_selection_create(&choice, &selection), 0);
    assert_int_equal(crn_selection_offer(selection, &copy), 0);
    assert_null(copy);
    crn_selection_diagnose(selection);
    for (uint32_t i = 0; i < count; i++) {
        crn_selection_surround(selection, verdicts[i]);
        crn_decoded_free(&verdicts[i]);
    }
    crn_sentence(&selection->items[0]->diagnosis, text);
    assert_string_equal(text, sentence);
    crn_selection_free(&selection);
}

static void expect_alone(crn_decoded *verdict, const char *sentence)
{
    expect(&verdict, 1, sentence);
}

/* --- what went on meanwhile --- */

/* The view without a slot arrived 50 ms before the verdict. */
static crn_decoded *without_slot(void)
{
    crn_decoded *verdict = make(7, CRN_VERDICT_PARTIAL, 48);
    add(verdict, "judged", "", 0, 96, 50);
    add(verdict, "lost", "no_slot", 96, 0, NAN);
    return verdict;
}

static crn_decoded *neighbour(uint64_t fruit, double received_ms, double queue_ms, double run_ms)
{
    crn_decoded *verdict = make(fruit, CRN_VERDICT_COMPLETE, 48);
    add(verdict, "judged", "", received_ms, queue_ms, run_ms);
    return verdict;
}

static void who_waits_and_runs_at_the_moment_counts(void **state)
{
    (void)state;
    crn_decoded *verdicts[] = {
        without_slot(),
        neighbour(8, 96, 10, 1),    /* waits from that moment on */
        neighbour(9, 90, 6, 2),     /* waits until then */
        neighbour(4711, 0, 60, 61), /* runs */
        neighbour(10, 40, 20, 36),  /* ran until then */
        neighbour(11, 97, 10, 1),   /* comes later */
        neighbour(12, 96, 1, 40),   /* of another run of the daemon */
        neighbour(13, 50, 40, 500), /* long before */
    };
    strcpy(verdicts[6]->run, "b");
    verdicts[7]->published_ns = in_ms(-1000);
    /* Its own view 0 begins to run then, for 50 ms. */
    expect(
        verdicts, 8,
        "partial: no free slot for view 1; 1 view was waiting, one of the workers spent 61 ms on "
        "fruit 4711");
}

static void a_crowd_at_another_time_does_not(void **state)
{
    (void)state;
    crn_decoded *verdicts[] = {without_slot(), neighbour(8, 0, 10, 1), neighbour(9, 120, 6, 2)};
    expect(verdicts, 3, "partial: no free slot for view 1; the worker spent 50 ms on its view 0");
}

static void a_slot_that_was_taken_away_is_told_apart(void **state)
{
    (void)state;
    crn_decoded *verdict = make(7, CRN_VERDICT_LATE, 0);
    add(verdict, "lost", "no_slot", 0, 40, NAN);
    expect_alone(verdict, "late: view 0 lost its slot to views of higher priority after waiting 40 "
                          "ms; the log shows no other view at that time (limits.slots, "
                          "run.workers)");
}

static void a_long_wait_is_explained_by_who_ran(void **state)
{
    (void)state;
    crn_decoded *waited = make(7, CRN_VERDICT_PARTIAL, 0);
    add(waited, "lost", "unfinished", 0, 70, 28);
    crn_decoded *verdicts[] = {waited, neighbour(8, 0, 40, 75)};
    verdicts[1]->published_ns = in_ms(20);
    expect(
        verdicts, 2,
        "partial: view 0 waited 70 ms for a worker and had run for 28 ms, when its time was up; 1 "
        "view was waiting, the worker spent 75 ms on fruit 8");
}

static void a_long_run_is_compared_with_others(void **state)
{
    (void)state;
    crn_decoded *ran = make(7, CRN_VERDICT_LATE, 0);
    add(ran, "lost", "unfinished", 0, 2, 96);
    crn_decoded *verdicts[] = {ran, neighbour(8, 0, 1, 10), neighbour(9, 0, 1, 20),
                               neighbour(10, 0, 1, 900)};
    verdicts[1]->published_ns = in_ms(-900);
    verdicts[2]->published_ns = in_ms(900);
    verdicts[3]->published_ns = in_ms(2500);
    expect(
        verdicts, 4,
        "late: view 0 had run for 96 ms, after waiting 2 ms, when its time was up; 2 other views "
        "around that time ran for 15 ms on average");
}

/* --- little time --- */

static void fruits_open_when_one_was_forced(void **state)
{
    (void)state;
    crn_decoded *forced = make(7, CRN_VERDICT_PARTIAL, 30);
    strcpy(forced->closed_by, "open_fruits");
    forced->total_ms = 0;
    forced->deadline_ns = in_ms(100);
    add(forced, "judged", "", 0, 1, 2);
    add(forced, "missing", "", NAN, NAN, NAN);
    crn_decoded *verdicts[] = {forced, neighbour(8, 0, 1, 1), neighbour(9, 0, 1, 1),
                               neighbour(10, 0, 1, 1)};
    add(verdicts[1], "missing", "", NAN, NAN, NAN);
    verdicts[1]->published_ns = verdicts[2]->published_ns = in_ms(50);
    verdicts[3]->published_ns = in_ms(-1);
    expect(
        verdicts, 4,
        "partial: it was judged early, 30 ms after its first view, because limits.open_fruits was "
        "reached (2 other fruits were open, of which 1 lacked views): raise it, or see why views "
        "do not come; also view 1 missing");
}

/* A fruit of two views, the second of them `gap_ms` after the first, and its deadline `left_ms`
 * after that. */
static crn_decoded *late_arrival(double gap_ms, double left_ms)
{
    crn_decoded *verdict = make(7, CRN_VERDICT_LATE, gap_ms);
    verdict->total_ms = 0;
    verdict->deadline_ns = in_ms(left_ms);
    add(verdict, "lost", "unfinished", 0, 1, gap_ms - 1);
    add(verdict, "lost", "discarded", gap_ms, 0, NAN);
    return verdict;
}

static void a_late_arrival_is_told_from_an_early_deadline(void **state)
{
    (void)state;
    expect_alone(late_arrival(212, 2),
                 "late: view 1 arrived 212 ms after view 0 (CNN or camera), which left 2 of 100 ms "
                 "until its deadline; also view 0 unfinished, view 1 discarded");
    crn_decoded *verdict = late_arrival(212, 2);
    verdict->views[0].captured_ns = in_ms(-300);
    verdict->views[1].captured_ns = in_ms(-270);
    expect_alone(verdict,
                 "late: view 1 arrived 212 ms after view 0 (the CNN, or the way from it: "
                 "exposed 30 ms after it), which left 2 of 100 ms until its deadline; also "
                 "view 0 unfinished, view 1 discarded");
    /* Without the gap there would still have been little time. */
    expect_alone(
        late_arrival(50, 2),
        "late: the deadline in a view's header left 2 of the budget's 100 ms (the sender's "
        "deadline_ns, or clocks that disagree); also view 0 unfinished, view 1 discarded");
    expect_alone(
        late_arrival(50, -4),
        "late: the deadline in a view's header had passed 4 ms before the fruit closed (the "
        "sender's deadline_ns, or clocks that disagree); also view 0 unfinished, view 1 "
        "discarded");
    /* There was time enough. */
    expect_alone(late_arrival(212, 90),
                 "late: view 0 had run for 211 ms, after waiting 1 ms, when its time was up (the "
                 "deadline in a header left 90 of 100 ms) (latency.budget_ms, run.workers, or a "
                 "lighter chain); also view 1 discarded");
}

static void a_view_long_after_the_close_is_a_late_arrival(void **state)
{
    (void)state;
    crn_decoded *verdict = make(7, CRN_VERDICT_PARTIAL, 400);
    strcpy(verdict->closed_by, "time");
    add(verdict, "judged", "", 0, 1, 2);
    add(verdict, "lost", "unfinished", 480, 1, 17);
    expect_alone(verdict,
                 "partial: view 1 arrived 480 ms after view 0 (CNN or camera), which left 20 "
                 "of 100 ms until its deadline; also view 1 unfinished");
}

static void a_verdict_past_a_headers_deadline(void **state)
{
    (void)state;
    crn_decoded *verdict = make(7, CRN_VERDICT_COMPLETE, 0);
    verdict->stale = true;
    verdict->total_ms = 30;
    verdict->deadline_ns = in_ms(-10);
    add(verdict, "judged", "", 0, 1, 28);
    assert_true(crn_is_over_budget(verdict));
    expect_alone(verdict,
                 "past its deadline: the deadline in a view's header left 20 of the budget's "
                 "100 ms (the sender's deadline_ns, or clocks that disagree)");
    verdict = make(7, CRN_VERDICT_COMPLETE, 0);
    verdict->stale = true;
    verdict->total_ms = 30;
    verdict->deadline_ns = in_ms(-10);
    add(verdict, "judged", "", 0, 1, 28);
    verdict->views[0].captured_ns = in_ms(-150);
    expect_alone(verdict, "past its deadline: view 0 arrived 120 ms after its exposure (CNN, or "
                          "clocks that disagree), which left 20 of 100 ms until its deadline");
}

static void a_stop_explains_what_it_cut_off(void **state)
{
    (void)state;
    crn_decoded *verdict = make(7, CRN_VERDICT_PARTIAL, 12);
    strcpy(verdict->closed_by, "stop");
    add(verdict, "judged", "", 0, 1, 2);
    add(verdict, "missing", "", NAN, NAN, NAN);
    expect_alone(verdict, "partial: the daemon was stopped, which closed the fruit 12 ms after its "
                          "first view; also view 1 missing");
    verdict = make(7, CRN_VERDICT_COMPLETE, 12);
    strcpy(verdict->closed_by, "stop");
    add(verdict, "judged", "", 0, 1, 2);
    verdict->times[1].ms = 90;
    expect_alone(verdict, "complete: 98 of 100 ms, most of it the contours step (90 ms)");
}

/* --- time enough --- */

static void the_largest_part_is_named(void **state)
{
    (void)state;
    crn_decoded *verdict = make(7, CRN_VERDICT_COMPLETE, 0);
    add(verdict, "judged", "", 0, 3, 95);
    verdict->times[0].ms = 3;
    verdict->times[1].ms = 20;
    expect_alone(verdict, "complete: 98 of 100 ms, most of it waiting between its steps (75 ms)");
    verdict = make(7, CRN_VERDICT_COMPLETE, 0);
    add(verdict, "judged", "", 0, 70, 20);
    verdict->times[0].ms = 70;
    verdict->times[1].ms = 20;
    expect_alone(verdict,
                 "complete: 98 of 100 ms, most of it waiting for a worker (70 ms); the log "
                 "shows no other view at that time: did another process have the cores?");
}

static void the_line_itself_may_be_late(void **state)
{
    (void)state;
    crn_decoded *verdict = make(7, CRN_VERDICT_COMPLETE, 0);
    verdict->total_ms = verdict->times[2].ms = 140;
    add(verdict, "judged", "", 0, 1, 9);
    verdict->times[1].ms = 9;
    crn_decoded *verdicts[] = {verdict, neighbour(8, 0, 1, 1), neighbour(9, 0, 1, 1)};
    verdicts[1]->published_ns = in_ms(-1);
    verdicts[2]->published_ns = in_ms(-131);
    expect(
        verdicts, 3,
        "over budget: 130 of 100 ms passed between the end of its last view and its verdict, and "
        "1 other verdict left meanwhile: the line's thread waited (another process on its "
        "core, or a stopped machine)");
}

static void a_view_of_any_index_is_survived(void **state)
{
    (void)state;
    crn_decoded *verdict = make(7, CRN_VERDICT_LATE, 0);
    add(verdict, "lost", "failed", 0, 1, 1);
    verdict->views[0].view = UINT64_MAX;
    expect_alone(verdict, "late: the verdict does not say why");
}

static void a_fruit_that_was_not_measured_is_explained(void **state)
{
    (void)state;
    crn_decoded *verdict = make(7, CRN_VERDICT_PARTIAL, 300);
    add(verdict, "judged", "", 300, 10, 20);
    strcpy(verdict->skipped[verdict->skipped_count++], "surface");
    expect_alone(verdict,
                 "partial: the fruit was not measured (surface), because its deadline came "
                 "first, or less time was left than that recently took");
    /* Its last view came late: that explains it. */
    verdict = make(7, CRN_VERDICT_PARTIAL, 300);
    add(verdict, "judged", "", 0, 10, 20);
    add(verdict, "judged", "", 390, 0, 5);
    strcpy(verdict->skipped[verdict->skipped_count++], "surface");
    expect_alone(verdict,
                 "partial: view 1 arrived 390 ms after view 0 (CNN or camera), which left 10 "
                 "of 100 ms until its deadline");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_and_runs_at_the_moment_counts),
        cmocka_unit_test(a_crowd_at_another_time_does_not),
        cmocka_unit_test(a_slot_that_was_taken_away_is_told_apart),
        cmocka_unit_test(a_long_wait_is_explained_by_who_ran),
        cmocka_unit_test(a_long_run_is_compared_with_others),
        cmocka_unit_test(fruits_open_when_one_was_forced),
        cmocka_unit_test(a_late_arrival_is_told_from_an_early_deadline),
        cmocka_unit_test(a_view_long_after_the_close_is_a_late_arrival),
        cmocka_unit_test(a_verdict_past_a_headers_deadline),
        cmocka_unit_test(a_stop_explains_what_it_cut_off),
        cmocka_unit_test(the_largest_part_is_named),
        cmocka_unit_test(the_line_itself_may_be_late),
        cmocka_unit_test(a_view_of_any_index_is_survived),
        cmocka_unit_test(a_fruit_that_was_not_measured_is_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Notices that are logged at once: fruits, deadlines, epochs, and a missing grader. */
#include <stdlib.h>
#include <string.h>

#include "src/monitor/log_messages/notice.h"
#include "tests/support/line/log_capture.h"
#include "tests/support/cmocka_prelude.h"

#define VIEWS 6

static crn_notices notices;
static crn_lanes *lanes;

static int set_up(void **state)
{
    (void)state;
    notices = (crn_notices){.returned_ns = 0};
    return crn_lanes_create(1, &lanes);
}

static int tear_down(void **state)
{
    (void)state;
    crn_lanes_free(&lanes);
    return 0;
}

static void notice_fruit(crn_log_capture *caught, const crn_fruit_view *views, uint16_t expected,
                         int64_t now_ns)
{
    crn_fruit fruit = {.lane = crn_lanes_find(lanes, 3), .fruit = 17, .expected = expected};
    fruit.views = views;
    for (int v = 0; v < VIEWS; v++) {
        fruit.received += views[v].state != CRN_VIEW_ABSENT && views[v].state != CRN_VIEW_REFUSED;
        fruit.judged += views[v].state == CRN_VIEW_JUDGED;
    }
    crn_log_capture_start(caught);
    crn_notice_fruit(&notices, &fruit, VIEWS, now_ns);
    crn_log_capture_stop(caught);
}

/* Expects the log to be a single line with this end. */
static void expect_line(const crn_log_capture *caught, const char *wanted)
{
    const char *found = strstr(caught->text, wanted);
    if (!found || strcmp(found + strlen(wanted), "\n") != 0 || strchr(caught->text, '\n')[1])
        fail_msg("no line that ends in '%s', but: %s", wanted, caught->text);
}

static void a_complete_fruit_is_no_news(void **state)
{
    (void)state;
    static const crn_fruit_view views[VIEWS] = {{.state = CRN_VIEW_JUDGED}};
    crn_log_capture caught;
    notice_fruit(&caught, views, 1, 0);
    assert_string_equal(caught.text, "");
}

static void a_partial_fruit_is_logged_with_every_reason(void **state)
{
    (void)state;
    static const crn_fruit_view views[VIEWS] = {
        {.state = CRN_VIEW_JUDGED},  {.state = CRN_VIEW_LOST, .reason = CRN_REASON_NO_SLOT},
        {.state = CRN_VIEW_ABSENT},  {.state = CRN_VIEW_ABSENT},
        {.state = CRN_VIEW_RUNNING},
    };
    crn_log_capture caught;
    notice_fruit(&caught, views, 5, 0);
    expect_line(&caught,
                "warning lane 3, fruit 17 is partial, with 3 of 5 views received and 1 judged: 1 "
                "no_slot (view 1), 1 unfinished (view 4), 2 missing (first view 2); see whether "
                "the sender sends every view, and within latency.assemble_ms");
}

/* Its own deadline closed it: a longer assemble_ms would change nothing. */
static void a_fruit_that_its_deadline_closed_blames_the_deadline(void **state)
{
    (void)state;
    static const crn_fruit_view views[VIEWS] = {{.state = CRN_VIEW_JUDGED}};
    crn_log_capture caught;
    crn_fruit fruit = {.lane = crn_lanes_find(lanes, 3), .fruit = 17, .expected = 2};
    fruit.views = views;
    fruit.received = fruit.judged = 1;
    fruit.closed_by = CRN_CLOSE_DEADLINE;
    crn_log_capture_start(&caught);
    crn_notice_fruit(&notices, &fruit, VIEWS, 0);
    crn_log_capture_stop(&caught);
    expect_line(&caught,
                "1 missing (view 1); the fruit was closed by the deadline_ns that a view's "
                "header has, not by latency.assemble_ms: let the sender give more time "
                "than its views take, or 0");
}

static void faults_of_judged_views_are_logged(void **state)
{
    (void)state;
    static const struct {
        crn_fruit_view view;
        const char *said;
    } cases[] = {
        {{.state = CRN_VIEW_JUDGED, .values = {.reason = CRN_REASON_NOT_FINITE}},
         "is partial, with 1 views received and 1 judged: 1 not_finite (view 0); the sender's maps "
         "are not probabilities"},
        {{.state = CRN_VIEW_JUDGED, .judgement = {.skipped = 2}},
         "1 with stages skipped (view 0); optional stages are skipped when time is short "
         "(latency.budget_ms)"},
        {{.state = CRN_VIEW_JUDGED, .judgement = {.truncated = true}},
         "1 truncated (view 0); more defects than limits.points or limits.defects allow"},
        {{.state = CRN_VIEW_QUEUED},
         "is late, with 1 views received and 0 judged: 1 discarded (view 0); more views arrive "
         "than this machine can process in time, or other programs take its processor "
         "(latency.budget_ms, run.workers), or the sender's deadline_ns had passed"},
        {{.state = CRN_VIEW_LOST, .reason = CRN_REASON_DEVICE_LOST},
         "is late, with 1 views received and 0 judged: 1 device_lost (view 0)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        crn_fruit_view views[VIEWS] = {cases[i].view};
        crn_log_capture caught;
        notice_fruit(&caught, views, 0, (int64_t)i * CRN_NS_PER_S);
        expect_line(&caught, cases[i].said);
    }
}

static void a_refused_view_is_told_apart_from_a_missing_one(void **state)
{
    (void)state;
    static const crn_fruit_view views[VIEWS] = {
        {.state = CRN_VIEW_JUDGED},
        {.state = CRN_VIEW_REFUSED, .refusal = (crn_refusal)CRN_WIRE_CHANNELS},
        {.state = CRN_VIEW_REFUSED, .refusal = (crn_refusal)CRN_WIRE_CHANNELS},
        {.state = CRN_VIEW_ABSENT},
    };
    crn_log_capture caught;
    notice_fruit(&caught, views, 4, 0);
    expect_line(&caught, "2 refused (first view 1), 1 missing (view 3); the log says of each "
                         "refused message what is wrong with it");
}

static void what_does_not_fit_is_told_with_its_cure(void **state)
{
    (void)state;
    crn_view_header header = {.lane = 4, .fruit = 5, .view = 1, .views = 3};
    crn_log_capture caught;
    crn_log_capture_start(&caught);
    crn_notice_refused_view(&notices, &header, CRN_ARRIVAL_WANTED, 0);
    crn_notice_refused_view(&notices, &header, CRN_ARRIVAL_DUPLICATE, 0);
    crn_log_capture_stop(&caught);
    assert_string_equal(caught.text, "");
    crn_log_capture_start(&caught);
    crn_notice_refused_view(&notices, &header, CRN_ARRIVAL_VIEWS_MISMATCH, 0);
    crn_notice_refused_view(&notices, &header, CRN_ARRIVAL_VIEWS_MISMATCH, 1);
    crn_log_capture_stop(&caught);
    expect_line(&caught, "warning lane 4, fruit 5, view 1: message refused (views_mismatch): its "
                         "views is 3, not what the fruit's first message said; all views of a "
                         "fruit must name the same number");
    crn_log_capture_start(&caught);
    crn_notice_refused_view(&notices, &header, CRN_ARRIVAL_NO_LANE, 0);
    crn_log_capture_stop(&caught);
    expect_line(&caught, "warning lane 4, fruit 5, view 1: message refused (lanes): limits.lanes "
                         "other lanes are in use, none of them silent for limits.lane_idle_s; is "
                         "the lane's number right, or the limit too low? ingest.lanes keeps "
                         "invented ones out");
    crn_log_capture_start(&caught);
    crn_notice_refused_view(&notices, &header, CRN_ARRIVAL_LANE_NOT_LISTED, 0);
    crn_log_capture_stop(&caught);
    expect_line(&caught, "warning lane 4, fruit 5, view 1: message refused (lane_not_listed): "
                         "ingest.lanes does not have it; correct the sender, or the list (a "
                         "reload takes it in)");
}

static void each_verdict_has_a_line_a_second(void **state)
{
    (void)state;
    static const crn_fruit_view partial[VIEWS] = {{.state = CRN_VIEW_JUDGED}},
                                late[VIEWS] = {{.state = CRN_VIEW_LOST, .reason = 1}};
    crn_log_capture caught;
    notice_fruit(&caught, partial, 2, 0);
    assert_non_null(strstr(caught.text, "is partial"));
    notice_fruit(&caught, partial, 2, 1);
    notice_fruit(&caught, partial, 2, CRN_NS_PER_S - 1);
    assert_string_equal(caught.text, "");
    notice_fruit(&caught, late, 2, CRN_NS_PER_S - 1);
    assert_non_null(strstr(caught.text, "is late"));
    notice_fruit(&caught, partial, 2, CRN_NS_PER_S);
    expect_line(&caught, "; 2 more like it were not logged");
}

static void an_ignored_deadline_is_logged_with_how_far_off(void **state)
{
    (void)state;
    static const struct {
        uint64_t deadline_ns;
        const char *said;
    } cases[] = {
        {1000 * CRN_NS_PER_S + 12500000000, "lies 12.500 s after its reception"},
        {1000 * CRN_NS_PER_S - 3600000000000 / 100, "lies 36.000 s before its reception"},
        {1000, "lies 1000.000 s before its reception"}, /* not in ns */
    };
    for (size_t i = 0; i < 3; i++) {
        crn_view_header header = {
            .lane = 4, .fruit = 5, .view = 6, .deadline_ns = cases[i].deadline_ns};
        crn_log_capture caught;
        crn_log_capture_start(&caught);
        crn_notice_deadline(&notices, &header, 1000 * CRN_NS_PER_S, (int64_t)i * CRN_NS_PER_S);
        crn_notice_deadline(&notices, &header, 1000 * CRN_NS_PER_S, (int64_t)i * CRN_NS_PER_S);
        crn_log_capture_stop(&caught);
        assert_non_null(strstr(caught.text, "warning lane 4, fruit 5, view 6: deadline_ns is "));
        assert_non_null(strstr(caught.text, cases[i].said));
        expect_line(&caught, i ? "latency.budget_ms decides; 1 more like it was not logged"
                               : "latency.budget_ms decides");
        assert_non_null(strstr(caught.text, "PTP or NTP"));
    }
}

int main(void)
{
#define ON_A_LANE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON_A_LANE(a_complete_fruit_is_no_news),
        ON_A_LANE(a_partial_fruit_is_logged_with_every_reason),
        ON_A_LANE(faults_of_judged_views_are_logged),
        ON_A_LANE(a_fruit_that_its_deadline_closed_blames_the_deadline),
        ON_A_LANE(a_refused_view_is_told_apart_from_a_missing_one),
        ON_A_LANE(what_does_not_fit_is_told_with_its_cure),
        ON_A_LANE(each_verdict_has_a_line_a_second),
        ON_A_LANE(an_ignored_deadline_is_logged_with_how_far_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

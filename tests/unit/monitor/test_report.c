/* The lines that the log has once a minute and at the stop. */
#include <stdio.h>
#include <string.h>

#include "src/monitor/log_messages/losses.h"
#include "src/monitor/log_messages/report.h"
#include "stages/base/clock.h"
#include "tests/support/line/log_capture.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/readme_reference.h"

#define MINUTE_NS (60 * CRN_NS_PER_S)

static crn_metrics metrics;
static crn_report report;
static crn_log_capture caught;

static int set_up(void **state)
{
    (void)state;
    metrics = (crn_metrics){.latency.reference_ns = 100 * CRN_NS_PER_MS,
                            .budget_ns = 100 * CRN_NS_PER_MS};
    crn_report_begin(&report, &metrics, 0);
    return 0;
}

/* Counts complete fruits of four views, judged in these many milliseconds. */
static void judge(uint64_t fruits, int64_t latency_ms)
{
    metrics.fruits.complete += fruits;
    metrics.lanes.views += 4 * fruits;
    metrics.publish.sent += fruits;
    for (uint64_t i = 0; i < fruits; i++)
        crn_quantiles_add(&metrics.latency, latency_ms * CRN_NS_PER_MS);
}

/* Reports at that minute; returns the log without its times: "info …\n". */
static const char *report_at(double minute)
{
    static char text[sizeof caught.text];
    text[0] = '\0';
    crn_log_capture_start(&caught);
    crn_report_log(&report, &metrics, (int64_t)(minute * MINUTE_NS));
    const char *line = crn_log_capture_stop(&caught);
    while (line[0]) {
        const char *end = strchr(line, '\n') + 1, *level = strchr(line, ' ') + 1;
        strncat(text, level, (size_t)(end - level));
        line = end;
    }
    return text;
}

static void a_minute_is_rates_and_latency_against_the_budget(void **state)
{
    (void)state;
    judge(600, 25);
    assert_string_equal(report_at(1),
                        "info last 60 s: 10.0 fruits/s, 40.0 views/s; 600 complete, 0 partial, "
                        "0 late; latency p50 24.0 ms, p99 25.0 ms of 100 ms\n");
}

/* What was before the last report does not show. */
static void each_report_covers_its_own_time(void **state)
{
    (void)state;
    judge(3000, 100);
    report_at(1);
    judge(60, 50);
    metrics.fruits.partial += 2;
    metrics.fruits.late += 1;
    assert_string_equal(report_at(2.5),
                        "info last 90 s: 0.7 fruits/s, 2.7 views/s; 60 complete, 2 partial, "
                        "1 late; latency p50 47.9 ms, p99 50.0 ms of 100 ms\n");
}

static void verdicts_that_wait_and_devices_are_told(void **state)
{
    (void)state;
    judge(60, 100);
    metrics.publish.waiting = 3;
    metrics.engine.devices = 2;
    metrics.engine.device = 230;
    metrics.engine.processor = 10;
    assert_non_null(strstr(report_at(1), " of 100 ms; 230 of 240 views on 2 of 2 devices; 3 "
                                         "verdicts wait for the grader\n"));
    judge(60, 100);
    metrics.publish.waiting = 1;
    metrics.engine.device += 240;
    assert_non_null(strstr(report_at(2), "; 240 of 240 views on 2 of 2 devices; 1 verdict waits "
                                         "for the grader\n"));
}

static void what_the_disks_got_is_told(void **state)
{
    (void)state;
    judge(60, 100);
    metrics.publish.log.bytes = 5 << 18;
    assert_non_null(strstr(report_at(1), " of 100 ms; 1.2 MiB of verdicts logged\n"));
    judge(60, 100);
    metrics.publish.log.bytes += 1 << 20;
    metrics.recorder.bytes = 3 << 20;
    assert_non_null(
        strstr(report_at(2), " of 100 ms; 3.0 MiB recorded, 1.0 MiB of verdicts logged\n"));
    judge(60, 100);
    assert_non_null(strstr(report_at(3), " of 100 ms\n"));
}

static void what_was_lost_is_a_warning_with_the_cure(void **state)
{
    (void)state;
    judge(600, 25);
    report_at(1);
    judge(600, 25);
    metrics.fruits.no_slot = 3;
    metrics.fruits.discarded = 40;
    metrics.publish.dropped = 1;
    const char *text = report_at(2);
    assert_non_null(strstr(text, "info last 60 s: "));
    assert_non_null(strstr(text, "\nwarning last 60 s, lost or too late: no_slot=3 discarded=40 "
                                 "verdict_dropped=1; mostly discarded: more views arrive than "
                                 "this machine can process in time, or other programs take "
                                 "its processor (latency.budget_ms, run.workers), or the "
                                 "sender's deadline_ns had passed\n"));
    judge(600, 25);
    text = report_at(3);
    assert_null(strstr(text, "warning"));
}

/* Also of a line that gets no valid view. */
static void a_refused_message_is_a_loss(void **state)
{
    (void)state;
    judge(1, 25);
    report_at(1);
    report_at(2);
    metrics.ingest.faults[CRN_WIRE_MAGIC] = 7;
    char wanted[400];
    snprintf(wanted, sizeof wanted,
             "warning last 60 s, lost or too late: magic=7; mostly magic: %s\n",
             crn_wire_fault_hints[CRN_WIRE_MAGIC]);
    assert_string_equal(report_at(3), wanted);
}

static void what_the_line_coped_with_is_information(void **state)
{
    (void)state;
    judge(600, 25);
    metrics.lanes.restarts = 1;
    metrics.values.frozen = 12;
    const char *text = report_at(1);
    assert_non_null(strstr(text, "\ninfo last 60 s, out of the ordinary: sender_restart=1 "
                                 "frozen=12\n"));
    assert_null(strstr(text, "warning"));
}

/* sequence_missing counts back when a missing message arrives late. */
static void a_count_that_falls_is_no_loss(void **state)
{
    (void)state;
    metrics.lanes.missing = 5;
    judge(600, 25);
    assert_non_null(strstr(report_at(1), "sequence_missing=5"));
    metrics.lanes.missing = 2;
    judge(600, 25);
    assert_null(strstr(report_at(2), "missing"));
}

static void an_idle_line_is_told_after_a_minute_then_hourly(void **state)
{
    (void)state;
    judge(600, 25);
    report_at(1);
    assert_string_equal(report_at(2), "info no fruit for 1 min\n");
    for (int minute = 3; minute < 62; minute++)
        assert_string_equal(report_at(minute), "");
    metrics.publish.waiting = 5;
    assert_string_equal(report_at(62),
                        "info no fruit for 61 min; 5 verdicts wait for the grader\n");
    judge(600, 25);
    assert_non_null(strstr(report_at(63), "info last 60 s: 10.0 fruits/s"));
    assert_string_equal(report_at(64), "info no fruit for 1 min; 5 verdicts wait for the grader\n");
}

static void from_the_start_on_idleness_counts(void **state)
{
    (void)state;
    assert_string_equal(report_at(1), "info no fruit for 1 min\n");
    assert_string_equal(report_at(2), "");
}

/* Views whose fruits are still open. */
static void views_without_a_verdict_have_no_latency(void **state)
{
    (void)state;
    metrics.lanes.views = 30;
    assert_string_equal(report_at(1), "info last 60 s: 0.0 fruits/s, 0.5 views/s; 0 complete, "
                                      "0 partial, 0 late\n");
}

static void the_stop_has_the_totals(void **state)
{
    (void)state;
    judge(60, 100);
    report_at(1);
    judge(540, 100);
    metrics.ingest.messages = 2401;
    metrics.lane_count = 2;
    metrics.fruits.failed = 1;
    crn_log_capture_start(&caught);
    crn_report_log_totals(&metrics);
    const char *text = crn_log_capture_stop(&caught);
    assert_non_null(strstr(text, " info since the start: 2401 messages on 2 lanes, 600 fruits: 600 "
                                 "complete, 0 partial, 0 late; latency p50 95.9 ms, p99 99.9 ms "
                                 "of 100 ms; 600 verdicts to the grader\n"));
    assert_non_null(strstr(text, " warning since the start, lost or too late: failed=1; mostly "
                                 "failed: the chain failed, an error says why\n"));
}

static void every_loss_has_a_name_of_its_own(void **state)
{
    (void)state;
    crn_loss losses[CRN_LOSSES_MAX];
    int rows = crn_losses_read(&metrics, losses);
    assert_in_range(rows, 1, CRN_LOSSES_MAX - 1);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(losses[i].name, losses[j].name);
}

static void every_loss_has_a_meaning_in_the_reference(void **state)
{
    (void)state;
    for (int i = 0; i < crn_counts_count; i++) {
        const crn_family *row = &crn_counts[i];
        if (row->log && !row->about && !row->help && !row->reason)
            fail_msg("%s has no ABOUT, and its METRIC no help", row->log);
    }
}

static void the_readme_has_the_reference(void **state)
{
    (void)state;
    readme_expect_reference("systemd/README.md", crn_losses_print_reference);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_minute_is_rates_and_latency_against_the_budget, set_up),
        cmocka_unit_test_setup(each_report_covers_its_own_time, set_up),
        cmocka_unit_test_setup(verdicts_that_wait_and_devices_are_told, set_up),
        cmocka_unit_test_setup(what_the_disks_got_is_told, set_up),
        cmocka_unit_test_setup(what_was_lost_is_a_warning_with_the_cure, set_up),
        cmocka_unit_test_setup(a_refused_message_is_a_loss, set_up),
        cmocka_unit_test_setup(what_the_line_coped_with_is_information, set_up),
        cmocka_unit_test_setup(a_count_that_falls_is_no_loss, set_up),
        cmocka_unit_test_setup(an_idle_line_is_told_after_a_minute_then_hourly, set_up),
        cmocka_unit_test_setup(from_the_start_on_idleness_counts, set_up),
        cmocka_unit_test_setup(views_without_a_verdict_have_no_latency, set_up),
        cmocka_unit_test_setup(the_stop_has_the_totals, set_up),
        cmocka_unit_test_setup(every_loss_has_a_name_of_its_own, set_up),
        cmocka_unit_test_setup(every_loss_has_a_meaning_in_the_reference, set_up),
        cmocka_unit_test(the_readme_has_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

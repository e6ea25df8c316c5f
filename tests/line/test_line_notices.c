/* Problems with fruits and senders are logged at once. */
#include <stdlib.h>
#include <string.h>

#include <zmq.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/line_fixture.h"
#include "tests/support/line/log_capture.h"

#define HEIGHT 16
#define WIDTH  16

static const char yaml[] = "classes: [{name: ground}, {name: rot, level: 0.5}]\n"
                           "chain: [contours: {}]\n"
                           "run: {backend: serial, workers: 1, threads: 1, stop_ms: 0}\n"
                           "latency: {budget_ms: 60000, assemble_ms: 60000}\n"
                           "log: {level: warning}\n";

/* Sends fruits of one view as a newly started sender does, and waits for their verdicts. */
static void send_session(line_fixture *line, uint64_t epoch, uint64_t fruits, bool new_fruits)
{
    float *maps = line_discs(HEIGHT, WIDTH, 2);
    line->sequence = 0;
    for (uint64_t fruit = 0; fruit < fruits; fruit++) {
        crn_view_header header = line_header(line, fruit, 0, 1, HEIGHT, WIDTH);
        header.epoch = epoch;
        header.captured_ns = (uint64_t)crn_realtime_ns();
        line_send(line, header, maps, NULL);
    }
    seen_verdict verdict;
    for (uint64_t fruit = 0; new_fruits && fruit < fruits; fruit++)
        assert_true(line_receive(line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    free(maps);
}

static void an_epoch_used_again_is_logged(void **state)
{
    (void)state;
    static line_fixture line;
    line_start(&line, yaml);
    crn_log_capture caught;
    crn_log_capture_start(&caught);
    send_session(&line, 77, 3, true);
    send_session(&line, 77, 2, false);
    send_session(&line, 78, 2, true); /* its verdict shows that all of the above was read */
    line_stop(&line);
    crn_log_capture_stop(&caught);
    assert_int_equal(line.metrics.lanes.reused, 1);
    assert_int_equal(line.metrics.fruits.stragglers, 2);
    assert_non_null(strstr(caught.text, "the sequence begins again at 0 within epoch 77, with "
                                        "fruit 0: "));
    assert_non_null(strstr(caught.text, "must choose a new epoch at each start"));
}

/* One view with every number at its end, amid a sound session. */
static void a_sequence_number_far_away_is_logged_and_nothing_counts_as_missing(void **state)
{
    (void)state;
    static line_fixture line;
    line_start(&line, yaml);
    crn_log_capture caught;
    crn_log_capture_start(&caught);
    send_session(&line, 77, 3, true);
    float *maps = line_discs(HEIGHT, WIDTH, 2);
    crn_view_header header = line_header(&line, UINT64_MAX, 0, 1, HEIGHT, WIDTH);
    header.epoch = 77;
    header.captured_ns = header.encoder = line.sequence = UINT64_MAX;
    line_send(&line, header, maps, NULL);
    line.sequence = 3;
    header = line_header(&line, 3, 0, 1, HEIGHT, WIDTH);
    header.epoch = 77;
    header.captured_ns = (uint64_t)crn_realtime_ns();
    line_send(&line, header, maps, NULL);
    seen_verdict verdict;
    for (uint64_t sequence = 3; sequence < 5; sequence++) {
        assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
        assert_int_equal(verdict.sequence, sequence);
    }
    assert_int_equal(verdict.fruit, 3);
    line_stop(&line);
    crn_log_capture_stop(&caught);
    free(maps);
    assert_int_equal(line.metrics.lanes.missing, 0);
    assert_int_equal(line.metrics.lanes.reused, 0);
    assert_int_equal(line.metrics.lanes.jumps, 1);
    assert_non_null(strstr(caught.text, "the sequence jumps to 18446744073709551615 within epoch "
                                        "77, with fruit 18446744073709551615, view 0: "));
}

/* Sends so many fruits of one view, numbered modulo 256, each after the verdict of the one before;
 * returns the last verdict's sequence. */
static uint64_t send_modulo_256(line_fixture *line, uint64_t fruits)
{
    float *maps = line_discs(HEIGHT, WIDTH, 2);
    seen_verdict verdict = {.sequence = 0};
    for (uint64_t fruit = 0; fruit < fruits; fruit++) {
        crn_view_header header = line_header(line, fruit % 256, 0, 1, HEIGHT, WIDTH);
        header.captured_ns = (uint64_t)crn_realtime_ns();
        line_send(line, header, maps, NULL);
        assert_true(line_receive(line, CRN_FIXTURE_PATIENCE_MS, &verdict));
        assert_int_equal(verdict.fruit, fruit % 256);
        assert_int_equal(verdict.sequence, fruit);
    }
    free(maps);
    return verdict.sequence;
}

static void numbers_that_return_get_a_verdict_and_a_warning(void **state)
{
    (void)state;
    static line_fixture line;
    line_configure(&line, yaml);
    line.config.latency.straggler_ms = 1;
    crn_log_capture caught;
    crn_log_capture_start(&caught);
    line_run(&line, NULL);
    int64_t begin_ns = crn_now_ns();
    assert_int_equal(send_modulo_256(&line, 768), 767);
    line_stop(&line);
    crn_log_capture_stop(&caught);
    uint64_t seconds = (uint64_t)((crn_now_ns() - begin_ns) / CRN_NS_PER_S), told = 0;
    assert_int_equal(line.metrics.fruits.complete, 768);
    assert_int_equal(line.metrics.fruits.returned, 512);
    const char *first = strstr(caught.text, "the number of fruit 0 came again ");
    assert_non_null(first);
    assert_non_null(strstr(first, " with another fruit, which gets a verdict of its own: "));
    for (const char *at = first; at; at = strstr(at + 1, "the number of fruit"))
        told++;
    assert_in_range(told, 1, 1 + seconds); /* one a second */
}

static void a_number_that_returns_too_early_is_a_gap_and_a_warning(void **state)
{
    (void)state;
    static line_fixture line;
    line_start(&line, yaml); /* its times are long */
    crn_log_capture caught;
    crn_log_capture_start(&caught);
    assert_int_equal(send_modulo_256(&line, 256), 255);
    float *maps = line_discs(HEIGHT, WIDTH, 2);
    for (uint64_t fruit = 0; fruit < 3; fruit++) {
        crn_view_header header = line_header(&line, fruit, 0, 1, HEIGHT, WIDTH);
        header.captured_ns = (uint64_t)crn_realtime_ns();
        line_send(&line, header, maps, NULL);
    }
    seen_verdict verdict;
    line_send(&line, line_header(&line, 1000, 0, 1, HEIGHT, WIDTH), maps, NULL);
    assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    assert_int_equal(verdict.fruit, 1000);
    assert_int_equal(verdict.sequence, 256 + 3);
    line_stop(&line);
    crn_log_capture_stop(&caught);
    free(maps);
    assert_int_equal(line.metrics.fruits.returned_early, 3);
    assert_non_null(strstr(caught.text, "the number of fruit 0 came again "));
    assert_non_null(strstr(caught.text, " with another fruit, which gets no verdict, as this is "
                                        "too soon to distinguish it from late views: "));
}

/* Stopping the line judges fruits that wait for their second view. */
static void partial_fruits_and_ignored_deadlines_are_logged(void **state)
{
    (void)state;
    static line_fixture line;
    line_start(&line, yaml);
    float *maps = line_discs(HEIGHT, WIDTH, 2);
    crn_log_capture caught;
    crn_log_capture_start(&caught);
    crn_view_header header = line_header(&line, 5, 0, 2, HEIGHT, WIDTH);
    header.deadline_ns = (uint64_t)crn_realtime_ns() + 3600 * CRN_NS_PER_S;
    line_send(&line, header, maps, NULL);
    send_session(&line, header.epoch + 1, 1,
                 true); /* once it is answered, the view before it is judged */
    line_stop(&line);
    crn_log_capture_stop(&caught);
    assert_int_equal(line.metrics.fruits.partial, 1);
    assert_int_equal(line.metrics.deadlines_ignored, 1);
    assert_non_null(strstr(caught.text, "fruit 5 is partial, with 1 of 2 views received and 1 "
                                        "judged: 1 missing (view 1)"));
    assert_non_null(strstr(caught.text, "fruit 5, view 0: deadline_ns is ignored, as it lies "));
    free(maps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_epoch_used_again_is_logged),
        cmocka_unit_test(a_sequence_number_far_away_is_logged_and_nothing_counts_as_missing),
        cmocka_unit_test(numbers_that_return_get_a_verdict_and_a_warning),
        cmocka_unit_test(a_number_that_returns_too_early_is_a_gap_and_a_warning),
        cmocka_unit_test(partial_fruits_and_ignored_deadlines_are_logged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

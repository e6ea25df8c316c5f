/* The whole line over its sockets: views in, exactly one verdict per fruit out. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"
#include "stages/stage/stage.h"
#include "tests/support/line/log_capture.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/line_fixture.h"

#define HEIGHT 48
#define WIDTH  64

/* A test waits as long as it takes, and moves the clock for a fruit that is judged incomplete. */
#define ASSEMBLE_NS (60 * CRN_NS_PER_S)

static const char yaml[] =
    "classes: [{name: ground}, {name: rot, level: 0.5}, {name: rust, level: 0.5}]\n"
    "chain: [contours: {border: closed}]\n"
    "run: {backend: openmp, workers: 1, threads: 1}\n"
    "limits: {slots: 128}\n"
    "latency: {budget_ms: 60000, assemble_ms: 60000}\n"
    "log: {level: warning}\n";

static void every_fruit_gets_its_verdict(void **state)
{
    (void)state;
    static line_fixture line;
    line_start(&line, yaml);
    float *maps = line_discs(HEIGHT, WIDTH, 3);
    for (uint64_t fruit = 0; fruit < 25; fruit++)
        for (uint16_t view = 0; view < 4; view++)
            line_send(&line, line_header(&line, fruit, view, 4, HEIGHT, WIDTH), maps, NULL);
    crn_quantiles latency = {.reference_ns = 60000 * CRN_NS_PER_MS};
    for (uint64_t fruit = 0; fruit < 25; fruit++) {
        seen_verdict verdict;
        assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
        assert_int_equal(verdict.sequence, fruit);
        assert_int_equal(verdict.fruit, fruit);
        assert_string_equal(verdict.verdict, "complete");
        assert_int_equal(verdict.views_judged, 4);
        assert_int_equal(verdict.defects, 8); /* one disc in each of two classes, four views */
        assert_false(verdict.stale);
        crn_quantiles_add(&latency, llround(verdict.total_ms * CRN_NS_PER_MS));
    }
    line_stop(&line);
    assert_int_equal(line.metrics.fruits.complete, 25);
    assert_int_equal(line.metrics.ingest.messages, 100);
    assert_int_equal(line.metrics.lanes.missing, 0);
    assert_int_equal(crn_quantiles_count(&line.metrics.latency), 25);
    assert_memory_equal(&line.metrics.latency, &latency, sizeof latency);
    free(maps);
}

static void types_layouts_and_intensity_come_through(void **state)
{
    (void)state;
    static line_fixture line;
    line_start(&line, yaml);
    unsigned char *bytes = calloc(HEIGHT * WIDTH, 3);
    unsigned char *grey = calloc(HEIGHT, WIDTH);
    uint16_t *halves = calloc(HEIGHT * WIDTH * 3, sizeof *halves);
    for (int y = 10; y < 20; y++) {
        for (int x = 10; x < 30; x++) {
            bytes[(1 * HEIGHT + y) * WIDTH + x] = 200; /* CHW, class 1 */
            halves[(y * WIDTH + x) * 3 + 2] = 0x3a00;  /* HWC, class 2: 0.75 */
        }
    }
    crn_view_header header = line_header(&line, 1, 0, 2, HEIGHT, WIDTH);
    header.type = CRN_U8;
    header.layout = CRN_CHW;
    line_send(&line, header, bytes, grey);
    header = line_header(&line, 1, 1, 2, HEIGHT, WIDTH);
    header.type = CRN_F16;
    line_send(&line, header, halves, NULL);
    seen_verdict verdict;
    assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    assert_string_equal(verdict.verdict, "complete");
    assert_int_equal(verdict.defects, 2);
    line_stop(&line);
    free(bytes);
    free(grey);
    free(halves);
}

static void missing_views_make_it_partial_in_time(void **state)
{
    (void)state;
    static line_fixture line;
    line_start(&line, yaml);
    float *maps = line_discs(HEIGHT, WIDTH, 3);
    line_send(&line, line_header(&line, 5, 2, 4, HEIGHT, WIDTH), maps, NULL);
    /* Once the fruit after it has its verdict, its view has arrived. */
    line_send(&line, line_header(&line, 4, 0, 1, HEIGHT, WIDTH), maps, NULL);
    seen_verdict verdict;
    assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    assert_int_equal(verdict.fruit, 4);
    line_move_clock(&line, ASSEMBLE_NS);
    assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    assert_int_equal(verdict.fruit, 5);
    assert_string_equal(verdict.verdict, "partial");
    assert_int_equal(verdict.views_expected, 4);
    assert_int_equal(verdict.views_received, 1);
    assert_int_equal(verdict.views_judged, 1);
    /* A late view opens no fruit: the next verdict is the next fruit's. */
    line_send(&line, line_header(&line, 5, 1, 4, HEIGHT, WIDTH), maps, NULL);
    line_send(&line, line_header(&line, 6, 0, 1, HEIGHT, WIDTH), maps, NULL);
    assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    assert_int_equal(verdict.fruit, 6);
    assert_string_equal(verdict.verdict, "complete");
    line_stop(&line);
    assert_int_equal(line.metrics.fruits.stragglers, 1);
    free(maps);
}

static void a_deadline_already_past_is_answered_at_once(void **state)
{
    (void)state;
    static line_fixture line;
    line_start(&line, yaml);
    float *maps = line_discs(HEIGHT, WIDTH, 3);
    crn_view_header header = line_header(&line, 1, 0, 4, HEIGHT, WIDTH);
    header.deadline_ns = (uint64_t)(crn_realtime_ns() - CRN_NS_PER_S);
    line_send(&line, header, maps, NULL);
    seen_verdict verdict;
    assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    assert_string_equal(verdict.verdict, "late");
    /* A deadline from a wrong clock is ignored and counted. */
    header = line_header(&line, 2, 0, 1, HEIGHT, WIDTH);
    header.deadline_ns = (uint64_t)(crn_realtime_ns() - 60 * CRN_NS_PER_S);
    line_send(&line, header, maps, NULL);
    assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    assert_string_equal(verdict.verdict, "complete");
    line_stop(&line);
    assert_int_equal(line.metrics.deadlines_ignored, 1);
    assert_int_equal(line.metrics.deadlines_over, 1);
    free(maps);
}

static int fail_for_want_of_memory(const void *settings, crn_job *job)
{
    (void)settings;
    (void)job;
    return -ENOMEM;
}

static void a_chain_that_fails_is_answered_and_told_why(void **state)
{
    (void)state;
    static const crn_stage stage = {
        .name = "fails", .kind = CRN_STAGE_CONTOURS, .enqueue = fail_for_want_of_memory};
    static line_fixture line;
    line_configure(&line, yaml);
    line.config.chain[0].stage = &stage;
    line_run(&line, NULL);
    float *maps = line_discs(HEIGHT, WIDTH, 3);
    crn_log_capture caught;
    crn_log_capture_start(&caught);
    line_send(&line, line_header(&line, 7, 0, 1, HEIGHT, WIDTH), maps, NULL);
    seen_verdict verdict;
    bool answered = line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict);
    const char *told = crn_log_capture_stop(&caught);
    assert_true(answered);
    assert_string_equal(verdict.verdict, "late");
    assert_non_null(strstr(told, "lane 0, fruit 7, view 0: the chain failed: Cannot allocate"));
    line_stop(&line);
    assert_int_equal(line.metrics.fruits.failed, 1);
    free(maps);
}

/* Far more than the line can carry: every fruit received in part is answered exactly once. */
static void a_flood_is_answered_fruit_by_fruit(void **state)
{
    (void)state;
    enum { FRUITS = 400 };
    static line_fixture line;
    line_start(&line,
               "classes: [{name: a, level: 0.5}, {name: b, level: 0.5}, {name: c, level: 0.5}]\n"
               "chain: [contours: {border: closed}]\n"
               "run: {backend: serial, workers: 1, threads: 1}\n"
               "limits: {slots: 6, open_fruits: 16}\n"
               "latency: {budget_ms: 30, assemble_ms: 60}\n"
               "log: {level: error}\n");
    float *noise = malloc(HEIGHT * WIDTH * 3 * sizeof *noise);
    for (int i = 0; i < HEIGHT * WIDTH * 3; i++)
        noise[i] = (float)(i * UINT32_C(2654435761) >> 8 & 0xffff) / 65536;
    static int answers[FRUITS];
    memset(answers, 0, sizeof answers);
    seen_verdict verdict;
    uint64_t sequence = 0;
    for (uint64_t fruit = 0; fruit < FRUITS; fruit++) {
        for (uint16_t view = 0; view < 4; view++)
            line_send(&line, line_header(&line, fruit, view, 4, HEIGHT, WIDTH), noise, NULL);
        while (line_receive(&line, 0, &verdict)) {
            assert_int_equal(verdict.sequence, sequence++);
            answers[verdict.fruit]++;
        }
    }
    while (sequence < FRUITS && line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict)) {
        assert_int_equal(verdict.sequence, sequence++);
        answers[verdict.fruit]++;
    }
    for (int fruit = 0; fruit < FRUITS; fruit++)
        assert_int_equal(answers[fruit], 1);
    line_stop(&line);
    const crn_fruit_stats *fruits = &line.metrics.fruits;
    assert_int_equal(fruits->complete + fruits->partial + fruits->late, FRUITS);
    free(noise);
}

static void open_fruits_are_judged_at_the_end(void **state)
{
    (void)state;
    static line_fixture line;
    /* By their own deadlines, its fruits would be judged later than this test waits. */
    line_start(&line, "classes: [{name: ground}, {name: rot, level: 0.5}]\n"
                      "chain: [contours: {}]\n"
                      "run: {workers: 1, threads: 1}\n"
                      "latency: {budget_ms: 60000, assemble_ms: 60000}\n"
                      "log: {level: warning}\n");
    float *maps = line_discs(HEIGHT, WIDTH, 2);
    line_send(&line, line_header(&line, 1, 0, 1, HEIGHT, WIDTH), maps, NULL);
    seen_verdict verdict;
    /* Fruit 2 stays incomplete; fruit 1's verdict shows that the line has read it. */
    assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    line_send(&line, line_header(&line, 2, 0, 4, HEIGHT, WIDTH), maps, NULL);
    line_send(&line, line_header(&line, 3, 0, 1, HEIGHT, WIDTH), maps, NULL);
    assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    assert_int_equal(verdict.fruit, 3);
    crn_line_stop(line.line);
    assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS / 2, &verdict));
    assert_int_equal(verdict.fruit, 2);
    assert_string_equal(verdict.verdict, "partial");
    line_stop(&line);
    free(maps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fruit_gets_its_verdict),
        cmocka_unit_test(types_layouts_and_intensity_come_through),
        cmocka_unit_test(missing_views_make_it_partial_in_time),
        cmocka_unit_test(a_deadline_already_past_is_answered_at_once),
        cmocka_unit_test(a_chain_that_fails_is_answered_and_told_why),
        cmocka_unit_test(a_flood_is_answered_fruit_by_fruit),
        cmocka_unit_test(open_fruits_are_judged_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* record.only: which views of a running line are recorded, and what becomes of their slots. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/formats/recording/recording.h"
#include "src/formats/recording/segments.h"
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/gate.h"
#include "tests/support/line/line_fixture.h"
#include "tests/support/parts/recorded.h"

#define HEIGHT 48
#define WIDTH  64
#define LANE   3

static line_fixture line;
static float *maps;
static unsigned char photograph[HEIGHT * WIDTH];

static int set_up(void **state)
{
    (void)state;
    crn_gate_close(0);
    maps = line_discs(HEIGHT, WIDTH, 2);
    for (size_t i = 0; i < sizeof photograph; i++)
        photograph[i] = (unsigned char)(i * 7);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(maps);
    recorded_clear();
    return 0;
}

static void start(const char *only, const char *monitor, const crn_stage *stage)
{
    char yaml[1024];
    snprintf(yaml, sizeof yaml,
             "classes: [{name: ground}, {name: rot, level: 0.5}]\n"
             "chain: [contours]\n"
             "run: {backend: serial, workers: 1, threads: 1}\n"
             "latency: {budget_ms: 60000, assemble_ms: 60000}\n"
             "limits: {slots: 8, views: 16}\n"
             "record: {dir: '%s', only: %s}\n"
             "monitor: %s\n"
             "log: {level: error}\n",
             recorded_folder, only, monitor);
    line_configure(&line, yaml);
    if (stage)
        line.config.chain[0].stage = stage;
    line_run(&line, NULL);
}

/* The maps of a view tell which one it is, by the first value of the ground. */
static void mark(uint64_t fruit, uint16_t view, bool faulty)
{
    maps[0] = (float)(fruit * 2 + view) / 1000;
    maps[1] = faulty ? 2 : 0; /* of rot */
}

static void send_view(uint64_t fruit, uint16_t view, bool faulty, bool due)
{
    crn_view_header header = line_header(&line, fruit, view, 2, HEIGHT, WIDTH);
    header.lane = LANE;
    if (due)
        header.deadline_ns = (uint64_t)crn_realtime_ns() - 1;
    mark(fruit, view, faulty);
    line_send(&line, header, maps, view ? photograph : NULL);
}

static void expect_verdict(uint64_t fruit, const char *kind)
{
    seen_verdict verdict;
    assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    assert_int_equal(verdict.fruit, fruit);
    assert_string_equal(verdict.verdict, kind);
}

static void send_fruit(uint64_t fruit, bool faulty)
{
    send_view(fruit, 0, faulty, false);
    send_view(fruit, 1, false, false);
    expect_verdict(fruit, faulty ? "partial" : "complete");
}

/* The line's one recording, after its end; NULL if it made none. */
static crn_recording_reader *open_recording(void)
{
    char path[PATH_MAX] = "";
    DIR *folder = opendir(recorded_folder);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        if (crn_segment_is_name(entry->d_name)) {
            assert_string_equal(path, "");
            snprintf(path, sizeof path, "%s/%s", recorded_folder, entry->d_name);
        }
    closedir(folder);
    return path[0] ? recorded_open(path) : NULL;
}

/* Expects this view next, as it was sent. */
static void expect_view(crn_recording_reader *reader, uint64_t fruit, uint16_t view, bool faulty)
{
    crn_recorded_view got;
    crn_error error;
    assert_int_equal(crn_recording_next(reader, &got, &error), 1);
    assert_int_equal(got.header.lane, LANE);
    assert_int_equal(got.header.fruit, fruit);
    assert_int_equal(got.header.view, view);
    assert_true(crn_realtime_ns() - (int64_t)got.arrived_ns < 600 * CRN_NS_PER_S);
    mark(fruit, view, faulty);
    assert_memory_equal(got.maps, maps, got.header.payload_bytes);
    assert_int_equal(got.intensity != NULL, view);
    if (view)
        assert_memory_equal(got.intensity, photograph, sizeof photograph);
}

static void expect_end(crn_recording_reader **reader)
{
    crn_recorded_view got;
    crn_error error;
    assert_int_equal(crn_recording_next(*reader, &got, &error), 0);
    crn_recording_end(reader);
}

/* --- tests --- */

static void only_partial_fruits_are_recorded(void **state)
{
    (void)state;
    start("partial", "{http: ''}", NULL);
    for (uint64_t fruit = 1; fruit <= 6; fruit++)
        send_fruit(fruit, fruit % 2 == 0);
    line_stop(&line);
    assert_int_equal(line.metrics.recorder.missed + line.metrics.recorder.dropped, 0);
    crn_recording_reader *reader = open_recording();
    assert_non_null(reader);
    for (uint64_t fruit = 2; fruit <= 6; fruit += 2) {
        expect_view(reader, fruit, 0, true);
        expect_view(reader, fruit, 1, false);
    }
    expect_end(&reader);
}

/* At the verdict one view runs, and the other waits: both are recorded. A partial fruit is not
 * recorded. */
static void only_late_fruits_are_recorded(void **state)
{
    (void)state;
    start("late", "{http: ''}", &crn_gated);
    crn_gate_let_through(2);
    send_fruit(1, true);
    crn_gate_wait();
    crn_gate_wait();
    send_view(2, 0, false, false);
    crn_gate_wait();
    send_view(2, 1, false, true);
    expect_verdict(2, "late");
    crn_gate_let_through(3);
    send_view(3, 0, true, false);
    send_view(3, 1, false, false);
    expect_verdict(3, "partial");
    line_stop(&line);
    crn_recording_reader *reader = open_recording();
    assert_non_null(reader);
    expect_view(reader, 2, 0, false);
    expect_view(reader, 2, 1, false);
    expect_end(&reader);
}

/* Views of open fruits take the slots of those that have ended: what is then bad is not recorded,
 * and counted. */
static void slots_that_are_needed_are_not_recorded(void **state)
{
    (void)state;
    start("partial", "{http: ''}", &crn_gated);
    crn_gate_let_through(1);
    send_view(1, 0, true, false);
    crn_gate_wait();
    for (uint64_t fruit = 10; fruit < 18; fruit++) /* one runs, the others wait: all 8 slots */
        send_view(fruit, 0, false, false);
    crn_gate_wait();
    send_view(1, 1, false, true); /* evicts one that waits */
    expect_verdict(1, "partial");
    crn_gate_let_through(64);
    line_stop(&line);
    assert_int_equal(line.metrics.recorder.dropped, 0);
    assert_true(line.metrics.recorder.missed >= 1); /* of fruits that the stop made partial, too */
    crn_recording_reader *reader = open_recording();
    assert_non_null(reader);
    expect_view(reader, 1, 1, false);
    crn_recorded_view got;
    crn_error error;
    while (crn_recording_skip(reader, &got, &error) == 1)
        assert_int_not_equal(got.header.fruit, 1);
    crn_recording_end(&reader);
}

static uint64_t count_recorded(void)
{
    uint64_t views = 0;
    crn_recording_reader *reader = open_recording();
    crn_recorded_view got;
    crn_error error;
    assert_non_null(reader);
    while (crn_recording_skip(reader, &got, &error) == 1)
        views++;
    crn_recording_end(&reader);
    return views;
}

/* With kept maps as well: every slot comes back, and no view is ever lost. */
static void recorded_slots_come_back(void **state)
{
    (void)state;
    static const struct {
        const char *only;
        uint64_t views;
    } cases[] = {{"partial", 67 * 2}, {"all", 100 * 2}};
    for (size_t i = 0; i < 2; i++) {
        start(cases[i].only, "{http: '127.0.0.1:0', keep_slots: 4}", NULL);
        for (uint64_t fruit = 1; fruit <= 100; fruit++)
            send_fruit(fruit, fruit % 3 != 0);
        line_stop(&line);
        assert_int_equal(line.metrics.fruits.no_slot, 0);
        assert_int_equal(line.metrics.recorder.missed, 0);
        assert_int_equal(line.metrics.recorder.dropped + count_recorded(), cases[i].views);
        recorded_clear();
    }
}

static void all_views_are_recorded(void **state)
{
    (void)state;
    start("all", "{http: ''}", NULL);
    for (uint64_t fruit = 1; fruit <= 4; fruit++)
        send_fruit(fruit, fruit % 2 == 0);
    line_stop(&line);
    crn_recording_reader *reader = open_recording();
    assert_non_null(reader);
    for (uint64_t fruit = 1; fruit <= 4; fruit++) {
        expect_view(reader, fruit, 0, fruit % 2 == 0);
        expect_view(reader, fruit, 1, false);
    }
    expect_end(&reader);
}

/* Also one that is evicted, those that wait at their fruit's verdict, and one that still runs when
 * the line is stopped. */
static void views_that_never_run_are_recorded(void **state)
{
    (void)state;
    start("all", "{http: ''}", &crn_gated);
    send_view(1, 0, false, false);
    crn_gate_wait();
    for (uint64_t fruit = 10; fruit < 17; fruit++) /* all 8 slots */
        send_view(fruit, 0, false, false);
    send_view(9, 0, false, false);
    send_view(1, 1, false, true); /* its fruit runs, and is due: it evicts a view */
    expect_verdict(1, "late");
    crn_gate_let_through(64);
    line_stop(&line);
    assert_int_equal(line.metrics.fruits.no_slot, 2); /* of fruit 9, and evicted */
    assert_int_equal(line.metrics.recorder.dropped, 0);
    assert_int_equal(count_recorded(), 9);
}

#define ON_LINE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_LINE(only_partial_fruits_are_recorded),
        ON_LINE(only_late_fruits_are_recorded),
        ON_LINE(slots_that_are_needed_are_not_recorded),
        ON_LINE(recorded_slots_come_back),
        ON_LINE(all_views_are_recorded),
        ON_LINE(views_that_never_run_are_recorded),
    };
    return cmocka_run_group_tests(tests, recorded_setup, recorded_teardown);
}

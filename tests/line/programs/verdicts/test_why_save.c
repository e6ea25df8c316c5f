/* cernita-why --save: the maps that a running line keeps of fruits, byte for byte as they came. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/formats/recording/recording.h"
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/gate.h"
#include "tests/support/line/line_fixture.h"
#include "tests/support/programs/shell.h"

#define HEIGHT 48
#define WIDTH  64
#define LANE   3

#define LINE                                                                                       \
    "classes: [{name: ground}, {name: rot, level: 0.5}]\n"                                         \
    "chain: [contours]\n"                                                                          \
    "run: {backend: serial, workers: 1, threads: 1}\n"                                             \
    "latency: {budget_ms: 60000, assemble_ms: 60000}\n"                                            \
    "limits: {slots: 8}\n"                                                                         \
    "monitor: {http: '127.0.0.1:0', keep_slots: 4}\n"                                              \
    "log: {level: error}\n"

static line_fixture line;
static float *maps;
static unsigned char photograph[HEIGHT * WIDTH];
static char path[128], output[65536];

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
    return 0;
}

static void start(const crn_stage *stage)
{
    line_configure(&line, LINE);
    if (stage)
        line.config.chain[0].stage = stage;
    line_run(&line, NULL);
    snprintf(path, sizeof path, "%s/saved.tif", line.folder);
}

static void stop(void)
{
    unlink(path);
    line_stop(&line);
}

/* The maps of a view tell which one it is, by the first value of the ground. */
static void send_view(uint64_t fruit, uint16_t view, bool faulty, bool due)
{
    crn_view_header header = line_header(&line, fruit, view, 2, HEIGHT, WIDTH);
    header.lane = LANE;
    if (due)
        header.deadline_ns = (uint64_t)crn_realtime_ns() - 1;
    maps[0] = (float)(fruit * 2 + view) / 1000;
    maps[1] = faulty ? 2 : 0; /* of rot */
    line_send(&line, header, maps, view ? photograph : NULL);
}

static void send_fruit(uint64_t fruit, bool faulty)
{
    seen_verdict verdict;
    send_view(fruit, 0, faulty, false);
    send_view(fruit, 1, false, false);
    assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    assert_int_equal(verdict.fruit, fruit);
    assert_string_equal(verdict.verdict, faulty ? "partial" : "complete");
}

/* Runs the program; skips the test if it was built without libcurl. */
static int run_why(const char *arguments)
{
    char command[512];
    snprintf(command, sizeof command, "exec " CRN_BIN "/cernita-why %s %s --save %s 2>&1",
             crn_line_http(line.line), arguments, path);
    int status = crn_test_shell(command, output, sizeof output);
    if (strstr(output, ": this build cannot ask a daemon")) {
        crn_gate_let_through(64);
        stop();
        skip();
    }
    return status;
}

static void expect_said(const char *text)
{
    if (!strstr(output, text))
        fail_msg("not '%s':\n%s", text, output);
}

/* Expects this view next in the file, as it was sent. */
static void expect_view(crn_recording_reader *reader, uint64_t fruit, uint16_t view, bool faulty)
{
    crn_recorded_view got;
    crn_error error;
    assert_int_equal(crn_recording_next(reader, &got, &error), 1);
    assert_int_equal(got.header.lane, LANE);
    assert_int_equal(got.header.fruit, fruit);
    assert_int_equal(got.header.view, view);
    assert_int_equal(got.header.views, 2);
    assert_true(crn_realtime_ns() - (int64_t)got.arrived_ns < 600 * CRN_NS_PER_S);
    maps[0] = (float)(fruit * 2 + view) / 1000;
    maps[1] = faulty ? 2 : 0;
    assert_int_equal(got.header.payload_bytes, HEIGHT * WIDTH * 2 * sizeof(float));
    assert_memory_equal(got.maps, maps, got.header.payload_bytes);
    assert_int_equal(got.intensity != NULL, view);
    if (view)
        assert_memory_equal(got.intensity, photograph, sizeof photograph);
}

static crn_recording_reader *open_saved(void)
{
    crn_recording_reader *reader = NULL;
    crn_error error = {""};
    if (crn_recording_open(path, &reader, &error) < 0)
        fail_msg("%s", error.text);
    return reader;
}

static void expect_end(crn_recording_reader **reader)
{
    crn_recorded_view got;
    crn_error error;
    assert_int_equal(crn_recording_next(*reader, &got, &error), 0);
    crn_recording_end(reader);
}

static void partial_fruits_are_kept_whole(void **state)
{
    (void)state;
    start(NULL);
    for (uint64_t fruit = 1; fruit <= 6; fruit++)
        send_fruit(fruit, fruit != 2 && fruit != 5);
    assert_int_equal(run_why("--last 10"), 0);
    /* Four views fit: those of the last two partial fruits. */
    expect_said("saved.tif: 4 views of 2 fruits; nothing is kept of 4 others\n");
    crn_recording_reader *reader = open_saved();
    expect_view(reader, 4, 0, true);
    expect_view(reader, 4, 1, false);
    expect_view(reader, 6, 0, true);
    expect_view(reader, 6, 1, false);
    expect_end(&reader);
    assert_int_equal(run_why("--last 3"), 0);
    expect_said("saved.tif: 4 views of 2 fruits; nothing is kept of 1 other\n");
    assert_int_equal(run_why("3 6"), 0); /* replaces the file */
    expect_said("saved.tif: 2 views of 1 fruit\n");
    reader = open_saved();
    expect_view(reader, 6, 0, true);
    expect_view(reader, 6, 1, false);
    expect_end(&reader);
    stop();
}

static void of_complete_fruits_nothing_is_kept(void **state)
{
    (void)state;
    start(NULL);
    send_fruit(1, false);
    assert_int_equal(run_why("3 1"), 1);
    expect_said("saved.tif: not written: the daemon keeps the maps of none of these fruits");
    assert_int_equal(access(path, F_OK), -1);
    stop();
}

/* At the verdict one view runs, and the other waits. */
static void views_that_were_not_judged_are_kept(void **state)
{
    (void)state;
    seen_verdict verdict;
    start(&crn_gated);
    send_view(1, 0, false, false);
    crn_gate_wait();
    send_view(1, 1, false, true);
    assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    assert_string_equal(verdict.verdict, "late");
    assert_int_equal(run_why("--late"), 0);
    expect_said("saved.tif: 1 of the 2 views received of 1 fruit\n");
    crn_recording_reader *reader = open_saved();
    expect_view(reader, 1, 1, false);
    expect_end(&reader);
    crn_gate_let_through(2);
    while (strstr(output, ": 1 of the 2 views ")) /* until the first one has ended */
        assert_int_equal(run_why("--late"), 0);
    reader = open_saved();
    expect_view(reader, 1, 0, false);
    expect_view(reader, 1, 1, false);
    expect_end(&reader);
    stop();
}

/* Neither those kept nor those held until a verdict take a slot from a view. */
static void kept_maps_cost_no_view(void **state)
{
    (void)state;
    seen_verdict verdict;
    start(&crn_gated);
    crn_gate_let_through(3 + 2 * 10);             /* and not one more */
    for (uint64_t fruit = 1; fruit <= 3; fruit++) /* one view of three open fruits is held */
        send_view(fruit, 0, true, false);
    for (int i = 0; i < 3; i++)
        crn_gate_wait();
    for (uint64_t fruit = 10; fruit < 20; fruit++)
        send_fruit(fruit, true);
    for (uint64_t fruit = 30; fruit < 34; fruit++) { /* as many views as there are slots */
        send_view(fruit, 0, false, false);
        send_view(fruit, 1, false, false);
    }
    crn_gate_let_through(64);
    for (uint64_t fruit = 30; fruit < 34; fruit++) {
        assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
        assert_string_equal(verdict.verdict, "complete");
    }
    stop();
    assert_int_equal(line.metrics.fruits.no_slot, 0);
}

static void a_missing_folder_is_named(void **state)
{
    (void)state;
    start(NULL);
    send_fruit(1, true);
    snprintf(path, sizeof path, "%s/none/saved.tif", line.folder);
    assert_int_equal(run_why("3 1"), 1);
    expect_said("/none/saved.tif.part: cannot be written: No such file or directory\n");
    assert_null(strstr(output, "keeps the maps of none"));
    stop();
}

static void a_log_has_no_maps(void **state)
{
    (void)state;
    start(NULL);
    assert_int_equal(run_why("--late --trace /dev/null"), 2);
    char command[512];
    snprintf(command, sizeof command,
             CRN_BIN "/cernita-why %s --late --save %s 2>&1 | grep -q 'save needs ENDPOINT: a log "
                     "has no maps'",
             line.folder, path);
    assert_int_equal(system(command), 0);
    stop();
}

#define ON_LINE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_LINE(partial_fruits_are_kept_whole),       ON_LINE(of_complete_fruits_nothing_is_kept),
        ON_LINE(views_that_were_not_judged_are_kept), ON_LINE(kept_maps_cost_no_view),
        ON_LINE(a_missing_folder_is_named),           ON_LINE(a_log_has_no_maps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

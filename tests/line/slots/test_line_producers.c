/* Programs that leave views in slots of a whole line: cernita-replay, and ones that are killed
 * again and again. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "tests/support/cleanup.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/line_fixture.h"
#include "tests/support/parts/recorded.h"
#include "tests/support/programs/shell.h"
#include "tests/support/random.h"
#include "tests/support/sanitized.h"

#define HEIGHT 24
#define WIDTH  40
#define BYTES  (HEIGHT * WIDTH * 2 * 4)

#ifdef CRN_SANITIZED
#define KILLS 10
#else
#define KILLS 40
#endif

static line_fixture line;
static crn_raw_producer producer;
static float *maps;

static int set_up(void **state)
{
    (void)state;
    maps = line_discs(HEIGHT, WIDTH, 2);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    crn_raw_producer_close(&producer);
    free(maps);
    return 0;
}

static const char *start(int assemble_ms)
{
    char yaml[512];
    snprintf(yaml, sizeof yaml,
             "classes: [{name: ground}, {name: rot, level: 0.5}]\n"
             "chain: [contours]\n"
             "run: {backend: openmp, workers: 1, threads: 1}\n"
             "latency: {budget_ms: 60000, assemble_ms: %d}\n"
             "log: {level: error}\n",
             assemble_ms);
    line_configure(&line, yaml);
    const char *path = line_use_slots(&line);
    line_run(&line, NULL);
    return path;
}

static crn_view_header header_of(uint64_t fruit, uint16_t view)
{
    crn_view_header header = line_header(&line, fruit, view, 2, HEIGHT, WIDTH);
    header.payload_bytes = BYTES;
    return header;
}

/* Fruits without end, on a lane of this process; `random` decides where it is when it is killed. */
static void send_for_ever(uint32_t lane)
{
    crn_raw_producer_open_when_free(line.config.ingest.slots.path, 4, BYTES, &producer);
    for (uint64_t number = 0;; number++) {
        crn_view_header header = header_of(number / 2, (uint16_t)(number % 2));
        header.lane = lane;
        header.epoch = (uint64_t)getpid();
        header.sequence = number;
        uint32_t slot = crn_raw_producer_take(&producer);
        crn_raw_producer_fill(&producer, slot, &header, maps, NULL);
        crn_raw_producer_send(&producer, slot, &header);
    }
}

static pid_t start_sender(uint32_t lane)
{
    pid_t child = crn_cleanup_fork();
    if (child == 0) {
        send_for_ever(lane);
        _exit(1);
    }
    return child;
}

/* Reads verdicts until the next one of that lane. */
static void expect_verdict_of(uint32_t lane, seen_verdict *ret_verdict)
{
    do
        assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, ret_verdict));
    while (ret_verdict->lane != lane);
}

/* Each has a ring of its own, of which there are 4. What it sent is judged, nobody else is held up,
 * and its ring comes back. */
static void producers_are_killed_again_and_again(void **state)
{
    (void)state;
    const char *path = start(20);
    crn_random random = {crn_random_seed()};
    seen_verdict verdict;
    for (uint32_t kill_number = 1; kill_number <= KILLS; kill_number++) {
        pid_t sender = start_sender(kill_number % 8 + 1);
        for (uint32_t verdicts = crn_random_below(&random, 5); verdicts > 0; verdicts--)
            expect_verdict_of(kill_number % 8 + 1, &verdict);
        kill(sender, SIGKILL);
        crn_cleanup_wait(sender, NULL);
    }
    crn_raw_producer_open_when_free(path, 0, BYTES, &producer);
    line.producer = &producer;
    line_send(&line, header_of(1, 0), maps, NULL);
    line_send(&line, header_of(1, 1), maps, NULL);
    expect_verdict_of(0, &verdict);
    assert_string_equal(verdict.verdict, "complete");
    line_stop(&line);
    assert_true(line.metrics.slots.producers >= KILLS / 2);
    assert_int_equal(line.metrics.fruits.no_slot, 0);
}

static void a_recording_is_replayed_into_slots(void **state)
{
    (void)state;
    const char *path = start(60000);
    char command[512], output[1024];
    crn_recording_writer *writer = recorded_create();
    for (uint64_t i = 0; i < 12; i++) {
        crn_recorded_view view = {.header = header_of(i / 2, (uint16_t)(i % 2)),
                                  .arrived_ns = 1000000 * (i + 1),
                                  .maps = (unsigned char *)maps};
        view.header.sequence = i;
        recorded_add(writer, &view);
    }
    recorded_finish(writer);
    snprintf(command, sizeof command, CRN_BIN "/cernita-replay %s --slots %s --loop 3",
             recorded_path, path);
    assert_int_equal(crn_test_shell(command, output, sizeof output), 0);
    assert_non_null(strstr(output, "36 views, 18 fruits in "));
    for (uint64_t i = 0; i < 18; i++) {
        seen_verdict verdict;
        assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
        assert_string_equal(verdict.verdict, "complete");
    }
    line_stop(&line);
    assert_int_equal(line.metrics.fruits.complete, 18);
    assert_int_equal(line.metrics.slots.producers, 1);
    recorded_clear();
}

static void a_line_without_slots_is_told(void **state)
{
    (void)state;
    char command[512], output[1024];
    snprintf(command, sizeof command, CRN_BIN "/cernita-replay %s --slots %s/none --wait 0 2>&1",
             recorded_path, recorded_folder);
    recorded_write_small(1);
    assert_int_equal(crn_test_shell(command, output, sizeof output), 1);
    assert_non_null(strstr(output, "/none: "));
    snprintf(command, sizeof command, CRN_BIN "/cernita-replay x.tif --slots a --to b 2>&1");
    assert_int_equal(crn_test_shell(command, output, sizeof output), 2);
    assert_non_null(strstr(output, "--to or --slots, not both"));
    recorded_clear();
}

int main(void)
{
#define ON_LINE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON_LINE(producers_are_killed_again_and_again),
        ON_LINE(a_recording_is_replayed_into_slots),
        ON_LINE(a_line_without_slots_is_told),
    };
    return cmocka_run_group_tests(tests, recorded_setup, recorded_teardown);
}

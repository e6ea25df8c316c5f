/* Views that exceed their fruit's time are abandoned, and the worker continues with the next. */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"
#include "stages/context.h"
#include "stages/stage/stage.h"
#include "tests/support/line/log_capture.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/peers/decode.h"
#include "tests/support/line/line_fixture.h"

enum { HEIGHT = 48, WIDTH = 64, SIDE = 300 };

#define BUDGET_NS (60 * CRN_NS_PER_S)

static const char yaml[] =
    "classes: [{name: ground}, {name: rot, level: 0.5}, {name: rust, level: 0.5}]\n"
    "chain: [contours: {border: closed}]\n"
    "run: {backend: openmp, workers: 1, threads: 1}\n"
    "latency: {budget_ms: 60000, assemble_ms: 60000}\n"
    "log: {level: warning}\n";

static const char long_yaml[] =
    "classes: [{name: ground}, {name: rot, level: 0.5}, {name: rust, level: 0.5}]\n"
    "chain: [contours: {border: closed}, ranklet: {windows: [6, 8, 10, 12, 16, 20, 24, 32]}]\n"
    "run: {backend: serial, workers: 1, threads: 1}\n"
    "latency: {budget_ms: 60000, assemble_ms: 60000}\n"
    "log: {level: warning}\n";

/* Each contour contains all inner ones: the worst case for nesting and textures. */
static float *concentric_squares(void)
{
    float *maps = malloc((size_t)SIDE * SIDE * 3 * sizeof *maps);
    assert_non_null(maps);
    for (int32_t y = 0; y < SIDE; y++)
        for (int32_t x = 0; x < SIDE; x++) {
            int32_t down = y < SIDE - 1 - y ? y : SIDE - 1 - y;
            int32_t along = x < SIDE - 1 - x ? x : SIDE - 1 - x;
            for (int32_t c = 0; c < 3; c++)
                maps[((size_t)y * SIDE + (size_t)x) * 3 + (size_t)c] =
                    (float)((down < along ? down : along) / 8 % 2);
        }
    return maps;
}

/* A view that runs is stopped by moving the clock past its fruit's time. */
static atomic_bool runs;

static void wait_until_it_runs(void)
{
    while (!atomic_load(&runs))
        sched_yield();
}

/* Expects the next verdict to be of a fruit whose only view is unfinished. */
static void expect_unfinished(line_fixture *line, uint64_t fruit)
{
    size_t size;
    unsigned char *bytes = line_receive_bytes(line, CRN_FIXTURE_PATIENCE_MS, &size);
    assert_non_null(bytes);
    msgpack_unpacked unpacked;
    msgpack_unpacked_init(&unpacked);
    assert_int_equal(msgpack_unpack_next(&unpacked, (const char *)bytes, size, NULL),
                     MSGPACK_UNPACK_SUCCESS);
    const msgpack_object *verdict = &unpacked.data;
    crn_expect_unsigned(crn_decoded_field(verdict, "fruit"), fruit);
    crn_expect_text(crn_decoded_field(verdict, "verdict"), "late");
    const msgpack_object *view = crn_decoded_item(crn_decoded_field(verdict, "view_states"), 0);
    crn_expect_text(crn_decoded_field(view, "state"), "lost");
    crn_expect_text(crn_decoded_field(view, "reason"), "unfinished");
    msgpack_unpacked_destroy(&unpacked);
    free(bytes);
}

static void expect_complete(line_fixture *line, uint64_t fruit)
{
    float *maps = line_discs(HEIGHT, WIDTH, 3);
    line_send(line, line_header(line, fruit, 0, 1, HEIGHT, WIDTH), maps, NULL);
    seen_verdict verdict;
    assert_true(line_receive(line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    assert_int_equal(verdict.fruit, fruit);
    assert_string_equal(verdict.verdict, "complete");
    free(maps);
}

static int (*finish_textures)(const void *settings, crn_job *job);
static atomic_int textures_status;

/* Begins with the textures when the time is over: they must notice, however fast the machine. */
static int finish_when_over(const void *settings, crn_job *job)
{
    if (job->received.height != SIDE)
        return finish_textures(settings, job);
    atomic_store(&runs, true);
    while (!crn_context_expired(job->context))
        sched_yield();
    int r = finish_textures(settings, job);
    atomic_store(&textures_status, r);
    return r;
}

static void squares_do_not_hold_the_fruits_after_them(void **state)
{
    (void)state;
    static line_fixture line;
    line_configure(&line, long_yaml);
    static crn_stage told;
    told = *line.config.chain[1].stage;
    finish_textures = told.finish;
    told.finish = finish_when_over;
    line.config.chain[1].stage = &told;
    atomic_store(&runs, false);
    line_run(&line, NULL);
    float *maps = concentric_squares();
    crn_log_capture caught;
    crn_log_capture_start(&caught);
    line_send(&line, line_header(&line, 0, 0, 1, SIDE, SIDE), maps, NULL);
    wait_until_it_runs();
    line_move_clock(&line, BUDGET_NS);
    expect_unfinished(&line, 0);
    expect_complete(&line, 1);
    assert_int_equal(atomic_load(&textures_status), -ETIME);
    assert_null(strstr(crn_log_capture_stop(&caught), "failed"));
    line_stop(&line);
    assert_int_equal(line.metrics.fruits.unfinished, 1);
    assert_int_equal(line.metrics.fruits.failed, 0);
    free(maps);
}

/* Runs for as long as it is allowed to, for the first fruit. */
static atomic_int works_left;

static int work_until_over(const void *settings, crn_job *job)
{
    (void)settings;
    bool works = atomic_fetch_sub(&works_left, 1) > 0;
    atomic_store(&runs, true);
    while (works && !crn_context_expired(job->context))
        continue;
    return crn_context_status(job->context);
}

static void a_worker_is_free_again_once_its_views_time_is_over(void **state)
{
    (void)state;
    static const crn_stage stage = {
        .name = "endless", .kind = CRN_STAGE_CONTOURS, .enqueue = work_until_over};
    static line_fixture line;
    line_configure(&line, yaml);
    line.config.chain[0].stage = &stage;
    atomic_store(&works_left, 1);
    atomic_store(&runs, false);
    line_run(&line, NULL);
    float *maps = line_discs(HEIGHT, WIDTH, 3);
    line_send(&line, line_header(&line, 0, 0, 1, HEIGHT, WIDTH), maps, NULL);
    wait_until_it_runs();
    line_move_clock(&line, BUDGET_NS);
    expect_unfinished(&line, 0);
    expect_complete(&line, 1);
    line_stop(&line);
    assert_int_equal(line.metrics.fruits.unfinished, 1);
    assert_int_equal(line.metrics.fruits.failed, 0);
    free(maps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_is_free_again_once_its_views_time_is_over),
        cmocka_unit_test(squares_do_not_hold_the_fruits_after_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

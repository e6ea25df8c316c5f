/* Views in slots on a device: it reads the rings directly, and verdicts are those of the processor.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/gpu/fake_gpu.h"
#include "tests/support/gpu/faulty_gpu.h"
#include "tests/support/line/every_stage.h"
#include "tests/support/operators/cuda.h"

#define FRUITS 8

static line_fixture line;
static crn_raw_producer producer;

static int tear_down(void **state)
{
    (void)state;
    crn_raw_producer_close(&producer);
    return 0;
}

static void start_on(const char *backend, const crn_gpu *gpu, const char *devices)
{
    every_stage_start(&line, &(every_stage_settings){.backend = backend,
                                                     .workers = 2,
                                                     .threads = 1,
                                                     .devices = devices,
                                                     .gpu = gpu,
                                                     .slots = "memfd"});
    crn_raw_producer_open(line.config.ingest.slots.path, 0, 1 << 20, &producer);
    line.producer = &producer;
}

static void start(const char *backend, const crn_gpu *gpu)
{
    start_on(backend, gpu, NULL);
}

/* The verdicts on the processor. */
static void judge_here(verdict_bytes verdicts[FRUITS])
{
    start("openmp", NULL);
    every_stage_judge(&line, 0, FRUITS, verdicts);
    line_stop(&line);
    crn_raw_producer_close(&producer);
}

/* Each lane sees its fruit again, under the next number of those that show it. */
static void judge_again(const verdict_bytes expected[FRUITS], uint64_t *round)
{
    verdict_bytes verdicts[FRUITS];
    every_stage_judge(&line, *round * FRUITS * CRN_EVERY_STAGE_SHOWN, FRUITS, verdicts);
    for (int i = 0; i < FRUITS; i++)
        every_stage_expect_same(&expected[i], &verdicts[i]);
    every_stage_free(verdicts, FRUITS);
    ++*round;
}

static uint64_t judge_many(int32_t batches, const verdict_bytes expected[FRUITS])
{
    uint64_t round = 0;
    while (crn_faulty_gpu_batches() < batches)
        judge_again(expected, &round);
    return round;
}

static void judge_on(const crn_gpu *gpu)
{
    verdict_bytes expected[FRUITS];
    judge_here(expected);
    start("cuda", crn_faulty_gpu(gpu));
    judge_many(60, expected);
    line_stop(&line);
    assert_true(line.metrics.engine.device >= 60);
    assert_int_equal(line.metrics.engine.lost, 0);
    every_stage_free(expected, FRUITS);
}

static void a_device_reads_rings_that_are_pinned(void **state)
{
    (void)state;
    int pins = atomic_load(&crn_fake_gpu_used.pins);
    verdict_bytes expected[FRUITS];
    judge_here(expected);
    start("cuda", crn_faulty_gpu(crn_fake_gpu(1, false)));
    assert_int_equal(atomic_load(&crn_fake_gpu_used.pins),
                     pins + 2); /* the line's own slots, too */
    judge_many(60, expected);
    line_stop(&line);
    assert_int_equal(atomic_load(&crn_fake_gpu_used.pins), pins);
    assert_true(line.metrics.engine.device >= 60);
    assert_true(crn_fake_gpu_all_freed());
    every_stage_free(expected, FRUITS);
}

static void rings_are_pinned_for_a_device_that_is_used(void **state)
{
    (void)state;
    start_on("auto", crn_fake_gpu(1, false), "[7, 0]");
    line_stop(&line);
    assert_int_equal(line.metrics.engine.left_out, 1);
    assert_int_equal(atomic_load(&crn_fake_gpu_used.pinned_for), 0);
}

static void rings_stay_when_a_device_is_lost(void **state)
{
    (void)state;
    int pins = atomic_load(&crn_fake_gpu_used.pins);
    verdict_bytes expected[FRUITS];
    judge_here(expected);
    start("cuda", crn_faulty_gpu(crn_fake_gpu(1, false)));
    uint64_t round = judge_many(8, expected);
    crn_faulty_gpu_set(CRN_GPU_VANISHES, 0);
    while (!crn_faulty_gpu_struck()) /* no fruit is lost with it */
        judge_again(expected, &round);
    line_stop(&line);
    assert_int_equal(line.metrics.engine.lost, 1);
    assert_int_equal(line.metrics.fruits.complete, line.metrics.fruits.wanted / 3);
    assert_true(atomic_load(&crn_fake_gpu_used.pins) > pins); /* on purpose */
    every_stage_free(expected, FRUITS);
}

static void cuda_reads_rings(void **state)
{
    (void)state;
    judge_on(crn_test_cuda());
}

int main(void)
{
#define ON_LINE(test) cmocka_unit_test_teardown(test, tear_down)
    const struct CMUnitTest tests[] = {
        ON_LINE(a_device_reads_rings_that_are_pinned),
        ON_LINE(rings_are_pinned_for_a_device_that_is_used),
        ON_LINE(cuda_reads_rings),
        ON_LINE(rings_stay_when_a_device_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

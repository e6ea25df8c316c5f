/*
 * A line with every stage: serial, openmp and the devices give the same verdicts, byte for byte,
 * for maps of every type.
 */
#include <stdlib.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/cuda.h"
#include "tests/support/line/every_stage.h"
#include "tests/support/gpu/fake_gpu.h"
#include "tests/support/gpu/faulty_gpu.h"

#define FRUITS CRN_EVERY_STAGE_SHOWN

static void judge(line_fixture *line, verdict_bytes *ret_verdicts)
{
    for (uint64_t fruit = 0; fruit < FRUITS; fruit++) {
        every_stage_send(line, fruit, 0);
        every_stage_receive(line, &ret_verdicts[fruit]);
    }
}

static void free_verdicts(verdict_bytes *verdicts)
{
    for (int i = 0; i < FRUITS; i++)
        free(verdicts[i].data);
}

/* Receives all verdicts of a line with that backend, in order of their fruits. */
static void run_line(const char *backend, int workers, int threads, verdict_bytes *ret_verdicts)
{
    static line_fixture line;
    every_stage_start(
        &line, &(every_stage_settings){.backend = backend, .workers = workers, .threads = threads});
    judge(&line, ret_verdicts);
    line_stop(&line);
}

static void serial_and_openmp_judge_alike(void **state)
{
    (void)state;
    verdict_bytes serial[FRUITS], fast[FRUITS], threaded[FRUITS];
    run_line("serial", 1, 1, serial);
    run_line("openmp", 1, 1, fast);
    run_line("openmp", 2, 3, threaded);
    for (int i = 0; i < FRUITS; i++) {
        every_stage_expect_whole(&serial[i]);
        every_stage_expect_same(&serial[i], &fast[i]);
        every_stage_expect_same(&serial[i], &threaded[i]);
    }
    free_verdicts(serial);
    free_verdicts(fast);
    free_verdicts(threaded);
}

/*
 * Sends all fruits at once, to form batches of several views, repeatedly until the devices have run
 * so many batches; every round must give the same verdicts.
 */
static void judge_many(line_fixture *line, int32_t batches, const verdict_bytes *expected)
{
    for (uint64_t first = 0; crn_faulty_gpu_batches() < batches; first += FRUITS) {
        for (uint64_t i = 0; i < FRUITS; i++)
            every_stage_send(line, first + i, (uint32_t)i);
        for (int i = 0; i < FRUITS; i++) {
            verdict_bytes verdict;
            every_stage_receive(line, &verdict);
            every_stage_expect_whole(&verdict);
            every_stage_expect_same(&expected[verdict.lane], &verdict);
            free(verdict.data);
        }
    }
}

static void judge_on(const crn_gpu *gpu, const char *devices)
{
    verdict_bytes expected[FRUITS];
    run_line("openmp", 1, 1, expected);
    static line_fixture line;
    every_stage_start(&line, &(every_stage_settings){.backend = "cuda",
                                                     .workers = 2,
                                                     .threads = 1,
                                                     .devices = devices,
                                                     .gpu = crn_faulty_gpu(gpu)});
    judge_many(&line, 60, expected);
    line_stop(&line);
    assert_true(line.metrics.engine.device >= 60);
    assert_int_equal(line.metrics.engine.lost, 0);
    free_verdicts(expected);
}

static void devices_judge_alike(void **state)
{
    (void)state;
    judge_on(crn_fake_gpu(1, false), "[0]");
    judge_on(crn_fake_gpu(3, false), "[2, 0]");
    assert_true(crn_fake_gpu_all_freed());
}

static void cuda_judges_alike(void **state)
{
    (void)state;
    judge_on(crn_test_cuda(), "[0]");
}

static void several_cuda_devices_judge_alike(void **state)
{
    (void)state;
    judge_on(crn_test_several_cuda(), "[1, 0]");
}

int main(int argc, char **argv)
{
    /* Busy waiting would take the other line's processors. OpenMP reads its settings before main,
     * hence the restart of the program. */
    if (argc == 1 && !getenv("OMP_WAIT_POLICY") && setenv("OMP_WAIT_POLICY", "passive", 1) == 0)
        execv("/proc/self/exe", argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serial_and_openmp_judge_alike),
        cmocka_unit_test(devices_judge_alike),
        cmocka_unit_test(cuda_judges_alike),
        cmocka_unit_test(several_cuda_devices_judge_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * A line with every stage: the serial definitions, the fast operators and the devices judge alike,
 * byte for byte, whatever type the maps come in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/cuda.h"
#include "tests/support/every_stage.h"
#include "tests/support/fake_gpu.h"
#include "tests/support/faulty_gpu.h"

#define FRUITS 6

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

/* All verdicts of a line with that backend, in order of their fruits. */
static void run_line(const char *backend, int workers, int threads, verdict_bytes *ret_verdicts)
{
    line_fixture line;
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

/* Fruits until the devices have run so many batches of views since they were ready for all shapes;
 * two at a time and more, so that there are batches of several. */
static void warm_up(line_fixture *line, int32_t batches)
{
    uint64_t fruit = 1000;
    int32_t begun = crn_faulty_gpu_batches();
    while (crn_faulty_gpu_batches() - begun < batches) {
        for (int i = 0; i < 4; i++)
            every_stage_send(line, fruit++, (uint32_t)i);
        for (int i = 0; i < 4; i++) {
            verdict_bytes verdict;
            every_stage_receive(line, &verdict);
            every_stage_expect_whole(&verdict);
            free(verdict.data);
        }
    }
}

static void judge_on(const crn_gpu *gpu, const char *devices)
{
    verdict_bytes expected[FRUITS], given[FRUITS];
    run_line("openmp", 1, 1, expected);
    line_fixture line;
    every_stage_start(&line, &(every_stage_settings){.backend = "cuda",
                                                     .workers = 2,
                                                     .threads = 1,
                                                     .devices = devices,
                                                     .gpu = crn_faulty_gpu(gpu)});
    warm_up(&line, 40);
    judge(&line, given);
    line_stop(&line);
    assert_true(line.metrics.engine.device >= FRUITS * EVERY_STAGE_VIEWS);
    assert_int_equal(line.metrics.engine.lost, 0);
    for (int i = 0; i < FRUITS; i++) {
        every_stage_expect_whole(&given[i]);
        every_stage_expect_same(&expected[i], &given[i]);
    }
    free_verdicts(expected);
    free_verdicts(given);
}

static void devices_judge_alike(void **state)
{
    (void)state;
    judge_on(crn_fake_gpu(1, false), "[0]");
    judge_on(crn_fake_gpu(3, false), "[2, 0]");
    assert_int_equal(atomic_load(&crn_fake_gpu_used.contexts), 0);
    assert_int_equal(atomic_load(&crn_fake_gpu_used.graphs), 0);
    assert_int_equal(atomic_load(&crn_fake_gpu_used.pinned), 0);
    assert_int_equal(atomic_load(&crn_fake_gpu_used.pins), 0);
}

static void cuda_judges_alike(void **state)
{
    (void)state;
    judge_on(crn_test_cuda(), "[0]");
}

int main(int argc, char **argv)
{
    /* Threads that wait busily would take the other line's processors; the OpenMP library has read
     * its settings before main. */
    if (argc == 1 && !getenv("OMP_WAIT_POLICY") && setenv("OMP_WAIT_POLICY", "passive", 1) == 0)
        execv("/proc/self/exe", argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serial_and_openmp_judge_alike),
        cmocka_unit_test(devices_judge_alike),
        cmocka_unit_test(cuda_judges_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

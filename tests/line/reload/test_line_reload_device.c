/* New settings while views run on devices: the device captures their chain, and every fruit is
 * judged as the processor judges it. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/gpu/fake_gpu.h"
#include "tests/support/gpu/faulty_gpu.h"
#include "tests/support/line/every_stage.h"
#include "tests/support/operators/cuda.h"

#define FRUITS CRN_EVERY_STAGE_SHOWN

/* Takes in the fixture's settings, `other` with another level and without the third step. */
static void change(line_fixture *line, bool other)
{
    crn_config config;
    crn_error error;
    int r;
    assert_int_equal(crn_config_copy(&line->config, &config), 0);
    if (other) {
        config.classes.level[1] = 0.5;
        free(config.chain[2].settings);
        memmove(&config.chain[2], &config.chain[3],
                (size_t)(config.steps - 3) * sizeof config.chain[0]);
        config.steps--;
        config.hash++;
    }
    /* A device's thread, or an earlier fruit's last view, may still have to let go. */
    while ((r = crn_line_change(line->line, &config, &error)) == -EBUSY)
        sched_yield();
    if (r < 0)
        fail_msg("%s", error.text);
}

static void expect(line_fixture *line, uint64_t first, const verdict_bytes expected[FRUITS])
{
    verdict_bytes verdicts[FRUITS];
    every_stage_judge(line, first, FRUITS, verdicts);
    for (int i = 0; i < FRUITS; i++)
        every_stage_expect_same(&expected[i], &verdicts[i]);
    every_stage_free(verdicts, FRUITS);
}

static void judge_on(const crn_gpu *gpu, const char *devices)
{
    verdict_bytes own[FRUITS], other[FRUITS];
    static line_fixture line;
    every_stage_start(&line,
                      &(every_stage_settings){.backend = "openmp", .workers = 1, .threads = 1});
    every_stage_judge(&line, 0, FRUITS, own);
    change(&line, true);
    every_stage_judge(&line, FRUITS, FRUITS, other);
    line_stop(&line);

    every_stage_start(&line, &(every_stage_settings){.backend = "cuda",
                                                     .workers = 2,
                                                     .threads = 1,
                                                     .devices = devices,
                                                     .gpu = crn_faulty_gpu(gpu)});
    uint64_t fruit = 0;
    change(&line, true);
    /* No view had the start's settings: these batches are of the new ones. */
    for (; crn_faulty_gpu_batches() < 40; fruit += FRUITS)
        expect(&line, fruit, other);
    change(&line, false);
    for (int32_t before = crn_faulty_gpu_batches(); crn_faulty_gpu_batches() < before + 40;
         fruit += FRUITS)
        expect(&line, fruit, own);
    for (int i = 0; i < 3 * CRN_GENERATIONS; i++, fruit += FRUITS) {
        change(&line, i % 2 == 0);
        expect(&line, fruit, i % 2 == 0 ? other : own);
    }
    line_stop(&line);
    assert_true(line.metrics.engine.device >= 80);
    assert_int_equal(line.metrics.engine.lost, 0);
    every_stage_free(own, FRUITS);
    every_stage_free(other, FRUITS);
}

static void devices_take_new_settings_in(void **state)
{
    (void)state;
    judge_on(crn_fake_gpu(1, false), "[0]");
    judge_on(crn_fake_gpu(3, false), "[2, 0]");
    assert_true(crn_fake_gpu_all_freed());
}

static void cuda_takes_new_settings_in(void **state)
{
    (void)state;
    judge_on(crn_test_cuda(), "[0]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_take_new_settings_in),
        cmocka_unit_test(cuda_takes_new_settings_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* An engine whose device is slow, busy or delayed by the system: no view is lost for that. The
 * clock is moved, and the budgets are so long that the machine's own delays do not count. */
#include <errno.h>
#include <sched.h>

#include "tests/unit/engine/engine_bench.h"

/* Starts with a device that can be made to fail and has run a view. */
static void start_warm(bench *it, const char *chain)
{
    start(it, chain, "run: {backend: cuda, workers: 1, threads: 1}\n",
          crn_faulty_gpu(crn_fake_gpu(1, false)));
    show(it, 20, 40);
    run_on_device(it, 1);
}

/* Blocks the device's thread for that long, by its clock, in its `after`-th call from now, which
 * one view triggers. */
static void hold_up(bench *it, int32_t after, int64_t held_ns)
{
    crn_faulty_gpu_set(CRN_GPU_STUCK, after);
    assert_int_equal(crn_engine_submit(it->engine, &it->views[0]), 0);
    while (!crn_faulty_gpu_struck())
        sched_yield();
    crn_clock_move(held_ns);
    crn_faulty_gpu_let_go();
    crn_output *output = wait_for_one(it);
    assert_int_equal(output->status, 0);
    crn_engine_release(it->engine, output);
}

static void a_step_that_was_held_up_once_comes_back(void **state)
{
    (void)state;
    bench it;
    start_warm(&it, "chain: [morphology: {size: 3, optional: true}, contours: {}]\n");
    /* The calls are: selecting the device, an event, upload, launch, and polls, for that event, the
     * upload, the check of values, and so on; this is the poll after the stages' first event. */
    hold_up(&it, 8, 4 * CRN_NS_PER_S);
    int left_out = -1;
    bool whole;
    do {
        it.views[0].deadline_ns = crn_now_ns() + 2 * CRN_NS_PER_S;
        assert_int_equal(crn_engine_submit(it.engine, &it.views[0]), 0);
        crn_output *output = wait_for_one(&it);
        whole = output->status == 0 && output->judgement.skipped == 0;
        crn_engine_release(it.engine, output);
        left_out++;
    } while (!whole && left_out < 1000);
    assert_in_range(left_out, 1, 999);
    stop(&it);
    expect_all_given_back();
}

/* Blocks the device's thread while it selects the device, uploads or launches, as when the process
 * is stopped there; the device must run that view and the following ones. */
static void hold_up_and_go_on(int64_t held_ns, uint64_t after)
{
    bench it;
    budget_ms = 24000;
    start_warm(&it, plain_chain);
    uint64_t before = crn_engine_get_stats(it.engine)->device;
    hold_up(&it, 3, held_ns);
    for (uint64_t i = 0; i < after; i++)
        judgement_of(&it);
    assert_int_equal(crn_engine_get_stats(it.engine)->lost, 0);
    assert_int_equal(crn_engine_get_stats(it.engine)->device, before + 1 + after);
    stop(&it);
    budget_ms = 20000;
    expect_all_given_back();
}

/* The batch itself has only begun. */
static void a_launch_that_was_held_up_loses_no_device(void **state)
{
    (void)state;
    hold_up_and_go_on(14 * CRN_NS_PER_S, 0);
}

/* Recent batch durations determine when to poll the next: waiting seven eighths of a quarter of
 * this one would exceed half the budget. */
static void a_batch_that_was_held_up_holds_up_none_after_it(void **state)
{
    (void)state;
    hold_up_and_go_on(64 * CRN_NS_PER_S, 1);
}

/* Submits as many views as the device takes, polling all the time. Where it is lost meanwhile, the
 * worker takes the others one after another. */
static void run_all(bench *started, crn_gpu_fault fault)
{
    bench it = *started;
    crn_faulty_gpu_set(fault, 0);
    for (int i = 0, submitted = 0; i < CRN_ENGINE_VIEWS;) {
        int r = submitted < CRN_ENGINE_VIEWS ? crn_engine_submit(it.engine, &it.views[submitted])
                                             : -EAGAIN;
        submitted += r == 0;
        if (r == 0)
            continue;
        assert_int_equal(r, -EAGAIN);
        sched_yield();
        crn_output *output = crn_engine_collect(it.engine);
        if (!output)
            continue;
        crn_engine_release(it.engine, output);
        i++;
    }
    *started = it;
}

static void run_all_with(crn_gpu_fault fault)
{
    bench it;
    budget_ms = 32000; /* a call may take 8 s */
    start_warm(&it, plain_chain);
    run_all(&it, fault);
    assert_int_equal(crn_engine_get_stats(it.engine)->lost, 0);
    stop(&it);
    budget_ms = 20000;
    expect_all_given_back();
}

/* Together they take several times the limit of one call. */
static void many_slow_calls_lose_no_device(void **state)
{
    (void)state;
    run_all_with(CRN_GPU_SLOW_UPLOADS);
}

/* The last batch ends after twice the time limit of one batch. */
static void a_busy_device_is_not_lost(void **state)
{
    (void)state;
    run_all_with(CRN_GPU_BUSY);
}

/* Batches take 5 s, and a quarter of the budget is 4: the simulated device is busy with another
 * process's kernels. Returns the batches that were counted as slow. */
static uint64_t run_beside_another(bool mps)
{
    bench it;
    budget_ms = 16000;
    const crn_gpu *gpu = crn_fake_gpu(1, false);
    crn_fake_gpu_others = 1;
    crn_fake_gpu_mps = mps;
    start(&it, plain_chain, "run: {backend: cuda, workers: 1, threads: 1}\n", crn_faulty_gpu(gpu));
    show(&it, 20, 40);
    run_on_device(&it, 1);
    run_all(&it, CRN_GPU_BUSY);
    assert_int_equal(crn_engine_get_stats(it.engine)->lost, mps ? 0 : 1);
    uint64_t slow = crn_engine_get_stats(it.engine)->device_slow;
    stop(&it);
    budget_ms = 20000;
    if (mps)
        expect_all_given_back();
    return slow;
}

static void through_mps_a_device_may_take_half_the_budget(void **state)
{
    (void)state;
    assert_true(run_beside_another(true) > 0);
}

/* Last: what a lost device held stays. */
static void without_mps_it_may_not(void **state)
{
    (void)state;
    run_beside_another(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_that_was_held_up_once_comes_back),
        cmocka_unit_test(a_launch_that_was_held_up_loses_no_device),
        cmocka_unit_test(a_batch_that_was_held_up_holds_up_none_after_it),
        cmocka_unit_test(many_slow_calls_lose_no_device),
        cmocka_unit_test(a_busy_device_is_not_lost),
        cmocka_unit_test(through_mps_a_device_may_take_half_the_budget),
        cmocka_unit_test(without_mps_it_may_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

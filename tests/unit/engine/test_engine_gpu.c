/* The engine with devices and workers: where views run, and that the results are the same. */
#include <errno.h>
#include <sched.h>

#include "tests/support/line/log_capture.h"
#include "tests/unit/engine/engine_bench.h"

#define HOUR_NS (3600 * CRN_NS_PER_S)

static void a_new_shape_goes_to_the_processor_first(void **state)
{
    (void)state;
    bench it;
    start(&it, plain_chain, "run: {backend: cuda, workers: 1, threads: 1}\n",
          crn_fake_gpu(1, false));
    assert_string_equal(crn_engine_describe(it.engine),
                        "cuda on Fake 0, 4 batches in flight, then openmp, 1 worker of 1 thread");
    show(&it, 20, 40);
    crn_judgement first = judgement_of(&it);
    const crn_engine_stats *stats = crn_engine_get_stats(it.engine);
    assert_int_equal(stats->processor, 1);
    assert_int_equal(stats->device_new, 1);
    run_on_device(&it, 3);
    crn_judgement later = judgement_of(&it);
    assert_int_equal(first.defect_count, 2);
    assert_int_equal(later.defect_count, 2);
    assert_true(later.stage_ns[0] > 0 && later.stage_ns[1] > 0);
    assert_true(later.cost_ns >= later.stage_ns[0] + later.stage_ns[1]);
    stop(&it);
    expect_all_given_back();
}

/* The device's thread is blocked until all views wait. */
static void views_that_wait_together_go_together(void **state)
{
    (void)state;
    bench it;
    start(&it, plain_chain, "run: {backend: cuda, workers: 1, threads: 1}\n",
          crn_faulty_gpu(crn_fake_gpu(1, false)));
    show(&it, 20, 40);
    run_on_device(&it, 1);
    crn_judgement expected = judgement_of(&it);
    int32_t batches = crn_faulty_gpu_batches();
    crn_faulty_gpu_set(CRN_GPU_STUCK, 0);
    assert_int_equal(crn_engine_submit(it.engine, &it.views[0]), 0);
    while (!crn_faulty_gpu_struck())
        sched_yield();
    for (int i = 1; i < 24; i++) {
        if (i % 3 == 0)
            it.views[i].maps = (unsigned char *)it.empty;
        assert_int_equal(crn_engine_submit(it.engine, &it.views[i]), 0);
    }
    crn_faulty_gpu_let_go();
    uint32_t seen = 0;
    for (int i = 0; i < 24; i++) {
        crn_output *output = wait_for_one(&it);
        assert_int_equal(output->status, 0);
        assert_true(output->on_device);
        bool empty = output->view->maps == (unsigned char *)it.empty;
        assert_int_equal(output->judgement.defect_count, empty ? 0 : expected.defect_count);
        seen |= UINT32_C(1) << output->view->slot;
        crn_engine_release(it.engine, output);
    }
    assert_int_equal(seen, (1u << 24) - 1);
    /* One alone, then the other 23 in batches of 16, 4, 2 and 1. */
    assert_int_equal(crn_faulty_gpu_batches() - batches, 5);
    stop(&it);
    expect_all_given_back();
}

/* Expects correct judgements, all by the device. */
static void judge_on_device_alone(bench *it)
{
    uint64_t before = crn_engine_get_stats(it->engine)->processor;
    for (int i = 0; i < 8; i++)
        assert_int_equal(judgement_of(it).defect_count, 2);
    assert_int_equal(crn_engine_get_stats(it->engine)->processor, before);
}

static void a_larger_shape_spoils_no_smaller_one(void **state)
{
    (void)state;
    bench it;
    start(&it, plain_chain, "run: {backend: cuda, workers: 1, threads: 1}\n",
          crn_fake_gpu(1, false));
    show(&it, 20, 40);
    run_on_device(&it, 2);
    show(&it, 50, 90);
    run_on_device(&it, 2);
    show(&it, 20, 40);
    judge_on_device_alone(&it);
    stop(&it);
    expect_all_given_back();
}

/* Submits views until the device has refused the shape; then none is sent there. */
static void run_until_refused(bench *it)
{
    const crn_engine_stats *stats = crn_engine_get_stats(it->engine);
    uint64_t asked;
    do {
        asked = stats->device_new;
        run_views(it, 8, NULL);
    } while (stats->device_new != asked || stats->processor < 64);
}

static void what_a_device_cannot_have_is_told_once(void **state)
{
    (void)state;
    bench it;
    crn_log_capture caught;
    start(&it, "chain: [haar: {levels: 1}, contours: {}]\n",
          "run: {backend: cuda, workers: 1, threads: 1}\n", crn_fake_gpu(1, true));
    show(&it, 20, 40);
    for (int i = 0; i < CRN_ENGINE_VIEWS; i++)
        it.views[i].header.type = CRN_U8;
    crn_log_capture_start(&caught);
    run_until_refused(&it);
    const char *log = crn_log_capture_stop(&caught);
    const char *told =
        strstr(log, "device 0 does not support views of 20x40x3 u8 HWC: Cannot allocate");
    assert_non_null(told);
    assert_null(strstr(told + strlen("device 0 does not support"), "does not support"));
    assert_int_equal(crn_engine_get_stats(it.engine)->device, 0);
    /* Other shapes still run there. */
    show(&it, 20, 40);
    run_on_device(&it, 1);
    stop(&it);
    expect_all_given_back();
}

/* Its memory was freed before the allocation of the larger one failed; the memory that other shapes
 * then use moves whenever a larger one is prepared again. */
static void a_shape_too_large_spoils_no_smaller_one(void **state)
{
    (void)state;
    bench it;
    crn_log_capture caught;
    start(&it, plain_chain, "run: {backend: cuda, workers: 1, threads: 1}\n",
          crn_fake_gpu(1, false));
    show(&it, 40, 60);
    run_on_device(&it, 2);
    show(&it, 60, 90);
    run_on_device(&it, 2);
    crn_fake_gpu_limit(2000000);
    show(&it, 400, 600);
    crn_log_capture_start(&caught);
    run_until_refused(&it);
    assert_non_null(
        strstr(crn_log_capture_stop(&caught), "device 0 does not support views of 400x600x3"));
    show(&it, 40, 60);
    judge_on_device_alone(&it);
    stop(&it);
    expect_all_given_back();
}

static void more_contours_than_have_room_run_on_the_processor(void **state)
{
    (void)state;
    bench it;
    crn_judgement truncated;
    start(&it, plain_chain,
          "run: {backend: openmp, workers: 1, threads: 1}\nlimits: {points: 40}\n", NULL);
    show(&it, 20, 40);
    truncated = judgement_of(&it);
    assert_true(truncated.truncated);
    stop(&it);
    start(&it, plain_chain, "run: {backend: cuda, workers: 1, threads: 1}\nlimits: {points: 40}\n",
          crn_fake_gpu(1, false));
    show(&it, 20, 40);
    while (crn_engine_get_stats(it.engine)->device_cut < 20)
        run_views(&it, 8, &truncated);
    stop(&it);
    expect_all_given_back();
}

static void an_optional_step_is_left_out_on_the_device(void **state)
{
    (void)state;
    bench it;
    start(&it, "chain: [morphology: {size: 3, optional: true}, haar: {}, contours: {}]\n",
          "run: {backend: cuda, workers: 1, threads: 1}\n", crn_fake_gpu(1, false));
    show(&it, 20, 40);
    /* Simulates steps that take longer than the remaining time, which suffices for the test. */
    atomic_store(&crn_fake_gpu_slower_ns, 2 * HOUR_NS);
    run_on_device(&it, 2);
    it.views[0].deadline_ns = crn_now_ns() + HOUR_NS;
    uint64_t before = crn_engine_get_stats(it.engine)->device;
    crn_judgement judgement = judgement_of(&it);
    assert_int_equal(crn_engine_get_stats(it.engine)->device, before + 1);
    assert_int_equal(judgement.skipped, 1);
    assert_int_equal(judgement.stage_ns[0], 0);
    assert_true(judgement.stage_ns[1] > 0);
    it.views[0].deadline_ns = CRN_NEVER_NS;
    assert_int_equal(judgement_of(&it).skipped, 0);
    atomic_store(&crn_fake_gpu_slower_ns, 0);
    stop(&it);
}

static void cancelled_views_come_back_alone(void **state)
{
    (void)state;
    bench it;
    start(&it, plain_chain, "run: {backend: cuda, workers: 1, threads: 1}\n",
          crn_fake_gpu(1, false));
    show(&it, 20, 40);
    run_on_device(&it, 1);
    for (int i = 0; i < 16; i++) {
        atomic_store(&it.views[i].cancelled, i % 2);
        assert_int_equal(crn_engine_submit(it.engine, &it.views[i]), 0);
    }
    for (int i = 0; i < 16; i++) {
        crn_output *output = wait_for_one(&it);
        assert_int_equal(output->status, output->view->slot % 2 ? -ECANCELED : 0);
        crn_engine_release(it.engine, output);
    }
    /* Cancelled views are not run, so none counts as
     * run by the CPU for lack of a prepared shape. */
    uint64_t before = crn_engine_get_stats(it.engine)->device_new;
    atomic_store(&it.views[0].cancelled, true);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(crn_engine_submit(it.engine, &it.views[0]), 0);
        crn_output *output = wait_for_one(&it);
        assert_int_equal(output->status, -ECANCELED);
        crn_engine_release(it.engine, output);
    }
    assert_int_equal(crn_engine_get_stats(it.engine)->device_new, before);
    stop(&it);
    expect_all_given_back();
}

/* The workers are busy and the device is not, when the caller asks; then the device's thread finds
 * a view of a new shape and accepts no more until it has prepared for that. */
static void room_stays_when_the_device_begins_to_prepare(void **state)
{
    (void)state;
    bench it;
    start(&it, plain_chain, "run: {backend: cuda, workers: 1, threads: 1}\n",
          crn_faulty_gpu(crn_fake_gpu(1, false)));
    show(&it, 20, 40);
    run_on_device(&it, 1);
    crn_output *busy[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(crn_engine_submit(it.engine, &it.views[i]), 0);
        busy[i] = wait_for_one(&it);
    }
    crn_faulty_gpu_set(CRN_GPU_STUCK, 0);
    assert_int_equal(crn_engine_submit(it.engine, &it.views[2]), 0);
    while (!crn_faulty_gpu_struck())
        sched_yield();
    it.views[3].header.height /= 2;
    assert_int_equal(crn_engine_submit(it.engine, &it.views[3]), 0);
    assert_true(crn_engine_has_room(it.engine));
    crn_faulty_gpu_let_go();
    while (crn_engine_has_room(it.engine))
        sched_yield();
    assert_int_equal(crn_engine_submit(it.engine, &it.views[4]), 0);
    for (int i = 0; i < 2; i++)
        crn_engine_release(it.engine, busy[i]);
    uint32_t seen = 0;
    for (int i = 0; i < 3; i++) {
        crn_output *output = wait_for_one(&it);
        assert_int_equal(output->status, 0);
        seen |= UINT32_C(1) << output->view->slot;
        crn_engine_release(it.engine, output);
    }
    assert_int_equal(seen, 1u << 2 | 1u << 3 | 1u << 4);
    stop(&it);
    expect_all_given_back();
}

static void closing_leaves_what_is_in_flight(void **state)
{
    (void)state;
    bench it;
    start(&it, plain_chain, "run: {backend: cuda, workers: 2, threads: 1}\n",
          crn_fake_gpu(1, false));
    show(&it, 20, 40);
    run_on_device(&it, 1);
    for (int i = 0; i < CRN_ENGINE_VIEWS; i++)
        assert_int_equal(crn_engine_submit(it.engine, &it.views[i]), 0);
    assert_true(crn_engine_close(&it.engine));
    stop(&it);
    expect_all_given_back();
}

/* A device excluded at the start keeps the memory that it pinned. */
static void memory_that_a_device_left_pinned_must_stay(void **state)
{
    (void)state;
    bench it;
    _Alignas(4096) static char pages[2 * 4096];
    const crn_gpu *gpu = crn_faulty_gpu(crn_fake_gpu(1, false));
    crn_faulty_gpu_set(CRN_GPU_FAILS_ONCE, 30);
    start_with(&it, plain_chain, "run: {backend: auto, workers: 1, threads: 1}\n", gpu,
               (crn_device_memory){.start = pages, .bytes = sizeof pages});
    assert_int_equal(crn_engine_get_stats(it.engine)->devices, 0);
    assert_int_equal(atomic_load(&crn_fake_gpu_used.pins), 1);
    assert_false(crn_engine_close(&it.engine));
    stop(&it);
}

static void what_a_device_left_pinned_serves_the_next(void **state)
{
    (void)state;
    bench it;
    _Alignas(4096) static char pages[2 * 4096];
    int pins = atomic_load(&crn_fake_gpu_used.pins); /* those that stay pinned */
    const crn_gpu *gpu = crn_faulty_gpu(crn_fake_gpu(2, false));
    crn_faulty_gpu_set(CRN_GPU_FAILS_ONCE, 30);
    crn_log_capture caught;
    crn_log_capture_start(&caught);
    start_with(&it, plain_chain, "run: {backend: auto, devices: [0, 1], workers: 1, threads: 1}\n",
               gpu, (crn_device_memory){.start = pages, .bytes = sizeof pages});
    const char *log = crn_log_capture_stop(&caught);
    assert_non_null(strstr(log, "device 0: cannot run the chain"));
    assert_null(strstr(log, "cannot be pinned"));
    assert_int_equal(crn_engine_get_stats(it.engine)->devices, 1);
    assert_false(crn_engine_close(&it.engine));
    assert_int_equal(atomic_load(&crn_fake_gpu_used.pins), pins + 1);
    stop(&it);
}

static void slots_are_pinned_where_that_can_be(void **state)
{
    (void)state;
    bench it;
    static const char rest[] = "run: {backend: cuda, devices: [0, 1], workers: 1, threads: 1}\n";
    _Alignas(4096) static char pages[2 * 4096];
    start_with(&it, plain_chain, rest, crn_fake_gpu(2, false),
               (crn_device_memory){.start = pages, .bytes = sizeof pages});
    assert_int_equal(atomic_load(&crn_fake_gpu_used.pins), 1);
    assert_string_equal(crn_engine_describe(it.engine), "cuda on 2 x Fake 0, 4 batches in flight, "
                                                        "then openmp, 1 worker of 1 thread");
    stop(&it);
    assert_int_equal(atomic_load(&crn_fake_gpu_used.pins), 0);
    assert_int_equal(atomic_load(&crn_fake_gpu_used.unpinned_early), 0);
    crn_log_capture caught;
    crn_log_capture_start(&caught);
    start_with(&it, plain_chain, rest, crn_fake_gpu(2, false),
               (crn_device_memory){.start = pages + 1, .bytes = 4096});
    const char *log = crn_log_capture_stop(&caught);
    assert_non_null(strstr(log, "device 0: 0 MiB of slots cannot be pinned: Invalid argument"));
    show(&it, 20, 40);
    run_on_device(&it, 2);
    stop(&it);
    assert_int_equal(atomic_load(&crn_fake_gpu_used.pins), 0);
    expect_all_given_back();
}

static void cuda_without_a_device_is_refused(void **state)
{
    (void)state;
    bench it;
    const char *yaml = "run: {backend: cuda, devices: [0, 2], workers: 1, threads: 1}\n";
    char text[1024];
    memset(&it, 0, sizeof it);
    snprintf(text, sizeof text, "%s%s%s", bench_classes, plain_chain, yaml);
    assert_int_equal(crn_config_parse("test", text, strlen(text), stderr, &it.config), 0);
    crn_config_resolve(&it.config, 2);
    crn_device_memory none = {.start = NULL};
    crn_error error;
    assert_int_equal(crn_engine_open(&it.config, NULL, none, NULL, &it.engine, &error), -ENOTSUP);
    assert_non_null(strstr(error.text, "run.backend cuda: "));
    assert_int_equal(
        crn_engine_open(&it.config, crn_fake_gpu(2, false), none, NULL, &it.engine, &error),
        -ENODEV);
    assert_string_equal(error.text, "run.devices: there is no device 2; this machine has 2, "
                                    "numbered from 0");
    const crn_gpu *failing = crn_faulty_gpu(crn_fake_gpu(3, false));
    crn_faulty_gpu_set(CRN_GPU_FAILS, 100);
    assert_int_equal(crn_engine_open(&it.config, failing, none, NULL, &it.engine, &error), -EIO);
    assert_non_null(strstr(error.text, "device 0: cannot run the chain: "));
    assert_non_null(strstr(error.text, "run.backend: auto starts without it"));
    assert_null(it.engine);
    crn_config_done(&it.config);
}

/* True if this view, which has a lane of its own, ran on a device. */
static bool runs_on_device(bench *it, int view)
{
    assert_int_equal(crn_engine_submit(it->engine, &it->views[view]), 0);
    crn_output *output = wait_for_one(it);
    assert_int_equal(output->status, 0);
    bool on_device = output->on_device;
    crn_engine_release(it->engine, output);
    return on_device;
}

static void lanes_of_a_lost_device_get_one_that_works(void **state)
{
    (void)state;
    bench it;
    start(&it, plain_chain, "run: {backend: cuda, devices: [0, 1], workers: 1, threads: 1}\n",
          crn_faulty_gpu(crn_fake_gpu(2, false)));
    show(&it, 20, 40);
    run_on_device(&it, 1);
    crn_faulty_gpu_set(CRN_GPU_FAILS_ONCE, 0);
    while (crn_engine_get_stats(it.engine)->lost == 0)
        runs_on_device(&it, 0);
    while (!runs_on_device(&it, 1))
        continue;
    assert_true(runs_on_device(&it, 0));
    assert_true(runs_on_device(&it, 2)); /* also one for a new lane */
    assert_int_equal(crn_engine_get_stats(it.engine)->lost, 1);
    stop(&it);
}

static void auto_says_which_and_why(void **state)
{
    (void)state;
    bench it;
    crn_log_capture caught;
    crn_log_capture_start(&caught);
    start(&it, plain_chain, "run: {backend: auto, workers: 1, threads: 1}\n",
          crn_fake_gpu(1, false));
    show(&it, 20, 40);
    run_views(&it, 8, NULL);
    stop(&it);
    const char *log = crn_log_capture_stop(&caught);
    assert_non_null(strstr(log, "auto: a synthetic view of 95x511x3 f32 HWC takes "));
    const char *told = strstr(log, "auto: views of 20x40x3 f32 HWC go to ");
    assert_non_null(told);
    assert_null(strstr(told + 1, "auto: views of"));
    expect_all_given_back();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_shape_goes_to_the_processor_first),
        cmocka_unit_test(views_that_wait_together_go_together),
        cmocka_unit_test(a_larger_shape_spoils_no_smaller_one),
        cmocka_unit_test(what_a_device_cannot_have_is_told_once),
        cmocka_unit_test(a_shape_too_large_spoils_no_smaller_one),
        cmocka_unit_test(more_contours_than_have_room_run_on_the_processor),
        cmocka_unit_test(an_optional_step_is_left_out_on_the_device),
        cmocka_unit_test(cancelled_views_come_back_alone),
        cmocka_unit_test(room_stays_when_the_device_begins_to_prepare),
        cmocka_unit_test(closing_leaves_what_is_in_flight),
        cmocka_unit_test(auto_says_which_and_why),
        cmocka_unit_test(slots_are_pinned_where_that_can_be),
        /* last: a failed device keeps its memory */
        cmocka_unit_test(lanes_of_a_lost_device_get_one_that_works),
        cmocka_unit_test(memory_that_a_device_left_pinned_must_stay),
        cmocka_unit_test(what_a_device_left_pinned_serves_the_next),
        cmocka_unit_test(cuda_without_a_device_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

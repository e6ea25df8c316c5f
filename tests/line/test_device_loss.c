/*
 * A device that fails, hangs, never returns or vanishes, at any call: every fruit gets exactly one
 * verdict, complete and byte-identical to openmp's.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zmq.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/cuda.h"
#include "tests/support/peers/decode.h"
#include "tests/support/line/every_stage.h"
#include "tests/support/gpu/fake_gpu.h"
#include "tests/support/gpu/faulty_gpu.h"
#include "tests/support/peers/peer.h"
#include "tests/support/random.h"
#include "tests/support/sanitized.h"

#define FRUITS CRN_EVERY_STAGE_SHOWN

/* A device may take a quarter of it. Under the thread sanitizer, preparing for three shapes takes
 * seconds, more on a busy machine. */
#ifdef __SANITIZE_THREAD__
#define BUDGET_MS 24000
#else
#define BUDGET_MS 6000
#endif

/* Batches until a line counts as warmed up, and faults at a call of one device; the simulated
 * device is slow under a sanitizer. */
#ifdef CRN_SANITIZED
#define WARM_BATCHES 10
#define CASES        4
#define START_STEP   8
#else
#define WARM_BATCHES 40
#define CASES        6
#define START_STEP   2
#endif

static verdict_bytes expected[FRUITS];

static int judge_on_processor(void **state)
{
    (void)state;
    static line_fixture line;
    every_stage_start(&line,
                      &(every_stage_settings){.backend = "openmp", .workers = 1, .threads = 1});
    for (uint64_t fruit = 0; fruit < FRUITS; fruit++) {
        every_stage_send(&line, fruit, 0);
        every_stage_receive(&line, &expected[fruit]);
    }
    line_stop(&line);
    return 0;
}

static int free_expected(void **state)
{
    (void)state;
    for (int i = 0; i < FRUITS; i++)
        free(expected[i].data);
    return 0;
}

/* Sends all fruits at once, on lanes of their own; each must be answered once. *round counts up. */
static void judge_round(line_fixture *line, uint32_t *round)
{
    uint32_t seen = 0;
    uint64_t first = (uint64_t)*round * FRUITS;
    for (uint64_t fruit = first; fruit < first + FRUITS; fruit++)
        every_stage_send(line, fruit, (uint32_t)(fruit - first));
    for (int i = 0; i < FRUITS; i++) {
        verdict_bytes verdict;
        every_stage_receive(line, &verdict);
        assert_in_range(verdict.fruit, first, first + FRUITS - 1);
        assert_int_equal(verdict.lane, verdict.fruit - first);
        assert_int_equal(verdict.sequence, *round);
        seen |= UINT32_C(1) << verdict.lane;
        every_stage_expect_whole(&verdict);
        every_stage_expect_same(&expected[verdict.lane], &verdict);
        free(verdict.data);
    }
    assert_int_equal(seen, (1u << FRUITS) - 1);
    ++*round;
}

/* Runs rounds until the devices have run that many batches. */
static uint32_t judge_until_warm(line_fixture *line, int32_t batches)
{
    uint32_t round = 0;
    while (crn_faulty_gpu_batches() < batches)
        judge_round(line, &round);
    return round;
}

/* Loses one device of `devices` by that fault, at the
 * `after`-th call of a warmed-up line, or from its start. */
static void lose(const crn_gpu *sound, const char *devices, crn_gpu_fault fault, bool warm,
                 int32_t after)
{
    print_message("%s, %s, call %d, devices %s\n", crn_gpu_fault_names[fault],
                  warm ? "warm" : "new", after, devices);
    static line_fixture line;
    every_stage_start(&line, &(every_stage_settings){.backend = "cuda",
                                                     .workers = 2,
                                                     .threads = 1,
                                                     .devices = devices,
                                                     .budget_ms = BUDGET_MS,
                                                     .gpu = crn_faulty_gpu(sound)});
    uint32_t round = warm ? judge_until_warm(&line, WARM_BATCHES) : 0;
    crn_faulty_gpu_set(fault, after);
    while (!crn_faulty_gpu_struck())
        judge_round(&line, &round);
    judge_round(&line, &round);
    judge_round(&line, &round);
    verdict_bytes more;
    assert_null(line_receive_bytes(&line, 0, &more.size));
    line_stop(&line);
    crn_faulty_gpu_let_go();
    const crn_metrics *metrics = &line.metrics;
    assert_int_equal(metrics->fruits.complete, round * FRUITS);
    assert_int_equal(metrics->fruits.partial + metrics->fruits.late, 0);
    assert_int_equal(metrics->publish.sent, round * FRUITS);
    assert_int_equal(metrics->engine.device + metrics->engine.processor,
                     round * FRUITS * CRN_EVERY_STAGE_VIEWS);
    /* A call that blocks while a device prepares delays no view, and has a longer limit. */
    assert_in_range(metrics->engine.lost, fault == CRN_GPU_STUCK ? 0 : 1,
                    fault == CRN_GPU_FAILS_ONCE ? 1 : metrics->engine.devices);
}

static void lose_at_any_call(const crn_gpu *gpu, int cases)
{
    static const crn_gpu_fault quick[] = {CRN_GPU_FAILS_ONCE, CRN_GPU_FAILS, CRN_GPU_VANISHES};
    crn_random random = {.state = crn_random_seed()};
    for (int i = 0; i < cases; i++)
        lose(gpu, "[0]", quick[i % 3], i % 4 != 3, crn_random_between(&random, 0, 150));
    /* These cases take the full time limit of a device. */
    for (int i = 0; i < (cases + 7) / 8; i++) {
        lose(gpu, "[0]", CRN_GPU_HANGS, true, crn_random_between(&random, 0, 40));
        lose(gpu, "[0]", CRN_GPU_STUCK, true, crn_random_between(&random, 0, 40));
    }
}

static void no_fruit_is_lost_with_a_device(void **state)
{
    (void)state;
    lose_at_any_call(crn_fake_gpu(1, false), CASES);
}

static void lose_one_of_two(const crn_gpu *gpu)
{
    lose(gpu, "[0, 1]", CRN_GPU_FAILS_ONCE, true, 30);
    lose(gpu, "[0, 1]", CRN_GPU_STUCK, true, 30);
    lose(gpu, "[0, 1]", CRN_GPU_VANISHES, true, 10);
}

static void one_of_two_devices_is_lost(void **state)
{
    (void)state;
    lose_one_of_two(crn_fake_gpu(2, false));
}

/* Waits for a status that reports this; they are sent once a second. */
static void wait_for_state(void *viewer, crn_peer_message *message, const char *state)
{
    for (int told = 0; told < 300; told++) {
        const msgpack_object *said =
            crn_decoded_field(crn_peer_receive_map(viewer, message), "state");
        assert_string_equal(message->topic, "status");
        if (said->via.str.size == strlen(state) &&
            memcmp(said->via.str.ptr, state, strlen(state)) == 0)
            return;
    }
    fail_msg("300 times the state was another than '%s'", state);
}

static void viewers_are_told(void **state)
{
    (void)state;
    static line_fixture line;
    every_stage_start(&line,
                      &(every_stage_settings){.backend = "cuda",
                                              .workers = 1,
                                              .threads = 1,
                                              .gpu = crn_faulty_gpu(crn_fake_gpu(1, false))});
    char endpoint[128];
    snprintf(endpoint, sizeof endpoint, "ipc://%s/viewers", line.folder);
    void *viewer = crn_peer_connect(line.zmq, ZMQ_SUB, false, endpoint);
    assert_int_equal(zmq_setsockopt(viewer, ZMQ_SUBSCRIBE, "status", 6), 0);
    crn_peer_message *message = crn_peer_message_new();
    uint32_t round = judge_until_warm(&line, 4);
    wait_for_state(viewer, message, "running");
    crn_faulty_gpu_set(CRN_GPU_VANISHES, 0);
    while (!crn_faulty_gpu_struck())
        judge_round(&line, &round);
    wait_for_state(viewer, message, "degraded");
    crn_peer_message_free(message);
    zmq_close(viewer);
    line_stop(&line);
    assert_int_equal(line.metrics.engine.lost, 1);
}

/* No device works with the given number: the line reports that and runs without. */
static void auto_goes_on_without_a_device(void **state)
{
    (void)state;
    static line_fixture line;
    every_stage_start(&line, &(every_stage_settings){.backend = "auto",
                                                     .workers = 1,
                                                     .threads = 1,
                                                     .devices = "[7]",
                                                     .gpu = crn_fake_gpu(1, false)});
    uint32_t round = 0;
    judge_round(&line, &round);
    line_stop(&line);
    assert_int_equal(line.metrics.engine.devices, 0);
}

/* The fault strikes at that call of the start. False: the start makes fewer calls. */
static bool start_with_fault(crn_gpu_fault fault, int32_t call)
{
    static line_fixture line;
    uint32_t round = 0;
    const crn_gpu *gpu = crn_faulty_gpu(crn_fake_gpu(1, false));
    crn_faulty_gpu_set(fault, call);
    every_stage_start(
        &line, &(every_stage_settings){.backend = "auto", .workers = 1, .threads = 1, .gpu = gpu});
    bool struck = crn_faulty_gpu_struck();
    char endpoint[128];
    snprintf(endpoint, sizeof endpoint, "ipc://%s/viewers", line.folder);
    void *viewer = crn_peer_connect(line.zmq, ZMQ_SUB, false, endpoint);
    assert_int_equal(zmq_setsockopt(viewer, ZMQ_SUBSCRIBE, "status", 6), 0);
    crn_peer_message *message = crn_peer_message_new();
    if (struck) {
        judge_round(&line, &round);
        wait_for_state(viewer, message, "degraded");
    }
    crn_peer_message_free(message);
    zmq_close(viewer);
    line_stop(&line);
    if (struck) {
        print_message("%s at call %d of the start: %s\n", crn_gpu_fault_names[fault], call,
                      line.metrics.engine.left_out_why);
        assert_int_equal(line.metrics.engine.devices, 0);
        assert_int_equal(line.metrics.engine.left_out, 1);
        assert_non_null(strstr(line.metrics.engine.left_out_why, "device 0: "));
        assert_non_null(strstr(line.metrics.engine.left_out_why,
                               strerror(fault == CRN_GPU_VANISHES ? ENODEV : EIO)));
    }
    return struck;
}

/* Whatever fails between the count of devices and the end of their measurement. */
static void auto_starts_without_a_device_that_fails(void **state)
{
    (void)state;
    static const crn_gpu_fault kinds[] = {CRN_GPU_VANISHES, CRN_GPU_FAILS};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        int32_t call = 0;
        while (start_with_fault(kinds[i], call))
            call += 1 + START_STEP * call; /* the start makes some thousands */
        assert_true(call > 100);
    }
}

static void no_fruit_is_lost_with_a_gpu(void **state)
{
    (void)state;
    lose_at_any_call(crn_test_cuda(), 8);
}

static void one_of_two_gpus_is_lost(void **state)
{
    (void)state;
    lose_one_of_two(crn_test_several_cuda());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_fruit_is_lost_with_a_device),
        cmocka_unit_test(one_of_two_devices_is_lost),
        cmocka_unit_test(viewers_are_told),
        cmocka_unit_test(auto_goes_on_without_a_device),
        cmocka_unit_test(auto_starts_without_a_device_that_fails),
        cmocka_unit_test(no_fruit_is_lost_with_a_gpu),
        cmocka_unit_test(one_of_two_gpus_is_lost),
    };
    return cmocka_run_group_tests(tests, judge_on_processor, free_expected);
}

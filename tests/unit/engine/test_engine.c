/* The CPU engine: every view is returned exactly once, cancelled ones are not run, a dead or stuck
 * worker is detected. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>

#include "stages/base/clock.h"
#include "src/engine/engine.h"
#include "tests/support/cmocka_prelude.h"

static sem_t gate;
static atomic_int begun;

/* Counts, then waits until the test opens the gate, so that no result depends on timing. */
static int enqueue_gated(const void *settings, crn_job *job)
{
    (void)settings;
    atomic_fetch_add(&begun, 1);
    while (sem_wait(&gate) != 0)
        continue;
    return *(const float *)job->maps.data < 0 ? -EDOM : 0;
}

static int enqueue_leaving(const void *settings, crn_job *job)
{
    (void)settings;
    (void)job;
    pthread_exit(NULL);
}

static const crn_stage stage_gated = {.name = "gated", .enqueue = enqueue_gated};
static uint32_t three(const void *settings)
{
    (void)settings;
    return 3;
}

/* Uses the full capacity for textures. */
static int finish_textures(const void *settings, crn_job *job)
{
    crn_defects *defects = job->defects;
    (void)settings;
    if (defects->texture_count != 0) /* of the previous view */
        return -EDOM;
    for (uint32_t i = 0; i < defects->texture_capacity; i++)
        defects->textures[i] = (crn_texture){.width = (int32_t)i};
    defects->texture_count = defects->texture_capacity;
    return 0;
}

static const crn_stage stage_textures = {
    .name = "textures", .finish = finish_textures, .textures = three};
static const crn_stage stage_leaving = {.name = "leaving", .enqueue = enqueue_leaving};

/* Counts its extras and calls; fails for fruit 1. */
static int extras, hooked;
static pthread_t hooked_on;

static int create_extra(const crn_config *of, void **ret_extra)
{
    (void)of;
    extras++;
    *ret_extra = &extras;
    return 0;
}

static void free_extra(void *extra)
{
    extras -= extra != NULL;
}

static int run_extra(crn_output *output)
{
    assert_ptr_equal(output->extra, &extras);
    hooked++;
    hooked_on = pthread_self();
    int64_t until_ns = crn_now_ns() + 1000;
    while (crn_now_ns() < until_ns)
        continue;
    return output->view->header.fruit == 1 ? -ENOMEM : 0;
}

static const crn_output_hook counting_hook = {
    .create = create_extra, .free = free_extra, .run = run_extra};
static const crn_output_hook *hook; /* of the next engine */

static crn_config config;
static float map_good = 1, map_bad = -1;
static crn_view views[8];

static crn_engine *engine_with(const crn_stage *stage, int64_t workers)
{
    memset(&config, 0, sizeof config);
    config.steps = 1;
    config.chain[0].stage = stage;
    config.limits.points = 16;
    config.limits.defects = 4;
    config.run.workers = workers;
    config.run.threads = 1;
    sem_init(&gate, 0, 0);
    atomic_store(&begun, 0);
    for (uint32_t i = 0; i < 8; i++) {
        views[i].slot = i;
        views[i].header = (crn_view_header){
            .fruit = i, .height = 1, .width = 1, .channels = 1, .type = CRN_F32, .layout = CRN_CHW};
        views[i].maps = (unsigned char *)&map_good;
        views[i].deadline_ns = CRN_NEVER_NS;
        atomic_store(&views[i].cancelled, false);
    }
    crn_error error;
    crn_engine *engine = NULL;
    assert_int_equal(
        crn_engine_open(&config, NULL, (crn_device_memory){.start = NULL}, hook, &engine, &error),
        0);
    return engine;
}

static crn_output *wait_for_one(crn_engine *engine)
{
    for (;;) {
        crn_engine_rearm(engine);
        crn_output *output = crn_engine_collect(engine);
        if (output)
            return output;
        struct pollfd polled = {.fd = crn_engine_descriptor(engine), .events = POLLIN};
        assert_int_equal(poll(&polled, 1, 60000), 1);
    }
}

static void open_gate(int times)
{
    for (int i = 0; i < times; i++)
        sem_post(&gate);
}

static void every_view_comes_back_once(void **state)
{
    (void)state;
    crn_engine *engine = engine_with(&stage_gated, 2);
    for (int i = 0; i < 4; i++)
        assert_int_equal(crn_engine_submit(engine, &views[i]), 0);
    assert_false(crn_engine_has_room(engine));
    assert_int_equal(crn_engine_submit(engine, &views[4]), -EAGAIN);
    open_gate(4);
    uint32_t seen = 0;
    for (int i = 0; i < 4; i++) {
        crn_output *output = wait_for_one(engine);
        assert_int_equal(output->status, 0);
        assert_int_equal(seen & 1u << output->view->slot, 0);
        seen |= 1u << output->view->slot;
        crn_engine_release(engine, output);
    }
    assert_int_equal(seen, 0xf);
    assert_true(crn_engine_has_room(engine));
    assert_null(crn_engine_collect(engine));
    crn_engine_close(&engine);
}

static void a_failing_view_says_why_and_the_next_one_runs(void **state)
{
    (void)state;
    crn_engine *engine = engine_with(&stage_gated, 1);
    views[0].maps = (unsigned char *)&map_bad;
    crn_engine_submit(engine, &views[0]);
    crn_engine_submit(engine, &views[1]);
    open_gate(2);
    crn_output *output = wait_for_one(engine);
    assert_ptr_equal(output->view, &views[0]);
    assert_int_equal(output->status, -EDOM);
    crn_engine_release(engine, output);
    output = wait_for_one(engine);
    assert_int_equal(output->status, 0);
    crn_engine_release(engine, output);
    crn_engine_close(&engine);
}

static void the_hook_runs_with_the_view_on_its_worker(void **state)
{
    (void)state;
    hook = &counting_hook;
    hooked = 0;
    crn_engine *engine = engine_with(&stage_gated, 1);
    hook = NULL;
    assert_int_equal(extras, CRN_WORKER_DEPTH);
    views[2].maps = (unsigned char *)&map_bad;
    static const int statuses[] = {0, -ENOMEM, -EDOM};
    open_gate(3);
    for (int i = 0; i < 3; i++) {
        crn_engine_submit(engine, &views[i]);
        crn_output *output = wait_for_one(engine);
        assert_int_equal(output->status, statuses[i]);
        if (i == 0) {
            assert_false(pthread_equal(hooked_on, pthread_self()));
            assert_true(output->judgement.run_ns >= 1000 && output->judgement.cost_ns >= 1000);
        }
        crn_engine_release(engine, output);
    }
    assert_int_equal(hooked, 2); /* not for the view that failed */
    crn_engine_close(&engine);
    assert_int_equal(extras, 0);
}

static void a_cancelled_view_is_not_begun(void **state)
{
    (void)state;
    crn_engine *engine = engine_with(&stage_gated, 1);
    crn_engine_submit(engine, &views[0]);
    crn_engine_submit(engine, &views[1]);
    atomic_store(&views[1].cancelled, true);
    open_gate(1);
    crn_output *output = wait_for_one(engine);
    assert_int_equal(output->status, 0);
    crn_engine_release(engine, output);
    output = wait_for_one(engine);
    assert_ptr_equal(output->view, &views[1]);
    assert_int_equal(output->status, -ECANCELED);
    assert_int_equal(atomic_load(&begun), 1);
    crn_engine_release(engine, output);
    crn_engine_close(&engine);
}

static void there_is_room_for_the_textures_of_all_defects(void **state)
{
    (void)state;
    crn_engine *engine = engine_with(&stage_textures, 1);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(crn_engine_submit(engine, &views[i]), 0);
        crn_output *output = wait_for_one(engine);
        assert_int_equal(output->status, 0);
        assert_int_equal(output->defects.texture_count, 4 * 3);
        assert_int_equal(output->defects.textures[11].width, 11);
        crn_engine_release(engine, output);
    }
    crn_engine_close(&engine);
}

/* Opens the gate once closing has cancelled the waiting view. */
static void *open_gate_when_called_off(void *argument)
{
    (void)argument;
    while (!atomic_load(&views[1].cancelled))
        sched_yield();
    open_gate(1);
    return NULL;
}

static void closing_leaves_what_waits(void **state)
{
    (void)state;
    crn_engine *engine = engine_with(&stage_gated, 1);
    crn_engine_submit(engine, &views[0]);
    crn_engine_submit(engine, &views[1]);
    while (atomic_load(&begun) == 0)
        sched_yield();
    pthread_t opener;
    assert_int_equal(pthread_create(&opener, NULL, open_gate_when_called_off, NULL), 0);
    crn_engine_close(&engine);
    pthread_join(opener, NULL);
    assert_int_equal(atomic_load(&begun), 1);
}

static void a_stuck_worker_is_noticed(void **state)
{
    (void)state;
    crn_engine *engine = engine_with(&stage_gated, 1);
    crn_error error;
    crn_engine_submit(engine, &views[3]);
    while (atomic_load(&begun) == 0)
        sched_yield();
    int64_t now_ns = crn_now_ns();
    assert_int_equal(crn_engine_check(engine, now_ns, 10 * CRN_NS_PER_S, &error), 0);
    assert_int_equal(
        crn_engine_check(engine, now_ns + 11 * CRN_NS_PER_S, 10 * CRN_NS_PER_S, &error), -EIO);
    assert_non_null(strstr(error.text, "worker 0 has been running lane 0 fruit 3"));
    open_gate(1);
    crn_output *output = wait_for_one(engine);
    assert_int_equal(
        crn_engine_check(engine, now_ns + 11 * CRN_NS_PER_S, 10 * CRN_NS_PER_S, &error), 0);
    crn_engine_release(engine, output);
    crn_engine_close(&engine);
}

static void a_worker_that_leaves_is_noticed(void **state)
{
    (void)state;
    crn_engine *engine = engine_with(&stage_leaving, 1);
    crn_error error;
    crn_engine_submit(engine, &views[0]);
    struct pollfd polled = {.fd = crn_engine_descriptor(engine), .events = POLLIN};
    assert_int_equal(poll(&polled, 1, 60000), 1);
    assert_int_equal(crn_engine_check(engine, crn_now_ns(), 10 * CRN_NS_PER_S, &error), -EIO);
    assert_non_null(strstr(error.text, "worker 0 ended unexpectedly"));
    crn_engine_close(&engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_view_comes_back_once),
        cmocka_unit_test(a_failing_view_says_why_and_the_next_one_runs),
        cmocka_unit_test(the_hook_runs_with_the_view_on_its_worker),
        cmocka_unit_test(a_cancelled_view_is_not_begun),
        cmocka_unit_test(there_is_room_for_the_textures_of_all_defects),
        cmocka_unit_test(closing_leaves_what_waits),
        cmocka_unit_test(a_stuck_worker_is_noticed),
        cmocka_unit_test(a_worker_that_leaves_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

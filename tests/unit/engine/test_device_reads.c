/* Views in a device's memory whose producers have not written them yet: what its thread asks, and
 * what its workers wait for. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "src/engine/device/internal.h"
#include "src/formats/slots/slots.h"
#include "tests/support/gpu/fake_export.h"
#include "tests/unit/engine/engine_bench.h"

enum { HEIGHT = 20, WIDTH = 40 };

typedef struct waiting {
    bench bench;
    crn_device *device;
    int done_descriptor;
    unsigned char handle[CRN_ENGINE_VIEWS][CRN_GPU_SIGNAL_BYTES];
    unsigned char *host; /* of the views, one after the other */
} waiting;

static waiting it;

/* How long a question takes by the clock, when the last one was answered, and since when the
 * device's thread is in its call, as of the last copy. */
static _Atomic int64_t question_ns, answered_ns, since_ns;

static int ask_long(void *signal)
{
    if (question_ns > 0)
        crn_clock_move(question_ns);
    answered_ns = crn_now_ns();
    return crn_fake_gpu_signal_query(signal);
}

static int (*fake_download)(crn_context *context, void *host, const void *device, size_t bytes);

static int download(crn_context *context, void *host, const void *device, size_t bytes)
{
    since_ns = atomic_load(&it.device->since_ns);
    return fake_download(context, host, device, bytes);
}

static const crn_gpu *make_gpu(void)
{
    static crn_gpu gpu;
    gpu = *crn_fake_gpu(1, false);
    fake_download = gpu.download;
    gpu.download = download;
    gpu.signal_query = ask_long;
    question_ns = 0;
    return crn_faulty_gpu(&gpu);
}

/* A device and views in its memory, none of them written. */
static int set_up(void **state)
{
    (void)state;
    crn_error error;
    start(&it.bench, plain_chain,
          "run: {backend: auto, workers: 2, threads: 1}\n"
          "ingest: {slots: {path: /nowhere, kinds: [vmm]}}\n",
          NULL);
    show(&it.bench, HEIGHT, WIDTH);
    size_t bytes = sizeof(float) * HEIGHT * WIDTH * CRN_ENGINE_CLASSES;
    it.host = calloc(CRN_ENGINE_VIEWS, bytes);
    assert_non_null(it.host);
    for (size_t i = 0; i < CRN_ENGINE_VIEWS; i++) {
        crn_view *view = &it.bench.views[i];
        view->header.payload_bytes = bytes;
        view->maps = it.host + i * bytes;
        view->gpu.maps = (unsigned char *)it.bench.maps;
        atomic_store(&view->gpu.is_copied, false);
        assert_int_equal(crn_fake_gpu_signal_create(0, &view->gpu.signal, it.handle[i]), 0);
        crn_fake_gpu_record(it.handle[i], false);
    }
    it.done_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    crn_device_base base = {.gpu = make_gpu(), .done_descriptor = it.done_descriptor};
    assert_int_equal(crn_device_open(&it.bench.config, &base, 0, &it.device, &error), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    crn_device_close(&it.device);
    for (size_t i = 0; i < CRN_ENGINE_VIEWS; i++)
        crn_fake_gpu_signal_free(it.bench.views[i].gpu.signal);
    close(it.done_descriptor);
    free(it.host);
    stop(&it.bench);
    return 0;
}

/* A worker that copies a view. */
typedef struct copying {
    pthread_t thread;
    int32_t worker;
    crn_view *view;
    sem_t ended;
    int status;
} copying;

static void *copy(void *argument)
{
    copying *self = argument;
    self->status = crn_device_copy_view(it.device, self->worker, self->view);
    sem_post(&self->ended);
    return NULL;
}

static void begin_copy(copying *ret_copy, int32_t worker, int32_t view)
{
    *ret_copy = (copying){.worker = worker, .view = &it.bench.views[view]};
    sem_init(&ret_copy->ended, 0, 0);
    assert_int_equal(pthread_create(&ret_copy->thread, NULL, copy, ret_copy), 0);
}

static int end_copy(copying *copy)
{
    pthread_join(copy->thread, NULL);
    sem_destroy(&copy->ended);
    return copy->status;
}

static void a_copy_waits_until_its_view_is_written(void **state)
{
    (void)state;
    copying copy;
    begin_copy(&copy, 0, 0);
    assert_int_equal(crn_sem_wait_until(&copy.ended, crn_now_ns() + 20 * CRN_NS_PER_MS),
                     -ETIMEDOUT);
    crn_fake_gpu_record(it.handle[0], true);
    assert_int_equal(end_copy(&copy), 0);
    assert_true(crn_view_has_maps(copy.view));
    assert_memory_equal(copy.view->maps, it.bench.maps, copy.view->header.payload_bytes);
}

/* Else its worker would ask for another view, and what is said of the first would count for that
 * one. */
static void a_read_is_not_withdrawn_while_its_event_is_asked(void **state)
{
    (void)state;
    copying copy;
    crn_faulty_gpu_set(CRN_GPU_STUCK, 0);
    begin_copy(&copy, 0, 0);
    while (!crn_faulty_gpu_struck())
        sched_yield();
    atomic_store(&copy.view->cancelled, true);
    assert_int_equal(crn_sem_wait_until(&copy.ended, crn_now_ns() + 100 * CRN_NS_PER_MS),
                     -ETIMEDOUT);
    crn_faulty_gpu_let_go();
    assert_int_equal(end_copy(&copy), -ECANCELED);
    begin_copy(&copy, 0, 1); /* and the next one is read */
    crn_fake_gpu_record(it.handle[1], true);
    assert_int_equal(end_copy(&copy), 0);
}

static void a_copy_that_waits_ends_with_its_device(void **state)
{
    (void)state;
    copying copy;
    const char *why;
    crn_faulty_gpu_set(CRN_GPU_VANISHES, 0);
    begin_copy(&copy, 0, 0);
    assert_int_equal(end_copy(&copy), -ENODEV);
    assert_true(crn_device_lost(it.device, crn_now_ns(), &why));
    assert_non_null(strstr(why, "asking for an event"));
}

static void an_event_that_fails_alone_loses_no_device(void **state)
{
    (void)state;
    copying copy;
    const char *why;
    crn_faulty_gpu_set(CRN_GPU_FAILS_ONCE, 0);
    begin_copy(&copy, 0, 0);
    while (!crn_faulty_gpu_struck())
        sched_yield();
    crn_fake_gpu_record(it.handle[0], true);
    assert_int_equal(end_copy(&copy), 0);
    assert_false(crn_device_lost(it.device, crn_now_ns(), &why));
}

/* Else questions, together, would count as one call that does not return. */
static void each_read_is_a_call_of_its_own(void **state)
{
    (void)state;
    copying copy;
    crn_fake_gpu_record(it.handle[0], true);
    question_ns = 10 * CRN_NS_PER_S;
    begin_copy(&copy, 0, 0);
    assert_int_equal(end_copy(&copy), 0);
    assert_true(since_ns >= answered_ns);
}

/* The watchdog would end the process for it. */
static void a_device_that_waits_for_a_producer_is_not_stuck(void **state)
{
    (void)state;
    crn_view *view = &it.bench.views[0];
    crn_device_view *from;
    assert_int_equal(crn_device_submit(it.device, view, crn_now_ns()), 0);
    for (int i = 0; i < 3; i++) { /* again and again */
        while (atomic_load(&it.device->pulse.until_ns) <= crn_now_ns())
            sched_yield();
        crn_clock_move(10 * CRN_NS_PER_S);
    }
    atomic_store(&view->cancelled, true);
    while (!(from = crn_device_collect(it.device)))
        sched_yield();
    assert_int_equal(from->status, -ETIME);
    crn_device_release(from);
    while (atomic_load(&it.device->pulse.until_ns) != 0)
        sched_yield();
}

int main(void)
{
#define WITH_DEVICE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_DEVICE(a_copy_waits_until_its_view_is_written),
        WITH_DEVICE(a_read_is_not_withdrawn_while_its_event_is_asked),
        WITH_DEVICE(a_copy_that_waits_ends_with_its_device),
        WITH_DEVICE(an_event_that_fails_alone_loses_no_device),
        WITH_DEVICE(each_read_is_a_call_of_its_own),
        WITH_DEVICE(a_device_that_waits_for_a_producer_is_not_stuck),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

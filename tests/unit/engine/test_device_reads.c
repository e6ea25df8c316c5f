/* Views in a device's memory whose producers have not written them yet: what its thread asks, and
 * what its workers wait for. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "src/engine/device/internal.h"
#include "src/engine/worker.h"
#include "src/formats/slots/slots.h"
#include "stages/backend.h"
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

/* `it.device` once it is open and until it is closed: for its thread, in the calls below. */
static crn_device *_Atomic opened;

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

/* How long a copy takes by the clock, and whether it returns only after the gate is opened. */
static _Atomic int64_t copy_ns;
static atomic_bool is_gated;
static sem_t reached, gate;

static void pass_gate(void)
{
    if (!atomic_exchange(&is_gated, false))
        return;
    sem_post(&reached);
    while (sem_wait(&gate) != 0)
        continue;
}

static int (*fake_download)(crn_context *context, void *host, const void *device, size_t bytes);

static int download(crn_context *context, void *host, const void *device, size_t bytes)
{
    crn_device *device_of_test = opened;
    if (device_of_test)
        since_ns = atomic_load(&device_of_test->since_ns);
    if (copy_ns > 0)
        crn_clock_move(copy_ns);
    pass_gate();
    return fake_download(context, host, device, bytes);
}

/* Graphs captured since it was set to 0, and whether the first worker's read was done by the 10th;
 * the first capture passes the gate. */
static atomic_int captures;
static atomic_bool is_served;
static int (*fake_begin_capture)(crn_context *context);

static int begin_capture(crn_context *context)
{
    crn_device *device = opened;
    if (atomic_load(&captures) == 10 && device) {
        int state = atomic_load(&device->reads[0].state);
        /* idle: its worker has taken it already */
        is_served = state == CRN_READ_DONE || state == CRN_READ_IDLE;
    }
    atomic_fetch_add(&captures, 1);
    if (device)
        pass_gate();
    return fake_begin_capture(context);
}

static const crn_gpu *make_gpu(void)
{
    static crn_gpu gpu;
    const crn_gpu *fake = crn_fake_gpu(1, false);
    question_ns = copy_ns = 0;
    if (gpu.ops) /* a thread that was blocked may still be in here */
        return crn_faulty_gpu(&gpu);
    gpu = *fake;
    fake_download = gpu.download;
    fake_begin_capture = gpu.begin_capture;
    gpu.download = download;
    gpu.begin_capture = begin_capture;
    gpu.signal_query = ask_long;
    sem_init(&reached, 0, 0);
    sem_init(&gate, 0, 0);
    return crn_faulty_gpu(&gpu);
}

/* Views in a device's memory, none of them written. */
static void place_views(void)
{
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
}

static void free_views(void)
{
    for (size_t i = 0; i < CRN_ENGINE_VIEWS; i++)
        crn_fake_gpu_signal_free(it.bench.views[i].gpu.signal);
    free(it.host);
}

#define RUN   "run: {backend: auto, workers: 2, threads: 1}\n"
#define SLOTS "ingest: {slots: {path: /nowhere, kinds: [vmm]}}\n"

/* Views and a device, and beside them an engine that has none. */
static int set_up(void **state)
{
    (void)state;
    crn_error error;
    start(&it.bench, plain_chain, RUN SLOTS, NULL);
    place_views();
    it.done_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    crn_device_base base = {.gpu = make_gpu(), .done_descriptor = it.done_descriptor};
    assert_int_equal(crn_device_open(&it.bench.config, &base, 0, &it.device, &error), 0);
    opened = it.device;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    opened = NULL;
    crn_device_close(&it.device);
    free_views();
    close(it.done_descriptor);
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

/* Waits until the read of that worker is asked for. */
static void wait_until_asked(int32_t worker)
{
    while (atomic_load(&it.device->reads[worker].state) == CRN_READ_IDLE)
        sched_yield();
}

static void half_of_the_workers_wait_for_events_that_do_not_come(void **state)
{
    (void)state;
    copying patient, other;
    begin_copy(&patient, 0, 0);
    wait_until_asked(0);
    crn_clock_move(200 * CRN_NS_PER_MS);
    begin_copy(&other, 1, 1);
    assert_int_equal(end_copy(&other), -ETIME);
    crn_fake_gpu_record(it.handle[2], true);
    begin_copy(&other, 1, 2); /* one that is written is read */
    assert_int_equal(end_copy(&other), 0);
    crn_fake_gpu_record(it.handle[0], true);
    assert_int_equal(end_copy(&patient), 0);
    begin_copy(&other, 1, 3); /* and one more may wait */
    wait_until_asked(1);
    crn_fake_gpu_record(it.handle[3], true);
    assert_int_equal(end_copy(&other), 0);
}

/* What its producer and the copy took is no cost of a view that then has no time left. */
static void waiting_for_a_producer_costs_nothing(void **state)
{
    (void)state;
    const char *why;
    crn_worker *worker;
    crn_output *output;
    crn_view *view = &it.bench.views[0];
    int done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    assert_int_equal(crn_worker_create(&it.bench.config, crn_backend_ops(CRN_BACKEND_OPENMP, &why),
                                       NULL, 0, done, &worker),
                     0);
    view->config = &it.bench.config;
    view->deadline_ns = crn_now_ns() + 500 * CRN_NS_PER_S;
    copy_ns = 1000 * CRN_NS_PER_S;
    crn_fake_gpu_record(it.handle[0], true);
    crn_worker_submit(worker, view, NULL, it.device);
    while (!(output = crn_worker_collect(worker)))
        sched_yield();
    assert_int_equal(output->status, -ETIME);
    assert_in_range(output->took_ns, 0, 500 * CRN_NS_PER_S);
    crn_worker_free(&worker);
    close(done);
}

/* Which may take seconds. */
static void reads_are_served_while_a_shape_is_prepared(void **state)
{
    (void)state;
    copying copy;
    crn_device_view *from;
    crn_fake_gpu_record(it.handle[0], true);
    crn_fake_gpu_record(it.handle[1], true);
    captures = 0;
    is_served = false;
    is_gated = true;
    assert_int_equal(crn_device_submit(it.device, &it.bench.views[1], crn_now_ns()), 0);
    while (!(from = crn_device_collect(it.device)))
        sched_yield();
    assert_int_equal(from->status, -EAGAIN);
    crn_device_release(from);
    assert_int_equal(crn_sem_wait_until(&reached, crn_now_ns() + 60 * CRN_NS_PER_S), 0);
    begin_copy(&copy, 0, 0);
    wait_until_asked(0);
    sem_post(&gate);
    assert_int_equal(end_copy(&copy), 0);
    while (atomic_load(&captures) <= 10)
        sched_yield();
    assert_true(is_served);
}

static atomic_bool is_closed;

static void *let_time_pass(void *none)
{
    while (!is_closed) {
        crn_clock_move(2 * CRN_NS_PER_S);
        poll(NULL, 0, 1);
    }
    return none;
}

/* A worker waits for its copy, which is not withdrawn, and the line does not look any more. */
static void an_engine_ends_although_a_copy_does_not(void **state)
{
    (void)state;
    pthread_t clock;
    start(&it.bench, plain_chain,
          "run: {backend: cuda, workers: 2, threads: 1}\n" SLOTS "record: {dir: /nowhere}\n",
          make_gpu());
    place_views();
    crn_view *view = &it.bench.views[0];
    view->config = &it.bench.config;
    crn_fake_gpu_record(it.handle[0], true);
    run_on_device(&it.bench, 1);
    atomic_store(&view->gpu.is_copied, false);
    is_gated = true;
    assert_int_equal(crn_engine_submit(it.bench.engine, view), 0);
    while (crn_sem_wait_until(&reached, crn_now_ns() + CRN_NS_PER_MS) < 0)
        assert_null(crn_engine_collect(it.bench.engine));
    is_closed = false;
    assert_int_equal(pthread_create(&clock, NULL, let_time_pass, NULL), 0);
    assert_false(crn_engine_close(&it.bench.engine));
    is_closed = true;
    pthread_join(clock, NULL);
    sem_post(&gate);
    free_views();
    stop(&it.bench);
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
        WITH_DEVICE(half_of_the_workers_wait_for_events_that_do_not_come),
        WITH_DEVICE(waiting_for_a_producer_costs_nothing),
        WITH_DEVICE(reads_are_served_while_a_shape_is_prepared),
        cmocka_unit_test(an_engine_ends_although_a_copy_does_not),
        WITH_DEVICE(each_read_is_a_call_of_its_own),
        WITH_DEVICE(a_device_that_waits_for_a_producer_is_not_stuck),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

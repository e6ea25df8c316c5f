/* A device whose slots are all being read: views wait, and its thread sleeps until a worker has
 * finished one. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/unit/engine/engine_bench.h"

enum { ALL = 24, AT_ONCE = 1 + 16 + 4 + 2 }; /* views; those in the first four batches */

static int done_descriptor;

/* The next view that the device returns. */
static crn_device_view *wait_for_view(crn_device *device)
{
    for (;;) {
        uint64_t count;
        if (read(done_descriptor, &count, sizeof count) < 0)
            assert_int_equal(errno, EAGAIN);
        crn_device_view *view = crn_device_collect(device);
        if (view)
            return view;
        struct pollfd polled = {.fd = done_descriptor, .events = POLLIN};
        assert_int_equal(poll(&polled, 1, 60000), 1);
    }
}

/* Submits the view until it has run there: a new shape is prepared first. */
static void warm_up(crn_device *device, crn_view *view)
{
    for (bool has_run = false; !has_run;) {
        int r = crn_device_submit(device, view, crn_now_ns());
        if (r == -EBUSY) {
            sched_yield();
            continue;
        }
        assert_int_equal(r, 0);
        crn_device_view *from = wait_for_view(device);
        has_run = from->status == 0;
        crn_device_finished(from);
        crn_device_release(from);
    }
}

static void a_freed_slot_wakes_who_waits_for_it(void **state)
{
    (void)state;
    bench it;
    crn_error error;
    crn_device *device;
    crn_device_view *views[ALL];
    /* The engine of the fixture has no device. */
    start(&it, plain_chain, "run: {backend: openmp, workers: 1, threads: 1}\n", NULL);
    show(&it, 20, 40);
    done_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    crn_device_base base = {.gpu = crn_faulty_gpu(crn_fake_gpu(1, false)),
                            .done_descriptor = done_descriptor};
    assert_int_equal(crn_device_open(&it.config, &base, 0, &device, &error), 0);
    warm_up(device, &it.views[0]);
    crn_faulty_gpu_set(CRN_GPU_STUCK, 0);
    assert_int_equal(crn_device_submit(device, &it.views[0], crn_now_ns()), 0);
    while (!crn_faulty_gpu_struck())
        sched_yield();
    for (int32_t i = 1; i < ALL; i++)
        assert_int_equal(crn_device_submit(device, &it.views[i], crn_now_ns()), 0);
    crn_faulty_gpu_let_go();
    for (int32_t i = 0; i < AT_ONCE; i++)
        views[i] = wait_for_view(device);
    assert_null(crn_device_collect(device));
    for (int32_t i = 0; i < AT_ONCE; i++)
        crn_device_finished(views[i]);
    views[AT_ONCE] = wait_for_view(device);
    crn_device_finished(views[AT_ONCE]);
    for (int32_t i = 0; i < ALL; i++) {
        assert_int_equal(views[i]->status, 0);
        crn_device_release(views[i]);
    }
    assert_true(crn_device_close(&device));
    close(done_descriptor);
    stop(&it);
    expect_all_given_back();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_freed_slot_wakes_who_waits_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

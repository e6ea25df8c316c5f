/* Threads that start between crn_priority_begin_io() and crn_priority_end_io() keep the I/O
 * thread's scheduling, and the thread that started them gets its own back. Short slices, and the
 * priority of writers. */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "stages/base/process/priority.h"
#include "tests/support/cmocka_prelude.h"

typedef struct scheduling {
    int policy, nice;
    uint64_t slice_ns; /* 0 where the kernel has none of its own for each thread, before 6.12 */
} scheduling;

/* sched_runtime of sched_getattr(2). */
static uint64_t slice_ns(void)
{
    unsigned char own[48] = {0};
    uint64_t runtime_ns;
    assert_int_equal(syscall(SYS_sched_getattr, 0, own, sizeof own, 0), 0);
    memcpy(&runtime_ns, own + 24, sizeof runtime_ns);
    return runtime_ns;
}

static void *look(void *data)
{
    scheduling *seen = data;
    struct sched_param param;
    pthread_getschedparam(pthread_self(), &seen->policy, &param);
    seen->nice = getpriority(PRIO_PROCESS, 0);
    seen->slice_ns = slice_ns();
    return NULL;
}

static scheduling of_new_thread(void)
{
    scheduling seen = {0};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, look, &seen), 0);
    pthread_join(thread, NULL);
    return seen;
}

static void test_inherited(void **state)
{
    (void)state;
    scheduling before = of_new_thread();
    crn_priority_saved saved = crn_priority_begin_io();
    scheduling inside = of_new_thread();
    crn_priority_end_io(&saved);
    scheduling after = of_new_thread();

    assert_int_equal(after.policy, before.policy);
    assert_int_equal(after.nice, before.nice);
    assert_int_equal(after.slice_ns, before.slice_ns);
    if (before.slice_ns)
        assert_int_equal(inside.slice_ns, 100000);
    if (!saved.changed)
        skip(); /* no right to a nice value below 0 */
    assert_int_equal(inside.policy, SCHED_BATCH);
    assert_int_equal(inside.nice, -20);
}

static void test_without_the_right(void **state)
{
    (void)state;
    struct sched_param none = {0};
    if (pthread_setschedparam(pthread_self(), SCHED_IDLE, &none) != 0)
        skip();
    crn_priority_saved saved = crn_priority_begin_io();
    assert_false(saved.changed);
    assert_int_equal(of_new_thread().policy, SCHED_IDLE);
    crn_priority_end_io(&saved);
    assert_int_equal(of_new_thread().policy, SCHED_IDLE);
}

static void *wake_at_once(void *data)
{
    crn_priority_wake_at_once();
    return look(data);
}

static void *write_something(void *data)
{
    crn_priority_lower_writer();
    return look(data);
}

static scheduling of_thread_that(void *(*does)(void *))
{
    scheduling seen = {0};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, does, &seen), 0);
    pthread_join(thread, NULL);
    return seen;
}

static void test_short_slice(void **state)
{
    (void)state;
    scheduling ordinary = of_new_thread(), short_one = of_thread_that(wake_at_once);
    assert_int_equal(short_one.policy, ordinary.policy);
    assert_int_equal(short_one.nice, ordinary.nice);
    if (ordinary.slice_ns == 0 || ordinary.policy != SCHED_OTHER)
        skip();
    assert_int_equal(short_one.slice_ns, 100000);
}

static void test_writer(void **state)
{
    (void)state;
    int expected = of_new_thread().nice + 10;
    assert_int_equal(of_thread_that(write_something).nice, expected > 19 ? 19 : expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inherited),
        cmocka_unit_test(test_short_slice),
        cmocka_unit_test(test_writer),
        cmocka_unit_test(test_without_the_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

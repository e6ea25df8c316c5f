/* Threads that start between crn_priority_begin_io() and crn_priority_end_io() keep the I/O
 * thread's scheduling, and the thread that started them gets its own back. */
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include "stages/base/process/priority.h"
#include "tests/support/cmocka_prelude.h"

typedef struct scheduling {
    int policy, nice;
} scheduling;

static void *look(void *data)
{
    scheduling *seen = data;
    struct sched_param param;
    pthread_getschedparam(pthread_self(), &seen->policy, &param);
    seen->nice = getpriority(PRIO_PROCESS, 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inherited),
        cmocka_unit_test(test_without_the_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

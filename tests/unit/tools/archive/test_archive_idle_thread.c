/* Work that is left to idle processors is done once, whoever does it. */
#include "tools/archive/idle_thread.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/random.h"

static crn_idle_thread *idle;
static pthread_t caller;

typedef struct work_done {
    int calls, by_caller;
    int policy; /* of the last one that another thread did */
} work_done;

static int work(void *context)
{
    work_done *done = context;
    bool is_caller = pthread_equal(pthread_self(), caller);
    done->by_caller += is_caller;
    if (!is_caller)
        done->policy = sched_getscheduler(0);
    return ++done->calls;
}

static int set_up(void **state)
{
    (void)state;
    caller = pthread_self();
    return crn_idle_thread_start(&idle);
}

static int tear_down(void **state)
{
    (void)state;
    crn_idle_thread_stop(&idle);
    crn_idle_thread_stop(&idle);
    return 0;
}

/* However busy this machine is, at some time it is not. */
static void it_is_done_under_the_idle_policy(void **state)
{
    (void)state;
    work_done done = {.policy = -1};
    int own = sched_getscheduler(0);
    crn_idle_patience patience = {.begin_ns = CRN_NS_PER_S, .within_ns = CRN_NS_PER_S};
    while (done.calls == done.by_caller) {
        int result = crn_idle_thread_run(idle, work, &done, &patience);
        assert_int_equal(result, done.calls);
    }
    assert_int_equal(done.policy, SCHED_IDLE);
    assert_int_equal(sched_getscheduler(0), own);
}

/* The caller takes back what the other thread is about to take, at any moment of it. */
static void each_work_is_done_once(void **state)
{
    (void)state;
    crn_random random = {crn_random_seed()};
    work_done done = {.policy = -1};
    int works = 100 * (int)crn_random_cases(200);
    for (int i = 1; i <= works || done.by_caller == 0; i++) {
        crn_idle_patience patience = {.begin_ns = (int64_t)crn_random_below(&random, 40) * 1000,
                                      .within_ns = CRN_NS_PER_S};
        assert_int_equal(crn_idle_thread_run(idle, work, &done, &patience), i);
        assert_int_equal(done.calls, i);
    }
}

/* It waited longer than nothing at all. */
static void a_thread_that_waits_rests(void **state)
{
    (void)state;
    work_done done = {.policy = -1};
    crn_idle_patience patience = {
        .begin_ns = CRN_NS_PER_S, .within_ns = -1, .rest_ns = 3600 * CRN_NS_PER_S};
    while (done.calls == done.by_caller)
        crn_idle_thread_run(idle, work, &done, &patience);
    int by_caller = done.by_caller;
    for (int i = 1; i <= 100; i++)
        crn_idle_thread_run(idle, work, &done, &patience);
    assert_int_equal(done.by_caller, by_caller + 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_is_done_under_the_idle_policy, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_thread_that_waits_rests, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_work_is_done_once, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

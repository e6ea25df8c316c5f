/* A started thread receives no signal but those of its own faults; the starter's mask stays. */
#include <pthread.h>
#include <signal.h>

#include "stages/base/process/thread.h"
#include "tests/support/cmocka_prelude.h"

static void *look(void *mask)
{
    pthread_sigmask(SIG_SETMASK, NULL, mask);
    return mask;
}

static void only_its_faults(void **state)
{
    (void)state;
    sigset_t mask, before = {0}, after = {0}; /* the kernel fills a part */
    pthread_t thread;
    void *returned;
    look(&before);
    assert_int_equal(crn_thread_start(&thread, look, &mask), 0);
    assert_int_equal(pthread_join(thread, &returned), 0);
    assert_ptr_equal(returned, &mask);
    static const int blocked[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGUSR1, SIGPIPE};
    static const int taken[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof blocked / sizeof blocked[0]; i++)
        assert_int_equal(sigismember(&mask, blocked[i]), 1);
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        assert_int_equal(sigismember(&mask, taken[i]), 0);
    look(&after);
    assert_memory_equal(&before, &after, sizeof before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_its_faults)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

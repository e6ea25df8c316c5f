#include "tests/support/cleanup.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define STARTED_MAX 64

static struct {
    void (*stop)(void *what);
    void *what;
} started[STARTED_MAX];
static int started_count;
static int of_group; /* of these, what the group's set-up started: it serves all tests */

/* The tests as written, and the one that runs: cmocka runs them in their order. */
static const struct CMUnitTest *written;
static size_t next;

void crn_cleanup_add(void (*stop)(void *what), void *what)
{
    if (started_count == STARTED_MAX)
        abort();
    started[started_count].stop = stop;
    started[started_count++].what = what;
}

void crn_cleanup_drop(const void *what)
{
    int at = started_count - 1;
    while (at >= 0 && started[at].what != what)
        at--;
    if (at < 0)
        return;
    if (at < of_group)
        of_group--;
    for (started_count--; at < started_count; at++)
        started[at] = started[at + 1];
}

static void stop_down_to(int count)
{
    while (started_count > count) {
        started_count--;
        started[started_count].stop(started[started_count].what);
    }
}

static int set_up(void **state)
{
    if (next == 0)
        of_group = started_count;
    const struct CMUnitTest *test = &written[next++];
    return test->setup_func ? test->setup_func(state) : 0;
}

static int tear_down(void **state)
{
    const struct CMUnitTest *test = &written[next - 1];
    int status = test->teardown_func ? test->teardown_func(state) : 0;
    stop_down_to(of_group);
    return status;
}

static void kill_process(void *pid)
{
    (void)kill((pid_t)(intptr_t)pid, SIGKILL);
    (void)waitpid((pid_t)(intptr_t)pid, NULL, 0);
}

void crn_cleanup_add_process(pid_t pid)
{
    crn_cleanup_add(kill_process, (void *)(intptr_t)pid);
}

pid_t crn_cleanup_fork(void)
{
    pid_t parent = getpid(), child = fork();
    assert_true(child >= 0);
    if (child > 0) {
        crn_cleanup_add_process(child);
        return child;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it has died meanwhile */
        _exit(1);
    return 0;
}

pid_t crn_cleanup_wait(pid_t pid, int *ret_status)
{
    pid_t ended = waitpid(pid, ret_status, 0);
    crn_cleanup_drop((void *)(intptr_t)pid);
    return ended;
}

int crn_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count,
                        CMFixtureFunction group_set_up, CMFixtureFunction group_tear_down)
{
    struct CMUnitTest *wrapped = calloc(count, sizeof *wrapped);
    if (!wrapped)
        return -1;
    for (size_t i = 0; i < count; i++) {
        wrapped[i] = tests[i];
        wrapped[i].setup_func = set_up;
        wrapped[i].teardown_func = tear_down;
    }
    written = tests;
    next = 0;
    int failed = _cmocka_run_group_tests(name, wrapped, count, group_set_up, group_tear_down);
    stop_down_to(0);
    free(wrapped);
    return failed;
}

/*
 * What a test has started, such as a line or a process, stops when the test fails, too: a failed
 * assertion leaves the test by longjmp, and what goes on running would disturb the tests after it.
 * cmocka_prelude.h makes cmocka_run_group_tests() do that after each test.
 */
#ifndef CRN_TESTS_SUPPORT_CLEANUP_H
#define CRN_TESTS_SUPPORT_CLEANUP_H

#include <sys/types.h>

#include "tests/support/cmocka_prelude.h"

/* After the test that runs now `stop` is called with `what`, unless it is dropped before. `what`
 * must outlive the test's function: static, or on the heap. The last added is stopped first. */
void crn_cleanup_add(void (*stop)(void *what), void *what);
void crn_cleanup_drop(const void *what);

/* The same for a child process, which is killed. crn_cleanup_wait is waitpid, and drops it. */
void crn_cleanup_add_process(pid_t pid);

/* fork(), whose child is killed so, and also dies when this process does. */
pid_t crn_cleanup_fork(void);
pid_t crn_cleanup_wait(pid_t pid, int *ret_status);

#endif

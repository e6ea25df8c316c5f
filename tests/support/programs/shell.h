/* Commands of the shell and child processes, for tests of programs. */
#ifndef CRN_TESTS_SUPPORT_PROGRAMS_SHELL_H
#define CRN_TESTS_SUPPORT_PROGRAMS_SHELL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Runs a command and waits for its end; returns its exit status, with the first `size` - 1 bytes
 * that it prints to stdout in `ret_output`. */
int crn_test_shell(const char *command, char *ret_output, size_t size);

/* Waits until a child process has done something. The test fails where the child ends before, or
 * has not done it within a minute. */
void crn_test_await(pid_t child, bool (*is_done)(pid_t child, void *what), void *what);

/* The same for a file that the child makes. */
void crn_test_await_file(pid_t child, const char *path);

#endif

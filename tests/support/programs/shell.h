/* Commands of the shell, for tests of programs. */
#ifndef CRN_TESTS_SUPPORT_PROGRAMS_SHELL_H
#define CRN_TESTS_SUPPORT_PROGRAMS_SHELL_H

#include <stddef.h>

/* Runs a command and waits for its end; returns its exit status, with the first `size` - 1 bytes
 * that it prints to stdout in `ret_output`. */
int crn_test_shell(const char *command, char *ret_output, size_t size);

#endif

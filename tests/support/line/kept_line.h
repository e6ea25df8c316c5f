/* A running line that keeps its state over restarts: all its files are in test_folder. */
#ifndef CRN_TESTS_SUPPORT_KEPT_LINE_H
#define CRN_TESTS_SUPPORT_KEPT_LINE_H

#include <stddef.h>

#include "tests/support/line/daemon.h"

/* Writes line.yaml: one class, rot, outlined at `level`; `rest`: further lines of YAML, or "". */
void kept_line_write(const char *level, const char *rest);

/* Starts it, and waits until it is ready. */
void kept_line_start(daemon_process *line);

/* Ends it by the signal. */
void kept_line_end(daemon_process *line, int number);

/* The exit status of `cernitactl REQUEST`, and what it printed. */
int kept_line_control(const char *request, char *ret_output, size_t bytes);

#endif

/* Runs cernita-sorter on the messages of a line that the test plays. */
#ifndef CRN_TESTS_SUPPORT_SORTER_PROGRAM_H
#define CRN_TESTS_SUPPORT_SORTER_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/support/line/daemon.h"

/* Outlets of the files that sorter_write_file() writes: first 1, waste 2, again 3, dead 4. The rule
 * sends fruits with `rot` to waste, late, partial (unless rules decide) and unmeasured ones go to
 * again, and dead is for silence. */

typedef struct sorter_program {
    void *zmq, *grader; /* the line's socket, bound by sorter_bind() */
    char endpoint[64];
    daemon_process process;
} sorter_program;

extern sorter_program sorter;

/* Set-up and tear-down of cmocka for a test; a folder comes with it (folder.h). */
int sorter_set_up(void **state);
int sorter_tear_down(void **state);

void sorter_bind(void);

/* Closes the line's socket, and binds its endpoint again: the line is dead, a line is back. */
void sorter_kill_line(void);
void sorter_restart_line(void);

/* Writes the sorter's file: its rule, further keys of `line`, of `outputs`, and sections. */
typedef struct sorter_file {
    const char *rule;                   /* NULL: "rot.area_px > 50" */
    const char *line, *outputs, *below; /* NULL: none; the first two begin with a comma */
    bool is_quiet;                      /* no lines on stdout */
} sorter_file;
void sorter_write_file(const sorter_file *file);

/* Starts the program with that file, calling `prepare` in the new process first; ends it by a
 * signal, and expects exit status 0. */
void sorter_start_with(void (*prepare)(void));
void sorter_start(void);
void sorter_stop(int signal_number);

/* Kills it. The line's socket is another one then, as libzmq would send more to the old connection
 * for a while. */
void sorter_kill(void);

/* Fails unless it has said that. */
void sorter_expect_said(const char *wanted);

typedef struct sorter_verdict {
    const char *run;  /* NULL: "a" */
    const char *kind; /* NULL: "complete" */
    int lane, sequence, area_px /* of rot */;
    bool stale;
    int64_t deadline_ns; /* 0: none */
    int encoder;         /* 0: 9 */
    int64_t captured_ns; /* of CLOCK_REALTIME; 0: not known */
} sorter_verdict;

/* Sends a verdict; its fruit is 100 + sequence. */
void sorter_send(const sorter_verdict *verdict);

/* The same of any topic. */
void sorter_send_text(const char *topic, const char *text);

#endif

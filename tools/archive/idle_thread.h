/*
 * Work that takes only the time of processors that is left: on a thread under SCHED_IDLE, which
 * every other thread interrupts at once. One at nice 19 keeps its processor for a time slice, some
 * 3 ms, from a thread that wakes up.
 *
 * Where the processors leave too little time the caller does the work itself, so that it goes on.
 */
#ifndef CRN_TOOLS_ARCHIVE_IDLE_THREAD_H
#define CRN_TOOLS_ARCHIVE_IDLE_THREAD_H

#include <stdint.h>

typedef struct crn_idle_thread crn_idle_thread;

/* Returns 0 or a negative errno. */
int crn_idle_thread_start(crn_idle_thread **ret_thread);

/* Ends it between two works, and joins it; NULL is allowed. */
void crn_idle_thread_stop(crn_idle_thread **thread);

/* How long the thread may wait for a processor, before a work and within it. */
typedef struct crn_idle_patience {
    int64_t begin_ns;  /* after which the caller does this work */
    int64_t within_ns; /* after which the caller does those of the next rest_ns */
    int64_t rest_ns;
} crn_idle_patience;

/* Calls work(context) once and returns what it returns: on that thread, or on the caller's. Not two
 * at a time. */
int crn_idle_thread_run(crn_idle_thread *thread, int (*work)(void *context), void *context,
                        const crn_idle_patience *patience);

#endif

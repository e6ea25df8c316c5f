/*
 * Who runs first when cores are scarce: ingest, clock and publisher before the workers. With the
 * right to real-time scheduling (CAP_SYS_NICE or RLIMIT_RTPRIO) the line's thread runs under
 * SCHED_RR; without it the workers step back by a nice value instead. libzmq's I/O thread stays as
 * it is: in real time it would wake for every few kilobytes, which costs half as much CPU again for
 * the same bytes.
 */
#ifndef CRN_STAGES_BASE_PRIORITY_H
#define CRN_STAGES_BASE_PRIORITY_H

#include <stdbool.h>

/* Whether this process may use real-time scheduling; asks once, then remembers. */
bool crn_priority_is_real_time(void);

/* For the calling thread: the line's, and a worker's. */
void crn_priority_raise(void);
void crn_priority_step_back(void);

/* For libzmq's threads that serve the line's thread, which runs before them: their priority under
 * SCHED_RR, or 0 where this process may not use it. */
int crn_priority_of_io(void);

#endif

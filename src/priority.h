/*
 * Who runs first when cores are scarce: ingest, clock and publisher (the line's thread and libzmq's
 * I/O thread) before the workers. With the right to real-time scheduling (CAP_SYS_NICE or
 * RLIMIT_RTPRIO) they run under SCHED_RR and the workers as any process; without it the workers
 * step back by a nice value instead.
 */
#ifndef CRN_PRIORITY_H
#define CRN_PRIORITY_H

#include <stdbool.h>

/* Whether this process may use real-time scheduling; asks once, then remembers. */
bool crn_priority_is_real_time(void);

/* Lets the I/O threads of a libzmq context run first; before its first socket is made. */
void crn_priority_set_zmq(void *zmq);

/* For the calling thread: the line's, and a worker's. */
void crn_priority_raise(void);
void crn_priority_step_back(void);

#endif

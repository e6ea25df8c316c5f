/*
 * Scheduling priorities when cores are scarce: ingest, clock and publisher before the workers. With
 * the right to real-time scheduling (CAP_SYS_NICE or RLIMIT_RTPRIO) the line's thread runs under
 * SCHED_RR, and libzmq's I/O thread for it one priority below, so that a peer that keeps the cores
 * busy does not delay views; without it the workers raise their nice value instead. In real time
 * the I/O thread wakes for every few kilobytes: about twice its CPU time for the same bytes.
 */
#ifndef CRN_STAGES_BASE_PRIORITY_H
#define CRN_STAGES_BASE_PRIORITY_H

#include <stdbool.h>

/* True if this process may use real-time scheduling; tested once. */
bool crn_priority_is_real_time(void);

/* Sets the calling thread's priority: as the line's thread, or as a worker. */
void crn_priority_raise(void);
void crn_priority_step_back(void);

/* SCHED_RR priority for libzmq threads that serve the line's thread, which has precedence over
 * them; 0 if this process may not use SCHED_RR. */
int crn_priority_of_io(void);

#endif

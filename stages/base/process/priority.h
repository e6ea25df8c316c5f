/**
 * @file
 * Scheduling priorities when cores are scarce: ingest, clock and publisher before the workers. With
 * the right to real-time scheduling (CAP_SYS_NICE or RLIMIT_RTPRIO) the line's thread runs under
 * SCHED_RR; without it the workers raise their nice value instead. libzmq's I/O thread gets nearly
 * a core when cores are scarce (nice -20), so that a peer that keeps it busy does not delay the
 * views of others, but does not interrupt a sender for every few kilobytes that it writes
 * (SCHED_BATCH): in real time it took twice the CPU time for the same bytes.
 */
#ifndef CRN_STAGES_BASE_PROCESS_PRIORITY_H
#define CRN_STAGES_BASE_PROCESS_PRIORITY_H

#include <stdbool.h>

#include "stages/base/api.h"

/** True if this process may use real-time scheduling; tested once. */
CRN_API bool crn_priority_is_real_time(void);

/** Sets the calling thread's priority to that of the line's thread. */
CRN_API void crn_priority_raise(void);

/** Sets the calling thread's priority to that of a worker. */
CRN_API void crn_priority_lower(void);

/** Lowers the calling thread's priority to that of a writer: what it writes is queued, and a view
 * that is judged meanwhile comes first. */
CRN_API void crn_priority_lower_writer(void);

/**
 * Asks for a short time slice. From Linux 6.12 on a thread with one that wakes up interrupts
 * another of the same priority; otherwise it may wait for the end of the other's slice. Needs
 * no privilege; older kernels ignore it.
 */
CRN_API void crn_priority_wake_at_once(void);

/** A thread's scheduling before crn_priority_begin_io(). */
typedef struct crn_priority_saved {
    int policy;
    int nice;
    bool changed;
} crn_priority_saved;

/** Schedules the calling thread as libzmq's I/O threads are meant to be, until
 * crn_priority_end_io(). Threads that it starts inherit that. Nothing changes if this process may
 * not (CAP_SYS_NICE or RLIMIT_NICE of 40). */
CRN_API crn_priority_saved crn_priority_begin_io(void);

/** Gives the calling thread back the scheduling that crn_priority_begin_io() returned. */
CRN_API void crn_priority_end_io(const crn_priority_saved *saved);

#endif

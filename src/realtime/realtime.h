/*
 * Section `realtime` of a line's file, applied to threads and memory. What the machine refuses is a
 * warning at the start; the line runs without it.
 *
 * Priorities, highest first: the line's thread (line_priority), then one less the threads of the
 * GPUs and, with worker_priority, those of libzmq that serve senders and grader, then the workers.
 * Writers, viewers and the HTTP thread are never in real time. libzmq's threads come before the
 * workers, since workers that take all processors would keep views from arriving.
 */
#ifndef CRN_SRC_REALTIME_REALTIME_H
#define CRN_SRC_REALTIME_REALTIME_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stages/config/config.h"

/* The kinds of threads that the section is about. */
typedef enum crn_thread_role {
    CRN_THREAD_LINE,
    CRN_THREAD_IO,
    CRN_THREAD_WORKER,
    CRN_THREAD_DEVICE,
    CRN_THREAD_ROLES,
} crn_thread_role;

/* Key of the role's CPUs: "realtime.line_cpus", … */
const char *crn_realtime_key(crn_thread_role role);

/* CPUs that the section gives to the role's thread number `number`; empty: any. */
cpu_set_t crn_realtime_cpus(const crn_config *config, crn_thread_role role, int32_t number);

/* SCHED_FIFO priority of the role; 0: none. */
int crn_realtime_priority(const crn_config *config, crn_thread_role role);

/* Gives the calling thread its role's scheduling and CPUs, as far as it may have them, and touches
 * its stack if memory is locked. */
void crn_realtime_enter(const crn_config *config, crn_thread_role role, int32_t number);

/* The calling thread's scheduling before crn_realtime_begin_io(). */
typedef struct crn_realtime_saved {
    cpu_set_t cpus;
    int policy;
    struct sched_param param;
} crn_realtime_saved;

/* Between these, threads that the calling one starts are libzmq's. They inherit their CPUs and
 * priority: ZMQ_THREAD_AFFINITY_CPU_ADD and ZMQ_THREAD_PRIORITY would abort the process where they
 * are refused. */
crn_realtime_saved crn_realtime_begin_io(const crn_config *config);
void crn_realtime_end_io(const crn_realtime_saved *saved);

/* A setting of the section that this machine lacks or this process has no right to. */
typedef struct crn_realtime_problem {
    const char *key; /* static */
    bool fatal;      /* the file asks for what the machine does not have, not for a right */
    char text[240];
} crn_realtime_problem;

#define CRN_REALTIME_PROBLEMS_MAX 8

/* Tries what the section asks for in the calling thread, which is then as before; returns the
 * number of problems. Memory is not tried. */
int crn_realtime_try(const crn_config *config,
                     crn_realtime_problem ret_problems[CRN_REALTIME_PROBLEMS_MAX]);

/* Logs a warning for each problem that is not fatal. */
void crn_realtime_warn(const crn_config *config);

/* Asks for huge pages for the slots, with huge_pages; call before they are used. */
void crn_realtime_huge_pages(const crn_config *config, void *memory, size_t bytes);

/*
 * With lock_memory, locks the process's memory; call once all is reserved. With devices, which have
 * pinned the slots, only what was touched is made resident: CUDA maps gigabytes that it never uses.
 */
void crn_realtime_lock_memory(const crn_config *config, bool devices);

#endif

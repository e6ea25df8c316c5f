/*
 * Threads in simulated time. Each thread of the program is a coroutine of one real thread: it runs
 * until it waits or is preempted, and a seed decides which is next. While none can run the clock
 * goes to the first time that one waits for, so that waiting costs nothing, and the same seed makes
 * the same run.
 */
#ifndef CRN_TESTS_SIMULATION_MACHINE_SCHEDULE_H
#define CRN_TESTS_SIMULATION_MACHINE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/support/random.h"

#define CRN_SIM_START_NS          INT64_C(1000000000000) /* of CLOCK_MONOTONIC */
#define CRN_SIM_REALTIME_START_NS INT64_C(1770000000000000000)

typedef struct sim_thread sim_thread;

/* How threads are disturbed. */
typedef struct sim_disturbance {
    uint32_t preempt_once_in; /* calls that read the clock or wake another; 0: never */
    uint32_t stall_once_in;   /* preemptions: then the thread does not run for stall_ns; 0: never */
    int64_t stall_ns;
} sim_disturbance;

/* Runs `scenario` as the first thread, and all that it starts, until it returns. Returns NULL, or
 * what went wrong; then all threads are abandoned with what they hold. */
const char *sim_run(uint64_t seed, void (*scenario)(void *), void *argument);

/* Ends the run with that text, which is cut after 255 bytes; does not return. */
__attribute__((format(printf, 1, 2), noreturn)) void sim_fail(const char *format, ...);

/* Number of threads that have been started and not joined. */
int sim_threads_running(void);

/* True while a thread of sim_run runs: else the wrapped calls are the system's. */
bool sim_is_active(void);

/* The seed's random numbers; for the simulation only, while it runs. */
crn_random *sim_random(void);

void sim_disturb(sim_disturbance disturbance);

/* Now, on CLOCK_MONOTONIC and CLOCK_REALTIME; costs no time. */
int64_t sim_now_ns(void);
int64_t sim_realtime_ns(void);

/* Sets CLOCK_REALTIME forward or back. */
void sim_set_realtime(int64_t by_ns);

/* The same as a call of the program: costs a moment, and may preempt. */
int64_t sim_read_clock_ns(void);

/* The sum of all stalls so far, as a thread that is held up makes all times of others longer. */
int64_t sim_stalled_ns(void);

/* Waits until `is_ready` or the time has come. Returns false for the time. */
bool sim_wait(bool (*is_ready)(void *), void *argument, int64_t until_ns);
void sim_sleep_until(int64_t until_ns);

/* Lets others run, sometimes. */
void sim_preempt(void);

/* A hash of all that was told to it, to compare two runs of a seed; the schedule tells each switch
 * of threads. */
void sim_trace(uint64_t value);
uint64_t sim_traced(void);

sim_thread *sim_start(void *(*run)(void *), void *argument);
void *sim_join(sim_thread *thread);

/* One that nobody joins. */
void sim_start_detached(void *(*run)(void *), void *argument);

#endif

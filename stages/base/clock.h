/**
 * @file
 * Clocks. Every duration and deadline is CLOCK_MONOTONIC; CLOCK_REALTIME is only used
 * in messages.
 */
#ifndef CRN_STAGES_BASE_CLOCK_H
#define CRN_STAGES_BASE_CLOCK_H

#include <semaphore.h>
#include <stdint.h>

#include "stages/base/api.h"

#define CRN_NS_PER_US INT64_C(1000)
#define CRN_NS_PER_MS INT64_C(1000000)
#define CRN_NS_PER_S  INT64_C(1000000000)

/** No deadline: later than any time. */
#define CRN_NEVER_NS INT64_MAX

/** Nanoseconds on CLOCK_MONOTONIC. */
CRN_API int64_t crn_now_ns(void);

/** The same as of the kernel's last tick, up to 10 ms ago: for a fifth of the cost. */
CRN_API int64_t crn_tick_ns(void);

/** Nanoseconds since 1970 on CLOCK_REALTIME. */
CRN_API int64_t crn_realtime_ns(void);

/**
 * Waits until a semaphore is posted, at most until a time of crn_now_ns(), interrupted or not.
 * Returns 0 or -ETIMEDOUT.
 */
CRN_API int crn_sem_wait_until(sem_t *semaphore, int64_t until_ns);

/**
 * For tests: moves all these clocks forward. Who waits for a time finds out when something else
 * wakes it.
 */
CRN_API void crn_clock_move(int64_t by_ns);

/** For tests: sets CLOCK_REALTIME forward or back, as who corrects a machine's clock does. */
CRN_API void crn_clock_set(int64_t by_ns);

#endif

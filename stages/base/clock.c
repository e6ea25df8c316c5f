#include "stages/base/clock.h"

#include <errno.h>
#include <stdatomic.h>
#include <time.h>

/* By how much tests have moved the clocks. */
static _Atomic int64_t moved_ns;

/* And by how much more CLOCK_REALTIME. */
static _Atomic int64_t set_ns;

static int64_t read_clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * CRN_NS_PER_S + now.tv_nsec +
           atomic_load_explicit(&moved_ns, memory_order_relaxed);
}

int64_t crn_now_ns(void)
{
    return read_clock_ns(CLOCK_MONOTONIC);
}

int64_t crn_tick_ns(void)
{
    return read_clock_ns(CLOCK_MONOTONIC_COARSE);
}

int64_t crn_realtime_ns(void)
{
    return read_clock_ns(CLOCK_REALTIME) + atomic_load_explicit(&set_ns, memory_order_relaxed);
}

int crn_sem_wait_until(sem_t *semaphore, int64_t until_ns)
{
    until_ns -= atomic_load_explicit(&moved_ns, memory_order_relaxed);
    struct timespec until = {.tv_sec = until_ns / CRN_NS_PER_S, .tv_nsec = until_ns % CRN_NS_PER_S};
    while (sem_clockwait(semaphore, CLOCK_MONOTONIC, &until) < 0)
        if (errno != EINTR)
            return -errno;
    return 0;
}

void crn_clock_move(int64_t by_ns)
{
    atomic_fetch_add(&moved_ns, by_ns);
}

void crn_clock_set(int64_t by_ns)
{
    atomic_fetch_add(&set_ns, by_ns);
}

#include "stages/base/clock.h"

#include <time.h>

static int64_t read_clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * CRN_NS_PER_S + now.tv_nsec;
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
    return read_clock_ns(CLOCK_REALTIME);
}

/*
 * Time as the views' recorded arrival tells it. It never goes back: views stand in a recording in
 * the order in which they ended, and the recorder's clock may have been set.
 */
#ifndef CRN_TOOLS_REPROCESS_RECORDED_CLOCK_H
#define CRN_TOOLS_REPROCESS_RECORDED_CLOCK_H

#include <stdint.h>

#include "stages/base/clock.h"

#define CRN_RECORDED_DISORDER_NS (10 * CRN_NS_PER_S) /* more: the clock was set back */
#define CRN_RECORDED_MAX_NS      (CRN_NEVER_NS / 2)  /* so that sums of times cannot overflow */

typedef struct crn_recorded_clock {
    int64_t now_ns;
    int64_t latest_ns; /* latest arrival, since the clock was last set back */
} crn_recorded_clock;

static inline int64_t crn_recorded_arrival_ns(uint64_t arrived_ns)
{
    return arrived_ns < CRN_RECORDED_MAX_NS ? (int64_t)arrived_ns : CRN_RECORDED_MAX_NS;
}

static inline void crn_recorded_clock_start(crn_recorded_clock *clock, uint64_t arrived_ns)
{
    clock->now_ns = clock->latest_ns = crn_recorded_arrival_ns(arrived_ns);
}

static inline void crn_recorded_clock_advance(crn_recorded_clock *clock, uint64_t arrived_ns)
{
    int64_t arrival_ns = crn_recorded_arrival_ns(arrived_ns);
    int64_t gap_ns = arrival_ns - clock->latest_ns;
    if (gap_ns > 0 && clock->now_ns < CRN_RECORDED_MAX_NS)
        clock->now_ns += gap_ns;
    if (gap_ns > 0 || gap_ns < -CRN_RECORDED_DISORDER_NS)
        clock->latest_ns = arrival_ns;
}

#endif

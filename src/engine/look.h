/* When a device's thread asks whether a batch is complete. Arithmetic only. */
#ifndef CRN_SRC_ENGINE_LOOK_H
#define CRN_SRC_ENGINE_LOOK_H

#include <stdint.h>

#include "stages/base/clock.h"

/* Polling interval for a batch that is nearly done. */
#define CRN_LOOK_NS (20 * CRN_NS_PER_US)

/* A batch is first polled after this share of its recent duration, in eighths, */
#define CRN_LOOK_EIGHTHS 7

/* but not later than this: one stall makes the recent duration many times the usual one, and
 * batches that are waited for that long would keep it there. */
#define CRN_LOOK_LATEST_NS (5 * CRN_NS_PER_MS)

/* From then on a batch is polled at intervals of this share of its time so far. */
#define CRN_LOOK_SHARE 64

static inline int64_t crn_look_first_ns(int64_t begun_ns, int64_t expected_ns)
{
    int64_t wait_ns = expected_ns / 8 * CRN_LOOK_EIGHTHS;
    return begun_ns + (wait_ns < CRN_LOOK_LATEST_NS ? wait_ns : CRN_LOOK_LATEST_NS);
}

static inline int64_t crn_look_next_ns(int64_t begun_ns, int64_t now_ns)
{
    int64_t took_ns = now_ns - begun_ns;
    return now_ns + (took_ns > CRN_LOOK_LATEST_NS ? took_ns / CRN_LOOK_SHARE : CRN_LOOK_NS);
}

#endif

/* The times at which a device's thread polls a running batch for completion. */
#ifndef CRN_SRC_ENGINE_POLL_TIMES_H
#define CRN_SRC_ENGINE_POLL_TIMES_H

#include <stdint.h>

#include "stages/base/clock.h"

/* Polling interval for a batch that is nearly done. */
#define CRN_POLL_NS (20 * CRN_NS_PER_US)

/* A batch is first polled after this share of its recent duration, in eighths. */
#define CRN_POLL_EIGHTHS 7

/* The first poll comes no later than this after the launch: a stall makes the recent duration many
 * times the usual one, and waiting that long for each batch would keep it there. */
#define CRN_POLL_LATEST_NS (5 * CRN_NS_PER_MS)

/* A batch that runs longer than that is polled at intervals of its time so far divided by this. */
#define CRN_POLL_SHARE 64

static inline int64_t crn_poll_first_ns(int64_t begun_ns, int64_t expected_ns)
{
    int64_t wait_ns = expected_ns / 8 * CRN_POLL_EIGHTHS;
    return begun_ns + (wait_ns < CRN_POLL_LATEST_NS ? wait_ns : CRN_POLL_LATEST_NS);
}

static inline int64_t crn_poll_next_ns(int64_t begun_ns, int64_t now_ns)
{
    int64_t took_ns = now_ns - begun_ns;
    return now_ns + (took_ns > CRN_POLL_LATEST_NS ? took_ns / CRN_POLL_SHARE : CRN_POLL_NS);
}

#endif

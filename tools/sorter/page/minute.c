#include "tools/sorter/page/minute.h"

#include <string.h>

#include "stages/base/clock.h"

/* A little more, as counts come a second apart or somewhat later. */
#define MINUTE_NS (60500 * CRN_NS_PER_MS)

void crn_outlet_minute_add(crn_outlet_minute *minute, int64_t now_ns,
                           const uint64_t fruits[CRN_OUTLETS_MAX],
                           uint64_t ret_fruits[CRN_OUTLETS_MAX])
{
    uint64_t at = minute->taken % CRN_MINUTE_COUNTS;
    minute->counts[at].at_ns = now_ns;
    memcpy(minute->counts[at].fruits, fruits, sizeof minute->counts[at].fruits);
    minute->taken++;
    uint64_t oldest = minute->taken > CRN_MINUTE_COUNTS ? minute->taken - CRN_MINUTE_COUNTS : 0;
    while (now_ns - minute->counts[oldest % CRN_MINUTE_COUNTS].at_ns > MINUTE_NS)
        oldest++;
    const uint64_t *before = minute->counts[oldest % CRN_MINUTE_COUNTS].fruits;
    for (int32_t i = 0; i < CRN_OUTLETS_MAX; i++)
        ret_fruits[i] = fruits[i] - before[i];
}

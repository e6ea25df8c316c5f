/* How many fruits went to each outlet in the last minute, from their counts since the start. */
#ifndef CRN_TOOLS_SORTER_PAGE_MINUTE_H
#define CRN_TOOLS_SORTER_PAGE_MINUTE_H

#include <stdint.h>

#include "src/formats/outlets/report.h"

#define CRN_MINUTE_COUNTS 64 /* that are kept, a second apart or more */

/* Zero-initialise. */
typedef struct crn_outlet_minute {
    uint64_t taken; /* so far; the next place is that modulo CRN_MINUTE_COUNTS */
    struct {
        int64_t at_ns; /* CLOCK_MONOTONIC */
        uint64_t fruits[CRN_OUTLETS_MAX];
    } counts[CRN_MINUTE_COUNTS];
} crn_outlet_minute;

/* Adds the counts of now, at the start those of zero. *ret_fruits are those since the oldest counts
 * of the last minute. */
void crn_outlet_minute_add(crn_outlet_minute *minute, int64_t now_ns,
                           const uint64_t fruits[CRN_OUTLETS_MAX],
                           uint64_t ret_fruits[CRN_OUTLETS_MAX]);

#endif

/*
 * The latencies that verdicts carry, collected, and the table of them: what a line needs against
 * what it has.
 */
#ifndef CRN_TOOLS_TAIL_LATENCY_H
#define CRN_TOOLS_TAIL_LATENCY_H

#include <stdio.h>

#include "tools/common/decode.h"
#include "tools/tail/sequence_check.h"

/* Percentiles are over the last so many verdicts; the maximum and the counts over all. */
#define CRN_LATENCY_KEPT 131072

typedef struct crn_latency crn_latency;

typedef struct crn_latency_row {
    const char *name;      /* "queue", a stage, "total"; the latency's own */
    uint64_t count;        /* verdicts that said it */
    double p50, p99, most; /* ms; a percentile is the least value that so many are not above */
} crn_latency_row;

int crn_latency_create(crn_latency **ret_latency);
void crn_latency_free(crn_latency **latency);

/* Counts a verdict and its latencies; a skipped stage's is left out. 0 or -ENOMEM. */
int crn_latency_add(crn_latency *latency, const crn_decoded *verdict);

/*
 * Row `index` in order of first sight; false past the last. What is kept is sorted in place: for
 * the end of the collecting.
 */
bool crn_latency_get(crn_latency *latency, int32_t index, crn_latency_row *ret_row);

/* The table, the counts of verdicts, and whether every sequence was there. */
void crn_latency_print(crn_latency *latency, const crn_sequence_check_stats *followed, FILE *out);

#endif

/* Collects the latencies in verdicts and prints them as a table against the budget. */
#ifndef CRN_TOOLS_TAIL_LATENCY_H
#define CRN_TOOLS_TAIL_LATENCY_H

#include <stdio.h>

#include "src/formats/verdict/decode.h"
#include "tools/common/verdicts/sequence_check.h"

/* Percentiles cover this many latest verdicts; maximum and counts cover all. */
#define CRN_LATENCY_KEPT 131072

typedef struct crn_latency crn_latency;

typedef struct crn_latency_row {
    const char *name;     /* "queue", a stage, "total"; owned by crn_latency */
    uint64_t count;       /* verdicts that contained it */
    double p50, p99, max; /* ms; percentiles by nearest rank */
} crn_latency_row;

int crn_latency_create(crn_latency **ret_latency);
void crn_latency_free(crn_latency **latency);

/* Adds a verdict's latencies; those of skipped stages are left out. 0 or -ENOMEM. */
int crn_latency_add(crn_latency *latency, const crn_decoded *verdict);

/*
 * Row `index` in order of first appearance; false past the last. Sorts the samples in place, so
 * call it only after the last crn_latency_add.
 */
bool crn_latency_get(crn_latency *latency, int32_t index, crn_latency_row *ret_row);

/* Prints the table, the counts of verdicts, and whether sequences were missing. */
void crn_latency_print(crn_latency *latency, const crn_sequence_check_stats *followed, FILE *out);

#endif

/*
 * Quantiles of durations, for the log: counts in buckets of an eighth of an octave, 9 % wide,
 * around a reference duration that is itself an edge. Fixed size, no allocation.
 */
#ifndef CRN_SRC_MONITOR_QUANTILES_H
#define CRN_SRC_MONITOR_QUANTILES_H

#include <stdint.h>

#define CRN_QUANTILES_PER_OCTAVE 8
#define CRN_QUANTILES_BELOW      14 /* octaves below the reference: 6 us for 100 ms */
#define CRN_QUANTILES_ABOVE      6  /* octaves above it: 6.4 s */

/* Edges, and the index of the bucket of all durations above the last one. */
#define CRN_QUANTILES_EDGES                                                                        \
    ((CRN_QUANTILES_BELOW + CRN_QUANTILES_ABOVE) * CRN_QUANTILES_PER_OCTAVE + 1)

/* Empty with zero counts. */
typedef struct crn_quantiles {
    int64_t reference_ns; /* > 0 */
    /* Bucket i counts durations above edge i - 1 (0 for the first) and up to edge i. */
    uint64_t count[CRN_QUANTILES_EDGES + 1];
} crn_quantiles;

/* Upper edge of bucket i < CRN_QUANTILES_EDGES, in ns. */
double crn_quantiles_edge_ns(const crn_quantiles *quantiles, int32_t i);

/* Negative durations count as 0. */
void crn_quantiles_add(crn_quantiles *quantiles, int64_t ns);

/* Number of durations. */
uint64_t crn_quantiles_count(const crn_quantiles *quantiles);

/* The duration that the given share (0 to 1) does not exceed, interpolated within its bucket; above
 * the last edge: that edge. 0 if there are none. */
double crn_quantiles_at_ns(const crn_quantiles *quantiles, double share);

/* What was added between two states. */
crn_quantiles crn_quantiles_since(const crn_quantiles *now, const crn_quantiles *before);

#endif

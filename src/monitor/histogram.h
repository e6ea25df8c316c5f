/*
 * Histograms of durations, as Prometheus counts them: a count for each range between two edges, and
 * the sum. The edges follow from latency.budget_ms, which is itself one of them, so that the share
 * within the budget is exact. No clock, no allocation.
 */
#ifndef CRN_SRC_MONITOR_HISTOGRAM_H
#define CRN_SRC_MONITOR_HISTOGRAM_H

#include <stdint.h>

#include "stages/base/api.h"
#include "stages/base/clock.h"

CRN_C_BEGIN

#define CRN_HISTOGRAM_EDGES 14

/* How the edges lie around the budget. */
typedef enum crn_histogram_scale {
    CRN_SCALE_FRUIT,  /* factor 1.6, from 1/69 of the budget to 6.6 times the budget */
    CRN_SCALE_VIEW,   /* factor 2, from 1/4096 of the budget to twice the budget */
    CRN_SCALE_SENDER, /* factor 2, from 1/128 of the budget to 64 times the budget */
    CRN_SCALES,
} crn_histogram_scale;

/* Ascending; a duration counts at the first edge that it does not exceed. */
typedef struct crn_histogram_edges {
    int64_t ns[CRN_HISTOGRAM_EDGES];
} crn_histogram_edges;

/* Empty when zeroed. */
typedef struct crn_histogram {
    uint64_t count[CRN_HISTOGRAM_EDGES + 1]; /* not cumulative; the last: beyond all edges */
    uint64_t sum_ns;
} crn_histogram;

static inline double crn_seconds(int64_t ns)
{
    return (double)ns / (double)CRN_NS_PER_S;
}

/* The edges of a scale, rounded to three digits; the budget, at least 1 us, is exact. */
crn_histogram_edges crn_histogram_edges_of(crn_histogram_scale scale, int64_t budget_ns);

/* Counts a duration; one below 0 counts as 0. */
void crn_histogram_add(crn_histogram *histogram, const crn_histogram_edges *edges, int64_t ns);

uint64_t crn_histogram_count(const crn_histogram *histogram);

/* Adds the counts of `more`, which has the same edges. */
void crn_histogram_merge(crn_histogram *sum, const crn_histogram *more);

/* The duration that this share (0 to 1) of all does not exceed, interpolated as Prometheus'
 * histogram_quantile does: the last edge if it lies beyond; -1 if nothing was counted. */
double crn_histogram_quantile_ns(const crn_histogram *histogram, const crn_histogram_edges *edges,
                                 double share);

CRN_C_END

#endif

/* Median run times within this process. */
#ifndef CRN_TOOLS_BENCH_TIME_H
#define CRN_TOOLS_BENCH_TIME_H

#include <stddef.h>

typedef struct crn_timing {
    double median_ms, min_ms, max_ms;
    int runs;
} crn_timing;

#define CRN_BENCH_SECONDS 0.4

/* Calls `run` as often as fits into so many seconds, at least three
 * times, or once if that takes much longer; the first call is a warm-up
 * and counts only in that case. 0 or the negative errno of a call. */
int crn_bench_time(int (*run)(void *argument), void *argument, double seconds,
                   crn_timing *ret_timing);

/* Sorts ascending. The median is the mean of the middle two of an even number of values. */
void crn_bench_sort(double *values, size_t count);
double crn_bench_median(double *values, size_t count); /* sorts `values` */

#endif

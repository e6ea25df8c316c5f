/* The one timing loop of all benchmarks, by whatever clock times the work. */
#ifndef CRN_TOOLS_BENCH_TIME_H
#define CRN_TOOLS_BENCH_TIME_H

#include <stddef.h>
#include <stdint.h>

typedef struct crn_timing {
    double median_ms, min_ms, max_ms;
    int runs;
} crn_timing;

#define CRN_BENCH_SECONDS 0.4

/* Does the work once; *ret_ms is its time by the clock that counts. 0 or negative errno. */
typedef int crn_bench_clock_fn(void *work, double *ret_ms);

/* How often work is done. */
typedef struct crn_bench_rounds {
    int32_t warm_up;     /* rounds that do not count */
    int32_t least, most; /* rounds that do */
    double seconds;      /* after which no more than the least are done */
    double patience; /* after so many times `seconds` one round is enough, also the only warm-up;
                        0: never */
} crn_bench_rounds;

/* Fills ms[], of `most` elements, in ascending order; their number, or negative errno. */
int crn_bench_repeat(crn_bench_clock_fn *once, void *work, const crn_bench_rounds *rounds,
                     double *ms);

/* By the host's clock: calls `run` as often as fits into so many seconds, at least three
 * times, or once if that takes much longer; the first call is a warm-up
 * and counts only in that case. 0 or the negative errno of a call. */
int crn_bench_time(int (*run)(void *argument), void *argument, double seconds,
                   crn_timing *ret_timing);

/* Sorts ascending. */
void crn_bench_sort(double *values, size_t count);

/* Of sorted values: the mean of the middle two of an even number; the 99th percentile. */
double crn_bench_median(const double *values, size_t count);
double crn_bench_p99(const double *values, size_t count);

#endif

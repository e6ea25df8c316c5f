/* Medians of what runs in this process. */
#ifndef CRN_BENCH_TIME_H
#define CRN_BENCH_TIME_H

typedef struct crn_timing {
    double median_ms, min_ms, max_ms;
    int runs;
} crn_timing;

/* Runs it as often as fits into a moment, at least three times, once where it takes seconds; the
 * first run is a warm-up, and not counted unless it took that long. 0 or the negative errno of a
 * run. */
int crn_bench_time(int (*run)(void *argument), void *argument, crn_timing *ret_timing);

#endif

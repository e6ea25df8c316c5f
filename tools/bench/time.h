/* Medians of what runs in this process. */
#ifndef CRN_TOOLS_BENCH_TIME_H
#define CRN_TOOLS_BENCH_TIME_H

typedef struct crn_timing {
    double median_ms, min_ms, max_ms;
    int runs;
} crn_timing;

#define CRN_BENCH_SECONDS 0.4

/* Runs it as often as fits into so many seconds, at least three times, once where that takes much
 * longer; the first run is a warm-up, and not counted unless it took that long. 0 or the negative
 * errno of a run. */
int crn_bench_time(int (*run)(void *argument), void *argument, double seconds,
                   crn_timing *ret_timing);

#endif

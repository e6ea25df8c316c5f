#include "tools/bench/time.h"

#include <stdbool.h>
#include <stdlib.h>

#include "stages/base/clock.h"

/* A function that takes so many times longer than allowed is run once. */
#define PATIENCE 8

#define RUNS_MAX 200

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void crn_bench_sort(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
}

double crn_bench_median(double *values, size_t count)
{
    crn_bench_sort(values, count);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

static bool is_enough(int runs, double spent_ms, double limit_ms)
{
    return runs == RUNS_MAX || (runs >= 3 && spent_ms >= limit_ms) ||
           (runs >= 1 && spent_ms >= PATIENCE * limit_ms);
}

static int time_once(int (*run)(void *argument), void *argument, double *ret_ms)
{
    int64_t start_ns = crn_now_ns();
    int r = run(argument);
    *ret_ms = (double)(crn_now_ns() - start_ns) / 1e6;
    return r;
}

int crn_bench_time(int (*run)(void *argument), void *argument, double seconds,
                   crn_timing *ret_timing)
{
    double ms[RUNS_MAX], spent_ms = 0, limit_ms = 1e3 * seconds;
    int runs = 0;
    int r = time_once(run, argument, &ms[0]);
    if (ms[0] > PATIENCE * limit_ms)
        spent_ms = ms[runs++];
    while (r == 0 && !is_enough(runs, spent_ms, limit_ms)) {
        r = time_once(run, argument, &ms[runs]);
        spent_ms += ms[runs++];
    }
    if (r < 0)
        return r;
    crn_bench_sort(ms, (size_t)runs);
    *ret_timing = (crn_timing){ms[runs / 2], ms[0], ms[runs - 1], runs};
    return 0;
}

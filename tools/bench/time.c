#include "tools/bench/time.h"

#include <stdbool.h>
#include <stdlib.h>

#include "stages/base/clock.h"

/* A function that takes so many times longer than allowed is run once. */
#define PATIENCE 8

#define RUNS_MAX 200

static int by_time(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

static bool is_enough(int runs, int64_t spent_ns, int64_t moment_ns)
{
    return runs == RUNS_MAX || (runs >= 3 && spent_ns >= moment_ns) ||
           (runs >= 1 && spent_ns >= PATIENCE * moment_ns);
}

int crn_bench_time(int (*run)(void *argument), void *argument, double seconds,
                   crn_timing *ret_timing)
{
    int64_t moment_ns = (int64_t)(seconds * 1e9);
    int64_t ns[RUNS_MAX], spent_ns = 0;
    int runs = 0;
    int64_t start_ns = crn_now_ns();
    int r = run(argument);
    int64_t first_ns = crn_now_ns() - start_ns;
    if (first_ns > PATIENCE * moment_ns)
        spent_ns = ns[runs++] = first_ns;
    while (r == 0 && !is_enough(runs, spent_ns, moment_ns)) {
        start_ns = crn_now_ns();
        r = run(argument);
        ns[runs] = crn_now_ns() - start_ns;
        spent_ns += ns[runs++];
    }
    if (r < 0)
        return r;
    qsort(ns, (size_t)runs, sizeof *ns, by_time);
    *ret_timing = (crn_timing){(double)ns[runs / 2] / 1e6, (double)ns[0] / 1e6,
                               (double)ns[runs - 1] / 1e6, runs};
    return 0;
}

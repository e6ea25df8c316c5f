#include "tools/bench/time.h"

#include <stdbool.h>
#include <stdlib.h>

#include "stages/base/clock.h"

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

double crn_bench_median(const double *values, size_t count)
{
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

double crn_bench_p99(const double *values, size_t count)
{
    return values[(count * 99 - 1) / 100];
}

static double seconds_since(int64_t begin_ns)
{
    return (double)(crn_now_ns() - begin_ns) / 1e9;
}

int crn_bench_repeat(crn_bench_clock_fn *once, void *work, const crn_bench_rounds *rounds,
                     double *ms)
{
    double patience_s = rounds->patience * rounds->seconds;
    int64_t begin_ns = crn_now_ns();
    int32_t count = 0;
    int r = 0;
    for (int32_t i = 0; r == 0 && i < rounds->warm_up; i++)
        r = once(work, &ms[0]);
    if (patience_s > 0 && seconds_since(begin_ns) > patience_s)
        count = 1;
    else
        begin_ns = crn_now_ns();
    while (r == 0 && count < rounds->most) {
        double spent_s = seconds_since(begin_ns);
        if ((count >= rounds->least && spent_s >= rounds->seconds) ||
            (patience_s > 0 && count > 0 && spent_s >= patience_s))
            break;
        r = once(work, &ms[count++]);
    }
    if (r < 0)
        return r;
    crn_bench_sort(ms, (size_t)count);
    return count;
}

typedef struct host_run {
    int (*run)(void *argument);
    void *argument;
} host_run;

static int time_on_host(void *work, double *ret_ms)
{
    const host_run *it = work;
    int64_t start_ns = crn_now_ns();
    int r = it->run(it->argument);
    *ret_ms = (double)(crn_now_ns() - start_ns) / 1e6;
    return r;
}

int crn_bench_time(int (*run)(void *argument), void *argument, double seconds,
                   crn_timing *ret_timing)
{
    crn_bench_rounds rounds = {
        .warm_up = 1, .least = 3, .most = RUNS_MAX, .seconds = seconds, .patience = 8};
    double ms[RUNS_MAX];
    int runs = crn_bench_repeat(time_on_host, &(host_run){run, argument}, &rounds, ms);
    if (runs < 0)
        return runs;
    *ret_timing = (crn_timing){ms[runs / 2], ms[0], ms[runs - 1], runs};
    return 0;
}

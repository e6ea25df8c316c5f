#include "src/monitor/histogram.h"

#include <math.h>

typedef struct scale {
    double factor;
    int below; /* edges below the budget */
} scale;

static const scale scales[CRN_SCALES] = {
    [CRN_SCALE_FRUIT] = {1.6, 9},
    [CRN_SCALE_VIEW] = {2, 12},
    [CRN_SCALE_SENDER] = {2, 7},
};

static int64_t round_to_three_digits(double ns)
{
    double unit = pow(10, floor(log10(ns)) - 2);
    return unit <= 1 ? llround(ns) : llround(ns / unit) * llround(unit);
}

crn_histogram_edges crn_histogram_edges_of(crn_histogram_scale which, int64_t budget_ns)
{
    crn_histogram_edges edges;
    const scale *s = &scales[which];
    for (int i = 0; i < CRN_HISTOGRAM_EDGES; i++)
        edges.ns[i] = i == s->below
                          ? budget_ns
                          : round_to_three_digits((double)budget_ns * pow(s->factor, i - s->below));
    return edges;
}

void crn_histogram_add(crn_histogram *histogram, const crn_histogram_edges *edges, int64_t ns)
{
    int i = 0;
    while (i < CRN_HISTOGRAM_EDGES && ns > edges->ns[i])
        i++;
    histogram->count[i]++;
    histogram->sum_ns += ns > 0 ? (uint64_t)ns : 0;
}

uint64_t crn_histogram_count(const crn_histogram *histogram)
{
    uint64_t count = 0;
    for (int i = 0; i <= CRN_HISTOGRAM_EDGES; i++)
        count += histogram->count[i];
    return count;
}

void crn_histogram_merge(crn_histogram *sum, const crn_histogram *more)
{
    for (int i = 0; i <= CRN_HISTOGRAM_EDGES; i++)
        sum->count[i] += more->count[i];
    sum->sum_ns += more->sum_ns;
}

double crn_histogram_quantile_ns(const crn_histogram *histogram, const crn_histogram_edges *edges,
                                 double share)
{
    uint64_t count = crn_histogram_count(histogram), before = 0;
    if (count == 0)
        return -1;
    double rank = share * (double)count;
    for (int i = 0; i < CRN_HISTOGRAM_EDGES; i++) {
        uint64_t here = histogram->count[i];
        if (here > 0 && (double)(before + here) >= rank) {
            double from = i > 0 ? (double)edges->ns[i - 1] : 0;
            double within = rank > (double)before ? (rank - (double)before) / (double)here : 0;
            return from + ((double)edges->ns[i] - from) * within;
        }
        before += here;
    }
    return (double)edges->ns[CRN_HISTOGRAM_EDGES - 1];
}

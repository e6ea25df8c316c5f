#include "src/monitor/drift/chart.h"

#include <math.h>

/* A share of 10 % that grows by half, or doubles, is to be found soon (README.md). */
static const double factors[CRN_DRIFT_CHANGES] = {1.5, 2};

/* They add up to 1. */
static const double weights[CRN_DRIFT_CHANGES] = {0.4, 0.6};

/* Beyond the limit evidence grows no more than so many times, so that a change which ends is over
 * about as soon as it was found. */
#define BEYOND 16

/* The changed share. A share near 1 cannot grow by the factor: then what is without falls by it. */
static double change(double usual, double factor, crn_drift_direction direction)
{
    if (direction == CRN_DRIFT_FEWER)
        return usual / factor;
    return usual * (factor + 1) <= 1 ? usual * factor : 1 - (1 - usual) / factor;
}

/* How much likelier the trial is under the changed share. */
static double ratio(double usual, double changed, bool found)
{
    return found ? changed / usual : (1 - changed) / (1 - usual);
}

double crn_drift_chart_evidence(const crn_drift_chart *chart)
{
    double sum = 0;
    for (int i = 0; i < CRN_DRIFT_CHANGES; i++)
        sum += weights[i] * chart->evidence[i];
    return sum;
}

void crn_drift_chart_add(crn_drift_chart *chart, crn_drift_direction direction, double usual,
                         double limit, bool found)
{
    if (chart->since <= 1 && !chart->is_raised) {
        chart->since = 1;
        chart->fruits = chart->found = 0;
    }
    for (int i = 0; i < CRN_DRIFT_CHANGES; i++) {
        double likelier = ratio(usual, change(usual, factors[i], direction), found);
        chart->evidence[i] = fmin((1 + chart->evidence[i]) * likelier, BEYOND * limit);
        if (i == 0)
            chart->since = fmin(chart->since * likelier, BEYOND * limit);
    }
    chart->fruits++;
    chart->found += found;
    double evidence = crn_drift_chart_evidence(chart);
    chart->is_raised = evidence >= limit || (chart->is_raised && evidence >= sqrt(limit));
}

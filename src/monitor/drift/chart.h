/*
 * A control chart for a share: a Shiryaev-Roberts chart of Bernoulli trials, by likelihood ratios
 * of a share that has grown (or fallen) by a factor to the usual one. Sources: A. N. Shiryaev, "On
 * optimum methods in quickest detection problems", Theory Probab. Appl. 8 (1963); S. W. Roberts, "A
 * comparison of some control chart procedures", Technometrics 8 (1966); that the chance to reach a
 * limit A within n trials is at most n / A: M. Pollak, "Optimal detection of a change in
 * distribution", Ann. Statist. 13 (1985), by Doob's inequality. The first trial of a change is
 * estimated as in E. S. Page, "Continuous inspection schemes", Biometrika 41 (1954).
 *
 * The evidence is R = (1 + R) p1 / p0, with p the probability of what was seen under the changed
 * and the usual share. It is the mean of two such, for a smaller and a larger change: the bound
 * holds for a mean, too. No clock, no thread, no memory.
 */
#ifndef CRN_SRC_MONITOR_DRIFT_CHART_H
#define CRN_SRC_MONITOR_DRIFT_CHART_H

#include <stdbool.h>
#include <stdint.h>

#include "stages/base/api.h"

CRN_C_BEGIN

typedef enum crn_drift_direction {
    CRN_DRIFT_MORE,
    CRN_DRIFT_FEWER,
    CRN_DRIFT_DIRECTIONS,
} crn_drift_direction;

#define CRN_DRIFT_CHANGES 2

/* In one direction. Zeroed: nothing was seen yet. */
typedef struct crn_drift_chart {
    double evidence[CRN_DRIFT_CHANGES]; /* of each change */
    double since;                       /* Page's statistic, as a likelihood ratio */
    uint64_t fruits, found; /* trials since it was last at most 1, or raised, and successes */
    bool is_raised;
} crn_drift_chart;

/* Adds a trial; `usual` is the share without a change, its largest (MORE) or smallest (FEWER)
 * plausible value, above 0 and below 1. The chart is raised once its evidence reaches `limit`
 * (above 1), until it is below the limit's square root. */
void crn_drift_chart_add(crn_drift_chart *chart, crn_drift_direction direction, double usual,
                         double limit, bool found);

/* The evidence: the mean over the changes. */
double crn_drift_chart_evidence(const crn_drift_chart *chart);

CRN_C_END

#endif

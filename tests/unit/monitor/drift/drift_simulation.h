/* Fruits of made-up lines, for the charts of src/monitor/drift: shares, delays, false alarms. */
#ifndef CRN_TESTS_UNIT_MONITOR_DRIFT_DRIFT_SIMULATION_H
#define CRN_TESTS_UNIT_MONITOR_DRIFT_DRIFT_SIMULATION_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/monitor/drift/charts.h"
#include "tests/support/random.h"

enum { SIMULATED_LANES = 64, SIMULATED_CLASSES = 16 };

/* A line; lane after lane gets a fruit. */
typedef struct simulated_line {
    crn_random random;
    crn_drift_charts *charts;
    crn_drift_findings *findings;
    crn_drift_fruit fruit;
    int32_t lanes, classes;
    double shares[SIMULATED_LANES][SIMULATED_CLASSES];
} simulated_line;

static inline void open_simulated(simulated_line *line, uint64_t seed, int32_t lanes,
                                  int32_t classes, double fruits)
{
    memset(line, 0, sizeof *line);
    line->random.state = seed;
    line->lanes = lanes;
    line->classes = classes;
    line->fruit.looked_for = (UINT64_C(1) << classes) - 1;
    line->findings = malloc(crn_drift_findings_bytes(lanes));
    if (!line->findings || crn_drift_charts_create(lanes, fruits, &line->charts) < 0)
        abort();
    snprintf(line->fruit.lot, sizeof line->fruit.lot, "0");
}

static inline void close_simulated(simulated_line *line)
{
    crn_drift_charts_free(&line->charts);
    free(line->findings);
}

static inline void set_shares(simulated_line *line, double share)
{
    for (int32_t lane = 0; lane < SIMULATED_LANES; lane++)
        for (int32_t class = 0; class < SIMULATED_CLASSES; class ++)
            line->shares[lane][class] = share;
}

static inline void begin_lot(simulated_line *line, uint64_t number)
{
    snprintf(line->fruit.lot, sizeof line->fruit.lot, "%llu", (unsigned long long)number);
}

/* A fruit on each lane. */
static inline void pass_fruits(simulated_line *line)
{
    for (int32_t lane = 0; lane < line->lanes; lane++) {
        line->fruit.index = lane;
        line->fruit.lane = (uint32_t)lane + 1;
        line->fruit.found = 0;
        for (int32_t class = 0; class < line->classes; class ++)
            if (crn_random_unit(&line->random) < line->shares[lane][class])
                line->fruit.found |= UINT64_C(1) << class;
        crn_drift_charts_add(line->charts, &line->fruit);
    }
}

/* Finds what is raised; true if it is of the lane, any if -2. */
static inline bool finds(simulated_line *line, int64_t lane)
{
    crn_drift_charts_find(line->charts, line->findings);
    for (int32_t i = 0; i < line->findings->count; i++)
        if (lane == -2 || line->findings->at[i].lane == lane)
            return true;
    return false;
}

#endif

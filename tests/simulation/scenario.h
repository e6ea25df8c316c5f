/*
 * A run of the whole line: its settings, senders, grader, viewers and what goes wrong, all drawn
 * from one seed.
 */
#ifndef CRN_TESTS_SIMULATION_SCENARIO_H
#define CRN_TESTS_SIMULATION_SCENARIO_H

#include <stdint.h>

#include "tests/simulation/world.h"

typedef struct sim_outcome {
    const char *failure; /* NULL: every invariant held; else until the next run */
    int64_t at_ns;       /* since the begin, in simulated time: of the failure, or the end */
    uint64_t traced;     /* the same for every run of the seed */
    sim_counts counts;
} sim_outcome;

/* `folder` is for the line's file and its log; `fruits`, at most CRN_SIM_FRUITS_MAX: how many
 * senders send in all. */
sim_outcome sim_run_line(uint64_t seed, const char *folder, uint32_t fruits);

#endif

/* All that a sorter's pages are made of. */
#ifndef CRN_TOOLS_SORTER_MONITOR_OBSERVATION_H
#define CRN_TOOLS_SORTER_MONITOR_OBSERVATION_H

#include "src/service/machine.h"
#include "tools/sorter/decide/decider.h"
#include "tools/sorter/outputs/outputs.h"

typedef struct crn_sorter_observation {
    const crn_sorter_settings *settings;
    const char *run;    /* identifies the start */
    int64_t started_ns; /* CLOCK_REALTIME */
    crn_line_state line;
    uint64_t unreadable; /* messages of the line */
    uint64_t reloads_taken, reloads_refused;
    crn_decider_stats decided;
    crn_outputs_stats outputs;
    crn_machine machine;
} crn_sorter_observation;

#endif

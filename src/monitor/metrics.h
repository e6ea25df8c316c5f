/* Every counter of the line in one place: what it
 * did, and under which reason anything was dropped. */
#ifndef CRN_SRC_MONITOR_METRICS_H
#define CRN_SRC_MONITOR_METRICS_H

#include "src/engine/engine.h"
#include "src/fruit/fruit.h"
#include "src/ingest/ingest.h"
#include "src/fruit/lane.h"
#include "src/publish/publish.h"
#include "src/recording/recorder.h"
#include "src/fruit/values.h"

typedef struct crn_metrics {
    crn_ingest_stats ingest;
    crn_lane_stats lanes; /* summed over the lanes */
    int32_t lane_count;
    crn_refusals refused_elsewhere; /* of lanes that are not open, or of no readable header */
    crn_fruit_stats fruits;
    crn_engine_stats engine;
    crn_values_stats values;
    crn_publish_stats publish;
    crn_recorder_stats recorder;
    uint64_t deadlines_ignored; /* header deadlines more than 10 s away */
    uint64_t
        results_full; /* views whose defects found no room until publication: verdict truncated */
} crn_metrics;

/* One to three log lines at info: what was done, what was lost and why; counters that are zero are
 * left out. */
void crn_metrics_log(const crn_metrics *metrics);

#endif

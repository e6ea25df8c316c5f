/* All counters of the line: what it did, and why anything was lost. */
#ifndef CRN_SRC_MONITOR_METRICS_H
#define CRN_SRC_MONITOR_METRICS_H

#include "src/engine/engine.h"
#include "src/fruit/fruit.h"
#include "src/ingest/access/access.h"
#include "src/ingest/ingest.h"
#include "src/fruit/lane/lane.h"
#include "src/monitor/quantiles.h"
#include "src/publish/publish.h"
#include "src/recorder/recorder.h"
#include "src/surface/surfaces.h"
#include "src/fruit/values/values.h"

typedef struct crn_metrics {
    crn_access_stats access;
    crn_ingest_stats ingest;
    crn_slots_stats slots;
    crn_lane_stats lanes; /* sum over the lanes */
    int32_t lane_count;
    crn_met_senders mixed;          /* the last ones */
    uint64_t lanes_freed;           /* for others; their counters are in `lanes`, too */
    crn_refusals refused_elsewhere; /* of lanes that are not open, or without a readable header */
    crn_fruit_stats fruits;
    crn_engine_stats engine;
    crn_surfaces_stats surfaces;
    crn_values_stats values;
    crn_publish_stats publish;
    crn_recorder_stats recorder;
    CRN_LINE_COUNTS(CRN_COUNT_MEMBER)
    uint64_t flight_dropped; /* verdicts that the flight recorder left out */
    crn_quantiles
        latency;       /* of fruits, from close to verdict; its reference is the start's budget */
    int64_t budget_ns; /* in force */
} crn_metrics;

#endif

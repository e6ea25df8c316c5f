/* The figures of verdicts, and the lanes, in the events of /events. */
#ifndef CRN_SRC_MONITOR_EVENTS_LANES_H
#define CRN_SRC_MONITOR_EVENTS_LANES_H

#include "src/monitor/families.h"
#include "src/formats/encoding/encoder.h"

CRN_C_BEGIN

/* All lanes' verdicts and latencies together. */
crn_lane_meters crn_event_sum_lanes(const crn_snapshot *snapshot);

/* `now` less `before`, of what the next function writes. */
crn_lane_meters crn_event_difference(const crn_lane_meters *now, const crn_lane_meters *before);

/* Pairs of a map: verdicts {complete, partial, late}, latency_ms {p50, p99, within_budget}. */
#define CRN_EVENT_FIGURE_PAIRS 2
void crn_event_figures(const crn_lane_meters *meters, const crn_histogram_edges *edges,
                       crn_encoder *encoder);

/* The pair `lanes`. */
void crn_event_lanes(const crn_observation *observation, crn_encoder *encoder);

CRN_C_END

#endif

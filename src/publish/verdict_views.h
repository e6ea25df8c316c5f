/* The parts of a verdict about its views besides defects: the latency breakdown and the state of
 * each view. Private to verdict.c and its tests. */
#ifndef CRN_SRC_PUBLISH_VERDICT_VIEWS_H
#define CRN_SRC_PUBLISH_VERDICT_VIEWS_H

#include "stages/config/config.h"
#include "src/formats/encoding/encoder.h"
#include "src/fruit/fruit.h"

/* Breakdown of the time from a fruit's close to its verdict: queue + all stages + pose + surface
 * <= total. */
typedef struct crn_latency_parts {
    int64_t queue_ns, pose_ns, surface_ns, total_ns;
    int64_t stage_ns[CRN_STAGES_MAX];
} crn_latency_parts;

/*
 * Computed from the judged view that finished last: the part after the fruit's close of its
 * timeline, which, laid end to end and ending when the view ended, is its wait in the queue, the
 * waits between its halves, its steps in the chain's order, its pose.
 */
void crn_latency_parts_of(const crn_config *config, const crn_fruit *fruit, int64_t now_ns,
                          crn_latency_parts *ret_parts);

/* Writes the array `view_states`: the expected views, or those received
 * or refused if the number is unknown. */
void crn_view_states_emit(const crn_config *config, const crn_fruit *fruit, int64_t now_ns,
                          crn_encoder *encoder);

#endif

/*
 * What a verdict says of its fruit's views beside their defects: where its time went, and what
 * became of each view. A private part of verdict.c, which alone (and its test) includes this.
 */
#ifndef CRN_SRC_PUBLISH_VERDICT_VIEWS_H
#define CRN_SRC_PUBLISH_VERDICT_VIEWS_H

#include "src/config/config.h"
#include "src/publish/encoder.h"
#include "src/fruit/fruit.h"

/* Parts of the time from a fruit's close to its verdict: queue + all stages <= total. */
typedef struct crn_latency_parts {
    int64_t queue_ns, total_ns;
    int64_t stage_ns[CRN_STAGES_MAX];
} crn_latency_parts;

/*
 * Of the judged view that ended last: what lies after the fruit's close of its timeline, which is,
 * laid end to end and ending when the view ended, its wait in the queue, waits between its halves,
 * its steps in the chain's order.
 */
void crn_latency_parts_of(const crn_config *config, const crn_fruit *fruit, int64_t now_ns,
                          crn_latency_parts *ret_parts);

/* The array `view_states`: the views that are expected, or those received or refused where that is
 * unknown. */
void crn_view_states_emit(const crn_config *config, const crn_fruit *fruit, int64_t now_ns,
                          crn_encoder *encoder);

#endif

/*
 * What a person should learn at once: log lines of the line's thread about fruits, senders and the
 * grader, each with the cure. At most one a second for each kind, with the number of those held
 * back. The once-a-minute counters are metrics.h's.
 */
#ifndef CRN_SRC_MONITOR_NOTICE_H
#define CRN_SRC_MONITOR_NOTICE_H

#include <stdint.h>

#include "stages/base/log.h"
#include "src/engine/engine.h"
#include "src/fruit/fruit.h"
#include "src/ingest/ingest.h"
#include "src/publish/publish.h"

/* A grader that stays away is named again so often. */
#define CRN_NOTICE_GRADER_NS (10 * CRN_NS_PER_S)

/* What was logged when. One thread's; starts zeroed. */
typedef struct crn_notices {
    crn_log_gate fruit[CRN_VERDICT_LATE + 1]; /* by verdict */
    crn_log_gate failed, epoch, deadline, mismatch, lanes;
    int64_t grader_ns; /* when an absent grader is named next; 0: it is not absent */
} crn_notices;

/* The line is about to run: version, file, endpoints as bound, classes, backend. */
void crn_notice_ready(const crn_config *config, const crn_ingest *ingest,
                      const crn_publish *publish, const crn_engine *engine);

/* A fruit was judged: where its verdict is not complete, why. `views` is limits.views. */
void crn_notice_fruit(crn_notices *notices, const crn_fruit *fruit, int64_t views, int64_t now_ns);

/* The chain failed on a view. */
void crn_notice_failure(crn_notices *notices, const crn_output *output, int64_t now_ns);

/* The sender of this view numbers from the start again in an epoch that it used before. */
void crn_notice_epoch(crn_notices *notices, const crn_view_header *header, int64_t now_ns);

/* A message that suits the line, but not the messages before it; other arrivals say nothing. */
void crn_notice_misfit(crn_notices *notices, const crn_view_header *header, crn_arrival arrival,
                       int64_t now_ns);

/* A header's deadline is ignored, too far from realtime_ns (CLOCK_REALTIME at its reception). */
void crn_notice_deadline(crn_notices *notices, const crn_view_header *header, int64_t realtime_ns,
                         int64_t now_ns);

/* To be called often: whether verdicts wait for a grader that is not there. */
void crn_notice_grader(crn_notices *notices, const crn_publish *publish, int64_t now_ns);

#endif

/*
 * Immediate log messages of the line's thread about fruits and senders, each with a hint. At
 * most one a second of each kind, with the number of those suppressed. report.h logs rates and
 * losses every minute; src/monitor/conditions what holds.
 */
#ifndef CRN_SRC_MONITOR_LOG_MESSAGES_NOTICE_H
#define CRN_SRC_MONITOR_LOG_MESSAGES_NOTICE_H

#include <stdint.h>

#include "stages/base/log.h"
#include "src/engine/engine.h"
#include "src/fruit/fruit.h"
#include "src/ingest/ingest.h"
#include "src/publish/publish.h"

/* Pause between warnings about fruit numbers that return, which may go on for ever. */
#define CRN_NOTICE_RETURNED_NS (600 * CRN_NS_PER_S)

/* When each kind was last logged. Used by one thread; zero-initialise. */
typedef struct crn_notices {
    crn_log_gate fruit[CRN_VERDICT_LATE + 1]; /* by verdict */
    crn_log_gate failed, epoch, jump, early, mixed, joined, deadline;
    crn_log_gate refused[CRN_REFUSALS - CRN_WIRE_FAULTS]; /* from CRN_REFUSAL_VIEWS_MISMATCH on */
    int64_t returned_ns; /* time of the next warning about numbers that return */
} crn_notices;

/* At the start: version, file, endpoints as bound, classes, backend. `http`: the address of the
 * pages, "" for none. */
void crn_notice_ready(const crn_config *config, const crn_ingest *ingest,
                      const crn_publish *publish, const crn_engine *engine, const char *http);

/* A fruit was judged: the reasons if its verdict is not complete. `views` is limits.views. */
void crn_notice_fruit(crn_notices *notices, const crn_fruit *fruit, int64_t views, int64_t now_ns);

/* The chain failed on a view. */
void crn_notice_failure(crn_notices *notices, const crn_output *output, int64_t now_ns);

/* The sender of this view restarted its sequence numbers without a new epoch. */
void crn_notice_epoch(crn_notices *notices, const crn_view_header *header, int64_t now_ns);

/* The sequence number of this view is too far from those before it to be a gap. */
void crn_notice_jump(crn_notices *notices, const crn_view_header *header, int64_t now_ns);

/* The view has arrived; `before`: the counts before that. Warns if its fruit's number was that of
 * one judged not long before. */
void crn_notice_returned(crn_notices *notices, const crn_view_header *header,
                         const crn_fruits *fruits, const crn_fruit_stats *before, int64_t now_ns);

#define CRN_NOTICE_MIXED_BYTES 256

/* Which senders are mixed, and the cure; returns `text`. */
const char *crn_notice_mixed(const crn_met_senders *met, char text[CRN_NOTICE_MIXED_BYTES]);

/* A view has arrived on the lane; `before`: its counts before that. Tells of senders that are there
 * at once, joined or mixed. */
void crn_notice_senders(crn_notices *notices, const crn_lanes *lanes, const crn_lane *lane,
                        const crn_lane_stats *before, int64_t now_ns);

/* A message that matches the line but contradicts earlier
 * messages; other arrivals are not logged. */
void crn_notice_refused_view(crn_notices *notices, const crn_view_header *header,
                             crn_arrival arrival, int64_t now_ns);

/* A header's deadline is ignored because it is too far from
 * realtime_ns (CLOCK_REALTIME at reception). */
void crn_notice_deadline(crn_notices *notices, const crn_view_header *header, int64_t realtime_ns,
                         int64_t now_ns);

#endif

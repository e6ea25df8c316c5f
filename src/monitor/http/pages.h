/* The pages for people and programs other than Prometheus, as JSON: health, and the events'
 * snapshots. No sockets. */
#ifndef CRN_SRC_MONITOR_HTTP_PAGES_H
#define CRN_SRC_MONITOR_HTTP_PAGES_H

#include "src/monitor/families.h"
#include "src/publish/encoder.h"

CRN_C_BEGIN

/* Without a snapshot for so long the line's thread is considered to hang. */
#define CRN_PAGES_SILENCE_NS (5 * CRN_NS_PER_S)

/* True unless the line's thread hangs. */
bool crn_pages_is_healthy(const crn_observation *observation);

/* True if, in addition, views are accepted. */
bool crn_pages_is_ready(const crn_observation *observation);

/* {state, healthy, ready, reasons, version, run, uptime_s}; reasons are clauses in words. */
void crn_pages_health(const crn_observation *observation, crn_encoder *encoder);

/* Counts of the last event, from which rates follow; zero-initialise. */
typedef struct crn_pages_rates {
    int64_t taken_ns;
    uint64_t views, verdicts;
    double views_per_s, verdicts_per_s;
} crn_pages_rates;

/*
 * The data of one event: {number, state, healthy, ready, reasons, age_s, views_per_s,
 * verdicts_per_s, budget_ms, latency_ms, verdicts, lost, waiting, graders, fruits_open, slots,
 * slots_free, lanes}; latency_ms {p50, p99, within_budget} and verdicts {complete, partial, late}
 * also for each lane of lanes, [{lane, views, gaps, rejected, last_view_s, verdicts, latency_ms}].
 */
void crn_pages_event(const crn_observation *observation, crn_pages_rates *rates,
                     crn_encoder *encoder);

CRN_C_END

#endif

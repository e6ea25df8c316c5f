/* The events of /events: what the live page and cernita-top show, as JSON. No sockets. */
#ifndef CRN_SRC_MONITOR_EVENTS_EVENTS_H
#define CRN_SRC_MONITOR_EVENTS_EVENTS_H

#include "src/monitor/families.h"
#include "src/monitor/fruits/last_fruits.h"
#include "src/monitor/events/history.h"
#include "src/formats/encoding/encoder.h"

CRN_C_BEGIN

/* Counts of the last snapshot, from which rates follow; zero-initialise. */
typedef struct crn_event_rates {
    int64_t taken_ns;
    uint64_t views, verdicts;
    double views_per_s, verdicts_per_s;
} crn_event_rates;

/* Call it with every new snapshot. */
void crn_event_rates_update(crn_event_rates *rates, const crn_snapshot *snapshot);

/* The data of one event; README.md has its fields. */
void crn_event_snapshot(const crn_observation *observation, crn_budget_watch budget,
                        const crn_last_fruits *fruits, const crn_event_rates *rates,
                        crn_encoder *encoder);

CRN_C_END

#endif

/* The line's health as JSON, for /healthz and /readyz. No sockets. */
#ifndef CRN_SRC_MONITOR_HTTP_PAGES_H
#define CRN_SRC_MONITOR_HTTP_PAGES_H

#include "src/monitor/http/reasons.h"
#include "src/publish/encoder.h"

CRN_C_BEGIN

/* The pairs state, healthy, ready and reasons of a map. */
#define CRN_PAGES_STATE_PAIRS 4
void crn_pages_state(const crn_observation *observation, const crn_reasons *reasons,
                     crn_encoder *encoder);

/* {state, healthy, ready, reasons, version, run, uptime_s}; reasons are clauses in words. */
void crn_pages_health(const crn_observation *observation, crn_encoder *encoder);

CRN_C_END

#endif

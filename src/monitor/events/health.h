/* The line's health as JSON, for /healthz and /readyz. No sockets. */
#ifndef CRN_SRC_MONITOR_EVENTS_HEALTH_H
#define CRN_SRC_MONITOR_EVENTS_HEALTH_H

#include "src/monitor/events/reasons.h"
#include "src/formats/encoding/encoder.h"

CRN_C_BEGIN

/* The pairs state, healthy, ready and reasons of a map. */
#define CRN_HEALTH_PAIRS 4
void crn_health_state(const crn_observation *observation, const crn_reasons *reasons,
                      crn_encoder *encoder);

/* The pairs settings (16 hex digits, as in verdicts) and recipe ("": none) in force. */
#define CRN_SETTINGS_PAIRS 2
void crn_health_settings(const crn_observation *observation, crn_encoder *encoder);

/* {state, healthy, ready, reasons, version, run, settings, recipe, uptime_s}; reasons are clauses
 * in words. */
void crn_health_page(const crn_observation *observation, crn_encoder *encoder);

CRN_C_END

#endif

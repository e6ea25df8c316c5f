/* The line's health as JSON, for /healthz and /readyz. No sockets. */
#ifndef CRN_SRC_MONITOR_EVENTS_HEALTH_H
#define CRN_SRC_MONITOR_EVENTS_HEALTH_H

#include "src/monitor/conditions/json.h"
#include "src/monitor/families.h"
#include "src/formats/encoding/encoder.h"

CRN_C_BEGIN

/* Without a snapshot for so long the line's thread is considered to hang. */
#define CRN_HEALTH_SILENCE_NS (5 * CRN_NS_PER_S)

/* How long the line's thread has not written its numbers; 0 before the first time. */
int64_t crn_health_silence_ns(const crn_observation *observation);

/* True unless the line's thread hangs. */
bool crn_health_is_healthy(const crn_observation *observation);

/* True if, in addition, views are accepted. */
bool crn_health_is_ready(const crn_observation *observation);

/* The pairs state, healthy and ready of a map, and those of its conditions. */
#define CRN_HEALTH_PAIRS (3 + CRN_CONDITIONS_PAIRS)
void crn_health_state(const crn_observation *observation, crn_encoder *encoder);

/* The pairs lot, grower, variety and lot_since_s. */
#define CRN_LOT_PAIRS 4
void crn_health_lot(const crn_lot *lot, crn_encoder *encoder);

/* The pairs settings (16 hex digits, as in verdicts) and recipe ("": none) in force, and those of
 * the lot. */
#define CRN_SETTINGS_PAIRS (2 + CRN_LOT_PAIRS)
void crn_health_settings(const crn_observation *observation, crn_encoder *encoder);

/* {state, healthy, ready, headline, conditions, reasons, version, run, settings, recipe,
 * lot, grower,
 * variety, lot_since_s, uptime_s}. */
void crn_health_page(const crn_observation *observation, crn_encoder *encoder);

CRN_C_END

#endif

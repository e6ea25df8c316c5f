/* Conditions as JSON: what holds, for /events, /healthz and the control socket, and the table with
 * its texts in every language, for pages. No sockets. */
#ifndef CRN_SRC_MONITOR_CONDITIONS_JSON_H
#define CRN_SRC_MONITOR_CONDITIONS_JSON_H

#include "src/formats/encoding/encoder.h"
#include "src/monitor/conditions/conditions.h"

CRN_C_BEGIN

/* The pairs id, severity, misjudged, lane (if it is of one), values, what, action and details of a
 * condition, and how many they are. */
void crn_condition_json(const crn_condition *row, const crn_condition_values *values,
                        crn_encoder *encoder);
uint32_t crn_condition_pairs(const crn_condition_values *values);

/* The pairs headline {level, misjudged}, conditions [{id, severity, …}] and reasons: each
 * condition as a clause. */
#define CRN_CONDITIONS_PAIRS 3
void crn_conditions_json(const crn_condition_list *list, int64_t now_ns, crn_encoder *encoder);

/* {languages, conditions: {id: {alert, severity, misjudged, details, en: {what, action}, …}}}. */
void crn_conditions_table_json(crn_encoder *encoder);

CRN_C_END

#endif

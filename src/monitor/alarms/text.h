/* Alarms as JSON, for pages and programs, and as CSV, for spreadsheets. No sockets. */
#ifndef CRN_SRC_MONITOR_ALARMS_TEXT_H
#define CRN_SRC_MONITOR_ALARMS_TEXT_H

#include <stdio.h>

#include "src/formats/encoding/encoder.h"
#include "src/monitor/alarms/book.h"

CRN_C_BEGIN

/* A map: number, those of crn_condition_json(), raised_ms; and cleared_ms, acknowledged_ms with
 * acknowledged_by, shelved_until_ms as far as they apply. */
void crn_alarm_json(const crn_alarm *alarm, int64_t now_ms, crn_encoder *encoder);

/* The first line of the CSV, and the line of an alarm: RFC 4180, with texts that no spreadsheet
 * takes for formulas. */
void crn_alarm_csv_head(FILE *out);
void crn_alarm_csv(const crn_alarm *alarm, FILE *out);

/* "2026-11-27T06:38:12.345Z"; "" for 0. */
#define CRN_ALARM_TIME_BYTES 32
void crn_alarm_time(int64_t ms, char ret_text[CRN_ALARM_TIME_BYTES]);

CRN_C_END

#endif

/* The requests of control.h about the alarm list. No sockets. */
#ifndef CRN_SRC_CONTROL_ALARM_REQUESTS_H
#define CRN_SRC_CONTROL_ALARM_REQUESTS_H

#include <stdio.h>

#include "src/monitor/alarms/thread.h"

/*
 * Answers `alarms`, `alarms acknowledge N`, `alarms acknowledge all`, `alarms acknowledge all N`
 * (none after that number) and `alarms shelve N MINUTES` as crn_request_answer() does. `by` is who
 * asks. False: the request is none of these, and nothing was written.
 */
bool crn_alarm_request_answer(crn_alarms *alarms, const char *request, const char *by, FILE *out);

#endif

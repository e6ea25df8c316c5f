/*
 * What the log says of conditions: a line when one is raised, with what the engineer needs, one a
 * minute while it holds, and one when it ends. Lanes of which the same is told at the same time
 * share a line.
 */
#ifndef CRN_SRC_MONITOR_CONDITIONS_LOG_H
#define CRN_SRC_MONITOR_CONDITIONS_LOG_H

#include "src/monitor/conditions/watch.h"

CRN_C_BEGIN

/* The events of a look; zeroed at first. A condition has one a look. */
typedef struct crn_condition_log {
    int32_t count;
    struct {
        crn_condition_held held;
        crn_condition_event event;
    } at[CRN_CONDITIONS_MAX];
} crn_condition_log;

void crn_condition_log_add(crn_condition_log *log, const crn_condition_held *held,
                           crn_condition_event event);

/* Logs them, in the order of the first of each row, and forgets them. */
void crn_condition_log_write(crn_condition_log *log);

CRN_C_END

#endif

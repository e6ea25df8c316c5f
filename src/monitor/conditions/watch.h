/*
 * Which conditions hold over time: a row that finds its condition in every look for its `raise_s`
 * is raised, and ends after `clear_s` without. No clock, no thread, no log, no allocation after
 * creation.
 */
#ifndef CRN_SRC_MONITOR_CONDITIONS_WATCH_H
#define CRN_SRC_MONITOR_CONDITIONS_WATCH_H

#include "src/monitor/conditions/find.h"

CRN_C_BEGIN

typedef struct crn_condition_watch crn_condition_watch;

/* `config` and `context` must outlive it. Returns 0 or -ENOMEM. */
int crn_condition_watch_create(const crn_config *config, int64_t began_ns, crn_condition_told *tell,
                               void *context, crn_condition_watch **ret_watch);
void crn_condition_watch_free(crn_condition_watch **watch); /* NULL is allowed */

/* Looks at the latest snapshot, which is copied, at what the machine has to give, and at what
 * drifts (NULL: nothing is compared). realtime_ns is CLOCK_REALTIME. */
void crn_condition_watch_look(crn_condition_watch *watch, const crn_snapshot *now,
                              const crn_resources *resources, const crn_drift_findings *drift,
                              int64_t now_ns, int64_t realtime_ns);

/* What holds as of the last look; valid until the next. */
const crn_condition_list *crn_condition_watch_list(const crn_condition_watch *watch);

CRN_C_END

#endif

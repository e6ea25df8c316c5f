/*
 * The thread that looks for conditions, once a second and whenever the line has new numbers, and
 * logs which are raised and which end. It is there with or without monitor.http, waits for no disk
 * and no client, and costs the line's thread a copy of its numbers once a second.
 */
#ifndef CRN_SRC_MONITOR_CONDITIONS_THREAD_H
#define CRN_SRC_MONITOR_CONDITIONS_THREAD_H

#include "src/monitor/conditions/conditions.h"
#include "src/monitor/drift/feed.h"
#include "src/monitor/resources/resources.h"

CRN_C_BEGIN

typedef struct crn_conditions crn_conditions;

/* Starts it; `config`, `reader` and `drift`, which it alone reads (NULL: nothing is known of the
 * machine's resources; no fruits are compared), and `context` must outlive it. `tell` is called by
 * the thread, with `context`, beside the log; NULL: nothing else is told. Returns 0 or a negative
 * errno. */
int crn_conditions_open(const crn_config *config, crn_resources_reader *reader, crn_drift *drift,
                        crn_condition_told *tell, void *context, crn_conditions **ret_conditions);

/* Joins the thread, frees, and sets *conditions to NULL; NULL is allowed. */
void crn_conditions_close(crn_conditions **conditions);

/* Where the line's thread puts its numbers; then it has them looked at. */
crn_snapshots *crn_conditions_snapshots(crn_conditions *conditions);
void crn_conditions_look(crn_conditions *conditions);

/* What holds as of the last look; from any thread. */
void crn_conditions_get(crn_conditions *conditions, crn_condition_list *ret_list);

CRN_C_END

#endif

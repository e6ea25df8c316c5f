/* Conditions that hold, or held a moment ago: what the rows add to, and what is told of them.
 * Private to this folder. */
#ifndef CRN_SRC_MONITOR_CONDITIONS_TRACKED_H
#define CRN_SRC_MONITOR_CONDITIONS_TRACKED_H

#include "src/monitor/conditions/find.h"

typedef struct crn_tracked_condition {
    crn_condition_held held;
    int64_t seen_ns; /* last look that found it */
    int64_t told_ns; /* when it was raised, or told of again; 0: it is not raised */
} crn_tracked_condition;

typedef struct crn_tracked_conditions {
    crn_condition_told *tell;
    void *context;
    crn_tracked_condition at[CRN_CONDITIONS_MAX];
    int32_t count;
    crn_condition_list list; /* of those that are raised, as of the last crn_tracked_list() */
} crn_tracked_conditions;

/* Of one row in one look. */
struct crn_condition_found {
    crn_tracked_conditions *tracked;
    const crn_condition *row;
    int64_t now_ns;
};

/* Raises what held for long enough, and reminds of what was raised before. */
void crn_tracked_raise(crn_tracked_conditions *tracked, int64_t now_ns);

/* Ends what did not hold for long enough; what was never raised is forgotten at once. */
void crn_tracked_end(crn_tracked_conditions *tracked, int64_t now_ns);

void crn_tracked_list(crn_tracked_conditions *tracked, crn_state state);

#endif

/*
 * What the line did of late, for the pages: snapshots kept every 20 s, so that counts can be
 * compared with those of two minutes ago, and when the budget was last missed. Used by the HTTP
 * thread.
 */
#ifndef CRN_SRC_MONITOR_EVENTS_HISTORY_H
#define CRN_SRC_MONITOR_EVENTS_HISTORY_H

#include "src/monitor/snapshot.h"
#include "stages/base/clock.h"

CRN_C_BEGIN

/* Snapshots are kept so far apart, for so long. */
#define CRN_HISTORY_STEP_NS (20 * CRN_NS_PER_S)
#define CRN_HISTORY_NS      (120 * CRN_NS_PER_S)

typedef struct crn_history crn_history;

/* `lanes` is limits.lanes. Returns 0 or -ENOMEM. */
int crn_history_create(int32_t lanes, crn_history **ret_history);
void crn_history_free(crn_history **history); /* NULL is allowed */

/* Call it with the latest snapshot once a second or so; allocates nothing. */
void crn_history_update(crn_history *history, const crn_snapshot *now, int64_t now_ns);

/* The snapshot of two minutes ago, or a little more (CRN_HISTORY_STEP_NS); before that of the
 * start: all zero. It has limits.lanes lanes; those not seen yet are zero. */
const crn_snapshot *crn_history_before(const crn_history *history);

/* Whether every fruit had its verdict in time since then. */
typedef struct crn_budget_watch {
    bool kept;
    int64_t since_ns; /* when that became so, CLOCK_MONOTONIC; 0: it was so from the start */
    uint64_t missed, verdicts;
} crn_budget_watch;

crn_budget_watch crn_history_budget(const crn_history *history);

CRN_C_END

#endif

/*
 * The queue of views: which one runs next, which one is evicted, and what a view cost recently.
 * Private to fruit.c and its tests.
 *
 * Policy. A fruit is intact until it loses a view. An intact fruit fits if its queued views can all
 * finish before it is due, estimated in rounds of one view per worker, in which views that are
 * running (its own or others') count half. For a fruit that has not started, the last round is
 * estimated at the slow cost; once started, at the typical cost, so that work is not abandoned
 * halfway.
 *   1. Intact fruits that fit run first, earliest due time first, then the older.
 *   2. Then intact ones that may not fit: started ones, then the youngest: it has most time left.
 *   3. Then broken ones, earliest due time first: a verdict on some views is better than none.
 * Within a fruit the lowest view index runs first. While every worker has a view, another one is
 * submitted to wait behind it only if views are brief: a submitted view cannot be recalled in
 * favour of a more urgent one, but with brief views idle workers would cost more. A view that at
 * typical cost, without the steps that are skipped where time is short, cannot finish before its
 * fruit is due is discarded without running. When no slot is
 * left, the youngest broken fruit loses a view first, then the youngest intact one. Under overload,
 * losses are thus concentrated on few fruits and the others stay complete.
 *
 * Recent cost: over the last CRN_SCHEDULE_COSTS views that ran, the median is `typical` and the
 * 90th percentile is `slow`. Percentiles rather than mean and deviation, because one view that was
 * stalled for half a second must not make all following ones look hopeless. CRN_SCHEDULE_BARREN
 * consecutive discards without a started view reset the costs, so that the next view runs and is
 * measured: an estimate that is never corrected would otherwise silence the line for good.
 *
 * `entry` is the index of an entry in the fruit table; the caller guarantees valid entries and
 * views.
 */
#ifndef CRN_SRC_FRUIT_SCHEDULE_H
#define CRN_SRC_FRUIT_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/fruit/fruit.h"

#define CRN_SCHEDULE_COSTS  32
#define CRN_SCHEDULE_BARREN 16
#define CRN_SCHEDULE_FEW    8 /* costs: with fewer, a view that was stopped tells only of itself */

typedef struct crn_schedule crn_schedule;

/* Views are brief while their typical cost is at most brief_ns. Returns 0, -EINVAL or -ENOMEM. */
int crn_schedule_create(int32_t entries, int32_t workers, int64_t brief_ns,
                        crn_schedule **ret_schedule);
void crn_schedule_free(crn_schedule **schedule);

/* Sets the number of views that run in parallel; at least 1. */
void crn_schedule_set_workers(crn_schedule *schedule, int32_t workers);

/* Views cost something else from now on, and are brief up to brief_ns. */
void crn_schedule_forget_costs(crn_schedule *schedule, int64_t brief_ns);

/* A fruit took this entry; `order` increases from fruit to fruit. Its
 * due time is CRN_NEVER_NS at first. */
void crn_schedule_open(crn_schedule *schedule, uint32_t entry, uint64_t order);

/* Sets the time by which the fruit's views must have finished. */
void crn_schedule_set_due(crn_schedule *schedule, uint32_t entry, int64_t due_ns);

/* The fruit is gone: its queued views are dropped. */
void crn_schedule_close(crn_schedule *schedule, uint32_t entry);

void crn_schedule_queue(crn_schedule *schedule, uint32_t entry, uint32_t view);

/* That view is never evicted: nobody else could use its slot. */
void crn_schedule_spare(crn_schedule *schedule, uint32_t entry, uint32_t view);

/* A view of the fruit will never be judged: the fruit is broken from now on. */
void crn_schedule_lose(crn_schedule *schedule, uint32_t entry);

/* Selects the next view: on RUN it counts as started, on DISCARD as lost, and its fruit is broken.
 * NONE: nothing is queued, or views are not brief and every worker has one. */
crn_next crn_schedule_next(crn_schedule *schedule, int64_t now_ns, uint32_t *ret_entry,
                           uint32_t *ret_view);

/* A started view ended, whether its fruit is still open or not. cost_ns 0: it was not measured;
 * optional_ns of it went to steps that are skipped where time is short. */
void crn_schedule_end(crn_schedule *schedule, int64_t cost_ns, int64_t optional_ns);

/*
 * A view was stopped after this time, which is a lower bound of its cost. It enters the recent
 * costs if it is above the typical cost; otherwise it says nothing new and must not make views
 * look cheaper than they are. While fewer than CRN_SCHEDULE_FEW costs are known it is left out: it
 * would be the typical cost, up to its whole budget, and all fruits after one view of another size
 * would be discarded until the costs are reset.
 */
void crn_schedule_give_up(crn_schedule *schedule, int64_t at_least_ns);

/*
 * Evicts the queued view of lowest priority if that is lower than that of a view of `entry`: broken
 * fruits before intact ones, then the younger fruit, then the highest view index. The view is lost
 * and its fruit broken.
 */
bool crn_schedule_evict(crn_schedule *schedule, uint32_t entry, uint32_t *ret_entry,
                        uint32_t *ret_view);

#endif

/*
 * The queue of views: which runs next, which gives up its slot, and what a view costs of late.
 * The private half of fruit.c, which alone (and its test) includes this.
 *
 * Policy. A fruit is whole until it loses a view. A whole fruit fits when its queued views can all
 * end before it is due: counted in rounds of one view per worker, where the views running now, its
 * own or others', count as half done. To fit, a fruit not begun yet needs the last round to be a
 * slow one; once begun, typical ones will do, so that work is not left lying halfway.
 *   1. Whole fruits that fit run first: the earliest due first, of alike ones the older.
 *   2. Then whole ones that hardly fit: those begun, then the youngest, which has most time left.
 *   3. Then broken ones, the earliest due first: a verdict on some views beats one on none.
 * Within a fruit the lowest view runs first. While every worker has a view, another is handed out
 * to wait behind it only if views are brief: what was handed out cannot be called back when one
 * comes that should go first, but with brief views a worker's wait for its next one would cost
 * more. A view that at typical cost cannot end before its fruit is due is discarded unrun. With no
 * slot left, the youngest of the broken fruits gives one up, then the youngest of the whole ones.
 * So when more comes than can be carried, losses gather on few fruits and the others stay whole.
 *
 * Recent cost: of the last CRN_SCHEDULE_COSTS views that ran, the median is `typical`, the 90th
 * percentile `slow`. Ranks, not a mean and its deviation: one view held up for half a second must
 * not make every view after it look hopeless. CRN_SCHEDULE_BARREN discards in a row without a view
 * begun forget all costs, so that the next view runs and is measured: an estimate that nothing
 * could correct any more would silence the line for good.
 *
 * A place is one in the fruits' table; places and views are the caller's to keep valid.
 */
#ifndef CRN_SRC_FRUIT_SCHEDULE_H
#define CRN_SRC_FRUIT_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/fruit/fruit.h"

#define CRN_SCHEDULE_COSTS  32
#define CRN_SCHEDULE_BARREN 16

typedef struct crn_schedule crn_schedule;

/* Views are brief while their typical cost is at most brief_ns. 0, -EINVAL, -ENOMEM. */
int crn_schedule_create(int32_t places, int32_t workers, int64_t brief_ns,
                        crn_schedule **ret_schedule);
void crn_schedule_free(crn_schedule **schedule);

/* From now on so many views run side by side; at least 1. */
void crn_schedule_set_workers(crn_schedule *schedule, int32_t workers);

/* A fruit took this place; `order` grows from fruit to fruit. It is due at CRN_NEVER_NS. */
void crn_schedule_open(crn_schedule *schedule, uint32_t place, uint64_t order);

/* The moment by which the fruit's views must have ended. */
void crn_schedule_set_due(crn_schedule *schedule, uint32_t place, int64_t due_ns);

/* The fruit left: its queued views are forgotten. */
void crn_schedule_close(crn_schedule *schedule, uint32_t place);

void crn_schedule_queue(crn_schedule *schedule, uint32_t place, uint32_t view);

/* A view of the fruit will never be judged: from now on the fruit is broken. */
void crn_schedule_lose(crn_schedule *schedule, uint32_t place);

/* The next view: on RUN it has begun, on DISCARD it is lost and its fruit broken. NONE: nothing is
 * queued, or views are not brief and every worker has one. */
crn_next crn_schedule_next(crn_schedule *schedule, int64_t now_ns, uint32_t *ret_place,
                           uint32_t *ret_view);

/* A view that had begun ended, its fruit being there
 * still or not. cost_ns 0: it was not measured. */
void crn_schedule_end(crn_schedule *schedule, int64_t cost_ns);

/*
 * A view was given up after so long: it costs more than that, how much is not known. It enters the
 * recent costs with what is known where that is above the typical cost; else it says nothing new,
 * and must not make views look cheaper than they are.
 */
void crn_schedule_give_up(crn_schedule *schedule, int64_t at_least_ns);

/*
 * The queued view of least worth, if that is less than a view of `place`: a broken fruit's before a
 * whole one's, of two alike the younger fruit's, of one fruit the highest. It is lost, and its
 * fruit broken.
 */
bool crn_schedule_evict(crn_schedule *schedule, uint32_t place, uint32_t *ret_place,
                        uint32_t *ret_view);

/* Recent costs; 0 while nothing is known. */
int64_t crn_schedule_typical_ns(const crn_schedule *schedule);
int64_t crn_schedule_slow_ns(const crn_schedule *schedule);

#endif

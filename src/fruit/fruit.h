/*
 * Fruits and time: which views belong together, when a fruit closes, when it must be judged, and
 * which view runs next. Pure logic under a clock that the caller passes in; one thread owns it;
 * nothing is allocated after creation.
 *
 * A fruit is (lane, epoch, fruit id). It closes on its last expected view, or assemble_ns after its
 * first. Its deadline is close + budget_ns, or its views' earliest header deadline where that comes
 * first (a header deadline that leaves no more than guard_ns closes the fruit and makes it due at
 * once). It is due as soon as it is closed and no view of it is arrived, queued or running, at the
 * latest at deadline - guard_ns. A view that comes between close and verdict is still credited.
 * Exactly one verdict per fruit.
 *
 * The caller's loop, per message:
 *   crn_fruits_arrive; if wanted, take a slot, none free: crn_fruits_evict;
 *   got one: crn_fruits_queue, none: crn_fruits_lose
 * and after every message, and when crn_fruits_wake_ns comes:
 *   crn_fruits_done   for every view the engine gives back
 *   crn_fruits_due    until NULL: publish, give back slots and results, crn_fruits_judge
 *   crn_fruits_next   until CRN_NEXT_NONE, while the engine has room
 *   (next may make a fruit due by discarding its last view, so ask wake_ns after it)
 *
 * Overload: losses gather on few fruits, so that the others stay whole; the policy, and what a view
 * is taken to cost, stands in schedule.h.
 *
 * How the counts add up, at any time:
 *   messages  = wanted + duplicates + stragglers + views_mismatch + lanes + no_place
 *   wanted    = judged + no_slot + discarded + unfinished + failed + arrived, queued, running now
 *   opened    = complete + partial + late + open now
 * (running includes views whose fruit was judged meanwhile, until the engine gives them back)
 */
#ifndef CRN_SRC_FRUIT_FRUIT_H
#define CRN_SRC_FRUIT_FRUIT_H

#include <stdbool.h>
#include <stdint.h>

#include "stages/base/cplusplus.h"
#include "src/chain/judgement.h"
#include "src/config/config.h"
#include "src/fruit/lane.h"
#include "src/ingest/refusal.h"
#include "src/ingest/ticket.h"

CRN_C_BEGIN

#define CRN_FRUIT_VIEWS_MAX 64 /* limits.views goes up to this */

typedef struct crn_fruit_rules {
    int32_t open_fruits; /* at most so many are open; one more, and the oldest is due at once */
    int32_t views;       /* views per fruit, at most CRN_FRUIT_VIEWS_MAX */
    int32_t workers; /* how many views run side by side: for judging what can still be finished */
    int64_t budget_ns, assemble_ns, guard_ns;
} crn_fruit_rules;

typedef enum crn_view_state {
    CRN_VIEW_ABSENT,  /* not received */
    CRN_VIEW_ARRIVED, /* received, waiting for the caller's queue or lose */
    CRN_VIEW_QUEUED,  /* in a slot, not begun */
    CRN_VIEW_RUNNING, /* handed to the engine */
    CRN_VIEW_JUDGED,  /* done */
    CRN_VIEW_LOST,    /* received but never to be judged: no slot, discarded, failed */
    CRN_VIEW_REFUSED, /* not received, but for messages that were refused */
} crn_view_state;

typedef struct crn_fruit_view {
    crn_view_state state;
    crn_view_reason reason;        /* why it is lost */
    crn_refusal refusal;           /* why it is refused: the first such message's reason */
    crn_value_fault values;        /* once queued: a view with a fault is judged, but never whole */
    uint64_t captured_ns, encoder; /* of its header; as the following, once it is received */
    int64_t received_ns;
    int64_t begun_ns;        /* when it was handed to the engine; 0: it was not */
    int64_t lost_ns;         /* when it was lost; 0: it was not */
    uint32_t slot;           /* while queued or running */
    crn_judgement judgement; /* when judged */
} crn_fruit_view;

typedef struct crn_fruit {
    crn_lane *lane;
    uint64_t epoch, fruit;
    uint64_t encoder;     /* of the lowest view received */
    uint64_t captured_ns; /* of the lowest view received */
    uint16_t expected;    /* views; 0 unknown */
    uint16_t received;    /* distinct views whose message arrived, slots or not */
    uint16_t judged;
    uint16_t refused; /* views in state REFUSED; not among those received */
    int64_t opened_ns;
    int64_t closed_ns;   /* CRN_NEVER_NS while open; a fruit judged before it closed closes then */
    int64_t deadline_ns; /* once closed: its deadline; before: the latest it could be */
    const crn_fruit_view *views; /* by view index, crn_fruit_rules.views of them */
} crn_fruit;

typedef struct crn_fruit_stats {
    uint64_t opened;
    uint64_t complete, partial, late; /* verdicts */
    uint64_t wanted;                  /* views credited to a fruit */
    uint64_t judged;                  /* of these, views judged before their fruit was */
    uint64_t duplicates;              /* a view that was there already */
    uint64_t stragglers;              /* views of a fruit judged before */
    uint64_t views_mismatch;          /* `views` other than the fruit's first message said */
    uint64_t lanes;                   /* a lane beyond limits.lanes */
    uint64_t no_place;   /* a new fruit while a forced one still waited for its judging */
    uint64_t no_slot;    /* views lost for want of a slot, evicted ones included */
    uint64_t discarded;  /* queued views given up: they could not finish in time, or their fruit was
                            judged */
    uint64_t unfinished; /* views whose time ran out: given up, or ended after their verdict */
    uint64_t failed;     /* views whose chain reported an error */
    uint64_t forced;     /* fruits judged early because open_fruits was reached */
    uint64_t refused;    /* views marked as refused in an open fruit; a good message may follow */
} crn_fruit_stats;

typedef enum crn_arrival {
    CRN_ARRIVAL_WANTED,
    CRN_ARRIVAL_DUPLICATE,
    CRN_ARRIVAL_STRAGGLER,
    CRN_ARRIVAL_VIEWS_MISMATCH,
    CRN_ARRIVAL_NO_LANE,
    CRN_ARRIVAL_NO_PLACE, /* only when the caller left due fruits unjudged */
} crn_arrival;

typedef enum crn_next {
    CRN_NEXT_NONE,    /* nothing is queued, or nothing should be handed out before a view ends */
    CRN_NEXT_RUN,     /* hand this view to the engine; it counts as running */
    CRN_NEXT_DISCARD, /* give this view's slot back and ask again */
} crn_next;

typedef enum crn_verdict_kind {
    CRN_VERDICT_COMPLETE, /* every received view judged whole, and none missing */
    CRN_VERDICT_PARTIAL, /* views missing or unfinished, stages skipped, a limit cut it, or a view's
                            maps held what are no probabilities */
    CRN_VERDICT_LATE,    /* nothing ready */
} crn_verdict_kind;

extern const char *const crn_verdict_kind_names[]; /* "complete", "partial", "late" */

typedef struct crn_fruits crn_fruits;

/* `lanes` is the caller's and outlives the fruits. 0, -EINVAL, -ENOMEM. */
int crn_fruits_create(const crn_fruit_rules *rules, crn_lanes *lanes, crn_fruits **ret_fruits);
void crn_fruits_free(crn_fruits **fruits);

/* rules.workers, where it has changed; at least 1. */
void crn_fruits_set_workers(crn_fruits *fruits, int32_t workers);

/*
 * A good message arrived. deadline_ns is its header's deadline on CLOCK_MONOTONIC, CRN_NEVER_NS
 * without one. Counts the message on its lane, opens or credits its fruit. On CRN_ARRIVAL_WANTED
 * *ret_ticket names the view and exactly one of queue or lose must follow. A fruit may be due
 * afterwards (forced, or a deadline already past).
 */
crn_arrival crn_fruits_arrive(crn_fruits *fruits, const crn_view_header *header,
                              int64_t deadline_ns, int64_t now_ns, crn_ticket *ret_ticket);

/*
 * A message was refused; `header` has its fields, unchecked, or is NULL where they could not be
 * read. Counts it (crn_lanes_refuse), and marks its view in its fruit, now or when that opens;
 * refusal.h says what it never does. crn_fruits_arrive does the same for what it refuses.
 */
void crn_fruits_refuse(crn_fruits *fruits, const crn_view_header *header, crn_refusal why);

/*
 * No slot is free for `ticket`: gives up the queued view of least worth if it is worth less than
 * the new one. Worth: a fruit that lost a view already is worth less than an intact one; of two
 * alike the younger is worth less; of one fruit the highest view. True: *ret_slot is the slot
 * freed.
 */
bool crn_fruits_evict(crn_fruits *fruits, crn_ticket ticket, uint32_t *ret_slot);

/* The view stands in `slot` and waits to run. False: its fruit was judged since it arrived, and the
 * slot stays the caller's. */
bool crn_fruits_queue(crn_fruits *fruits, crn_ticket ticket, uint32_t slot);

/* What the check of a queued view's values found. */
void crn_fruits_set_values(crn_fruits *fruits, crn_ticket ticket, const crn_value_fault *values);

/* The view got no slot. */
void crn_fruits_lose(crn_fruits *fruits, crn_ticket ticket);

/*
 * The view to run next: first those of fruits that lost no view yet and whose views can all end in
 * time, by recent cost, among them the earliest deadline; schedule.h says it in full. Views that by
 * recent cost cannot end before their fruit is due are discarded. On RUN and DISCARD *ret_slot is
 * the view's slot, on RUN *ret_deadline_ns its fruit's deadline - guard.
 */
crn_next crn_fruits_next(crn_fruits *fruits, int64_t now_ns, crn_ticket *ret_ticket,
                         uint32_t *ret_slot, int64_t *ret_deadline_ns);

/*
 * The engine gave a view back: judged (judgement non-NULL), or lost for `reason` (UNFINISHED,
 * FAILED, DEVICE_LOST; not looked at where there is a judgement). False: its fruit was judged
 * meanwhile, and the result is the caller's to give back. A cost_ns above 0 enters the recent costs
 * either way.
 */
bool crn_fruits_done(crn_fruits *fruits, crn_ticket ticket, const crn_judgement *judgement,
                     crn_view_reason reason, int64_t now_ns);

/* A view that the engine gives back UNFINISHED ran for so long before its time was up: see
 * crn_schedule_give_up. Beside crn_fruits_done. */
void crn_fruits_give_up(crn_fruits *fruits, int64_t at_least_ns);

/* A fruit that must be judged now, earliest deadline first; NULL: none. It stays until
 * crn_fruits_judge. */
const crn_fruit *crn_fruits_due(crn_fruits *fruits, int64_t now_ns);

crn_verdict_kind crn_fruit_verdict(const crn_fruit *fruit);

/* Why a view would not be judged, or not be judged whole, if its fruit were judged now: one that
 * still waits or runs is then lost. NONE also where a limit cut it, steps were skipped, or no good
 * message came for it. */
crn_view_reason crn_fruit_view_reason(const crn_fruit_view *view);

/*
 * The verdict of the fruit last returned by due was given: it is remembered on its lane and
 * forgotten here. The caller has given back its queued views' slots (state QUEUED) and its results
 * (state JUDGED) before.
 */
void crn_fruits_judge(crn_fruits *fruits, const crn_fruit *fruit);

/* When, without any further event, the next fruit falls due or closes: call due then. In the past
 * when one is due already; CRN_NEVER_NS: nothing is open. */
int64_t crn_fruits_wake_ns(const crn_fruits *fruits);

/* No more views will come: every open fruit closes now, and no deadline lies beyond latest_ns. One
 * that comes all the same opens a fruit that closes at once. */
void crn_fruits_end(crn_fruits *fruits, int64_t now_ns, int64_t latest_ns);

int32_t crn_fruits_open(const crn_fruits *fruits);
const crn_fruit_stats *crn_fruits_get_stats(const crn_fruits *fruits);

CRN_C_END

#endif

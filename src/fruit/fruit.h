/*
 * Fruits and time: groups views into fruits, decides when a fruit closes and when it must be
 * judged, and which view runs next. Pure logic on a clock that the caller passes in; used by one
 * thread; allocates nothing after creation.
 *
 * A fruit is (lane, epoch, fruit id), the epoch that of the first sender where several are joined.
 * It closes on its last expected view, or assemble_ns after its first. Its deadline is close +
 * budget_ns, or the earliest header deadline of its views if that is earlier (a header deadline
 * that leaves no more than guard_ns closes the fruit and makes it due at once). It is due as soon
 * as it is closed and none of its views is arrived, queued or running, and at the latest at
 * deadline - guard_ns. A view that arrives between close and verdict still counts. Every fruit gets
 * exactly one verdict.
 *
 * The caller's loop, per message:
 *   crn_fruits_arrive; if wanted, take a slot, if none is free: crn_fruits_evict;
 *   with a slot: crn_fruits_queue, without: crn_fruits_lose
 * and after every message, and at crn_fruits_wake_ns:
 *   crn_fruits_done   for every view that the engine returns
 *   crn_fruits_due    until NULL: publish, release slots and results, crn_fruits_judge
 *   crn_fruits_next   until CRN_NEXT_NONE, while the engine has room
 *   (next may make a fruit due by discarding its last view, so call wake_ns after it)
 *
 * Overload: losses are concentrated on few fruits, so that the others stay complete. The policy and
 * the cost estimate are described in schedule.h.
 *
 * Invariants of the counters, at any time:
 *   messages  = wanted + duplicates + stragglers + views_mismatch + lanes + lanes_not_listed
 *             + table_full
 *   wanted    = judged + no_slot + discarded + unfinished + failed + arrived, queued, running now
 *   opened    = complete + partial + late + open now
 * (running includes views whose fruit was judged meanwhile, until the engine returns them)
 */
#ifndef CRN_SRC_FRUIT_FRUIT_H
#define CRN_SRC_FRUIT_FRUIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stages/base/api.h"
#include "stages/chain/judgement.h"
#include "stages/config/config.h"
#include "src/counts/counts.h"
#include "src/formats/verdict/kind.h"
#include "src/fruit/lane/lane.h"
#include "src/fruit/lot.h"
#include "src/formats/view/refusal.h"
#include "src/ingest/ticket.h"

CRN_C_BEGIN

typedef struct crn_fruit_rules {
    int32_t open_fruits; /* limit of open fruits; one more makes the oldest due at once */
    int32_t views;       /* views per fruit, at most CRN_FRUIT_VIEWS_MAX */
    int32_t workers; /* number of views that run in parallel, to estimate what can still finish */
    int64_t budget_ns, assemble_ns, guard_ns; /* of fruits that open from now on */
    int32_t judged_fruits;                    /* verdicts that are remembered: judged.h */
    int64_t straggler_ns;     /* a number that comes again so soon is the judged fruit's; 0: follows
                                 from the other times, and from the lane's own */
    const crn_config *config; /* the settings that fruits are judged by; NULL: of no concern */
    uint32_t ring_slots;      /* slots from this number on are their senders', so that taking one
                                 from a view helps no other; 0: none are */
} crn_fruit_rules;

/* False if a limit is out of range, or times so long that their sums could overflow. */
bool crn_fruit_rules_are_sound(const crn_fruit_rules *rules);

/* The rules of a line with these settings, resolved. */
crn_fruit_rules crn_fruit_rules_of(const crn_config *config);

typedef enum crn_view_state {
    CRN_VIEW_ABSENT,  /* not received */
    CRN_VIEW_ARRIVED, /* received; the caller must call queue or lose */
    CRN_VIEW_QUEUED,  /* in a slot, not started */
    CRN_VIEW_RUNNING, /* submitted to the engine */
    CRN_VIEW_JUDGED,  /* finished */
    CRN_VIEW_LOST,    /* received but will not be judged: no slot, discarded, failed */
    CRN_VIEW_REFUSED, /* not received, except for messages that were refused */
} crn_view_state;

typedef struct crn_fruit_view {
    crn_view_state state;
    crn_view_reason reason; /* reason of LOST */
    crn_refusal refusal;    /* reason of REFUSED: that of the first such message */
    crn_value_fault values; /* valid once queued: a view with a fault is judged, but its fruit is at
                               best partial */
    uint64_t captured_ns, encoder; /* from its header; valid once received, as what follows */
    uint32_t height_px, width_px;
    int64_t received_ns;
    int64_t begun_ns;        /* when it was submitted to the engine; 0: never */
    int64_t lost_ns;         /* when it was lost; 0: never */
    uint32_t slot;           /* while queued or running, and if holds_slot */
    bool holds_slot;         /* it has ended, and keeps its slot until its fruit's verdict */
    crn_judgement judgement; /* valid when judged */
} crn_fruit_view;

typedef struct crn_fruit {
    crn_lane *lane;
    uint64_t epoch, fruit;
    uint64_t encoder;     /* of the lowest view received */
    uint64_t captured_ns; /* of the lowest view received */
    uint16_t expected;    /* number of views; 0 unknown */
    uint16_t received;    /* distinct views received, with or without a slot */
    uint16_t judged;
    uint16_t refused; /* views in state REFUSED; not counted in `received` */
    int64_t opened_ns;
    int64_t closed_ns; /* CRN_NEVER_NS while open; set to the time of judging if the fruit was
                          judged before it closed */
    crn_fruit_close closed_by; /* valid once closed */
    int64_t deadline_ns;       /* once closed: its deadline; before: the latest possible deadline */
    const crn_config *config;  /* the settings in force at its first view; may be NULL in tests */
    char lot[CRN_LOT_ID_BYTES];              /* that began before its first view came; "": none */
    const crn_fruit_view *views;             /* indexed by view, crn_fruit_rules.views entries */
    const struct crn_fruit_surface *surface; /* its measures (src/publish/surface.h); NULL: none */
    bool surface_skipped;                    /* they, or some view's part, for want of time */
} crn_fruit;

typedef struct crn_fruit_stats {
    CRN_FRUIT_REFUSAL_COUNTS(CRN_COUNT_MEMBER)
    CRN_FRUIT_COUNTS(CRN_COUNT_MEMBER)
    uint64_t complete, partial, late; /* verdicts */
    uint64_t refused; /* views marked as refused in an open fruit; a valid message may follow */
} crn_fruit_stats;

typedef enum crn_arrival {
    CRN_ARRIVAL_WANTED,
    CRN_ARRIVAL_DUPLICATE,
    CRN_ARRIVAL_STRAGGLER,
    CRN_ARRIVAL_VIEWS_MISMATCH,
    CRN_ARRIVAL_NO_LANE,
    CRN_ARRIVAL_LANE_NOT_LISTED,
    CRN_ARRIVAL_TABLE_FULL, /* only if the caller left due fruits unjudged */
} crn_arrival;

typedef enum crn_next {
    CRN_NEXT_NONE,    /* nothing is queued, or nothing should start before a running view ends */
    CRN_NEXT_RUN,     /* submit this view to the engine; it counts as running */
    CRN_NEXT_DISCARD, /* release this view's slot and call again */
} crn_next;

typedef struct crn_fruits crn_fruits;

/* Memory of the verdicts that are remembered. */
size_t crn_fruits_judged_bytes(const crn_fruit_rules *rules);

/* `lanes` is the caller's and must outlive the fruits. Returns 0, -EINVAL or -ENOMEM. */
int crn_fruits_create(const crn_fruit_rules *rules, crn_lanes *lanes, crn_fruits **ret_fruits);
void crn_fruits_free(crn_fruits **fruits);

/* For fruits that open from now on; open_fruits, views and judged_fruits must stay. Forgets what
 * views cost recently, as they may cost something else now. Returns 0 or -EINVAL. */
int crn_fruits_set_rules(crn_fruits *fruits, const crn_fruit_rules *rules);

/* The lot of fruits that open from now on. */
void crn_fruits_set_lot(crn_fruits *fruits, const char id[CRN_LOT_ID_BYTES]);

/* Number of open fruits with settings of that slot (crn_config_slot). */
int32_t crn_fruits_open_of(const crn_fruits *fruits, uint32_t slot);

/* Updates rules.workers; at least 1. */
void crn_fruits_set_workers(crn_fruits *fruits, int32_t workers);

/*
 * Processes a valid message. deadline_ns is its header's deadline on CLOCK_MONOTONIC, CRN_NEVER_NS
 * for none. Counts the message on its lane and adds it to its fruit, which it may open. On
 * CRN_ARRIVAL_WANTED *ret_ticket identifies the view, and exactly one call of queue or lose must
 * follow. Afterwards a fruit may be due (forced, or with a deadline that has passed).
 */
crn_arrival crn_fruits_arrive(crn_fruits *fruits, const crn_view_header *header,
                              int64_t deadline_ns, int64_t now_ns, crn_ticket *ret_ticket);

/*
 * Processes a refused message; `header` holds its unchecked fields, or is NULL if they could not be
 * read. Counts it (crn_lanes_refuse) and marks its view in its fruit, now or when that opens; for
 * what it never does see refusal.h. crn_fruits_arrive does the same for messages that it refuses
 * itself.
 */
void crn_fruits_refuse(crn_fruits *fruits, const crn_view_header *header, crn_refusal why);

/*
 * No slot is free for `ticket`: evicts the queued view of lowest priority if that is lower than the
 * new view's. Fruits that have lost a view rank below intact ones; among equals the younger ranks
 * lower; within a fruit the highest view index. Returns true with the freed slot in *ret_slot.
 */
bool crn_fruits_evict(crn_fruits *fruits, crn_ticket ticket, uint32_t *ret_slot);

/* The settings that the fruit of a view that arrived is judged by. */
const crn_config *crn_fruits_config(const crn_fruits *fruits, crn_ticket ticket);

/* The epoch under which the fruit of a view that arrived is kept: another sender's where several
 * are joined (senders.h). */
uint64_t crn_fruits_epoch(const crn_fruits *fruits, crn_ticket ticket);

/* The view is in `slot` and ready to run. Returns false if its fruit was judged since it arrived;
 * the slot then remains the caller's. */
bool crn_fruits_queue(crn_fruits *fruits, crn_ticket ticket, uint32_t slot);

/* Stores the result of the check of the values of a view that is queued or runs. */
void crn_fruits_set_values(crn_fruits *fruits, crn_ticket ticket, const crn_value_fault *values);

/* The view got no slot. */
void crn_fruits_lose(crn_fruits *fruits, crn_ticket ticket);

/*
 * Selects the view to run next: first those of fruits that have lost no view and whose views can
 * all finish in time at recent cost, earliest deadline first; the full rule is in schedule.h.
 * Discards views that at recent cost cannot finish before their fruit is due. On RUN and DISCARD
 * *ret_slot is the view's slot, on RUN *ret_deadline_ns is its fruit's deadline - guard.
 */
crn_next crn_fruits_next(crn_fruits *fruits, int64_t now_ns, crn_ticket *ret_ticket,
                         uint32_t *ret_slot, int64_t *ret_deadline_ns);

/*
 * The engine returned a view: judged (judgement not NULL), or lost for `reason` (UNFINISHED,
 * FAILED, DEVICE_LOST; ignored if there is a judgement). Returns false if its fruit was judged
 * meanwhile; the caller must then release the result. In both cases a cost_ns above 0 enters the
 * recent costs.
 */
bool crn_fruits_done(crn_fruits *fruits, crn_ticket ticket, const crn_judgement *judgement,
                     crn_view_reason reason, int64_t now_ns);

/*
 * For a view that ended (crn_fruits_done, CRN_NEXT_DISCARD) and whose slot is not needed: it holds
 * the slot, with its maps, until its fruit's verdict, before which the caller must release it.
 * False if the fruit was judged meanwhile; the slot then remains the caller's.
 */
bool crn_fruits_hold_slot(crn_fruits *fruits, crn_ticket ticket);

/* Takes a slot back that a view holds after its end, of the oldest fruit, but none of a sender
 * (ring_slots): true with *ret_slot, which is then the caller's, or false if there is none. */
bool crn_fruits_take_slot(crn_fruits *fruits, uint32_t *ret_slot);

/* Reports how long a view ran that the engine returned as UNFINISHED: see crn_schedule_give_up.
 * Called in addition to crn_fruits_done. */
void crn_fruits_give_up(crn_fruits *fruits, int64_t at_least_ns);

/* Returns a fruit that must be judged now, earliest deadline first, or NULL.
 * It stays due until crn_fruits_judge. */
const crn_fruit *crn_fruits_due(crn_fruits *fruits, int64_t now_ns);

/*
 * Its verdict has to wait for something else than views: the fruit that due returned last is not
 * due until crn_fruits_resume, or its deadline - guard, which is *ret_end_ns. False: it must be
 * judged now.
 */
bool crn_fruits_set_aside(crn_fruits *fruits, const crn_fruit *fruit, int64_t *ret_end_ns);
void crn_fruits_resume(crn_fruits *fruits, const crn_fruit *fruit);

/* For its verdict: the caller's until crn_fruits_judge. */
void crn_fruits_set_surface(crn_fruits *fruits, const crn_fruit *fruit,
                            const struct crn_fruit_surface *surface, bool skipped);

crn_verdict_kind crn_fruit_verdict(const crn_fruit *fruit);

/* True if a valid message came for the view. */
static inline bool crn_fruit_view_is_received(const crn_fruit_view *view)
{
    return view->state != CRN_VIEW_ABSENT && view->state != CRN_VIEW_REFUSED;
}

/* From the fruit's close to its verdict at now_ns; 0 if it is judged before it closed. */
int64_t crn_fruit_latency_ns(const crn_fruit *fruit, int64_t now_ns);

/*
 * Why a view would not be judged, or not completely, if its fruit were judged now: one that still
 * waits or runs is then lost. NONE also if only a limit truncated it, steps were skipped, or no
 * valid message came for it.
 */
crn_view_reason crn_fruit_view_reason(const crn_fruit_view *view);

/*
 * The verdict of the fruit that due returned last has been given: it is recorded on its lane and
 * its entry is freed. Before, the caller must have released its views' slots (state QUEUED, or
 * holds_slot) and its results (state JUDGED).
 */
void crn_fruits_judge(crn_fruits *fruits, const crn_fruit *fruit);

/* Time at which, without further events, the next fruit falls due or closes; call due then. In the
 * past if one is due already; CRN_NEVER_NS if no fruit is open. */
int64_t crn_fruits_wake_ns(const crn_fruits *fruits);

/* No more views will come: closes every open fruit and moves all deadlines to latest_ns at the
 * latest. A view that arrives nevertheless opens a fruit that closes at once. */
void crn_fruits_end(crn_fruits *fruits, int64_t now_ns, int64_t latest_ns);

/* How long after its verdict a number last came for another fruit: stats.returned, returned_early.
 */
int64_t crn_fruits_returned_after_ns(const crn_fruits *fruits);

int32_t crn_fruits_open(const crn_fruits *fruits);
const crn_fruit_stats *crn_fruits_get_stats(const crn_fruits *fruits);

CRN_C_END

#endif

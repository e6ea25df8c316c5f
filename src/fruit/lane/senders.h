/*
 * The senders of one lane, each an epoch: which of them send at the same time, and which fruits are
 * theirs together. Pure logic; for lane.c and arrival.c.
 *
 * A sender that restarts has a new epoch, and may number its fruits anew: what the former one sent
 * must not be mixed with it. A process per camera is several senders at once, which number the
 * fruits alike. They are told apart by the earlier one: if it sends on when the later one has
 * begun, both are alive. "On" means half a second later, with a view captured after the later one's
 * first; without capture times half a second alone; and with clocks that disagree 5 s and some
 * views. Of a sender that has ended, no more than what was under way arrives later than its
 * successor's first.
 *
 * Two that are alive are joined if they send different views, and one's fruit was just received of
 * the other, too: their fruits are then kept under one epoch, that of the earlier. One that
 * restarts beside the others joins them again in the same way. If both send the same views of a
 * fruit, or different views but never of the same fruit, they are mixed: told to the user, not
 * joined.
 */
#ifndef CRN_SRC_FRUIT_LANE_SENDERS_H
#define CRN_SRC_FRUIT_LANE_SENDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/fruit/lane/numbering.h"

CRN_C_BEGIN

#define CRN_SENDERS_MAX 32 /* the one that was silent longest makes room */

typedef struct crn_sender {
    crn_numbering numbers;
    uint64_t key;               /* epoch that its fruits are kept under */
    uint64_t order;             /* of beginning: 1, 2, … */
    uint64_t proven;            /* order of the last one that it was alive beside */
    uint64_t begun_captured_ns; /* of its first view; 0: unknown */
    uint64_t indices;           /* bit v: it sends view v */
    int64_t begun_ns, last_ns;
    uint32_t since; /* its views since another one began */
    uint32_t alone; /* its views in a row without a fruit of those that are alive beside it */
} crn_sender;

/* Empty when zeroed. */
typedef struct crn_senders {
    int32_t count, last; /* `last`: whose view was counted last */
    uint64_t begun;      /* so far */
    crn_sender at[CRN_SENDERS_MAX];
} crn_senders;

/* How two senders that send on a lane at the same time relate to each other. */
typedef enum crn_meeting {
    CRN_MEETING_NONE,   /* nothing to tell */
    CRN_MEETING_JOINED, /* their fruits are kept together from now on */
    CRN_MEETING_SAME,   /* mixed: both send the same view */
    CRN_MEETING_NUMBER, /* mixed: they send different views, but do not number the fruits alike */
} crn_meeting;

/* Two such senders, and the view of the first that showed it. */
typedef struct crn_met_senders {
    crn_meeting meeting;
    uint32_t lane;
    uint16_t view;
    uint64_t fruit;
    uint64_t epoch, other;
} crn_met_senders;

/* Counts a view by its epoch and sequence number. Returns whether the number is new. */
bool crn_senders_count(crn_senders *senders, const crn_view_header *header, int64_t now_ns,
                       crn_lane_stats *stats);

/* The sender of that epoch, or NULL. */
crn_sender *crn_senders_find(crn_senders *senders, uint64_t epoch);

/* The sender whose view was counted last. */
static inline crn_sender *crn_senders_last(crn_senders *senders)
{
    return &senders->at[senders->last];
}

/* The next sender from place *at on that is alive beside the last one and not joined to it; NULL if
 * there is none. *at is moved behind it. */
crn_sender *crn_senders_beside(crn_senders *senders, int32_t *at, int64_t now_ns);

/* The last view's sender and `other`, which is alive beside it: `shares` tells whether the other
 * sent views of the same fruit. */
crn_meeting crn_senders_meet(crn_senders *senders, crn_sender *other, bool shares, int64_t now_ns);

/* The last view cannot be of the fruit that its sender's key has: its fruits are its own again. */
static inline void crn_senders_part(crn_senders *senders)
{
    crn_sender *sender = crn_senders_last(senders);
    sender->key = sender->numbers.epoch;
}

CRN_C_END

#endif

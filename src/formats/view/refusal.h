/*
 * Refused views: reasons, counts, and the most recent ones. No sockets, no clock, no allocation
 * after creation.
 *
 * A sender must learn what it did wrong, without harm to others. A refused message with a readable
 * header therefore
 *   - counts for its lane if that lane is open. Refusals never open a lane, or a hostile peer
 *     could use up limits.lanes; those of other lanes, and those without a readable header, are
 *     counted together;
 *   - shows in its fruit as a refused view, unless a valid message for that view came or comes.
 *     Refusals never open a fruit, nor close one before assemble_ms, so that a peer can neither
 *     make the grader receive verdicts on fruits that do not exist, nor cut short one that does. A
 *     fruit whose views are all refused has no verdict: counters, the log and `status` report it.
 */
#ifndef CRN_SRC_FORMATS_VIEW_REFUSAL_H
#define CRN_SRC_FORMATS_VIEW_REFUSAL_H

#include <stdint.h>

#include "stages/base/api.h"
#include "src/formats/view/wire.h"

CRN_C_BEGIN

/* Contradictions to other messages: constant, label in counters, what is wrong. */
#define CRN_REFUSAL_ROWS(ROW)                                                                      \
    ROW(VIEWS_MISMATCH, "views_mismatch", "`views` is not that of the fruit's first message")      \
    ROW(LANES, "lanes", "a lane more than limits.lanes allows")                                    \
    ROW(LANE_NOT_LISTED, "lane_not_listed", "ingest.lanes does not have the lane")

#define CRN_REFUSAL_CONSTANT(constant, name, fault) CRN_REFUSAL_##constant,

/* A crn_wire_fault, or one of these behind them. */
typedef enum crn_refusal {
    CRN_REFUSAL_NONE,
    CRN_REFUSAL_LAST_WIRE_FAULT = CRN_WIRE_FAULTS - 1,
    CRN_REFUSAL_ROWS(CRN_REFUSAL_CONSTANT) CRN_REFUSALS,
} crn_refusal;

/* "parts", …, "views_mismatch", "lanes", …: labels of counters, and reasons in verdicts. */
const char *crn_refusal_name(crn_refusal why);

/* What is wrong, one clause; NULL: there is no refusal of that name. */
const char *crn_refusal_hint(const char *name);

typedef struct crn_refusals {
    uint64_t count[CRN_REFUSALS]; /* by crn_refusal */
} crn_refusals;

void crn_refusals_add(crn_refusals *sum, const crn_refusals *refusals);

/* Number of refused views that are kept for fruits that open later. */
#define CRN_REFUSED_KEPT 64

typedef struct crn_refused_view {
    uint64_t epoch, fruit;
    uint32_t lane;
    uint16_t view;
    crn_refusal why; /* NONE: the entry is free */
} crn_refused_view;

/* Empty when zeroed. */
typedef struct crn_refused_views {
    uint32_t next;
    crn_refused_view at[CRN_REFUSED_KEPT];
} crn_refused_views;

/* Stores a refused view; the oldest one is replaced. */
void crn_refused_remember(crn_refused_views *views, const crn_view_header *header, crn_refusal why);

/* Removes one of that fruit's views; CRN_REFUSAL_NONE if there is
 * none, *ret_view is unchanged then. */
crn_refusal crn_refused_recall(crn_refused_views *views, const crn_view_header *fruit,
                               uint16_t *ret_view);

CRN_C_END

#endif

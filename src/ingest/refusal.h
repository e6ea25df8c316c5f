/*
 * Refused views: under which reasons, how many, and which ones lately. No sockets, no clock, no
 * memory after creation.
 *
 * What a sender did wrong must reach it, and must harm nobody else. So a refused message whose
 * header can be read
 *   - counts for its lane where that lane is open; refusals never open a lane, else a hostile peer
 *     could use up limits.lanes: those of other lanes, and of no readable header, are counted
 *     together;
 *   - appears in its fruit as a refused view, unless a good message for that view came or comes;
 *     refusals never open a fruit, nor close one before assemble_ms, so that a peer cannot make the
 *     grader hear of fruits that are not there, or cut short one that is. Of a fruit whose views
 * are all refused no verdict is given: counters, the log and `status` tell of it.
 */
#ifndef CRN_SRC_INGEST_REFUSAL_H
#define CRN_SRC_INGEST_REFUSAL_H

#include <stdint.h>

#include "stages/base/cplusplus.h"
#include "src/ingest/wire.h"

CRN_C_BEGIN

/* A crn_wire_fault, or what only shows beside other messages. */
typedef enum crn_refusal {
    CRN_REFUSAL_NONE,
    CRN_REFUSAL_VIEWS_MISMATCH = CRN_WIRE_FAULTS, /* `views` is not what the fruit's first said */
    CRN_REFUSAL_LANES,                            /* a lane beyond limits.lanes */
    CRN_REFUSALS,
} crn_refusal;

/* "parts", …, "views_mismatch", "lanes": labels of counters, and reasons in verdicts. */
const char *crn_refusal_name(crn_refusal why);

typedef struct crn_refusals {
    uint64_t count[CRN_REFUSALS]; /* by crn_refusal */
} crn_refusals;

void crn_refusals_add(crn_refusals *sum, const crn_refusals *refusals);

/* So many refused views are remembered for fruits that open after them. */
#define CRN_REFUSED_KEPT 64

typedef struct crn_refused_view {
    uint64_t epoch, fruit;
    uint32_t lane;
    uint16_t view;
    crn_refusal why; /* NONE: the entry is free */
} crn_refused_view;

/* All zeros is an empty one. */
typedef struct crn_refused_views {
    uint32_t next;
    crn_refused_view at[CRN_REFUSED_KEPT];
} crn_refused_views;

/* The oldest is forgotten. */
void crn_refused_remember(crn_refused_views *views, const crn_view_header *header, crn_refusal why);

/* Takes one of that fruit out; CRN_REFUSAL_NONE: there is none, *ret_view is untouched. */
crn_refusal crn_refused_recall(crn_refused_views *views, const crn_view_header *fruit,
                               uint16_t *ret_view);

CRN_C_END

#endif

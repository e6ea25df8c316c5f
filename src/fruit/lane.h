/*
 * Lanes: what each sender's numbering says about lost, repeated and reordered messages, the
 * verdicts' numbering, and which fruits were judged already. Pure bookkeeping, no clock, no memory
 * after creation; one thread owns it.
 *
 * Numbering: within an epoch a number beyond the highest so far counts those between as missing. A
 * number at most CRN_LANE_WINDOW - 1 below the highest that was not seen is reordered, and is taken
 * off `missing` if it was counted there; seen before, it is a duplicate. Further below nobody can
 * tell, and it counts as reordered. Another epoch starts the numbering anew with whatever its first
 * message says; what still arrives of the epoch before is late news of that epoch: reordered (or a
 * duplicate), never one more restart.
 *
 * A sender that restarts must choose a new epoch. One that does not is known by numbers that came
 * before (or that lie beyond the window) with views that were captured later than all others of
 * the epoch so far, or by the epoch's first number with another time of capture: what is only late,
 * reordered or sent twice was captured when its number says. Of views without a time of capture,
 * CRN_LANE_REPEATS that repeat the epoch's first numbers in order tell the same. The numbering then
 * starts anew.
 */
#ifndef CRN_SRC_FRUIT_LANE_H
#define CRN_SRC_FRUIT_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "stages/base/cplusplus.h"
#include "src/ingest/refusal.h"
#include "src/ingest/wire.h"

CRN_C_BEGIN

#define CRN_LANE_JUDGED_MAX 256 /* verdicts remembered per lane */
#define CRN_LANE_WINDOW     64  /* numbers, back from the highest, of which is known who came */
#define CRN_LANE_REPEATS    4   /* repeated numbers that tell a restart, without times of capture */

typedef struct crn_lane_stats {
    uint64_t views;   /* good messages */
    uint64_t missing; /* sequence numbers of which no good message came (so far: a reordered one is
                         taken back) */
    uint64_t reordered;   /* came after a later one */
    uint64_t duplicates;  /* a sequence number seen before */
    uint64_t restarts;    /* changes to an epoch that is neither the current nor the one before */
    uint64_t reused;      /* numberings that began again within an epoch */
    crn_refusals refused; /* messages, by reason; they count nowhere else */
} crn_lane_stats;

typedef struct crn_lane crn_lane;
typedef struct crn_lanes crn_lanes;

/* Room for `capacity` lanes, at least 1. 0, -EINVAL, -ENOMEM. */
int crn_lanes_create(int32_t capacity, crn_lanes **ret_lanes);

/* Frees and nulls; NULL is fine. The lanes found before are gone with it. */
void crn_lanes_free(crn_lanes **lanes);

/* The lane of that number, opened at first sight; NULL when `capacity` others are open already. */
crn_lane *crn_lanes_find(crn_lanes *lanes, uint32_t number);

/* How often senders, on all lanes, restarted without a new epoch. */
uint64_t crn_lanes_reused(const crn_lanes *lanes);

/* The lane of that number; NULL when it is not open. */
crn_lane *crn_lanes_look_up(crn_lanes *lanes, uint32_t number);

/* Counts a refused message: for its lane where that is open, else among those of other lanes;
 * `header` NULL: it could not be read. */
void crn_lanes_refuse(crn_lanes *lanes, const crn_view_header *header, crn_refusal why);

/* Refused messages of lanes that are not open, or of no readable header. */
const crn_refusals *crn_lanes_refused_elsewhere(const crn_lanes *lanes);

/* The open lanes' counts together. */
crn_lane_stats crn_lanes_sum(const crn_lanes *lanes);

int32_t crn_lanes_count(const crn_lanes *lanes);
crn_lane *crn_lanes_at(crn_lanes *lanes, int32_t index); /* in order of first sight */

/* Accounts for one good message's epoch and sequence. */
void crn_lane_count(crn_lane *lane, const crn_view_header *header);

/* How many views in a row, this one included, had this sample of their values; 0: the sample says
 * nothing, and ends the row. */
uint64_t crn_lane_count_alike(crn_lane *lane, uint64_t sample);

/* Remembers a verdict given; the oldest of CRN_LANE_JUDGED_MAX is forgotten. */
void crn_lane_remember(crn_lane *lane, uint64_t epoch, uint64_t fruit);
bool crn_lane_has_judged(const crn_lane *lane, uint64_t epoch, uint64_t fruit);

/* The number of the lane's next verdict: 0, 1, 2, … */
uint64_t crn_lane_next_sequence(crn_lane *lane);
/* Verdicts numbered so far. */
uint64_t crn_lane_verdicts(const crn_lane *lane);

uint32_t crn_lane_number(const crn_lane *lane);
const crn_lane_stats *crn_lane_get_stats(const crn_lane *lane);

CRN_C_END

#endif

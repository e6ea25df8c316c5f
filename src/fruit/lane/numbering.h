/*
 * The sequence numbers of one epoch of a lane: which messages are missing, repeated, reordered, and
 * whether the sequence begins again. Pure logic.
 *
 * Within an epoch, a number above the highest so far counts those between as
 * missing. A number at most CRN_LANE_WINDOW - 1 below the highest that was not seen before is
 * reordered, and no longer missing if it was counted so; one that was seen is a duplicate. Below
 * the window the two cannot be told apart, and it counts as reordered. A new epoch restarts the
 * sequence at its first message's number; what still arrives of an earlier one counts there as
 * reordered (or duplicate), never as another restart. A number more than CRN_LANE_GAP_MAX from the
 * highest is a jump: no gap, and without effect on the sequence unless another one next to it
 * follows and shows that the sequence goes on there.
 *
 * A sender that restarts must choose a new epoch. One that does not is detected by numbers that
 * were seen before (or are below the window) on views captured later than all others of the epoch
 * so far, or by the epoch's first number with a different capture time: a message that is only
 * late, reordered or repeated has the capture time that belongs to its number. For views without
 * capture times, CRN_LANE_REPEATS messages that repeat the epoch's first numbers in order count as
 * a restart. The sequence then restarts.
 */
#ifndef CRN_SRC_FRUIT_LANE_NUMBERING_H
#define CRN_SRC_FRUIT_LANE_NUMBERING_H

#include <stdbool.h>
#include <stdint.h>

#include "src/counts/counts.h"
#include "src/formats/view/refusal.h"
#include "src/formats/view/wire.h"

CRN_C_BEGIN

#define CRN_LANE_WINDOW  64        /* sequence numbers that are tracked, back from the highest */
#define CRN_LANE_GAP_MAX (1 << 20) /* numbers that may be missing in one gap */
#define CRN_LANE_REPEATS 4 /* repeated numbers that count as a restart, without capture times */

typedef struct crn_lane_stats {
    uint64_t views; /* valid messages */
    CRN_LANE_COUNTS(CRN_COUNT_MEMBER)
    crn_refusals refused; /* messages, by reason; in no other counter */
} crn_lane_stats;

typedef struct crn_numbering {
    uint64_t epoch;
    uint64_t first;   /* number of its first message: lower ones were never counted as missing */
    uint64_t highest; /* so far */
    uint64_t seen;    /* bit b: number highest - b was seen */
    uint64_t first_captured_ns, latest_captured_ns; /* of the first message; maximum over all */
    uint64_t repeats; /* messages that repeated the first numbers, in order */
    uint64_t far;     /* the last number that was too far from `highest`; valid with has_far */
    bool has_far;
} crn_numbering;

crn_numbering crn_numbering_begin(const crn_view_header *header);

/* Counts a message of this epoch; of_before: a later epoch has begun. *ret_is_new: its number was
 * not seen before. False if it cannot continue the sequence, as its sender restarted: nothing was
 * counted then. */
bool crn_numbering_count(crn_numbering *numbers, const crn_view_header *header, bool of_before,
                         crn_lane_stats *stats, bool *ret_is_new);

CRN_C_END

#endif

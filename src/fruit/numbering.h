/*
 * The sequence numbers of one epoch of a lane: which messages are missing, repeated, reordered, and
 * whether the sequence begins again. The rules are described in lane.h. Private to senders.c.
 */
#ifndef CRN_SRC_FRUIT_NUMBERING_H
#define CRN_SRC_FRUIT_NUMBERING_H

#include <stdbool.h>
#include <stdint.h>

#include "src/fruit/lane.h"

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

#endif

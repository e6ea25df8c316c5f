/*
 * Whether every verdict was there: follows each lane's sequence, and the daemon's runs. The
 * numbering of a lane is followed from the first verdict seen on.
 */
#ifndef CRN_TOOLS_TAIL_SEQUENCE_CHECK_H
#define CRN_TOOLS_TAIL_SEQUENCE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct crn_sequence_check crn_sequence_check;

typedef enum crn_sequence_finding {
    CRN_FOLLOWED_FIRST, /* the first of this lane in this run */
    CRN_FOLLOWED_NEXT,  /* the one expected */
    CRN_FOLLOWED_GAP,   /* *ret_lost before it never came */
    CRN_FOLLOWED_OLD,   /* not later than one seen before: came again, or out of order */
} crn_sequence_finding;

typedef struct crn_sequence_check_stats {
    uint64_t lanes; /* seen, in all runs together */
    uint64_t runs;  /* seen */
    uint64_t lost, old;
} crn_sequence_check_stats;

int crn_sequence_check_create(crn_sequence_check **ret_follow);
void crn_sequence_check_free(crn_sequence_check **follow);

/*
 * Tells of the run that the next verdicts belong to; true when it is another than before (not for
 * the first). Every lane then begins anew.
 */
bool crn_sequence_check_run(crn_sequence_check *follow, const char *run);

/*
 * A verdict of a lane. On CRN_FOLLOWED_GAP the lost sequences are *ret_first to sequence - 1. A
 * lane that no memory is left for is CRN_FOLLOWED_FIRST every time.
 */
crn_sequence_finding crn_sequence_check_verdict(crn_sequence_check *follow, uint64_t lane,
                                                uint64_t sequence, uint64_t *ret_first);

/*
 * The daemon says that `sequence` was the last it gave on a lane seen before. True when some up to
 * it never came: *ret_first to `sequence` are lost, and said once.
 */
bool crn_sequence_check_last(crn_sequence_check *follow, uint64_t lane, uint64_t sequence,
                             uint64_t *ret_first);

const crn_sequence_check_stats *crn_sequence_check_get_stats(const crn_sequence_check *follow);

/* "17" or "17, 18, 19" or "17 to 40": which ones a gap is of, for a person. */
void crn_sequence_check_name_gap(uint64_t first, uint64_t last, char *text, size_t size);

#endif

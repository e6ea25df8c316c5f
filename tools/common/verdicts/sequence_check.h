/*
 * Detects missing verdicts: checks each lane's sequence numbers, and the daemon's runs. A lane's
 * numbering is checked from the first verdict received.
 */
#ifndef CRN_TOOLS_COMMON_VERDICTS_SEQUENCE_CHECK_H
#define CRN_TOOLS_COMMON_VERDICTS_SEQUENCE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct crn_sequence_check crn_sequence_check;

typedef enum crn_sequence_finding {
    CRN_FOLLOWED_FIRST, /* the first of this lane in this run */
    CRN_FOLLOWED_NEXT,  /* the expected one */
    CRN_FOLLOWED_GAP,   /* *ret_lost before it are missing */
    CRN_FOLLOWED_OLD,   /* not above an earlier one: repeated or out of order */
} crn_sequence_finding;

typedef struct crn_sequence_check_stats {
    uint64_t lanes; /* seen in all runs together */
    uint64_t runs;  /* seen */
    uint64_t lost, old;
} crn_sequence_check_stats;

int crn_sequence_check_create(crn_sequence_check **ret_follow);
void crn_sequence_check_free(crn_sequence_check **follow);

/*
 * Sets the run of the verdicts that follow and, if it changed, restarts the check of every lane.
 * True if it changed (false for the first run).
 */
bool crn_sequence_check_run(crn_sequence_check *follow, const char *run);

/*
 * Goes on where an earlier program ended, before anything else: `next` of a lane is expected in
 * that run. 0 or -ENOMEM.
 */
int crn_sequence_check_resume(crn_sequence_check *follow, const char *run, uint64_t lane,
                              uint64_t next);

/*
 * Checks a verdict of a lane. On CRN_FOLLOWED_GAP the sequences from *ret_first up to, but not
 * including, `sequence` are lost. A lane for which memory is lacking is CRN_FOLLOWED_FIRST.
 */
crn_sequence_finding crn_sequence_check_verdict(crn_sequence_check *follow, uint64_t lane,
                                                uint64_t sequence, uint64_t *ret_first);

/*
 * The daemon reports `sequence` as the last of a lane seen before. True if some up to it are
 * missing: *ret_first to `sequence`, reported once.
 */
bool crn_sequence_check_last(crn_sequence_check *follow, uint64_t lane, uint64_t sequence,
                             uint64_t *ret_first);

const crn_sequence_check_stats *crn_sequence_check_get_stats(const crn_sequence_check *follow);

/* Formats the lost sequences as "17", "17, 18, 19" or "17 to 40". */
void crn_sequence_check_name_gap(uint64_t first, uint64_t last, char *text, size_t size);

#endif

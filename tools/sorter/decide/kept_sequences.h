/*
 * Which verdicts were decided about, in a file that outlives a sorter that is killed: the next one
 * sees by it which verdicts were lost meanwhile. The file is mapped, so that a note costs some
 * stores; it does not outlive the machine, and need not, as the line does not either.
 */
#ifndef CRN_TOOLS_SORTER_DECIDE_KEPT_SEQUENCES_H
#define CRN_TOOLS_SORTER_DECIDE_KEPT_SEQUENCES_H

#include <stdbool.h>
#include <stdint.h>

#include "stages/base/error.h"

#define CRN_DECIDER_LANES_MAX 1024 /* as many as limits.lanes of a line allows */

typedef struct crn_kept_sequences crn_kept_sequences;

/* Opens or makes the file; one that another program made is taken for empty. 0 or a negative errno
 * with one line in *error: -EBUSY where another sorter has it. */
int crn_kept_sequences_open(const char *path, crn_kept_sequences **ret_kept, crn_error *error);
void crn_kept_sequences_close(crn_kept_sequences **kept);

/* The line's run that all is of; "" for none. */
const char *crn_kept_sequences_run(const crn_kept_sequences *kept);

/* The lane at that place, and the sequence that is expected next; false behind the last. */
bool crn_kept_sequences_get(const crn_kept_sequences *kept, int32_t at, uint64_t *ret_lane,
                            uint64_t *ret_next);

/* Forgets all lanes: those that follow are of this run. */
void crn_kept_sequences_begin(crn_kept_sequences *kept, const char *run);

/* Notes what is expected next of a lane; one beyond CRN_DECIDER_LANES_MAX is not noted. */
void crn_kept_sequences_put(crn_kept_sequences *kept, uint64_t lane, uint64_t next);

#endif

/*
 * A run's folder: what its results are of, and which tasks are left. Every process of the run calls
 * these, in any order.
 */
#ifndef CRN_TOOLS_REPROCESS_RUN_H
#define CRN_TOOLS_REPROCESS_RUN_H

#include <stdint.h>

#include "tools/reprocess/segments.h"

/* The file that says by which settings and of which recordings the results are. */
#define CRN_REPROCESS_LIST "recordings.txt"

/*
 * Makes the folder if it is missing, and its list. 0, or a negative errno with one line in *error:
 * -EEXIST if it holds results of other settings, or of other recordings than these or the first of
 * them.
 */
int crn_reprocess_run_begin(const char *dir, uint64_t settings,
                            const crn_reprocess_segments *segments, crn_error *error);

#endif

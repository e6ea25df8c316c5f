/*
 * The verdicts of a run compared with those of an earlier one: a line's verdict log, or the folder
 * of another run.
 */
#ifndef CRN_TOOLS_REPROCESS_COMPARE_H
#define CRN_TOOLS_REPROCESS_COMPARE_H

#include <stdio.h>

#include "tools/reprocess/segments.h"

/* The report's folder in that of the results. */
#define CRN_REPROCESS_REPORT "report"

/* Checks that there is a log, before long work. 0, or a negative errno with one line in *error. */
int crn_reprocess_compare_check(const char *before, crn_error *error);

/*
 * Pairs the fruits by lane, epoch and number, prints how they differ, and writes the report to
 * AFTER/report, with photographs of the recordings. 0, also where verdicts differ, or a negative
 * errno with one line in *error.
 */
int crn_reprocess_compare(const char *before, const char *after,
                          const crn_reprocess_segments *segments, FILE *out, crn_error *error);

#endif

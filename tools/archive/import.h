/*
 * A verdict log, or a sorter's log of outcomes, to a destination: from where the last run ended to
 * the log's end, and on from there as long as the daemon writes.
 *
 * Rows and the position in the log are of one transaction, so that a program that is killed at any
 * moment, or whose disk is full, loses no verdict of the log and doubles none.
 */
#ifndef CRN_TOOLS_ARCHIVE_IMPORT_H
#define CRN_TOOLS_ARCHIVE_IMPORT_H

#include <stdbool.h>

#include "stages/base/error.h"
#include "tools/archive/intake.h"

typedef struct crn_import crn_import;

typedef struct crn_import_settings {
    const char *dir;      /* the log's folder; by whatever path it is named, a log is the same */
    crn_intake_kind kind; /* of what the log has */
    bool follow; /* an incomplete record at the log's end is not told: it may be completed */
    crn_intake_teller *tell;
} crn_import_settings;

/* The destination must outlive it. 0, or a negative errno with *error. */
int crn_import_open(crn_destination *destination, const crn_import_settings *settings,
                    crn_import **ret_import, crn_error *error);
void crn_import_close(crn_import **import);

/*
 * Adds the next verdicts, some thousand at most, in one transaction. 1: there may be more; 0: the
 * log's end; a negative errno with *error: the transaction is undone, or it ends before what cannot
 * be read or is longer than the destination takes. With `follow` that, and a destination that
 * cannot be reached, are told once instead, and tried again by each step.
 */
int crn_import_step(crn_import *import, crn_error *error);

const crn_intake_stats *crn_import_get_stats(const crn_import *import);

#endif

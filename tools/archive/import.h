/*
 * A verdict log into an archive: from where the last run ended to the log's end, and on from there
 * as long as the daemon writes.
 *
 * Rows and the position in the log are of one transaction, so that a program that is killed at any
 * moment, or whose disk is full, loses no verdict of the log and doubles none. Memory does not
 * depend on the size of the log or of the archive.
 */
#ifndef CRN_TOOLS_ARCHIVE_IMPORT_H
#define CRN_TOOLS_ARCHIVE_IMPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "stages/base/error.h"
#include "tools/archive/database.h"

typedef struct crn_import crn_import;

typedef struct crn_import_stats {
    uint64_t added;      /* verdicts */
    uint64_t known;      /* read again, and in the archive already */
    uint64_t missing;    /* sequences that the log does not have, between those that were added */
    uint64_t unreadable; /* records that are no verdicts, and damaged ones */
    uint64_t bytes;      /* of the log, read */
} crn_import_stats;

typedef struct crn_import_settings {
    const char *dir; /* the log's folder; by whatever path it is named, a log is the same */
    bool follow;     /* an incomplete record at the log's end is not told: it may be completed */
    /* What a person has to know, as one line; called by the thread that imports. */
    void (*tell)(void *context, const char *line);
    void *context;
} crn_import_settings;

/* The archive must outlive it. 0, or a negative errno with *error. */
int crn_import_open(crn_archive *archive, const crn_import_settings *settings,
                    crn_import **ret_import, crn_error *error);
void crn_import_close(crn_import **import);

/*
 * Archives the next verdicts, some thousand at most, in one transaction. 1: there may be more;
 * 0: the log's end; a negative errno with *error, and the transaction is undone.
 */
int crn_import_step(crn_import *import, crn_error *error);

const crn_import_stats *crn_import_get_stats(const crn_import *import);

#endif

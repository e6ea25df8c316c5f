/* A line's alarms as rows of an archive. */
#ifndef CRN_TOOLS_ARCHIVE_ROWS_ALARMS_H
#define CRN_TOOLS_ARCHIVE_ROWS_ALARMS_H

#include <stdbool.h>

#include "src/formats/alarms/record.h"
#include "tools/archive/database.h"

typedef struct crn_archive_alarms {
    crn_archive *archive;
    sqlite3_stmt *put;
} crn_archive_alarms;

/* Prepares the statement; the archive must outlive it. 0, or a negative errno with *error. */
int crn_archive_alarms_init(crn_archive_alarms *alarms, crn_archive *archive, crn_error *error);

/* Inserts an alarm of that state folder, or what became of it since, in the transaction of the
 * caller. *ret_is_new: there was none. One without a time is passed over. 0, or a negative errno
 * with *error. */
int crn_archive_alarms_put(crn_archive_alarms *alarms, const char *source,
                           const crn_alarm_record *record, bool *ret_is_new, crn_error *error);

#endif

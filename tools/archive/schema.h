/* The tables of an archive, their version, and how a file of an older version is brought up to it.
 */
#ifndef CRN_TOOLS_ARCHIVE_SCHEMA_H
#define CRN_TOOLS_ARCHIVE_SCHEMA_H

#include <sqlite3.h>

#include "stages/base/error.h"

/* `PRAGMA application_id` of an archive: "CRNA". */
#define CRN_ARCHIVE_APPLICATION_ID 0x43524e41

/* What leads from the schema of version N to N + 1, as SQL: the first one makes all tables. `count`
 * is this program's version, `PRAGMA user_version`. */
typedef struct crn_archive_schema {
    const char *const *steps;
    int count;
} crn_archive_schema;

extern const crn_archive_schema crn_archive_schema_current;

/*
 * Makes the tables in an empty file, or brings an older archive to this schema, in one transaction:
 * a file is of one version or of the other, never between them. 0, or a negative errno with one
 * line in *error, and nothing is changed: -EMEDIUMTYPE for the database of another program or of a
 * newer version.
 */
int crn_archive_migrate(sqlite3 *database, const char *path, const crn_archive_schema *schema,
                        crn_error *error);

/* Sets *error to the line of a failed call on this file, with what helps; returns a negative errno.
 */
int crn_archive_fail(sqlite3 *database, const char *path, crn_error *error);

#endif

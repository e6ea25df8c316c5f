/* Rows of an archive in memory to a PostgreSQL database, by COPY in its binary form. */
#ifndef CRN_TOOLS_ARCHIVE_POSTGRESQL_COPY_H
#define CRN_TOOLS_ARCHIVE_POSTGRESQL_COPY_H

#include "tools/archive/database.h"
#include "tools/archive/postgresql/connection.h"
#include "tools/archive/rows/names.h"

/* By which numbers the server knows the rows of an archive in memory. */
typedef struct crn_pg_ids {
    struct {
        int64_t *ids; /* by the number in memory, 0 to max; NULL: not known yet */
        int64_t max;
    } tables[CRN_ARCHIVE_TABLES];
    int64_t fruits; /* this is added to a fruit's number */
} crn_pg_ids;

/*
 * Makes the rows of the small tables that the server lacks, in the transaction of the caller, and
 * *ids, which crn_pg_ids_done frees in either case. 0, or a negative errno with *error.
 */
int crn_pg_ids_make(crn_pg_ids *ids, crn_archive *from, crn_pg *pg, crn_error *error);
void crn_pg_ids_done(crn_pg_ids *ids);

/* Copies all rows of a table to the one named `to`, of the same columns, with the server's numbers.
 * 0, or a negative errno with *error. */
int crn_pg_copy(crn_pg *pg, crn_archive *from, const char *table, const char *to,
                const crn_pg_ids *ids, crn_error *error);

#endif

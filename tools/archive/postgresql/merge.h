/* A transaction's rows, made in memory, into a PostgreSQL database: those that it does not have. */
#ifndef CRN_TOOLS_ARCHIVE_POSTGRESQL_MERGE_H
#define CRN_TOOLS_ARCHIVE_POSTGRESQL_MERGE_H

#include "tools/archive/destination.h"
#include "tools/archive/postgresql/copy.h"

/* In the transaction of the caller. What the rows in memory do not tell, as the server had them
 * before or lacks what lies before them, is counted in *coming, by kind. 0, or a negative errno
 * with *error: the transaction is then to be undone. */
int crn_pg_merge(crn_pg *pg, crn_archive *from, crn_intake_stats *coming, crn_error *error);

#endif

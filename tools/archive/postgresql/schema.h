/* The tables of an archive in a PostgreSQL database. */
#ifndef CRN_TOOLS_ARCHIVE_POSTGRESQL_SCHEMA_H
#define CRN_TOOLS_ARCHIVE_POSTGRESQL_SCHEMA_H

#include "stages/base/error.h"
#include "tools/archive/postgresql/connection.h"

/* Of `outcomes`: what a transaction's results wait in. */
#define CRN_PG_RESULT_COLUMNS "run_id, lane, sequence, result_id"

/*
 * Makes the tables in an empty schema, or brings an older archive to this version, in one
 * transaction, and makes this session's staging tables. 0, or a negative errno with *error:
 * -EMEDIUMTYPE for a database of another program or of a newer version, in which nothing is
 * changed.
 */
int crn_pg_migrate(crn_pg *pg, crn_error *error);

#endif

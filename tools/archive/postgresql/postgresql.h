/*
 * An archive in a PostgreSQL database, as a destination of verdicts and outcomes: the tables of
 * schema.h, and the position of a source in one transaction with the rows.
 *
 * A transaction's rows are made by rows/ in an SQLite archive in memory, and copied at its end: so
 * what a row is, is known in one place, and PostgreSQL gets them by COPY, at some ten round trips a
 * transaction. A server that cannot be reached, or refuses, is -ENOTCONN, and is tried again by the
 * next call but after a delay that doubles up to some seconds.
 *
 * One thread.
 */
#ifndef CRN_TOOLS_ARCHIVE_POSTGRESQL_H
#define CRN_TOOLS_ARCHIVE_POSTGRESQL_H

#include <stdbool.h>

#include "stages/base/error.h"
#include "tools/archive/destination.h"

typedef struct crn_postgresql crn_postgresql;

/* postgresql://[USER[:PASSWORD]@]HOST[:PORT]/DATABASE, as libpq reads it; also postgres://. */
bool crn_postgresql_is_url(const char *text);

/* Reads the URL, and does not connect yet. 0, or a negative errno with one line in *error, which
 * never has the URL's password: -ENOTSUP in a build without libpq. */
int crn_postgresql_open(const char *url, crn_postgresql **ret_archive, crn_error *error);
void crn_postgresql_close(crn_postgresql **archive);

crn_destination *crn_postgresql_get_destination(crn_postgresql *archive);

#endif

/*
 * A connection to a PostgreSQL database. It is opened again after each fault: what was committed is
 * there, and nothing else.
 *
 * One thread. No text that it makes has the URL's user or password.
 */
#ifndef CRN_TOOLS_ARCHIVE_POSTGRESQL_CONNECTION_H
#define CRN_TOOLS_ARCHIVE_POSTGRESQL_CONNECTION_H

#include <libpq-fe.h>
#include <stdint.h>

#include "stages/base/error.h"

typedef struct crn_pg {
    char *url;
    char *name;         /* the URL without user and password, for messages */
    PGconn *connection; /* NULL: not connected */
    int64_t retry_ns;   /* it is not tried before */
    int64_t delay_ns;   /* between two tries; 0: the last one succeeded */
    crn_error fault;    /* why the last one did not */
} crn_pg;

/* 0, or a negative errno with *error; done cleans up in either case. */
int crn_pg_init(crn_pg *pg, const char *url, crn_error *error);
void crn_pg_done(crn_pg *pg);

/* Connects if it is not connected, becomes the archive's only writer, and makes or migrates its
 * tables. 0; -ENOTCONN with *error, at once where it is too early for another try; -EMEDIUMTYPE if
 * the database is of another program or of a newer version. */
int crn_pg_connect(crn_pg *pg, crn_error *error);
void crn_pg_disconnect(crn_pg *pg);

/* Disconnects after a fault, and puts the next try off: by twice as long as the last time, up to
 * some seconds. crn_pg_succeeded ends that. */
void crn_pg_postpone(crn_pg *pg, const crn_error *fault);
void crn_pg_succeeded(crn_pg *pg);

/* Runs statements, divided by semicolons. 0, or -ENOTCONN with *error. */
int crn_pg_run(crn_pg *pg, const char *sql, crn_error *error);

/* Runs one statement; *ret_number is the whole number that it answers, or how many rows it changed.
 * `values`, of $1 and so on, are texts; NULL: none. 0, or -ENOTCONN with *error. */
int crn_pg_ask(crn_pg *pg, const char *sql, int count, const char *const *values,
               int64_t *ret_number, crn_error *error);

/* As crn_pg_ask; the answer is the caller's, to PQclear. */
int crn_pg_query(crn_pg *pg, const char *sql, int count, const char *const *values,
                 PGresult **ret_result, crn_error *error);

/* Sets *error to the line of a failed call, with what helps; returns -ENOTCONN. `result`: NULL
 * where the call has none. */
int crn_pg_fail(const crn_pg *pg, const PGresult *result, crn_error *error);

/* A column of the answer's row; 0 where it is NULL. */
int64_t crn_pg_number(const PGresult *result, int row, int column);

#endif

#include "tools/archive/postgresql/connection.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"
#include "tools/archive/postgresql/schema.h"
#include "tools/archive/schema.h"

#define DELAY_MIN_NS (CRN_NS_PER_S / 2)
#define DELAY_MAX_NS (8 * CRN_NS_PER_S)
#define VERSION_MIN  140000

/* --- the URL --- */

/* The URL's host, port and database. */
static char *make_name(const PQconninfoOption *options)
{
    const char *host = NULL, *port = NULL, *database = NULL;
    for (; options->keyword; options++) {
        if (strcmp(options->keyword, "host") == 0)
            host = options->val;
        if (strcmp(options->keyword, "port") == 0)
            port = options->val;
        if (strcmp(options->keyword, "dbname") == 0)
            database = options->val;
    }
    char *name = NULL;
    int r = asprintf(&name, "postgresql://%s%s%s/%s", host ? host : "", port ? ":" : "",
                     port ? port : "", database ? database : "");
    return r < 0 ? NULL : name;
}

int crn_pg_init(crn_pg *pg, const char *url, crn_error *error)
{
    *pg = (crn_pg){.url = strdup(url)};
    char *fault = NULL; /* may quote the password */
    PQconninfoOption *options = PQconninfoParse(url, &fault);
    PQfreemem(fault);
    if (!options)
        return crn_error_set(error, -EINVAL,
                             "--to: is not postgresql://[USER@]HOST[:PORT]/DATABASE, with what is "
                             "special in a URL as %%XX");
    pg->name = make_name(options);
    PQconninfoFree(options);
    return pg->url && pg->name ? 0 : crn_error_set(error, -ENOMEM, "PostgreSQL: no memory");
}

void crn_pg_done(crn_pg *pg)
{
    crn_pg_disconnect(pg);
    free(pg->url);
    free(pg->name);
    *pg = (crn_pg){.url = NULL};
}

/* --- errors --- */

#define GRANT                                                                                      \
    "let the database's owner be the user of this archive (ALTER DATABASE … OWNER TO …; "      \
    "README.md "                                                                                   \
    "has the commands)"

/* What helps, by the begin of the SQLSTATE, or, where a connection has none, a part of the text. */
static const struct {
    const char *state, *text, *help;
} cures[] = {
    {"42501", "permission denied", GRANT},
    {"53100", "No space left", "make room on the server's disk"},
    {"53200", NULL, "the server has no memory: see its log"},
    {"25006", "read-only transaction",
     "the server is a read-only standby: name the one that is written to"},
    {"55P03", NULL, "another cernita-archive writes to it: end that, or name another database"},
    {NULL, "password authentication failed",
     "give the right password, in the file ~/.pgpass or after USER: in the URL"},
    {NULL, "no password supplied",
     "give the password, in the file ~/.pgpass or after USER: in the URL"},
    {NULL, "pg_hba.conf",
     "let the server's pg_hba.conf have a line for this user, database and host"},
    {NULL, "authentication failed", "let the server's pg_hba.conf and the URL name the same user"},
    {NULL, "too many", "raise the server's max_connections, or end other programs"},
    {NULL, "connection slots", "raise the server's max_connections, or end other programs"},
    {NULL, "role \"", "make the role (createuser --pwprompt), or name another user in the URL"},
    {NULL, "database \"", "make the database (createdb --owner USER), or name another one"},
    {NULL, "starting up", "the server starts; it is tried again"},
    {NULL, "shutting down", "the server ends; it is tried again"},
    {NULL, "certificate", "name the certificate of the server's issuer by ?sslrootcert=FILE"},
    {NULL, "SSL", "see the server's ssl, and ?sslmode= of the URL"},
    {NULL, "could not translate host name", "name another host"},
    {NULL, "Connection refused",
     "no PostgreSQL server answers there: start it, or name another one"},
    {NULL, "No such file", "no PostgreSQL server answers there: start it, or name another one"},
    {NULL, "timeout expired", "no PostgreSQL server answers there: start it, or name another one"},
};

/* The first line of what the server, or libpq, says, without where libpq tried it. */
static void copy_text(const char *text, char out[512])
{
    const char *end = strstr(text, "FATAL:  ");
    text = end ? end + strlen("FATAL:  ") : text;
    text = strncmp(text, "ERROR:  ", 8) == 0 ? text + 8 : text;
    snprintf(out, 512, "%.*s", (int)strcspn(text, "\n"), text);
}

int crn_pg_fail(const crn_pg *pg, const PGresult *result, crn_error *error)
{
    const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    const char *said = PQerrorMessage(pg->connection);
    char text[512];
    copy_text(said && *said ? said : "no answer", text);
    for (size_t i = 0; i < sizeof cures / sizeof *cures; i++) {
        bool is_it = state && cures[i].state
                         ? strcmp(state, cures[i].state) == 0
                         : !state && cures[i].text && strstr(said, cures[i].text);
        if (is_it)
            return crn_error_set(error, -ENOTCONN, "%s: %s: %s", pg->name, text, cures[i].help);
    }
    if (PQstatus(pg->connection) == CONNECTION_BAD)
        return crn_error_set(error, -ENOTCONN, "%s: the connection to the server broke (%s)",
                             pg->name, text);
    return crn_error_set(error, -ENOTCONN, "%s: %s: see the server's log", pg->name, text);
}

/* --- statements --- */

int crn_pg_query(crn_pg *pg, const char *sql, int count, const char *const *values,
                 PGresult **ret_result, crn_error *error)
{
    PGresult *result = PQexecParams(pg->connection, sql, count, NULL, values, NULL, NULL, 0);
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
        *ret_result = result;
        return 0;
    }
    int r = crn_pg_fail(pg, result, error);
    PQclear(result);
    return r;
}

int crn_pg_run(crn_pg *pg, const char *sql, crn_error *error)
{
    PGresult *result = PQexec(pg->connection, sql);
    ExecStatusType status = PQresultStatus(result);
    bool is_done = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
    int r = is_done ? 0 : crn_pg_fail(pg, result, error);
    PQclear(result);
    return r;
}

int64_t crn_pg_number(const PGresult *result, int row, int column)
{
    return strtoll(PQgetvalue(result, row, column), NULL, 10);
}

int crn_pg_ask(crn_pg *pg, const char *sql, int count, const char *const *values,
               int64_t *ret_number, crn_error *error)
{
    PGresult *result = NULL;
    int r = crn_pg_query(pg, sql, count, values, &result, error);
    if (r < 0)
        return r;
    *ret_number = PQntuples(result) > 0 ? crn_pg_number(result, 0, 0)
                                        : strtoll(PQcmdTuples(result), NULL, 10);
    PQclear(result);
    return 0;
}

/* --- the connection --- */

static void drop_notice(void *context, const char *text)
{
    (void)context;
    (void)text;
}

/* What the URL does not set: a server that is gone is noticed within half a minute. */
static PGconn *open_connection(const crn_pg *pg)
{
    static const char *const names[] = {"application_name",
                                        "connect_timeout",
                                        "keepalives_idle",
                                        "keepalives_interval",
                                        "keepalives_count",
                                        "tcp_user_timeout",
                                        "dbname",
                                        "client_encoding",
                                        NULL};
    const char *const values[] = {"cernita-archive", "5",     "10",   "5", "3",
                                  "30000",           pg->url, "UTF8", NULL};
    return PQconnectdbParams(names, values, 1);
}

static int check_server(crn_pg *pg, crn_error *error)
{
    const char *encoding = PQparameterStatus(pg->connection, "server_encoding");
    if (PQserverVersion(pg->connection) < VERSION_MIN)
        return crn_error_set(error, -ENOTCONN,
                             "%s: the server is older than PostgreSQL 14: use a newer one",
                             pg->name);
    if (!encoding || strcmp(encoding, "UTF8") != 0)
        return crn_error_set(error, -ENOTCONN,
                             "%s: the database's encoding is not UTF8: make it with createdb "
                             "--encoding UTF8 --template template0",
                             pg->name);
    return 0;
}

/* One program writes to an archive; the session of one that has just ended may take a moment to
 * end, too. The server ends that of one that is gone. */
static int lock(crn_pg *pg, crn_error *error)
{
    char sql[512];
    snprintf(sql, sizeof sql,
             "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5;"
             "SET tcp_keepalives_count = 3; SET statement_timeout = 0;"
             "SET idle_in_transaction_session_timeout = 0; SET synchronous_commit = on;"
             "SET lock_timeout = 3000;"
             "SELECT pg_advisory_lock(%d, hashtext(current_schema())); SET lock_timeout = 0",
             CRN_ARCHIVE_APPLICATION_ID);
    return crn_pg_run(pg, sql, error);
}

static int connect_once(crn_pg *pg, crn_error *error)
{
    pg->connection = open_connection(pg);
    if (!pg->connection)
        return crn_error_set(error, -ENOMEM, "%s: no memory", pg->name);
    PQsetNoticeProcessor(pg->connection, drop_notice, NULL);
    if (PQstatus(pg->connection) != CONNECTION_OK)
        return crn_pg_fail(pg, NULL, error);
    int r = check_server(pg, error);
    if (r == 0)
        r = lock(pg, error);
    return r == 0 ? crn_pg_migrate(pg, error) : r;
}

int crn_pg_connect(crn_pg *pg, crn_error *error)
{
    if (pg->connection)
        return 0;
    if (pg->delay_ns && crn_now_ns() < pg->retry_ns) {
        *error = pg->fault;
        return -ENOTCONN;
    }
    int r = connect_once(pg, error);
    if (r < 0)
        crn_pg_postpone(pg, error);
    return r;
}

void crn_pg_postpone(crn_pg *pg, const crn_error *fault)
{
    crn_pg_disconnect(pg);
    pg->delay_ns = pg->delay_ns ? 2 * pg->delay_ns : DELAY_MIN_NS;
    if (pg->delay_ns > DELAY_MAX_NS)
        pg->delay_ns = DELAY_MAX_NS;
    pg->retry_ns = crn_now_ns() + pg->delay_ns;
    pg->fault = *fault;
}

void crn_pg_succeeded(crn_pg *pg)
{
    pg->delay_ns = 0;
}

void crn_pg_disconnect(crn_pg *pg)
{
    PQfinish(pg->connection);
    pg->connection = NULL;
}

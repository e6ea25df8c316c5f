#include "tests/support/postgresql/postgresql_server.h"

#include <glob.h>
#include <grp.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "tests/support/cleanup.h"

#define ADMINISTRATOR "postgres"

/* The folder of the newest version's programs; NULL: none. */
static const char *programs(void)
{
    static char folder[256];
    glob_t found;
    bool is_there = glob("/usr/lib/postgresql/*/bin/initdb", 0, NULL, &found) == 0;
    if (is_there)
        snprintf(folder, sizeof folder, "%.*s",
                 (int)(strlen(found.gl_pathv[found.gl_pathc - 1]) - 7),
                 found.gl_pathv[found.gl_pathc - 1]);
    globfree(&found);
    return is_there ? folder : NULL;
}

/* root, or else this user. */
static struct passwd *owner(void)
{
    return geteuid() == 0 ? getpwnam(ADMINISTRATOR) : getpwuid(geteuid());
}

bool postgresql_server_is_installed(void)
{
    return programs() && owner();
}

/* Becomes the server's user, in a child. */
static void become_owner(void)
{
    struct passwd *user = owner();
    if (geteuid() == 0 && (initgroups(user->pw_name, user->pw_gid) < 0 ||
                           setgid(user->pw_gid) < 0 || setuid(user->pw_uid) < 0))
        _exit(1);
}

static void make_files(const postgresql_server *server)
{
    char program[300], folder[256], said[256];
    snprintf(program, sizeof program, "%s/initdb", programs());
    snprintf(folder, sizeof folder, "%s/postgresql", server->folder);
    snprintf(said, sizeof said, "%s/initdb.log", server->folder);
    assert_int_equal(chmod(server->folder, 0711), 0);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(chown(folder, owner()->pw_uid, owner()->pw_gid), 0);
    pid_t child = crn_cleanup_fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (!freopen(said, "w", stdout) || dup2(STDOUT_FILENO, STDERR_FILENO) < 0 || chdir("/") < 0)
            _exit(1);
        become_owner();
        execl(program, program, "-D", folder, "-U", ADMINISTRATOR, "-A", "trust", "-E", "UTF8",
              "--locale=C", "--no-sync", NULL);
        _exit(1);
    }
    int status;
    crn_cleanup_wait(child, &status);
    assert_int_equal(status, 0);
}

static PGconn *open_as(const postgresql_server *server, const char *user, const char *database)
{
    char text[256];
    snprintf(text, sizeof text,
             "host=127.0.0.1 port=%d user=%s dbname=%s options='-c client_min_messages=warning'",
             server->port, user, database);
    return PQconnectdb(text);
}

static bool does_answer(const postgresql_server *server)
{
    PGconn *connection = open_as(server, ADMINISTRATOR, "postgres");
    bool is_there = PQstatus(connection) == CONNECTION_OK;
    PQfinish(connection);
    return is_there;
}

static void run_program(const postgresql_server *server)
{
    char program[300], folder[256], port[16], said[256];
    snprintf(program, sizeof program, "%s/postgres", programs());
    snprintf(folder, sizeof folder, "%s/postgresql", server->folder);
    snprintf(port, sizeof port, "%d", server->port);
    snprintf(said, sizeof said, "%s/postgresql/said", server->folder);
    become_owner();
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* another user's processes lose it */
    if (chdir("/") < 0 || !freopen(said, "a", stdout) || dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
        _exit(1);
    execl(program, program, "-D", folder, "-p", port, "-c", "listen_addresses=127.0.0.1", "-c",
          "unix_socket_directories=", "-c", "fsync=off", "-c", "shared_buffers=32MB", NULL);
    _exit(1);
}

/* It ends at once while processes of the one before, which was killed, still do. */
void postgresql_server_start(postgresql_server *server)
{
    int64_t end_ns = crn_now_ns() + 60 * CRN_NS_PER_S;
    server->pid = 0;
    while (server->pid == 0 || !does_answer(server)) {
        if (server->pid != 0 && waitpid(server->pid, NULL, WNOHANG) == server->pid) {
            crn_cleanup_drop((void *)(intptr_t)server->pid);
            server->pid = 0;
        }
        if (crn_now_ns() > end_ns)
            fail_msg("PostgreSQL does not answer within a minute: %s/postgresql/said",
                     server->folder);
        if (server->pid == 0) {
            server->pid = crn_cleanup_fork();
            assert_true(server->pid >= 0);
        }
        if (server->pid == 0)
            run_program(server);
        usleep(20000);
    }
}

void postgresql_server_kill(postgresql_server *server)
{
    kill(server->pid, SIGKILL);
    crn_cleanup_wait(server->pid, NULL);
    server->pid = 0;
}

/* --- statements --- */

static PGresult *query(PGconn *connection, const char *sql)
{
    PGresult *result = PQexec(connection, sql);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(connection));
    return result;
}

void postgresql_server_run(const postgresql_server *server, const char *sql)
{
    PGconn *connection = open_as(server, ADMINISTRATOR, CRN_POSTGRESQL_DATABASE);
    PQclear(query(connection, sql));
    PQfinish(connection);
}

double postgresql_server_ask(const postgresql_server *server, const char *sql)
{
    PGconn *connection = open_as(server, ADMINISTRATOR, CRN_POSTGRESQL_DATABASE);
    PGresult *result = query(connection, sql);
    double number = strtod(PQgetvalue(result, 0, 0), NULL);
    PQclear(result);
    PQfinish(connection);
    return number;
}

void postgresql_server_make(postgresql_server *server)
{
    make_files(server);
    snprintf(server->url, sizeof server->url,
             "postgresql://" CRN_POSTGRESQL_USER "@127.0.0.1:%d/" CRN_POSTGRESQL_DATABASE,
             server->port);
    postgresql_server_start(server);
    PGconn *connection = open_as(server, ADMINISTRATOR, "postgres");
    PQclear(query(connection, "CREATE ROLE " CRN_POSTGRESQL_USER " LOGIN PASSWORD 'pl4in'"));
    PQclear(query(connection,
                  "CREATE DATABASE " CRN_POSTGRESQL_DATABASE " OWNER " CRN_POSTGRESQL_USER));
    PQfinish(connection);
}

/* --- comparison --- */

static void expect_same_cell(const char *table, int row, sqlite3_stmt *wanted,
                             const PGresult *found, int column)
{
    const char *text = PQgetisnull(found, row, column) ? NULL : PQgetvalue(found, row, column);
    const char *expected = (const char *)sqlite3_column_text(wanted, column);
    bool is_same = sqlite3_column_type(wanted, column) == SQLITE_FLOAT
                       ? text && strtod(text, NULL) == sqlite3_column_double(wanted, column)
                       : (!text && !expected) || (text && expected && strcmp(text, expected) == 0);
    if (!is_same)
        fail_msg("%s, row %d, %s: '%s', expected '%s'", table, row,
                 sqlite3_column_name(wanted, column), text ? text : "NULL",
                 expected ? expected : "NULL");
}

static void expect_same_rows(PGconn *connection, sqlite3 *archive, const char *table)
{
    char sql[128];
    sqlite3_stmt *wanted = NULL;
    snprintf(sql, sizeof sql, "SELECT *, 0 FROM %s ORDER BY 1, 2, 3", table);
    assert_int_equal(sqlite3_prepare_v2(archive, sql, -1, &wanted, NULL), SQLITE_OK);
    PGresult *found = query(connection, sql);
    assert_int_equal(PQnfields(found), sqlite3_column_count(wanted));
    int row = 0;
    for (; sqlite3_step(wanted) == SQLITE_ROW; row++) {
        if (row >= PQntuples(found))
            fail_msg("%s: %d rows, and more expected", table, row);
        for (int column = 0; column < PQnfields(found); column++)
            expect_same_cell(table, row, wanted, found, column);
    }
    if (row != PQntuples(found))
        fail_msg("%s: %d rows, %d expected", table, PQntuples(found), row);
    sqlite3_finalize(wanted);
    PQclear(found);
}

void postgresql_server_expect_rows_of(const postgresql_server *server, const char *path)
{
    sqlite3 *archive;
    sqlite3_stmt *tables = NULL;
    PGconn *connection = open_as(server, ADMINISTRATOR, CRN_POSTGRESQL_DATABASE);
    assert_int_equal(sqlite3_open_v2(path, &archive, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(archive,
                                        "SELECT name FROM sqlite_schema WHERE type <> 'index'", -1,
                                        &tables, NULL),
                     SQLITE_OK);
    int count = 0;
    for (; sqlite3_step(tables) == SQLITE_ROW; count++)
        expect_same_rows(connection, archive, (const char *)sqlite3_column_text(tables, 0));
    assert_true(count > 10);
    sqlite3_finalize(tables);
    sqlite3_close(archive);
    PQfinish(connection);
}

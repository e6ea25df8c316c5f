/* A PostgreSQL server as a process, with an empty database. Debian: postgresql. It is of the user
 * postgres where the tests run as root, whom it refuses. */
#ifndef CRN_TESTS_SUPPORT_POSTGRESQL_SERVER_H
#define CRN_TESTS_SUPPORT_POSTGRESQL_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CRN_POSTGRESQL_USER     "office"
#define CRN_POSTGRESQL_DATABASE "cernita"

typedef struct postgresql_server {
    int port;
    const char *folder; /* of its files; other users may look into it, once it is made */
    pid_t pid;          /* 0: it does not run */
    char url[128];      /* of the database, which belongs to that user */
} postgresql_server;

/* True where the programs are installed. */
bool postgresql_server_is_installed(void);

/* Makes its files, and starts it. */
void postgresql_server_make(postgresql_server *server);

/* Starts it on 127.0.0.1, and waits until it answers. */
void postgresql_server_start(postgresql_server *server);

/* SIGKILL, as by a loss of the process; what was committed stays. */
void postgresql_server_kill(postgresql_server *server);

/* As its administrator in that database; the test fails at an error. */
void postgresql_server_run(const postgresql_server *server, const char *sql);

/* A number that SQL answers there. */
double postgresql_server_ask(const postgresql_server *server, const char *sql);

/* Fails where a table or view of the SQLite archive at `path` has other rows there. */
void postgresql_server_expect_rows_of(const postgresql_server *server, const char *path);

#endif

/* A NATS server with JetStream, as a process. Debian: nats-server. */
#ifndef CRN_TESTS_SUPPORT_NATS_SERVER_H
#define CRN_TESTS_SUPPORT_NATS_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct nats_server {
    int port;
    const char *folder;   /* of its file, its log and its streams */
    const char *settings; /* further lines of its file; NULL: none */
    pid_t pid;            /* 0: it does not run */
} nats_server;

/* True where the program is installed. */
bool nats_server_is_installed(void);

/* Starts it on 127.0.0.1, and waits until it answers. */
void nats_server_start(nats_server *server);

/* SIGKILL, as by a loss of the process; its streams' files stay. */
void nats_server_kill(nats_server *server);

#endif

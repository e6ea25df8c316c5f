/*
 * Who may connect: the keys of access.keys, and the decision about each peer. Without a key in the
 * folder nobody is admitted.
 *
 * Threads: the ZAP handlers decide, the owner reads the keys again, libzmq's I/O threads count; the
 * line's thread only reads counters.
 */
#ifndef CRN_SRC_INGEST_ACCESS_ACCESS_H
#define CRN_SRC_INGEST_ACCESS_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "stages/base/error.h"
#include "stages/config/config.h"
#include "src/formats/keys/key_file.h"

typedef enum crn_access_refusal {
    CRN_ACCESS_UNKNOWN_KEY,    /* no file in clients/ has its key */
    CRN_ACCESS_NOT_FOR_SOCKET, /* the client's file does not name this socket */
    CRN_ACCESS_PLAIN,          /* no CURVE: NULL, PLAIN or another mechanism */
    CRN_ACCESS_MALFORMED,      /* no or a faulty handshake: a wrong server key, half open, noise */
    CRN_ACCESS_ATTEMPTS,       /* too many of these before it: closed unseen */
    CRN_ACCESS_REFUSALS,
} crn_access_refusal;

extern const char *const crn_access_refusal_names[CRN_ACCESS_REFUSALS];

/* The refusals of one socket. */
typedef struct crn_access_counters crn_access_counters;

typedef struct crn_access_stats {
    bool enabled;     /* the line has keys */
    uint64_t clients; /* keys that are admitted */
    uint64_t refused[CRN_ACCESS_USES][CRN_ACCESS_REFUSALS];
} crn_access_stats;

typedef struct crn_access crn_access;

/* A peer that has proved that it has the secret key to `key`. */
typedef struct crn_access_peer {
    const char *domain;  /* of the socket: crn_access_domain() */
    const char *address; /* as libzmq names it, for the log; may be empty */
    uint64_t connection; /* its number, see crn_access_watch; 0: unknown */
    bool curve;          /* false: another mechanism, `key` is not used */
    char key[CRN_KEY_BYTES];
} crn_access_peer;

/*
 * Reads a folder of keys; `ipc`: ipc addresses require them, too. Returns 0, also for an empty name
 * (*ret_access NULL: no keys are required), or a negative errno with one line in *error that names
 * the file and the cure.
 */
int crn_access_open(const char *folder, bool ipc, crn_access **ret_access, crn_error *error);

/* Reads a folder of keys and prints a line on `faults` for each fault, as crn_access_open's.
 * Returns 0 or the first one's negative errno. */
int crn_access_check(const char *folder, FILE *faults, int32_t *ret_clients);

/*
 * Reads the keys again for crn_access_change; those in force stay. Returns 0, or a negative errno
 * with a line on `faults` for each fault. A server.key that has changed is one, as sockets keep
 * theirs until the daemon starts again; so is a folder of clients that is gone, as nobody wants to
 * revoke all of them by an unmounted disk.
 */
typedef struct crn_access_update crn_access_update;
int crn_access_prepare(const crn_access *access, FILE *faults, crn_access_update **ret_update);

/* What a change of keys did. */
typedef struct crn_access_changed {
    int32_t clients; /* with keys now */
    int32_t lost;    /* of those before: without a permission that they had */
    int32_t ended;   /* connections that were cut, as their client lost its permission */
} crn_access_changed;

/* Puts the keys into force, cuts connections that they no longer allow, and logs both; frees the
 * update and sets it to NULL. */
crn_access_changed crn_access_change(crn_access *access, crn_access_update **update);
void crn_access_update_free(crn_access_update **update); /* NULL is allowed */

/* Prints a line for each client in force whose file is gone: a refused reload leaves it admitted.
 */
void crn_access_print_kept(const crn_access *access, FILE *out);

/* Not before the sockets are closed; NULL is allowed. */
void crn_access_close(crn_access **access);

/* True if this address is to be bound with CURVE: tcp always, ipc if access.ipc. */
bool crn_access_seals(const crn_access *access, const char *address);

/* The server's secret key, in Z85. */
const char *crn_access_secret(const crn_access *access);

/* The ZAP domain of a socket's address, by which crn_access_admit tells sockets apart. */
const char *crn_access_domain(crn_access_use use, bool sealed);

/*
 * Decides about a peer; counts a refusal and logs it, at most once a second per reason. Writes the
 * client's name to ret_name ("" where no key is required). Locks.
 */
bool crn_access_admit(crn_access *access, const crn_access_peer *peer,
                      char ret_name[CRN_KEY_NAME_MAX + 1]);

/*
 * The connections of a socket that requires keys, each with a number of its own; the functions are
 * called with the lock held, from the handler's thread and from that of crn_access_change.
 */
typedef struct crn_access_watch {
    void *connections;
    crn_access_use use;
    /* The connection has proved that it has the key: called before it is decided about. */
    void (*proved)(void *connections, uint64_t connection, const char *key);
    /* Cuts all whose key crn_access_permits refuses. Returns how many. */
    int32_t (*cut_refused)(void *connections, const crn_access *access, crn_access_use use);
} crn_access_watch;

/* False: there are too many. */
bool crn_access_watch_add(crn_access *access, const crn_access_watch *watch);
void crn_access_watch_remove(crn_access *access, const void *connections);

/* For cut_refused: whether a client has the key and may use the socket. */
bool crn_access_permits(const crn_access *access, crn_access_use use, const char *key);

/* Called by crn_zap_open and crn_zap_close: a handler runs in that ZeroMQ context. Returns false if
 * there are too many. */
bool crn_access_serve(crn_access *access, void *zmq, bool served);
bool crn_access_is_served(const crn_access *access, const void *zmq);

/* Those of one socket; `access` NULL: NULL, where nothing is counted. From any thread. */
crn_access_counters *crn_access_counters_of(crn_access *access, crn_access_use use);
void crn_access_count(crn_access_counters *counters, crn_access_refusal reason);
uint64_t crn_access_counted(const crn_access_counters *counters, crn_access_refusal reason);

/* NULL is allowed: zeros. */
void crn_access_get_stats(const crn_access *access, crn_access_stats *ret_stats);

/* True if the tcp or ipc address accepts connections from other machines. */
bool crn_access_is_exposed(const char *address);

/*
 * Prints a line `file: key: …` on `faults` (NULL: no output) for each address of the line that is
 * exposed and has no keys, unless access.plain_tcp allows it. Returns 0, or -EINVAL if there is
 * one.
 */
int crn_access_check_exposed(const crn_config *config, FILE *faults);

#endif

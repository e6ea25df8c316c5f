/* How programs connect to a line: the family of its address, and the client's side of CURVE. */
#ifndef CRN_SRC_CLIENT_KEYS_H
#define CRN_SRC_CLIENT_KEYS_H

#include "stages/base/error.h"

/* The files of keys as the command line names them; both NULL: no keys. */
typedef struct crn_client_keys {
    const char *key;        /* the client's secret key */
    const char *server_key; /* the line's server.pub */
} crn_client_keys;

/*
 * Creates a ZeroMQ context for a program's sockets; ends with zmq_ctx_term. Returns 0 or a
 * negative errno with one line in *error: also where the process may not start the threads or open
 * the descriptors that libzmq needs, and would end the process for.
 */
int crn_client_context(void **ret_zmq, crn_error *error);

/*
 * Connects a ZeroMQ socket, whose other options are set, to a line: with these keys, by IPv4 or
 * IPv6. A name that has addresses of both kinds stands for IPv6 if something listens there now,
 * else for IPv4. Returns 0 or a negative errno with one line in *error that names the endpoint, or
 * the file of a key, and the cure.
 */
int crn_client_connect(void *socket, const char *endpoint, const crn_client_keys *keys,
                       crn_error *error);

/* Makes later connects of the socket use the keys, which crn_client_connect does. */
int crn_client_keys_use(void *socket, const crn_client_keys *keys, crn_error *error);

#endif

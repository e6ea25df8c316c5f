/* A connection to one of a daemon's sockets for verdicts. */
#ifndef CRN_SRC_CLIENT_CONNECTION_H
#define CRN_SRC_CLIENT_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include <zmq.h>

#include "stages/base/error.h"
#include "src/client/handshake.h"
#include "src/client/keys.h"

#define CRN_ALL_LANES (-1)

/* What to look at where a viewer hears nothing. */
extern const char crn_connection_hint[];

/* Zero-initialise. */
typedef struct crn_connection {
    void *zmq, *socket;
    crn_handshake handshake; /* crn_handshake_fault() says why the line lets nobody in */
} crn_connection;

/* Connects to publish.viewers and subscribes to a lane's verdicts and the status, or to
 * publish.grader. 0 or negative errno with *error; close cleans up in either case. */
int crn_connection_open(crn_connection *connection, const char *endpoint, bool grader, int64_t lane,
                        const crn_client_keys *keys, crn_error *error);
void crn_connection_close(crn_connection *connection);

/* Receives one message; parts past the second are discarded. 1, 0: none is waiting, -errno. */
int crn_connection_receive(crn_connection *connection, char *topic, size_t topic_size,
                           zmq_msg_t *body);

#endif

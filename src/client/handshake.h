/* Why a line does not let a program in: what libzmq tells of a socket's handshakes. */
#ifndef CRN_SRC_CLIENT_HANDSHAKE_H
#define CRN_SRC_CLIENT_HANDSHAKE_H

#include <stdbool.h>

#include "stages/base/error.h"
#include "src/client/keys.h"

/* Zero-initialise. */
typedef struct crn_handshake {
    void *socket, *events;
    bool keys;        /* the socket has some */
    int unfinished;   /* connections in a row that ended within the handshake */
    const char *text; /* NULL: no handshake failed since the last good one */
    bool final;       /* libzmq does not try again */
} crn_handshake;

/* Listens to the socket's handshakes; before it connects. 0 or a negative errno with *error. */
int crn_handshake_watch(crn_handshake *self, void *zmq, void *socket, const crn_client_keys *keys,
                        crn_error *error);

/* Takes in what happened since; never waits. Returns why the line lets nobody in, as a clause with
 * the cure, or NULL. `final` is then true where only another start helps. */
const char *crn_handshake_fault(crn_handshake *self);

/* Before the socket is closed; a zeroed one is allowed. */
void crn_handshake_close(crn_handshake *self);

#endif

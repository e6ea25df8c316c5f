/* Events of a bound socket's libzmq monitor: which connections complete their handshake and which
 * end. Used by the socket's thread. */
#ifndef CRN_SRC_INGEST_SOCKET_MONITOR_H
#define CRN_SRC_INGEST_SOCKET_MONITOR_H

#include <stdint.h>

/* Peers over inproc:// are not reported. */
typedef enum crn_endpoint_event_kind {
    CRN_ENDPOINT_CONNECTED,    /* a peer completed its handshake */
    CRN_ENDPOINT_DISCONNECTED, /* a peer that had completed it disconnected */
    CRN_ENDPOINT_REFUSED,      /* a failed handshake: the peer does not speak ZeroMQ, or gave up */
    CRN_ENDPOINT_REFUSED_KEY,  /* a failed handshake for a key, whose reason is logged already */
} crn_endpoint_event_kind;

typedef struct crn_socket_monitor crn_socket_monitor;

/* Starts on a socket without connections. Returns 0 or a negative errno. */
int crn_socket_monitor_open(void *zmq, void *socket, crn_socket_monitor **ret_monitor);

/* Sets the maximum number of connections (256 by default); the state of further ones is guessed.
 * Call it before the first connection. Returns 0 or -ENOMEM. */
int crn_socket_monitor_expect(crn_socket_monitor *monitor, int32_t connections);

/* Reads the next event without waiting: 1 with *ret_kind, 0 if there is none. */
int crn_socket_monitor_next(crn_socket_monitor *monitor, crn_endpoint_event_kind *ret_kind);

/* Poll it for input; edge-triggered. */
int crn_socket_monitor_descriptor(const crn_socket_monitor *monitor);

/* Stops monitoring while the socket is still open: otherwise libzmq's I/O thread would block for
 * ever on the closing event that nobody reads, and with it all sockets of the context. */
void crn_socket_monitor_stop(crn_socket_monitor *monitor);

/* Call once the socket is closed; NULL is allowed. */
void crn_socket_monitor_close(crn_socket_monitor **monitor);

#endif

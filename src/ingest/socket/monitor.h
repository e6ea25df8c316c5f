/*
 * What libzmq's monitor of a bound socket tells: which connections finish their handshake, which
 * end. Owned and used by the socket's thread.
 */
#ifndef CRN_SRC_INGEST_SOCKET_MONITOR_H
#define CRN_SRC_INGEST_SOCKET_MONITOR_H

#include <stdint.h>

/* Peers over inproc:// are not seen. */
typedef enum crn_endpoint_event_kind {
    CRN_ENDPOINT_CONNECTED,    /* a peer finished its handshake */
    CRN_ENDPOINT_DISCONNECTED, /* one that had finished it is gone */
    CRN_ENDPOINT_REFUSED,      /* something connected that does not speak ZeroMQ, or gave up */
} crn_endpoint_event_kind;

typedef struct crn_socket_monitor crn_socket_monitor;

/* Begins with a socket that has no connections yet. 0 or negative errno. */
int crn_socket_monitor_open(void *zmq, void *socket, crn_socket_monitor **ret_monitor);

/* How many connections there can be at once (256 until set); the state of more is guessed. Before
 * the first of them. 0 or -ENOMEM. */
int crn_socket_monitor_expect(crn_socket_monitor *monitor, int32_t connections);

/* The next event, without waiting: 1 with *ret_kind, 0 when there are no more. */
int crn_socket_monitor_next(crn_socket_monitor *monitor, crn_endpoint_event_kind *ret_kind);

/* To poll for reading; edge-triggered. */
int crn_socket_monitor_descriptor(const crn_socket_monitor *monitor);

/* Ends the monitoring, while the socket is still open: libzmq's I/O thread would wait for ever to
 * tell of the close to nobody, and with it all sockets of the context. */
void crn_socket_monitor_stop(crn_socket_monitor *monitor);

/* Once the socket is closed; NULL is fine. */
void crn_socket_monitor_close(crn_socket_monitor **monitor);

#endif

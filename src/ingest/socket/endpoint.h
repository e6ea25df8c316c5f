/*
 * A bound ZeroMQ socket as ingest and publish both need it: options that tell a dead peer from a
 * silent one, ipc paths that cannot be taken over, errors with a hint, and events of peers. Used by
 * one thread. Only ingest.c, publish.c and tools that bind include it.
 *
 *   crn_endpoint_open      creates the socket with the shared options; not bound yet
 *   crn_endpoint_limit     limits of its peers
 *   crn_endpoint_guard     whose keys it admits
 *   crn_endpoint_set       high water mark and other options of the user's socket type
 *   crn_endpoint_bind      once per address
 *   crn_endpoint_socket    for zmq_msg_send and zmq_msg_recv
 *   crn_endpoint_event     until 0, whenever the monitor's descriptor is ready
 *   crn_endpoint_close
 */
#ifndef CRN_SRC_INGEST_SOCKET_ENDPOINT_H
#define CRN_SRC_INGEST_SOCKET_ENDPOINT_H

#include "stages/base/error.h"
#include "src/ingest/access/access.h"
#include "src/ingest/peers/peers.h"
#include "src/ingest/socket/monitor.h"

typedef struct crn_endpoint crn_endpoint;

/*
 * Creates a context for the line's thread's sockets. If real-time scheduling is allowed, its I/O
 * thread has a priority below that thread's and above the workers': otherwise, on busy cores, a
 * peer that keeps it busy makes views wait for its next time slice (measured: 2.4 s). NULL with
 * errno.
 */
void *crn_endpoint_context(void);

/*
 * Creates a socket of ZeroMQ type `type` (ZMQ_PULL, …) with the shared options: heartbeats, TCP
 * keepalive, a handshake timeout, linger 0, IPv4. `zmq` is the caller's context and must outlive
 * the endpoint. `key` names the setting in error messages ("ingest.bind") and is copied. Returns 0
 * or a negative errno with *error.
 */
int crn_endpoint_open(void *zmq, int type, const char *key, crn_endpoint **ret_endpoint,
                      crn_error *error);

/* Sets limits for connections; call it before the first bind. Without it
 * there are none. Returns 0 or -ENOMEM. */
int crn_endpoint_limit(crn_endpoint *endpoint, const crn_peers_rules *rules);

/* Later binds of an address that `access` seals require CURVE and a key for `use`; the context
 * needs its ZAP handler (crn_zap_open). NULL: no keys. Call it before the first bind. */
void crn_endpoint_guard(crn_endpoint *endpoint, crn_access *access, crn_access_use use);

/* The socket's thread read parts of this cost (crn_frames_part_cost) of the peer with this
 * descriptor (ZMQ_SRCFD); for rules with waiting_bytes. */
void crn_endpoint_read(crn_endpoint *endpoint, int descriptor, uint64_t cost);

/* Logs the connections cut since the last call, at most one line a second per reason. */
void crn_endpoint_report(crn_endpoint *endpoint);

/* For an endpoint with limits: since when its thread has been
 * working; 0: it waits (crn_peers_busy). */
void crn_endpoint_busy(crn_endpoint *endpoint, int64_t since_ns);

/* For an endpoint with limits: number of connections whose peer has completed its handshake; those
 * that libzmq then rejects end at once. From any thread. */
int32_t crn_endpoint_introduced(const crn_endpoint *endpoint);

/* Connections cut since the start; from any thread. */
void crn_endpoint_get_cut(const crn_endpoint *endpoint, crn_peers_stats *ret_stats);

/* Sets an integer option for later binds. Returns 0 or a negative errno. */
int crn_endpoint_set(crn_endpoint *endpoint, int option, int value);

/*
 * Binds one more address, at most CRN_TEXTS_MAX. For an ipc path it creates missing parent folders
 * and a lock file `<path>.lock`, which remains when the endpoint is closed: removing it could take
 * it from a daemon that is just starting. The socket file of a dead program is replaced; one with a
 * listener, or a file that is not a socket, is not. Its mode becomes 0660. Returns 0 or a negative
 * errno with one line in *error that names the address and a hint.
 */
int crn_endpoint_bind(crn_endpoint *endpoint, const char *address, crn_error *error);

/* Problem and hint for a (positive) errno with which binding failed. */
const char *crn_endpoint_bind_hint(int fault);

/* The i-th address as bound (a wildcard port replaced by the actual one); NULL past the last. */
const char *crn_endpoint_bound(const crn_endpoint *endpoint, int i);

/* The ZeroMQ socket, owned by the endpoint. */
void *crn_endpoint_socket(const crn_endpoint *endpoint);

/* Descriptors to poll for input: the socket's, then its monitor's.
 * Edge-triggered like ZMQ_FD: drain before waiting. */
void crn_endpoint_descriptors(const crn_endpoint *endpoint, int descriptors[2]);

/* Makes libzmq process what its I/O thread queued for the socket: peers that connected,
 * disconnected or read on. Sending does so only occasionally, and the descriptor stays readable
 * until it is done. Returns true if something can be read, or the socket has failed: the next read
 * tells. */
bool crn_endpoint_process(crn_endpoint *endpoint);

/* Reads the monitor's next event without waiting: 1 with *ret_kind, 0 if there is none. */
int crn_endpoint_event(crn_endpoint *endpoint, crn_endpoint_event_kind *ret_kind);

/*
 * Unbinds, releases the locks, closes and sets *endpoint to NULL; NULL is allowed. Messages that
 * libzmq holds for its peers are sent within linger_ms in the background (zmq_ctx_term waits for
 * it).
 */
void crn_endpoint_close(crn_endpoint **endpoint, int linger_ms);

#endif

/*
 * A bound ZeroMQ socket, as ingest and publish both need it: the options that tell a dead peer from
 * a silent one, ipc paths that nobody can steal, faults told with their cure, and peers that come
 * and go. Owned and used by one thread. Only ingest.c, publish.c and tools that bind include it.
 *
 *   crn_endpoint_open      the socket, with the shared options; not bound yet
 *   crn_endpoint_limit     what its peers may take
 *   crn_endpoint_set       high water mark and whatever else the user's kind of socket needs
 *   crn_endpoint_bind      once per address
 *   crn_endpoint_socket    for zmq_msg_send and zmq_msg_recv
 *   crn_endpoint_event     until 0, whenever the monitor's descriptor is ready
 *   crn_endpoint_close
 */
#ifndef CRN_SRC_INGEST_SOCKET_ENDPOINT_H
#define CRN_SRC_INGEST_SOCKET_ENDPOINT_H

#include "stages/base/error.h"
#include "src/ingest/socket/peers.h"
#include "src/ingest/socket/monitor.h"

typedef struct crn_endpoint crn_endpoint;

/*
 * A context for sockets that the line's thread uses. Where real-time scheduling is allowed its I/O
 * thread runs after that thread and before workers: on busy cores, a peer that keeps it busy would
 * otherwise make views wait for its next time slice (measured: 2.4 s). NULL with errno.
 */
void *crn_endpoint_context(void);

/*
 * Creates a socket of ZeroMQ type `type` (ZMQ_PULL, …) with the shared options: heartbeats, TCP
 * keepalive, a bounded handshake, linger 0, IPv4. `zmq` is the caller's context and outlives the
 * endpoint. `key` names the setting in error lines ("ingest.bind") and is copied. 0 or negative
 * errno with *error.
 */
int crn_endpoint_open(void *zmq, int type, const char *key, crn_endpoint **ret_endpoint,
                      crn_error *error);

/* Bounds what connections may take, before the first bind; without it they are not bounded. 0 or
 * -ENOMEM. */
int crn_endpoint_limit(crn_endpoint *endpoint, const crn_peers_rules *rules);

/* Logs the connections that were cut since the last call, at most a line a second per reason. */
void crn_endpoint_report(crn_endpoint *endpoint);

/* Of a limited endpoint: since when its thread is at work; 0: it waits (crn_peers_busy). */
void crn_endpoint_busy(crn_endpoint *endpoint, int64_t since_ns);

/* How many of a limited endpoint's connections have finished their handshake, as far as their side
 * goes; those that libzmq then refuses end at once. From any thread. */
int32_t crn_endpoint_introduced(const crn_endpoint *endpoint);

/* How many were cut since the start; from any thread. */
void crn_endpoint_get_cut(const crn_endpoint *endpoint, crn_peers_stats *ret_stats);

/* Sets an option that takes an int, before the bind it shall hold for. 0 or negative errno. */
int crn_endpoint_set(crn_endpoint *endpoint, int option, int value);

/*
 * Binds one address more, at most CRN_TEXTS_MAX. An ipc path gets its missing parent folders and a
 * lock file `<path>.lock` beside it, which stays behind when the endpoint is closed: removing it
 * could take it from under a daemon that is just starting. The socket file of a dead program is
 * taken over; one that somebody listens on, or a file that is no socket, is not. Its mode becomes
 * 0660. 0 or negative errno with one line in *error that names the address and the cure.
 */
int crn_endpoint_bind(crn_endpoint *endpoint, const char *address, crn_error *error);

/* What is wrong and what helps, where binding failed with this (positive) errno. */
const char *crn_endpoint_bind_cure(int fault);

/* The i-th address as bound (a wildcard port replaced by the real one); NULL past the last. */
const char *crn_endpoint_bound(const crn_endpoint *endpoint, int i);

/* The ZeroMQ socket; the endpoint's. */
void *crn_endpoint_socket(const crn_endpoint *endpoint);

/* Descriptors to poll for reading: the socket's, then its monitor's. Edge-triggered, as ZMQ_FD is:
 * drain before waiting. */
void crn_endpoint_descriptors(const crn_endpoint *endpoint, int descriptors[2]);

/* The next of the monitor's events, without waiting: 1 with *ret_kind, 0 when there are no more. */
int crn_endpoint_event(crn_endpoint *endpoint, crn_endpoint_event_kind *ret_kind);

/*
 * Unbinds, gives the locks back, closes, nulls; NULL is fine. What libzmq holds for its peers goes
 * out within linger_ms in the background (zmq_ctx_term waits for it).
 */
void crn_endpoint_close(crn_endpoint **endpoint, int linger_ms);

#endif

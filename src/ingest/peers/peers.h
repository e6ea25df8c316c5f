/*
 * The connections of one bound ZeroMQ socket, and the decision which of them are cut because they
 * use memory or time that others need. libzmq has no limits for that and does not report what it
 * stores for whom; so calls.c reports here whatever libzmq accepts, reads and closes. To cut a
 * connection means that libzmq reads the end of its stream: this affects that connection only,
 * before libzmq sees the offending bytes, on tcp and ipc alike.
 *
 * Threads: the owner of the socket creates, binds, reports and frees; the functions named after
 * calls run in libzmq's I/O threads, under a mutex of the socket that the owner never takes once
 * bound.
 */
#ifndef CRN_SRC_INGEST_PEERS_PEERS_H
#define CRN_SRC_INGEST_PEERS_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/ingest/access/access.h"
#include "src/ingest/peers/cuts.h"
#include "src/ingest/peers/frames.h"

/* Connections that are being closed remain briefly beside their replacements. */
#define CRN_PEERS_CLOSING_MAX 64

/* Limits of one socket. */
typedef struct crn_peers_rules {
    int32_t connections; /* maximum number at once */
    bool silent_yield;   /* when full, a peer without any message so far is replaced by a new one */
    crn_frames_rules frames;   /* of each connection */
    uint64_t unfinished_bytes; /* of incomplete messages, all connections together */
    uint64_t kept_bytes; /* sent since they connected, all connections together; 0: unlimited */
    /* An atomic_uint_fast64_t, which C++ cannot name and graders' headers include: bytes sent to
     * the connections and not read by all, as the owner counts them; NULL: those that do not read
     * stay. */
    const void *unread;
    uint64_t unread_bytes; /* if more wait, the one that has been behind for longest is cut */
    crn_access_counters *refused; /* where refused connections without keys count; NULL: nowhere */
} crn_peers_rules;

typedef struct crn_peers_stats {
    uint64_t cut[CRN_CUTS]; /* connections, by reason */
} crn_peers_stats;

typedef struct crn_peers crn_peers;

/* `key` names the socket in log messages ("ingest.bind"). Returns NULL if out of memory. */
crn_peers *crn_peers_create(const char *key, const crn_peers_rules *rules);

/* Assigns to this socket all listeners that this thread opens until the matching end; `sealed`:
 * they require CURVE. */
void crn_peers_begin_bind(crn_peers *peers, bool sealed);
void crn_peers_end_bind(void);

/* Maximum number of connections, including those that are being closed. */
int32_t crn_peers_capacity(const crn_peers *peers);

/* Time since which the socket's thread has worked without pause; 0: it waits. While it works for
 * long, new connections are rejected: libzmq would queue their events without limit. */
void crn_peers_busy(crn_peers *peers, int64_t since_ns);

/* Logs the connections cut since the last call, at most one line a second per reason. */
void crn_peers_report(crn_peers *peers);

/* Number of connections whose peer has completed its handshake; from any thread. */
int32_t crn_peers_introduced(const crn_peers *peers);

/* The owner read parts of this cost (crn_frames_part_cost) that came by the descriptor; for sealed
 * connections whose rules have waiting_bytes. Takes no lock. */
void crn_peers_read(crn_peers *peers, int descriptor, uint64_t cost);

/* For crn_access_watch, from its threads; `peers` is a crn_peers. */
void crn_peers_proved(void *peers, uint64_t connection, const char *key);
int32_t crn_peers_cut_refused(void *peers, const crn_access *access, crn_access_use use);

void crn_peers_get_stats(const crn_peers *peers, crn_peers_stats *ret_stats);

/* Releases the owner's reference; the memory is freed with libzmq's
 * last descriptor. NULL is allowed. */
void crn_peers_free(crn_peers **peers);

/* --- for calls.c, on any descriptor of the process --- */

void crn_peers_listened(int listener);
/* True if this is the listener of such a socket. */
bool crn_peers_listens(int listener);
/* False: the caller must close the new connection at once. */
bool crn_peers_accepted(int listener, int connection);
/* Number of a connection that requires keys; 0: it does not, or is another descriptor. */
uint64_t crn_peers_number(int descriptor);
/* No descriptor was free for a connection. */
void crn_peers_unaccepted(int listener);
/* Number of bytes that libzmq may see; 0: report the end of the stream. */
size_t crn_peers_received(int connection, const void *bytes, size_t size);
void crn_peers_closing(int descriptor);
/* libzmq has something to send there, or has sent all. */
void crn_peers_polled(int connection, bool for_output);
/* The kernel took `sent` of these bytes for the connection; negative: none. */
void crn_peers_sent(int connection, size_t size, int64_t sent);

#endif

/*
 * The connections of one bound ZeroMQ socket, and which of them are cut because they would take
 * memory or time that others need. libzmq has no limits for that, and tells nobody what it holds
 * for whom; so calls.c passes by here whatever libzmq accepts, reads and closes. A
 * connection that goes too far is closed by letting libzmq read the end of its stream: that one
 * alone, before libzmq sees the bytes in question, on tcp and ipc alike.
 *
 * Threads: the owner of the socket creates, binds, reports and frees; the functions named after
 * calls are for libzmq's I/O threads, under a mutex of the socket's own that the owner never takes
 * once bound.
 */
#ifndef CRN_SRC_INGEST_SOCKET_PEERS_H
#define CRN_SRC_INGEST_SOCKET_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/ingest/socket/frames.h"

/* Connections that are being closed stay for a moment beside those that took their place. */
#define CRN_PEERS_CLOSING_MAX 64

/* What one socket grants. */
typedef struct crn_peers_rules {
    int32_t connections;       /* at once */
    bool silent_yield;         /* full: who has sent no message yet yields to a new connection */
    crn_frames_rules frames;   /* each connection's */
    uint64_t unfinished_bytes; /* of messages that are not complete, all connections together */
    uint64_t kept_bytes; /* of what they sent since they connected, all together; 0: any number */
} crn_peers_rules;

/* Why a connection was cut, or not let in. */
typedef enum crn_peers_cut {
    CRN_CUT_PART,     /* a part larger than any may be */
    CRN_CUT_PARTS,    /* a message of too many parts; at grader's and viewers' ports any message */
    CRN_CUT_BYTES,    /* a message of too many bytes */
    CRN_CUT_TOTAL,    /* too many subscriptions, its own or all together */
    CRN_CUT_GREETING, /* no ZMTP 3 */
    CRN_CUT_COMMAND,  /* a command larger than any may be */
    CRN_CUT_SHARE,    /* too much in unfinished messages, all together */
    CRN_CUT_CONNECTIONS, /* too many connections */
    CRN_CUT_BUSY,        /* the socket's thread does not keep up with those that come and go */
    CRN_CUT_DESCRIPTORS, /* the process has no descriptor left */
    CRN_CUTS,
} crn_peers_cut;

extern const char *const crn_peers_cut_names[CRN_CUTS];

typedef struct crn_peers_stats {
    uint64_t cut[CRN_CUTS]; /* connections, by reason */
} crn_peers_stats;

typedef struct crn_peers crn_peers;

/* `key` names the socket in log lines ("ingest.bind"). NULL without memory. */
crn_peers *crn_peers_create(const char *key, const crn_peers_rules *rules);

/* Sockets that this thread listens on until the matching end are this socket's. The end says
 * whether there was one: if not, libzmq opens its sockets in a way that cannot be watched. */
void crn_peers_begin_bind(crn_peers *peers);
bool crn_peers_end_bind(void);

/* How many connections there can be at once, those included that are being closed. */
int32_t crn_peers_capacity(const crn_peers *peers);

/* From when on the socket's thread has been at work without a pause; 0: it waits. One that works
 * for long gets no new connections: libzmq would queue what they do for it without a bound. */
void crn_peers_busy(crn_peers *peers, int64_t since_ns);

/* Logs what was cut since the last call, a line a second per reason at most. */
void crn_peers_report(crn_peers *peers);

/* How many connections have finished their handshake as far as their side goes; from any thread. */
int32_t crn_peers_introduced(const crn_peers *peers);

void crn_peers_get_stats(const crn_peers *peers, crn_peers_stats *ret_stats);

/* The owner's part ends; the memory goes with the last of libzmq's descriptors. NULL is fine. */
void crn_peers_free(crn_peers **peers);

/* --- for calls.c, on any descriptor of the process --- */

void crn_peers_listened(int listener);
/* False: the new connection is to be closed at once. */
bool crn_peers_accepted(int listener, int connection);
/* There was no descriptor for a connection. */
void crn_peers_unaccepted(int listener);
/* How many of the bytes libzmq is to see; 0: the connection has ended. */
size_t crn_peers_received(int connection, const void *bytes, size_t size);
void crn_peers_closing(int descriptor);

#endif

/* The table of connections, for peers.c, which keeps it, and limits.c, which decides who is cut. */
#ifndef CRN_SRC_INGEST_PEERS_INTERNAL_H
#define CRN_SRC_INGEST_PEERS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "stages/base/log.h"
#include "src/ingest/peers/attempts.h"
#include "src/ingest/peers/peers.h"

/* Cuts that are queued for the log; further ones are only counted. */
#define CRN_PEERS_NOTES_MAX 16

typedef struct crn_peers_peer {
    crn_peers *peers;
    struct crn_peers_peer *next; /* of the free list */
    int descriptor;              /* -1: unused */
    bool cut;
    int64_t accepted_ns, received_ns; /* received: last bytes */
    int64_t begun_ns;                 /* start of the incomplete message */
    int64_t forgiven_ns;              /* sealed: when heartbeats were last forgiven */
    uint32_t origin;                  /* sealed: crn_attempts_origin of its address */
    atomic_int_fast64_t behind_ns;    /* since when libzmq has had something to send; 0: nothing */
    atomic_int_fast64_t blocked_ns;   /* since when the kernel has taken none of it; 0: it takes */
    atomic_uint_fast64_t read_cost;   /* sealed: read by the owner, not subtracted yet */
    crn_frames frames;
    atomic_uint_fast64_t number; /* sealed: no other connection of the process has it */
    char key[CRN_KEY_BYTES];     /* sealed: of its client, once it has proved it; "": not yet */
} crn_peers_peer;

typedef struct crn_peers_note {
    crn_peers_cut reason;
    char name[CRN_PEER_NAME_BYTES];
} crn_peers_note;

struct crn_peers {
    char key[64];
    crn_peers_rules rules;
    atomic_int uses; /* references: the owner, listeners and connections */
    atomic_uint_fast64_t cut[CRN_CUTS];
    atomic_int introduced; /* connections that completed their handshake */
    atomic_int_fast64_t busy_since_ns;
    atomic_int_fast64_t readers_looked_at_ns; /* crn_peers_limit_readers */
    atomic_bool caught_up; /* the socket's thread waited since `left` was last reset */
    crn_peers_note notes[CRN_PEERS_NOTES_MAX]; /* ring buffer */
    atomic_uint noted, reported;
    crn_log_gate gate[CRN_CUTS_AND_REFUSALS]; /* used by the owner */

    pthread_mutex_t lock; /* protects what follows */
    crn_peers_peer *free;
    int32_t connections, cut_connections; /* open; of those, cut but not closed yet */
    uint64_t unfinished;                  /* sum of the connections' held_bytes */
    uint64_t kept;                        /* sum of their totals */
    uint64_t left; /* totals of connections that closed since the socket's thread last waited */
    crn_attempts attempts; /* failed CURVE handshakes */
    int64_t cut_closed_ns; /* when a connection that had been cut was last closed */
    crn_peers_peer peer[];
};

/* All of these in libzmq's I/O threads, with the lock held. */

/* Counts a cut or refusal and queues it for the owner's log if there is room. */
void crn_peers_count(crn_peers *peers, crn_peers_cut reason, int descriptor);

/* Subtracts the connection's bytes from the sums. */
void crn_peers_subtract(crn_peers_peer *it);

/* Cuts a connection. Shutdown wakes libzmq if it polls for input; otherwise libzmq finds the end
 * when it reads on. */
void crn_peers_cut_off(crn_peers_peer *it, crn_peers_cut reason);

/* With rules.frames.waiting_bytes: subtracts what the owner has read since, and forgives
 * heartbeats. True if it read any. */
bool crn_peers_subtract_read(crn_peers_peer *it, int64_t now_ns);

/* Applies the limits of all connections together after `sending` sent more: `kept` bytes that
 * libzmq keeps. */
void crn_peers_limit_senders(crn_peers *peers, crn_peers_peer *sending, bool kept, int64_t now_ns);

/* Cuts connections that do not read what is sent to them (rules.unread). */
void crn_peers_limit_readers(crn_peers *peers, int64_t now_ns);

/* True if crn_peers_limit_readers may find one; without the lock. */
bool crn_peers_readers_are_due(crn_peers *peers, int64_t now_ns);

/* How often this happened since the start; from any thread. */
uint64_t crn_peers_counted(const crn_peers *peers, crn_peers_cut reason);

#endif

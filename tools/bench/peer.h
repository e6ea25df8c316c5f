/*
 * The processes that the line benchmark measures: cernitad, and a receiver that does nothing but
 * receive each view and copy it into memory of its own, which is the least that any consumer of
 * these messages does.
 */
#ifndef CRN_TOOLS_BENCH_PEER_H
#define CRN_TOOLS_BENCH_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/config/config.h"

typedef struct crn_peer {
    pid_t pid;
    char folder[64]; /* of its sockets and configuration */
    char in[112], out[112];
} crn_peer;

/* Starts the daemon with these settings but sockets of its own, or the receiver. 0 or negative
 * errno. */
int crn_peer_start_daemon(crn_peer *peer, const crn_config *config);
int crn_peer_start_receiver(crn_peer *peer);

/* Whether it has ended by itself, as when it cannot start. */
bool crn_peer_has_ended(const crn_peer *peer);

/* SIGTERM, waits, removes its folder. */
void crn_peer_stop(crn_peer *peer);

/* CPU time of all its threads so far. */
int64_t crn_peer_cpu_ns(const crn_peer *peer);

/* Resident memory now. */
int64_t crn_peer_resident_bytes(const crn_peer *peer);

#endif

/*
 * Limits the rate of failed CURVE handshakes: one costs the I/O thread some 0.2 ms of arithmetic,
 * while a connection that is closed unseen costs 0.02 ms. Counts by address, so that strangers do
 * not keep others out, and over all addresses. Connections that stand are not affected. Arithmetic
 * only; the caller locks.
 */
#ifndef CRN_SRC_INGEST_PEERS_ATTEMPTS_H
#define CRN_SRC_INGEST_PEERS_ATTEMPTS_H

#include <stdbool.h>
#include <stdint.h>

#define CRN_ATTEMPTS_ORIGINS 256

/* Zero-initialise. */
typedef struct crn_attempts {
    int64_t all_ns; /* when the failures so far will be forgiven */
    int64_t origin_ns[CRN_ATTEMPTS_ORIGINS];
} crn_attempts;

/* Index of a connection's remote address: equal for one IPv4 address, for an IPv6 /64, and for all
 * Unix sockets. */
uint32_t crn_attempts_origin(int connection);

/* True if a new connection from there may try. */
bool crn_attempts_allowed(const crn_attempts *attempts, uint32_t origin, int64_t now_ns);

void crn_attempts_failed(crn_attempts *attempts, uint32_t origin, int64_t now_ns);

#endif

/*
 * A hand-written ZeroMQ sender over a plain TCP or Unix socket, for what libzmq never sends: frames
 * with wrong lengths, a peer that dies within one, other protocols.
 */
#ifndef CRN_TESTS_SUPPORT_ZMTP_H
#define CRN_TESTS_SUPPORT_ZMTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Connects to tcp://127.0.0.1:PORT or ipc://PATH without
 * sending anything. A descriptor or negative errno. */
int crn_zmtp_connect(const char *endpoint);

/* Also performs the ZMTP 3.0 handshake as a socket
 * of this type ("PULL") and reads the other side's. */
int crn_zmtp_connect_as(const char *endpoint, const char *kind);
int crn_zmtp_connect_push(const char *endpoint);

/* The bytes of such a handshake, to be sent at once; returns their size. */
#define CRN_ZMTP_BYTES 128
size_t crn_zmtp_introduction(const char *kind, unsigned char introduction[CRN_ZMTP_BYTES]);

/* Sends a frame header that declares `size`. Negative errno if the other side closed. */
int crn_zmtp_send_head(int peer, uint64_t size, bool more);

/* Sends all of the bytes. Negative errno if the other side closed. */
int crn_zmtp_send(int peer, const void *bytes, size_t size);

/* Waits until the other side closes the connection: 0, or -ETIMEDOUT after timeout_ms. */
int crn_zmtp_wait_closed(int peer, int timeout_ms);

#endif

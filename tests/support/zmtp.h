/*
 * A ZeroMQ sender made by hand over a plain TCP or Unix socket, for what libzmq never sends: frames
 * that lie about their length, a peer that dies in the middle of one, bytes of another protocol.
 */
#ifndef CRN_TESTS_SUPPORT_ZMTP_H
#define CRN_TESTS_SUPPORT_ZMTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Connects to tcp://127.0.0.1:PORT or ipc://PATH,
 * nothing said yet. A descriptor or negative errno. */
int crn_zmtp_connect(const char *endpoint);

/* The same, and introduces itself as a socket of ZMTP 3.0 of this kind ("PULL") and hears the other
 * side out. */
int crn_zmtp_connect_as(const char *endpoint, const char *kind);
int crn_zmtp_connect_push(const char *endpoint);

/* What such a peer sends to introduce itself, to be sent at once; its size. */
#define CRN_ZMTP_BYTES 128
size_t crn_zmtp_introduction(const char *kind, unsigned char introduction[CRN_ZMTP_BYTES]);

/* A frame's head: `size` is what it says. Negative errno when the other side is gone. */
int crn_zmtp_send_head(int peer, uint64_t size, bool more);

/* All of the bytes. Negative errno when the other side is gone. */
int crn_zmtp_send(int peer, const void *bytes, size_t size);

/* Waits until the other side has closed the connection: 0, or -ETIMEDOUT after timeout_ms. */
int crn_zmtp_wait_closed(int peer, int timeout_ms);

#endif

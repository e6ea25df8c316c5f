/*
 * Interposes the C library's calls by which libzmq listens, accepts, waits, reads, writes and
 * closes: each makes the same system call and informs peers.h. For all other descriptors they
 * behave as the C library's do.
 *
 * This lets the daemon see what a peer sends before libzmq stores it. libzmq has no hook for that:
 * its monitor reports connections, not bytes; TCP_INFO counts the bytes of a tcp connection, but
 * nothing counts those of an ipc one; a proxy process costs 0.1 ms of CPU per view.
 */
#ifndef CRN_SRC_INGEST_PEERS_CALLS_H
#define CRN_SRC_INGEST_PEERS_CALLS_H

/* Call once before the first socket, from any thread: reserves a descriptor for the case that the
 * process runs out of them, and warns of calls that libzmq makes elsewhere. Returns 0 or a negative
 * errno. */
int crn_socket_calls_init(void);

#define CRN_SOCKET_CALLS_BYTES 128

/* Lists the calls that libzmq does not make here, "" for none, as one connection of its own shows.
 * Returns 0, or a negative errno of ZeroMQ's if that connection failed. */
int crn_socket_calls_check(char ret_missing[CRN_SOCKET_CALLS_BYTES]);

#endif

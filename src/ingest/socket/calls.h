/*
 * The calls by which libzmq listens, accepts, waits, reads and closes, defined here in place of the
 * C library's: each makes the same system call and passes by peers.h. For descriptors that are no
 * peer's they do what the C library's do.
 *
 * This is how the daemon sees what a peer sends before libzmq keeps it. libzmq itself offers no
 * such place: its monitor tells of connections, not of bytes; TCP_INFO counts what a tcp connection
 * received, but nothing counts that of an ipc one; a process in between costs 0.1 ms of CPU a view.
 */
#ifndef CRN_SRC_INGEST_SOCKET_CALLS_H
#define CRN_SRC_INGEST_SOCKET_CALLS_H

/* Once before the first socket, from any thread: keeps a descriptor for the moment when there is no
 * other. 0 or negative errno. */
int crn_socket_calls_init(void);

#endif

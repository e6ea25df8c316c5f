/*
 * The ZAP handler of one ZeroMQ context (rfc.zeromq.org/spec/27): libzmq asks it about every peer
 * that completed its part of the handshake. It has a thread of its own, so that neither the line's
 * thread nor libzmq's I/O thread waits for it: a handshake waits without blocking either.
 */
#ifndef CRN_SRC_INGEST_ACCESS_ZAP_H
#define CRN_SRC_INGEST_ACCESS_ZAP_H

#include "stages/base/error.h"
#include "src/ingest/access/access.h"

typedef struct crn_zap crn_zap;

/* Starts it; before the context's first bind. Both must outlive it. `access` NULL: *ret_zap is
 * NULL. Returns 0 or a negative errno with one line in *error. */
int crn_zap_open(void *zmq, crn_access *access, crn_zap **ret_zap, crn_error *error);

/* After the context's other sockets are closed, before it ends; NULL is allowed. */
void crn_zap_close(crn_zap **zap);

#endif

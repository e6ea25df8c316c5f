/*
 * ZeroMQ in: a PULL socket bound to every ingest endpoint. The only inbound socket, and with wire.c
 * the only reader of the message's bytes. Owned and used by one thread.
 *
 * Every fault is counted under its reason, a view larger than limits.view_mib too: parts are read
 * up to CRN_INGEST_PART_SHARE times that, so that its header tells whose it is. The sender of a
 * part beyond even this, or of a message that exceeds limits.peer_mib, is disconnected before the
 * part is read, and counted in `peers`: what it had under way is lost, which the lane's sequence
 * shows.
 */
#ifndef CRN_SRC_INGEST_INGEST_H
#define CRN_SRC_INGEST_INGEST_H

#include <stdbool.h>
#include <stdint.h>

#include "stages/base/error.h"
#include "src/config/config.h"
#include "src/ingest/socket/peers.h"
#include "src/ingest/wire.h"
#include "stages/openmp/values/values.h"

/* Parts are read up to so many times limits.view_mib. */
#define CRN_INGEST_PART_SHARE 2

typedef struct crn_ingest crn_ingest;

typedef struct crn_ingest_stats {
    uint64_t messages;                /* whole multipart messages read, good and bad */
    uint64_t faults[CRN_WIRE_FAULTS]; /* refused, by reason */
    uint64_t connected, disconnected; /* peers, from the socket's monitor */
    uint64_t strangers;               /* that connected but did not speak ZeroMQ */
    crn_peers_stats peers;            /* cut because they took too much */
} crn_ingest_stats;

/*
 * Binds every endpoint of config->ingest.bind; an ipc path is guarded by a lock file beside it
 * (`<path>.lock`, flock), because libzmq lets a second bind steal it. `zmq` is the caller's context
 * and must outlive the ingest. 0 or negative errno with the endpoint and the cure in *error.
 */
int crn_ingest_open(void *zmq, const crn_config *config, crn_ingest **ret_ingest, crn_error *error);

/*
 * Called in crn_ingest_receive for every message that is refused. `header`: its fields, unchecked;
 * NULL where the first part is no header at all. `fault` is never CRN_WIRE_OK.
 */
typedef void crn_ingest_refused(void *context, const crn_view_header *header, crn_wire_fault fault);

/* Whom to call; NULL: nobody, as at first. */
void crn_ingest_on_refused(crn_ingest *ingest, crn_ingest_refused *refused, void *context);

/* The i-th endpoint as bound (`tcp://127.0.0.1:*` with its real port); NULL past the last. */
const char *crn_ingest_endpoint(const crn_ingest *ingest, int i);

/* Unbinds, closes and nulls; NULL is fine. */
void crn_ingest_close(crn_ingest **ingest);

/*
 * Reads the next good message without waiting. 1: *ret_header describes it and its parts stay
 * inside until crn_ingest_copy or the next receive; 0: nothing (more) to read; negative errno: the
 * socket failed for good. Bad messages are read, counted and logged at most once a second per
 * reason; at most 64 of them per call, so that a flood of them never holds the caller (0 is then
 * returned with crn_ingest_pending true).
 */
int crn_ingest_receive(crn_ingest *ingest, crn_view_header *ret_header);

/*
 * Whether a receive right away may find more. Ask before waiting: the descriptor is edge-triggered
 * and says nothing of messages that were there when the last receive returned.
 */
bool crn_ingest_pending(crn_ingest *ingest);

/*
 * The one copy: the parts of the message last received, into maps (payload_bytes) and intensity
 * (may be NULL). `copy` takes the maps over, and what it says of them is returned. Gives libzmq's
 * memory back: a second copy copies nothing.
 */
bool crn_ingest_copy(crn_ingest *ingest, crn_values_copy_fn *copy, void *maps, void *intensity);

/* Descriptors to poll for reading before waiting: the socket's and its monitor's. Returns their
 * number (<= 2). */
int crn_ingest_descriptors(const crn_ingest *ingest, int descriptors[2]);

/* Reads the monitor's events (peers that come and go) without waiting. True: there are more, call
 * it again before waiting. */
bool crn_ingest_service(crn_ingest *ingest);

const crn_ingest_stats *crn_ingest_get_stats(const crn_ingest *ingest);

#endif

/*
 * Inbound messages: of a PULL socket bound to every ingest endpoint, and of the connections of
 * programs that have slots (slots/slots.h). It is with wire.c the only reader of the message
 * format. Used by one thread.
 *
 * Every fault is counted by its reason. A view larger than limits.view_mib is among them: parts of
 * up to CRN_SENDERS_PART_SHARE times that are read, so that the header identifies the sender. The
 * sender of a larger part, or of a message that exceeds limits.peer_mib, is disconnected before the
 * part is read and counted in `peers`; the view that it was sending is lost, which the lane's
 * sequence numbers show.
 */
#ifndef CRN_SRC_INGEST_INGEST_H
#define CRN_SRC_INGEST_INGEST_H

#include <stdbool.h>
#include <stdint.h>

#include "stages/base/error.h"
#include "stages/config/config.h"
#include "src/counts/counts.h"
#include "src/ingest/peers/peers.h"
#include "src/formats/view/wire.h"
#include "src/ingest/slots/slots.h"
#include "stages/openmp/values.h"

typedef struct crn_ingest crn_ingest;

/* How a message came. */
typedef enum crn_ingest_path {
    CRN_INGEST_TCP,
    CRN_INGEST_IPC,
    CRN_INGEST_MEMFD, /* in a slot, or its sender had none free */
    CRN_INGEST_VMM,   /* the same, on a GPU */
    CRN_INGEST_PATHS
} crn_ingest_path;

extern const char *const crn_ingest_path_names[CRN_INGEST_PATHS]; /* "tcp", "ipc", "memfd", "vmm" */

typedef struct crn_ingest_stats {
    CRN_INGEST_COUNTS(CRN_COUNT_MEMBER)
    uint64_t faults[CRN_WIRE_FAULTS]; /* refused messages, by reason */
    uint64_t connected, disconnected; /* peers, according to the socket's monitor */
    crn_peers_stats peers;            /* connections cut because they exceeded a limit */
} crn_ingest_stats;

/*
 * Binds every endpoint of config->ingest.bind. An ipc path is guarded by a lock file beside it
 * (`<path>.lock`, flock), because libzmq lets a second bind take it over. `zmq` is the caller's
 * context and must outlive the ingest; if config->guard is set, it needs its ZAP handler. Returns 0
 * or a negative errno with the endpoint and a hint in *error.
 */
int crn_ingest_open(void *zmq, const crn_config *config, crn_ingest **ret_ingest, crn_error *error);

/* Called by crn_ingest_receive for every message that is refused. `header`: its unchecked fields,
 * or NULL if the first part is not a header. `fault` is never CRN_WIRE_OK. */
typedef void crn_ingest_refused(void *context, const crn_view_header *header, crn_wire_fault fault);

/* Sets the callback; NULL for none, which is the default. */
void crn_ingest_on_refused(crn_ingest *ingest, crn_ingest_refused *refused, void *context);

/* From now on views may also lie in these slots, and messages come by their connections. The slots
 * must outlive the ingest. */
void crn_ingest_use_slots(crn_ingest *ingest, crn_slots *slots);

/* Returns the i-th endpoint as bound (`tcp://127.0.0.1:*` with its
 * actual port); NULL past the last. */
const char *crn_ingest_endpoint(const crn_ingest *ingest, int i);

/* Unbinds, closes and sets *ingest to NULL; NULL is allowed. */
void crn_ingest_close(crn_ingest **ingest);

/*
 * Reads the next valid message without waiting. Returns 1 with *ret_header set, and the message's
 * parts remain stored until crn_ingest_copy or the next receive, but for a view in a slot; 0 if
 * there is nothing (more) to read; a negative errno if the socket failed for good. Invalid messages
 * are counted, and logged at most once a second per reason; at most 64 of them are read per call,
 * so that a flood cannot block the caller (the result is then 0 and crn_ingest_pending is true).
 */
int crn_ingest_receive(crn_ingest *ingest, crn_view_header *ret_header);

/* How the message last received came; one without an address (inproc) counts as ipc. */
crn_ingest_path crn_ingest_get_path(const crn_ingest *ingest);

/* The view of the message last received if it lies in a slot: with maps and intensity, the caller's
 * until crn_slots_release. NULL if it came otherwise; then crn_ingest_copy has it. */
crn_view *crn_ingest_view_in_slot(const crn_ingest *ingest);

/* True if the message last received was a header alone: its sender had no slot free. */
bool crn_ingest_got_no_slot(const crn_ingest *ingest);

/* True if another receive may return a message. Call it before waiting: the descriptor is
 * edge-triggered and does not signal messages that were there when the last receive returned. */
bool crn_ingest_pending(crn_ingest *ingest);

/*
 * Copies the parts of the message last received into maps (payload_bytes) and intensity (may be
 * NULL); the only copy of a view. `copy` copies the maps, and its result is returned. Releases
 * libzmq's memory, so a second call copies nothing.
 */
crn_values_seen crn_ingest_copy(crn_ingest *ingest, crn_values_copy_fn *copy, void *maps,
                                void *intensity);

/* Descriptors to poll for input before waiting: the socket's and its
 * monitor's. Returns their number (<= 2). */
int crn_ingest_descriptors(const crn_ingest *ingest, int descriptors[2]);

/* Where nothing can be read, because a descriptor was not readable when it was polled. */
typedef struct crn_ingest_quiet {
    bool socket, events, slots;
} crn_ingest_quiet;

/* To be called after each poll: receive, pending and service leave these out until the next call,
 * which saves libzmq's system calls. All 0, as at first: they look everywhere. Only what was read
 * to its end before the poll may be quiet: the descriptors are edge-triggered. */
void crn_ingest_set_quiet(crn_ingest *ingest, crn_ingest_quiet quiet);

/* Reads the monitor's events (peers that connect and disconnect) without waiting. Returns true if
 * there are more; call it again before waiting. */
bool crn_ingest_service(crn_ingest *ingest);

const crn_ingest_stats *crn_ingest_get_stats(const crn_ingest *ingest);

#endif

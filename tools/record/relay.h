/* The proxy of cernita-record: forwards every message and offers the views to a recorder. */
#ifndef CRN_TOOLS_RECORD_RELAY_H
#define CRN_TOOLS_RECORD_RELAY_H

#include <stdint.h>

#include "stages/base/error.h"
#include "src/client/keys.h"
#include "src/ingest/peers/peers.h"
#include "src/recorder/recorder.h"

typedef struct crn_relay_plan {
    const char *from, *to, *dir, *keys; /* to, keys: NULL for none */
    crn_client_keys client;
    uint64_t segment_bytes, queue_bytes;
    int64_t peers, peer_mib, view_mib; /* as limits of a line */
    const crn_classes *classes;        /* of the views; NULL: not known */
} crn_relay_plan;

typedef struct crn_relay_stats {
    uint64_t messages, passed_on; /* passed on: to the line, if there is one */
    uint64_t not_views;           /* passed on, not recorded */
    uint64_t too_large;           /* neither: more than a line reads */
    crn_recorder_stats recorder;
    crn_peers_stats peers;
} crn_relay_stats;

typedef struct crn_relay crn_relay;

/* Memory that it takes at most, the recorder's queue and what senders and line leave included. */
uint64_t crn_relay_bytes(const crn_relay_plan *plan);

/* Returns 0 or a negative errno with *error. `plan` must outlive the relay. */
int crn_relay_open(const crn_relay_plan *plan, crn_relay **ret_relay, crn_error *error);

/* Runs until SIGINT, SIGTERM or SIGHUP. Logs each minute what passed and what was lost. */
void crn_relay_run(crn_relay *relay);

/* Stops the flow first, the disk last, so that everything offered is written. NULL is allowed. */
void crn_relay_close(crn_relay **relay, crn_relay_stats *ret_stats);

/* " cut_bytes=2 cut_parts=1", empty for none: connections that were cut since `before`. */
#define CRN_RELAY_CUTS_BYTES 512
void crn_relay_cuts_text(const crn_peers_stats *now, const crn_peers_stats *before,
                         char ret_text[CRN_RELAY_CUTS_BYTES]);

#endif

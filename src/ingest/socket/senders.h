/* Limits of an endpoint at which senders of views connect: the same for a line and for
 * cernita-record in front of it. */
#ifndef CRN_SRC_INGEST_SOCKET_SENDERS_H
#define CRN_SRC_INGEST_SOCKET_SENDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/ingest/socket/endpoint.h"

/* A message with more parts ends its sender's connection. With keys they are not seen. */
#define CRN_SENDERS_PARTS_MAX 64

/* A part may be so many times a view's limit: one that is somewhat larger is read, so that it can
 * be refused with a reason. */
#define CRN_SENDERS_PART_SHARE 2

typedef struct crn_senders_limits {
    int64_t connections;
    uint64_t peer_bytes; /* of a connection's unfinished message */
    uint64_t view_bytes; /* of one view */
    int64_t waiting;     /* complete messages of a connection that wait to be read */
    bool unread_count;   /* the owner may not read for long, and tells what it reads by means of
                            crn_endpoint_read: complete messages count, too, until they are read */
    crn_access *guard;   /* NULL: no keys */
} crn_senders_limits;

/* Applies them to an endpoint that is not bound yet. Returns 0 or a negative errno. */
int crn_senders_limit(crn_endpoint *endpoint, const crn_senders_limits *limits);

/* Memory that unfinished messages take at most, with unread_count also complete ones. */
uint64_t crn_senders_bytes(const crn_senders_limits *limits);

#endif

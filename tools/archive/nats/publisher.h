/*
 * A stream of NATS JetStream as the destination of one log's verdicts or outcomes.
 *
 * Each message carries, of verdicts beside `Nats-Msg-Id`, up to where the log had been acknowledged
 * when it was sent (CRN_NATS_POSITION): the last message of a log's subject tells where to go on,
 * whatever ended the program, the connection or the server, and also where the server lost its last
 * messages. What is sent twice so has the same run, lane and sequence.
 */
#ifndef CRN_TOOLS_ARCHIVE_NATS_PUBLISHER_H
#define CRN_TOOLS_ARCHIVE_NATS_PUBLISHER_H

#include "tools/archive/destination.h"
#include "tools/archive/nats/settings.h"

#define CRN_NATS_POSITION "Cernita-Position" /* header: segment, its creation, byte */

typedef struct crn_publisher crn_publisher;

typedef struct crn_publisher_settings {
    crn_nats_settings nats;
    const char *kind; /* "verdicts" or "outcomes": the subject is STREAM.kind.HOST.FOLDER */
} crn_publisher_settings;

/* Reads the settings and their files, and does not connect yet; the texts must outlive it. 0, or a
 * negative errno with *error: -ENOTSUP in a build without libnats. */
int crn_publisher_open(const crn_publisher_settings *settings, crn_publisher **ret_publisher,
                       crn_error *error);
void crn_publisher_close(crn_publisher **publisher);

crn_destination *crn_publisher_get_destination(crn_publisher *publisher);

#endif

/*
 * A stream of NATS JetStream as a source: what lines published to it, into an archive. Its position
 * in the stream is of one transaction with the rows, so that nothing is acknowledged to the server,
 * which keeps its messages as the stream's own limits say.
 */
#ifndef CRN_TOOLS_ARCHIVE_NATS_READER_H
#define CRN_TOOLS_ARCHIVE_NATS_READER_H

#include <stdbool.h>

#include "tools/archive/intake.h"
#include "tools/archive/nats/settings.h"

typedef struct crn_nats_reader crn_nats_reader;

typedef struct crn_nats_reader_settings {
    crn_nats_settings nats;
    bool follow; /* a server that cannot be reached is told once, and tried again */
    crn_intake_teller *tell;
} crn_nats_reader_settings;

/* Reads the settings and their files, and does not connect yet; the destination and the texts must
 * outlive it. 0, or a negative errno with *error: -ENOTSUP in a build without libnats. */
int crn_nats_reader_open(crn_destination *destination, const crn_nats_reader_settings *settings,
                         crn_nats_reader **ret_reader, crn_error *error);
void crn_nats_reader_close(crn_nats_reader **reader);

/* Adds the next messages in one transaction. 1: there may be more; 0: the stream's end, or, with
 * `follow`, a server that cannot be reached; a negative errno with *error. */
int crn_nats_reader_step(crn_nats_reader *reader, crn_error *error);

const crn_intake_stats *crn_nats_reader_get_stats(const crn_nats_reader *reader,
                                                  crn_intake_kind kind);

#endif

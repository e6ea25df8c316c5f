/*
 * A connection to a stream of NATS JetStream. It is opened again after each fault, and never
 * reconnects by itself: what was sent then has arrived up to some message, and nothing after it.
 *
 * One thread at a time. No text that it makes has the URL's user or password.
 */
#ifndef CRN_TOOLS_ARCHIVE_NATS_CONNECTION_H
#define CRN_TOOLS_ARCHIVE_NATS_CONNECTION_H

#include <nats/nats.h>

#include "stages/base/error.h"
#include "tools/archive/nats/settings.h"

#define CRN_NATS_WAIT_MS 5000 /* for each answer of the server */

typedef struct crn_nats {
    const crn_nats_settings *settings;
    natsOptions *options;
    char *servers, *stream;     /* of the URL */
    char *name;                 /* the URL without user and password, for messages */
    natsConnection *connection; /* NULL, as `context`: not connected */
    jsCtx *context;
} crn_nats;

/* Reads the settings and their files; the settings must outlive it. 0, or a negative errno with
 * *error; done cleans up in either case. */
int crn_nats_init(crn_nats *nats, const crn_nats_settings *settings, crn_error *error);
void crn_nats_done(crn_nats *nats);

/* Connects, and makes the stream if it does not exist. 0, or -ENOTCONN with *error. */
int crn_nats_connect(crn_nats *nats, crn_error *error);
void crn_nats_disconnect(crn_nats *nats);

/* Sets *error to the line of a failed call, with what helps; returns -ENOTCONN. `code` is 0 where
 * the call has none. */
int crn_nats_fail(const crn_nats *nats, natsStatus status, jsErrCode code, crn_error *error);

#endif

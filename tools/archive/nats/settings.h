/* Where a stream of NATS JetStream is, and who may use it. */
#ifndef CRN_TOOLS_ARCHIVE_NATS_SETTINGS_H
#define CRN_TOOLS_ARCHIVE_NATS_SETTINGS_H

#include <stdbool.h>

#include "stages/base/error.h"

/* The stream is made with this limit of a message's age where it does not exist. */
#define CRN_NATS_KEEP_DAYS 30

/* The texts are the caller's. Files: NULL for none. */
typedef struct crn_nats_settings {
    const char *url;        /* nats://[USER:PASSWORD@]HOST[:PORT][,…]/STREAM; tls:// for TLS */
    const char *creds;      /* user JWT and seed, as `nsc generate creds` writes them */
    const char *ca;         /* certificates that the server's is checked by; NULL: the system's */
    const char *cert, *key; /* this client's */
} crn_nats_settings;

bool crn_nats_is_url(const char *text);

/* False in a build without libnats. */
bool crn_nats_is_built(void);

#endif

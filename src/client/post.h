/* A report to a daemon's monitor.http. post_none.c stands for a build without libcurl. */
#ifndef CRN_SRC_CLIENT_POST_H
#define CRN_SRC_CLIENT_POST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "stages/base/error.h"

typedef struct crn_post_request {
    const char *path;         /* of the page that takes it */
    const char *token;        /* of the daemon's monitor.token_file; "": none */
    const void *json;         /* the body */
    size_t size;              /* of it */
    const atomic_bool *ended; /* becomes true: give up, within a second */
} crn_post_request;

/* True if the program was built with libcurl. */
bool crn_post_is_built(void);

/*
 * Sends it; takes at most 2 s, and as long as the system resolves the host's name. `endpoint` is
 * HOST:PORT, :PORT or a URL. 0, or a negative errno with one line in *error, which names neither
 * endpoint nor path: what the daemon answered where it refused, -ENOTSUP without libcurl.
 */
int crn_post_send(const char *endpoint, const crn_post_request *request, crn_error *error);

#endif

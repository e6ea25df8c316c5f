/* One page of a daemon's monitor.http. fetch_none.c stands for a build without libcurl. */
#ifndef CRN_SRC_CLIENT_FETCH_H
#define CRN_SRC_CLIENT_FETCH_H

#include <stdbool.h>
#include <stdio.h>

#include "stages/base/error.h"

/* Largest page that is taken, unless it says otherwise: more than a flight recorder keeps, and than
 * its largest trace. */
#define CRN_FETCH_MAX ((size_t)64 << 20)

/* Where nothing answers. */
#define CRN_FETCH_CURE                                                                             \
    "is the daemon running? expected the address of monitor.http in its file, which its log "      \
    "names at the start"

typedef struct crn_page {
    const char *path, *type; /* media type of the answer */
    size_t bytes_max;        /* 0: CRN_FETCH_MAX */
    bool or_unavailable;     /* it is also sent with status 503 */
} crn_page;

/* Writes the page to `out`. `endpoint` is HOST:PORT, :PORT or a URL. Returns 0, or a negative errno
 * with the endpoint and a hint in *error: -ENOTSUP without libcurl, -ENOENT if there is no such
 * page. */
int crn_fetch(const char *endpoint, const crn_page *page, FILE *out, crn_error *error);

#endif

/* One page of a daemon's monitor.http. fetch_none.c stands for a build without libcurl. */
#ifndef CRN_TOOLS_WHY_FETCH_H
#define CRN_TOOLS_WHY_FETCH_H

#include <stdio.h>

#include "stages/base/error.h"

/* Writes the page to `out`. `endpoint` is HOST:PORT, :PORT or a URL. Returns 0, or a negative errno
 * with the endpoint and a hint in *error: -ENOTSUP without libcurl. */
int crn_fetch(const char *endpoint, const char *page, FILE *out, crn_error *error);

#endif

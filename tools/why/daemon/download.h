/* What a running daemon's flight recorder keeps, fetched as a verdict log of one segment. */
#ifndef CRN_TOOLS_WHY_DAEMON_DOWNLOAD_H
#define CRN_TOOLS_WHY_DAEMON_DOWNLOAD_H

#include <stdbool.h>

#include "src/client/fetch.h"

/* A folder for the time of a run. */
typedef struct crn_download {
    char dir[256]; /* "": none */
} crn_download;

/* True if the operand is HOST:PORT, :PORT or a URL rather than a folder's name. */
bool crn_download_is_endpoint(const char *operand);

/*
 * Fetches the page /verdicts of a daemon's monitor.http into a new folder below $TMPDIR or /tmp, as
 * its only segment. Returns 0, or a negative errno with the endpoint and a hint in *error. Remove
 * the folder with crn_download_remove in either case.
 */
int crn_download_verdicts(const char *endpoint, crn_download *ret_download, crn_error *error);
void crn_download_remove(crn_download *download);

/* Fetches a page into memory, which the caller frees in either case. As crn_fetch. */
int crn_download_page(const char *endpoint, const crn_page *page, char **ret_bytes,
                      size_t *ret_size, crn_error *error);

/* Writes a daemon's page /trace to a file, which is replaced once the whole page has come. 0, or a
 * negative errno with the endpoint or the file and a hint in *error. */
int crn_download_trace(const char *endpoint, const char *path, crn_error *error);

#endif

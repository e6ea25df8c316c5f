/* The address of a page of a daemon's monitor.http. */
#ifndef CRN_SRC_CLIENT_DAEMON_URL_H
#define CRN_SRC_CLIENT_DAEMON_URL_H

#include <stdbool.h>
#include <stddef.h>

#define CRN_DAEMON_URL_BYTES 512

/* Writes the URL of a page. `endpoint` is HOST:PORT, :PORT (this machine) or a URL. False if it is
 * too long. */
bool crn_daemon_url(const char *endpoint, const char *page, char url[CRN_DAEMON_URL_BYTES]);

#endif

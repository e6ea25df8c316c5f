#include "src/client/daemon_url.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

bool crn_daemon_url(const char *endpoint, const char *page, char url[CRN_DAEMON_URL_BYTES])
{
    bool whole = strncasecmp(endpoint, "http://", strlen("http://")) == 0;
    size_t length = strlen(endpoint);
    while (length && endpoint[length - 1] == '/')
        length--;
    if (length > CRN_DAEMON_URL_BYTES / 2)
        return false;
    int written = snprintf(url, CRN_DAEMON_URL_BYTES, "%s%s%.*s%s", whole ? "" : "http://",
                           endpoint[0] == ':' ? "127.0.0.1" : "", (int)length, endpoint, page);
    return written < CRN_DAEMON_URL_BYTES;
}

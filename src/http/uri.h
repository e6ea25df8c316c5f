/* Addresses that no page has: what they name ends at a NUL byte for a program and not for a proxy
 * before it. */
#ifndef CRN_SRC_HTTP_URI_H
#define CRN_SRC_HTTP_URI_H

#include <stdbool.h>

#include <microhttpd.h>

#include "stages/base/api.h"

CRN_C_BEGIN

/* For MHD_OPTION_URI_LOG_CALLBACK: crn_http_faulty_uri for such an address, else NULL. The handler
 * finds it as the request's context at its first call. */
void *crn_http_note_uri(void *context, const char *uri, struct MHD_Connection *connection);
extern char crn_http_faulty_uri[];

CRN_C_END

#endif

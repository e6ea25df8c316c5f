/* What requests say in their addresses. Detects those that hold a NUL byte: a program ends such a
 * name there, a proxy before it does not, so that the two would see different pages. */
#ifndef CRN_SRC_HTTP_URI_H
#define CRN_SRC_HTTP_URI_H

#include <stdint.h>

#include <microhttpd.h>

#include "stages/base/api.h"

CRN_C_BEGIN

/* For MHD_OPTION_URI_LOG_CALLBACK: returns crn_http_faulty_uri for such an address, else NULL,
 * which the request's handler then gets as the request's context in its first call. */
void *crn_http_note_uri(void *context, const char *uri, struct MHD_Connection *connection);
extern char crn_http_faulty_uri[];

/* The whole number that is all of the text, 0 to INT64_MAX; -1 if there is none. */
int64_t crn_http_number(const char *text);

CRN_C_END

#endif

/* Headers of answers. */
#ifndef CRN_SRC_HTTP_HEADERS_H
#define CRN_SRC_HTTP_HEADERS_H

#include <microhttpd.h>

#include "stages/base/api.h"

CRN_C_BEGIN

#define CRN_HTTP_EVENT_STREAM "text/event-stream"
#define CRN_HTTP_TEXT         "text/plain; charset=utf-8"
#define CRN_HTTP_JSON         "application/json"

/* Names the media type, and that nothing keeps or reinterprets the answer. */
void crn_http_add_headers(struct MHD_Response *response, const char *type);

CRN_C_END

#endif

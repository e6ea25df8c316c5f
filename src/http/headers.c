#include "src/http/headers.h"

#include <stdbool.h>
#include <string.h>

void crn_http_add_headers(struct MHD_Response *response, const char *type)
{
    bool stream = strcmp(type, CRN_HTTP_EVENT_STREAM) == 0;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    /* A proxy that collects or compresses a stream would hold its events back. */
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL,
                            stream ? "no-store, no-cache, no-transform" : "no-store");
    if (stream)
        MHD_add_response_header(response, "X-Accel-Buffering", "no");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
}

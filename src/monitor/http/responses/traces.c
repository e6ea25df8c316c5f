#include "src/monitor/http/responses/traces.h"

#include <stdint.h>
#include <stdlib.h>

#include "src/monitor/fruits/trace.h"
#include "src/formats/encoding/encoder.h"

/* A trace being read: its bytes are the encoder's. */
typedef struct trace_page {
    int *open;
    crn_encoder *encoder;
} trace_page;

static void free_trace(void *context)
{
    trace_page *page = context;
    --*page->open;
    crn_encoder_free(&page->encoder);
    free(page);
}

struct MHD_Response *crn_traces_open(const crn_config *config, const crn_flight *flight, int *open)
{
    const unsigned char *bytes;
    size_t size;
    struct MHD_Response *response = NULL;
    trace_page *page = calloc(1, sizeof *page);
    if (!page)
        return NULL;
    page->open = open;
    ++*open;
    if (crn_encoder_create(CRN_FORMAT_JSON, &page->encoder) == 0) {
        crn_encoder_begin(page->encoder);
        crn_trace_emit(config, flight, page->encoder);
        if (crn_encoder_end(page->encoder, &bytes, &size) == 0)
            response = MHD_create_response_from_buffer_with_free_callback_cls(
                size, (void *)(uintptr_t)bytes, free_trace, page);
    }
    if (!response)
        free_trace(page);
    return response;
}

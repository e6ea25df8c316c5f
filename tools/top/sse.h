/* Splits a stream of server-sent events (WHATWG HTML, 9.2) into the data of each. */
#ifndef CRN_TOOLS_TOP_SSE_H
#define CRN_TOOLS_TOP_SSE_H

#include <stdbool.h>
#include <stddef.h>

/* Called with the data of an event, which is valid until it returns. */
typedef void crn_sse_fn(void *context, const char *data, size_t size);

/* Zero-initialise with `event`, `context` and `bytes_max` set. */
typedef struct crn_sse {
    crn_sse_fn *event;
    void *context;
    size_t bytes_max; /* of a line, and of an event's data */
    char *line, *data;
    size_t line_size, line_capacity, data_size, data_capacity;
} crn_sse;

/* Takes bytes of the stream, cut anywhere. False: an event is larger than bytes_max, or memory is
 * short; give the stream up. */
bool crn_sse_read(crn_sse *sse, const char *bytes, size_t size);

/* Forgets what has been read, for a new stream. */
void crn_sse_restart(crn_sse *sse);
void crn_sse_done(crn_sse *sse);

#endif

/* The connection to a daemon's /events, which is made again when it is lost. One thread. */
#ifndef CRN_TOOLS_TOP_STREAM_H
#define CRN_TOOLS_TOP_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "stages/base/error.h"
#include "tools/top/sse.h"

/* Without an event for so long the connection counts as lost; the daemon sends one a second. */
#define CRN_STREAM_SILENCE_NS (6 * CRN_NS_PER_S)

typedef struct crn_stream crn_stream;

/* `event` is called from crn_stream_wait(). 0, or -ENAMETOOLONG or -ENOMEM with *error. */
int crn_stream_open(const char *endpoint, crn_sse_fn *event, void *context, crn_stream **ret_stream,
                    crn_error *error);
void crn_stream_close(crn_stream **stream); /* NULL is allowed */

/* Reads events, and connects again where that is due, until something arrives, `descriptor` (-1:
 * none) is readable, or the time is over. */
void crn_stream_wait(crn_stream *stream, int descriptor, int wait_ms);

/* Why there is no connection, a clause; "" while there is one. */
const char *crn_stream_fault(const crn_stream *stream);

/* Since when, on CLOCK_MONOTONIC: the last event, or the opening; 0 while there is a connection. */
int64_t crn_stream_lost_ns(const crn_stream *stream);

#endif

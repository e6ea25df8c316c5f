/*
 * Event streams: clients of /events, each of which gets every new event as far as it reads. Used by
 * the HTTP thread only.
 *
 * Between events a connection is suspended: libmicrohttpd would otherwise ask for data without
 * pause. A client that does not read keeps the event that it is at; later ones pass it by, so that
 * its memory is bounded, and the connection's time-out ends it.
 */
#ifndef CRN_SRC_MONITOR_HTTP_RESPONSES_STREAMS_H
#define CRN_SRC_MONITOR_HTTP_RESPONSES_STREAMS_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stages/base/api.h"

CRN_C_BEGIN

/* Clients at once. */
#define CRN_STREAMS_MAX 16

typedef struct crn_streams crn_streams;

/* Returns NULL if out of memory. */
crn_streams *crn_streams_create(void);

/* Call it after the server stopped; NULL is allowed. */
void crn_streams_free(crn_streams **streams);

/* Returns a response that sends the events to this connection, to be queued and destroyed by the
 * caller; NULL if CRN_STREAMS_MAX are open, or memory is short. */
struct MHD_Response *crn_streams_open(crn_streams *streams, struct MHD_Connection *connection);

/* Publishes an event to all clients; the text is copied. An event that cannot be stored is left
 * out. */
void crn_streams_send(crn_streams *streams, const char *text, size_t size);

/* Ends all streams; call it before the server is stopped. */
void crn_streams_end(crn_streams *streams);

uint64_t crn_streams_count(const crn_streams *streams);

CRN_C_END

#endif

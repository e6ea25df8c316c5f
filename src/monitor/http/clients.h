/* The connections of the HTTP thread: which are open, and which must be closed because they idle.
 * Used by that thread only. */
#ifndef CRN_SRC_MONITOR_HTTP_CLIENTS_H
#define CRN_SRC_MONITOR_HTTP_CLIENTS_H

#include <microhttpd.h>
#include <stdint.h>

#include "src/monitor/families.h"

CRN_C_BEGIN

/* Connections at once; one more waits in the kernel until another ends. */
#define CRN_HTTP_CLIENTS_MAX 64

/* Of these from one address; one more is closed at once. */
#define CRN_HTTP_CLIENTS_PER_ADDRESS 32

/* Longest body of a request. */
#define CRN_HTTP_BODY_BYTES CRN_OUTLET_REPORT_BYTES_MAX

/* A kind of request that changes something (posts.c). */
typedef struct crn_post crn_post;

typedef struct crn_client {
    bool used;
    bool requested, streaming; /* a whole request came; it was for /events */
    bool dropped;
    int descriptor;
    int64_t since_ns;
    int64_t moved_ns;     /* last transfer; of a stream also when it had taken all */
    uint64_t moved_bytes; /* in either direction */
    const crn_post *post; /* NULL: it asks for a page */
    char body[CRN_HTTP_BODY_BYTES + 1];
    size_t body_bytes;
    bool body_too_long;
} crn_client;

/* Zero-initialise, but for the first three. */
typedef struct crn_clients {
    unsigned idle_s, request_s; /* as in crn_http_settings */
    crn_http_stats *stats;      /* counts of connections */
    crn_client at[CRN_HTTP_CLIENTS_MAX];
} crn_clients;

/* Passes libmicrohttpd's callback on, for MHD_OPTION_NOTIFY_CONNECTION; the context is the
 * crn_clients. */
void crn_clients_changed(void *clients, struct MHD_Connection *connection, void **socket_context,
                         enum MHD_ConnectionNotificationCode change);

/* The connection's entry, or NULL if there was no room for it. */
crn_client *crn_clients_find(struct MHD_Connection *connection);

/*
 * Closes connections that transfer nothing, that never complete a request, and whose peer has left
 * without one. libmicrohttpd's own time-out knows neither the second, nor streams that it has
 * suspended or that the kernel still buffers for; and it misses the end of a stream that arrives
 * together with bytes, as epoll signals both once and it reads once.
 */
void crn_clients_drop(crn_clients *clients, int64_t now_ns);

CRN_C_END

#endif

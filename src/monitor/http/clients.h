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

/* A connection is closed when it transfers nothing for so long, */
#define CRN_HTTP_IDLE_S 20
/* or has existed for so long, event streams excepted. It carries one request. */
#define CRN_HTTP_REQUEST_S 60

typedef struct crn_client {
    bool used;
    bool requested, streaming; /* a whole request came; it was for /events */
    bool dropped;
    int descriptor;
    int64_t since_ns;
} crn_client;

/* Zero-initialise, but for `stats`. */
typedef struct crn_clients {
    crn_http_stats *stats; /* counts of connections */
    crn_client at[CRN_HTTP_CLIENTS_MAX];
} crn_clients;

/* Passes libmicrohttpd's callbacks on, for MHD_OPTION_NOTIFY_CONNECTION and
 * MHD_OPTION_NOTIFY_COMPLETED; the context is the crn_clients. */
void crn_clients_changed(void *clients, struct MHD_Connection *connection, void **socket_context,
                         enum MHD_ConnectionNotificationCode change);
void crn_clients_request_ended(void *clients, struct MHD_Connection *connection, void **request,
                               enum MHD_RequestTerminationCode how);

/* The connection's entry, or NULL if there was no room for it. */
crn_client *crn_clients_find(struct MHD_Connection *connection);

/*
 * Closes connections whose peer has left without a request, and those that transfer now and then
 * but never complete one. libmicrohttpd sees the latter as active, and misses the former when the
 * end of the stream arrives together with bytes: epoll signals both once, and it reads once.
 */
void crn_clients_drop(crn_clients *clients, int64_t now_ns);

CRN_C_END

#endif

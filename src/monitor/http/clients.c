#include "src/monitor/http/clients.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "stages/base/clock.h"

/* A peer that takes nothing for so long is gone. */
#define UNSENT_MS (1000 * CRN_HTTP_IDLE_S)

/* Bytes that the kernel may hold for a client that does not read. */
#define SEND_BYTES 65536

crn_client *crn_clients_find(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void accept_client(crn_clients *clients, struct MHD_Connection *connection,
                          void **socket_context)
{
    crn_client *entry = clients->at;
    while (entry < clients->at + CRN_HTTP_CLIENTS_MAX && entry->used)
        entry++;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (entry == clients->at + CRN_HTTP_CLIENTS_MAX || !info)
        return;
    *entry = (crn_client){.used = true, .descriptor = info->connect_fd, .since_ns = crn_now_ns()};
    int unsent_ms = UNSENT_MS, bytes = SEND_BYTES;
    setsockopt(entry->descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &unsent_ms, sizeof unsent_ms);
    setsockopt(entry->descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    *socket_context = entry;
    clients->stats->connections++;
}

void crn_clients_changed(void *context, struct MHD_Connection *connection, void **socket_context,
                         enum MHD_ConnectionNotificationCode change)
{
    crn_clients *clients = context;
    crn_client *entry = *socket_context;
    if (change == MHD_CONNECTION_NOTIFY_STARTED) {
        accept_client(clients, connection, socket_context);
    } else if (entry) {
        entry->used = false;
        clients->stats->connections--;
    }
}

void crn_clients_request_ended(void *context, struct MHD_Connection *connection, void **request,
                               enum MHD_RequestTerminationCode how)
{
    crn_clients *clients = context;
    const crn_client *entry = crn_clients_find(connection);
    (void)request;
    if (!entry || how != MHD_REQUEST_TERMINATED_TIMEOUT_REACHED)
        return;
    if (entry->streaming)
        clients->stats->streams_dropped++;
    else
        clients->stats->connections_dropped++;
}

/* True if the peer sends no more and all that it sent has been read. */
static bool has_left(const crn_client *entry)
{
    char byte;
    ssize_t got = recv(entry->descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

void crn_clients_drop(crn_clients *clients, int64_t now_ns)
{
    for (int i = 0; i < CRN_HTTP_CLIENTS_MAX; i++) {
        crn_client *entry = &clients->at[i];
        if (!entry->used || entry->streaming || entry->dropped)
            continue;
        bool slow = now_ns - entry->since_ns >= CRN_HTTP_REQUEST_S * CRN_NS_PER_S;
        entry->dropped = slow || (!entry->requested && has_left(entry));
        clients->stats->connections_dropped += slow;
        if (entry->dropped)
            shutdown(entry->descriptor, SHUT_RDWR);
    }
}

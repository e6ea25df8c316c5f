#include "src/monitor/http/clients.h"

#include <errno.h>
#include <linux/tcp.h> /* its tcp_info counts bytes */
#include <netinet/in.h>
#include <sys/socket.h>

#include "stages/base/clock.h"

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
    entry->moved_ns = entry->since_ns;
    /* For when this thread hangs: later than crn_clients_drop, which counts. */
    int unsent_ms = 2000 * (int)clients->idle_s, bytes = SEND_BYTES;
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

/* True if the peer sends no more and all that it sent has been read. */
static bool has_left(const crn_client *entry)
{
    char byte;
    ssize_t got = recv(entry->descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

/* True if nothing was transferred for idle_s. A stream that has taken all is not idle. */
static bool is_idle(const crn_clients *clients, crn_client *entry, int64_t now_ns)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    if (getsockopt(entry->descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) < 0)
        return false;
    uint64_t moved_bytes = info.tcpi_bytes_acked + info.tcpi_bytes_received;
    bool has_all = entry->streaming && info.tcpi_unacked == 0 && info.tcpi_notsent_bytes == 0;
    if (moved_bytes != entry->moved_bytes || has_all)
        entry->moved_ns = now_ns;
    entry->moved_bytes = moved_bytes;
    return now_ns - entry->moved_ns >= clients->idle_s * CRN_NS_PER_S;
}

static bool is_over(crn_clients *clients, crn_client *entry, int64_t now_ns)
{
    bool slow = !entry->streaming && now_ns - entry->since_ns >= clients->request_s * CRN_NS_PER_S;
    bool dropped = slow || is_idle(clients, entry, now_ns);
    if (entry->streaming)
        clients->stats->streams_dropped += dropped;
    else
        clients->stats->connections_dropped += dropped;
    return dropped || (!entry->requested && has_left(entry));
}

void crn_clients_drop(crn_clients *clients, int64_t now_ns)
{
    for (int i = 0; i < CRN_HTTP_CLIENTS_MAX; i++) {
        crn_client *entry = &clients->at[i];
        if (!entry->used || entry->dropped || !is_over(clients, entry, now_ns))
            continue;
        entry->dropped = true;
        shutdown(entry->descriptor, SHUT_RDWR);
    }
}

#include "tools/sorter/outputs/tcp.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/http/address.h"

/* What the kernel queues for a client; the rest waits here, where it is counted. */
#define SEND_BUFFER_BYTES 16384

typedef struct tcp_client {
    int fd; /* -1: free */
    size_t used;
    char *waiting; /* backlog_bytes */
} tcp_client;

struct crn_tcp_output {
    crn_tcp_plan plan;
    int listener;
    char address[CRN_HTTP_ADDRESS_BYTES];
    char *buffers;
    tcp_client client[CRN_TCP_CLIENTS_MAX];
    crn_tcp_stats stats;
};

int crn_tcp_output_open(const crn_tcp_plan *plan, crn_tcp_output **ret_output, crn_error *error)
{
    crn_tcp_output *output = calloc(1, sizeof *output);
    char *buffers = calloc((size_t)plan->clients, plan->backlog_bytes);
    if (!output || !buffers) {
        free(output);
        free(buffers);
        return crn_error_set(error, -ENOMEM, "no memory for tcp clients");
    }
    output->plan = *plan;
    output->buffers = buffers;
    output->listener = -1;
    for (int32_t i = 0; i < plan->clients; i++)
        output->client[i] =
            (tcp_client){.fd = -1, .waiting = buffers + (size_t)i * plan->backlog_bytes};
    int r = crn_http_listen(plan->address, &output->listener, output->address, error);
    if (r < 0) {
        crn_tcp_output_close(&output);
        return r;
    }
    *ret_output = output;
    return 0;
}

static void disconnect(crn_tcp_output *output, tcp_client *client)
{
    close(client->fd);
    client->fd = -1;
    client->used = 0;
    output->stats.clients--;
}

void crn_tcp_output_close(crn_tcp_output **output)
{
    crn_tcp_output *self = *output;
    if (!self)
        return;
    for (int32_t i = 0; i < self->plan.clients; i++)
        if (self->client[i].fd >= 0)
            disconnect(self, &self->client[i]);
    if (self->listener >= 0)
        close(self->listener);
    free(self->buffers);
    free(self);
    *output = NULL;
}

const char *crn_tcp_output_address(const crn_tcp_output *output)
{
    return output->address;
}

const crn_tcp_stats *crn_tcp_output_get_stats(const crn_tcp_output *output)
{
    return &output->stats;
}

/* Sends what waits, as far as the client takes it. */
static void flush(crn_tcp_output *output, tcp_client *client)
{
    while (client->used) {
        ssize_t sent = send(client->fd, client->waiting, client->used, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0) {
            if (errno != EAGAIN && errno != EWOULDBLOCK)
                disconnect(output, client);
            return;
        }
        client->used -= (size_t)sent;
        memmove(client->waiting, client->waiting + sent, client->used);
    }
}

static void queue(crn_tcp_output *output, tcp_client *client, const char *line, size_t length)
{
    if (client->used + length > output->plan.backlog_bytes) {
        output->stats.cut++;
        disconnect(output, client);
        return;
    }
    memcpy(client->waiting + client->used, line, length);
    client->used += length;
    flush(output, client);
}

void crn_tcp_output_send(crn_tcp_output *output, const char *line, size_t length)
{
    for (int32_t i = 0; i < output->plan.clients; i++)
        if (output->client[i].fd >= 0)
            queue(output, &output->client[i], line, length);
}

int crn_tcp_output_polls(const crn_tcp_output *output, zmq_pollitem_t items[CRN_TCP_POLLS_MAX])
{
    int count = 0;
    items[count++] = (zmq_pollitem_t){.fd = output->listener, .events = ZMQ_POLLIN};
    for (int32_t i = 0; i < output->plan.clients; i++) {
        const tcp_client *client = &output->client[i];
        if (client->fd >= 0)
            items[count++] = (zmq_pollitem_t){
                .fd = client->fd, .events = (short)(ZMQ_POLLIN | (client->used ? ZMQ_POLLOUT : 0))};
    }
    return count;
}

/* What a client says is passed over; its end is noticed. */
static void read_away(crn_tcp_output *output, tcp_client *client)
{
    char bytes[512];
    ssize_t got = recv(client->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
        disconnect(output, client);
}

static void accept_client(crn_tcp_output *output)
{
    static const int yes = 1, send_bytes = SEND_BUFFER_BYTES;
    int fd = accept4(output->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return;
    int32_t place = 0;
    while (place < output->plan.clients && output->client[place].fd >= 0)
        place++;
    if (place == output->plan.clients) {
        output->stats.refused++;
        close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes);
    output->client[place].fd = fd;
    output->stats.clients++;
    output->stats.connected++;
    queue(output, &output->client[place], output->plan.greeting, strlen(output->plan.greeting));
}

void crn_tcp_output_serve(crn_tcp_output *output)
{
    for (int32_t i = 0; i < output->plan.clients; i++) {
        tcp_client *client = &output->client[i];
        if (client->fd >= 0)
            read_away(output, client);
        if (client->fd >= 0)
            flush(output, client);
    }
    accept_client(output);
}

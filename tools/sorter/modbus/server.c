#include "tools/sorter/modbus/server.h"

#include <errno.h>
#include <inttypes.h>
#include <modbus.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "src/http/address.h"
#include "tools/sorter/modbus/window.h"

#define WINDOWS_MAX  (CRN_NUMBERS_MAX + 1)
#define HEARTBEAT_NS (100 * CRN_NS_PER_MS)
#define NOBODY       (-1)

/* A request: 6 bytes of MBAP header, the last two of which are the number of bytes that follow. */
#define HEADER_BYTES 6
#define FRAME_BYTES  MODBUS_TCP_MAX_ADU_LENGTH
#define FOLLOW_MIN   2 /* unit, function */
#define FUNCTION_AT  7

typedef struct modbus_client {
    int fd; /* NOBODY: free */
    size_t used;
    uint8_t bytes[FRAME_BYTES]; /* of a request that has not arrived whole */
} modbus_client;

typedef struct modbus_window {
    crn_window *window;
    int64_t lane;     /* NOBODY: all */
    int acknowledger; /* the client's descriptor; NOBODY */
    bool is_used;     /* it was acknowledged once: what is overwritten is an alarm */
    crn_log_gate overwritten;
} modbus_window;

struct crn_modbus_server {
    int listener;
    char address[CRN_HTTP_ADDRESS_BYTES];
    crn_texts peers;
    modbus_t *modbus;
    modbus_mapping_t *mapping;
    modbus_window window[WINDOWS_MAX];
    int32_t windows;
    modbus_client client[CRN_MODBUS_CLIENTS];
    crn_window_state state;
    crn_modbus_stats stats;
};

/* Registers of a request. */
typedef struct register_range {
    int first, count;
} register_range;

bool crn_modbus_is_built(void)
{
    return true;
}

static int make_windows(crn_modbus_server *server, const crn_modbus_plan *plan)
{
    int r = 0;
    for (int32_t i = -1; i < plan->lanes->count && r == 0; i++) {
        modbus_window *one = &server->window[server->windows++];
        *one =
            (modbus_window){.lane = i < 0 ? NOBODY : plan->lanes->item[i], .acknowledger = NOBODY};
        r = crn_window_create(plan->ring, &one->window);
    }
    server->mapping =
        r == 0 ? modbus_mapping_new(0, 0, server->windows * CRN_WINDOW_DISTANCE, 0) : NULL;
    server->modbus = modbus_new_tcp(NULL, 0);
    if (!server->mapping || !server->modbus)
        return -ENOMEM;
    /* It waits so long after a faulty request. */
    modbus_set_response_timeout(server->modbus, 0, 1);
    return 0;
}

int crn_modbus_server_open(const crn_modbus_plan *plan, crn_modbus_server **ret_server,
                           crn_error *error)
{
    crn_modbus_server *server = calloc(1, sizeof *server);
    if (!server)
        return crn_error_set(error, -ENOMEM, "no memory for the Modbus server");
    server->listener = NOBODY;
    server->peers = *plan->peers;
    server->state.run = plan->run;
    for (int i = 0; i < CRN_MODBUS_CLIENTS; i++)
        server->client[i].fd = NOBODY;
    int r = make_windows(server, plan);
    if (r < 0)
        crn_error_set(error, r, "no memory for the Modbus server");
    else
        r = crn_http_listen(plan->address, &server->listener, server->address, error);
    if (r < 0)
        crn_modbus_server_close(&server);
    else
        *ret_server = server;
    return r;
}

static void disconnect(crn_modbus_server *server, modbus_client *client)
{
    for (int32_t i = 0; i < server->windows; i++)
        if (server->window[i].acknowledger == client->fd)
            server->window[i].acknowledger = NOBODY;
    close(client->fd);
    *client = (modbus_client){.fd = NOBODY};
    server->stats.clients--;
}

void crn_modbus_server_close(crn_modbus_server **server)
{
    crn_modbus_server *self = *server;
    if (!self)
        return;
    for (int i = 0; i < CRN_MODBUS_CLIENTS; i++)
        if (self->client[i].fd != NOBODY)
            disconnect(self, &self->client[i]);
    for (int32_t i = 0; i < self->windows; i++)
        crn_window_free(&self->window[i].window);
    if (self->listener != NOBODY)
        close(self->listener);
    if (self->mapping)
        modbus_mapping_free(self->mapping);
    if (self->modbus) {
        modbus_set_socket(self->modbus, -1);
        modbus_free(self->modbus);
    }
    free(self);
    *server = NULL;
}

const char *crn_modbus_server_address(const crn_modbus_server *server)
{
    return server->address;
}

void crn_modbus_server_add(crn_modbus_server *server, const crn_decision *decision, int64_t now_ns)
{
    for (int32_t i = 0; i < server->windows; i++) {
        modbus_window *one = &server->window[i];
        if (one->lane != NOBODY && (uint64_t)one->lane != decision->lane)
            continue;
        if (crn_window_add(one->window, decision, now_ns) || !one->is_used)
            continue;
        server->stats.lost++;
        crn_log_gated(&one->overwritten, now_ns, CRN_LOG_ERROR,
                      "Modbus window %d: the PLC acknowledges too slowly, decisions were "
                      "overwritten (%" PRIu64 " so far)",
                      i, crn_window_get_counts(one->window).overwritten);
    }
}

int crn_modbus_server_polls(const crn_modbus_server *server,
                            zmq_pollitem_t items[CRN_MODBUS_POLLS_MAX])
{
    int count = 0;
    items[count++] = (zmq_pollitem_t){.fd = server->listener, .events = ZMQ_POLLIN};
    for (int i = 0; i < CRN_MODBUS_CLIENTS; i++)
        if (server->client[i].fd != NOBODY)
            items[count++] = (zmq_pollitem_t){.fd = server->client[i].fd, .events = ZMQ_POLLIN};
    return count;
}

/* --- requests --------------------------------------------------------------------------------- */

static int number_at(const uint8_t *bytes)
{
    return bytes[0] << 8 | bytes[1];
}

/* The registers that a request reads; none for a function that reads none. */
static register_range reads_of(const uint8_t *request)
{
    uint8_t function = request[FUNCTION_AT];
    bool reads = function == MODBUS_FC_READ_HOLDING_REGISTERS ||
                 function == MODBUS_FC_WRITE_AND_READ_REGISTERS;
    return reads ? (register_range){number_at(request + FUNCTION_AT + 1),
                                    number_at(request + FUNCTION_AT + 3)}
                 : (register_range){0, 0};
}

/* Finds the values of a request that writes several registers; false if its length is not that of
 * its values. *ret_values: NULL for another function. */
static bool writes_of(const uint8_t *request, size_t length, register_range *ret_range,
                      const uint8_t **ret_values)
{
    uint8_t function = request[FUNCTION_AT];
    bool also_reads = function == MODBUS_FC_WRITE_AND_READ_REGISTERS;
    size_t at = FUNCTION_AT + (also_reads ? 5 : 1);
    *ret_values = NULL;
    if (!also_reads && function != MODBUS_FC_WRITE_MULTIPLE_REGISTERS)
        return length >= FUNCTION_AT + 5; /* all others that libmodbus reads have as much */
    if (length < at + 5)
        return false;
    *ret_range = (register_range){number_at(request + at), number_at(request + at + 2)};
    *ret_values = request + at + 5;
    return request[at + 4] == 2 * ret_range->count &&
           length == at + 5 + 2 * (size_t)ret_range->count;
}

/* Takes an acknowledgement; one of another run, or of a number that does not wait, changes nothing.
 * Returns 0, or the Modbus exception that answers it. */
static int take_acknowledgement(crn_modbus_server *server, modbus_client *client,
                                register_range range, const uint8_t *values)
{
    int32_t at = range.first / CRN_WINDOW_DISTANCE;
    if (at >= server->windows || range.first % CRN_WINDOW_DISTANCE != CRN_WINDOW_ACK ||
        range.count != CRN_WINDOW_ACKS)
        return MODBUS_EXCEPTION_ILLEGAL_DATA_ADDRESS;
    modbus_window *one = &server->window[at];
    if (one->acknowledger != NOBODY && one->acknowledger != client->fd)
        return MODBUS_EXCEPTION_SLAVE_OR_SERVER_BUSY;
    uint32_t number = (uint32_t)number_at(values + 2) << 16 | (uint32_t)number_at(values + 4);
    one->acknowledger = client->fd;
    if (number_at(values) != server->state.run || !crn_window_acknowledge(one->window, number)) {
        server->stats.refused_acknowledgements++;
        return 0; /* the client sees by `run` and the number in the window that it has to begin anew
                   */
    }
    one->is_used = true;
    return 0;
}

/* Brings the windows up to date that a request reads. */
static void write_windows(crn_modbus_server *server, register_range range, int64_t now_ns)
{
    server->state.heartbeat = (uint16_t)(now_ns / HEARTBEAT_NS);
    for (int32_t i = 0; i < server->windows; i++) {
        int first = i * CRN_WINDOW_DISTANCE;
        if (first < range.first + range.count && range.first < first + CRN_WINDOW_DISTANCE)
            crn_window_write(server->window[i].window, &server->state, now_ns,
                             server->mapping->tab_registers + first);
    }
}

/* Answers one whole request; false if the connection is to end. */
static bool answer(crn_modbus_server *server, modbus_client *client, size_t length, int64_t now_ns)
{
    const uint8_t *request = client->bytes, *values;
    uint8_t function = request[FUNCTION_AT];
    register_range written = {0, 0};
    int exception = 0;
    server->stats.requests++;
    modbus_set_socket(server->modbus, client->fd);
    if (!writes_of(request, length, &written, &values))
        exception = MODBUS_EXCEPTION_ILLEGAL_DATA_VALUE;
    else if (values)
        exception = take_acknowledgement(server, client, written, values);
    else if (function != MODBUS_FC_READ_HOLDING_REGISTERS)
        exception = MODBUS_EXCEPTION_ILLEGAL_FUNCTION;
    if (exception)
        return modbus_reply_exception(server->modbus, request, (unsigned)exception) >= 0;
    write_windows(server, reads_of(request), now_ns);
    return modbus_reply(server->modbus, request, (int)length, server->mapping) >= 0;
}

/* Reads what has arrived, and answers whole requests; several may have come at once. */
static void serve_client(crn_modbus_server *server, modbus_client *client, int64_t now_ns)
{
    ssize_t got =
        recv(client->fd, client->bytes + client->used, FRAME_BYTES - client->used, MSG_DONTWAIT);
    if (got <= 0) {
        if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
            disconnect(server, client);
        return;
    }
    client->used += (size_t)got;
    while (client->used >= HEADER_BYTES) {
        size_t follow = (size_t)number_at(client->bytes + HEADER_BYTES - 2);
        size_t length = HEADER_BYTES + follow;
        if (number_at(client->bytes + 2) != 0 || follow < FOLLOW_MIN || length > FRAME_BYTES) {
            server->stats.bad_frames++;
            disconnect(server, client);
            return;
        }
        if (client->used < length)
            return;
        if (!answer(server, client, length, now_ns)) {
            disconnect(server, client);
            return;
        }
        client->used -= length;
        memmove(client->bytes, client->bytes + length, client->used);
    }
}

static bool is_peer(const crn_modbus_server *server, const struct sockaddr_storage *from,
                    socklen_t size)
{
    char host[NI_MAXHOST];
    if (!server->peers.count)
        return true;
    if (getnameinfo((const struct sockaddr *)from, size, host, sizeof host, NULL, 0,
                    NI_NUMERICHOST) != 0)
        return false;
    const char *name = strncmp(host, "::ffff:", 7) == 0 ? host + 7 : host;
    for (int32_t i = 0; i < server->peers.count; i++)
        if (strcmp(server->peers.item[i], name) == 0)
            return true;
    return false;
}

static void accept_client(crn_modbus_server *server)
{
    static const int yes = 1;
    struct sockaddr_storage from;
    socklen_t size = sizeof from;
    int fd =
        accept4(server->listener, (struct sockaddr *)&from, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return;
    int place = 0;
    while (place < CRN_MODBUS_CLIENTS && server->client[place].fd != NOBODY)
        place++;
    if (place == CRN_MODBUS_CLIENTS || !is_peer(server, &from, size)) {
        server->stats.refused_peers++;
        close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    server->client[place] = (modbus_client){.fd = fd};
    server->stats.clients++;
}

void crn_modbus_server_serve(crn_modbus_server *server, crn_line_state state, int64_t now_ns)
{
    server->state.state = (uint16_t)state;
    for (int i = 0; i < CRN_MODBUS_CLIENTS; i++)
        if (server->client[i].fd != NOBODY)
            serve_client(server, &server->client[i], now_ns);
    accept_client(server);
}

crn_modbus_stats crn_modbus_server_get_stats(const crn_modbus_server *server)
{
    crn_modbus_stats stats = server->stats;
    for (int32_t i = 0; i < server->windows; i++) {
        crn_window_counts counts = crn_window_get_counts(server->window[i].window);
        stats.added += counts.added;
        stats.acknowledged += counts.acknowledged;
        stats.overwritten += counts.overwritten;
    }
    return stats;
}

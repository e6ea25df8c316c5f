#include "src/ingest/socket/monitor.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zmq.h>

#define HANDSHAKE_FAILED_EVENTS                                                                    \
    (ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |                  \
     ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)
#define CONNECTIONS 256 /* default maximum */

typedef struct connection {
    int descriptor; /* libzmq's, used only to identify connections */
    bool established;
} connection;

struct crn_socket_monitor {
    void *socket;               /* the caller's */
    void *pair;                 /* receives libzmq's events */
    uint64_t failed_handshakes; /* handshakes whose disconnect event is still to come */
    int32_t connections, capacity;
    connection *connection; /* in order of arrival */
};

int crn_socket_monitor_open(void *zmq, void *socket, crn_socket_monitor **ret_monitor)
{
    crn_socket_monitor *monitor = calloc(1, sizeof *monitor);
    int r = monitor ? crn_socket_monitor_expect(monitor, CONNECTIONS) : -ENOMEM;
    if (r < 0)
        goto fail;
    monitor->socket = socket;
    /* A unique name: libzmq releases that of a closed monitor only some time later. */
    static atomic_uint serial;
    char name[64];
    snprintf(name, sizeof name, "inproc://cernita.monitor.%u", atomic_fetch_add(&serial, 1));
    int events = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED |
                 HANDSHAKE_FAILED_EVENTS;
    /* No limit, or a storm of events would block libzmq's I/O thread, and data with it. */
    int none = 0;
    if (zmq_socket_monitor(socket, name, events) < 0 ||
        !(monitor->pair = zmq_socket(zmq, ZMQ_PAIR)) ||
        zmq_setsockopt(monitor->pair, ZMQ_RCVHWM, &none, sizeof none) < 0 ||
        zmq_setsockopt(monitor->pair, ZMQ_LINGER, &none, sizeof none) < 0 ||
        zmq_connect(monitor->pair, name) < 0) {
        r = -errno;
        goto fail;
    }
    *ret_monitor = monitor;
    return 0;

fail:
    if (monitor && monitor->socket)
        crn_socket_monitor_stop(monitor);
    crn_socket_monitor_close(&monitor);
    return r;
}

int crn_socket_monitor_expect(crn_socket_monitor *monitor, int32_t connections)
{
    connection *table = calloc((size_t)connections, sizeof *table);
    if (!table)
        return -ENOMEM;
    free(monitor->connection);
    monitor->connection = table;
    monitor->capacity = connections;
    return 0;
}

int crn_socket_monitor_descriptor(const crn_socket_monitor *monitor)
{
    int descriptor = -1;
    size_t size = sizeof descriptor;
    return zmq_getsockopt(monitor->pair, ZMQ_FD, &descriptor, &size) == 0 ? descriptor : -1;
}

/* Reads one message: a frame with event (16 bits) and value (32), and a frame with the address. */
static bool read_event(crn_socket_monitor *monitor, uint16_t *ret_event, int32_t *ret_value)
{
    unsigned char frame[6];
    int r;
    do
        r = zmq_recv(monitor->pair, frame, sizeof frame, ZMQ_DONTWAIT);
    while (r < 0 && errno == EINTR);
    if (r != (int)sizeof frame)
        return false;
    zmq_recv(monitor->pair, NULL, 0, ZMQ_DONTWAIT); /* the address is always the local one */
    memcpy(ret_event, frame, sizeof *ret_event);
    memcpy(ret_value, frame + sizeof *ret_event, sizeof *ret_value);
    return true;
}

static void add_connection(crn_socket_monitor *monitor, int descriptor)
{
    if (monitor->connections < monitor->capacity)
        monitor->connection[monitor->connections++] = (connection){descriptor, false};
}

/* The event of a completed handshake does not identify the connection. Connections that fail theirs
 * may stay for long, so the youngest without a completed handshake is assumed. */
static void establish_connection(crn_socket_monitor *monitor)
{
    for (int32_t i = monitor->connections; i-- > 0;)
        if (!monitor->connection[i].established) {
            monitor->connection[i].established = true;
            return;
        }
}

/* Removes the connection; returns whether it had completed its handshake. */
static bool remove_connection(crn_socket_monitor *monitor, int descriptor)
{
    for (int32_t i = 0; i < monitor->connections; i++) {
        if (monitor->connection[i].descriptor != descriptor)
            continue;
        bool established = monitor->connection[i].established;
        monitor->connections--;
        memmove(&monitor->connection[i], &monitor->connection[i + 1],
                (size_t)(monitor->connections - i) * sizeof monitor->connection[0]);
        return established;
    }
    return monitor->failed_handshakes == 0;
}

/* The client's key, which src/ingest/access logs, or its server key, which peers.c does. */
static bool is_about_keys(uint16_t event, int32_t value)
{
    return event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH ||
           (event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL &&
            value == ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC);
}

int crn_socket_monitor_next(crn_socket_monitor *monitor, crn_endpoint_event_kind *ret_kind)
{
    uint16_t event;
    int32_t value;
    while (read_event(monitor, &event, &value)) {
        if (event == ZMQ_EVENT_ACCEPTED) {
            add_connection(monitor, value);
        } else if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
            establish_connection(monitor);
            *ret_kind = CRN_ENDPOINT_CONNECTED;
            return 1;
        } else if (event & HANDSHAKE_FAILED_EVENTS) {
            monitor->failed_handshakes++;
            *ret_kind =
                is_about_keys(event, value) ? CRN_ENDPOINT_REFUSED_KEY : CRN_ENDPOINT_REFUSED;
            return 1;
        } else if (event == ZMQ_EVENT_DISCONNECTED) {
            bool established = remove_connection(monitor, value);
            /* libzmq reports some failed handshakes with a disconnect
             * event, some by that event only. */
            if (!established && monitor->failed_handshakes) {
                monitor->failed_handshakes--;
                continue;
            }
            *ret_kind = established ? CRN_ENDPOINT_DISCONNECTED : CRN_ENDPOINT_REFUSED;
            return 1;
        }
    }
    return 0;
}

void crn_socket_monitor_stop(crn_socket_monitor *monitor)
{
    zmq_socket_monitor(monitor->socket, NULL, 0);
}

void crn_socket_monitor_close(crn_socket_monitor **monitor)
{
    crn_socket_monitor *closing = *monitor;
    if (!closing)
        return;
    if (closing->pair)
        zmq_close(closing->pair);
    free(closing->connection);
    free(closing);
    *monitor = NULL;
}

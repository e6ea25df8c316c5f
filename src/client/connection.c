#include "src/client/connection.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RECEIVED_MAX 1000 /* messages that libzmq queues while this program draws or prints */

const char crn_connection_hint[] =
    "is the daemon running, and is this its publish.viewers.bind? Where it requires keys "
    "(access.keys) give --key and --server-key; its log names what it refused";

static int set_socket(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value);
}

static int subscribe(void *socket, int64_t lane)
{
    char topic[32] = "fruit/";
    if (lane != CRN_ALL_LANES)
        snprintf(topic, sizeof topic, "fruit/%" PRId64, lane);
    if (zmq_setsockopt(socket, ZMQ_SUBSCRIBE, topic, strlen(topic)) < 0)
        return -1;
    return zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "status", 6);
}

int crn_connection_open(crn_connection *connection, const char *endpoint, bool grader, int64_t lane,
                        const crn_client_keys *keys, crn_error *error)
{
    int r = crn_client_context(&connection->zmq, error);
    if (r < 0)
        return r;
    void *socket = zmq_socket(connection->zmq, grader ? ZMQ_PULL : ZMQ_SUB);
    connection->socket = socket;
    if (!socket)
        return crn_error_set(error, -zmq_errno(), "no socket: %s", zmq_strerror(zmq_errno()));
    /* Heartbeats: without them a peer that lost power would never be noticed. */
    if (set_socket(socket, ZMQ_LINGER, 0) < 0 || set_socket(socket, ZMQ_RCVHWM, RECEIVED_MAX) < 0 ||
        set_socket(socket, ZMQ_HEARTBEAT_IVL, 1000) < 0 ||
        set_socket(socket, ZMQ_HEARTBEAT_TIMEOUT, 5000) < 0 ||
        set_socket(socket, ZMQ_RECONNECT_IVL_MAX, 1000) < 0 ||
        (!grader && subscribe(socket, lane) < 0))
        return crn_error_set(error, -zmq_errno(), "cannot set the socket up: %s",
                             zmq_strerror(zmq_errno()));
    r = crn_handshake_watch(&connection->handshake, connection->zmq, socket, keys, error);
    return r < 0 ? r : crn_client_connect(socket, endpoint, keys, error);
}

void crn_connection_close(crn_connection *connection)
{
    crn_handshake_close(&connection->handshake);
    if (connection->socket)
        zmq_close(connection->socket);
    if (connection->zmq)
        zmq_ctx_term(connection->zmq);
}

int crn_connection_receive(crn_connection *connection, char *topic, size_t topic_size,
                           zmq_msg_t *body)
{
    zmq_msg_t part;
    zmq_msg_init(&part);
    int parts = 0, more = 1;
    *topic = '\0';
    while (more) {
        zmq_msg_t *into = parts == 1 ? body : &part;
        if (zmq_msg_recv(into, connection->socket, parts ? 0 : ZMQ_DONTWAIT) < 0) {
            int code = zmq_errno();
            if (parts && code == EINTR) /* a message's further parts are available: retry */
                continue;
            zmq_msg_close(&part);
            return code == EAGAIN || code == EINTR ? 0 : -code;
        }
        if (!parts)
            snprintf(topic, topic_size, "%.*s", (int)zmq_msg_size(&part),
                     (const char *)zmq_msg_data(&part));
        more = zmq_msg_more(into);
        parts++;
    }
    zmq_msg_close(&part);
    return 1;
}

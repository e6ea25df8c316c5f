#include "src/client/handshake.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <zmq.h>

/* A daemon that starts or ends cuts a connection off, too. */
#define UNFINISHED_MAX 3

#define EVENTS                                                                                     \
    (ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |                             \
     ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)

static const char refused[] =
    "the line refused this key: no file in the folder clients of its access.keys has it, or the "
    "file's `for:` does not name this socket. Let whoever keeps the line add it (its log names "
    "the key) and reload the daemon, then start this program again";

static const char *const by_keys[2] = {
    "the line requires keys (access.keys): give --key and --server-key",
    "the line requires no keys at this socket: leave out --key and --server-key",
};

static const char *const unfinished[2] = {
    "what answers there ends the connection at once: a line that requires keys (--key and "
    "--server-key), or another program",
    "the line ends the connection before it asks for the key: --server-key is not its server.pub, "
    "or it requires no keys at this socket",
};

int crn_handshake_watch(crn_handshake *self, void *zmq, void *socket, const crn_client_keys *keys,
                        crn_error *error)
{
    char name[64];
    int none = 0;
    snprintf(name, sizeof name, "inproc://handshakes-%p", socket);
    *self = (crn_handshake){.socket = socket, .keys = keys && keys->key};
    if (zmq_socket_monitor(socket, name, EVENTS) == 0)
        self->events = zmq_socket(zmq, ZMQ_PAIR);
    if (self->events && zmq_setsockopt(self->events, ZMQ_LINGER, &none, sizeof none) == 0 &&
        zmq_connect(self->events, name) == 0)
        return 0;
    int fault = zmq_errno();
    crn_handshake_close(self);
    return crn_error_set(error, -fault, "cannot watch the socket's handshakes: %s",
                         zmq_strerror(fault));
}

/* The number of the next event; false: there is none. Its two parts come together. */
static bool next_event(void *events, unsigned *ret_number)
{
    unsigned char bytes[sizeof(uint16_t) + sizeof(uint32_t)];
    uint16_t number;
    char address[8];
    if (zmq_recv(events, bytes, sizeof bytes, ZMQ_DONTWAIT) != (int)sizeof bytes)
        return false;
    (void)zmq_recv(events, address, sizeof address, 0);
    memcpy(&number, bytes, sizeof number);
    *ret_number = number;
    return true;
}

const char *crn_handshake_fault(crn_handshake *self)
{
    unsigned number;
    while (self->events && next_event(self->events, &number)) {
        if (number == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
            self->text = NULL;
            self->final = false;
            self->unfinished = 0;
        } else if (number == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL) {
            if (++self->unfinished >= UNFINISHED_MAX)
                self->text = unfinished[self->keys];
        } else {
            self->text = number == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH ? refused : by_keys[self->keys];
            self->final = true;
        }
    }
    return self->text;
}

void crn_handshake_close(crn_handshake *self)
{
    if (self->socket)
        zmq_socket_monitor(self->socket, NULL, 0);
    if (self->events)
        zmq_close(self->events);
    *self = (crn_handshake){.socket = NULL};
}

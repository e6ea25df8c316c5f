/* libzmq's functions, as the line calls them; wrapped by the linker, as libc.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "stages/base/clock.h"
#include "tests/simulation/machine/descriptors.h"
#include "tests/simulation/machine/schedule.h"
#include "tests/simulation/machine/sockets_internal.h"
#include "tests/simulation/machine/wrap.h"

static bool is_interrupted(void)
{
    if (!sim_sockets.interrupt_once_in ||
        !crn_random_once_in(sim_random(), sim_sockets.interrupt_once_in))
        return false;
    errno = EINTR;
    return true;
}

CRN_SIM_WRAP(void *, zmq_ctx_new, void)
{
    return &sim_sockets;
}

CRN_SIM_WRAP(int, zmq_ctx_term, void *context)
{
    (void)context;
    return 0;
}

CRN_SIM_WRAP(void *, zmq_socket, void *context, int type)
{
    (void)context;
    for (int i = 0; i < CRN_SIM_SOCKETS_MAX; i++) {
        sim_socket *socket = &sim_sockets.sockets[i];
        if (socket->used)
            continue;
        *socket = (sim_socket){.used = true, .is_asleep = true, .type = type};
        return socket;
    }
    errno = EMFILE;
    return NULL;
}

CRN_SIM_WRAP(int, zmq_close, void *handle)
{
    sim_socket *socket = handle;
    if (socket->descriptor)
        sim_descriptor_close(socket->descriptor);
    sim_messages_free(&socket->first);
    socket->used = false;
    for (int i = 0; i < CRN_SIM_SOCKETS_MAX; i++)
        if (sim_sockets.sockets[i].events == socket)
            sim_sockets.sockets[i].events = NULL;
    sim_sockets.pull = socket == sim_sockets.pull ? NULL : sim_sockets.pull;
    sim_sockets.push = socket == sim_sockets.push ? NULL : sim_sockets.push;
    sim_sockets.xpub = socket == sim_sockets.xpub ? NULL : sim_sockets.xpub;
    return 0;
}

CRN_SIM_WRAP(int, zmq_bind, void *handle, const char *address)
{
    sim_socket *socket = handle;
    snprintf(socket->address, sizeof socket->address, "%s", address);
    if (socket->type == ZMQ_PULL)
        sim_sockets.pull = socket;
    else if (socket->type == ZMQ_PUSH)
        sim_sockets.push = socket;
    else
        sim_sockets.xpub = socket;
    return 0;
}

/* Of a PAIR to what a monitor is called. */
CRN_SIM_WRAP(int, zmq_connect, void *handle, const char *address)
{
    for (int i = 0; i < CRN_SIM_SOCKETS_MAX; i++)
        if (sim_sockets.sockets[i].used && strcmp(sim_sockets.sockets[i].monitored, address) == 0) {
            sim_sockets.sockets[i].events = handle;
            return 0;
        }
    errno = ECONNREFUSED;
    return -1;
}

CRN_SIM_WRAP(int, zmq_socket_monitor, void *handle, const char *address, int events)
{
    sim_socket *socket = handle;
    (void)events;
    snprintf(socket->monitored, sizeof socket->monitored, "%s", address ? address : "");
    if (!address)
        socket->events = NULL;
    return 0;
}

CRN_SIM_WRAP(int, zmq_setsockopt, void *handle, int option, const void *value, size_t size)
{
    const sim_socket *socket = handle;
    int number = 0;
    if (size == sizeof number)
        memcpy(&number, value, sizeof number);
    if (socket->type == ZMQ_PULL && option == ZMQ_RCVHWM)
        sim_sockets.pull_high_water = number;
    if (socket->type == ZMQ_PUSH && option == ZMQ_SNDHWM)
        sim_sockets.push_high_water = number;
    return 0;
}

CRN_SIM_WRAP(int, zmq_getsockopt, void *handle, int option, void *value, size_t *size)
{
    sim_socket *socket = handle;
    int number = 0;
    if (option == ZMQ_LAST_ENDPOINT) {
        snprintf(value, *size, "%s", socket->address);
        return 0;
    }
    if (option == ZMQ_FD) {
        if (!socket->descriptor)
            socket->descriptor = sim_descriptor_of(&socket->is_readable);
        number = socket->descriptor;
    } else if (option == ZMQ_EVENTS) {
        socket->is_readable = false;
        socket->is_asleep |= !socket->first;
        number = socket->first ? ZMQ_POLLIN : 0;
        if (socket == sim_sockets.push && sim_grader_has_room())
            number |= ZMQ_POLLOUT;
    }
    memcpy(value, &number, sizeof number);
    return 0;
}

/* The next part that has arrived, or NULL with EAGAIN. */
static zmq_msg_t *next_part(sim_socket *socket)
{
    if (socket->parts_read == 0 && is_interrupted())
        return NULL;
    /* It looks at what woke it as soon as it is called: the descriptor tells of more only once the
     * socket was found empty. */
    socket->is_readable = false;
    if (!socket->first) {
        socket->is_asleep = true;
        errno = EAGAIN;
        return NULL;
    }
    zmq_msg_t *part = &socket->first->part[socket->parts_read++];
    sim_sockets.last_more = socket->parts_read < socket->first->parts;
    return part;
}

/* After the part was read. */
static void end_part(sim_socket *socket)
{
    if (sim_sockets.last_more)
        return;
    sim_message *message = sim_message_take(&socket->first);
    socket->parts_read = 0;
    if (socket == sim_sockets.pull) {
        message->connection->unread--;
        sim_sockets.watch.received(message->tag, message->due_ns);
    }
    sim_message_free(message);
}

CRN_SIM_WRAP(int, zmq_msg_recv, zmq_msg_t *to, void *handle, int flags)
{
    (void)flags;
    sim_socket *socket = handle;
    zmq_msg_t *part = next_part(socket);
    if (!part)
        return -1;
    zmq_msg_move(to, part);
    int size = (int)zmq_msg_size(to);
    end_part(socket);
    return size;
}

CRN_SIM_WRAP(int, zmq_recv, void *handle, void *bytes, size_t size, int flags)
{
    (void)flags;
    sim_socket *socket = handle;
    zmq_msg_t *part = next_part(socket);
    if (!part)
        return -1;
    size_t length = zmq_msg_size(part);
    if (size > 0)
        memcpy(bytes, zmq_msg_data(part), length < size ? length : size);
    end_part(socket);
    return (int)length;
}

CRN_SIM_WRAP(int, zmq_msg_more, const zmq_msg_t *part)
{
    (void)part;
    return sim_sockets.last_more;
}

CRN_SIM_WRAP(const char *, zmq_msg_gets, const zmq_msg_t *part, const char *property)
{
    (void)part;
    return strcmp(property, "Peer-Address") == 0 ? "10.0.0.1" : NULL;
}

CRN_SIM_WRAP(int, zmq_send, void *handle, const void *bytes, size_t size, int flags)
{
    (void)flags;
    sim_socket *socket = handle;
    if (is_interrupted())
        return -1;
    if (socket == sim_sockets.push && !sim_grader_has_room()) {
        errno = EAGAIN;
        return -1;
    }
    snprintf(socket->topic, sizeof socket->topic, "%.*s", (int)size, (const char *)bytes);
    return (int)size;
}

CRN_SIM_WRAP(int, zmq_msg_send, zmq_msg_t *body, void *handle, int flags)
{
    (void)flags;
    int size = (int)zmq_msg_size(body);
    if (handle == sim_sockets.push && strncmp(sim_sockets.push->topic, "fruit/", 6) == 0)
        sim_send_to_grader(body);
    zmq_msg_close(body);
    zmq_msg_init(body);
    return size;
}

static bool push_has_room(void *unused)
{
    (void)unused;
    return sim_grader_has_room();
}

CRN_SIM_WRAP(int, zmq_poll, zmq_pollitem_t *items, int count, long timeout_ms)
{
    (void)items; /* of the PUSH socket alone, for writing */
    (void)count;
    return sim_wait(push_has_room, NULL, sim_now_ns() + timeout_ms * CRN_NS_PER_MS);
}

#include "tests/simulation/machine/sockets_internal.h"

#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"
#include "tests/simulation/machine/schedule.h"

/* From the event of a connection's end to the end of its pipe. */
#define DETACH_NS (CRN_NS_PER_MS / 2)

sim_net sim_sockets;

/* --- begin and end ---------------------------------------------------------------------------- */

void sim_sockets_begin(const sim_socket_watch *watch)
{
    memset(&sim_sockets, 0, sizeof sim_sockets);
    sim_sockets.watch = *watch;
    sim_sockets.next_number = 1;
}

void sim_sockets_interrupt(uint32_t once_in)
{
    sim_sockets.interrupt_once_in = once_in;
}

int sim_sockets_open(void)
{
    int open = 0;
    for (int i = 0; i < CRN_SIM_SOCKETS_MAX; i++)
        open += sim_sockets.sockets[i].used;
    return open;
}

void sim_sockets_end(void)
{
    for (int i = 0; i < CRN_SIM_SOCKETS_MAX; i++)
        sim_messages_free(&sim_sockets.sockets[i].first);
    for (int i = 0; i < CRN_SIM_CONNECTIONS_MAX; i++)
        sim_messages_free(&sim_sockets.connections[i].first);
    sim_messages_free(&sim_sockets.grader.first);
}

/* --- messages --------------------------------------------------------------------------------- */

sim_message *sim_message_create(int64_t tag)
{
    sim_message *message = calloc(1, sizeof *message);
    if (!message)
        abort();
    message->tag = tag;
    return message;
}

void sim_message_add(sim_message *message, const void *bytes, size_t size)
{
    zmq_msg_t *part = &message->part[message->parts++];
    if (zmq_msg_init_size(part, size) < 0)
        abort();
    memcpy(zmq_msg_data(part), bytes, size);
}

void sim_message_free(sim_message *message)
{
    if (!message)
        return;
    for (int i = 0; i < message->parts; i++)
        zmq_msg_close(&message->part[i]);
    free(message);
}

static void append(sim_message **first, sim_message **last, sim_message *message)
{
    message->next = NULL;
    if (*first)
        (*last)->next = message;
    else
        *first = message;
    *last = message;
}

sim_message *sim_message_take(sim_message **first)
{
    sim_message *message = *first;
    *first = message->next;
    return message;
}

void sim_messages_free(sim_message **first)
{
    while (*first)
        sim_message_free(sim_message_take(first));
}

/* libzmq wakes a reader that had found nothing. */
static void wake(sim_socket *socket)
{
    if (socket->is_asleep)
        socket->is_readable = true;
    socket->is_asleep = false;
}

void sim_socket_put(sim_socket *socket, sim_message *message)
{
    append(&socket->first, &socket->last, message);
    wake(socket);
}

static void post_event(sim_socket *socket, uint16_t event, int32_t value)
{
    if (!socket || !socket->events)
        return;
    unsigned char frame[6];
    memcpy(frame, &event, sizeof event);
    memcpy(frame + sizeof event, &value, sizeof value);
    sim_message *message = sim_message_create(0);
    sim_message_add(message, frame, sizeof frame);
    sim_message_add(message, socket->address, strlen(socket->address));
    sim_socket_put(socket->events, message);
}

/* --- senders ---------------------------------------------------------------------------------- */

static bool can_deliver(void *argument)
{
    const sim_connection *connection = argument;
    return sim_sockets.pull && connection->first && connection->first->due_ns <= sim_now_ns() &&
           connection->unread < sim_sockets.pull_high_water;
}

static bool has_work(void *argument)
{
    const sim_connection *connection = argument;
    return connection->first || connection->is_closing;
}

static bool has_room(void *argument)
{
    const sim_connection *connection = argument;
    return can_deliver(argument) || connection->is_closing;
}

/* libzmq's thread, for one connection. */
static void *run_connection(void *argument)
{
    sim_connection *connection = argument;
    for (;;) {
        sim_wait(has_work, connection, INT64_MAX);
        if (connection->is_closing)
            break;
        if (connection->first->due_ns > sim_now_ns())
            sim_wait(has_room, connection, connection->first->due_ns);
        else if (!can_deliver(connection))
            sim_wait(has_room, connection, sim_now_ns() + CRN_NS_PER_MS);
        while (can_deliver(connection)) {
            sim_message *message = sim_message_take(&connection->first);
            message->connection = connection;
            message->due_ns = sim_now_ns();
            connection->unread++;
            sim_socket_put(sim_sockets.pull, message);
        }
    }
    while (connection->first) {
        sim_message *message = sim_message_take(&connection->first);
        connection->lost(message->tag);
        sim_message_free(message);
    }
    post_event(sim_sockets.pull, ZMQ_EVENT_DISCONNECTED, connection->number);
    connection->used = false;
    return NULL;
}

sim_connection *sim_connect_sender(void)
{
    int i = 0;
    while (i < CRN_SIM_CONNECTIONS_MAX && sim_sockets.connections[i].used)
        i++;
    if (i == CRN_SIM_CONNECTIONS_MAX)
        abort();
    sim_connection *connection = &sim_sockets.connections[i];
    int32_t unread = connection->unread; /* of its predecessor, still to be read */
    *connection =
        (sim_connection){.used = true, .unread = unread, .number = sim_sockets.next_number++};
    post_event(sim_sockets.pull, ZMQ_EVENT_ACCEPTED, connection->number);
    post_event(sim_sockets.pull, ZMQ_EVENT_HANDSHAKE_SUCCEEDED, connection->number);
    sim_start_detached(run_connection, connection);
    return connection;
}

void sim_send(sim_connection *connection, sim_message *message, int64_t due_ns)
{
    message->due_ns = due_ns;
    if (connection->first && connection->last->due_ns > due_ns)
        message->due_ns = connection->last->due_ns;
    append(&connection->first, &connection->last, message);
}

void sim_disconnect_sender(sim_connection *connection, void (*lost)(int64_t tag))
{
    connection->lost = lost;
    connection->is_closing = true;
}

static void forget(int64_t tag)
{
    (void)tag;
}

static bool all_have_ended(void *unused)
{
    (void)unused;
    for (int i = 0; i < CRN_SIM_CONNECTIONS_MAX; i++)
        if (sim_sockets.connections[i].used)
            return false;
    return true;
}

void sim_senders_end(void)
{
    for (int i = 0; i < CRN_SIM_CONNECTIONS_MAX; i++)
        if (sim_sockets.connections[i].used && !sim_sockets.connections[i].is_closing)
            sim_disconnect_sender(&sim_sockets.connections[i], forget);
    sim_wait(all_have_ended, NULL, INT64_MAX);
}

int64_t sim_unread_since_ns(void)
{
    const sim_socket *pull = sim_sockets.pull;
    return pull && pull->first ? pull->first->due_ns : sim_now_ns();
}

bool sim_senders_are_busy(void)
{
    for (int i = 0; i < CRN_SIM_CONNECTIONS_MAX; i++)
        if (sim_sockets.connections[i].used &&
            (sim_sockets.connections[i].first || sim_sockets.connections[i].is_closing))
            return true;
    return sim_sockets.pull && sim_sockets.pull->first;
}

/* --- the grader ------------------------------------------------------------------------------- */

/* What libzmq's thread has found out by now. */
static void update_grader(void)
{
    int64_t now_ns = sim_now_ns();
    if (sim_sockets.grader.is_broken && !sim_sockets.grader.is_gone &&
        now_ns >= sim_sockets.grader.notice_ns) {
        sim_sockets.grader.is_gone = true;
        post_event(sim_sockets.push, ZMQ_EVENT_DISCONNECTED, sim_sockets.grader.number);
    }
    if (sim_sockets.grader.is_gone && sim_sockets.grader.attached &&
        now_ns >= sim_sockets.grader.notice_ns + DETACH_NS)
        sim_sockets.grader.attached = false;
}

bool sim_grader_has_room(void)
{
    update_grader();
    bool has_room =
        sim_sockets.grader.attached && sim_sockets.grader.held < sim_sockets.grader.capacity;
    sim_sockets.grader.was_full |= !has_room;
    return has_room;
}

/* A thread that notices the end, so that the line is woken by it. */
static void *notice_end(void *unused)
{
    sim_sleep_until(sim_sockets.grader.notice_ns);
    update_grader();
    sim_sleep_until(sim_sockets.grader.notice_ns + DETACH_NS);
    update_grader();
    return unused;
}

void sim_connect_grader(int32_t capacity)
{
    memset(&sim_sockets.grader, 0, sizeof sim_sockets.grader);
    sim_sockets.grader.attached = true;
    sim_sockets.grader.capacity = capacity + sim_sockets.push_high_water;
    sim_sockets.grader.number = sim_sockets.next_number++;
    post_event(sim_sockets.push, ZMQ_EVENT_ACCEPTED, sim_sockets.grader.number);
    post_event(sim_sockets.push, ZMQ_EVENT_HANDSHAKE_SUCCEEDED, sim_sockets.grader.number);
    if (sim_sockets.push)
        sim_sockets.push->is_readable = true;
}

bool sim_grader_is_connected(void)
{
    return sim_sockets.grader.attached;
}

sim_message *sim_grader_read(void)
{
    if (!sim_sockets.grader.first || sim_sockets.grader.first->due_ns > sim_now_ns())
        return NULL;
    sim_sockets.grader.held--;
    /* The writer hears of it, once it had found no room. */
    if (sim_sockets.push && sim_sockets.grader.was_full) {
        sim_sockets.push->is_readable = true;
        sim_sockets.grader.was_full = false;
    }
    return sim_message_take(&sim_sockets.grader.first);
}

static void lose_unread(void)
{
    while (sim_sockets.grader.first) {
        sim_message *message = sim_message_take(&sim_sockets.grader.first);
        sim_sockets.watch.sent_in_vain(message->tag);
        sim_sockets.grader.lost++;
        sim_message_free(message);
    }
}

void sim_break_grader(int64_t notice_ns)
{
    sim_sockets.grader.is_broken = true;
    sim_sockets.grader.notice_ns = notice_ns;
    lose_unread();
    sim_start_detached(notice_end, NULL);
}

uint64_t sim_grader_lost_unnoticed(void)
{
    bool is_unread = !sim_sockets.grader.is_gone || (sim_sockets.push && sim_sockets.push->events &&
                                                     sim_sockets.push->events->first);
    return is_unread ? sim_sockets.grader.lost : 0;
}

void sim_send_to_grader(zmq_msg_t *body)
{
    int64_t tag = sim_sockets.watch.sent(zmq_msg_data(body), zmq_msg_size(body));
    sim_sockets.grader.held++;
    sim_message *message = sim_message_create(tag);
    message->due_ns = sim_now_ns() + crn_random_below(sim_random(), 1000) * CRN_NS_PER_US;
    sim_message_add(message, sim_sockets.push->topic, strlen(sim_sockets.push->topic));
    sim_message_add(message, zmq_msg_data(body), zmq_msg_size(body));
    append(&sim_sockets.grader.first, &sim_sockets.grader.last, message);
    if (sim_sockets.grader.is_broken)
        lose_unread();
}

/* --- viewers ---------------------------------------------------------------------------------- */

void sim_connect_viewer(void)
{
    if (!sim_sockets.xpub || sim_sockets.has_viewer)
        return;
    sim_sockets.has_viewer = true;
    int32_t number = sim_sockets.next_number++;
    post_event(sim_sockets.xpub, ZMQ_EVENT_ACCEPTED, number);
    post_event(sim_sockets.xpub, ZMQ_EVENT_HANDSHAKE_SUCCEEDED, number);
    sim_message *subscription = sim_message_create(0);
    sim_message_add(subscription, "\1", 1);
    sim_socket_put(sim_sockets.xpub, subscription);
}

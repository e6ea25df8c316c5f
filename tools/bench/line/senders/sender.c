#include "tools/bench/line/senders/sender.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include <zmq.h>

#include "src/formats/view/produced_view.h"

/* How often to check that a peer that accepts nothing is still running. */
#define CHECK_MS 200

/* How often to look whether the peer has its socket already. */
#define RETRY_MS 10

/* --- ZeroMQ --- */

static void no_free(void *data, void *hint)
{
    (void)data;
    (void)hint;
}

static void *connect_socket(const crn_peer *peer, void *zmq)
{
    void *socket = zmq_socket(zmq, ZMQ_PUSH);
    int high_water_mark = 4, linger_ms = 10000, one = 1, timeout_ms = CHECK_MS;
    zmq_setsockopt(socket, ZMQ_SNDHWM, &high_water_mark, sizeof high_water_mark);
    zmq_setsockopt(socket, ZMQ_LINGER, &linger_ms, sizeof linger_ms);
    zmq_setsockopt(socket, ZMQ_IMMEDIATE, &one, sizeof one);
    zmq_setsockopt(socket, ZMQ_SNDTIMEO, &timeout_ms, sizeof timeout_ms);
    zmq_connect(socket, peer->in);
    return socket;
}

static int send_message(crn_bench_sender *sender, const crn_view_header *header, const void *maps)
{
    unsigned char bytes[CRN_WIRE_HEADER_BYTES];
    crn_wire_pack(header, bytes);
    while (zmq_send(sender->socket, bytes, sizeof bytes, ZMQ_SNDMORE) < 0)
        if (crn_peer_has_ended(sender->peer))
            return -ECHILD;
    const unsigned char *part = maps;
    size_t sizes[] = {header->payload_bytes, crn_wire_intensity_bytes(header)};
    int parts = header->flags & CRN_WIRE_FLAG_INTENSITY ? 2 : 1;
    for (int i = 0; i < parts; part += sizes[i++]) {
        zmq_msg_t message;
        zmq_msg_init_data(&message, (void *)(uintptr_t)part, sizes[i], no_free, NULL);
        if (zmq_msg_send(&message, sender->socket, i + 1 < parts ? ZMQ_SNDMORE : 0) < 0)
            zmq_msg_close(&message); /* its receiver left; the next view reports it */
    }
    return 0;
}

/* --- slots --- */

static int connect_producer(const crn_peer *peer, uint64_t view_bytes,
                            crn_bench_gpu_sender **ret_gpu, crn_producer **ret_producer)
{
    crn_producer_settings settings = {.path = peer->slots, .view_bytes = view_bytes};
    int r = crn_producer_create(&settings, ret_producer);
    if (r == 0 && peer->slots_on_gpu)
        r = crn_bench_gpu_sender_open(*ret_producer, ret_gpu);
    if (r < 0)
        return r;
    int answer_ms = crn_producer_answer_ms(&settings);
    while ((r = crn_producer_connect(*ret_producer, answer_ms)) == -ENOENT || r == -ECONNREFUSED ||
           r == -ENOTCONN || r == -ETIMEDOUT || r == -EUSERS) {
        if (crn_peer_has_ended(peer))
            return -ECHILD;
        poll(NULL, 0, RETRY_MS);
    }
    return r;
}

/* Sends the header and the reference through ZeroMQ. */
static int send_reference(crn_bench_sender *sender, const crn_producer_view *view,
                          const crn_producer_slot *slot)
{
    unsigned char message[CRN_PRODUCER_MESSAGE_BYTES];
    int r = crn_producer_pack(sender->producer, view, slot, message);
    while (r == 0 && zmq_send(sender->socket, message, CRN_WIRE_HEADER_BYTES, ZMQ_SNDMORE) < 0)
        if (crn_peer_has_ended(sender->peer))
            return -ECHILD;
    if (r == 0)
        zmq_send(sender->socket, message + CRN_WIRE_HEADER_BYTES,
                 sizeof message - CRN_WIRE_HEADER_BYTES, 0);
    return r;
}

static int leave_in_slot(crn_bench_sender *sender, const crn_view_header *header, const void *maps)
{
    crn_producer_view view = crn_produced_view(header);
    crn_producer_slot slot;
    int r;
    while ((r = crn_producer_take(sender->producer, &view, CHECK_MS, &slot)) == -EAGAIN)
        if (crn_peer_has_ended(sender->peer))
            return -ECHILD;
    if (r < 0)
        return r == -ENOTCONN ? -ECHILD : r;
    if (sender->gpu)
        r = crn_bench_gpu_sender_fill(sender->gpu, &slot, maps, header->payload_bytes);
    else
        memcpy(slot.tensor, maps, header->payload_bytes);
    if (r < 0)
        return r;
    if (sender->socket)
        return send_reference(sender, &view, &slot);
    while ((r = crn_producer_send(sender->producer, &view, &slot)) == -EAGAIN)
        if (crn_peer_has_ended(sender->peer))
            return -ECHILD;
    return r == -ENOTCONN ? -ECHILD : r;
}

/* --- all --- */

int crn_bench_sender_open(const crn_peer *peer, void *zmq, uint64_t view_bytes,
                          crn_bench_sender *ret_sender)
{
    *ret_sender = (crn_bench_sender){.peer = peer};
    if (peer->by_iceoryx)
        return crn_iceoryx_writer_open(peer, &ret_sender->iceoryx);
    if (!peer->slots[0] || peer->headers_go_in)
        ret_sender->socket = connect_socket(peer, zmq);
    return peer->slots[0]
               ? connect_producer(peer, view_bytes, &ret_sender->gpu, &ret_sender->producer)
               : 0;
}

int crn_bench_sender_send(crn_bench_sender *sender, const crn_view_header *header, const void *maps)
{
    if (sender->iceoryx)
        return crn_iceoryx_write(sender->iceoryx, header, maps);
    return sender->producer ? leave_in_slot(sender, header, maps)
                            : send_message(sender, header, maps);
}

void crn_bench_sender_close(crn_bench_sender *sender)
{
    crn_iceoryx_writer_close(&sender->iceoryx);
    crn_producer_free(&sender->producer);
    crn_bench_gpu_sender_close(&sender->gpu);
    if (sender->socket)
        zmq_close(sender->socket);
    sender->socket = NULL;
}

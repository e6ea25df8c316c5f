/*
 * The least that a line with slots can cost: `cernita-bench floor LINE.yaml OUT` hands out slots as
 * cernitad does, and runs the same chain on each view where it lies; with a last argument `iceoryx`
 * it reads views from iceoryx's memory instead. There are no fruits,
 * deadlines, verdicts or workers, and only one thread; after a fruit's last view it sends its id.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <zmq.h>

#include "src/formats/view/wire.h"
#include "src/ingest/slots/ring_memory.h"
#include "src/realtime/realtime.h"
#include "stages/backend.h"
#include "stages/base/clock.h"
#include "stages/chain/chain.h"
#include "tools/bench/bench.h"
#include "tools/bench/line/defects.h"
#include "tools/bench/line/senders/iceoryx.h"

typedef struct bench_floor {
    crn_config config;
    int connection; /* the producer's */
    uint32_t slots;
    uint64_t slot_bytes;
    crn_ring_memory ring;
    crn_chain *chain;
    crn_defects defects;
    void *zmq, *out;
} bench_floor;

static volatile sig_atomic_t stop_requested;

static void request_stop(int signal_number)
{
    (void)signal_number;
    stop_requested = 1;
}

static int open_floor(bench_floor *self, const char *config, const char *out)
{
    const char *why;
    if (crn_config_load(config, stderr, &self->config) < 0)
        return -EINVAL;
    crn_config_resolve(&self->config, (int32_t)sysconf(_SC_NPROCESSORS_ONLN));
    crn_realtime_enter(&self->config, CRN_THREAD_WORKER, 0);
    const crn_ops *ops = crn_backend_ops((crn_backend)self->config.run.backend, &why);
    int r = ops ? crn_chain_create(&self->config, ops, &self->chain) : -ENOTSUP;
    if (r == 0)
        r = crn_bench_defects_create(&self->config, &self->defects);
    self->zmq = zmq_ctx_new();
    self->out = zmq_socket(self->zmq, ZMQ_PUSH);
    int zero = 0;
    zmq_setsockopt(self->out, ZMQ_LINGER, &zero, sizeof zero);
    if (r == 0 && zmq_bind(self->out, out) != 0)
        r = -errno;
    return r;
}

/* --- the ring --- */

static int send_answer(const bench_floor *self)
{
    unsigned char bytes[CRN_SLOTS_ANSWER_BYTES];
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof self->ring.descriptor)];
    } control = {0};
    struct iovec vector = {bytes, sizeof bytes};
    struct msghdr message = {.msg_iov = &vector,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    crn_slots_answer answer = {.slots = self->slots, .ring = 1, .slot_bytes = self->slot_bytes};
    crn_slots_pack_answer(&answer, bytes);
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof self->ring.descriptor);
    memcpy(CMSG_DATA(rights), self->ring.descriptor, sizeof self->ring.descriptor);
    return sendmsg(self->connection, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Waits for the producer, and gives it its ring. */
static int await_producer(bench_floor *self)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    unsigned char bytes[CRN_SLOTS_HELLO_BYTES];
    crn_slots_hello hello;
    snprintf(address.sun_path, sizeof address.sun_path, "%.107s", self->config.ingest.slots.path);
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(listener, 1) < 0 ||
        (self->connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) < 0)
        return -errno;
    close(listener);
    ssize_t size = recv(self->connection, bytes, sizeof bytes, 0);
    if (size < 0 || !crn_slots_parse_hello(bytes, (size_t)size, &hello))
        return -EPROTO;
    self->slots = (uint32_t)self->config.ingest.slots.slots;
    self->slot_bytes = crn_slots_round_up(hello.slot_bytes, CRN_SLOTS_PAGE_BYTES);
    int r = crn_ring_memory_create(CRN_SLOTS_MEMFD, self->slots, self->slot_bytes, &self->ring);
    return r < 0 ? r : send_answer(self);
}

static void give_back(bench_floor *self, const crn_slots_reference *reference)
{
    unsigned char byte = CRN_SLOTS_WAKE;
    atomic_store_explicit(&self->ring.states[reference->slot],
                          crn_slots_word(reference->generation + 1, CRN_SLOTS_FREE),
                          memory_order_release);
    if (send(self->connection, &byte, sizeof byte, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return; /* it has many unread, and needs no more */
}

static void close_floor(bench_floor *self)
{
    if (self->connection >= 0)
        close(self->connection);
    crn_ring_memory_free(&self->ring);
    crn_chain_free(&self->chain);
    crn_bench_defects_free(&self->defects);
    if (self->out)
        zmq_close(self->out);
    if (self->zmq)
        zmq_ctx_term(self->zmq);
    crn_config_done(&self->config);
}

/* --- views --- */

/* Runs the chain on a view; a crn_iceoryx_judge. */
static int judge(void *context, const crn_view_header *header, const void *maps)
{
    bench_floor *self = context;
    crn_judgement judgement;
    crn_chain_input input = {.maps =
                                 crn_image_dense((void *)(uintptr_t)maps, header->type,
                                                 header->layout, (int32_t)header->channels,
                                                 (int32_t)header->height, (int32_t)header->width),
                             .received_ns = crn_now_ns(),
                             .deadline_ns = CRN_NEVER_NS};
    int r = crn_chain_run(self->chain, &input, &self->defects, &judgement);
    if (r == 0 && header->view + 1 == header->views) {
        zmq_send(self->out, "fruit/0", 7, ZMQ_SNDMORE);
        zmq_send(self->out, &header->fruit, sizeof header->fruit, 0);
    }
    return r;
}

/* Judges the next view where it lies, and gives its slot back. 0: there is none any more. */
static int judge_next(bench_floor *self)
{
    unsigned char bytes[CRN_WIRE_HEADER_BYTES + CRN_SLOTS_REFERENCE_BYTES];
    crn_view_header header;
    crn_slots_reference reference;
    if (recv(self->connection, bytes, sizeof bytes, 0) != sizeof bytes)
        return 0;
    crn_wire_peek(bytes, &header); /* unchecked: the benchmark's own */
    if (!crn_slots_parse_reference(bytes + CRN_WIRE_HEADER_BYTES, CRN_SLOTS_REFERENCE_BYTES,
                                   &reference) ||
        reference.slot >= self->slots || header.payload_bytes > self->slot_bytes)
        return -EPROTO;
    int r = judge(self, &header, self->ring.slots + reference.slot * self->slot_bytes);
    give_back(self, &reference);
    return r < 0 ? r : 1;
}

int crn_bench_floor(int argc, char **argv)
{
    bool by_iceoryx = argc == 4 && strcmp(argv[3], "iceoryx") == 0;
    if (argc != 3 && !by_iceoryx)
        return CRN_EXIT_USAGE;
    struct sigaction stop = {.sa_handler = request_stop};
    sigaction(SIGTERM, &stop, NULL);
    static bench_floor self = {.connection = -1, .ring = {.descriptor = {-1, -1}}};
    int r = open_floor(&self, argv[1], argv[2]);
    if (r == 0 && by_iceoryx)
        r = crn_iceoryx_read(judge, &self, &stop_requested);
    else if (r == 0)
        r = await_producer(&self);
    if (r == 0 && !by_iceoryx)
        do
            r = judge_next(&self);
        while (r > 0 && !stop_requested);
    close_floor(&self);
    return r < 0 && r != -EINTR ? CRN_EXIT_FAILED : 0;
}

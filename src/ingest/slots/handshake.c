/*
 * The thread that accepts producers: hello and answer, the memory of their rings. It takes tens of
 * milliseconds to make a ring, which the line's thread does not have.
 */
#include "src/ingest/slots/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "src/ingest/slots/answer.h"
#include "stages/base/clock.h"
#include "stages/base/process/thread.h"

/* Above the writers' value: a producer waits for its ring, and no view does. */
#define NICE 10

/* Connections whose hello has not come; one more closes the oldest. */
#define WAITING_MAX 16

/* How long a hello may take. */
#define HELLO_NS (1 * CRN_NS_PER_S)

/* How long nothing is accepted after a failure, say for want of descriptors. */
#define PAUSE_NS (100 * CRN_NS_PER_MS)

typedef struct waiting_hello {
    int descriptor; /* -1: none */
    int64_t since_ns;
    struct ucred peer;
} waiting_hello;

struct crn_handshakes {
    crn_slots *slots;
    crn_listener listener;
    int wake_descriptor; /* readable: stop was set, or a ring was left */
    atomic_bool stop;
    pthread_t thread;
    bool started;
    int64_t pause_ns; /* nothing is accepted until then */
    waiting_hello waiting[WAITING_MAX];
    crn_log_gate refused_gate;
};

static void notify(int descriptor)
{
    uint64_t one = 1;
    /* The counter cannot overflow, so the write cannot fail. */
    if (write(descriptor, &one, sizeof one) < 0)
        return;
}

void crn_handshakes_wake(crn_handshakes *handshakes)
{
    notify(handshakes->wake_descriptor);
}

/* --- rings --- */

static bool keeps_memory(const crn_slots *slots)
{
    return atomic_load_explicit(&slots->keeps_memory, memory_order_relaxed);
}

/* The producer may keep its mapping for as long as it likes, and make rings again and again. */
static void discard_pages(const crn_ring_memory *memory)
{
    int r = crn_ring_memory_discard(memory);
    if (r < 0)
        crn_log(CRN_LOG_WARNING,
                "ingest: %zu MiB of a ring stay in memory while the producer that left maps them: "
                "%s",
                memory->slots_bytes >> 20, strerror(-r));
}

/* Forgets the memory of a ring, which a lost device may still use: it stays until the process ends.
 */
static void leave_ring(crn_slots_ring *ring)
{
    crn_ring_gpu_memory_leave(&ring->on_gpu);
    crn_ring_memory_leave(&ring->memory);
    ring->is_pinned = false;
}

/* Frees the memory of a ring that nobody uses, unless a lost device may read it. `is_left`: nor
 * does its producer any more. */
static void free_ring(crn_slots *slots, crn_slots_ring *ring, bool is_left)
{
    bool is_lost =
        ring->on_gpu.slots.memory && atomic_load(&slots->devices.gpus.of[ring->gpu].is_lost);
    if ((ring->is_for_devices && keeps_memory(slots)) || is_lost) {
        leave_ring(ring);
        return;
    }
    crn_ring_gpu_memory_free(slots->devices.gpu, &ring->on_gpu);
    if (ring->is_pinned)
        slots->devices.unpin(ring->memory.slots);
    if (is_left)
        discard_pages(&ring->memory);
    crn_ring_memory_free(&ring->memory);
    ring->is_pinned = false;
}

static void free_left_rings(crn_slots *slots)
{
    for (uint32_t i = 0; i < slots->rings; i++) {
        crn_slots_ring *ring = &slots->ring[i];
        if (atomic_load_explicit(&ring->phase, memory_order_acquire) != CRN_RING_LEFT)
            continue;
        free_ring(slots, ring, true);
        atomic_store_explicit(&ring->phase, CRN_RING_FREE, memory_order_release);
    }
}

static crn_slots_ring *find_free_ring(crn_slots *slots)
{
    free_left_rings(slots);
    for (uint32_t i = 0; i < slots->rings; i++)
        if (atomic_load_explicit(&slots->ring[i].phase, memory_order_relaxed) == CRN_RING_FREE)
            return &slots->ring[i];
    return NULL;
}

/* A name that no other ring has, and that nobody guesses. */
static uint64_t choose_name(const crn_slots *slots)
{
    for (;;) {
        uint64_t name = 0;
        bool taken = getrandom(&name, sizeof name, 0) != sizeof name || name == 0;
        for (uint32_t i = 0; i < slots->rings && !taken; i++)
            taken = slots->ring[i].name == name;
        if (!taken)
            return name;
    }
}

/* Lets devices read the ring directly; without that they copy it first. */
static void pin(crn_slots *slots, crn_slots_ring *ring)
{
    ring->is_for_devices = slots->devices.pin && !keeps_memory(slots);
    if (!ring->is_for_devices)
        return;
    int r = slots->devices.pin(slots->devices.first, ring->memory.slots, ring->memory.slots_bytes);
    ring->is_pinned = r == 0;
    if (r < 0)
        crn_log(CRN_LOG_WARNING,
                "ingest: cannot pin a producer's ring of %zu MiB for the GPU: %s; its uploads take "
                "longer",
                ring->memory.slots_bytes >> 20, strerror(-r));
}

/* Makes the slots on a GPU, whose descriptor the answer then carries, and their events. */
static int make_on_gpu(crn_slots *slots, crn_slots_ring *ring, const crn_slots_decision *decision)
{
    const crn_slots_answer *answer = &decision->answer;
    unsigned char *page = (unsigned char *)ring->memory.states;
    ring->gpu = decision->gpu;
    int r = crn_ring_gpu_memory_create(
        slots->devices.gpu, slots->devices.gpus.of[decision->gpu].number, answer->slots,
        answer->slot_bytes, page + crn_slots_signals_at(answer->slots), &ring->on_gpu);
    if (r < 0)
        return r;
    close(ring->memory.descriptor[0]);
    ring->memory.descriptor[0] = ring->on_gpu.slots.descriptor;
    return 0;
}

/* Refuses the ring, which failed by this negative errno, on the GPU or in host memory. */
static void refuse_ring(crn_slots_answer *answer, int r, bool is_on_gpu)
{
    uint64_t mib = answer->slots * answer->slot_bytes >> 20;
    if (r == -ENOMEM)
        crn_slots_refuse(answer, ENOMEM, "no memory%s for a ring of %" PRIu64 " MiB",
                         is_on_gpu ? " on the GPU" : "", mib);
    else
        crn_slots_refuse(answer, -r, "%s a ring: %s",
                         is_on_gpu ? "the GPU refuses" : "the line cannot make", strerror(-r));
}

/* Makes the ring that the answer grants; the answer refuses it if that fails. *ret_second: another
 * descriptor of the connection. */
static void make_ring(crn_slots *slots, const waiting_hello *from, crn_slots_ring *ring,
                      crn_slots_decision *decision, int *ret_second)
{
    crn_slots_answer *answer = &decision->answer;
    bool is_on_gpu = false;
    *ret_second = dup(from->descriptor);
    int r = *ret_second < 0 ? -errno
                            : crn_ring_memory_create((crn_slots_kind)decision->kind, answer->slots,
                                                     answer->slot_bytes, &ring->memory);
    if (r == 0 && decision->kind == CRN_SLOTS_VMM) {
        is_on_gpu = true;
        r = make_on_gpu(slots, ring, decision);
        if (r < 0)
            crn_ring_memory_free(&ring->memory);
    }
    if (r < 0) {
        if (*ret_second >= 0)
            close(*ret_second);
        refuse_ring(answer, r, is_on_gpu);
        return;
    }
    pin(slots, ring);
    ring->name = answer->ring = choose_name(slots);
    ring->slots = answer->slots;
    ring->slot_bytes = answer->slot_bytes;
    ring->producer = from->peer;
    ring->connection = from->descriptor;
}

/* --- answers --- */

static int send_answer(int descriptor, const crn_slots_answer *answer, const int *descriptors)
{
    unsigned char bytes[CRN_SLOTS_ANSWER_BYTES];
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(CRN_SLOTS_DESCRIPTORS * sizeof(int))];
    } control = {0};
    struct iovec vector = {bytes, sizeof bytes};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    crn_slots_pack_answer(answer, bytes);
    if (descriptors) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(CRN_SLOTS_DESCRIPTORS * sizeof(int));
        memcpy(CMSG_DATA(rights), descriptors, CRN_SLOTS_DESCRIPTORS * sizeof(int));
    }
    return sendmsg(descriptor, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static void refuse(crn_handshakes *self, waiting_hello *from, const crn_slots_answer *answer)
{
    atomic_fetch_add_explicit(&self->slots->refused, 1, memory_order_relaxed);
    crn_log_gated(&self->refused_gate, crn_now_ns(), CRN_LOG_WARNING,
                  "ingest: refused a producer of slots (process %ld of user %ld): %s",
                  (long)from->peer.pid, (long)from->peer.uid, answer->text);
    send_answer(from->descriptor, answer, NULL);
    close(from->descriptor);
    from->descriptor = -1;
}

/* True if the producer has hung up, say because the ring took longer than it waits. */
static bool has_left(const waiting_hello *from)
{
    char byte;
    return recv(from->descriptor, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* Hands the ring to the line's thread, then answers: so the line knows it before any header can
 * come. From the offer on the connection is the line's, which may close it at any time; the answer
 * goes by its second descriptor. */
static void offer(crn_slots *slots, waiting_hello *from, crn_slots_ring *ring,
                  const crn_slots_answer *answer, int second)
{
    int descriptors[] = {ring->memory.descriptor[0], ring->memory.descriptor[1]};
    ring->memory.descriptor[0] = ring->memory.descriptor[1] = -1;
    from->descriptor = -1;
    atomic_store_explicit(&ring->phase, CRN_RING_OFFERED, memory_order_release);
    atomic_fetch_add_explicit(&slots->offers, 1, memory_order_release);
    notify(slots->offer_descriptor);
    send_answer(second, answer, descriptors);
    close(second);
    close(descriptors[0]);
    close(descriptors[1]);
}

static void answer_hello(crn_handshakes *self, waiting_hello *from)
{
    unsigned char bytes[CRN_SLOTS_HELLO_BYTES + 1];
    ssize_t size = recv(from->descriptor, bytes, sizeof bytes, MSG_DONTWAIT);
    if (size < 0 && errno == EAGAIN)
        return;
    if (size <= 0) {
        close(from->descriptor);
        from->descriptor = -1;
        return;
    }
    crn_slots_decision decision;
    crn_slots_answer *answer = &decision.answer;
    crn_slots_decide(self->slots->config, &self->slots->devices.gpus, bytes, (size_t)size,
                     &decision);
    crn_slots_ring *ring = answer->status == 0 ? find_free_ring(self->slots) : NULL;
    if (answer->status == 0 && !ring)
        crn_slots_refuse(answer, EUSERS,
                         "all %" PRIu32 " rings are in use (ingest.slots.producers)",
                         self->slots->rings);
    int second = -1;
    if (ring)
        make_ring(self->slots, from, ring, &decision, &second);
    if (answer->status) {
        refuse(self, from, answer);
    } else if (has_left(from)) { /* else its ring would count until latency.assemble_ms later */
        free_ring(self->slots, ring, false);
        close(second);
        close(from->descriptor);
        from->descriptor = -1;
    } else {
        offer(self->slots, from, ring, answer, second);
    }
}

/* --- connections --- */

/* Hangs up on a connection whose hello has not come. One may have come, in time, while another
 * one's ring was made. */
static void give_up(crn_handshakes *self, waiting_hello *one)
{
    answer_hello(self, one);
    if (one->descriptor >= 0)
        close(one->descriptor);
    one->descriptor = -1;
}

static waiting_hello *find_place(crn_handshakes *self)
{
    waiting_hello *oldest = &self->waiting[0];
    for (int i = 0; i < WAITING_MAX; i++) {
        waiting_hello *one = &self->waiting[i];
        if (one->descriptor < 0)
            return one;
        if (one->since_ns < oldest->since_ns)
            oldest = one;
    }
    give_up(self, oldest);
    return oldest;
}

static void accept_one(crn_handshakes *self)
{
    int descriptor = accept4(self->listener.descriptor, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor < 0) {
        if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
            self->pause_ns = crn_now_ns() + PAUSE_NS;
        return;
    }
    waiting_hello *place = find_place(self);
    socklen_t size = sizeof place->peer;
    *place = (waiting_hello){.descriptor = descriptor, .since_ns = crn_now_ns()};
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &place->peer, &size) < 0)
        place->peer = (struct ucred){.pid = 0};
}

static void drop_slow(crn_handshakes *self, int64_t now_ns)
{
    for (int i = 0; i < WAITING_MAX; i++) {
        waiting_hello *one = &self->waiting[i];
        if (one->descriptor >= 0 && now_ns - one->since_ns > HELLO_NS)
            give_up(self, one);
    }
}

static void wait_for_work(crn_handshakes *self)
{
    struct pollfd polled[2 + WAITING_MAX];
    bool is_paused = crn_now_ns() < self->pause_ns, waits = is_paused;
    polled[0] = (struct pollfd){.fd = self->wake_descriptor, .events = POLLIN};
    polled[1] = (struct pollfd){.fd = is_paused ? -1 : self->listener.descriptor, .events = POLLIN};
    for (int i = 0; i < WAITING_MAX; i++) {
        polled[2 + i] = (struct pollfd){.fd = self->waiting[i].descriptor, .events = POLLIN};
        waits |= self->waiting[i].descriptor >= 0;
    }
    if (poll(polled, 2 + WAITING_MAX, waits ? (int)(PAUSE_NS / CRN_NS_PER_MS) : -1) < 0)
        return;
    for (int i = 0; i < WAITING_MAX; i++)
        if (self->waiting[i].descriptor >= 0 && polled[2 + i].revents)
            answer_hello(self, &self->waiting[i]);
    if (polled[1].revents)
        accept_one(self);
}

static void *run(void *argument)
{
    crn_handshakes *self = argument;
    pthread_setname_np(pthread_self(), "slots");
    setpriority(PRIO_PROCESS, 0, NICE);
    while (!atomic_load(&self->stop)) {
        uint64_t count;
        wait_for_work(self);
        if (read(self->wake_descriptor, &count, sizeof count) > 0)
            free_left_rings(self->slots);
        drop_slow(self, crn_now_ns());
    }
    for (uint32_t i = 0; i < self->slots->rings; i++) {
        crn_slots_ring *ring = &self->slots->ring[i];
        if (keeps_memory(self->slots)) /* also for a device that was lost as the line ended */
            leave_ring(ring);
        else
            free_ring(self->slots, ring, false); /* it may connect and send them again */
    }
    return NULL;
}

/* --- open and close --- */

int crn_handshakes_open(crn_slots *slots, crn_error *error)
{
    const char *path = slots->config->ingest.slots.path;
    crn_handshakes *self = calloc(1, sizeof *self);
    if (!self)
        return crn_error_set(error, -ENOMEM, "ingest.slots: out of memory");
    slots->handshakes = self;
    self->slots = slots;
    self->listener.descriptor = -1;
    for (int i = 0; i < WAITING_MAX; i++)
        self->waiting[i].descriptor = -1;
    self->wake_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int r = self->wake_descriptor < 0 ? -errno : 0;
    if (r < 0)
        return crn_error_set(error, r, "ingest.slots: cannot start: %s", strerror(-r));
    r = crn_listener_open("ingest.slots.path", path, &self->listener, error);
    if (r < 0)
        return r;
    r = crn_thread_start(&self->thread, run, self);
    self->started = r == 0;
    if (r < 0)
        return crn_error_set(error, r, "ingest.slots: cannot start its thread: %s", strerror(-r));
    crn_log(CRN_LOG_INFO, "ingest: programs of this machine find slots at %s", path);
    return 0;
}

void crn_handshakes_close(crn_handshakes **handshakes)
{
    crn_handshakes *self = *handshakes;
    if (!self)
        return;
    if (self->started) {
        atomic_store(&self->stop, true);
        notify(self->wake_descriptor);
        pthread_join(self->thread, NULL);
    }
    for (int i = 0; i < WAITING_MAX; i++)
        if (self->waiting[i].descriptor >= 0)
            close(self->waiting[i].descriptor);
    crn_listener_close(&self->listener);
    if (self->wake_descriptor >= 0)
        close(self->wake_descriptor);
    free(self);
    *handshakes = NULL;
}

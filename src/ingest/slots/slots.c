/* Start and end of the slots; producers that come and leave, as the line's thread sees it. */
#include "src/ingest/slots/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "src/ingest/slots/answer.h"
#include "stages/base/clock.h"

/* How often rings and slots are looked at that only time sets free. */
#define SERVICE_NS (100 * CRN_NS_PER_MS)

/* A slot that the page of states calls sent for so long without a header: the header is lost. */
#define LOST_NS (10 * CRN_NS_PER_S)

size_t crn_slots_bytes(const crn_config *config)
{
    if (!config->ingest.slots.path[0])
        return 0;
    uint32_t slots = (uint32_t)config->ingest.slots.slots;
    uint64_t ring = slots * crn_slots_slot_bytes_max(config) + CRN_RING_MEMORY_TAIL +
                    crn_slots_page_bytes(CRN_SLOTS_VMM, slots) +
                    slots * (sizeof(crn_view) + sizeof(crn_slot_entry));
    return (size_t)((uint64_t)config->ingest.slots.producers * ring);
}

/* --- open and close --- */

static int allocate_rings(crn_slots *slots)
{
    slots->ring = calloc(slots->rings, sizeof *slots->ring);
    if (!slots->ring)
        return -ENOMEM;
    for (uint32_t i = 0; i < slots->rings; i++) { /* all: crn_slots_close looks at them */
        slots->ring[i].memory = CRN_RING_MEMORY_EMPTY;
        slots->ring[i].connection = -1;
    }
    for (uint32_t i = 0; i < slots->rings; i++) {
        crn_slots_ring *ring = &slots->ring[i];
        ring->book = calloc(slots->slots_of_ring, sizeof *ring->book);
        ring->views = calloc(slots->slots_of_ring, sizeof *ring->views);
        if (!ring->book || !ring->views)
            return -ENOMEM;
        for (uint32_t slot = 0; slot < slots->slots_of_ring; slot++) {
            ring->views[slot].slot = slots->first_slot + i * slots->slots_of_ring + slot;
            ring->views[slot].in_ring = true;
        }
    }
    return 0;
}

static int open_descriptors(crn_slots *slots)
{
    slots->poll_descriptor = epoll_create1(EPOLL_CLOEXEC);
    slots->offer_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN};
    bool opened =
        slots->poll_descriptor >= 0 && slots->offer_descriptor >= 0 &&
        epoll_ctl(slots->poll_descriptor, EPOLL_CTL_ADD, slots->offer_descriptor, &event) == 0;
    return opened ? 0 : -errno;
}

static void prepare_batch(crn_slots *slots)
{
    for (int i = 0; i < CRN_SLOTS_BATCH; i++) {
        slots->batch.vector[i] =
            (struct iovec){slots->batch.bytes[i], sizeof slots->batch.bytes[i]};
        slots->batch.message[i].msg_hdr =
            (struct msghdr){.msg_iov = &slots->batch.vector[i], .msg_iovlen = 1};
    }
}

int crn_slots_open(const crn_config *config, uint32_t first_slot, const crn_slots_devices *devices,
                   crn_slots **ret_slots, crn_error *error)
{
    if (!config->ingest.slots.path[0]) {
        *ret_slots = NULL;
        return 0;
    }
    crn_slots *slots = calloc(1, sizeof *slots);
    if (!slots)
        return crn_error_set(error, -ENOMEM, "ingest.slots: out of memory");
    slots->config = config;
    slots->first_slot = first_slot;
    slots->rings = (uint32_t)config->ingest.slots.producers;
    slots->slots_of_ring = (uint32_t)config->ingest.slots.slots;
    slots->devices = *devices;
    slots->poll_descriptor = slots->offer_descriptor = -1;
    prepare_batch(slots);
    int r = allocate_rings(slots);
    if (r == 0)
        r = open_descriptors(slots);
    if (r < 0)
        crn_error_set(error, r, "ingest.slots: cannot start: %s", strerror(-r));
    if (r == 0)
        r = crn_handshakes_open(slots, error);
    if (r < 0)
        crn_slots_close(&slots);
    else
        *ret_slots = slots;
    return r;
}

void crn_slots_close(crn_slots **slots)
{
    crn_slots *closing = *slots;
    if (!closing)
        return;
    crn_handshakes_close(&closing->handshakes);
    for (uint32_t i = 0; closing->ring && i < closing->rings; i++) {
        crn_slots_ring *ring = &closing->ring[i];
        if (ring->connection >= 0)
            close(ring->connection);
        free(ring->book);
        free(ring->views);
    }
    free(closing->ring);
    if (closing->poll_descriptor >= 0)
        close(closing->poll_descriptor);
    if (closing->offer_descriptor >= 0)
        close(closing->offer_descriptor);
    free(closing);
    *slots = NULL;
}

int crn_slots_descriptor(const crn_slots *slots)
{
    return slots ? slots->poll_descriptor : -1;
}

void crn_slots_keep(crn_slots *slots)
{
    if (slots)
        atomic_store_explicit(&slots->keeps_memory, true, memory_order_relaxed);
}

crn_slots_stats crn_slots_get_stats(const crn_slots *slots)
{
    if (!slots)
        return (crn_slots_stats){0};
    crn_slots_stats stats = slots->stats;
    stats.producers_refused = atomic_load_explicit(&slots->refused, memory_order_relaxed);
    return stats;
}

/* --- producers --- */

/* The line's thread begins to use a ring: all of its slots are free. */
static void begin_ring(crn_slots *slots, crn_slots_ring *ring)
{
    ring->in_use = 0;
    ring->owes_wake = false;
    ring->left_ns = 0;
    memset(ring->book, 0, slots->slots_of_ring * sizeof *ring->book);
    unsigned char *on_gpu = ring->on_gpu.slots.memory;
    for (uint32_t slot = 0; slot < ring->slots; slot++) {
        crn_view *view = &ring->views[slot];
        view->maps = ring->memory.slots + slot * ring->slot_bytes;
        view->gpu =
            (crn_view_on_gpu){.maps = on_gpu ? on_gpu + slot * ring->slot_bytes : NULL,
                              .signal = on_gpu ? ring->on_gpu.signals[slot] : NULL,
                              .device = on_gpu ? slots->devices.gpus.of[ring->gpu].number : -1};
    }
    atomic_store_explicit(&ring->phase, CRN_RING_IN_USE, memory_order_relaxed);
    slots->stats.producers++;
    crn_log_gated(&slots->joined_gate, crn_now_ns(), CRN_LOG_INFO,
                  "ingest: a producer connected: process %ld of user %ld, %" PRIu32
                  " slots of %" PRIu64 " KiB%s",
                  (long)ring->producer.pid, (long)ring->producer.uid, ring->slots,
                  ring->slot_bytes >> 10, on_gpu ? " in the memory of its GPU (vmm)" : "");
}

/* The producer has left; its views that wait are judged. */
static void hang_up(crn_slots *slots, crn_slots_ring *ring)
{
    /* Closing does not suffice where another process has a copy of the descriptor. */
    epoll_ctl(slots->poll_descriptor, EPOLL_CTL_DEL, ring->connection, NULL);
    close(ring->connection);
    ring->connection = -1;
    ring->left_ns = crn_now_ns();
    slots->stats.left++;
    crn_log_gated(&slots->left_gate, ring->left_ns, CRN_LOG_INFO,
                  "ingest: a producer left: process %ld of user %ld; %" PRIu32
                  " of its views are still judged",
                  (long)ring->producer.pid, (long)ring->producer.uid, ring->in_use);
}

void crn_slots_lose(crn_slots *slots, int32_t device)
{
    for (int32_t i = 0; slots && i < slots->devices.gpus.count; i++)
        if (slots->devices.gpus.of[i].number == device)
            atomic_store(&slots->devices.gpus.of[i].is_lost, true);
    for (uint32_t i = 0; slots && i < slots->rings; i++) {
        crn_slots_ring *ring = &slots->ring[i];
        if (crn_slots_is_in_use(ring) && ring->connection >= 0 && ring->on_gpu.slots.memory &&
            ring->on_gpu.slots.device == device)
            hang_up(slots, ring);
    }
}

void crn_slots_accept_offers(crn_slots *slots)
{
    uint32_t offers = atomic_load_explicit(&slots->offers, memory_order_acquire);
    if (offers == slots->offers_seen)
        return;
    slots->offers_seen = offers;
    for (uint32_t i = 0; i < slots->rings; i++) {
        crn_slots_ring *ring = &slots->ring[i];
        if (atomic_load_explicit(&ring->phase, memory_order_acquire) != CRN_RING_OFFERED)
            continue;
        begin_ring(slots, ring);
        struct epoll_event event = {.events = EPOLLIN};
        if (epoll_ctl(slots->poll_descriptor, EPOLL_CTL_ADD, ring->connection, &event) < 0)
            hang_up(slots, ring);
    }
}

/* Reads a batch of this connection's packets. */
static void read_batch(crn_slots *slots, uint32_t number)
{
    crn_slots_ring *ring = &slots->ring[number];
    int count;
    do /* A producer that left with wakes unread is reported first, and its packets come then. */
        count =
            recvmmsg(ring->connection, slots->batch.message, CRN_SLOTS_BATCH, MSG_DONTWAIT, NULL);
    while (count < 0 && (errno == EINTR || errno == ECONNRESET));
    slots->batch.ring = number;
    slots->batch.next = slots->batch.count = 0;
    if (count < 0) {
        if (errno != EAGAIN)
            hang_up(slots, ring);
        return;
    }
    while (slots->batch.count < (uint32_t)count &&
           slots->batch.message[slots->batch.count].msg_len > 0)
        slots->batch.count++;
    if (slots->batch.count < (uint32_t)count)
        hang_up(slots, ring); /* an empty packet is the end */
}

bool crn_slots_receive(crn_slots *slots, crn_slots_packet *ret_packet)
{
    if (!slots)
        return false;
    crn_slots_accept_offers(slots);
    for (uint32_t i = 0; !crn_slots_pending(slots); i++) {
        if (i == slots->rings)
            return false;
        uint32_t number = slots->turn;
        slots->turn = (number + 1) % slots->rings;
        if (crn_slots_is_in_use(&slots->ring[number]) && slots->ring[number].connection >= 0)
            read_batch(slots, number);
    }
    uint32_t at = slots->batch.next++;
    *ret_packet = (crn_slots_packet){slots->batch.bytes[at], slots->batch.message[at].msg_len,
                                     slots->batch.ring};
    return true;
}

void crn_slots_write_producer(const crn_slots *slots, uint32_t ring, char *text, size_t size)
{
    const struct ucred *producer = &slots->ring[ring].producer;
    snprintf(text, size, "process %ld of user %ld", (long)producer->pid, (long)producer->uid);
}

crn_slots_kind crn_slots_kind_of(const crn_slots *slots, uint32_t ring)
{
    bool is_on_gpu = ring != CRN_SLOTS_ANY_RING && slots->ring[ring].on_gpu.slots.memory;
    return is_on_gpu ? CRN_SLOTS_VMM : CRN_SLOTS_MEMFD;
}

bool crn_slots_pending(const crn_slots *slots)
{
    return slots && slots->batch.next < slots->batch.count;
}

/* --- what time sets free --- */

bool crn_slots_is_over(const crn_slots *slots, const crn_slots_ring *ring, int64_t now_ns)
{
    return ring->left_ns &&
           now_ns - ring->left_ns > slots->config->latency.assemble_ms * CRN_NS_PER_MS;
}

/* Takes the slots back whose header was sent, as the page says, and never came. */
static void take_lost_back(crn_slots *slots, crn_slots_ring *ring, int64_t now_ns)
{
    for (uint32_t i = 0; i < ring->slots; i++) {
        crn_slot_entry *entry = &ring->book[i];
        uint64_t word = atomic_load_explicit(&ring->memory.states[i], memory_order_relaxed);
        if (entry->in_use || word != crn_slots_word(entry->generation, CRN_SLOTS_SENT))
            entry->awaiting_ns = 0;
        else if (entry->awaiting_ns == 0)
            entry->awaiting_ns = now_ns;
        else if (now_ns - entry->awaiting_ns > LOST_NS && crn_slots_take_back(ring, i)) {
            slots->stats.slots_taken_back++;
            crn_log_gated(&slots->lost_gate, now_ns, CRN_LOG_WARNING,
                          "ingest: a slot of process %ld was sent, and its header did not come "
                          "within %d s: taken back",
                          (long)ring->producer.pid, (int)(LOST_NS / CRN_NS_PER_S));
        }
    }
}

/* What is due with time. */
static void look_after_rings(crn_slots *slots, int64_t now_ns)
{
    for (uint32_t i = 0; i < slots->rings; i++) {
        crn_slots_ring *ring = &slots->ring[i];
        if (!crn_slots_is_in_use(ring))
            continue;
        take_lost_back(slots, ring, now_ns);
        bool is_read = crn_slots_pending(slots) && slots->batch.ring == i;
        if (ring->in_use > 0 || is_read || !crn_slots_is_over(slots, ring, now_ns))
            continue;
        atomic_store_explicit(&ring->phase, CRN_RING_LEFT, memory_order_release);
        crn_handshakes_wake(slots->handshakes);
    }
}

void crn_slots_service(crn_slots *slots, int64_t now_ns)
{
    uint64_t count;
    if (!slots)
        return;
    /* Whoever offers a ring counts it before the descriptor is readable. */
    crn_slots_accept_offers(slots);
    if (slots->offers_read != slots->offers_seen &&
        read(slots->offer_descriptor, &count, sizeof count) > 0)
        slots->offers_read += (uint32_t)count;
    if (now_ns >= slots->service_ns) {
        slots->service_ns = now_ns + SERVICE_NS;
        look_after_rings(slots, now_ns);
    }
    crn_slots_wake_producers(slots); /* also of slots that were just taken back */
}

/* Shared by the files of this folder only. */
#ifndef CRN_SRC_INGEST_SLOTS_INTERNAL_H
#define CRN_SRC_INGEST_SLOTS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "src/ingest/slots/gpu_memory.h"
#include "src/ingest/slots/ring_memory.h"
#include "src/ingest/slots/slots.h"
#include "src/service/listener.h"
#include "stages/base/log.h"

#define CRN_SLOTS_PACKET_BYTES (CRN_WIRE_HEADER_BYTES + CRN_SLOTS_REFERENCE_BYTES)

/* Packets read by one system call. */
#define CRN_SLOTS_BATCH 16

/* Whose a ring is. */
enum {
    CRN_RING_FREE,    /* the handshakes' thread's: there is no memory */
    CRN_RING_OFFERED, /* made; the line's thread has not looked at it yet */
    CRN_RING_IN_USE,  /* the line's thread's */
    CRN_RING_LEFT     /* the handshakes' thread's: nobody uses it, its memory is to be freed */
};

/* What the line knows of a slot. */
typedef struct crn_slot_entry {
    uint64_t generation;
    bool in_use;         /* holds a view */
    int64_t awaiting_ns; /* since when the page says that its header was sent; 0: it does not */
} crn_slot_entry;

typedef struct crn_slots_ring {
    atomic_int phase;
    /* Of who made it, and then constant: */
    uint64_t name;
    uint32_t slots;
    uint64_t slot_bytes;
    crn_ring_memory memory;
    crn_ring_gpu_memory on_gpu;
    int32_t gpu;         /* if it has that: index in crn_slots_gpus */
    bool is_for_devices; /* they may read it */
    bool is_pinned;      /* directly */
    struct ucred producer;
    /* The line's thread's: */
    int connection;       /* -1: the producer has left */
    int64_t left_ns;      /* when it did */
    uint32_t in_use;      /* slots */
    bool owes_wake;       /* slots became free since the producer was last told */
    crn_slot_entry *book; /* of ingest.slots.slots slots, as the views */
    crn_view *views;
} crn_slots_ring;

/* The handshakes' thread: what it alone knows (handshake.c). */
typedef struct crn_handshakes crn_handshakes;

struct crn_slots {
    const crn_config *config;
    uint32_t first_slot;
    uint32_t rings;         /* ingest.slots.producers */
    uint32_t slots_of_ring; /* ingest.slots.slots: at most */
    crn_slots_ring *ring;
    crn_slots_devices devices;
    atomic_bool keeps_memory;

    /* The line's thread's: */
    int poll_descriptor;  /* epoll: the next one, and all connections */
    int offer_descriptor; /* readable: a ring was offered */
    uint32_t offers_seen;
    uint32_t offers_read; /* of the descriptor */
    uint32_t turn;        /* ring to read from next */
    int64_t service_ns;
    struct {
        uint32_t ring, next, count;
        unsigned char bytes[CRN_SLOTS_BATCH][CRN_SLOTS_PACKET_BYTES + 1];
        struct iovec vector[CRN_SLOTS_BATCH];
        struct mmsghdr message[CRN_SLOTS_BATCH];
    } batch;
    crn_slots_stats stats;
    crn_log_gate joined_gate, left_gate, lost_gate;

    /* Of both: */
    atomic_uint offers; /* rings offered so far */
    _Atomic uint64_t refused;
    crn_handshakes *handshakes;
};

static inline bool crn_slots_is_in_use(const crn_slots_ring *ring)
{
    return atomic_load_explicit(&ring->phase, memory_order_relaxed) == CRN_RING_IN_USE;
}

/* Begins to use the rings that were offered. */
void crn_slots_accept_offers(crn_slots *slots);

/* True once no header can refer to the ring any more: its producer left latency.assemble_ms ago. */
bool crn_slots_is_over(const crn_slots *slots, const crn_slots_ring *ring, int64_t now_ns);

/* Makes the slot the producer's again, one generation later; the next service tells it. */
void crn_slots_free_slot(crn_slots_ring *ring, uint32_t slot);

/* The same of a slot that waits for its header. False: the producer has changed its mind, since its
 * send failed, and goes on with the slot. */
bool crn_slots_take_back(crn_slots_ring *ring, uint32_t slot);

/* Tells producers that slots became free, by one byte whatever their number. */
void crn_slots_wake_producers(crn_slots *slots);

/* Starts the thread that accepts producers. Returns 0 or a negative errno with *error. */
int crn_handshakes_open(crn_slots *slots, crn_error *error);

/* Ends the thread, which frees all rings before; NULL is allowed. */
void crn_handshakes_close(crn_handshakes **handshakes);

/* A ring has become LEFT. From the line's thread. */
void crn_handshakes_wake(crn_handshakes *handshakes);

#endif

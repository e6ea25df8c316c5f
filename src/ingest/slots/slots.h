/*
 * Rings of slots in which programs of this machine leave their views: no copy, no socket for the
 * maps (src/formats/slots/slots.h has the bytes, README.md the protocol).
 *
 * A thread of its own accepts connections, makes and frees the memory of rings, and answers; it
 * hands each ring to the line's thread and gets it back when nobody uses it any more. All functions
 * below are the line's thread's; none of them waits, allocates or locks, but for open and close.
 *
 * The line's own book says which slot holds a view, and of which generation it is. What a producer
 * can write, its maps and the page of states, is never used as more than values: it may change at
 * any time.
 */
#ifndef CRN_SRC_INGEST_SLOTS_SLOTS_H
#define CRN_SRC_INGEST_SLOTS_SLOTS_H

#include <stdatomic.h>

#include "gpu/gpu.h"
#include "src/counts/counts.h"
#include "src/ingest/view.h"
#include "stages/base/error.h"
#include "stages/config/config.h"

typedef struct crn_slots crn_slots;

typedef struct crn_slots_stats {
    CRN_SLOTS_COUNTS(CRN_COUNT_MEMBER)
    uint64_t left; /* of `producers`, those that disconnected */
} crn_slots_stats;

/* The GPUs that have rings in their memory. */
typedef struct crn_slots_gpus {
    int32_t count;
    struct {
        int32_t number;
        unsigned char uuid[16];
        atomic_bool is_lost; /* set by the line's thread, read by the handshakes' */
    } of[CRN_NUMBERS_MAX];
} crn_slots_gpus;

/* What devices need, which read rings directly; NULL members: there are none. */
typedef struct crn_slots_devices {
    int32_t first;                                          /* number of one that is used */
    int (*pin)(int32_t device, void *memory, size_t bytes); /* 0 or a negative errno */
    void (*unpin)(void *memory);
    const crn_gpu *gpu; /* makes rings in the memory of `gpus` */
    crn_slots_gpus gpus;
} crn_slots_devices;

/*
 * Listens at config->ingest.slots.path and starts the thread. `config` must outlive the slots.
 * `first_slot`: the number of the first view of a ring (crn_view.slot); they go on from there. With
 * an empty path *ret_slots is NULL, which the functions below take for slots without any ring.
 * Returns 0 or a negative errno with the path and a hint in *error.
 */
int crn_slots_open(const crn_config *config, uint32_t first_slot, const crn_slots_devices *devices,
                   crn_slots **ret_slots, crn_error *error);

/* Disconnects all producers, frees the rings, but for those to keep, and sets *slots to NULL; NULL
 * is allowed. No view may be in use any more. */
void crn_slots_close(crn_slots **slots);

/* A packet of a producer: at most the header and a reference, and a byte more if it was longer. */
typedef struct crn_slots_packet {
    const unsigned char *bytes; /* valid until the next receive */
    size_t size;
    uint32_t ring; /* whose connection it came by, for crn_slots_take */
} crn_slots_packet;

#define CRN_SLOTS_ANY_RING UINT32_MAX

/* Reads the next packet without waiting; false if there is none. */
bool crn_slots_receive(crn_slots *slots, crn_slots_packet *ret_packet);

/* Names the producer of that ring, for messages. */
void crn_slots_write_producer(const crn_slots *slots, uint32_t ring, char *text, size_t size);

/* Where the memory of the ring is whose connection a packet came by; memfd of any ring. */
crn_slots_kind crn_slots_kind_of(const crn_slots *slots, uint32_t ring);

/* True if another receive may return a packet although the descriptor is not readable. */
bool crn_slots_pending(const crn_slots *slots);

/* Readable while a packet can be read, or a ring is new; -1 without slots. */
int crn_slots_descriptor(const crn_slots *slots);

/*
 * Takes the slot of a view whose message is valid, once. `ring`: that of the packet, or
 * CRN_SLOTS_ANY_RING if the message came otherwise. `header` NULL: its size does not matter.
 * Returns CRN_WIRE_OK with the view, whose maps and intensity are set, and which is the caller's
 * until crn_slots_release; or what is wrong with the reference. Of these SLOT_SIZE frees the slot
 * for the producer, the others leave the book as it is.
 */
crn_wire_fault crn_slots_take(crn_slots *slots, uint32_t ring, const crn_view_header *header,
                              const crn_slots_reference *reference, crn_view **ret_view);

/* Nobody reads the view any more: its slot is the producer's again, which the next service tells
 * it. */
void crn_slots_release(crn_slots *slots, crn_view *view);

/* The view with that number (crn_view.slot). */
crn_view *crn_slots_at(crn_slots *slots, uint32_t slot);

/* True if the view, which has ended, may keep its slot for now: at most a quarter of its ring then
 * holds views. No slot is taken back from it for one that arrives. */
bool crn_slots_may_hold(const crn_slots *slots, const crn_view *view);

/* Looks for new producers, tells those whose slots became free, and looks for what is due with
 * time: rings of producers that have left, slots whose header never came. Call it before waiting
 * for the descriptor. */
void crn_slots_service(crn_slots *slots, int64_t now_ns);

/* A device is lost, and may still read the rings that it saw: their memory stays until the process
 * ends. Those made from now on are not shown to devices. */
void crn_slots_keep(crn_slots *slots);

/* The device of that number is lost: producers whose rings are in its memory are disconnected, and
 * get no other there. */
void crn_slots_lose(crn_slots *slots, int32_t device);

crn_slots_stats crn_slots_get_stats(const crn_slots *slots);

/* Bytes that all rings of a line with these settings may take together. */
size_t crn_slots_bytes(const crn_config *config);

#endif

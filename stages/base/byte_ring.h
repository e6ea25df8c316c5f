/*
 * Bounded lock-free queue of byte blocks of any size, from one producer to one consumer thread,
 * which waits for them. The producer never waits, locks or allocates: a block that does not fit is
 * refused.
 *
 * A block never wraps around: the rest at the ring's end is skipped.
 */
#ifndef CRN_STAGES_BASE_BYTE_RING_H
#define CRN_STAGES_BASE_BYTE_RING_H

#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "stages/base/api.h"

typedef struct crn_byte_ring {
    unsigned char *bytes;
    uint64_t size, guard_bytes;
    uint64_t reserved;                  /* of the producer: `filled` after the next push */
    uint64_t popped;                    /* of the consumer: `freed` after the next pop */
    atomic_uint_fast64_t filled, freed; /* bytes since the start; filled - freed are in use */
    sem_t entries;                      /* posted once per block, and once at the end */
} crn_byte_ring;

/* Reserves at least `size` bytes, populated at once, so that no page fault occurs later. 0 or
 * -ENOMEM; crn_byte_ring_done is needed in either case. */
CRN_API int crn_byte_ring_init(crn_byte_ring *ring, uint64_t size);
CRN_API void crn_byte_ring_done(crn_byte_ring *ring);

/* Producer: room for one block, aligned to 16 bytes, or NULL if the ring is too full for it. */
CRN_API void *crn_byte_ring_reserve(crn_byte_ring *ring, size_t bytes);

/* Producer: passes on the block that was reserved last. */
CRN_API void crn_byte_ring_push(crn_byte_ring *ring);

/* Producer: nothing follows. */
CRN_API void crn_byte_ring_end(crn_byte_ring *ring);

/* Consumer: waits for the next block, which is its own until it calls pop; NULL at the end. */
CRN_API void *crn_byte_ring_wait(crn_byte_ring *ring);
CRN_API void crn_byte_ring_pop(crn_byte_ring *ring);

#endif

/**
 * @file
 * Bounded lock-free queue of byte blocks of any size, from one producer to one consumer thread,
 * which waits for them. The producer never waits, locks or allocates: a block that does not fit is
 * refused. A block never wraps around: the rest at the ring's end is skipped.
 */
#ifndef CRN_STAGES_BASE_BYTE_RING_H
#define CRN_STAGES_BASE_BYTE_RING_H

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stages/base/api.h"

/** Alignment of an entry: a block takes a multiple of it, and one more for its head at most. */
#define CRN_BYTE_RING_ALIGN 64

/** A ring and its memory. */
typedef struct crn_byte_ring {
    unsigned char *bytes;
    uint64_t size, guard_bytes;
    uint64_t reserved;                  /**< the producer's: `filled` after the next push */
    uint64_t popped;                    /**< the consumer's: `freed` after the next pop */
    atomic_uint_fast64_t filled, freed; /**< bytes since the start; filled - freed are in use */
    sem_t entries;                      /**< posted once per block, and once at the end */
} crn_byte_ring;

/**
 * Allocates an empty ring, populated at once, so that no page fault occurs later.
 * crn_byte_ring_done() is needed in either case.
 *
 * @param size in bytes; rounded up to whole pages
 * @return 0 or -ENOMEM
 */
CRN_API int crn_byte_ring_init(crn_byte_ring *ring, uint64_t size);

/** Frees the ring's memory. */
CRN_API void crn_byte_ring_done(crn_byte_ring *ring);

/**
 * Reserves room for one block. Called by the producer.
 *
 * @return the block, aligned to 16 bytes, or NULL if the ring is too full for it
 */
CRN_API void *crn_byte_ring_reserve(crn_byte_ring *ring, size_t bytes);

/** Hands the block that the producer reserved last to the consumer. */
CRN_API void crn_byte_ring_push(crn_byte_ring *ring);

/** Tells the consumer that no block follows. Called by the producer. */
CRN_API void crn_byte_ring_end(crn_byte_ring *ring);

/**
 * Waits for the next block until a time on CLOCK_MONOTONIC. Called by the consumer.
 *
 * @param ret_ended set to true at the end, else to false
 * @return the block, valid until crn_byte_ring_pop(), or NULL at that time and at the end
 */
CRN_API void *crn_byte_ring_wait_until(crn_byte_ring *ring, int64_t until_ns, bool *ret_ended);

/**
 * The next block, for a consumer that does not wait.
 *
 * @return the block, valid until crn_byte_ring_pop(), or NULL if none is there
 */
CRN_API void *crn_byte_ring_poll(crn_byte_ring *ring);

/** Frees the block that the consumer got last. */
CRN_API void crn_byte_ring_pop(crn_byte_ring *ring);

#endif

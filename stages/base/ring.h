/**
 * @file
 * Bounded lock-free queue between one producer and one consumer; no allocation after creation.
 * Pushing to a full ring fails; the producer decides what to do then.
 */
#ifndef CRN_STAGES_BASE_RING_H
#define CRN_STAGES_BASE_RING_H

#include <stdatomic.h>
#include <stdint.h>

#include "stages/base/api.h"

/** A ring and its memory. The two counters are on separate cache lines, to avoid false sharing. */
typedef struct crn_ring {
    void **items;
    uint32_t mask; /**< capacity - 1, capacity a power of two */
    _Alignas(64) atomic_uint pushed;
    _Alignas(64) atomic_uint popped;
} crn_ring;

/**
 * Allocates an empty ring; crn_ring_done() frees its memory.
 *
 * @param capacity in items; rounded up to a power of two
 * @return 0, -EINVAL or -ENOMEM
 */
CRN_API int crn_ring_init(crn_ring *ring, uint32_t capacity);

/** Frees the ring's memory, not the items. */
CRN_API void crn_ring_done(crn_ring *ring);

/**
 * Appends an item, for the producer.
 *
 * @return 0, or -EAGAIN when full
 */
CRN_API int crn_ring_push(crn_ring *ring, void *item);

/**
 * Removes the oldest item, for the consumer.
 *
 * @return the item, or NULL when empty
 */
CRN_API void *crn_ring_pop(crn_ring *ring);

#endif

/* Bounded lock-free queue between one producer and one consumer; no allocation after creation.
 * Pushing to a full ring fails; the producer decides what to do then. */
#ifndef CRN_STAGES_BASE_RING_H
#define CRN_STAGES_BASE_RING_H

#include <stdatomic.h>
#include <stdint.h>

#include "stages/base/api.h"

/* The two counters are on separate cache lines, to avoid false sharing. */
typedef struct crn_ring {
    void **items;
    uint32_t mask; /* capacity - 1, capacity a power of two */
    _Alignas(64) atomic_uint pushed;
    _Alignas(64) atomic_uint popped;
} crn_ring;

/* Capacity is rounded up to a power of two. 0, -EINVAL, -ENOMEM. */
CRN_API int crn_ring_init(crn_ring *ring, uint32_t capacity);
CRN_API void crn_ring_done(crn_ring *ring);

/* 0, or -EAGAIN when full. */
CRN_API int crn_ring_push(crn_ring *ring, void *item);

/* The oldest item, or NULL when empty. */
CRN_API void *crn_ring_pop(crn_ring *ring);

#endif

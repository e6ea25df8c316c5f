/*
 * A bounded queue between exactly two threads, one that pushes and one that pops; no locks, no
 * memory after creation. A full ring refuses: what to do then is the pusher's business.
 */
#ifndef CRN_STAGES_BASE_RING_H
#define CRN_STAGES_BASE_RING_H

#include <stdatomic.h>
#include <stdint.h>

/* The two ends live on cache lines of their own, so that pushing does not slow popping. */
typedef struct crn_ring {
    void **items;
    uint32_t mask; /* capacity - 1, capacity a power of two */
    _Alignas(64) atomic_uint pushed;
    _Alignas(64) atomic_uint popped;
} crn_ring;

/* Capacity is rounded up to a power of two. 0, -EINVAL, -ENOMEM. */
int crn_ring_init(crn_ring *ring, uint32_t capacity);
void crn_ring_done(crn_ring *ring);

/* 0, or -EAGAIN when full. */
int crn_ring_push(crn_ring *ring, void *item);

/* The oldest item, or NULL when empty. */
void *crn_ring_pop(crn_ring *ring);

#endif

#include "stages/base/ring.h"

#include <errno.h>
#include <stdlib.h>

int crn_ring_init(crn_ring *ring, uint32_t capacity)
{
    if (capacity == 0 || capacity > UINT32_C(1) << 30)
        return -EINVAL;
    uint32_t size = 1;
    while (size < capacity)
        size *= 2;
    void **items = calloc(size, sizeof *items);
    if (!items)
        return -ENOMEM;
    ring->items = items;
    ring->mask = size - 1;
    atomic_init(&ring->pushed, 0);
    atomic_init(&ring->popped, 0);
    return 0;
}

void crn_ring_done(crn_ring *ring)
{
    free(ring->items);
    ring->items = NULL;
}

int crn_ring_push(crn_ring *ring, void *item)
{
    uint32_t pushed = atomic_load_explicit(&ring->pushed, memory_order_relaxed);
    uint32_t popped = atomic_load_explicit(&ring->popped, memory_order_acquire);
    if (pushed - popped > ring->mask)
        return -EAGAIN;
    ring->items[pushed & ring->mask] = item;
    atomic_store_explicit(&ring->pushed, pushed + 1, memory_order_release);
    return 0;
}

void *crn_ring_pop(crn_ring *ring)
{
    uint32_t popped = atomic_load_explicit(&ring->popped, memory_order_relaxed);
    uint32_t pushed = atomic_load_explicit(&ring->pushed, memory_order_acquire);
    if (popped == pushed)
        return NULL;
    void *item = ring->items[popped & ring->mask];
    atomic_store_explicit(&ring->popped, popped + 1, memory_order_release);
    return item;
}

#include "stages/base/byte_ring.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stages/base/clock.h"

#define ALIGN_BYTES CRN_BYTE_RING_ALIGN /* divides the ring's size */

/* Precedes each block. */
typedef struct entry {
    _Alignas(16) uint64_t bytes; /* size of the whole entry; 0: continue at the ring's start */
} entry;

int crn_byte_ring_init(crn_byte_ring *ring, uint64_t size)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    *ring = (crn_byte_ring){.size = (size + page - 1) / page * page, .guard_bytes = page};
    sem_init(&ring->entries, 0, 0);
    void *bytes = mmap(NULL, ring->size + page, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (bytes == MAP_FAILED)
        return -ENOMEM;
    ring->bytes = bytes;
    mprotect(ring->bytes + ring->size, page, PROT_NONE);
    return 0;
}

void crn_byte_ring_done(crn_byte_ring *ring)
{
    if (ring->bytes)
        munmap(ring->bytes, ring->size + ring->guard_bytes);
    ring->bytes = NULL;
    sem_destroy(&ring->entries);
}

void *crn_byte_ring_reserve(crn_byte_ring *ring, size_t bytes)
{
    if (bytes > ring->size)
        return NULL;
    uint64_t needed = (sizeof(entry) + bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    uint64_t filled = atomic_load_explicit(&ring->filled, memory_order_relaxed);
    uint64_t used = filled - atomic_load_explicit(&ring->freed, memory_order_acquire);
    uint64_t to_end = ring->size - filled % ring->size;
    uint64_t skipped = needed > to_end ? to_end : 0;
    if (used + skipped + needed > ring->size)
        return NULL;
    if (skipped) {
        ((entry *)(ring->bytes + filled % ring->size))->bytes = 0;
        filled += skipped;
    }
    entry *at = (entry *)(ring->bytes + filled % ring->size);
    at->bytes = needed;
    ring->reserved = filled + needed;
    return at + 1;
}

void crn_byte_ring_push(crn_byte_ring *ring)
{
    atomic_store_explicit(&ring->filled, ring->reserved, memory_order_release);
    sem_post(&ring->entries);
}

void crn_byte_ring_end(crn_byte_ring *ring)
{
    sem_post(&ring->entries);
}

/* The next block after a post, or NULL: a post without a block means the end. */
static void *next_block(crn_byte_ring *ring)
{
    uint64_t freed = atomic_load_explicit(&ring->freed, memory_order_relaxed);
    if (freed == atomic_load_explicit(&ring->filled, memory_order_acquire))
        return NULL;
    entry *at = (entry *)(ring->bytes + freed % ring->size);
    if (!at->bytes) {
        freed += ring->size - freed % ring->size;
        at = (entry *)ring->bytes;
    }
    ring->popped = freed + at->bytes;
    return at + 1;
}

void *crn_byte_ring_wait_until(crn_byte_ring *ring, int64_t until_ns, bool *ret_ended)
{
    *ret_ended = false;
    if (crn_sem_wait_until(&ring->entries, until_ns) < 0)
        return NULL;
    void *block = next_block(ring);
    *ret_ended = !block;
    return block;
}

void *crn_byte_ring_poll(crn_byte_ring *ring)
{
    return sem_trywait(&ring->entries) == 0 ? next_block(ring) : NULL;
}

void crn_byte_ring_pop(crn_byte_ring *ring)
{
    atomic_store_explicit(&ring->freed, ring->popped, memory_order_release);
}

#include "src/ingest/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct crn_pool {
    struct crn_pool *next_abandoned;
    uint32_t slots;      /* the reserve included */
    uint32_t free_slots; /* of these */
    uint32_t reserve;    /* of these, free for what is still to be set aside */
    size_t slot_bytes;   /* whole pages */
    unsigned char *memory;
    crn_view *views;
    uint32_t *stack; /* indices of the free slots; LIFO, because the last one released is warm in
                        the cache */
};

int crn_pool_create(uint32_t slots, uint32_t reserve, size_t bytes, crn_pool **ret_pool)
{
    if (slots == 0 || bytes == 0)
        return -EINVAL;
    slots += reserve;
    crn_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return -ENOMEM;
    pool->slots = pool->free_slots = slots;
    pool->reserve = reserve;
    pool->slot_bytes = (bytes + 64 + 4095) / 4096 * 4096;
    pool->views = calloc(slots, sizeof *pool->views);
    pool->stack = calloc(slots, sizeof *pool->stack);
    void *memory = mmap(NULL, slots * pool->slot_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    pool->memory = memory == MAP_FAILED ? NULL : memory;
    if (!pool->views || !pool->stack || !pool->memory) {
        crn_pool_free(&pool);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < slots; i++) {
        pool->views[i].slot = i;
        pool->views[i].maps = pool->memory + i * pool->slot_bytes;
        pool->stack[i] = slots - 1 - i;
    }
    *ret_pool = pool;
    return 0;
}

void crn_pool_free(crn_pool **pool)
{
    if (!*pool)
        return;
    if ((*pool)->memory)
        munmap((*pool)->memory, (*pool)->slots * (*pool)->slot_bytes);
    free((*pool)->views);
    free((*pool)->stack);
    free(*pool);
    *pool = NULL;
}

/* Keeps leaked pools reachable, so that leak checkers do not report them. */
static crn_pool *_Atomic abandoned;

void crn_pool_abandon(crn_pool **pool)
{
    if (!*pool)
        return;
    (*pool)->next_abandoned = atomic_exchange(&abandoned, *pool);
    *pool = NULL;
}

void *crn_pool_memory(const crn_pool *pool, size_t *ret_bytes)
{
    *ret_bytes = pool->slots * pool->slot_bytes;
    return pool->memory;
}

crn_view *crn_pool_acquire(crn_pool *pool)
{
    if (crn_pool_free_slots(pool) == 0)
        return NULL;
    return &pool->views[pool->stack[--pool->free_slots]];
}

void crn_pool_release(crn_pool *pool, crn_view *view)
{
    pool->reserve += view->set_aside;
    view->set_aside = false;
    pool->stack[pool->free_slots++] = view->slot;
}

bool crn_pool_set_aside(crn_pool *pool, crn_view *view)
{
    if (view->set_aside)
        return true;
    if (pool->reserve == 0)
        return false;
    pool->reserve--;
    view->set_aside = true;
    return true;
}

crn_view *crn_pool_copy_aside(crn_pool *pool, const crn_view *view)
{
    if (pool->reserve == 0)
        return NULL;
    crn_view *copy = &pool->views[pool->stack[--pool->free_slots]];
    pool->reserve--;
    copy->set_aside = true;
    copy->ticket = view->ticket;
    copy->config = view->config;
    copy->header = view->header;
    copy->epoch = view->epoch;
    copy->values = view->values;
    copy->received_ns = view->received_ns;
    copy->deadline_ns = view->deadline_ns;
    copy->keep_maps = copy->record_maps = copy->is_lent = copy->is_left = false;
    copy->intensity = view->intensity ? copy->maps + view->header.payload_bytes : NULL;
    memcpy(copy->maps, view->maps, view->header.payload_bytes);
    if (copy->intensity)
        memcpy(copy->intensity, view->intensity, crn_wire_intensity_bytes(&view->header));
    return copy;
}

uint32_t crn_pool_count(const crn_pool *pool)
{
    return pool->slots;
}

crn_view *crn_pool_at(crn_pool *pool, uint32_t slot)
{
    return &pool->views[slot];
}

uint32_t crn_pool_free_slots(const crn_pool *pool)
{
    return pool->free_slots - pool->reserve;
}

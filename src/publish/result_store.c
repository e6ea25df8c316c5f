#include "src/publish/result_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BLOCK_BYTES 4096

struct crn_result_store {
    unsigned char *blocks;
    /* Next block of the same view, or of the free list; CRN_RESULT_NONE ends both. Apart from the
     * blocks, because words at the start of pages compete for a few lines of the cache. */
    uint32_t *next;
    uint32_t count;
    uint32_t fresh;     /* blocks from here on were never used, so their memory is untouched */
    uint32_t free_head; /* head of the free list; LIFO, the last one freed is warm in the cache */
    uint32_t used;
};

int crn_result_store_create(size_t bytes, crn_result_store **ret_store)
{
    size_t count = bytes / BLOCK_BYTES + (bytes % BLOCK_BYTES != 0);
    if (count == 0 || count >= CRN_RESULT_NONE)
        return -EINVAL;
    crn_result_store *store = calloc(1, sizeof *store);
    if (!store)
        return -ENOMEM;
    store->count = (uint32_t)count;
    store->free_head = CRN_RESULT_NONE;
    store->next = calloc(count, sizeof *store->next);
    store->blocks = mmap(NULL, count * BLOCK_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (store->blocks == MAP_FAILED)
        store->blocks = NULL;
    if (!store->blocks || !store->next) {
        crn_result_store_free(&store);
        return -ENOMEM;
    }
    *ret_store = store;
    return 0;
}

void crn_result_store_free(crn_result_store **store)
{
    if (!store || !*store)
        return;
    if ((*store)->blocks)
        munmap((*store)->blocks, (size_t)(*store)->count * BLOCK_BYTES);
    free((*store)->next);
    free(*store);
    *store = NULL;
}

static unsigned char *block_at(const crn_result_store *store, uint32_t index)
{
    return store->blocks + (size_t)index * BLOCK_BYTES;
}

static uint32_t acquire_block(crn_result_store *store)
{
    uint32_t index = store->free_head;
    if (index != CRN_RESULT_NONE)
        store->free_head = store->next[index];
    else
        index = store->fresh++;
    store->used++;
    return index;
}

/* Takes `count` linked blocks, which the caller has checked to be free. */
static uint32_t acquire_chain(crn_result_store *store, size_t count)
{
    uint32_t first = CRN_RESULT_NONE;
    for (size_t i = 0; i < count; i++) {
        uint32_t index = acquire_block(store);
        store->next[index] = first;
        first = index;
    }
    return first;
}

/* Copies a part in at the position, and moves that on. */
static void write_part(crn_result_store *store, uint32_t *at, size_t *offset,
                       const crn_result_part *part)
{
    const unsigned char *from = part->bytes;
    size_t left = part->size;
    while (left > 0) {
        if (*offset == BLOCK_BYTES) {
            *at = store->next[*at];
            *offset = 0;
        }
        size_t room = BLOCK_BYTES - *offset;
        size_t piece = left < room ? left : room;
        memcpy(block_at(store, *at) + *offset, from, piece);
        *offset += piece;
        from += piece;
        left -= piece;
    }
}

int crn_result_store_put(crn_result_store *store, const crn_result_part *parts, int count,
                         uint32_t *ret_handle)
{
    size_t bytes = 0;
    for (int i = 0; i < count; i++)
        bytes += parts[i].size;
    size_t blocks = bytes / BLOCK_BYTES + (bytes % BLOCK_BYTES != 0 || bytes == 0);
    if (blocks > crn_result_store_blocks_free(store))
        return -ENOBUFS;
    uint32_t first = acquire_chain(store, blocks);
    uint32_t at = first;
    size_t offset = 0;
    for (int i = 0; i < count; i++)
        write_part(store, &at, &offset, &parts[i]);
    *ret_handle = first;
    return 0;
}

crn_result_reader crn_result_store_open(const crn_result_store *store, uint32_t handle)
{
    return (crn_result_reader){.store = store, .block = handle};
}

void crn_result_read(crn_result_reader *reader, void *to, size_t size)
{
    unsigned char *at = to;
    while (size > 0) {
        if (reader->offset == BLOCK_BYTES) {
            reader->block = reader->store->next[reader->block];
            reader->offset = 0;
        }
        size_t room = BLOCK_BYTES - reader->offset;
        size_t piece = size < room ? size : room;
        if (at) {
            memcpy(at, block_at(reader->store, reader->block) + reader->offset, piece);
            at += piece;
        }
        reader->offset += piece;
        size -= piece;
    }
}

void crn_result_store_release(crn_result_store *store, uint32_t handle)
{
    while (handle != CRN_RESULT_NONE) {
        uint32_t next = store->next[handle];
        store->next[handle] = store->free_head;
        store->free_head = handle;
        store->used--;
        handle = next;
    }
}

size_t crn_result_store_blocks_free(const crn_result_store *store)
{
    return store->count - store->used;
}

size_t crn_result_store_used_bytes(const crn_result_store *store)
{
    return (size_t)store->used * BLOCK_BYTES;
}

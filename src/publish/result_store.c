#include "src/publish/result_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BLOCK_BYTES 4096

/* A view's results are a byte stream over its blocks: this preamble, the
 * defects, the points, the textures. */
typedef struct preamble {
    uint32_t defect_count, point_count, texture_count;
    bool truncated;
} preamble;

typedef struct block {
    uint32_t next; /* next block of the same view, or of the free list; CRN_RESULT_NONE ends both */
    unsigned char bytes[BLOCK_BYTES - sizeof(uint32_t)];
} block;

_Static_assert(sizeof(block) == BLOCK_BYTES, "blocks are whole pages");

struct crn_result_store {
    block *blocks;
    uint32_t count;
    uint32_t fresh;     /* blocks from here on were never used, so their memory is untouched */
    uint32_t free_head; /* head of the free list; LIFO, the last one freed is warm in the cache */
    uint32_t used;
};

/* Read or write position within a view's blocks. */
typedef struct store_position {
    block *at;
    size_t offset;
} store_position;

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
    store->blocks = mmap(NULL, count * BLOCK_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (store->blocks == MAP_FAILED) {
        store->blocks = NULL;
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
    free(*store);
    *store = NULL;
}

static uint32_t acquire_block(crn_result_store *store)
{
    uint32_t index = store->free_head;
    if (index != CRN_RESULT_NONE)
        store->free_head = store->blocks[index].next;
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
        store->blocks[index].next = first;
        first = index;
    }
    return first;
}

/* Copies `size` bytes between memory and a view's blocks: into them, or out of them with `out`. */
static void move(const crn_result_store *store, store_position *cursor, void *memory, size_t size,
                 bool out)
{
    unsigned char *bytes = memory;
    while (size > 0) {
        if (cursor->offset == sizeof cursor->at->bytes) {
            cursor->at = &store->blocks[cursor->at->next];
            cursor->offset = 0;
        }
        size_t room = sizeof cursor->at->bytes - cursor->offset;
        size_t part = size < room ? size : room;
        unsigned char *inside = cursor->at->bytes + cursor->offset;
        memcpy(out ? bytes : inside, out ? inside : bytes, part);
        cursor->offset += part;
        bytes += part;
        size -= part;
    }
}

int crn_result_store_put(crn_result_store *store, const crn_defects *defects, uint32_t *ret_handle)
{
    if (defects->defect_count == 0 && !defects->truncated) {
        *ret_handle = CRN_RESULT_NONE;
        return 0;
    }
    preamble head = {defects->defect_count, defects->point_count, defects->texture_count,
                     defects->truncated};
    size_t defect_bytes = (size_t)head.defect_count * sizeof *defects->defects;
    size_t point_bytes = (size_t)head.point_count * 2 * sizeof *defects->xy;
    size_t texture_bytes = (size_t)head.texture_count * sizeof *defects->textures;
    size_t bytes = sizeof head + defect_bytes + point_bytes + texture_bytes;
    size_t payload = sizeof store->blocks->bytes;
    size_t blocks = (bytes + payload - 1) / payload;
    if (blocks > crn_result_store_blocks_free(store))
        return -ENOBUFS;
    uint32_t first = acquire_chain(store, blocks);
    store_position cursor = {&store->blocks[first], 0};
    move(store, &cursor, &head, sizeof head, false);
    move(store, &cursor, defects->defects, defect_bytes, false);
    move(store, &cursor, defects->xy, point_bytes, false);
    move(store, &cursor, defects->textures, texture_bytes, false);
    *ret_handle = first;
    return 0;
}

void crn_result_store_read(const crn_result_store *store, uint32_t handle, crn_defects *into)
{
    into->defect_count = 0;
    into->point_count = 0;
    into->texture_count = 0;
    into->truncated = false;
    if (handle == CRN_RESULT_NONE)
        return;
    preamble head;
    store_position cursor = {&store->blocks[handle], 0};
    move(store, &cursor, &head, sizeof head, true);
    into->truncated = head.truncated;
    if (head.defect_count > into->defect_capacity || head.point_count > into->point_capacity ||
        head.texture_count > into->texture_capacity) {
        into->truncated = true;
        return;
    }
    into->defect_count = head.defect_count;
    into->point_count = head.point_count;
    into->texture_count = head.texture_count;
    move(store, &cursor, into->defects, head.defect_count * sizeof *into->defects, true);
    move(store, &cursor, into->xy, (size_t)head.point_count * 2 * sizeof *into->xy, true);
    move(store, &cursor, into->textures, head.texture_count * sizeof *into->textures, true);
}

void crn_result_store_release(crn_result_store *store, uint32_t handle)
{
    while (handle != CRN_RESULT_NONE) {
        uint32_t next = store->blocks[handle].next;
        store->blocks[handle].next = store->free_head;
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

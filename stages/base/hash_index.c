#include "stages/base/hash_index.h"

#include <errno.h>
#include <stdlib.h>

static uint32_t size_for(uint32_t entries)
{
    uint32_t size = 4;
    while (size < 2 * entries)
        size *= 2;
    return size;
}

size_t crn_hash_index_bytes(uint32_t entries)
{
    return size_for(entries) * sizeof(uint32_t);
}

int crn_hash_index_init(crn_hash_index *index, uint32_t entries)
{
    uint32_t size = size_for(entries);
    index->mask = size - 1;
    index->numbers = calloc(size, sizeof *index->numbers);
    return index->numbers ? 0 : -ENOMEM;
}

void crn_hash_index_done(crn_hash_index *index)
{
    free(index->numbers);
    index->numbers = NULL;
}

void crn_hash_index_add(crn_hash_index *index, uint32_t hash, uint32_t number)
{
    while (crn_hash_index_at(index, hash) != CRN_HASH_INDEX_NONE)
        hash++;
    index->numbers[hash & index->mask] = number + 1;
}

/* By backward-shift deletion: no position is left empty between an entry and its hash. */
void crn_hash_index_remove(crn_hash_index *index, uint32_t number, crn_hash_index_hash *hash_of,
                           const void *owner)
{
    uint32_t gap = hash_of(owner, number), other;
    while (crn_hash_index_at(index, gap) != number)
        gap++;
    for (uint32_t at = gap + 1; (other = crn_hash_index_at(index, at)) != CRN_HASH_INDEX_NONE;
         at++) {
        uint32_t distance = (at - hash_of(owner, other)) & index->mask;
        if (distance < ((at - gap) & index->mask))
            continue;
        index->numbers[gap & index->mask] = other + 1;
        gap = at;
    }
    index->numbers[gap & index->mask] = 0;
}

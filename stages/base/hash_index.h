/* Finds the entries of an owner's table by a hash of their keys: open addressing with linear
 * probing, of twice the entries at least. The owner keeps the keys, numbered entry by entry. */
#ifndef CRN_STAGES_BASE_HASH_INDEX_H
#define CRN_STAGES_BASE_HASH_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "stages/base/api.h"

#define CRN_HASH_INDEX_NONE UINT32_MAX

/* Reserved by init, freed by done; zeroed before. */
typedef struct crn_hash_index {
    uint32_t mask;
    uint32_t *numbers; /* of the entry, + 1; 0 is empty */
} crn_hash_index;

/* Memory of an index for so many entries. */
CRN_API size_t crn_hash_index_bytes(uint32_t entries);

/* Returns 0 or -ENOMEM. */
CRN_API int crn_hash_index_init(crn_hash_index *index, uint32_t entries);
CRN_API void crn_hash_index_done(crn_hash_index *index);

/* Number at a position; CRN_HASH_INDEX_NONE: empty. An entry lies at its hash or, behind others
 * without a gap, at one of the positions that follow. */
static inline uint32_t crn_hash_index_at(const crn_hash_index *index, uint32_t position)
{
    return index->numbers[position & index->mask] - 1;
}

CRN_API void crn_hash_index_add(crn_hash_index *index, uint32_t hash, uint32_t number);

/* The hash of an entry, the same as when it was added. */
typedef uint32_t crn_hash_index_hash(const void *owner, uint32_t number);

/* Removes an entry that the index has. */
CRN_API void crn_hash_index_remove(crn_hash_index *index, uint32_t number,
                                   crn_hash_index_hash *hash_of, const void *owner);

#endif

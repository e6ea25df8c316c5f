/*
 * Result store: results of judged views, as bytes, kept until their fruit is published, in a fixed
 * number of equal blocks, linked per view, so that a view with three defects takes little and one
 * with thousands fits too. Used by one thread.
 */
#ifndef CRN_SRC_PUBLISH_RESULT_STORE_H
#define CRN_SRC_PUBLISH_RESULT_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "stages/base/api.h"
#include "stages/chain/judgement.h"

CRN_C_BEGIN

typedef struct crn_result_store crn_result_store;

/* Reserves at least `bytes`; untouched blocks use no memory. Returns 0, -EINVAL or -ENOMEM. */
int crn_result_store_create(size_t bytes, crn_result_store **ret_store);
void crn_result_store_free(crn_result_store **store);

/* A piece of a result. */
typedef struct crn_result_part {
    const void *bytes; /* may be NULL when size is 0 */
    size_t size;
} crn_result_part;

/* Copies the parts in, one behind the other; *ret_handle identifies them until
 * crn_result_store_release. Returns 0, or -ENOBUFS if too few blocks are left. */
int crn_result_store_put(crn_result_store *store, const crn_result_part *parts, int count,
                         uint32_t *ret_handle);

/* Frees the blocks; CRN_RESULT_NONE is allowed. */
void crn_result_store_release(crn_result_store *store, uint32_t handle);

size_t crn_result_store_blocks_free(const crn_result_store *store);

/* Bytes of the blocks in use. */
size_t crn_result_store_used_bytes(const crn_result_store *store);

/* Position in a result; may be copied to read from there again. Valid until the result is
 * released. */
typedef struct crn_result_reader {
    const crn_result_store *store;
    uint32_t block;
    size_t offset;
} crn_result_reader;

/* At the result's first byte; not for CRN_RESULT_NONE. */
crn_result_reader crn_result_store_open(const crn_result_store *store, uint32_t handle);

/* Copies the next `size` bytes out, or (to NULL) passes over them. The caller knows how many there
 * are. */
void crn_result_read(crn_result_reader *reader, void *to, size_t size);

CRN_C_END

#endif

/*
 * Result store: results of judged views, kept until their fruit is published, in a fixed number of
 * equal blocks, linked per view, so that a view with three defects takes little and one with
 * thousands fits too. Used by one thread.
 */
#ifndef CRN_SRC_PUBLISH_RESULT_STORE_H
#define CRN_SRC_PUBLISH_RESULT_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "stages/base/api.h"
#include "src/chain/judgement.h"
#include "stages/result.h"

CRN_C_BEGIN

typedef struct crn_result_store crn_result_store;

/* Reserves at least `bytes`; untouched blocks use no memory. Returns 0, -EINVAL or -ENOMEM. */
int crn_result_store_create(size_t bytes, crn_result_store **ret_store);
void crn_result_store_free(crn_result_store **store);

/* Copies the defects in; *ret_handle identifies them until crn_result_store_release
 * (CRN_RESULT_NONE if there are none and none were truncated). Returns 0, or -ENOBUFS if no blocks
 * are left. */
int crn_result_store_put(crn_result_store *store, const crn_defects *defects, uint32_t *ret_handle);

/* Copies the defects out; `into` has the capacities that the defects had: results that do not fit
 * read as no defects, truncated. CRN_RESULT_NONE reads as no defects. */
void crn_result_store_read(const crn_result_store *store, uint32_t handle, crn_defects *into);

/* Frees the blocks; CRN_RESULT_NONE is allowed. */
void crn_result_store_release(crn_result_store *store, uint32_t handle);

size_t crn_result_store_blocks_free(const crn_result_store *store);

/* Bytes of the blocks in use. */
size_t crn_result_store_used_bytes(const crn_result_store *store);

CRN_C_END

#endif

/*
 * Results of judged views, kept until their fruit is published: a fixed number of equal blocks,
 * linked per view, so that a view with three defects costs little and one with thousands fits too.
 * One thread owns it.
 */
#ifndef CRN_SRC_PUBLISH_RESULT_STORE_H
#define CRN_SRC_PUBLISH_RESULT_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "stages/base/cplusplus.h"
#include "src/chain/judgement.h"
#include "stages/result.h"

CRN_C_BEGIN

typedef struct crn_result_store crn_result_store;

/* Reserves at least `bytes`; untouched blocks cost nothing. 0, -EINVAL, -ENOMEM. */
int crn_result_store_create(size_t bytes, crn_result_store **ret_store);
void crn_result_store_free(crn_result_store **store);

/* Copies the defects in; *ret_handle names them until crn_result_store_give (CRN_RESULT_NONE when
 * there are none and none were left out). 0, or -ENOBUFS when the blocks are used up. */
int crn_result_store_put(crn_result_store *store, const crn_defects *defects, uint32_t *ret_handle);

/* Copies them out again; `into` has the capacities the defects had: what does not fit reads as no
 * defects, truncated. CRN_RESULT_NONE reads as no defects. */
void crn_result_store_read(const crn_result_store *store, uint32_t handle, crn_defects *into);

/* Gives the blocks back; CRN_RESULT_NONE is fine. */
void crn_result_store_give(crn_result_store *store, uint32_t handle);

size_t crn_result_store_blocks_free(const crn_result_store *store);

CRN_C_END

#endif

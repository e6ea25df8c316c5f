/* The slots that views wait in: a fixed number, reserved at the start, each as large as the largest
 * view allowed. Used by one thread. Pages that no view touches never become resident. */
#ifndef CRN_SRC_INGEST_POOL_H
#define CRN_SRC_INGEST_POOL_H

#include <stddef.h>

#include "src/ingest/view.h"

typedef struct crn_pool crn_pool;

/*
 * `bytes`: tensor and intensity of the largest view together. `reserve`: further slots, which take
 * the place of those that are set aside (crn_pool_set_aside). Returns 0, -EINVAL or -ENOMEM.
 */
int crn_pool_create(uint32_t slots, uint32_t reserve, size_t bytes, crn_pool **ret_pool);

/* Frees the pool and sets *pool to NULL; NULL is allowed. No view may be in use any more. */
void crn_pool_free(crn_pool **pool);

/* Call instead of crn_pool_free if something may still access the slots (a lost device): leaks
 * their memory until the process ends. Sets *pool to NULL; NULL is allowed. */
void crn_pool_abandon(crn_pool **pool);

/* The memory of all slots, page-aligned. */
void *crn_pool_memory(const crn_pool *pool, size_t *ret_bytes);

/* Returns a free slot's view with its maps pointer set, or NULL if all are taken.
 * The caller owns it until crn_pool_release. */
crn_view *crn_pool_acquire(crn_pool *pool);
void crn_pool_release(crn_pool *pool, crn_view *view);

/* Sets a slot that is taken aside, until crn_pool_release: it no longer counts as one of `slots`.
 * True also if it is set aside already. False if `reserve` slots are set aside already. */
bool crn_pool_set_aside(crn_pool *pool, crn_view *view);

/* Copies a view that lies elsewhere, with maps and intensity, into a slot in reserve, which is set
 * aside; NULL if there is none. The caller owns it until crn_pool_release. */
crn_view *crn_pool_copy_aside(crn_pool *pool, const crn_view *view);

/* All slots, with the reserve: the first number that no view of the pool has. */
uint32_t crn_pool_count(const crn_pool *pool);

/* Returns the view in a slot that is taken. */
crn_view *crn_pool_at(crn_pool *pool, uint32_t slot);

/* Of `slots`, without the reserve. */
uint32_t crn_pool_free_slots(const crn_pool *pool);

#endif

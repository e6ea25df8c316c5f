/*
 * The slots that views wait in: a fixed number, reserved at the start, each as large as the largest
 * view allowed. One thread takes and gives; pages that no view was large enough to touch are never
 * resident.
 */
#ifndef CRN_SRC_INGEST_POOL_H
#define CRN_SRC_INGEST_POOL_H

#include <stddef.h>

#include "src/ingest/view.h"

typedef struct crn_pool crn_pool;

/* `bytes`: tensor and intensity of the largest view together. 0, -EINVAL, -ENOMEM. */
int crn_pool_create(uint32_t slots, size_t bytes, crn_pool **ret_pool);

/* Frees and nulls; NULL is fine. Nobody may hold a view any more. */
void crn_pool_free(crn_pool **pool);

/*
 * Instead of crn_pool_free where something may still look into the slots (a device that was lost):
 * their memory stays until the process ends. Nulls; NULL is fine.
 */
void crn_pool_abandon(crn_pool **pool);

/* The memory of all slots: whole pages. */
void *crn_pool_memory(const crn_pool *pool, size_t *ret_bytes);

/* A free slot's view, its maps pointer set; NULL when all are taken. The taker owns it until
 * crn_pool_give. */
crn_view *crn_pool_take(crn_pool *pool);
void crn_pool_give(crn_pool *pool, crn_view *view);

/* The view in a slot that is taken. */
crn_view *crn_pool_at(crn_pool *pool, uint32_t slot);

uint32_t crn_pool_free_slots(const crn_pool *pool);

#endif

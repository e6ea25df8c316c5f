/*
 * The maps of the last fruits that were late, partial or over budget, in slots of the pool that
 * were set aside for them (monitor.keep_slots). The line's thread puts views in; the HTTP thread
 * copies them out. Neither waits for the other: a view that is being copied is not dropped
 * meanwhile, and a newer one is not kept instead.
 */
#ifndef CRN_SRC_MONITOR_FRUITS_KEPT_MAPS_H
#define CRN_SRC_MONITOR_FRUITS_KEPT_MAPS_H

#include "src/ingest/pool.h"
#include "stages/base/api.h"

CRN_C_BEGIN

typedef struct crn_kept_maps crn_kept_maps;

/* For up to `slots` views, at least 1, which `pool` has in reserve. `pool` is the caller's and must
 * outlive the maps. Returns 0 or -ENOMEM. */
int crn_kept_maps_create(uint32_t slots, crn_pool *pool, crn_kept_maps **ret_maps);

/* Call it after both threads have ended; the slots stay taken. NULL is allowed. */
void crn_kept_maps_free(crn_kept_maps **maps);

/*
 * For the line's thread: takes over the slot of a view that nobody else uses any more. Makes room
 * by dropping the oldest fruit, whole; of a fruit with more views than there are slots the first
 * ones are kept. A view that is not kept is released to the pool.
 */
void crn_kept_maps_add(crn_kept_maps *maps, crn_view *view);

/* The same with a copy of a view that does not lie in the pool; does nothing if another fruit's
 * were copied within 100 ms. */
void crn_kept_maps_add_copy(crn_kept_maps *maps, const crn_view *view, int64_t now_ns);

/* Names a fruit. */
typedef struct crn_kept_fruit {
    uint32_t lane;
    uint64_t epoch, fruit;
} crn_kept_fruit;

/* Bytes of a name as text at most, with its end. */
#define CRN_KEPT_NAME_BYTES 64

/* Reads "LANE/EPOCH/FRUIT". False if the text is anything else. */
bool crn_kept_fruit_parse(const char *text, crn_kept_fruit *ret_fruit);

/* A copy of a view; zero-initialise, and free `bytes`. */
typedef struct crn_kept_copy {
    crn_view_header header;
    uint64_t arrived_ns;  /* CLOCK_REALTIME at reception */
    unsigned char *bytes; /* tensor and intensity, one behind the other */
    size_t size, capacity;
} crn_kept_copy;

/* For the HTTP thread: copies the view of lowest index, at least `first`, that is kept of a fruit.
 * Returns 1, 0 if there is none, or -ENOMEM. */
int crn_kept_maps_copy(crn_kept_maps *maps, const crn_kept_fruit *fruit, uint32_t first,
                       crn_kept_copy *copy);

/* The same without the tensor: `bytes` is the intensity, if `size` is not 0. */
int crn_kept_maps_copy_photo(crn_kept_maps *maps, const crn_kept_fruit *fruit, uint32_t first,
                             crn_kept_copy *copy);

CRN_C_END

#endif

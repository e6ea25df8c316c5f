/* Guarded memory: detects writes next to it, and faults on accesses far outside. */
#ifndef CRN_TESTS_SUPPORT_GUARDED_H
#define CRN_TESTS_SUPPORT_GUARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stages/image.h"
#include "tests/support/random.h"

typedef struct crn_guarded {
    void *data; /* `bytes` usable bytes */
    size_t bytes;
    uint8_t *map; /* whole pages; the first and the last are inaccessible */
    size_t map_bytes;
} crn_guarded;

/* The memory is adjacent to the last page (at_end) or to the first; the other end has guard bytes.
 * Fails the running test if memory is lacking. */
crn_guarded crn_guarded_create(size_t bytes, bool at_end);

/* Fails the running test, with `what`, if a guard byte changed. */
void crn_guarded_check(const crn_guarded *guarded, const char *what);

void crn_guarded_free(crn_guarded *guarded);

/* A copy of the bytes; the caller frees it. */
void *crn_guarded_copy(const crn_guarded *guarded);

/* Fails the running test, with `what`, unless the bytes equal the copy. */
void crn_guarded_check_same(const crn_guarded *guarded, const void *copy, const char *what);

/*
 * An image of that shape in new guarded memory of exactly its extent: planar, interleaved, or with
 * strides in any order, with gaps and of any sign. Bytes are 0.
 */
crn_image crn_guarded_image(crn_random *random, crn_type type, int32_t planes, int32_t height,
                            int32_t width, crn_guarded *ret_memory);

/* Fills the memory with the pattern that crn_guarded_check_gaps expects. */
void crn_guarded_fill(const crn_guarded *guarded);

/* Fails the running test, with `what`, if bytes between
 * the image's elements changed; overwrites the elements. */
void crn_guarded_check_gaps(const crn_guarded *guarded, const crn_image *image, const char *what);

#endif

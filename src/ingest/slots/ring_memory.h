/*
 * The memory of a ring: slots, and the page with a word for the state of each, in two sealed memfds
 * that the producer maps as well. It cannot shrink or grow them; holes that it punches read as 0.
 * Of a ring on a GPU the producer has the page alone; the slots here hold copies of its views that
 * the host needs.
 */
#ifndef CRN_SRC_INGEST_SLOTS_RING_MEMORY_H
#define CRN_SRC_INGEST_SLOTS_RING_MEMORY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "src/formats/slots/slots.h"

typedef struct crn_ring_memory {
    unsigned char *slots; /* mapped, with readable bytes behind the last one */
    size_t slots_bytes;
    _Atomic uint64_t *states; /* mapped; the producer may write anything into it */
    size_t states_bytes;
    int descriptor[CRN_SLOTS_DESCRIPTORS]; /* of both, in the answer's order; -1: closed */
} crn_ring_memory;

#define CRN_RING_MEMORY_EMPTY ((crn_ring_memory){.descriptor = {-1, -1}})

/* Bytes behind the slots that may be read, as behind any image. */
#define CRN_RING_MEMORY_TAIL CRN_SLOTS_PAGE_BYTES

/* Makes, fills with 0 and maps it, all pages resident: takes 1 ms for 1 MiB or so. slot_bytes is a
 * multiple of CRN_SLOTS_PAGE_BYTES. Returns 0 or a negative errno. */
int crn_ring_memory_create(crn_slots_kind kind, uint32_t slots, uint64_t slot_bytes,
                           crn_ring_memory *ret_memory);

/* Gives all pages back to the kernel, also where the producer still maps them: it then reads 0.
 * What it writes afterwards takes new pages, which are its own (in its control group). Nobody else
 * may use the memory any more. Returns 0 or a negative errno. */
int crn_ring_memory_discard(const crn_ring_memory *memory);

/* Unmaps it, and empties it as CRN_RING_MEMORY_EMPTY is, which is allowed. The producer's mapping
 * remains. */
void crn_ring_memory_free(crn_ring_memory *memory);

/* The same, but it stays mapped until the process ends. */
void crn_ring_memory_leave(crn_ring_memory *memory);

#endif

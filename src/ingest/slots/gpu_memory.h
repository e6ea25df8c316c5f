/* The memory of a ring on a GPU: its slots, and an event of each, which its producer records once
 * the slot is written. Calls the device: for the thread that makes rings. */
#ifndef CRN_SRC_INGEST_SLOTS_GPU_MEMORY_H
#define CRN_SRC_INGEST_SLOTS_GPU_MEMORY_H

#include "gpu/gpu.h"
#include "src/formats/slots/slots.h"

typedef struct crn_ring_gpu_memory {
    crn_gpu_export slots; /* memory NULL: the ring is in host memory */
    void **signals;       /* of each slot */
    uint32_t count;
} crn_ring_gpu_memory;

/*
 * Makes both on that device. `handles`: of `slots` signals, CRN_SLOTS_SIGNAL_BYTES each, written.
 * The descriptor in ret_memory->slots is the caller's. Returns 0 or a negative errno.
 */
int crn_ring_gpu_memory_create(const crn_gpu *gpu, int32_t device, uint32_t slots,
                               uint64_t slot_bytes, unsigned char *handles,
                               crn_ring_gpu_memory *ret_memory);

/* Frees and empties it; one that is empty is allowed. What its producer mapped remains. */
void crn_ring_gpu_memory_free(const crn_gpu *gpu, crn_ring_gpu_memory *memory);

/* The same, but what is on the GPU stays there until the process ends. */
void crn_ring_gpu_memory_leave(crn_ring_gpu_memory *memory);

#endif

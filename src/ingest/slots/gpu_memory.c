#include "src/ingest/slots/gpu_memory.h"

#include <errno.h>
#include <stdlib.h>

_Static_assert(CRN_SLOTS_SIGNAL_BYTES == CRN_GPU_SIGNAL_BYTES &&
                   CRN_SLOTS_GPU_UNIT == CRN_GPU_EXPORT_UNIT,
               "the protocol's sizes are the device's");

int crn_ring_gpu_memory_create(const crn_gpu *gpu, int32_t device, uint32_t slots,
                               uint64_t slot_bytes, unsigned char *handles,
                               crn_ring_gpu_memory *ret_memory)
{
    crn_ring_gpu_memory memory = {.signals = calloc(slots, sizeof *memory.signals)};
    if (!memory.signals)
        return -ENOMEM;
    int r = 0;
    for (; memory.count < slots && r == 0; memory.count += r == 0)
        r = gpu->signal_create(device, &memory.signals[memory.count],
                               handles + (size_t)memory.count * CRN_SLOTS_SIGNAL_BYTES);
    if (r == 0)
        r = gpu->export_create(device, (size_t)(slots * slot_bytes), &memory.slots);
    if (r < 0)
        crn_ring_gpu_memory_free(gpu, &memory);
    else
        *ret_memory = memory;
    return r;
}

void crn_ring_gpu_memory_leave(crn_ring_gpu_memory *memory)
{
    free(memory->signals);
    *memory = (crn_ring_gpu_memory){.count = 0};
}

void crn_ring_gpu_memory_free(const crn_gpu *gpu, crn_ring_gpu_memory *memory)
{
    if (memory->slots.memory)
        gpu->export_free(&memory->slots);
    for (uint32_t i = 0; i < memory->count; i++)
        gpu->signal_free(memory->signals[i]);
    crn_ring_gpu_memory_leave(memory);
}

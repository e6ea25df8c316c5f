#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pread */
#endif
#include "cernita_producer_gpu.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* The driver's interface (cuda.h), whose layouts do not change: what is needed of it. */
typedef unsigned long long device_address, memory_handle;
typedef struct event_handle {
    char bytes[64];
} event_handle;
typedef struct access_description {
    int location_type, location_id, flags;
} access_description;

enum {
    LOCATION_DEVICE = 1,   /* CU_MEM_LOCATION_TYPE_DEVICE */
    ACCESS_READ_WRITE = 3, /* CU_MEM_ACCESS_FLAGS_PROT_READWRITE */
    POSIX_DESCRIPTOR = 1   /* CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR */
};

/* A ring is allocated in whole units. */
#define UNIT_BYTES 2097152ULL

/* The states of its slots as well. */
#define PAGE_BYTES 4096

/* Each function, its name in the library and its arguments. */
#define DRIVER_CALLS(ROW)                                                                          \
    ROW(get_device, "cuCtxGetDevice", (int *ret_device))                                           \
    ROW(get_uuid, "cuDeviceGetUuid", (void *ret_uuid, int device))                                 \
    ROW(import_memory, "cuMemImportFromShareableHandle",                                           \
        (memory_handle * ret_handle, void *descriptor, int type))                                  \
    ROW(release, "cuMemRelease", (memory_handle handle))                                           \
    ROW(reserve, "cuMemAddressReserve",                                                            \
        (device_address * ret_address, size_t bytes, size_t alignment, device_address wanted,      \
         unsigned long long flags))                                                                \
    ROW(unreserve, "cuMemAddressFree", (device_address address, size_t bytes))                     \
    ROW(map, "cuMemMap",                                                                           \
        (device_address address, size_t bytes, size_t offset, memory_handle handle,                \
         unsigned long long flags))                                                                \
    ROW(unmap, "cuMemUnmap", (device_address address, size_t bytes))                               \
    ROW(set_access, "cuMemSetAccess",                                                              \
        (device_address address, size_t bytes, const access_description *access, size_t count))    \
    ROW(open_event, "cuIpcOpenEventHandle", (void **ret_event, event_handle handle))               \
    ROW(record, "cuEventRecord", (void *event, void *stream))                                      \
    ROW(await_event, "cuEventSynchronize", (void *event))                                          \
    ROW(destroy_event, "cuEventDestroy_v2", (void *event))

typedef struct driver_calls {
#define MEMBER(name, symbol, arguments) int(*name) arguments;
    DRIVER_CALLS(MEMBER)
#undef MEMBER
} driver_calls;

struct crn_producer_gpu {
    void *library;
    driver_calls calls;
    int device;
    crn_producer_kind kind;
    /* Of the ring that is mapped: */
    device_address memory;
    uint64_t bytes, slot_bytes;
    uint32_t slots; /* with an event */
    void **events;
};

static int find_calls(void *library, driver_calls *ret_calls)
{
    /* POSIX lets a function's address be stored by its bytes. */
#define FIND(name, symbol, arguments)                                                              \
    *(void **)&ret_calls->name = dlsym(library, symbol);                                           \
    if (!ret_calls->name)                                                                          \
        return -ENOTSUP;
    DRIVER_CALLS(FIND)
#undef FIND
    return 0;
}

static void unmap_slots(void *owner, void *memory)
{
    crn_producer_gpu *gpu = owner;
    (void)memory;
    for (uint32_t i = 0; i < gpu->slots; i++) {
        gpu->calls.await_event(gpu->events[i]); /* what it stands for writes into the memory */
        gpu->calls.destroy_event(gpu->events[i]);
    }
    free(gpu->events);
    if (gpu->memory) {
        gpu->calls.unmap(gpu->memory, gpu->bytes);
        gpu->calls.unreserve(gpu->memory, gpu->bytes);
    }
    gpu->memory = 0;
    gpu->slots = 0;
    gpu->events = NULL;
}

/* Maps the memory; not 0: the driver's error. */
static int map_memory(crn_producer_gpu *gpu, int descriptor)
{
    const access_description access = {LOCATION_DEVICE, gpu->device, ACCESS_READ_WRITE};
    memory_handle handle;
    device_address address = 0;
    int result = gpu->calls.import_memory(&handle, (void *)(intptr_t)descriptor, POSIX_DESCRIPTOR);
    if (result)
        return result;
    result = gpu->calls.reserve(&address, gpu->bytes, 0, 0, 0);
    if (!result) {
        result = gpu->calls.map(address, gpu->bytes, 0, handle, 0);
        if (!result) {
            result = gpu->calls.set_access(address, gpu->bytes, &access, 1);
            if (result)
                gpu->calls.unmap(address, gpu->bytes);
        }
        if (result)
            gpu->calls.unreserve(address, gpu->bytes);
    }
    gpu->calls.release(handle); /* the mapping keeps the memory */
    if (!result)
        gpu->memory = address;
    return result;
}

/* Opens the events, whose handles are on the page of states, behind these. */
static int open_events(crn_producer_gpu *gpu, int page, uint32_t slots)
{
    event_handle handle;
    off_t at = (off_t)(slots * sizeof(uint64_t) + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    for (; gpu->slots < slots; gpu->slots++, at += sizeof handle)
        if (pread(page, &handle, sizeof handle, at) != sizeof handle ||
            gpu->calls.open_event(&gpu->events[gpu->slots], handle))
            return -EIO;
    return 0;
}

static int map_slots(void *owner, const int descriptors[2], const crn_producer_ring *ring,
                     void **ret_memory)
{
    crn_producer_gpu *gpu = owner;
    gpu->slot_bytes = ring->slot_bytes;
    gpu->bytes = (ring->slots * ring->slot_bytes + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES;
    gpu->events = calloc(ring->slots, sizeof *gpu->events);
    if (!gpu->events)
        return -ENOMEM;
    int result =
        map_memory(gpu, descriptors[0]) ? -EIO : open_events(gpu, descriptors[1], ring->slots);
    if (result < 0) {
        unmap_slots(gpu, NULL);
        return result;
    }
    *ret_memory = (void *)(uintptr_t)gpu->memory;
    return 0;
}

int crn_producer_gpu_create(crn_producer_gpu **ret_gpu)
{
    crn_producer_gpu *gpu = calloc(1, sizeof *gpu);
    if (!gpu)
        return -ENOMEM;
    gpu->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    int result = gpu->library ? find_calls(gpu->library, &gpu->calls) : -ENOTSUP;
    if (result == 0 &&
        (gpu->calls.get_device(&gpu->device) || gpu->calls.get_uuid(gpu->kind.device, gpu->device)))
        result = -ENODEV;
    if (result < 0) {
        crn_producer_gpu_free(&gpu);
        return result;
    }
    gpu->kind.kind = 2;
    gpu->kind.map = map_slots;
    gpu->kind.unmap = unmap_slots;
    gpu->kind.owner = gpu;
    *ret_gpu = gpu;
    return 0;
}

void crn_producer_gpu_free(crn_producer_gpu **gpu)
{
    if (!gpu || !*gpu)
        return;
    if ((*gpu)->library)
        dlclose((*gpu)->library);
    free(*gpu);
    *gpu = NULL;
}

const crn_producer_kind *crn_producer_gpu_kind(const crn_producer_gpu *gpu)
{
    return &gpu->kind;
}

int crn_producer_gpu_record(crn_producer_gpu *gpu, const crn_producer_slot *slot, void *stream)
{
    device_address at = (device_address)(uintptr_t)slot->tensor;
    if (slot->index >= gpu->slots || at != gpu->memory + slot->index * gpu->slot_bytes)
        return -ESTALE;
    return gpu->calls.record(gpu->events[slot->index], stream) ? -EIO : 0;
}

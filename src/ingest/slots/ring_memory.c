#include "src/ingest/slots/ring_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && sizeof(_Atomic uint64_t) == sizeof(uint64_t),
               "two processes share the words");

/* A sealed memfd of that size, all pages there. Returns it or a negative errno. */
static int make_descriptor(const char *name, size_t bytes)
{
    int descriptor = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0)
        return -errno;
    if (ftruncate(descriptor, (off_t)bytes) < 0 || fallocate(descriptor, 0, 0, (off_t)bytes) < 0 ||
        fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        int fault = errno;
        close(descriptor);
        return fault == ENOSPC ? -ENOMEM : -fault;
    }
    return descriptor;
}

/* Maps the descriptor, and pages of 0 of its own behind it. */
static int map_with_tail(int descriptor, size_t bytes, size_t tail, void **ret_memory)
{
    unsigned char *memory = mmap(NULL, bytes + tail, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return -errno;
    if (mmap(memory, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE,
             descriptor, 0) == MAP_FAILED) {
        int fault = errno;
        munmap(memory, bytes + tail);
        return -fault;
    }
    *ret_memory = memory;
    return 0;
}

int crn_ring_memory_create(crn_slots_kind kind, uint32_t slots, uint64_t slot_bytes,
                           crn_ring_memory *ret_memory)
{
    crn_ring_memory memory = {.slots_bytes = (size_t)(slots * slot_bytes),
                              .states_bytes = (size_t)crn_slots_page_bytes((uint16_t)kind, slots),
                              .descriptor = {-1, -1}};
    void *mapped = NULL;
    int r = make_descriptor("cernita-slots", memory.slots_bytes);
    memory.descriptor[0] = r < 0 ? -1 : r;
    if (r >= 0)
        r = map_with_tail(memory.descriptor[0], memory.slots_bytes, CRN_RING_MEMORY_TAIL, &mapped);
    if (r >= 0) {
        memory.slots = mapped;
        r = make_descriptor("cernita-slot-states", memory.states_bytes);
        memory.descriptor[1] = r < 0 ? -1 : r;
    }
    if (r >= 0)
        r = map_with_tail(memory.descriptor[1], memory.states_bytes, 0, &mapped);
    if (r < 0) {
        crn_ring_memory_free(&memory);
        return r;
    }
    memory.states = mapped;
    *ret_memory = memory;
    return 0;
}

int crn_ring_memory_discard(const crn_ring_memory *memory)
{
    /* Locked pages cannot be removed; mlockall locks all. */
    if (munlock(memory->slots, memory->slots_bytes) < 0 ||
        munlock((void *)memory->states, memory->states_bytes) < 0 ||
        madvise(memory->slots, memory->slots_bytes, MADV_REMOVE) < 0 ||
        madvise((void *)memory->states, memory->states_bytes, MADV_REMOVE) < 0)
        return -errno;
    return 0;
}

void crn_ring_memory_leave(crn_ring_memory *memory)
{
    for (int i = 0; i < CRN_SLOTS_DESCRIPTORS; i++)
        if (memory->descriptor[i] >= 0)
            close(memory->descriptor[i]);
    *memory = CRN_RING_MEMORY_EMPTY;
}

void crn_ring_memory_free(crn_ring_memory *memory)
{
    if (memory->slots)
        munmap(memory->slots, memory->slots_bytes + CRN_RING_MEMORY_TAIL);
    if (memory->states)
        munmap(memory->states, memory->states_bytes);
    crn_ring_memory_leave(memory);
}

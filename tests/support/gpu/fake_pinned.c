#include "tests/support/gpu/fake_pinned.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tests/support/gpu/fake_gpu.h"

static struct {
    void *memory;
    size_t bytes;
} hidden;

static void *_Atomic pinned_at; /* what was pinned first: the slots of the line's own */

void *crn_fake_gpu_pinned_create(size_t bytes)
{
    if (bytes == 0)
        return NULL; /* like cudaHostAlloc */
    atomic_fetch_add(&crn_fake_gpu_used.pinned, 1);
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

void crn_fake_gpu_pinned_free(void *memory)
{
    if (memory)
        atomic_fetch_sub(&crn_fake_gpu_used.pinned, 1);
    free(memory);
}

int crn_fake_gpu_pin(int32_t device, void *memory, size_t bytes)
{
    atomic_store(&crn_fake_gpu_used.pinned_for, device);
    if ((uintptr_t)memory % 4096 != 0 || bytes % 4096 != 0)
        return -EINVAL;
    void *before = NULL;
    if (!atomic_compare_exchange_strong(&pinned_at, &before, memory) && before == memory)
        return -EALREADY; /* like cudaHostRegister */
    atomic_fetch_add(&crn_fake_gpu_used.pins, 1);
    return 0;
}

void crn_fake_gpu_unpin(void *memory)
{
    void *own = memory;
    if (atomic_compare_exchange_strong(&pinned_at, &own, NULL) &&
        atomic_load(&crn_fake_gpu_used.contexts) > 0)
        atomic_fetch_add(&crn_fake_gpu_used.unpinned_early, 1);
    atomic_fetch_sub(&crn_fake_gpu_used.pins, 1);
}

void crn_fake_gpu_allow(int access)
{
    if (hidden.memory)
        mprotect(hidden.memory, hidden.bytes, access);
}

void crn_fake_gpu_hide(void *memory, size_t bytes)
{
    crn_fake_gpu_allow(PROT_READ | PROT_WRITE);
    hidden.memory = memory;
    hidden.bytes = bytes;
    crn_fake_gpu_allow(PROT_NONE);
}

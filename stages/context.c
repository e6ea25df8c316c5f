/* The operators' scratch memory and thread count (ops.h). */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "stages/ops.h"

struct crn_context {
    int32_t threads;
    struct {
        void *memory;
        size_t bytes;
    } scratch[CRN_SCRATCH_SLOTS];
};

int crn_context_create(int32_t threads, crn_context **ret_context)
{
    if (threads < 1)
        return -EINVAL;
    crn_context *context = calloc(1, sizeof *context);
    if (!context)
        return -ENOMEM;
    context->threads = threads;
    *ret_context = context;
    return 0;
}

void crn_context_free(crn_context **context)
{
    if (!*context)
        return;
    for (int32_t i = 0; i < CRN_SCRATCH_SLOTS; i++)
        if ((*context)->scratch[i].memory)
            munmap((*context)->scratch[i].memory, (*context)->scratch[i].bytes);
    free(*context);
    *context = NULL;
}

int32_t crn_context_threads(const crn_context *context)
{
    return context->threads;
}

void *crn_context_scratch(crn_context *context, int32_t slot, size_t bytes)
{
    if (bytes <= context->scratch[slot].bytes)
        return context->scratch[slot].memory;
    /* A mapping of its own rather than malloc: untouched pages of a worst case never become
     * resident. */
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (context->scratch[slot].memory)
        munmap(context->scratch[slot].memory, context->scratch[slot].bytes);
    context->scratch[slot].memory = memory;
    context->scratch[slot].bytes = bytes;
    return memory;
}

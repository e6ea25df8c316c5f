/* Scratch memory and thread count of operators (ops.h), and their allocator and time
 * limit (context.h). */
#include "stages/context.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

struct crn_context {
    const crn_context_allocator *allocator;
    void *owner;
    int32_t threads, views;
    uint32_t generation;
    crn_context_expired_fn *expired; /* NULL: no limit */
    const void *expired_owner;
    struct crn_values_watch *watch;
    atomic_bool over; /* set once `expired` has returned true */
    crn_context_choice choice;
    crn_error error;
    void *attached;
    void (*free_attached)(void *what);
    struct {
        void *memory;
        size_t bytes;
    } scratch[CRN_SCRATCH_SLOTS];
};

/* mmap rather than malloc: the untouched pages of a worst case never become resident. */
static void *take_pages(void *owner, size_t bytes)
{
    (void)owner;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void give_pages(void *owner, void *memory, size_t bytes)
{
    (void)owner;
    munmap(memory, bytes);
}

static const crn_context_allocator process = {.take = take_pages, .give = give_pages};

static int create(const crn_context_allocator *allocator, void *owner, int32_t threads,
                  int32_t views, crn_context **ret_context)
{
    if (threads < 1 || views < 1)
        return -EINVAL;
    crn_context *context = calloc(1, sizeof *context);
    if (!context)
        return -ENOMEM;
    context->allocator = allocator;
    context->owner = owner;
    context->threads = threads;
    context->views = views;
    *ret_context = context;
    return 0;
}

int crn_context_create(int32_t threads, crn_context **ret_context)
{
    return create(&process, NULL, threads, 1, ret_context);
}

int crn_context_create_at(const crn_context_allocator *allocator, void *owner, int32_t views,
                          crn_context **ret_context)
{
    return create(allocator, owner, 1, views, ret_context);
}

void crn_context_free(crn_context **context)
{
    crn_context *it = context ? *context : NULL;
    if (!it)
        return;
    if (it->attached)
        it->free_attached(it->attached);
    for (int32_t i = 0; i < CRN_SCRATCH_SLOTS; i++)
        if (it->scratch[i].memory)
            it->allocator->give(it->owner, it->scratch[i].memory, it->scratch[i].bytes);
    if (it->allocator->close)
        it->allocator->close(it->owner);
    free(it);
    *context = NULL;
}

int32_t crn_context_threads(const crn_context *context)
{
    return context->threads;
}

void crn_context_set_threads(crn_context *context, int32_t threads)
{
    context->threads = threads;
}

int32_t crn_context_views(const crn_context *context)
{
    return context->views;
}

uint32_t crn_context_generation(const crn_context *context)
{
    return context->generation;
}

void crn_context_advance_generation(crn_context *context)
{
    context->generation++;
}

void *crn_context_owner(const crn_context *context, const crn_context_allocator *allocator)
{
    return context->allocator == allocator ? context->owner : NULL;
}

void crn_context_watch(crn_context *context, struct crn_values_watch *watch)
{
    context->watch = watch;
}

struct crn_values_watch *crn_context_watched(const crn_context *context)
{
    return context ? context->watch : NULL;
}

void crn_context_limit(crn_context *context, crn_context_expired_fn *expired, const void *owner)
{
    context->expired = expired;
    context->expired_owner = owner;
    atomic_store_explicit(&context->over, false, memory_order_relaxed);
}

bool crn_context_expired(crn_context *context)
{
    if (!context || !context->expired)
        return false;
    if (atomic_load_explicit(&context->over, memory_order_relaxed))
        return true;
    if (!context->expired(context->expired_owner))
        return false;
    atomic_store_explicit(&context->over, true, memory_order_relaxed);
    return true;
}

int crn_context_status(const crn_context *context)
{
    return atomic_load_explicit(&context->over, memory_order_relaxed) ? -ETIME : 0;
}

crn_context_choice *crn_context_choice_of(crn_context *context)
{
    return &context->choice;
}

crn_error *crn_context_error_of(crn_context *context)
{
    return &context->error;
}

const char *crn_context_error(const crn_context *context)
{
    return context ? context->error.text : "";
}

void *crn_context_attached(const crn_context *context)
{
    return context->attached;
}

void crn_context_attach(crn_context *context, void *what, void (*free_it)(void *what))
{
    context->attached = what;
    context->free_attached = free_it;
}

void *crn_context_scratch(crn_context *context, int32_t slot, size_t bytes)
{
    if (bytes > SIZE_MAX / (size_t)context->views)
        return NULL;
    bytes *= (size_t)context->views;
    if (bytes <= context->scratch[slot].bytes)
        return context->scratch[slot].memory;
    /* The old contents are not needed, so they are freed first: the largest pictures would not
     * fit twice. */
    if (context->scratch[slot].memory) {
        context->allocator->give(context->owner, context->scratch[slot].memory,
                                 context->scratch[slot].bytes);
        crn_context_advance_generation(context);
    }
    context->scratch[slot].bytes = 0;
    context->scratch[slot].memory = context->allocator->take(context->owner, bytes);
    if (context->scratch[slot].memory)
        context->scratch[slot].bytes = bytes;
    return context->scratch[slot].memory;
}

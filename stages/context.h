/**
 * @file
 * Allocation and time limits behind an operator's context (ops.h). Scratch memory of the CPU is
 * process memory, that of a GPU is device memory; stages request both through the same calls.
 */
#ifndef CRN_STAGES_CONTEXT_H
#define CRN_STAGES_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "stages/base/api.h"
#include "stages/base/error.h"
#include "stages/ops.h"

/** Allocator of a context's scratch memory. `owner` is the pointer given to
 * crn_context_create_at(). */
typedef struct crn_context_allocator {
    void *(*take)(void *owner, size_t bytes); /**< NULL if the memory cannot be allocated */
    void (*give)(void *owner, void *memory, size_t bytes);
    void (*close)(void *owner); /**< called after all memory was returned; may be NULL */
} crn_context_allocator;

/**
 * Creates a context with one thread and the given allocator. Its operators process `views` pictures
 * at once: an image is the first of them, dense, and the others follow at intervals of
 * crn_image_elements(). Scratch buffers are `views` times the requested size.
 *
 * @param owner passed to the allocator, which closes it with the context
 * @param views >= 1; 1 for the CPU
 * @param ret_context free it with crn_context_free()
 * @return 0, -EINVAL or -ENOMEM; on failure `owner` still belongs to the caller
 */
CRN_API int crn_context_create_at(const crn_context_allocator *allocator, void *owner,
                                  int32_t views, crn_context **ret_context);

/** The owner of a context with this allocator; NULL for any other context. */
CRN_API void *crn_context_owner(const crn_context *context, const crn_context_allocator *allocator);

/** Sets the number of threads of the next calls, >= 1. */
void crn_context_set_threads(crn_context *context, int32_t threads);

/** Number of pictures that its operators process at once. */
int32_t crn_context_views(const crn_context *context);

/** Incremented whenever scratch memory was reallocated: addresses in it that were stored under an
 * earlier generation are invalid. */
CRN_API uint32_t crn_context_generation(const crn_context *context);

/**
 * Increments the generation: for an allocator that frees other memory whose addresses were stored.
 */
void crn_context_advance_generation(crn_context *context);

/** A time limit: true once it has passed, and from then on. Every thread polls it while it runs, so
 * it must only read a clock or a flag. */
typedef bool crn_context_expired_fn(const void *owner);

/**
 * Sets the time limit of operators and stages that use this context. All operators of the chain
 * poll; once the limit has passed they return -ETIME within a few milliseconds of work and leave
 * their output undefined. Not to be called while an operator runs.
 *
 * @param expired NULL, the default: no limit
 * @param owner passed to it; the caller's
 */
void crn_context_limit(crn_context *context, crn_context_expired_fn *expired, const void *owner);

/** Polls the limit: true once it has passed. Always false without a context. */
bool crn_context_expired(crn_context *context);

/**
 * Whether any poll has found the limit passed; does not poll. Operators and stages that stop early
 * return this.
 *
 * @return 0 or -ETIME
 */
int crn_context_status(const crn_context *context);

struct crn_values_watch;

/** Asks the next operator that reads the whole image at watch->data to validate its values as well
 * (stages/openmp/values.h); NULL, the default: none is asked. */
void crn_context_watch(crn_context *context, struct crn_values_watch *watch);

/** The watch that was set last. */
struct crn_values_watch *crn_context_watched(const crn_context *context);

/** Work between two polls, in units of about a nanosecond: a quarter of a millisecond. */
#define CRN_PACE_WORK (1 << 18)

/** Limits how often a loop polls: once per CRN_PACE_WORK units of work. Each thread has its own. */
typedef struct crn_pace {
    crn_context *context;
    int64_t left;
    bool over;
} crn_pace;

/** Begins a loop; its first crn_pace_over() polls. */
static inline crn_pace crn_pace_start(crn_context *context)
{
    return (crn_pace){.context = context};
}

/**
 * Asks whether to go on; call before each piece of work.
 *
 * @param work its units, >= 0
 * @return true if the limit has passed and the work must not start
 */
static inline bool crn_pace_over(crn_pace *pace, int64_t work)
{
    pace->left -= work;
    if (pace->left < 0 && !pace->over) {
        pace->left = CRN_PACE_WORK;
        pace->over = crn_context_expired(pace->context);
    }
    return pace->over;
}

/** What crn_context_open() chose; zeroed in contexts that were made otherwise. */
typedef struct crn_context_choice {
    const crn_ops *ops;
    const struct crn_gpu *gpu; /**< NULL: images lie in host memory */
    int32_t threads;           /**< asked for; a call may get fewer */
} crn_context_choice;

/** The context's; written by crn_context_open() alone. */
crn_context_choice *crn_context_choice_of(crn_context *context);

/** Text of the last failed call, for crn_context_error(): the context's, to be written to. */
crn_error *crn_context_error_of(crn_context *context);

/**
 * An object attached to a context and freed with it: GPU operators that are called with a CPU
 * context keep their device state there.
 *
 * @return NULL until something is attached
 */
void *crn_context_attached(const crn_context *context);

/**
 * Attaches an object, which the context then owns.
 *
 * @param free_it called with it when the context is freed
 */
void crn_context_attach(crn_context *context, void *what, void (*free_it)(void *what));

#endif

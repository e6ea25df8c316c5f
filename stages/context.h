/*
 * What stands behind an operator's context (ops.h): where its scratch memory lies. The CPU's lies
 * in the process, a device's on that device; stages ask for it alike.
 */
#ifndef CRN_STAGES_CONTEXT_H
#define CRN_STAGES_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "stages/ops.h"

/* Where a context's memory comes from. `owner` is what crn_context_create_at was given. */
typedef struct crn_context_allocator {
    void *(*take)(void *owner, size_t bytes); /* NULL when there is none */
    void (*give)(void *owner, void *memory, size_t bytes);
    void (*close)(void *owner); /* with the context, after its memory; NULL: nothing to do */
} crn_context_allocator;

/*
 * A context whose memory comes from elsewhere, with one thread. Its operators work on `views`
 * pictures at once (>= 1; the CPU's on one): an image is the first of them, dense, and the others
 * follow, each crn_image_elements behind the one before. Scratch memory is `views` times what was
 * asked for. 0, -EINVAL, -ENOMEM; `owner` is then still the caller's.
 */
int crn_context_create_at(const crn_context_allocator *home, void *owner, int32_t views,
                          crn_context **ret_context);

/* The owner of a context at that home; NULL for any other context. */
void *crn_context_owner(const crn_context *context, const crn_context_allocator *home);

int32_t crn_context_views(const crn_context *context);

/* How often scratch memory has moved to become larger: what remembers addresses in it from before
 * the last time is void. */
uint32_t crn_context_generation(const crn_context *context);

/* Counts as such a move: for a home that gives other memory back which is remembered. */
void crn_context_moved(crn_context *context);

/*
 * Until when operators and stages may work with this context: `expired` says whether that is over,
 * and goes on saying so. It is asked again and again while they run, by each of their threads, so
 * it reads a clock or a flag and no more. Of operators all those of the chain ask; once it is over,
 * they return -ETIME within a few milliseconds of work and leave undefined what they have written.
 * NULL, as at the start: no limit. Not to be called while an operator runs.
 */
typedef bool crn_context_expired_fn(const void *owner);
void crn_context_limit(crn_context *context, crn_context_expired_fn *expired, const void *owner);

/* Whether the limit has passed; asks. Without a context it never has. */
bool crn_context_expired(crn_context *context);

/* Whether somebody saw that the limit has passed; does not ask. 0 or -ETIME: what an operator or
 * stage returns that has stopped where it saw so. */
int crn_context_status(const crn_context *context);

/* Work between two questions, in units of about a nanosecond: a quarter of a millisecond. */
#define CRN_PACE_WORK (1 << 18)

/* Has a loop ask once in so much work, not every time round. Each thread has its own. */
typedef struct crn_pace {
    crn_context *context;
    int64_t left;
    bool over;
} crn_pace;

static inline crn_pace crn_pace_start(crn_context *context)
{
    return (crn_pace){.context = context}; /* asks at the first work */
}

/* `work` (>= 0) lies ahead: true when it is not to be begun any more. */
static inline bool crn_pace_over(crn_pace *pace, int64_t work)
{
    pace->left -= work;
    if (pace->left < 0 && !pace->over) {
        pace->left = CRN_PACE_WORK;
        pace->over = crn_context_expired(pace->context);
    }
    return pace->over;
}

/* What somebody keeps with a context, freed with it: where the operators of a device, asked with a
 * context of the CPU, keep theirs. NULL until something is attached. */
void *crn_context_attached(const crn_context *context);
void crn_context_attach(crn_context *context, void *what, void (*free_it)(void *what));

#endif

/*
 * What stands behind an operator's context (ops.h): where its scratch memory lies. The CPU's lies
 * in the process, a device's on that device; stages ask for it alike.
 */
#ifndef CRN_CONTEXT_H
#define CRN_CONTEXT_H

#include "stages/ops.h"

/* Where a context's memory comes from. `owner` is what crn_context_create_at was given. */
typedef struct crn_context_home {
    void *(*take)(void *owner, size_t bytes); /* NULL when there is none */
    void (*give)(void *owner, void *memory, size_t bytes);
    void (*close)(void *owner); /* with the context, after its memory; NULL: nothing to do */
} crn_context_home;

/*
 * A context whose memory comes from elsewhere, with one thread. Its operators work on `views`
 * pictures at once (>= 1; the CPU's on one): an image is the first of them, dense, and the others
 * follow, each crn_image_elements behind the one before. Scratch memory is `views` times what was
 * asked for. 0, -EINVAL, -ENOMEM; `owner` is then still the caller's.
 */
int crn_context_create_at(const crn_context_home *home, void *owner, int32_t views,
                          crn_context **ret_context);

/* The owner of a context at that home; NULL for any other context. */
void *crn_context_owner(const crn_context *context, const crn_context_home *home);

int32_t crn_context_views(const crn_context *context);

/* How often scratch memory has moved to become larger: what remembers addresses in it from before
 * the last time is void. */
uint32_t crn_context_moves(const crn_context *context);

/* Counts as such a move: for a home that gives other memory back which is remembered. */
void crn_context_moved(crn_context *context);

/* What somebody keeps with a context, freed with it: where the operators of a device, asked with a
 * context of the CPU, keep theirs. NULL until something is attached. */
void *crn_context_attached(const crn_context *context);
void crn_context_attach(crn_context *context, void *what, void (*free_it)(void *what));

#endif

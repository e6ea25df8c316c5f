/*
 * A crn_gpu without a GPU: device memory is host memory, the operators run on the CPU. Enqueued
 * work runs later, one item per poll, as if asynchronous; graphs are lists of enqueued work.
 */
#ifndef CRN_TESTS_SUPPORT_FAKE_GPU_H
#define CRN_TESTS_SUPPORT_FAKE_GPU_H

#include <stdatomic.h>

#include "gpu/gpu.h"

/* Resources in use; all 0 when everything was freed. */
typedef struct crn_fake_gpu_use {
    atomic_int contexts, graphs, pinned, pins;
    atomic_int pinned_for;     /* device that the last pin named */
    atomic_int unpinned_early; /* total: unpinned while a context existed that might read it */
    atomic_int launches;       /* total */
    atomic_int batched;        /* views in launches */
} crn_fake_gpu_use;

extern crn_fake_gpu_use crn_fake_gpu_used;

static inline bool crn_fake_gpu_all_freed(void)
{
    return !crn_fake_gpu_used.contexts && !crn_fake_gpu_used.graphs && !crn_fake_gpu_used.pinned &&
           !crn_fake_gpu_used.pins;
}

/* Added to the time between any two events, to simulate slow steps. */
extern _Atomic int64_t crn_fake_gpu_slower_ns;

/* Number of other processes on each device, and whether an MPS server is active; the next table has
 * neither. */
extern int32_t crn_fake_gpu_others;
extern bool crn_fake_gpu_mps;

/* A table with that many devices. `f32_only`: maps of other types get -ENOMEM, as when a device
 * lacks memory for a shape. One table at a time. */
const crn_gpu *crn_fake_gpu(int32_t devices, bool f32_only);

/* From now on a single allocation of a context is limited to this; the next table has no limit. */
void crn_fake_gpu_limit(size_t bytes);

/*
 * Device memory that the host cannot read: it is inaccessible but while enqueued work runs. Whole
 * pages; crn_fake_gpu_hide(NULL, 0) makes it accessible again.
 */
void crn_fake_gpu_hide(void *memory, size_t bytes);

#endif

/*
 * Devices without a GPU: crn_gpu on the process's own memory, its operators the processor's. What
 * is asked for is done later, piece by piece, each time somebody polls, as if it ran beside; graphs
 * are lists of what was asked for.
 */
#ifndef CRN_TESTS_SUPPORT_FAKE_GPU_H
#define CRN_TESTS_SUPPORT_FAKE_GPU_H

#include <stdatomic.h>

#include "gpu/gpu.h"

/* What is there now; all 0 when everything was given back. */
typedef struct crn_fake_gpu_use {
    atomic_int contexts, graphs, pinned, pins;
    atomic_int unpinned_early; /* of all time: while there still was a context, which may read it */
    atomic_int launches;       /* of all time */
    atomic_int batched;        /* views in them */
} crn_fake_gpu_use;

extern crn_fake_gpu_use crn_fake_gpu_used;

/* Added to the time between any two marks: steps that are as slow as a test needs them. */
extern _Atomic int64_t crn_fake_gpu_slower_ns;

/* A table of so many devices. `f32_only`: they cannot have maps of another type, as a device may
 * lack memory for a shape. One table at a time. */
const crn_gpu *crn_fake_gpu(int32_t devices, bool f32_only);

/* From now on a context gets no more than this at once; the next table gives any amount again. */
void crn_fake_gpu_limit(size_t bytes);

#endif

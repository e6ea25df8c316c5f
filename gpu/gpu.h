/*
 * The whole interface of the CUDA backend, in plain C: no CUDA type leaves this folder.
 *
 * Work is asked for and done later, in the order in which it was asked for, on the context's own
 * stream; what it reads and writes must stay until poll says 0. Functions that can fail return 0 or
 * a negative errno: -ENOMEM, -EINVAL, -ENODEV (the device is gone), -EIO (the device failed; some
 * failures stay with it, and everything asked later fails too).
 *
 * A context is one thread's at a time; that thread calls `use` first.
 */
#ifndef CRN_GPU_GPU_H
#define CRN_GPU_GPU_H

#include "stages/context.h"

/* Moments on a context's stream: crn_gpu.mark and elapsed. */
#define CRN_GPU_MARKS 32

typedef struct crn_gpu_device {
    char name[64];
    int32_t capability; /* 10 * major + minor: 90 */
    int32_t multiprocessors;
    size_t memory_bytes, l2_bytes;
} crn_gpu_device;

/* Work that was asked for once and is launched as often as one likes. */
typedef struct crn_gpu_graph crn_gpu_graph;

typedef struct crn_gpu {
    /*
     * On images in the device's memory (crn_context_scratch of the same context, or wherever it can
     * write), of a device's contexts: they return when the work is asked for. The first call with a
     * shape may wait and take memory; later ones do neither. crn_contours itself (its counts) and
     * its arrays must lie in pinned memory; of several views' contours it holds all, the plane of
     * view v being v * planes + plane.
     */
    const crn_ops *ops;

    int32_t (*count)(void); /* devices that the operators run on, numbered from 0 */
    int (*describe)(int32_t device, crn_gpu_device *ret_device);

    /* A context (free: crn_context_free) with a stream of its own, for so many views at once. It
     * is the calling thread's. -ENOEXEC: this build has no code for the device. */
    int (*context_create)(int32_t device, int32_t views, crn_context **ret_context);
    int (*use)(crn_context *context);

    /* Memory of the host that devices read and write: whole, or memory that is there already. */
    void *(*pinned_create)(size_t bytes); /* 64-byte aligned; NULL: there is none */
    void (*pinned_free)(void *memory);
    int (*pin)(void *memory, size_t bytes); /* whole pages; -EALREADY: it is, for all devices */
    void (*unpin)(void *memory);

    int (*upload)(crn_context *context, void *device, const void *host, size_t bytes);
    int (*download)(crn_context *context, void *host, const void *device, size_t bytes);
    int (*copy)(crn_context *context, void *to, const void *from, size_t bytes); /* both on it */

    /* 0: all is done. -EAGAIN: not yet. Else what failed. Never waits. */
    int (*poll)(crn_context *context);

    /* 0 <= mark < CRN_GPU_MARKS: a moment; elapsed between two that are done. */
    int (*mark)(crn_context *context, int32_t mark);
    int (*elapsed)(crn_context *context, int32_t from, int32_t to, int64_t *ret_ns);

    /*
     * Between record and recorded nothing runs: what is asked for becomes a graph (the caller's),
     * marks included. Memory must have been taken before, by asking for the same once. A graph is
     * void when crn_context_generation has grown; it must not outlive its context.
     */
    int (*record)(crn_context *context);
    int (*recorded)(crn_context *context, crn_gpu_graph **ret_graph); /* ends it, also on failure */
    int (*launch)(crn_context *context, crn_gpu_graph *graph);
    void (*graph_free)(crn_gpu_graph **graph); /* NULL is fine */

    /* Ranges on a profiler's time line; they nest, per thread. */
    void (*range_begin)(const char *name);
    void (*range_end)(void);
} crn_gpu;

/* The devices of this machine; NULL when this build or this machine has none, with *ret_why saying
 * why (static). */
const crn_gpu *crn_gpu_get(const char **ret_why);

/* A negative errno of these functions in words, with the cure where it has one of its own (static,
 * or strerror's). */
const char *crn_gpu_strerror(int error);

/* Polls until all is done: 0, what failed, or -ETIMEDOUT. Waits busily for the first 50 us, then
 * sleeps between looks. */
int crn_gpu_wait(const crn_gpu *gpu, crn_context *context, int64_t limit_ns);

/*
 * The operators on pictures in the process's own memory and with any context, done on the first
 * device when they return: uploaded, run, downloaded. NULL as crn_gpu_get. What they take on the
 * device stays with the context.
 */
const crn_ops *crn_gpu_ops(const char **ret_why);

/* How long the parts of the last of these operators took on the device: 0, or -EINVAL when none was
 * asked with that context. */
typedef struct crn_gpu_times {
    int64_t upload_ns, kernel_ns, download_ns;
} crn_gpu_times;

int crn_gpu_times_of(const crn_context *context, crn_gpu_times *ret_times);

#endif

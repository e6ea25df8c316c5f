/*
 * A GPU in front of the workers: it runs the enqueue halves of views in batches of one shape and
 * leaves their contours in pinned memory, which the workers' finish halves read.
 *
 * One thread makes all calls to the device, so that a call that never returns blocks nothing else:
 * the line's thread, which submits and collects, detects it by timeout, declares the device lost
 * and reclaims its views from its own records. The device only reads the views' slots, so the
 * workers can still run these views whole. No resource of a lost device is used or freed until the
 * process ends.
 *
 * A view of a new shape makes the device run that shape once and capture it as graphs, for every
 * batch size; after a reload so does the first view of every shape. That may allocate device
 * memory, load code and block, so the device takes no views meanwhile: they are refused and run on
 * the workers.
 */
#ifndef CRN_SRC_ENGINE_DEVICE_DEVICE_H
#define CRN_SRC_ENGINE_DEVICE_DEVICE_H

#include "gpu/gpu.h"
#include "stages/base/error.h"
#include "stages/chain/chain.h"
#include "src/engine/device/shape.h"
#include "src/ingest/view.h"

/* Upper bound on the views that a device holds, from crn_device_submit to crn_device_release. */
#define CRN_DEVICE_VIEWS 32

/* Batches in flight, each on its own stream: one uploads while another computes. */
#define CRN_DEVICE_SLOTS 4

/* What helps where other processes compute on a device. */
#define CRN_DEVICE_SHARED_CURE                                                                     \
    "under MPS leave a fifth of the GPU to cernitad (CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=80 for "    \
    "the "                                                                                         \
    "CNN), or start cernitad without MPS (CUDA_MPS_PIPE_DIRECTORY of an empty folder); "           \
    "gpu/README.md"

typedef struct crn_device crn_device;

typedef struct crn_device_slot crn_device_slot;

/* A view held by the device, which owns this struct. */
typedef struct crn_device_view {
    crn_view *view;
    /* 0: `enqueued` holds what finish needs. -EAGAIN: not this time, -ENOTSUP: the device cannot
     * run this shape at all (the reason is in the log); the view must run whole on a worker.
     * -ETIME: it was not written in time, or is not wanted any more. */
    int status;
    crn_device_result enqueued;
    crn_run_place place; /* if status is 0; `worker` is unset */
    /* Private to the device. Copies, because a lost device may still read them after the slot has
     * been reused for another view. */
    crn_device *device;
    crn_device_slot *slot;
    crn_shape shape;
    uint32_t lane, index;
    uint64_t fruit;
    const unsigned char *maps; /* in the device's memory if there is a signal */
    void *signal;              /* crn_view_on_gpu.signal; NULL: the maps are in host memory */
    void *received;            /* the maps as the batch has them, until it is finished */
    int64_t deadline_ns;
    bool used, inside; /* owned by the submitting thread: not released yet; not collected yet */
} crn_device_view;

/* The memory of all view slots, pinned for the device's copies where possible. */
typedef struct crn_device_memory {
    void *start; /* page-aligned; NULL for none */
    size_t bytes;
} crn_device_memory;

/* What a line's devices have in common. */
typedef struct crn_device_base {
    const crn_gpu *gpu;
    crn_device_memory memory;
    int done_descriptor; /* an eventfd, signalled when collect may return a view or a device is
                            lost */
} crn_device_base;

/*
 * Starts the device's thread, runs the chain on a synthetic view and returns once that succeeded.
 * Returns 0 or a negative errno with the reason in *error; after -ETIMEDOUT (the device does
 * not respond) what was started is deliberately left alone.
 */
int crn_device_open(const crn_config *config, const crn_device_base *base, int32_t number,
                    crn_device **ret_device, crn_error *error);

/*
 * Waits for the batches in flight, stops the thread, frees the device and sets *device to NULL;
 * NULL is allowed. No worker may read the device's results any more. Returns false if the device
 * was lost or its thread does not return: it may still access the views' memory, which must then
 * stay until the process ends.
 */
bool crn_device_close(crn_device **device);

/*
 * Copies these settings for the views that will have them; by any one thread, while views of other
 * slots (crn_config_slot) run. Returns 0, also for a lost device; -EBUSY while the device's thread
 * has not given the slot's former settings back; -ENOMEM.
 */
int crn_device_prepare(crn_device *device, const crn_config *config);

/* No view with settings of this slot is inside any more: the device's thread gives them back; by
 * the same thread. */
void crn_device_forget(crn_device *device, uint32_t slot);

/* --- for the submitting thread --- */

/* True if the device accepts a view now. */
bool crn_device_has_room(const crn_device *device);

/* Returns 0 if the device took the view, until collect or reclaim returns it; -EAGAIN if it is
 * full, -EBUSY while it prepares a shape, -ENODEV if it was lost. */
int crn_device_submit(crn_device *device, crn_view *view, int64_t now_ns);

/* Returns the next finished view or NULL; the caller owns it until crn_device_release. */
crn_device_view *crn_device_collect(crn_device *device);
void crn_device_release(crn_device_view *view);

/*
 * True if the device is lost: its thread reported a failure, or has been in one call for longer
 * than the limit. From then on submit and collect refuse. *ret_why is the reason, one clause in the
 * device's memory.
 */
bool crn_device_lost(crn_device *device, int64_t now_ns, const char **ret_why);

/* Returns the next view that a lost device never returned, NULL at the end. Nothing that the device
 * may still do affects the caller. */
crn_view *crn_device_reclaim(crn_device *device);

/* Batches so far that took more than half of the time after which the device counts as lost. */
uint64_t crn_device_slow(const crn_device *device);

/* When to call crn_device_lost again; CRN_NEVER_NS if the device holds no view. */
int64_t crn_device_wake_ns(const crn_device *device, int64_t now_ns);

const crn_gpu_device *crn_device_about(const crn_device *device);

/*
 * Measures the median time over `runs` synthetic views of that shape, from upload to result; with 0
 * runs it only checks that the thread responds. The device must hold no view. Blocks. Returns 0 or
 * a negative errno (the device is then lost, or does not support the shape).
 */
int crn_device_measure(crn_device *device, const crn_shape *shape, const void *maps, int32_t runs,
                       int64_t *ret_ns);

/* --- for a worker --- */

/* Tells the device that its results for a view of status 0
 * have been read; no effect for other views. */
void crn_device_finished(crn_device_view *view);

/*
 * Copies a view that lies in the device's memory to its host memory (crn_view_has_maps), once its
 * producer has written it. For the worker of that number, as the next: it waits, until the view's
 * deadline at most, and not at all while half of the workers have waited long for events that do
 * not come. Returns 0; -ETIME; -ECANCELED: it is not wanted any more; -ENODEV: the device is lost.
 */
int crn_device_copy_view(crn_device *device, int32_t worker, crn_view *view);

/* crn_sum_runs() over the maps of a view of status 0 that is not finished; arrays in any memory.
 * Of `in` all but the data counts. Returns as crn_device_copy_view. */
int crn_device_sum_runs(crn_device_view *from, int32_t worker, const crn_image *in,
                        const crn_run *runs, uint32_t count, crn_run_sum *sums);

/* Views copied to host memory so far. */
uint64_t crn_device_copied(const crn_device *device);

/* Pinned bytes that one device allocates. */
size_t crn_device_bytes(const crn_config *config);

#endif

/*
 * A GPU in front of the workers: it runs the enqueue halves of views, in batches of one shape, and
 * leaves contours in memory that the workers' finish halves read.
 *
 * One thread makes all calls to the device, so that a call which never returns stops nothing else:
 * the line's thread, which submits and collects, sees it by the clock, declares the device lost and
 * takes the views back from its own books. The device only ever reads their slots, so the workers
 * can run them whole. Of a lost device nothing is used or freed again until the process ends.
 *
 * A shape that is new is run once and recorded as graphs, for every batch size. That may take the
 * device's memory, load code and wait, so nothing else is on the device meanwhile: views are
 * refused and run on the workers.
 */
#ifndef CRN_SRC_ENGINE_DEVICE_H
#define CRN_SRC_ENGINE_DEVICE_H

#include "gpu/gpu.h"
#include "stages/base/error.h"
#include "src/chain/chain.h"
#include "src/ingest/view.h"

/* Views that a device has at once, from crn_device_submit to crn_device_release. */
#define CRN_DEVICE_VIEWS 32

/* Batches in flight at once, each with a stream of its own: one uploads while another computes. */
#define CRN_DEVICE_SLOTS 4

typedef struct crn_device crn_device;

/* What decides which graph a view needs. */
typedef struct crn_shape {
    int32_t height, width, channels;
    crn_type type;
    crn_layout layout;
} crn_shape;

crn_shape crn_shape_of(const crn_view_header *header);
bool crn_shape_same(const crn_shape *a, const crn_shape *b);
size_t crn_shape_bytes(const crn_shape *shape);

/* "95x511x12 f32 HWC": height, width, classes. */
#define CRN_SHAPE_TEXT 64
const char *crn_shape_text(const crn_shape *shape, char text[CRN_SHAPE_TEXT]);

typedef struct crn_device_slot crn_device_slot;

/* A view on its way through the device; the memory is the device's. */
typedef struct crn_device_view {
    crn_view *view;
    /* 0: `enqueued` holds what finish needs. -EAGAIN: not now, -ENOTSUP: never a view of this shape
     * (the device has said why in the log): to be run whole. */
    int status;
    crn_device_result enqueued;
    /* The rest is the device's own. Copies, because a lost device may still look at them when the
     * slot has its next view. */
    crn_device *device;
    crn_device_slot *slot;
    crn_shape shape;
    uint32_t lane, index;
    uint64_t fruit;
    const unsigned char *maps;
    int64_t deadline_ns;
    bool used, inside; /* the submitting thread's: not released yet; not collected yet */
} crn_device_view;

/* The memory that views' slots lie in, made fit for the device's own copies where it can be. */
typedef struct crn_device_memory {
    void *start; /* NULL: none; whole pages */
    size_t bytes;
} crn_device_memory;

/*
 * Starts the thread, which tries the chain on a made-up view, and returns when that went well.
 * `done_descriptor` is an eventfd that is rung when collect may find something or the device is
 * lost. 0, or a negative errno with why in *error (-ETIMEDOUT: the device does not answer; what was
 * begun is then left alone).
 */
int crn_device_open(const crn_config *config, const crn_gpu *gpu, int32_t number,
                    crn_device_memory memory, int done_descriptor, crn_device **ret_device,
                    crn_error *error);

/*
 * Ends the thread when what is in flight has ended, frees, nulls; NULL is fine. No worker may read
 * its results any more. False when the device was lost or its thread does not come back: it may
 * still look at the views' memory, which must then stay until the process ends.
 */
bool crn_device_close(crn_device **device);

/* --- for the submitting thread --- */

/* Whether it takes a view now. */
bool crn_device_has_room(const crn_device *device);

/* 0: the device has the view until collect or reclaim gives it back. -EAGAIN: it has enough.
 * -EBUSY: it prepares for a shape. -ENODEV: it was lost. */
int crn_device_submit(crn_device *device, crn_view *view, int64_t now_ns);

/* The next view that came back, NULL when none did; it is the caller's until crn_device_release. */
crn_device_view *crn_device_collect(crn_device *device);
void crn_device_release(crn_device_view *view);

/*
 * Whether the device is lost, by what its thread said or because it is in one call for longer than
 * the limit. From then on submit and collect refuse. *ret_why says what happened (the device's
 * memory, one clause).
 */
bool crn_device_lost(crn_device *device, int64_t now_ns, const char **ret_why);

/* Of a lost device: the next view that it had and never gave back, NULL at the end. Nothing that it
 * may still do reaches the caller. */
crn_view *crn_device_reclaim(crn_device *device);

/* Views that it has. */
int32_t crn_device_held(const crn_device *device);

/* When to ask crn_device_lost again; CRN_NEVER_NS: it has no view. */
int64_t crn_device_wake_ns(const crn_device *device, int64_t now_ns);

const crn_gpu_device *crn_device_about(const crn_device *device);

/*
 * How long the device takes for a view of that shape, made up, from the upload to the result: the
 * median of `runs`; with 0 runs its thread just answers. It must have no view. 0 or a negative
 * errno (the device is then lost, or cannot have the shape). Waits.
 */
int crn_device_measure(crn_device *device, const crn_shape *shape, const void *maps, int32_t runs,
                       int64_t *ret_ns);

/* --- for a worker --- */

/* The results of a view whose status is 0 are read; views of another status are left alone. */
void crn_device_finished(crn_device_view *view);

/* Pinned bytes that one device takes. */
size_t crn_device_bytes(const crn_config *config);

#endif

/**
 * @file
 * Interface of the CUDA backend in plain C: no CUDA type leaves this folder.
 *
 * Work is enqueued on the context's own stream and executed later, in order; memory that it reads
 * and writes must stay valid until poll returns 0. Functions that can fail return 0 or a negative
 * errno: -ENOMEM, -EINVAL, -ENODEV (the device is gone), -EIO (the device failed; some failures are
 * sticky, and everything enqueued later fails too).
 *
 * A context belongs to one thread at a time; that thread calls `use` first.
 */
#ifndef CRN_GPU_GPU_H
#define CRN_GPU_GPU_H

#include "stages/base/api.h"
#include "stages/context.h"

/** Number of timing events of a context: crn_gpu.record_event and elapsed. */
#define CRN_GPU_EVENTS 32

/** Properties of a device. */
typedef struct crn_gpu_device {
    char name[64];
    int32_t capability; /**< 10 * major + minor: 90 */
    int32_t multiprocessors;
    size_t memory_bytes, l2_bytes;
    unsigned char uuid[16];
    bool mps; /**< contexts of this process go through an MPS server, together with others' */
} crn_gpu_device;

/** Sizes of exported memory are multiples of it. */
#define CRN_GPU_EXPORT_UNIT ((size_t)2 << 20)

/** Bytes of the handle by which another process opens a signal. */
#define CRN_GPU_SIGNAL_BYTES 64

/** Device memory that other processes may map. */
typedef struct crn_gpu_export {
    void *memory;   /**< the device's; NULL: none */
    size_t bytes;   /**< as allocated, a multiple of CRN_GPU_EXPORT_UNIT */
    int descriptor; /**< of cuMemExportToShareableHandle(); the caller's to close */
    int32_t device;
} crn_gpu_export;

/** Captured work that can be launched any number of times. */
typedef struct crn_gpu_graph crn_gpu_graph;

/** The backend's functions; the head of this file lists their errors. */
typedef struct crn_gpu {
    /**
     * Operators on images in device memory (crn_context_scratch of the same context, or any memory
     * that the device can write), with device contexts. They return once the work is enqueued. The
     * first call with a shape may block and allocate; later ones do neither. crn_contours itself
     * (its counts) and its arrays must lie in pinned memory; with several views it holds the
     * contours of all, the plane of view v being v * planes + plane.
     */
    const crn_ops *ops;

    int32_t (*count)(void); /**< number of devices that the operators support, numbered from 0 */
    int (*describe)(int32_t device, crn_gpu_device *ret_device);

    /**
     * Number of processes that compute on the device; where there is an MPS server, of its clients
     * alone. This process is one of them if it has a context there, and with an MPS server in any
     * case. Asks the driver's management library, which takes milliseconds.
     *
     * @return -1: unknown
     */
    int32_t (*processes)(int32_t device);

    /**
     * Creates a context with its own stream and makes it current in the calling thread.
     *
     * @param views number of views that it works on at once
     * @param ret_context free it with crn_context_free()
     * @return 0 or negative errno; -ENOEXEC if this build has no code for the device
     */
    int (*context_create)(int32_t device, int32_t views, crn_context **ret_context);
    /** Makes the device of the context current in the calling thread. */
    int (*use)(crn_context *context);

    /** Pinned host memory that devices read and write: allocated, or registered by the caller. */
    void *(*pinned_create)(size_t bytes); /**< 64-byte aligned; NULL if out of memory */
    void (*pinned_free)(void *memory);
    /** Whole pages, for all devices, by a call to this one, which the thread then goes on calling.
     * -EALREADY: registered. */
    int (*pin)(int32_t device, void *memory, size_t bytes);
    void (*unpin)(void *memory); /**< by a thread that called the device */

    int (*upload)(crn_context *context, void *device, const void *host, size_t bytes);
    int (*download)(crn_context *context, void *host, const void *device, size_t bytes);
    int (*copy)(crn_context *context, void *to, const void *from, size_t bytes); /**< on device */

    /** 0 when all work is done, -EAGAIN while some is pending, else the error. Never blocks. */
    int (*poll)(crn_context *context);

    /** Records timing event `event` (0 <= event < CRN_GPU_EVENTS) on the stream. */
    int (*record_event)(crn_context *context, int32_t event);
    /** The time between two events, in ns; both must have completed. */
    int (*elapsed)(crn_context *context, int32_t from, int32_t to, int64_t *ret_ns);

    /**
     * Stream capture: between `begin_capture` and `end_capture` nothing is executed; the enqueued
     * work, events included, becomes a graph that the caller owns. `end_capture` must follow
     * `begin_capture` even after failures. Scratch memory must exist already, from the same calls
     * made once without capture. A graph is invalid once crn_context_generation has grown, and must
     * not outlive its context.
     */
    int (*begin_capture)(crn_context *context);
    int (*end_capture)(crn_context *context, crn_gpu_graph **ret_graph);
    int (*launch)(crn_context *context, crn_gpu_graph *graph);
    void (*graph_free)(crn_gpu_graph **graph); /**< NULL is allowed */

    /**
     * context_create for one view, on a stream of the caller's, which must outlive the context.
     *
     * @param stream a cudaStream_t of that device; NULL: the default stream
     */
    int (*context_create_on)(int32_t device, void *stream, crn_context **ret_context);

    /**
     * Samples the values of an image in device memory, for each view of the context. Can be
     * captured.
     *
     * @param in dense, u8, f16 or f32
     * @param probes one for each view, in pinned memory
     */
    int (*probe)(crn_context *context, const crn_image *in, crn_values_probe *probes);

    /** Memory of the device for at least so many bytes, contents undefined. -ENOTSUP: the device
     * or its driver cannot share memory. By any thread, as those below. */
    int (*export_create)(int32_t device, size_t bytes, crn_gpu_export *ret_export);
    /** Unmaps it and sets memory to NULL, which is allowed; what others mapped stays theirs. */
    void (*export_free)(crn_gpu_export *exported);

    /** An event that other processes record on streams of theirs, by its handle. Ends with its
     * maker's process. */
    int (*signal_create)(int32_t device, void **ret_signal,
                         unsigned char ret_handle[CRN_GPU_SIGNAL_BYTES]);
    /** 0: what was enqueued before its last record is done, or there was none; -EAGAIN: not yet. */
    int (*signal_query)(void *signal);
    void (*signal_free)(void *signal);
} crn_gpu;

/**
 * The CUDA backend (static).
 *
 * @param ret_why set to the reason (static) if there is no backend
 * @return NULL if this build or this machine has no usable device
 */
CRN_API const crn_gpu *crn_gpu_get(const char **ret_why);

/**
 * Whether crn_gpu_get() finds no device because the driver or the first device fails, as opposed to
 * a machine or build that has none.
 *
 * @param ret_why set to the driver's message if so; static
 */
CRN_API bool crn_gpu_is_failing(const char **ret_why);

/**
 * Text for a negative errno of these functions, with the cure where there is a specific one.
 *
 * @return static, or strerror's
 */
CRN_API const char *crn_gpu_strerror(int error);

/**
 * Polls until all work is done; spins for the first 50 us, then sleeps between polls.
 *
 * @return 0, the device's error, or -ETIMEDOUT after limit_ns
 */
CRN_API int crn_gpu_wait(const crn_gpu *gpu, crn_context *context, int64_t limit_ns);

/**
 * The operators on images in host memory, with any context: they upload, run on device 0,
 * download, and return when all that is done. Their device memory is freed with the context.
 *
 * @return static; NULL as crn_gpu_get()
 */
const crn_ops *crn_gpu_ops(const char **ret_why);

/** Durations of the phases of an operator on the device. */
typedef struct crn_gpu_times {
    int64_t upload_ns, kernel_ns, download_ns;
} crn_gpu_times;

/**
 * The times of the last crn_gpu_ops() operator with that context.
 *
 * @return 0, or -EINVAL if there was none
 */
CRN_API int crn_gpu_times_of(const crn_context *context, crn_gpu_times *ret_times);

#endif

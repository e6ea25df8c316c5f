/*
 * Shared by the operators' .cu files: the device behind a context, errors, constants, launches.
 *
 * An operator is an extern "C" function of its type in ops.h, on device images. It checks its
 * arguments as its counterparts do (crn_<operator>_check), takes scratch memory with
 * crn_context_scratch (slots 0 to 15), launches on crn_gpu_stream and returns. On the first call
 * with a shape it may allocate and upload constants, which blocks; later calls only enqueue kernels
 * and copies, so that they can be captured into a graph. It processes crn_context_views images at
 * once, in one launch wherever a single image takes one; view v of an image begins
 * crn_gpu_view_stride elements after view v - 1. With one view images may have any strides, with
 * several they must be dense (-EINVAL otherwise).
 */
#ifndef CRN_GPU_DEVICE_CUH
#define CRN_GPU_DEVICE_CUH

#include <cuda_runtime.h>

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include "gpu/gpu.h"
#include "stages/context.h"
#include "stages/ops.h"
}

/* Properties that differ between devices. */
typedef struct crn_gpu_limits {
    int32_t device;     /* its number */
    int32_t capability; /* of the device, or of the code that it runs if that was built for less;
                           from 90 on, the code uses Hopper's instructions */
    int32_t multiprocessors;
    size_t shared_bytes; /* maximum dynamic shared memory per block, after crn_gpu_allow_shared */
} crn_gpu_limits;

/* NULL if the context is not a device's (an operator then returns -EINVAL). */
const crn_gpu_limits *crn_gpu_limits_of(const crn_context *context);

cudaStream_t crn_gpu_stream(const crn_context *context);

/* Largest array that crn_gpu_constants accepts. */
#define CRN_GPU_CONSTANT_BYTES_MAX ((size_t)4 << 20)

/*
 * Returns a device copy of the caller's bytes (kernel weights, an element's pixels, levels). The
 * first call with these bytes uploads them and waits; later calls find them by content. NULL if
 * there are more than CRN_GPU_CONSTANT_BYTES_MAX bytes or memory is short. Up to about 1 KiB is
 * better passed as a kernel argument, which is free.
 */
const void *crn_gpu_constants(crn_context *context, const void *bytes, size_t count);

/* Maps a CUDA error to 0 or a negative errno (gpu.h). */
int crn_gpu_errno(cudaError_t error);

/* Returns and clears this thread's last launch error. */
int crn_gpu_launch_error(void);

/* Raises the kernel's limit of dynamic shared memory. Call it before each launch with more than 48
 * KiB; the driver is asked only once per kernel, context and larger size. */
int crn_gpu_allow_shared(const crn_context *context, const void *kernel, size_t bytes);

/* Launches the kernel with that much dynamic shared memory. 0 or a negative errno. */
template <typename JOB>
static inline int crn_gpu_launch_kernel(const crn_context *context, void (*kernel)(JOB),
                                        dim3 blocks, int32_t threads, size_t shared_bytes,
                                        const JOB &job)
{
    int r = crn_gpu_allow_shared(context, reinterpret_cast<const void *>(kernel), shared_bytes);
    if (r < 0)
        return r;
    kernel<<<blocks, (unsigned)threads, shared_bytes, crn_gpu_stream(context)>>>(job);
    return crn_gpu_launch_error();
}

/* Elements from one view to the next. */
static inline ptrdiff_t crn_gpu_view_stride(const crn_image *image)
{
    return (ptrdiff_t)crn_image_elements(image);
}

static inline int32_t crn_gpu_blocks(int64_t work, int64_t per_block)
{
    return (int32_t)((work + per_block - 1) / per_block);
}

/* 0, or -EINVAL unless the context is a device's and several views are dense; for operators whose
 * other arguments are sound. `out` NULL: no image. */
static inline int crn_gpu_check(const crn_context *context, const crn_image *in,
                                const crn_image *out)
{
    bool dense = crn_image_is_dense(in) && (!out || crn_image_is_dense(out));
    bool is_usable = context && crn_gpu_limits_of(context);
    return is_usable && (dense || crn_context_views(context) == 1) ? 0 : -EINVAL;
}

/* The operators (ops.h) on device images. */
extern "C" {
crn_contours_fn crn_contours_cuda;
crn_morphology_fn crn_morphology_cuda;
crn_convolve_fn crn_convolve_cuda;
crn_haar_fn crn_haar_cuda;
crn_ranklet_fn crn_ranklet_cuda;
crn_diamond_square_fn crn_diamond_square_cuda;
crn_widen_fn crn_widen_cuda;
crn_narrow_fn crn_narrow_cuda;
crn_sum_runs_fn crn_sum_runs_cuda;
crn_mean_boxes_fn crn_mean_boxes_cuda;
crn_see_values_fn crn_see_values_cuda;
}

#endif

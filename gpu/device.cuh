/*
 * What the operators' .cu files share: the device behind a context, errors, constants, launches.
 *
 * An operator here is an extern "C" function of the type in ops.h over device images. It checks its
 * arguments as its twins do (crn_<operator>_check), takes scratch memory with crn_context_scratch
 * (slots 0 to 15), launches on crn_gpu_stream and returns. With a shape that it has not seen before
 * it may take memory and upload constants, which waits; later it does nothing but launch kernels
 * and copies, so that a graph can be recorded of it. It works on crn_context_views pictures at
 * once, in one launch where it works on one in one launch; view v of an image begins
 * crn_gpu_view_stride elements after view v - 1. With one view images have any strides, with more
 * they are dense (-EINVAL else).
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

/* What can differ from device to device. */
typedef struct crn_gpu_limits {
    int32_t device;     /* its number */
    int32_t capability; /* the device's, or the code's that it runs where that was built for less;
                           90: Hopper's own instructions are in it */
    int32_t multiprocessors;
    size_t shared_bytes; /* most shared memory of a block, after crn_gpu_allow_shared */
} crn_gpu_limits;

/* NULL: the context is no device's (an operator then returns -EINVAL). */
const crn_gpu_limits *crn_gpu_limits_of(const crn_context *context);

cudaStream_t crn_gpu_stream(const crn_context *context);

/* What crn_gpu_constants takes at once. */
#define CRN_GPU_CONSTANT_BYTES_MAX ((size_t)4 << 20)

/*
 * The caller's bytes (kernel weights, an element's pixels, levels) on the device, uploaded, and
 * waited for, when they are seen for the first time and found by their content from then on. NULL
 * when they are more than CRN_GPU_CONSTANT_BYTES_MAX or memory is short. What fits is better passed
 * as the kernel's own argument, which is free: up to about 1 KiB.
 */
const void *crn_gpu_constants(crn_context *context, const void *bytes, size_t count);

/* 0 or a negative errno (gpu.h). */
int crn_gpu_errno(cudaError_t error);

/* Of the launches since it was last asked, on this thread. */
int crn_gpu_launch_error(void);

/* Lets a kernel have that much dynamic shared memory; to be called before each launch with more
 * than 48 KiB: it asks the driver only once per kernel, context and larger size. */
int crn_gpu_allow_shared(const crn_context *context, const void *kernel, size_t bytes);

/* Launches it with that much dynamic shared memory; 0 or a negative errno. */
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

/* The operators (ops.h) on device images. */
extern "C" {
crn_contours_fn crn_contours_cuda;
crn_morphology_fn crn_morphology_cuda;
crn_convolve_fn crn_convolve_cuda;
crn_haar_fn crn_haar_cuda;
crn_ranklet_fn crn_ranklet_cuda;
crn_diamond_square_fn crn_diamond_square_cuda;
crn_widen_fn crn_widen_cuda;
}

#endif

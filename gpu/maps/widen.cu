/* Conversion of binary16 to f32. */
#include "gpu/device.cuh"

#include <cuda_fp16.h>

#define THREADS 256

/* Two elements per thread: maps usually have an even number of elements, and a pair is
 * one load and one store. */
static __global__ void widen(const __half *halves, float *floats, int64_t count)
{
    int64_t i = 2 * ((int64_t)blockIdx.x * THREADS + threadIdx.x);
    if (i + 1 < count) {
        __half2 pair = *reinterpret_cast<const __half2 *>(halves + i);
        *reinterpret_cast<float2 *>(floats + i) = __half22float2(pair);
    } else if (i < count) {
        floats[i] = __half2float(halves[i]);
    }
}

int crn_widen_cuda(crn_context *context, const crn_image *in, crn_image *out)
{
    if (!crn_gpu_limits_of(context))
        return -EINVAL;
    int64_t count = (int64_t)crn_image_elements(in) * crn_context_views(context);
    widen<<<crn_gpu_blocks(count, 2 * THREADS), THREADS, 0, crn_gpu_stream(context)>>>(
        static_cast<const __half *>(in->data), static_cast<float *>(out->data), count);
    return crn_gpu_launch_error();
}

/* Conversion of maps of probabilities to 8 bits. */
#include "gpu/maps/maps.cuh"

#define THREADS 256

/* Arguments of the kernel. */
typedef struct narrow_job {
    crn_image in;
    uint8_t *out; /* dense, planar */
    int64_t count;
} narrow_job;

/* 255 p rounded half to even; fmax takes 0 for NaN. */
static __device__ uint8_t to_8_bits(float probability)
{
    double value = 255.0 * (double)probability; /* exact */
    return (uint8_t)__double2int_rn(fmin(fmax(value, 0.0), 255.0));
}

template <typename PIXEL> static __global__ void narrow(narrow_job job)
{
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= job.count)
        return;
    int64_t row = i / job.in.width;
    ptrdiff_t x = i % job.in.width, y = row % job.in.height, plane = row / job.in.height;
    const PIXEL *pixels = static_cast<const PIXEL *>(job.in.data);
    job.out[i] = to_8_bits(crn_map_value(
        pixels[plane * job.in.plane_stride + y * job.in.row_stride + x * job.in.step]));
}

int crn_narrow_cuda(crn_context *context, const crn_image *in, crn_image *out)
{
    if (!crn_gpu_limits_of(context) || crn_context_views(context) != 1 ||
        (in->type != CRN_F16 && in->type != CRN_F32))
        return -EINVAL;
    narrow_job job = {*in, static_cast<uint8_t *>(out->data), (int64_t)crn_image_elements(in)};
    return crn_gpu_launch_kernel(context, in->type == CRN_F16 ? narrow<__half> : narrow<float>,
                                 dim3((unsigned)crn_gpu_blocks(job.count, THREADS)), THREADS, 0,
                                 job);
}

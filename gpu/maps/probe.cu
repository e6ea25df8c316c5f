/* Samples of each view's values for the host, which then needs not the view: crn_values_probe. */
#include "gpu/maps/maps.cuh"

#include "gpu/device_internal.cuh"

/* Arguments of the kernel. */
typedef struct probe_job {
    const void *in;
    int64_t pixels;
    int32_t channels;
    int64_t pixel_step, channel_step; /* elements */
    crn_values_probe *probes;         /* in pinned memory */
} probe_job;

static __device__ uint32_t bits_of(uint8_t value)
{
    return value;
}

static __device__ uint32_t bits_of(__half value)
{
    return __half_as_ushort(value);
}

static __device__ uint32_t bits_of(float value)
{
    return __float_as_uint(value);
}

/* In the order of additions of the CPU. */
template <typename PIXEL> static __device__ float sum_of(const PIXEL *at, const probe_job &job)
{
    float sum = 0;
    for (int32_t c = 0; c < job.channels; c++)
        sum += crn_map_value(at[c * job.channel_step]);
    return sum;
}

template <> __device__ float sum_of(const uint8_t *at, const probe_job &job)
{
    uint32_t sum = 0;
    for (int32_t c = 0; c < job.channels; c++)
        sum += at[c * job.channel_step];
    return (float)sum / 255.0f;
}

/* A thread for each sample, one block for each view. */
template <typename PIXEL> static __global__ void probe(probe_job job)
{
    const int32_t i = (int32_t)threadIdx.x;
    const int64_t pixel = (2 * i + 1) * job.pixels / (2 * CRN_VALUES_PROBES);
    const PIXEL *at = static_cast<const PIXEL *>(job.in) +
                      (int64_t)blockIdx.x * job.pixels * job.channels + pixel * job.pixel_step;
    crn_values_probe *out = job.probes + blockIdx.x;
    out->bits[i] = bits_of(at[i % job.channels * job.channel_step]);
    out->sums[i] = sum_of(at, job);
}

int crn_gpu_probe(crn_context *context, const crn_image *in, crn_values_probe *probes)
{
    if (!crn_gpu_limits_of(context) || !crn_image_is_dense(in) ||
        (in->type != CRN_U8 && in->type != CRN_F16 && in->type != CRN_F32))
        return -EINVAL;
    probe_job job = {
        in->data, (int64_t)in->height * in->width, in->planes, in->step, in->plane_stride, probes};
    void (*kernel)(probe_job) = in->type == CRN_U8    ? probe<uint8_t>
                                : in->type == CRN_F16 ? probe<__half>
                                                      : probe<float>;
    return crn_gpu_launch_kernel(context, kernel, dim3((unsigned)crn_context_views(context)),
                                 CRN_VALUES_PROBES, 0, job);
}

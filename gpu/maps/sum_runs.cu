/* Sums over runs of pixels, in the order of additions that ops.h defines. */
#include "gpu/maps/maps.cuh"

#include <float.h>

#define THREADS 128
/* Loads in flight per thread, to hide their latency. */
#define BATCH 16

/* Arguments of the kernels. */
typedef struct runs_job {
    crn_image in;
    const crn_run *runs; /* in pinned memory, as `sums` */
    crn_run_sum *sums;
    uint32_t count;
} runs_job;

static __device__ crn_run run_at(const runs_job &job, uint32_t index)
{
    int4 run = *reinterpret_cast<const int4 *>(&job.runs[index]); /* one access over the bus */
    return {run.x, run.y, run.z, run.w};
}

static __device__ void store(const runs_job &job, uint32_t index, double sum, uint32_t pixels)
{
    longlong2 both = make_longlong2(__double_as_longlong(sum), (long long)pixels);
    *reinterpret_cast<longlong2 *>(&job.sums[index]) = both;
}

static __device__ ptrdiff_t index_of(const crn_image &image, const crn_run &run)
{
    return run.plane * image.plane_stride + run.y * image.row_stride + run.x0 * image.step;
}

/* Four threads per run, each of which adds every fourth pixel in order. */
template <typename PIXEL> static __global__ void sum_floats(runs_job job)
{
    uint32_t index = (blockIdx.x * THREADS + threadIdx.x) / 4;
    crn_run run = {};
    if (index < job.count)
        run = run_at(job, index);
    const PIXEL *pixels = static_cast<const PIXEL *>(job.in.data) + index_of(job.in, run);
    const int32_t length = run.x1 - run.x0;
    double sum = 0;
    uint32_t finite = 0;
    for (int32_t i = threadIdx.x % 4; i < length; i += 4 * BATCH) {
        float values[BATCH];
#pragma unroll
        for (int32_t j = 0; j < BATCH; j++) {
            int32_t at = i + 4 * j;
            values[j] = at < length ? crn_map_value(pixels[at * job.in.step]) : INFINITY;
        }
#pragma unroll
        for (int32_t j = 0; j < BATCH; j++)
            if (fabsf(values[j]) <= FLT_MAX) {
                sum += (double)values[j];
                finite++;
            }
    }
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    finite += __shfl_xor_sync(0xffffffffu, finite, 1);
    finite += __shfl_xor_sync(0xffffffffu, finite, 2);
    if (index < job.count && threadIdx.x % 4 == 0)
        store(job, index, sum, finite);
}

/* A warp per run: sums of integers are exact in any order. */
template <typename PIXEL> static __global__ void sum_integers(runs_job job)
{
    uint32_t index = (blockIdx.x * THREADS + threadIdx.x) / 32;
    if (index >= job.count)
        return;
    const crn_run run = run_at(job, index);
    const PIXEL *pixels = static_cast<const PIXEL *>(job.in.data) + index_of(job.in, run);
    const int32_t length = run.x1 - run.x0;
    unsigned long long sum = 0;
    for (int32_t i = threadIdx.x % 32; i < length; i += 32 * BATCH) {
#pragma unroll
        for (int32_t j = 0; j < BATCH; j++) {
            int32_t at = i + 32 * j;
            sum += at < length ? pixels[at * job.in.step] : 0;
        }
    }
    for (int32_t reach = 16; reach > 0; reach /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, reach);
    if (threadIdx.x % 32 == 0)
        store(job, index, (double)sum, (uint32_t)length);
}

int crn_sum_runs_cuda(crn_context *context, const crn_image *in, const crn_run *runs,
                      uint32_t count, crn_run_sum *sums)
{
    if (!crn_gpu_limits_of(context) || crn_context_views(context) != 1)
        return -EINVAL;
    if (count == 0)
        return 0;
    runs_job job = {*in, runs, sums, count};
    void (*kernel)(runs_job) = in->type == CRN_U8    ? sum_integers<uint8_t>
                               : in->type == CRN_U16 ? sum_integers<uint16_t>
                               : in->type == CRN_F16 ? sum_floats<__half>
                                                     : sum_floats<float>;
    bool is_integer = in->type == CRN_U8 || in->type == CRN_U16;
    int32_t blocks = crn_gpu_blocks(count, THREADS / (is_integer ? 32 : 4));
    return crn_gpu_launch_kernel(context, kernel, dim3((unsigned)blocks), THREADS, 0, job);
}

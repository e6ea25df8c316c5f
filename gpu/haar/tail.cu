/* All remaining levels of few pixels, one CTA per plane (haar.cuh). */
#include "gpu/haar/grid.cuh"

#define THREADS 1024

/* A grid over one plane, in place in the pixels' memory. */
static __device__ crn_haar_grid tail_grid_of(const crn_gpu_haar_job &job, int32_t plane,
                                             int32_t view_index)
{
    crn_haar_grid grid = {crn_haar_at<float>(job.pixels, plane, view_index),
                          job.pixels.row_stride,
                          job.pixels.step,
                          job.height,
                          job.width,
                          1,
                          0,
                          0,
                          0};
    return grid;
}

static __device__ crn_haar_channels plane_of(const crn_haar_view &view)
{
    crn_haar_channels channels = {view.row_stride, view.step, 0, 1};
    return channels;
}

static __global__ void __launch_bounds__(THREADS)
    tail_forward_kernel(const __grid_constant__ crn_gpu_haar_job job)
{
    int32_t plane = (int32_t)blockIdx.x % job.packs, view_index = (int32_t)blockIdx.x / job.packs;
    crn_haar_grid grid = tail_grid_of(job, plane, view_index);
    float *details = crn_haar_at<float>(job.details, plane, view_index);
    for (int32_t j = 0; j < job.levels; j++) {
        crn_haar_grid_forward(job, grid, j, details, plane_of(job.details));
        __syncthreads();
    }
    float *averages = crn_haar_at<float>(job.averages, plane, view_index);
    crn_haar_grid_averages(job, grid, job.levels, plane_of(job.averages),
                           [=](float &value, ptrdiff_t at) { averages[at] = value; });
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    tail_inverse_kernel(const __grid_constant__ crn_gpu_haar_job job)
{
    int32_t plane = (int32_t)blockIdx.x % job.packs, view_index = (int32_t)blockIdx.x / job.packs;
    crn_haar_grid grid = tail_grid_of(job, plane, view_index);
    const T *averages = crn_haar_at<const T>(job.averages, plane, view_index);
    const T *details = crn_haar_at<const T>(job.details, plane, view_index);
    bool unit = job.unit;
    crn_haar_grid_averages(
        job, grid, job.levels, plane_of(job.averages),
        [=](float &value, ptrdiff_t at) { value = crn_haar_element(averages + at, unit); });
    for (int32_t j = job.levels - 1; j >= 0; j--) {
        __syncthreads();
        crn_haar_grid_inverse(job, grid, j, details, plane_of(job.details));
    }
}

static __global__ void __launch_bounds__(THREADS)
    tail_denoise_kernel(const __grid_constant__ crn_gpu_haar_job job)
{
    crn_haar_grid grid =
        tail_grid_of(job, (int32_t)blockIdx.x % job.packs, (int32_t)blockIdx.x / job.packs);
    for (int32_t j = 0; j < job.levels; j++) {
        crn_haar_grid_soft_threshold(job, grid, j);
        __syncthreads();
    }
    for (int32_t j = job.levels - 1; j >= 0; j--) {
        crn_haar_grid_inverse<float>(job, grid, j, nullptr, plane_of(job.pixels));
        __syncthreads();
    }
}

typedef void kernel_fn(crn_gpu_haar_job job);

int crn_haar_launch_tail(crn_context *context, crn_haar_direction direction, bool u8,
                         const crn_gpu_haar_job *job)
{
    kernel_fn *kernel = direction == CRN_HAAR_FORWARD   ? tail_forward_kernel
                        : direction == CRN_HAAR_DENOISE ? tail_denoise_kernel
                        : u8                            ? tail_inverse_kernel<uint8_t>
                                                        : tail_inverse_kernel<float>;
    int64_t ctas = (int64_t)job->packs * job->views;
    if (ctas > INT32_MAX)
        return -EINVAL;
    kernel<<<(uint32_t)ctas, THREADS, 0, crn_gpu_stream(context)>>>(*job);
    return crn_gpu_launch_error();
}

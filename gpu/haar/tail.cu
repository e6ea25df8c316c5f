/* All remaining levels of few pixels, one CTA per plane (haar.cuh). */
#include "gpu/haar/grid.cuh"

#define THREADS 1024

/* A grid over one plane, in place in the pixels' memory. */
static __device__ crn_haar_grid rest_of(const crn_gpu_haar_job &job, int32_t plane, int32_t picture)
{
    crn_haar_grid grid = {crn_haar_at<float>(job.pixels, plane, picture),
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
    rest_forward_kernel(const __grid_constant__ crn_gpu_haar_job job)
{
    int32_t plane = (int32_t)blockIdx.x % job.lanes, picture = (int32_t)blockIdx.x / job.lanes;
    crn_haar_grid grid = rest_of(job, plane, picture);
    float *details = crn_haar_at<float>(job.details, plane, picture);
    for (int32_t j = 0; j < job.levels; j++) {
        crn_haar_grid_forward(job, grid, j, details, plane_of(job.details));
        __syncthreads();
    }
    float *averages = crn_haar_at<float>(job.averages, plane, picture);
    crn_haar_grid_averages(job, grid, job.levels, plane_of(job.averages),
                           [=](float &value, ptrdiff_t at) { averages[at] = value; });
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    rest_inverse_kernel(const __grid_constant__ crn_gpu_haar_job job)
{
    int32_t plane = (int32_t)blockIdx.x % job.lanes, picture = (int32_t)blockIdx.x / job.lanes;
    crn_haar_grid grid = rest_of(job, plane, picture);
    const T *averages = crn_haar_at<const T>(job.averages, plane, picture);
    const T *details = crn_haar_at<const T>(job.details, plane, picture);
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
    rest_denoise_kernel(const __grid_constant__ crn_gpu_haar_job job)
{
    crn_haar_grid grid =
        rest_of(job, (int32_t)blockIdx.x % job.lanes, (int32_t)blockIdx.x / job.lanes);
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
    kernel_fn *kernel = direction == CRN_HAAR_FORWARD   ? rest_forward_kernel
                        : direction == CRN_HAAR_DENOISE ? rest_denoise_kernel
                        : u8                            ? rest_inverse_kernel<uint8_t>
                                                        : rest_inverse_kernel<float>;
    int64_t ctas = (int64_t)job->lanes * job->views;
    if (ctas > INT32_MAX)
        return -EINVAL;
    kernel<<<(uint32_t)ctas, THREADS, 0, crn_gpu_stream(context)>>>(*job);
    return crn_gpu_launch_error();
}

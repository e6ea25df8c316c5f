/* Kernels of the Haar transform (haar.cuh). */
#include "gpu/haar/block.cuh"
#include "gpu/haar/grid.cuh"

/* A CTA's tile, and a thread's block in it. */
typedef struct gpu_haar_tile {
    int32_t y, x;           /* of the tile's first pixel */
    int32_t group, picture; /* group of lanes, and view */
    int32_t block_y, block_x, slot;
} gpu_haar_tile;

template <int N>
static __device__ __forceinline__ gpu_haar_tile tile_of(const crn_gpu_haar_job &job)
{
    gpu_haar_tile t;
    uint32_t at = blockIdx.x, across = (uint32_t)job.tiles_across, down = (uint32_t)job.tiles_down;
    t.x = (int32_t)(at % across) * (N << job.across_log2);
    at /= across;
    t.y = (int32_t)(at % down) * (N << job.down_log2);
    at /= down;
    t.group = (int32_t)(at % (uint32_t)job.lane_groups);
    t.picture = (int32_t)(at / (uint32_t)job.lane_groups);
    uint32_t block = threadIdx.x / (uint32_t)job.lanes_per_cta;
    t.slot = (int32_t)(threadIdx.x % (uint32_t)job.lanes_per_cta);
    t.block_y = (int32_t)(block >> job.across_log2);
    t.block_x = (int32_t)(block & ((1u << job.across_log2) - 1));
    return t;
}

template <int N> struct log2_of {
    static constexpr int value = N == 8 ? 3 : 2;
};

/* Position of a thread's block in the image. */
typedef struct spot {
    int32_t y, x, lane;
    bool there; /* at least one pixel lies inside */
    crn_haar_reach reach;
} spot;

template <int N>
static __device__ __forceinline__ spot spot_of(const crn_gpu_haar_job &job, const gpu_haar_tile &t)
{
    spot s;
    s.y = t.y + N * t.block_y;
    s.x = t.x + N * t.block_x;
    s.lane = t.group * job.lanes_per_cta + t.slot;
    s.there = s.y < job.height && s.x < job.width && s.lane < job.lanes;
    bool whole = job.height - s.y >= N && job.width - s.x >= N;
    s.reach = whole ? (job.aligned ? CRN_HAAR_ROWS : CRN_HAAR_WHOLE) : CRN_HAAR_EDGE;
    return s;
}

template <crn_haar_reach REACH> struct reach_is {
    static constexpr crn_haar_reach value = REACH;
};

/* Calls `what` with the block's reach. Launches with unaligned rows have blocks of 4 x 4. */
template <int N, int VEC, typename WHAT>
static __device__ __forceinline__ void at_reach(const spot &s, WHAT what)
{
    if (VEC == 1 && s.reach == CRN_HAAR_ROWS)
        what(reach_is < VEC == 1 ? CRN_HAAR_ROWS : CRN_HAAR_EDGE > ());
    else if (N == 4 && s.reach == CRN_HAAR_WHOLE)
        what(reach_is < N == 4 ? CRN_HAAR_WHOLE : CRN_HAAR_EDGE > ());
    else
        what(reach_is<CRN_HAAR_EDGE>());
}

/* The averages of the CTA's blocks, in shared memory. */
template <int N, int VEC>
static __device__ __forceinline__ crn_haar_grid grid_of(const crn_gpu_haar_job &job,
                                                        const gpu_haar_tile &t, float *shared)
{
    constexpr int LEVELS = log2_of<N>::value;
    int32_t channels = job.lanes_per_cta * VEC, across = 1 << job.across_log2;
    crn_haar_grid grid = {shared,       (ptrdiff_t)across * channels,
                          channels,     1 << job.down_log2,
                          across,       channels,
                          LEVELS,       t.y >> LEVELS,
                          t.x >> LEVELS};
    return grid;
}

template <int VEC>
static __device__ __forceinline__ crn_haar_channels channels_of(const crn_gpu_haar_job &job,
                                                                const gpu_haar_tile &t,
                                                                const crn_haar_view &view)
{
    crn_haar_channels channels = {view.row_stride, view.step, VEC == 1 ? view.lane_stride : 1,
                                  VEC * (job.lanes - t.group * job.lanes_per_cta)};
    return channels;
}

template <typename T>
static __device__ __forceinline__ T *group_at(const crn_gpu_haar_job &job, const gpu_haar_tile &t,
                                              const crn_haar_view &view)
{
    return crn_haar_at<T>(view, t.group * job.lanes_per_cta, t.picture);
}

/* A block's average in the grid. */
static __device__ __forceinline__ float *slot_of(const crn_haar_grid &grid, const gpu_haar_tile &t,
                                                 int vec)
{
    return grid.at + t.block_y * grid.row_stride + t.block_x * grid.step + t.slot * vec;
}

/* --- a block's quadrants --- */

template <int K, crn_haar_reach REACH, int N, int VEC>
static __device__ __forceinline__ void store_details(const crn_gpu_haar_job &job, const spot &s,
                                                     float *details,
                                                     const float (&block)[N][N][VEC])
{
    constexpr int S = 1 << (K - 1);
    const crn_haar_view &view = job.details;
    crn_haar_store<K, REACH>(block, 0, S, details,
                             crn_haar_window_of(job, view, s.y, s.x, K, false, true));
    crn_haar_store<K, REACH>(block, S, 0, details,
                             crn_haar_window_of(job, view, s.y, s.x, K, true, false));
    crn_haar_store<K, REACH>(block, S, S, details,
                             crn_haar_window_of(job, view, s.y, s.x, K, true, true));
}

template <int K, crn_haar_reach REACH, int N, int VEC, typename T>
static __device__ __forceinline__ void load_details(const crn_gpu_haar_job &job, const spot &s,
                                                    const T *details, float (&block)[N][N][VEC])
{
    constexpr int S = 1 << (K - 1);
    const crn_haar_view &view = job.details;
    crn_haar_load<K, REACH>(block, 0, S, details,
                            crn_haar_window_of(job, view, s.y, s.x, K, false, true), job.unit);
    crn_haar_load<K, REACH>(block, S, 0, details,
                            crn_haar_window_of(job, view, s.y, s.x, K, true, false), job.unit);
    crn_haar_load<K, REACH>(block, S, S, details,
                            crn_haar_window_of(job, view, s.y, s.x, K, true, true), job.unit);
}

template <int K, crn_haar_reach REACH, int N, int VEC>
static __device__ __forceinline__ void store_averages(const crn_gpu_haar_job &job, const spot &s,
                                                      const crn_haar_view &view, float *to,
                                                      const float (&block)[N][N][VEC])
{
    crn_haar_store<K, REACH>(block, 0, 0, to,
                             crn_haar_window_of(job, view, s.y, s.x, K, false, false));
}

template <int K, crn_haar_reach REACH, int N, int VEC, typename T>
static __device__ __forceinline__ void load_averages(const crn_gpu_haar_job &job, const spot &s,
                                                     const crn_haar_view &view, const T *from,
                                                     float (&block)[N][N][VEC])
{
    crn_haar_load<K, REACH>(block, 0, 0, from,
                            crn_haar_window_of(job, view, s.y, s.x, K, false, false), job.unit);
}

/* --- forward --- */

template <int K, crn_haar_reach REACH, int N, int VEC>
static __device__ __forceinline__ void forward_levels(const crn_gpu_haar_job &job, const spot &s,
                                                      float *details, float *averages,
                                                      float (&block)[N][N][VEC])
{
    if (job.levels == K)
        store_averages<K, REACH>(job, s, job.averages, averages, block);
    if constexpr (K < log2_of<N>::value) {
        if (job.levels > K) {
            crn_haar_forward<K, REACH, false>(block, crn_haar_halved(job.height, K) - (s.y >> K),
                                              crn_haar_halved(job.width, K) - (s.x >> K), 0);
            if (details)
                store_details<K + 1, REACH>(job, s, details, block);
            forward_levels<K + 1, REACH>(job, s, details, averages, block);
        }
    }
}

template <crn_haar_reach REACH, int N, int VEC, typename T>
static __device__ __forceinline__ void forward_block(const crn_gpu_haar_job &job,
                                                     const gpu_haar_tile &t, const spot &s,
                                                     float (&average)[VEC])
{
    float block[N][N][VEC];
    load_averages<0, REACH>(job, s, job.pixels, crn_haar_at<const T>(job.pixels, s.lane, t.picture),
                            block);
    float *details =
        job.details.data ? crn_haar_at<float>(job.details, s.lane, t.picture) : nullptr;
    forward_levels<0, REACH>(job, s, details, crn_haar_at<float>(job.averages, s.lane, t.picture),
                             block);
#pragma unroll
    for (int v = 0; v < VEC; v++)
        average[v] = block[0][0][v];
}

template <int N, int VEC, typename T>
static __global__ void __launch_bounds__(CRN_HAAR_THREADS_MAX)
    forward_kernel(const __grid_constant__ crn_gpu_haar_job job)
{
    constexpr int LEVELS = log2_of<N>::value;
    extern __shared__ float shared[];
    gpu_haar_tile t = tile_of<N>(job);
    spot s = spot_of<N>(job, t);
    float average[VEC] = {};
    if (s.there)
        at_reach<N, VEC>(s, [&](auto reach) {
            forward_block<decltype(reach)::value, N, VEC, T>(job, t, s, average);
        });
    if (job.levels <= LEVELS)
        return;
    crn_haar_grid grid = grid_of<N, VEC>(job, t, shared);
    crn_haar_store_row(slot_of(grid, t, VEC), average);
    __syncthreads();
    float *details = job.details.data ? group_at<float>(job, t, job.details) : nullptr;
    crn_haar_channels channels = channels_of<VEC>(job, t, job.details);
    for (int32_t j = 0; j < job.levels - LEVELS; j++) {
        crn_haar_grid_forward(job, grid, j, details, channels);
        __syncthreads();
    }
    float *averages = group_at<float>(job, t, job.averages);
    crn_haar_grid_averages(job, grid, job.levels - LEVELS, channels_of<VEC>(job, t, job.averages),
                           [=](float &value, ptrdiff_t at) { averages[at] = value; });
}

/* --- inverse --- */

/* Issues all of the block's loads before the first result is used, so that all are in flight. */
template <int K, crn_haar_reach REACH, int N, int VEC, typename T>
static __device__ __forceinline__ void load_levels(const crn_gpu_haar_job &job,
                                                   const gpu_haar_tile &t, const spot &s,
                                                   float (&block)[N][N][VEC])
{
    if (job.levels == K) {
        if (sizeof(T) == sizeof(float) || job.averages_are_floats)
            load_averages<K, REACH>(job, s, job.averages,
                                    crn_haar_at<const float>(job.averages, s.lane, t.picture),
                                    block);
        else
            load_averages<K, REACH>(job, s, job.averages,
                                    crn_haar_at<const T>(job.averages, s.lane, t.picture), block);
    }
    if constexpr (K < log2_of<N>::value) {
        if (job.levels > K) {
            load_details<K + 1, REACH>(job, s, crn_haar_at<const T>(job.details, s.lane, t.picture),
                                       block);
            load_levels<K + 1, REACH, N, VEC, T>(job, t, s, block);
        }
    }
}

template <int K, int N, int VEC>
static __device__ __forceinline__ void inverse_levels(int32_t levels, float (&block)[N][N][VEC])
{
    if (levels > K)
        crn_haar_inverse<K>(block);
    if constexpr (K > 0)
        inverse_levels<K - 1>(levels, block);
}

template <int N, int VEC>
static __device__ __forceinline__ void load_average(const float *slot, float (&block)[N][N][VEC])
{
#pragma unroll
    for (int v = 0; v < VEC; v++)
        block[0][0][v] = slot[v];
}

/* Inverts the levels of a block, and stores its pixels. */
template <int N, int VEC>
static __device__ __forceinline__ void
restore_block(const crn_gpu_haar_job &job, const gpu_haar_tile &t, const spot &s,
              const crn_haar_view &view, float (&block)[N][N][VEC])
{
    inverse_levels<log2_of<N>::value - 1>(job.levels, block);
    float *pixels = crn_haar_at<float>(view, s.lane, t.picture);
    if (s.there)
        at_reach<N, VEC>(s, [&](auto reach) {
            store_averages<0, decltype(reach)::value>(job, s, view, pixels, block);
        });
}

/* Inverts the levels of the grid, in place. */
template <typename T, int VEC>
static __device__ void inverse_grid(const crn_gpu_haar_job &job, const gpu_haar_tile &t,
                                    const crn_haar_grid &grid)
{
    crn_haar_channels channels = channels_of<VEC>(job, t, job.averages);
    int32_t levels = job.levels - grid.first;
    const T *from = group_at<const T>(job, t, job.averages);
    const float *floats = group_at<const float>(job, t, job.averages);
    bool are_floats = sizeof(T) == sizeof(float) || job.averages_are_floats, unit = job.unit;
    crn_haar_grid_averages(job, grid, levels, channels, [=](float &value, ptrdiff_t at) {
        value = are_floats ? floats[at] : crn_haar_element(from + at, unit);
    });
    channels = channels_of<VEC>(job, t, job.details);
    for (int32_t j = levels - 1; j >= 0; j--) {
        __syncthreads();
        crn_haar_grid_inverse(job, grid, j, group_at<const T>(job, t, job.details), channels);
    }
    __syncthreads();
}

template <int N, int VEC, typename T>
static __global__ void __launch_bounds__(CRN_HAAR_THREADS_MAX)
    inverse_kernel(const __grid_constant__ crn_gpu_haar_job job)
{
    constexpr int LEVELS = log2_of<N>::value;
    extern __shared__ float shared[];
    gpu_haar_tile t = tile_of<N>(job);
    spot s = spot_of<N>(job, t);
    float block[N][N][VEC];
    if (s.there)
        at_reach<N, VEC>(s, [&](auto reach) {
            load_levels<0, decltype(reach)::value, N, VEC, T>(job, t, s, block);
        });
    if (job.levels > LEVELS) {
        crn_haar_grid grid = grid_of<N, VEC>(job, t, shared);
        inverse_grid<T, VEC>(job, t, grid);
        load_average(slot_of(grid, t, VEC), block);
    }
    restore_block(job, t, s, job.pixels, block);
}

/* --- denoise --- */

template <int K, crn_haar_reach REACH, int N, int VEC>
static __device__ __forceinline__ void
soft_threshold_levels(const crn_gpu_haar_job &job, const spot &s, float (&block)[N][N][VEC])
{
    if (job.levels > K)
        crn_haar_forward<K, REACH, true>(block, crn_haar_halved(job.height, K) - (s.y >> K),
                                         crn_haar_halved(job.width, K) - (s.x >> K), job.threshold);
    if constexpr (K + 1 < log2_of<N>::value)
        soft_threshold_levels<K + 1, REACH>(job, s, block);
}

/* Replaces the averages of a launch's last level if another launch has denoised them. */
template <int K, crn_haar_reach REACH, int N, int VEC>
static __device__ __forceinline__ void take_averages(const crn_gpu_haar_job &job,
                                                     const gpu_haar_tile &t, const spot &s,
                                                     float (&block)[N][N][VEC])
{
    if (job.levels == K)
        load_averages<K, REACH>(job, s, job.averages,
                                crn_haar_at<const float>(job.averages, s.lane, t.picture), block);
    if constexpr (K > 1)
        take_averages<K - 1, REACH>(job, t, s, block);
}

template <crn_haar_reach REACH, int N, int VEC, typename T>
static __device__ __forceinline__ void soft_threshold_block(const crn_gpu_haar_job &job,
                                                            const gpu_haar_tile &t, const spot &s,
                                                            float (&block)[N][N][VEC])
{
    load_averages<0, REACH>(job, s, job.pixels, crn_haar_at<const T>(job.pixels, s.lane, t.picture),
                            block);
    soft_threshold_levels<0, REACH>(job, s, block);
    if (job.averages.data)
        take_averages<log2_of<N>::value, REACH>(job, t, s, block);
}

/* Forward with soft threshold, and inverse. */
template <int VEC>
static __device__ void soft_threshold_grid(const crn_gpu_haar_job &job, const gpu_haar_tile &t,
                                           const crn_haar_grid &grid)
{
    int32_t levels = job.levels - grid.first;
    for (int32_t j = 0; j < levels; j++) {
        __syncthreads();
        crn_haar_grid_soft_threshold(job, grid, j);
    }
    crn_haar_channels channels = channels_of<VEC>(job, t, job.averages);
    if (job.averages.data) {
        __syncthreads();
        const float *averages = group_at<const float>(job, t, job.averages);
        crn_haar_grid_averages(job, grid, levels, channels,
                               [=](float &value, ptrdiff_t at) { value = averages[at]; });
    }
    for (int32_t j = levels - 1; j >= 0; j--) {
        __syncthreads();
        crn_haar_grid_inverse<float>(job, grid, j, nullptr, channels);
    }
    __syncthreads();
}

template <int N, int VEC, typename T>
static __global__ void __launch_bounds__(CRN_HAAR_THREADS_MAX)
    denoise_kernel(const __grid_constant__ crn_gpu_haar_job job)
{
    constexpr int LEVELS = log2_of<N>::value;
    extern __shared__ float shared[];
    gpu_haar_tile t = tile_of<N>(job);
    spot s = spot_of<N>(job, t);
    float block[N][N][VEC];
    if (s.there)
        at_reach<N, VEC>(s, [&](auto reach) {
            soft_threshold_block<decltype(reach)::value, N, VEC, T>(job, t, s, block);
        });
    if (job.levels > LEVELS) {
        crn_haar_grid grid = grid_of<N, VEC>(job, t, shared);
        crn_haar_store_row(slot_of(grid, t, VEC), block[0][0]);
        soft_threshold_grid<VEC>(job, t, grid);
        load_average(slot_of(grid, t, VEC), block);
    }
    restore_block(job, t, s, job.denoised, block);
}

/* --- launches --- */

typedef void kernel_fn(crn_gpu_haar_job job);

template <int N, int VEC, typename T> static kernel_fn *kernel_of(crn_haar_direction direction)
{
    return direction == CRN_HAAR_FORWARD   ? forward_kernel<N, VEC, T>
           : direction == CRN_HAAR_INVERSE ? inverse_kernel<N, VEC, T>
                                           : denoise_kernel<N, VEC, T>;
}

template <typename T> static kernel_fn *kernel_of(crn_haar_lane lane, crn_haar_direction direction)
{
    return lane == CRN_HAAR_SINGLE   ? kernel_of<8, 1, T>(direction)
           : lane == CRN_HAAR_NARROW ? kernel_of<4, 1, T>(direction)
                                     : kernel_of<4, 4, T>(direction);
}

int crn_haar_launch(crn_context *context, crn_haar_direction direction, crn_haar_lane lane, bool u8,
                    const crn_gpu_haar_job *job)
{
    kernel_fn *kernel =
        u8 ? kernel_of<uint8_t>(lane, direction) : kernel_of<float>(lane, direction);
    int64_t ctas = (int64_t)job->tiles_across * job->tiles_down * job->lane_groups * job->views;
    if (ctas > INT32_MAX)
        return -EINVAL;
    int32_t threads = job->lanes_per_cta << (job->across_log2 + job->down_log2);
    size_t bytes = (size_t)threads * sizeof(float) * (lane == CRN_HAAR_FOUR ? 4 : 1);
    return crn_gpu_launch_kernel(context, kernel, dim3((unsigned)ctas), threads, bytes, *job);
}

/* Kernels of the Haar transform (haar.cuh). */
#include "gpu/haar/block.cuh"
#include "gpu/haar/grid.cuh"

template <int N> struct log2_of {
    static constexpr int value = N == 8 ? 3 : 2;
};

/* Position of a thread's block, and of its tile: the blocks of a CTA. */
typedef struct block_position {
    int32_t tile_y, tile_x;    /* the tile's first pixel */
    int32_t group, view_index; /* group of packs */
    int32_t row, column, slot; /* of the block in the tile */
    int32_t y, x, pack;        /* of the block in the image */
    bool inside;               /* at least one pixel lies inside the image */
    crn_haar_access access;
} block_position;

template <int N>
static __device__ __forceinline__ block_position block_position_of(const crn_gpu_haar_job &job)
{
    block_position p;
    uint32_t at = blockIdx.x, across = (uint32_t)job.tiles_across, down = (uint32_t)job.tiles_down;
    p.tile_x = (int32_t)(at % across) * (N << job.across_log2);
    at /= across;
    p.tile_y = (int32_t)(at % down) * (N << job.down_log2);
    at /= down;
    p.group = (int32_t)(at % (uint32_t)job.pack_groups);
    p.view_index = (int32_t)(at / (uint32_t)job.pack_groups);
    uint32_t block = threadIdx.x / (uint32_t)job.packs_per_cta;
    p.slot = (int32_t)(threadIdx.x % (uint32_t)job.packs_per_cta);
    p.row = (int32_t)(block >> job.across_log2);
    p.column = (int32_t)(block & ((1u << job.across_log2) - 1));
    p.y = p.tile_y + N * p.row;
    p.x = p.tile_x + N * p.column;
    p.pack = p.group * job.packs_per_cta + p.slot;
    p.inside = p.y < job.height && p.x < job.width && p.pack < job.packs;
    bool whole = job.height - p.y >= N && job.width - p.x >= N;
    p.access = whole ? (job.aligned ? CRN_HAAR_ROWS : CRN_HAAR_WHOLE) : CRN_HAAR_EDGE;
    return p;
}

template <crn_haar_access ACCESS> struct access_constant {
    static constexpr crn_haar_access value = ACCESS;
};

/* Calls `what` with the block's access. Launches with unaligned rows have blocks of 4 x 4. */
template <int N, int VEC, typename WHAT>
static __device__ __forceinline__ void with_access(const block_position &p, WHAT what)
{
    if (VEC == 1 && p.access == CRN_HAAR_ROWS)
        what(access_constant < VEC == 1 ? CRN_HAAR_ROWS : CRN_HAAR_EDGE > ());
    else if (N == 4 && p.access == CRN_HAAR_WHOLE)
        what(access_constant < N == 4 ? CRN_HAAR_WHOLE : CRN_HAAR_EDGE > ());
    else
        what(access_constant<CRN_HAAR_EDGE>());
}

/* The averages of the CTA's blocks, in shared memory. */
template <int N, int VEC>
static __device__ __forceinline__ crn_haar_grid grid_of(const crn_gpu_haar_job &job,
                                                        const block_position &p, float *shared)
{
    constexpr int LEVELS = log2_of<N>::value;
    int32_t channels = job.packs_per_cta * VEC, across = 1 << job.across_log2;
    crn_haar_grid grid = {shared,
                          (ptrdiff_t)across * channels,
                          channels,
                          1 << job.down_log2,
                          across,
                          channels,
                          LEVELS,
                          p.tile_y >> LEVELS,
                          p.tile_x >> LEVELS};
    return grid;
}

template <int VEC>
static __device__ __forceinline__ crn_haar_channels channels_of(const crn_gpu_haar_job &job,
                                                                const block_position &p,
                                                                const crn_haar_view &view)
{
    crn_haar_channels channels = {view.row_stride, view.step, VEC == 1 ? view.pack_stride : 1,
                                  VEC * (job.packs - p.group * job.packs_per_cta)};
    return channels;
}

template <typename T>
static __device__ __forceinline__ T *group_at(const crn_gpu_haar_job &job, const block_position &p,
                                              const crn_haar_view &view)
{
    return crn_haar_at<T>(view, p.group * job.packs_per_cta, p.view_index);
}

/* A block's average in the grid. */
static __device__ __forceinline__ float *slot_of(const crn_haar_grid &grid, const block_position &p,
                                                 int vec)
{
    return grid.at + p.row * grid.row_stride + p.column * grid.step + p.slot * vec;
}

/* --- a block's quadrants --- */

/* Calls `move` for the differences of level K: with the first one's place in the block, and their
 * window. */
template <int K, typename MOVE>
static __device__ __forceinline__ void for_details(const crn_gpu_haar_job &job,
                                                   const block_position &p, MOVE move)
{
    constexpr int S = 1 << (K - 1);
    const crn_haar_view &view = job.details;
    move(0, S, crn_haar_window_of(job, view, p.y, p.x, K, false, true));
    move(S, 0, crn_haar_window_of(job, view, p.y, p.x, K, true, false));
    move(S, S, crn_haar_window_of(job, view, p.y, p.x, K, true, true));
}

template <int K, crn_haar_access ACCESS, int N, int VEC>
static __device__ __forceinline__ void store_details(const crn_gpu_haar_job &job,
                                                     const block_position &p, float *details,
                                                     const float (&block)[N][N][VEC])
{
    for_details<K>(job, p, [&](int oy, int ox, const crn_haar_window &window) {
        crn_haar_store<K, ACCESS>(block, oy, ox, details, window);
    });
}

template <int K, crn_haar_access ACCESS, int N, int VEC, typename T>
static __device__ __forceinline__ void load_details(const crn_gpu_haar_job &job,
                                                    const block_position &p, const T *details,
                                                    float (&block)[N][N][VEC])
{
    for_details<K>(job, p, [&](int oy, int ox, const crn_haar_window &window) {
        crn_haar_load<K, ACCESS>(block, oy, ox, details, window, job.unit);
    });
}

template <int K, crn_haar_access ACCESS, int N, int VEC>
static __device__ __forceinline__ void
store_averages(const crn_gpu_haar_job &job, const block_position &p, const crn_haar_view &view,
               float *to, const float (&block)[N][N][VEC])
{
    crn_haar_store<K, ACCESS>(block, 0, 0, to,
                              crn_haar_window_of(job, view, p.y, p.x, K, false, false));
}

template <int K, crn_haar_access ACCESS, int N, int VEC, typename T>
static __device__ __forceinline__ void
load_averages(const crn_gpu_haar_job &job, const block_position &p, const crn_haar_view &view,
              const T *from, float (&block)[N][N][VEC])
{
    crn_haar_load<K, ACCESS>(block, 0, 0, from,
                             crn_haar_window_of(job, view, p.y, p.x, K, false, false), job.unit);
}

/* --- forward --- */

template <int K, crn_haar_access ACCESS, int N, int VEC>
static __device__ __forceinline__ void forward_levels(const crn_gpu_haar_job &job,
                                                      const block_position &p, float *details,
                                                      float *averages, float (&block)[N][N][VEC])
{
    if (job.levels == K)
        store_averages<K, ACCESS>(job, p, job.averages, averages, block);
    if constexpr (K < log2_of<N>::value) {
        if (job.levels > K) {
            crn_haar_forward<K, ACCESS, false>(block, crn_haar_halved(job.height, K) - (p.y >> K),
                                               crn_haar_halved(job.width, K) - (p.x >> K), 0);
            if (details)
                store_details<K + 1, ACCESS>(job, p, details, block);
            forward_levels<K + 1, ACCESS>(job, p, details, averages, block);
        }
    }
}

template <crn_haar_access ACCESS, int N, int VEC, typename T>
static __device__ __forceinline__ void forward_block(const crn_gpu_haar_job &job,
                                                     const block_position &p, float (&average)[VEC])
{
    float block[N][N][VEC];
    load_averages<0, ACCESS>(job, p, job.pixels,
                             crn_haar_at<const T>(job.pixels, p.pack, p.view_index), block);
    float *details =
        job.details.data ? crn_haar_at<float>(job.details, p.pack, p.view_index) : nullptr;
    forward_levels<0, ACCESS>(job, p, details,
                              crn_haar_at<float>(job.averages, p.pack, p.view_index), block);
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
    block_position p = block_position_of<N>(job);
    float average[VEC] = {};
    if (p.inside)
        with_access<N, VEC>(p, [&](auto access) {
            forward_block<decltype(access)::value, N, VEC, T>(job, p, average);
        });
    if (job.levels <= LEVELS)
        return;
    crn_haar_grid grid = grid_of<N, VEC>(job, p, shared);
    crn_haar_store_row(slot_of(grid, p, VEC), average);
    __syncthreads();
    float *details = job.details.data ? group_at<float>(job, p, job.details) : nullptr;
    crn_haar_channels channels = channels_of<VEC>(job, p, job.details);
    for (int32_t j = 0; j < job.levels - LEVELS; j++) {
        crn_haar_grid_forward(job, grid, j, details, channels);
        __syncthreads();
    }
    float *averages = group_at<float>(job, p, job.averages);
    crn_haar_grid_averages(job, grid, job.levels - LEVELS, channels_of<VEC>(job, p, job.averages),
                           [=](float &value, ptrdiff_t at) { averages[at] = value; });
}

/* --- inverse --- */

/* Issues all of the block's loads before the first result is used, so that all are in flight. */
template <int K, crn_haar_access ACCESS, int N, int VEC, typename T>
static __device__ __forceinline__ void
load_levels(const crn_gpu_haar_job &job, const block_position &p, float (&block)[N][N][VEC])
{
    if (job.levels == K) {
        if (sizeof(T) == sizeof(float) || job.averages_are_floats)
            load_averages<K, ACCESS>(job, p, job.averages,
                                     crn_haar_at<const float>(job.averages, p.pack, p.view_index),
                                     block);
        else
            load_averages<K, ACCESS>(job, p, job.averages,
                                     crn_haar_at<const T>(job.averages, p.pack, p.view_index),
                                     block);
    }
    if constexpr (K < log2_of<N>::value) {
        if (job.levels > K) {
            load_details<K + 1, ACCESS>(
                job, p, crn_haar_at<const T>(job.details, p.pack, p.view_index), block);
            load_levels<K + 1, ACCESS, N, VEC, T>(job, p, block);
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

/* Inverts the levels of a block, and stores its pixels. */
template <int N, int VEC>
static __device__ __forceinline__ void
restore_block(const crn_gpu_haar_job &job, const block_position &p, const crn_haar_view &view,
              float (&block)[N][N][VEC])
{
    inverse_levels<log2_of<N>::value - 1>(job.levels, block);
    float *pixels = crn_haar_at<float>(view, p.pack, p.view_index);
    if (p.inside)
        with_access<N, VEC>(p, [&](auto access) {
            store_averages<0, decltype(access)::value>(job, p, view, pixels, block);
        });
}

/* Inverts the levels of the grid, in place, from its averages and `details` (NULL: its own). */
template <typename T>
static __device__ __forceinline__ void
inverse_grid_levels(const crn_gpu_haar_job &job, const crn_haar_grid &grid, int32_t levels,
                    const T *details, const crn_haar_channels &channels)
{
    for (int32_t j = levels - 1; j >= 0; j--) {
        __syncthreads();
        crn_haar_grid_inverse(job, grid, j, details, channels);
    }
    __syncthreads();
}

/* Reads the grid's averages, and inverts its levels. */
template <typename T, int VEC>
static __device__ void inverse_grid(const crn_gpu_haar_job &job, const block_position &p,
                                    const crn_haar_grid &grid)
{
    crn_haar_channels channels = channels_of<VEC>(job, p, job.averages);
    int32_t levels = job.levels - grid.first;
    const T *from = group_at<const T>(job, p, job.averages);
    const float *floats = group_at<const float>(job, p, job.averages);
    bool are_floats = sizeof(T) == sizeof(float) || job.averages_are_floats, unit = job.unit;
    crn_haar_grid_averages(job, grid, levels, channels, [=](float &value, ptrdiff_t at) {
        value = are_floats ? floats[at] : crn_haar_element(from + at, unit);
    });
    inverse_grid_levels(job, grid, levels, group_at<const T>(job, p, job.details),
                        channels_of<VEC>(job, p, job.details));
}

/* --- denoise --- */

template <int K, crn_haar_access ACCESS, int N, int VEC>
static __device__ __forceinline__ void soft_threshold_levels(const crn_gpu_haar_job &job,
                                                             const block_position &p,
                                                             float (&block)[N][N][VEC])
{
    if (job.levels > K)
        crn_haar_forward<K, ACCESS, true>(block, crn_haar_halved(job.height, K) - (p.y >> K),
                                          crn_haar_halved(job.width, K) - (p.x >> K),
                                          job.threshold);
    if constexpr (K + 1 < log2_of<N>::value)
        soft_threshold_levels<K + 1, ACCESS>(job, p, block);
}

/* Replaces the averages of a launch's last level if another launch has denoised them. */
template <int K, crn_haar_access ACCESS, int N, int VEC>
static __device__ __forceinline__ void
replace_averages(const crn_gpu_haar_job &job, const block_position &p, float (&block)[N][N][VEC])
{
    if (job.levels == K)
        load_averages<K, ACCESS>(job, p, job.averages,
                                 crn_haar_at<const float>(job.averages, p.pack, p.view_index),
                                 block);
    if constexpr (K > 1)
        replace_averages<K - 1, ACCESS>(job, p, block);
}

template <crn_haar_access ACCESS, int N, int VEC, typename T>
static __device__ __forceinline__ void soft_threshold_block(const crn_gpu_haar_job &job,
                                                            const block_position &p,
                                                            float (&block)[N][N][VEC])
{
    load_averages<0, ACCESS>(job, p, job.pixels,
                             crn_haar_at<const T>(job.pixels, p.pack, p.view_index), block);
    soft_threshold_levels<0, ACCESS>(job, p, block);
    if (job.averages.data)
        replace_averages<log2_of<N>::value, ACCESS>(job, p, block);
}

/* Forward with soft threshold, and inverse. */
template <int VEC>
static __device__ void soft_threshold_grid(const crn_gpu_haar_job &job, const block_position &p,
                                           const crn_haar_grid &grid)
{
    int32_t levels = job.levels - grid.first;
    for (int32_t j = 0; j < levels; j++) {
        __syncthreads();
        crn_haar_grid_soft_threshold(job, grid, j);
    }
    crn_haar_channels channels = channels_of<VEC>(job, p, job.averages);
    if (job.averages.data) {
        __syncthreads();
        const float *averages = group_at<const float>(job, p, job.averages);
        crn_haar_grid_averages(job, grid, levels, channels,
                               [=](float &value, ptrdiff_t at) { value = averages[at]; });
    }
    inverse_grid_levels<float>(job, grid, levels, nullptr, channels);
}

/* Inverse or denoise. */
template <int N, int VEC, typename T, bool DENOISE>
static __global__ void __launch_bounds__(CRN_HAAR_THREADS_MAX)
    restore_kernel(const __grid_constant__ crn_gpu_haar_job job)
{
    extern __shared__ float shared[];
    block_position p = block_position_of<N>(job);
    float block[N][N][VEC];
    if (p.inside)
        with_access<N, VEC>(p, [&](auto access) {
            if constexpr (DENOISE)
                soft_threshold_block<decltype(access)::value, N, VEC, T>(job, p, block);
            else
                load_levels<0, decltype(access)::value, N, VEC, T>(job, p, block);
        });
    if (job.levels > log2_of<N>::value) {
        crn_haar_grid grid = grid_of<N, VEC>(job, p, shared);
        float *average = slot_of(grid, p, VEC);
        if constexpr (DENOISE) {
            crn_haar_store_row(average, block[0][0]);
            soft_threshold_grid<VEC>(job, p, grid);
        } else {
            inverse_grid<T, VEC>(job, p, grid);
        }
#pragma unroll
        for (int v = 0; v < VEC; v++)
            block[0][0][v] = average[v];
    }
    restore_block(job, p, DENOISE ? job.denoised : job.pixels, block);
}

/* --- launches --- */

typedef void kernel_fn(crn_gpu_haar_job job);

template <int N, int VEC, typename T> static kernel_fn *kernel_of(crn_haar_direction direction)
{
    return direction == CRN_HAAR_FORWARD   ? forward_kernel<N, VEC, T>
           : direction == CRN_HAAR_INVERSE ? restore_kernel<N, VEC, T, false>
                                           : restore_kernel<N, VEC, T, true>;
}

template <typename T>
static kernel_fn *kernel_of(crn_haar_block_kind kind, crn_haar_direction direction)
{
    return kind == CRN_HAAR_SINGLE   ? kernel_of<8, 1, T>(direction)
           : kind == CRN_HAAR_NARROW ? kernel_of<4, 1, T>(direction)
                                     : kernel_of<4, 4, T>(direction);
}

int crn_haar_launch(crn_context *context, crn_haar_direction direction, crn_haar_block_kind kind,
                    bool u8, const crn_gpu_haar_job *job)
{
    kernel_fn *kernel =
        u8 ? kernel_of<uint8_t>(kind, direction) : kernel_of<float>(kind, direction);
    int64_t ctas = (int64_t)job->tiles_across * job->tiles_down * job->pack_groups * job->views;
    if (ctas > INT32_MAX)
        return -EINVAL;
    int32_t threads = job->packs_per_cta << (job->across_log2 + job->down_log2);
    size_t bytes = (size_t)threads * sizeof(float) * (kind == CRN_HAAR_FOUR ? 4 : 1);
    return crn_gpu_launch_kernel(context, kernel, dim3((unsigned)ctas), threads, bytes, *job);
}

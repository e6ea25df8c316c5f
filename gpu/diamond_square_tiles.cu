/* The diamond-square's tiles: several levels in shared memory, the last on the way to the image
 * (diamond_square.cuh). */
#include "gpu/diamond_square_coarse.cuh"
#include "gpu/diamond_square_strip.cuh"

/* That a multiprocessor's registers shall suffice for. */
#define TILES_AT_ONCE 4

/* A tile's part of shared memory, but for the stages behind it. */
static __device__ __forceinline__ crn_diamond_square_tile tile_in(int32_t pairs)
{
    crn_diamond_square_tile tile = {};
    tile.coarse = crn_diamond_square_rows(pairs) * CRN_DIAMOND_SQUARE_PITCH0;
    tile.diamonds = tile.coarse +
                    crn_diamond_square_coarse_rows(pairs) * CRN_DIAMOND_SQUARE_PITCH1 +
                    CRN_DIAMOND_SQUARE_GAP;
    tile.chain = crn_diamond_square_floats(pairs);
    return tile;
}

static __host__ __device__ inline int32_t floats_of(const crn_diamond_square_job &job)
{
    return crn_diamond_square_floats(job.pairs) +
           (job.from ? 0 : crn_diamond_square_chain_floats(job.exponent - 1));
}

template <crn_diamond_square_way WAY>
static __global__ void __launch_bounds__(CRN_DIAMOND_SQUARE_THREADS, TILES_AT_ONCE)
    tile_kernel(const __grid_constant__ crn_diamond_square_job job)
{
    int32_t tile_x = (int32_t)blockIdx.x % job.tiles_across;
    int32_t tile_y = (int32_t)blockIdx.x / job.tiles_across;
    int32_t group = job.first_group + CRN_DIAMOND_SQUARE_GROUPS * tile_x - 1;
    int32_t first = job.first_pair + job.pairs * tile_y;
    crn_diamond_square_tile tile = tile_in(job.pairs);
    tile.x0 = 4 * group;
    tile.x1 = 4 * (group + CRN_DIAMOND_SQUARE_WARP);
    tile.y0 = first - 1;
    tile.y1 = first + job.pairs;
    tile.grid = job.exponent - 1;
    crn_diamond_square_coarse<WAY>(job, tile);

    crn_diamond_square_strip s = crn_diamond_square_strip_of<WAY>(job, group, floats_of(job));
    int32_t warp = (int32_t)threadIdx.x / CRN_DIAMOND_SQUARE_WARP;
    int32_t last = min(first + job.pairs - 1, (job.y + job.height - 1) / 2) + 1;
    int32_t a = first + job.pairs * warp / CRN_DIAMOND_SQUARE_WARPS;
    int32_t end = min(first + job.pairs * (warp + 1) / CRN_DIAMOND_SQUARE_WARPS, last);
    if (a < end)
        crn_diamond_square_walk_down<WAY>(job, s, a, end, [=](int32_t row) {
            return crn_diamond_square_shared((row - tile.y0) * CRN_DIAMOND_SQUARE_PITCH0 +
                                             4 * s.lane);
        });
}

/* A field of so few points that it is one tile's coarse part. */
static __global__ void __launch_bounds__(CRN_DIAMOND_SQUARE_WARP)
    small_kernel(const __grid_constant__ crn_diamond_square_job job)
{
    crn_diamond_square_tile tile = tile_in(job.pairs);
    tile.x1 = tile.y1 = 1 << job.exponent;
    tile.grid = job.exponent;
    crn_diamond_square_coarse<CRN_DIAMOND_SQUARE_ANY>(job, tile);
    for (int32_t i = (int32_t)threadIdx.x; i < job.height * job.width;
         i += CRN_DIAMOND_SQUARE_WARP) {
        int32_t y = i / job.width, x = i % job.width;
        crn_diamond_square_put(job, y, x,
                               *crn_diamond_square_shared(tile.finest +
                                                          (job.y + y) * CRN_DIAMOND_SQUARE_PITCH0 +
                                                          job.x + x));
    }
}

/* --- launches --- */

static size_t bytes_of(crn_diamond_square_way way, const crn_diamond_square_job *job)
{
    return (size_t)(crn_diamond_square_stage_floats(way) + floats_of(*job)) * sizeof(float);
}

typedef void kernel_fn(crn_diamond_square_job job);

static kernel_fn *kernel_of(crn_diamond_square_way way)
{
    return way == CRN_DIAMOND_SQUARE_BYTES    ? tile_kernel<CRN_DIAMOND_SQUARE_BYTES>
           : way == CRN_DIAMOND_SQUARE_FLOATS ? tile_kernel<CRN_DIAMOND_SQUARE_FLOATS>
                                              : tile_kernel<CRN_DIAMOND_SQUARE_ANY>;
}

int crn_diamond_square_launch(crn_context *context, crn_diamond_square_way way,
                              const crn_diamond_square_job *job)
{
    kernel_fn *kernel = kernel_of(way);
    size_t bytes = bytes_of(way, job);
    int r = crn_gpu_allow_shared(context, reinterpret_cast<const void *>(kernel), bytes);
    if (r < 0)
        return r;
    kernel<<<(uint32_t)job->tiles, CRN_DIAMOND_SQUARE_THREADS, bytes, crn_gpu_stream(context)>>>(
        *job);
    return crn_gpu_launched();
}

int crn_diamond_square_launch_small(crn_context *context, const crn_diamond_square_job *job)
{
    size_t bytes = bytes_of(CRN_DIAMOND_SQUARE_ANY, job);
    small_kernel<<<1, CRN_DIAMOND_SQUARE_WARP, bytes, crn_gpu_stream(context)>>>(*job);
    return crn_gpu_launched();
}

int32_t crn_diamond_square_tiles_at_once(const crn_context *context, crn_diamond_square_way way,
                                         const crn_diamond_square_job *job)
{
    const crn_gpu_limits *limits = crn_gpu_limits_of(context);
    int32_t fit = (int32_t)(limits->shared_bytes / (bytes_of(way, job) + 1024));
    return fit < 1 ? 1 : fit > TILES_AT_ONCE ? TILES_AT_ONCE : fit;
}

/* The coarser grids that a tile needs, in shared memory (diamond_square.cuh). */
#ifndef CRN_GPU_DIAMOND_SQUARE_COARSE_CUH
#define CRN_GPU_DIAMOND_SQUARE_COARSE_CUH

#include "gpu/diamond_square/chain.cuh"

/* Four points and the next one. */
static __device__ __forceinline__ void crn_diamond_square_load(const float *from, float (&to)[5])
{
    float4 four = *reinterpret_cast<const float4 *>(from);
    to[0] = four.x;
    to[1] = four.y;
    to[2] = four.z;
    to[3] = four.w;
    to[4] = from[4];
}

/* Iterates over rows of `wide` items; the division by multiplication is exact, as wide^2
 * x rows is below 2^16. */
typedef struct crn_diamond_square_walk {
    int32_t wide, count;
    uint32_t inverse;
} crn_diamond_square_walk;

static __device__ __forceinline__ crn_diamond_square_walk crn_diamond_square_walk_of(int32_t wide,
                                                                                     int32_t rows)
{
    crn_diamond_square_walk walk = {wide, wide * rows, 65536u / (uint32_t)wide + 1};
    return walk;
}

static __device__ __forceinline__ int32_t
crn_diamond_square_row_at(const crn_diamond_square_walk &w, int32_t i)
{
    return (int32_t)((uint32_t)i * w.inverse >> 16);
}

/* The diamonds of a level, one group per item. Those beyond the field's
 * right border are garbage. */
template <crn_gpu_diamond_square_variant WAY>
static __device__ __forceinline__ void
crn_diamond_square_diamonds(const crn_diamond_square_job &job, const crn_diamond_square_part &from,
                            const crn_diamond_square_part &to, int32_t level, int32_t diamonds)
{
    int32_t first = from.x0 / 4, last_row = min(to.y1 / 2, (1 << level) - 1);
    crn_diamond_square_walk walk =
        crn_diamond_square_walk_of(to.x1 / 8 - first + 1, last_row - from.y0 + 1);
    for (int32_t i = (int32_t)threadIdx.x; i < walk.count; i += (int32_t)blockDim.x) {
        int32_t row = crn_diamond_square_row_at(walk, i), group = i - row * walk.wide;
        float above[5], below[5], made[4];
        const float *at = crn_diamond_square_shared(
            crn_diamond_square_point(from, from.y0 + row, 4 * (first + group)));
        crn_diamond_square_load(at, above);
        crn_diamond_square_load(at + from.pitch, below);
        crn_diamond_square_noises<WAY>(job, level, CRN_PHASE_DIAMOND, first + group, from.y0 + row,
                                       made);
#pragma unroll
        for (int e = 0; e < 4; e++)
            made[e] = crn_diamond_square_mean<WAY>(
                ((above[e] + above[e + 1]) + below[e]) + below[e + 1], false, made[e]);
        *reinterpret_cast<float4 *>(crn_diamond_square_shared(
            diamonds + row * CRN_DIAMOND_SQUARE_PITCH_DIAMONDS + 4 * group)) =
            make_float4(made[0], made[1], made[2], made[3]);
    }
}

/* Stores eight points of a row of the next grid; a part may begin with the second four. */
static __device__ __forceinline__ void crn_diamond_square_keep(const crn_diamond_square_part &to,
                                                               int32_t y, int32_t group,
                                                               const float (&even)[4],
                                                               const float (&odd)[4])
{
    float *at = crn_diamond_square_shared(crn_diamond_square_point(to, y, 8 * group));
    if (8 * group >= to.origin)
        *reinterpret_cast<float4 *>(at) = make_float4(even[0], odd[0], even[1], odd[1]);
    *reinterpret_cast<float4 *>(at + 4) = make_float4(even[2], odd[2], even[3], odd[3]);
}

/* Even rows 2a: points of the previous grid, and those between them. */
template <crn_gpu_diamond_square_variant WAY>
static __device__ __forceinline__ void
crn_diamond_square_evens(const crn_diamond_square_job &job, const crn_diamond_square_part &from,
                         const crn_diamond_square_part &to, int32_t level, int32_t diamonds)
{
    int32_t first = to.x0 / 8, first_row = (to.y0 + 1) / 2;
    crn_diamond_square_walk walk =
        crn_diamond_square_walk_of(to.x1 / 8 - first + 1, to.y1 / 2 - first_row + 1);
    for (int32_t i = (int32_t)threadIdx.x; i < walk.count; i += (int32_t)blockDim.x) {
        int32_t row = crn_diamond_square_row_at(walk, i), group = first + i - row * walk.wide;
        int32_t a = first_row + row;
        float g[5], here[4], made[4];
        crn_diamond_square_load(
            crn_diamond_square_shared(crn_diamond_square_point(from, a, 4 * group)), g);
        crn_diamond_square_noises<WAY>(job, level, CRN_PHASE_SQUARE, group, 2 * a, made);
        const float *down =
            crn_diamond_square_shared(diamonds + (a - from.y0) * CRN_DIAMOND_SQUARE_PITCH_DIAMONDS +
                                      4 * (group - from.x0 / 4));
        const float *up = down - CRN_DIAMOND_SQUARE_PITCH_DIAMONDS;
        bool top = a == 0, bottom = a == 1 << level;
#pragma unroll
        for (int e = 0; e < 4; e++) {
            float sum = ((top ? CRN_DIAMOND_SQUARE_NOTHING : up[e]) + g[e]) + g[e + 1];
            sum += bottom ? CRN_DIAMOND_SQUARE_NOTHING : down[e];
            here[e] = g[e];
            made[e] = crn_diamond_square_mean<WAY>(sum, top || bottom, made[e]);
        }
        crn_diamond_square_keep(to, 2 * a, group, here, made);
    }
}

/* Odd rows 2a + 1: points between vertical neighbours, and diamonds. */
template <crn_gpu_diamond_square_variant WAY>
static __device__ __forceinline__ void
crn_diamond_square_odds(const crn_diamond_square_job &job, const crn_diamond_square_part &from,
                        const crn_diamond_square_part &to, int32_t level, int32_t diamonds)
{
    int32_t first = to.x0 / 8, first_row = to.y0 / 2;
    crn_diamond_square_walk walk =
        crn_diamond_square_walk_of(to.x1 / 8 - first + 1, (to.y1 - 1) / 2 - first_row + 1);
    for (int32_t i = (int32_t)threadIdx.x; i < walk.count; i += (int32_t)blockDim.x) {
        int32_t row = crn_diamond_square_row_at(walk, i), group = first + i - row * walk.wide;
        int32_t a = first_row + row;
        float above[5], below[5], made[4], beside[4];
        const float *g = crn_diamond_square_shared(crn_diamond_square_point(from, a, 4 * group));
        crn_diamond_square_load(g, above);
        crn_diamond_square_load(g + from.pitch, below);
        crn_diamond_square_noises<WAY>(job, level, CRN_PHASE_SQUARE, group, 2 * a + 1, made);
        const float *d =
            crn_diamond_square_shared(diamonds + (a - from.y0) * CRN_DIAMOND_SQUARE_PITCH_DIAMONDS +
                                      4 * (group - from.x0 / 4));
        float left = d[-1];
#pragma unroll
        for (int e = 0; e < 4; e++) {
            int32_t x = 4 * group + e;
            bool is_left = x == 0, is_right = x == 1 << level;
            beside[e] = d[e];
            float sum = above[e] + (is_left ? CRN_DIAMOND_SQUARE_NOTHING : left);
            sum = (sum + (is_right ? CRN_DIAMOND_SQUARE_NOTHING : beside[e])) + below[e];
            made[e] = crn_diamond_square_mean<WAY>(sum, is_left || is_right, made[e]);
            left = beside[e];
        }
        crn_diamond_square_keep(to, 2 * a + 1, group, made, beside);
    }
}

/* Loads the part of the grid that an earlier launch has made. */
static __device__ void crn_diamond_square_fetch(const crn_diamond_square_job &job,
                                                const crn_diamond_square_part &to)
{
    int32_t first = to.x0 / 4;
    crn_diamond_square_walk walk =
        crn_diamond_square_walk_of(to.x1 / 4 - first + 1, to.y1 - to.y0 + 1);
    for (int32_t i = (int32_t)threadIdx.x; i < walk.count; i += (int32_t)blockDim.x) {
        int32_t row = crn_diamond_square_row_at(walk, i), group = first + i - row * walk.wide;
        const float *from = job.from + (ptrdiff_t)(to.y0 + row - job.from_y) * job.from_stride +
                            4 * group - job.from_x;
        float *point =
            crn_diamond_square_shared(crn_diamond_square_point(to, to.y0 + row, 4 * group));
        int32_t left = job.from_x + job.from_width - 4 * group;
        if (left >= 4)
            *reinterpret_cast<float4 *>(point) = *reinterpret_cast<const float4 *>(from);
        else /* the last group ends where the grid does; the memory after it is not read */
            for (int32_t e = 0; e < left; e++)
                point[e] = from[e];
    }
    __syncthreads();
}

/* All levels up to the tile's finest grid in shared memory, from an earlier launch's grid or from
 * the corners. Ends with a barrier. */
template <crn_gpu_diamond_square_variant WAY>
static __device__ __forceinline__ void
crn_diamond_square_coarse(const crn_diamond_square_job &job, const crn_diamond_square_tile &tile)
{
    int32_t grid = job.from ? tile.grid - 1 : max(tile.grid - 3, 0);
    crn_diamond_square_part from = crn_diamond_square_part_of(tile, grid);
    if (job.from)
        crn_diamond_square_fetch(job, from);
    else
        crn_diamond_square_chain<WAY>(job, tile, grid);
    for (int32_t level = grid; level < tile.grid; level++) {
        crn_diamond_square_part to = crn_diamond_square_part_of(tile, level + 1);
        crn_diamond_square_diamonds<WAY>(job, from, to, level, tile.diamonds);
        __syncthreads();
        crn_diamond_square_evens<WAY>(job, from, to, level, tile.diamonds);
        crn_diamond_square_odds<WAY>(job, from, to, level, tile.diamonds);
        __syncthreads();
        from = to;
    }
}

#endif

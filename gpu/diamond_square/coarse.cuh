/* The coarser grids that a tile needs, in shared memory (diamond_square.cuh). */
#ifndef CRN_GPU_DIAMOND_SQUARE_COARSE_CUH
#define CRN_GPU_DIAMOND_SQUARE_COARSE_CUH

#include "gpu/diamond_square/diamond_square.cuh"

/*
 * --- the first levels of a tile: each depends on the one before, and has few points ---
 *
 * The noise of all of them is computed first, into the points' memory, so that only sums remain in
 * the dependent chain.
 */

/* The CTA's threads form columns and rows of points; a level has at most 25
 * columns with its margin. */
#define CRN_DIAMOND_SQUARE_CHAIN_COLUMNS 32

/* The noise of a level's points and of a margin of one, by one warp. */
template <crn_gpu_diamond_square_variant VARIANT>
static __device__ void crn_diamond_square_chain_noise(const crn_diamond_square_job &job,
                                                      const crn_diamond_square_region &to,
                                                      int32_t level)
{
    int32_t last = 2 << level, lane = (int32_t)threadIdx.x % CRN_DIAMOND_SQUARE_WARP;
    int32_t x0 = max(to.x0 - 1, 0), x1 = min(to.x1 + 1, last);
    int32_t y0 = max(to.y0 - 1, 0), y1 = min(to.y1 + 1, last);
    int32_t wide = x1 / 8 - x0 / 8 + 1, count = 2 * wide * (y1 - y0 + 1);
    for (int32_t i = lane; i < count; i += CRN_DIAMOND_SQUARE_WARP) {
        int32_t y = y0 + i / 2 / wide, group = x0 / 8 + i / 2 % wide;
        bool is_odd = y & 1, is_diamond = i & 1;
        if (is_diamond && !is_odd)
            continue;
        float noise[4];
        crn_diamond_square_noises<VARIANT>(job, level,
                                           is_diamond ? CRN_PHASE_DIAMOND : CRN_PHASE_SQUARE, group,
                                           is_diamond ? y / 2 : y, noise);
        int32_t x = 8 * group + (is_diamond || !is_odd);
#pragma unroll
        for (int e = 0; e < 4; e++)
            if (x + 2 * e >= x0 && x + 2 * e <= x1)
                *crn_diamond_square_shared(crn_diamond_square_point(to, y, x + 2 * e)) = noise[e];
    }
}

/* The diamonds of a level, one thread each. */
template <crn_gpu_diamond_square_variant VARIANT>
static __device__ void crn_diamond_square_chain_diamonds(const crn_diamond_square_region &from,
                                                         const crn_diamond_square_region &to,
                                                         int32_t level)
{
    int32_t last = (1 << level) - 1;
    int32_t x = from.x0 + (int32_t)threadIdx.x % CRN_DIAMOND_SQUARE_CHAIN_COLUMNS;
    int32_t y = from.y0 + (int32_t)threadIdx.x / CRN_DIAMOND_SQUARE_CHAIN_COLUMNS;
    if (x > min(to.x1 / 2, last) || y > min(to.y1 / 2, last))
        return;
    const float *above = crn_diamond_square_shared(crn_diamond_square_point(from, y, x));
    const float *below = above + from.pitch;
    float *at = crn_diamond_square_shared(crn_diamond_square_point(to, 2 * y + 1, 2 * x + 1));
    *at =
        crn_diamond_square_mean<VARIANT>(((above[0] + above[1]) + below[0]) + below[1], false, *at);
}

/* The square points of a level, and copies of the previous grid's. */
template <crn_gpu_diamond_square_variant VARIANT>
static __device__ void crn_diamond_square_chain_squares(const crn_diamond_square_region &from,
                                                        const crn_diamond_square_region &to,
                                                        int32_t level)
{
    int32_t x = to.x0 + (int32_t)threadIdx.x % CRN_DIAMOND_SQUARE_CHAIN_COLUMNS, last = 2 << level;
    int32_t y = to.y0 + (int32_t)threadIdx.x / CRN_DIAMOND_SQUARE_CHAIN_COLUMNS;
    for (; x <= to.x1 && y <= to.y1;
         y += CRN_DIAMOND_SQUARE_THREADS / CRN_DIAMOND_SQUARE_CHAIN_COLUMNS) {
        const float *g = crn_diamond_square_shared(crn_diamond_square_point(from, y / 2, x / 2));
        float *at = crn_diamond_square_shared(crn_diamond_square_point(to, y, x));
        if (y & x & 1)
            continue;
        if (!((y | x) & 1)) {
            *at = *g;
            continue;
        }
        float up, left, right, down;
        bool is_border;
        if (x & 1) {
            up = y == 0 ? CRN_DIAMOND_SQUARE_NEUTRAL : at[-to.pitch];
            down = y == last ? CRN_DIAMOND_SQUARE_NEUTRAL : at[to.pitch];
            left = g[0];
            right = g[1];
            is_border = y == 0 || y == last;
        } else {
            left = x == 0 ? CRN_DIAMOND_SQUARE_NEUTRAL : at[-1];
            right = x == last ? CRN_DIAMOND_SQUARE_NEUTRAL : at[1];
            up = g[0];
            down = g[from.pitch];
            is_border = x == 0 || x == last;
        }
        *at = crn_diamond_square_mean<VARIANT>(((up + left) + right) + down, is_border, *at);
    }
}

/* From the corners to grid `grid`. Ends with a barrier. */
template <crn_gpu_diamond_square_variant VARIANT>
static __device__ void crn_diamond_square_chain(const crn_diamond_square_job &job,
                                                const crn_diamond_square_tile &tile, int32_t grid)
{
    int32_t warp = (int32_t)threadIdx.x / CRN_DIAMOND_SQUARE_WARP;
    int32_t warps = (int32_t)blockDim.x / CRN_DIAMOND_SQUARE_WARP;
    for (int32_t level = grid - 1 - warp; level >= 0; level -= warps)
        crn_diamond_square_chain_noise<VARIANT>(job, crn_diamond_square_region_of(tile, level + 1),
                                                level);
    crn_diamond_square_region from = crn_diamond_square_region_of(tile, 0);
    if (threadIdx.x < 2) {
        int32_t j = (int32_t)threadIdx.x;
        uint32_t words[4];
        crn_diamond_square_words(job.keys, crn_diamond_square_row_of(job.keys, 0, j),
                                 crn_diamond_square_column_of(job.keys, 0, CRN_PHASE_CORNERS, 0),
                                 words);
        for (int e = 0; e < 2; e++)
            *crn_diamond_square_shared(crn_diamond_square_point(from, j, e)) =
                CRN_DIAMOND_SQUARE_MIDDLE +
                CRN_DIAMOND_SQUARE_MIDDLE * ((float)(int32_t)words[e] * 0x1p-31f);
    }
    __syncthreads();
    for (int32_t level = 0; level < grid; level++) {
        crn_diamond_square_region to = crn_diamond_square_region_of(tile, level + 1);
        crn_diamond_square_chain_diamonds<VARIANT>(from, to, level);
        __syncthreads();
        crn_diamond_square_chain_squares<VARIANT>(from, to, level);
        __syncthreads();
        from = to;
    }
}

/* --- the levels between --- */

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

/* Calls work(row, group) for the thread's share of `rows` rows of groups `first` to `last`. The
 * division by multiplication is exact, as the square of the row's length x rows is below 2^16. */
template <typename WORK>
static __device__ __forceinline__ void crn_diamond_square_for_groups(int32_t first, int32_t last,
                                                                     int32_t rows, WORK work)
{
    int32_t wide = last - first + 1, count = wide * rows;
    uint32_t inverse = 65536u / (uint32_t)wide + 1;
    for (int32_t i = (int32_t)threadIdx.x; i < count; i += (int32_t)blockDim.x) {
        int32_t row = (int32_t)((uint32_t)i * inverse >> 16);
        work(row, first + i - row * wide);
    }
}

/* The diamonds of a level, one group per item. Those beyond the field's
 * right border are garbage. */
template <crn_gpu_diamond_square_variant VARIANT>
static __device__ __forceinline__ void
crn_diamond_square_diamonds(const crn_diamond_square_job &job,
                            const crn_diamond_square_region &from,
                            const crn_diamond_square_region &to, int32_t level, int32_t diamonds)
{
    int32_t first = from.x0 / 4, last_row = min(to.y1 / 2, (1 << level) - 1);
    int32_t rows = last_row - from.y0 + 1;
    crn_diamond_square_for_groups(0, to.x1 / 8 - first, rows, [&](int32_t row, int32_t group) {
        float above[5], below[5], made[4];
        const float *at = crn_diamond_square_shared(
            crn_diamond_square_point(from, from.y0 + row, 4 * (first + group)));
        crn_diamond_square_load(at, above);
        crn_diamond_square_load(at + from.pitch, below);
        crn_diamond_square_noises<VARIANT>(job, level, CRN_PHASE_DIAMOND, first + group,
                                           from.y0 + row, made);
#pragma unroll
        for (int e = 0; e < 4; e++)
            made[e] = crn_diamond_square_mean<VARIANT>(
                ((above[e] + above[e + 1]) + below[e]) + below[e + 1], false, made[e]);
        *reinterpret_cast<float4 *>(crn_diamond_square_shared(
            diamonds + row * CRN_DIAMOND_SQUARE_PITCH_DIAMONDS + 4 * group)) =
            make_float4(made[0], made[1], made[2], made[3]);
    });
}

/* Stores eight points of a row of the next grid; a region may begin with the second four. */
static __device__ __forceinline__ void crn_diamond_square_store(const crn_diamond_square_region &to,
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
template <crn_gpu_diamond_square_variant VARIANT>
static __device__ __forceinline__ void
crn_diamond_square_evens(const crn_diamond_square_job &job, const crn_diamond_square_region &from,
                         const crn_diamond_square_region &to, int32_t level, int32_t diamonds)
{
    int32_t first = to.x0 / 8, first_row = (to.y0 + 1) / 2;
    int32_t rows = to.y1 / 2 - first_row + 1;
    crn_diamond_square_for_groups(first, to.x1 / 8, rows, [&](int32_t row, int32_t group) {
        int32_t a = first_row + row;
        float g[5], here[4], made[4];
        crn_diamond_square_load(
            crn_diamond_square_shared(crn_diamond_square_point(from, a, 4 * group)), g);
        crn_diamond_square_noises<VARIANT>(job, level, CRN_PHASE_SQUARE, group, 2 * a, made);
        const float *down =
            crn_diamond_square_shared(diamonds + (a - from.y0) * CRN_DIAMOND_SQUARE_PITCH_DIAMONDS +
                                      4 * (group - from.x0 / 4));
        const float *up = down - CRN_DIAMOND_SQUARE_PITCH_DIAMONDS;
        bool top = a == 0, bottom = a == 1 << level;
#pragma unroll
        for (int e = 0; e < 4; e++) {
            float sum = ((top ? CRN_DIAMOND_SQUARE_NEUTRAL : up[e]) + g[e]) + g[e + 1];
            sum += bottom ? CRN_DIAMOND_SQUARE_NEUTRAL : down[e];
            here[e] = g[e];
            made[e] = crn_diamond_square_mean<VARIANT>(sum, top || bottom, made[e]);
        }
        crn_diamond_square_store(to, 2 * a, group, here, made);
    });
}

/* Odd rows 2a + 1: points between vertical neighbours, and diamonds. */
template <crn_gpu_diamond_square_variant VARIANT>
static __device__ __forceinline__ void
crn_diamond_square_odds(const crn_diamond_square_job &job, const crn_diamond_square_region &from,
                        const crn_diamond_square_region &to, int32_t level, int32_t diamonds)
{
    int32_t first = to.x0 / 8, first_row = to.y0 / 2;
    int32_t rows = (to.y1 - 1) / 2 - first_row + 1;
    crn_diamond_square_for_groups(first, to.x1 / 8, rows, [&](int32_t row, int32_t group) {
        int32_t a = first_row + row;
        float above[5], below[5], made[4], diamond[4];
        const float *g = crn_diamond_square_shared(crn_diamond_square_point(from, a, 4 * group));
        crn_diamond_square_load(g, above);
        crn_diamond_square_load(g + from.pitch, below);
        crn_diamond_square_noises<VARIANT>(job, level, CRN_PHASE_SQUARE, group, 2 * a + 1, made);
        const float *d =
            crn_diamond_square_shared(diamonds + (a - from.y0) * CRN_DIAMOND_SQUARE_PITCH_DIAMONDS +
                                      4 * (group - from.x0 / 4));
        float left = d[-1];
#pragma unroll
        for (int e = 0; e < 4; e++) {
            int32_t x = 4 * group + e;
            bool is_left = x == 0, is_right = x == 1 << level;
            diamond[e] = d[e];
            float sum = above[e] + (is_left ? CRN_DIAMOND_SQUARE_NEUTRAL : left);
            sum = (sum + (is_right ? CRN_DIAMOND_SQUARE_NEUTRAL : diamond[e])) + below[e];
            made[e] = crn_diamond_square_mean<VARIANT>(sum, is_left || is_right, made[e]);
            left = diamond[e];
        }
        crn_diamond_square_store(to, 2 * a + 1, group, made, diamond);
    });
}

/* Loads the region of the grid that an earlier launch has made. */
static __device__ void crn_diamond_square_fetch(const crn_diamond_square_job &job,
                                                const crn_diamond_square_region &to)
{
    int32_t first = to.x0 / 4;
    int32_t rows = to.y1 - to.y0 + 1;
    crn_diamond_square_for_groups(first, to.x1 / 4, rows, [&](int32_t row, int32_t group) {
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
    });
    __syncthreads();
}

/* All levels up to the tile's finest grid in shared memory, from an earlier launch's grid or from
 * the corners. Ends with a barrier. */
template <crn_gpu_diamond_square_variant VARIANT>
static __device__ __forceinline__ void
crn_diamond_square_coarse(const crn_diamond_square_job &job, const crn_diamond_square_tile &tile)
{
    int32_t grid = job.from ? tile.grid - 1 : max(tile.grid - 3, 0);
    crn_diamond_square_region from = crn_diamond_square_region_of(tile, grid);
    if (job.from)
        crn_diamond_square_fetch(job, from);
    else
        crn_diamond_square_chain<VARIANT>(job, tile, grid);
    for (int32_t level = grid; level < tile.grid; level++) {
        crn_diamond_square_region to = crn_diamond_square_region_of(tile, level + 1);
        crn_diamond_square_diamonds<VARIANT>(job, from, to, level, tile.diamonds);
        __syncthreads();
        crn_diamond_square_evens<VARIANT>(job, from, to, level, tile.diamonds);
        crn_diamond_square_odds<VARIANT>(job, from, to, level, tile.diamonds);
        __syncthreads();
        from = to;
    }
}

#endif

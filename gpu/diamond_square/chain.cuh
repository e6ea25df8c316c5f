/*
 * The first levels of a tile (diamond_square.cuh): each depends on the one before, and has few
 * points.
 *
 * The noise of all of them is computed first, into the points' memory, so that only sums remain in
 * the dependent chain.
 */
#ifndef CRN_GPU_DIAMOND_SQUARE_CHAIN_CUH
#define CRN_GPU_DIAMOND_SQUARE_CHAIN_CUH

#include "gpu/diamond_square/internal.cuh"

/* The CTA's threads form columns and rows of points; a level has at most 25
 * columns with its margin. */
#define CRN_DIAMOND_SQUARE_CHAIN_COLUMNS 32

/* The noise of a level's points and of a margin of one, by one warp. */
template <crn_gpu_diamond_square_variant WAY>
static __device__ void crn_diamond_square_chain_noise(const crn_diamond_square_job &job,
                                                      const crn_diamond_square_part &to,
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
        crn_diamond_square_noises<WAY>(job, level,
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
template <crn_gpu_diamond_square_variant WAY>
static __device__ void crn_diamond_square_chain_diamonds(const crn_diamond_square_part &from,
                                                         const crn_diamond_square_part &to,
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
    *at = crn_diamond_square_mean<WAY>(((above[0] + above[1]) + below[0]) + below[1], false, *at);
}

/* The square points of a level, and copies of the previous grid's. */
template <crn_gpu_diamond_square_variant WAY>
static __device__ void crn_diamond_square_chain_squares(const crn_diamond_square_part &from,
                                                        const crn_diamond_square_part &to,
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
            up = y == 0 ? CRN_DIAMOND_SQUARE_NOTHING : at[-to.pitch];
            down = y == last ? CRN_DIAMOND_SQUARE_NOTHING : at[to.pitch];
            left = g[0];
            right = g[1];
            is_border = y == 0 || y == last;
        } else {
            left = x == 0 ? CRN_DIAMOND_SQUARE_NOTHING : at[-1];
            right = x == last ? CRN_DIAMOND_SQUARE_NOTHING : at[1];
            up = g[0];
            down = g[from.pitch];
            is_border = x == 0 || x == last;
        }
        *at = crn_diamond_square_mean<WAY>(((up + left) + right) + down, is_border, *at);
    }
}

/* From the corners to grid `grid`. Ends with a barrier. */
template <crn_gpu_diamond_square_variant WAY>
static __device__ void crn_diamond_square_chain(const crn_diamond_square_job &job,
                                                const crn_diamond_square_tile &tile, int32_t grid)
{
    int32_t warp = (int32_t)threadIdx.x / CRN_DIAMOND_SQUARE_WARP;
    int32_t warps = (int32_t)blockDim.x / CRN_DIAMOND_SQUARE_WARP;
    for (int32_t level = grid - 1 - warp; level >= 0; level -= warps)
        crn_diamond_square_chain_noise<WAY>(job, crn_diamond_square_part_of(tile, level + 1),
                                            level);
    crn_diamond_square_part from = crn_diamond_square_part_of(tile, 0);
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
        crn_diamond_square_part to = crn_diamond_square_part_of(tile, level + 1);
        crn_diamond_square_chain_diamonds<WAY>(from, to, level);
        __syncthreads();
        crn_diamond_square_chain_squares<WAY>(from, to, level);
        __syncthreads();
        from = to;
    }
}

#endif

/*
 * Square kernels of 3, 5 and 7 on rows without gaps: the device's side of convolve_small.cu.
 *
 * A thread owns ACROSS results side by side and runs down a strip of rows. Each row of the picture
 * is loaded once (the next one while this one is worked on), becomes floats once, and goes into
 * SIDE rows of sums: sums move up by one row as they are added to, which costs nothing, as the
 * result of a multiply-add may go elsewhere than its summand came from. Nothing else but sums is
 * kept.
 *
 * Columns where a thread's loads would leave the row are the edges: results one by one, by
 * blocks of their own.
 */
#ifndef CRN_GPU_CONVOLVE_SMALL_CUH
#define CRN_GPU_CONVOLVE_SMALL_CUH

#include "gpu/convolve.cuh"
#include "gpu/convolve_span.cuh"

#define CRN_CONVOLVE_SMALL_THREADS 128
#define CRN_CONVOLVE_SMALL_WARPS   (CRN_CONVOLVE_SMALL_THREADS / 32)

/* u8: weights are 2^100 times as large, pixels (convolve_span.cuh) 2^-133. */
#define CRN_CONVOLVE_WEIGHTS_UP 0x1p100f
#define CRN_CONVOLVE_SUMS_UP    0x1p33f

/* 1.5 2^23: a number below 2^22 added to it is rounded half to even, and stands in the low bits. */
#define CRN_CONVOLVE_ROUND 0x1.8p23f

template <int SIDE> struct convolve_small_job {
    const void *in;
    void *out;
    int64_t in_picture, out_picture, in_row, out_row; /* elements */
    int32_t height, width, lanes, border;
    int32_t begin, columns; /* the first element that is no edge; threads beside each other */
    int32_t warps_across, strips, strip_rows, warps;
    int32_t edges, edge_blocks; /* elements of a row that are edges */
    int64_t edge_results;       /* of all pictures */
    bool in_aligned, out_aligned;
    float weights[SIDE * SIDE];
};

static __device__ __forceinline__ float small_value(const float *at)
{
    return __ldg(at);
}

static __device__ __forceinline__ float small_value(const uint8_t *at)
{
    return __uint_as_float((uint32_t)__ldg(at) << 16);
}

/* The nearest whole number, before saturation. */
static __device__ __forceinline__ int32_t small_round(float sum)
{
    float shifted = __fmaf_rn(sum, CRN_CONVOLVE_SUMS_UP, CRN_CONVOLVE_ROUND);
    return __float_as_int(shifted) - __float_as_int(CRN_CONVOLVE_ROUND);
}

static __device__ __forceinline__ uint32_t small_pack(const float *sums)
{
    uint32_t high, all;
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;"
        : "=r"(high)
        : "r"(small_round(sums[3])), "r"(small_round(sums[2])), "r"(0));
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;"
        : "=r"(all)
        : "r"(small_round(sums[1])), "r"(small_round(sums[0])), "r"(high));
    return all;
}

static __device__ __forceinline__ void small_put(float *to, float sum)
{
    *to = sum;
}

static __device__ __forceinline__ void small_put(uint8_t *to, float sum)
{
    float sums[4] = {sum, sum, sum, sum};
    *to = (uint8_t)small_pack(sums);
}

/* --- results beside each other -----------------------------------------------------------------
 */

/* `to` lies at a multiple of ACROSS where it is aligned. */
template <int ACROSS>
static __device__ __forceinline__ void small_store(uint8_t *to, const float *sums, bool aligned)
{
    uint32_t words[ACROSS / 4];
#pragma unroll
    for (int i = 0; i < ACROSS / 4; i++)
        words[i] = small_pack(sums + 4 * i);
    if (aligned) {
        if constexpr (ACROSS == 16)
            *reinterpret_cast<uint4 *>(to) = make_uint4(words[0], words[1], words[2], words[3]);
        else if constexpr (ACROSS == 8)
            *reinterpret_cast<uint2 *>(to) = make_uint2(words[0], words[1]);
        else
            *reinterpret_cast<uint32_t *>(to) = words[0];
        return;
    }
#pragma unroll
    for (int i = 0; i < ACROSS; i++)
        to[i] = (uint8_t)(words[i / 4] >> 8 * (i % 4));
}

template <int ACROSS>
static __device__ __forceinline__ void small_store(float *to, const float *sums, bool aligned)
{
    static_assert(ACROSS == 4, "a vector of floats");
    if (aligned) {
        *reinterpret_cast<float4 *>(to) = make_float4(sums[0], sums[1], sums[2], sums[3]);
        return;
    }
#pragma unroll
    for (int i = 0; i < ACROSS; i++)
        to[i] = sums[i];
}

/* Adds what row `j` of the kernel makes of the values, to `from`, into `to`. */
template <int SIDE, int STEP, int ACROSS, bool FIRST>
static __device__ __forceinline__ void small_add(const float *weights, const float *values,
                                                 const float *from, float *to)
{
#pragma unroll
    for (int i = 0; i < SIDE; i++)
#pragma unroll
        for (int n = 0; n < ACROSS; n++) {
            float value = values[STEP ? n + i * STEP : i * ACROSS + n];
            if (i > 0)
                to[n] = __fmaf_rn(weights[i], value, to[n]);
            else
                to[n] = FIRST ? __fmaf_rn(weights[i], value, 0.0f)
                              : __fmaf_rn(weights[i], value, from[n]);
        }
}

/*
 * A row of the picture goes into all sums: sums[s] are those of the result row that has SIDE - 1 -
 * s rows of the picture under it so far, done[] those that have all. `oldest` is that of done[], of
 * a strip of `rows`; sums of no row of the strip are left out where that pays.
 */
template <int SIDE, int STEP, int ACROSS>
static __device__ __forceinline__ void small_row(const float *weights, const float *values,
                                                 int32_t oldest, int32_t rows,
                                                 float (*sums)[ACROSS], float *done)
{
    constexpr bool choose = SIDE > 3;
#pragma unroll
    for (int s = 0; s < SIDE; s++) {
        const float *row = weights + (SIDE - 1 - s) * SIDE;
        if (choose && (uint32_t)(oldest + s) >= (uint32_t)rows)
            continue;
        if (s == SIDE - 1)
            small_add<SIDE, STEP, ACROSS, true>(row, values, nullptr, sums[s - 1]);
        else
            small_add<SIDE, STEP, ACROSS, false>(row, values, sums[s], s ? sums[s - 1] : done);
    }
}

/* Row `y` of what stands under the kernel, which may lie outside of the picture. */
template <typename T, int SIDE, int STEP, int ACROSS>
static __device__ __forceinline__ void small_load(const convolve_small_job<SIDE> &job, const T *in,
                                                  int32_t y, span<T, SIDE, STEP, ACROSS> &row)
{
    int32_t source = crn_convolve_place(job.border, y, job.height);
    if (source >= 0) {
        row.load(in + source * job.in_row, job.lanes, job.in_aligned);
        return;
    }
#pragma unroll
    for (int i = 0; i < row.COUNT; i++)
        row.words[i] = 0;
}

template <typename T, int SIDE, int STEP, int ACROSS>
static __device__ __forceinline__ void small_strip(const convolve_small_job<SIDE> &job, const T *in,
                                                   T *out, int32_t y, int32_t rows)
{
    span<T, SIDE, STEP, ACROSS> next;
    float sums[SIDE - 1][ACROSS] = {};
    small_load(job, in, y - SIDE / 2, next);
    out += y * job.out_row;
#pragma unroll 1
    for (int32_t oldest = 1 - SIDE; oldest < rows; oldest++) {
        float values[next.VALUES], done[ACROSS];
#pragma unroll
        for (int i = 0; i < next.VALUES; i++)
            values[i] = next.value(i);
        if (oldest + 1 < rows)
            small_load(job, in, y + oldest + SIDE - SIDE / 2, next);
        small_row<SIDE, STEP, ACROSS>(job.weights, values, oldest, rows, sums, done);
        if (oldest >= 0) {
            small_store<ACROSS>(out, done, job.out_aligned);
            out += job.out_row;
        }
    }
}

/* --- edges -------------------------------------------------------------------------------------
 */

template <typename T, int SIDE>
static __device__ __noinline__ void small_edge(const convolve_small_job<SIDE> &job, int64_t index,
                                               int32_t columns_end)
{
    int32_t edge = (int32_t)(index % job.edges);
    int64_t row = index / job.edges;
    int32_t y = (int32_t)(row % job.height), picture = (int32_t)(row / job.height);
    int32_t x = edge < job.begin ? edge : columns_end + (edge - job.begin);
    int32_t pixel = x / job.lanes, lane = x % job.lanes;
    const T *in = static_cast<const T *>(job.in) + picture * job.in_picture + lane;
    int32_t places[SIDE];
#pragma unroll
    for (int i = 0; i < SIDE; i++)
        places[i] = crn_convolve_place(job.border, pixel + i - SIDE / 2, job.width);
    float sum = 0;
#pragma unroll 1
    for (int j = 0; j < SIDE; j++) {
        int32_t source = crn_convolve_place(job.border, y + j - SIDE / 2, job.height);
        if (source < 0)
            continue;
#pragma unroll
        for (int i = 0; i < SIDE; i++)
            if (places[i] >= 0)
                sum = __fmaf_rn(
                    job.weights[j * SIDE + i],
                    small_value(in + source * job.in_row + (int64_t)places[i] * job.lanes), sum);
    }
    small_put(static_cast<T *>(job.out) + picture * job.out_picture + y * job.out_row + x, sum);
}

template <typename T, int SIDE, int STEP, int ACROSS, int BLOCKS>
static __global__ void __launch_bounds__(CRN_CONVOLVE_SMALL_THREADS, BLOCKS)
    filter_small(const __grid_constant__ convolve_small_job<SIDE> job)
{
    if (blockIdx.x < (uint32_t)job.edge_blocks) {
        int64_t index = (int64_t)blockIdx.x * CRN_CONVOLVE_SMALL_THREADS + threadIdx.x;
        if (index < job.edge_results)
            small_edge<T, SIDE>(job, index, job.begin + job.columns * ACROSS);
        return;
    }
    int32_t block = (int32_t)blockIdx.x - job.edge_blocks;
    int32_t warp = block * CRN_CONVOLVE_SMALL_WARPS + (int32_t)threadIdx.x / 32;
    int32_t strip = warp / job.warps_across, picture = strip / job.strips;
    int32_t column = warp % job.warps_across * 32 + (int32_t)threadIdx.x % 32;
    if (warp >= job.warps || column >= job.columns)
        return;
    int32_t y = strip % job.strips * job.strip_rows, x = job.begin + column * ACROSS;
    int32_t rows = job.height - y < job.strip_rows ? job.height - y : job.strip_rows;
    small_strip<T, SIDE, STEP, ACROSS>(
        job, static_cast<const T *>(job.in) + picture * job.in_picture + x,
        static_cast<T *>(job.out) + picture * job.out_picture + x, y, rows);
}

#endif

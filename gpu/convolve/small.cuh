/*
 * Odd square kernels on rows without gaps: device code of small_*.cu.
 *
 * A thread owns ACROSS adjacent results and moves down a strip of rows. Each row of the image is
 * loaded once (the next one while this one is processed), converted to float once, and accumulated
 * into SIDE rows of sums. Sums move up by one row as they are added to, at no cost, because a
 * multiply-add may write to a different register than it reads. Nothing but sums is kept.
 *
 * A separable kernel (PRODUCT) first filters along the row, then has one weight per row of sums.
 *
 * Columns where a thread's loads would leave the row are edges: separate warps compute them, one
 * thread per column, with column indices that apply the border.
 */
#ifndef CRN_GPU_CONVOLVE_SMALL_CUH
#define CRN_GPU_CONVOLVE_SMALL_CUH

#include "gpu/convolve/convolve.cuh"
#include "gpu/convolve/span.cuh"

#define CRN_CONVOLVE_SMALL_THREADS 128
#define CRN_CONVOLVE_SMALL_WARPS   (CRN_CONVOLVE_SMALL_THREADS / 32)

/* u8: weights are scaled by 2^100, pixels (span.cuh) by 2^-133. */
#define CRN_CONVOLVE_WEIGHT_SCALE 0x1p100f
#define CRN_CONVOLVE_SUM_SCALE    0x1p33f

/* 1.5 2^23: adding it rounds a number below 2^22 half to even, into the low bits. */
#define CRN_CONVOLVE_ROUND 0x1.8p23f

template <int SIDE, bool PRODUCT> struct convolve_small_job {
    const void *in;
    void *out;
    int64_t in_image, out_image, in_row, out_row; /* elements */
    int32_t height, width, channels, border;
    int32_t begin, columns; /* the first element that is not an edge; number of threads */
    int32_t edges;          /* elements of a row that are edges */
    int32_t main_across, edges_across; /* warps per row */
    int32_t main_warps, edge_warps;    /* in total */
    int32_t strips, strip_rows;
    bool in_aligned, out_aligned;
    float weights[PRODUCT ? 2 * SIDE : SIDE * SIDE]; /* PRODUCT: the row, then the column */
};

/* The nearest integer, before saturation. */
static __device__ __forceinline__ int32_t small_round(float sum)
{
    float shifted = __fmaf_rn(sum, CRN_CONVOLVE_SUM_SCALE, CRN_CONVOLVE_ROUND);
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

/* --- stores --- */

/* Unaligned bytes: whole words are stored, made from a thread's own words and the next thread's;
 * single bytes only at the ends. `active_threads` is the number of threads from the warp's first on
 * that have results; it may exceed the warp. */
template <int COUNT>
static __device__ __forceinline__ void small_store_shifted(uint8_t *to, const uint32_t *words,
                                                           int32_t active_threads)
{
    int32_t lane = (int32_t)threadIdx.x % 32, last = min(31, active_threads - 1);
    uint32_t phase = (uint32_t) reinterpret_cast<uintptr_t>(to) & 3, shift = 8 * (4 - phase);
    uint32_t next = __shfl_down_sync(~0u >> (31 - last), words[0], 1);
    uint32_t *whole = reinterpret_cast<uint32_t *>(to + (4 - phase) % 4);
    if (phase == 0) {
#pragma unroll
        for (int k = 0; k < COUNT; k++)
            whole[k] = words[k];
        return;
    }
#pragma unroll
    for (int k = 0; k < COUNT - 1; k++)
        whole[k] = __funnelshift_r(words[k], words[k + 1], shift);
    if (lane != last)
        whole[COUNT - 1] = __funnelshift_r(words[COUNT - 1], next, shift);
    for (uint32_t b = 0; lane == last && b < phase; b++)
        to[4 * COUNT - phase + b] = (uint8_t)(words[COUNT - 1] >> (shift + 8 * b));
    for (uint32_t b = 0; lane == 0 && b < 4 - phase; b++)
        to[b] = (uint8_t)(words[0] >> 8 * b);
}

/* `aligned`: `to` is a multiple of ACROSS. */
template <int ACROSS>
static __device__ __forceinline__ void small_store(uint8_t *to, const float *sums, bool aligned,
                                                   int32_t active_threads)
{
    if constexpr (ACROSS == 1) {
        float four[4] = {sums[0], sums[0], sums[0], sums[0]};
        *to = (uint8_t)small_pack(four);
    } else {
        uint32_t words[ACROSS / 4];
#pragma unroll
        for (int i = 0; i < ACROSS / 4; i++)
            words[i] = small_pack(sums + 4 * i);
        if (!aligned)
            small_store_shifted<ACROSS / 4>(to, words, active_threads);
        else if constexpr (ACROSS == 16)
            *reinterpret_cast<uint4 *>(to) = make_uint4(words[0], words[1], words[2], words[3]);
        else if constexpr (ACROSS == 8)
            *reinterpret_cast<uint2 *>(to) = make_uint2(words[0], words[1]);
        else
            *reinterpret_cast<uint32_t *>(to) = words[0];
    }
}

template <int ACROSS>
static __device__ __forceinline__ void small_store(float *to, const float *sums, bool aligned,
                                                   int32_t)
{
    if constexpr (ACROSS % 4 == 0) {
        if (aligned) {
#pragma unroll
            for (int i = 0; i < ACROSS; i += 4)
                *reinterpret_cast<float4 *>(to + i) =
                    make_float4(sums[i], sums[i + 1], sums[i + 2], sums[i + 3]);
            return;
        }
    }
#pragma unroll
    for (int i = 0; i < ACROSS; i++)
        to[i] = sums[i];
}

/* Accumulates COUNT weights times values, starting from `from` (nullptr: 0), into `to`. STEP 0: the
 * values for the next weight are ACROSS further. */
template <int COUNT, int STEP, int ACROSS>
static __device__ __forceinline__ void small_add(const float *weights, const float *values,
                                                 const float *from, float *to)
{
#pragma unroll
    for (int i = 0; i < COUNT; i++)
#pragma unroll
        for (int n = 0; n < ACROSS; n++) {
            float value = values[STEP ? n + i * STEP : i * ACROSS + n];
            float sum = i > 0 ? to[n] : from ? from[n] : 0;
            to[n] = __fmaf_rn(weights[i], value, sum);
        }
}

/*
 * Accumulates a row of the image into all sums: sums[s] belongs to the result row that has seen
 * SIDE - 1 - s rows of the image so far, done[] to the one that is complete. `oldest` is the row
 * of done[] in a strip of `rows`; sums of rows outside the strip are skipped where that pays.
 */
template <int SIDE, int STEP, int ACROSS, bool PRODUCT>
static __device__ __forceinline__ void small_row(const float *weights, const float *values,
                                                 int32_t oldest, int32_t rows,
                                                 float (*sums)[ACROSS], float *done)
{
    constexpr bool choose = SIDE > 3 && !PRODUCT;
    constexpr int count = PRODUCT ? 1 : SIDE;
    float along[ACROSS];
    if (PRODUCT)
        small_add<SIDE, STEP, ACROSS>(weights, values, nullptr, along);
#pragma unroll
    for (int s = 0; s < SIDE; s++) {
        if (choose && (uint32_t)(oldest + s) >= (uint32_t)rows)
            continue;
        small_add<count, STEP, ACROSS>(
            weights + (PRODUCT ? 2 * SIDE - 1 - s : (SIDE - 1 - s) * SIDE),
            PRODUCT ? along : values, s < SIDE - 1 ? sums[s] : nullptr, s > 0 ? sums[s - 1] : done);
    }
}

/* Source of a thread's rows: `at` is its first result's offset in the image's first row. */
template <typename T, int SIDE, int STEP, int ACROSS> struct main_reader {
    typedef span<T, SIDE, STEP, ACROSS> row_span;
    const T *at;
    int32_t channels;
    bool aligned;

    __device__ __forceinline__ void read(int64_t offset, row_span &row) const
    {
        row.load(at + offset, channels, aligned);
    }
};

template <typename T, int SIDE> struct edge_reader {
    typedef edge_span<T, SIDE> row_span;
    const T *at;
    int32_t offsets[SIDE];

    __device__ __forceinline__ void read(int64_t offset, row_span &row) const
    {
        row.load(at + offset, offsets);
    }
};

/* Loads row `y` under the kernel, which may lie outside the image. */
template <int SIDE, bool PRODUCT, typename READER>
static __device__ __forceinline__ void small_read(const convolve_small_job<SIDE, PRODUCT> &job,
                                                  const READER &reader, int32_t y,
                                                  typename READER::row_span &row)
{
    int32_t source = crn_convolve_border_index(job.border, y, job.height);
    if (source >= 0) {
        reader.read(source * job.in_row, row);
        return;
    }
#pragma unroll
    for (int i = 0; i < row.COUNT; i++)
        row.words[i] = 0;
}

/* Computes `rows` rows of results from row y on, with DEPTH rows of the image in flight. */
template <typename T, int STEP, int ACROSS, int DEPTH, int SIDE, bool PRODUCT, typename READER>
static __device__ __forceinline__ void small_strip(const convolve_small_job<SIDE, PRODUCT> &job,
                                                   const READER &reader, T *out, int32_t y,
                                                   int32_t rows, int32_t active_threads)
{
    typename READER::row_span ahead[DEPTH];
    float sums[SIDE - 1][ACROSS] = {};
    constexpr int values_count = READER::row_span::VALUES;
    y += SIDE - 1 - SIDE / 2; /* the last row under the kernel, for the strip's first results */
#pragma unroll
    for (int d = 0; d < DEPTH; d++)
        small_read(job, reader, y + 1 - SIDE + d, ahead[d]);
#pragma unroll 1
    for (int32_t first = 1 - SIDE; first < rows; first += DEPTH)
#pragma unroll
        for (int d = 0; d < DEPTH; d++) {
            int32_t oldest = first + d;
            if (oldest >= rows)
                break;
            float values[values_count], done[ACROSS];
#pragma unroll
            for (int i = 0; i < values_count; i++)
                values[i] = ahead[d].value(i);
            if (oldest + DEPTH < rows)
                small_read(job, reader, y + oldest + DEPTH, ahead[d]);
            small_row<SIDE, STEP, ACROSS, PRODUCT>(job.weights, values, oldest, rows, sums, done);
            if (oldest >= 0) {
                small_store<ACROSS>(out, done, job.out_aligned, active_threads);
                out += job.out_row;
            }
        }
}

/* Results near the left and right sides, one thread per column. */
template <typename T, int SIDE, bool PRODUCT>
static __device__ __forceinline__ void small_edge(const convolve_small_job<SIDE, PRODUCT> &job,
                                                  const T *in, T *out, int32_t edge, int32_t end,
                                                  int32_t y, int32_t rows)
{
    if (edge >= job.edges)
        return;
    int32_t x = edge < job.begin ? edge : end + (edge - job.begin);
    int32_t pixel = x / job.channels, channel = x % job.channels;
    edge_reader<T, SIDE> reader;
    reader.at = in;
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
        int32_t offset = crn_convolve_border_index(job.border, pixel + i - SIDE / 2, job.width);
        reader.offsets[i] = offset < 0 ? -1 : offset * job.channels + channel;
    }
    small_strip<T, 0, 1, 1>(job, reader, out + x, y, rows, 1);
}

/* Warps take strips, column by column of threads. The edges' warps come after all others, so that
 * these are distributed evenly. */
template <typename T, int SIDE, bool PRODUCT, int STEP, int ACROSS, int DEPTH, int BLOCKS>
static __global__ void __launch_bounds__(CRN_CONVOLVE_SMALL_THREADS, BLOCKS)
    filter_small(const __grid_constant__ convolve_small_job<SIDE, PRODUCT> job)
{
    /* Broadcast, so that the compiler knows it to be uniform over the warp. */
    int32_t warp = __shfl_sync(~0u, (int32_t)threadIdx.x / 32, 0);
    warp += (int32_t)blockIdx.x * CRN_CONVOLVE_SMALL_WARPS;
    if (warp >= job.main_warps + job.edge_warps)
        return;
    bool edge = warp >= job.main_warps;
    warp -= edge ? job.main_warps : 0;
    int32_t warps_across = edge ? job.edges_across : job.main_across;
    int32_t strip = warp / warps_across, image = strip / job.strips;
    int32_t across = warp % warps_across, lane = (int32_t)threadIdx.x % 32;
    int32_t y = strip % job.strips * job.strip_rows;
    int32_t rows = job.height - y < job.strip_rows ? job.height - y : job.strip_rows;
    const T *in = static_cast<const T *>(job.in) + image * job.in_image;
    T *out = static_cast<T *>(job.out) + image * job.out_image + y * job.out_row;
    int32_t column = across * 32 + lane;
    if (edge) {
        small_edge<T>(job, in, out, column, job.begin + job.columns * ACROSS, y, rows);
    } else if (column < job.columns) {
        int32_t x = job.begin + column * ACROSS;
        main_reader<T, SIDE, STEP, ACROSS> reader = {in + x, job.channels, job.in_aligned};
        small_strip<T, STEP, ACROSS, DEPTH>(job, reader, out + x, y, rows,
                                            job.columns - across * 32);
    }
}

#endif

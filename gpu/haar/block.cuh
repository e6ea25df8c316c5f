/* A thread's block of pixels, in registers (haar.cuh). */
#ifndef CRN_GPU_HAAR_BLOCK_CUH
#define CRN_GPU_HAAR_BLOCK_CUH

#include "gpu/haar/haar.cuh"

/* How a block can be read and written. */
typedef enum crn_haar_access {
    CRN_HAAR_ROWS,  /* wholly inside the image; rows are read and written 16 bytes (u8: 8) at a
                       time */
    CRN_HAAR_WHOLE, /* wholly inside the image */
    CRN_HAAR_EDGE,  /* partly inside */
} crn_haar_access;

/* Where a block's values that are 2^K apart are read or written: a quadrant of
 * level K, or the pixels. */
typedef struct crn_haar_window {
    ptrdiff_t at, row_stride, step; /* of the first, in elements */
    int32_t rows, columns;          /* number of them from there on that lie in the quadrant */
} crn_haar_window;

/* For the block whose first pixel is (y, x). Level 0 has one quadrant: the pixels. */
static __device__ __forceinline__ crn_haar_window crn_haar_window_of(const crn_gpu_haar_job &job,
                                                                     const crn_haar_view &view,
                                                                     int32_t y, int32_t x, int k,
                                                                     bool bottom, bool right)
{
    int32_t high = crn_haar_halved(job.height, k), wide = crn_haar_halved(job.width, k);
    int32_t row = y >> k, column = x >> k;
    crn_haar_window window = {0, view.row_stride, view.step, high - row, wide - column};
    if (bottom)
        window.rows = crn_haar_halved(job.height, k - 1) / 2 - row;
    if (right)
        window.columns = crn_haar_halved(job.width, k - 1) / 2 - column;
    window.at = (ptrdiff_t)(row + (bottom ? high : 0)) * view.row_stride +
                (ptrdiff_t)(column + (right ? wide : 0)) * view.step;
    return window;
}

/* --- rows of memory --- */

template <int COUNT>
static __device__ __forceinline__ void crn_haar_load_row(const float *from, float (&to)[COUNT],
                                                         bool)
{
    if constexpr (COUNT >= 4) {
#pragma unroll
        for (int i = 0; i < COUNT; i += 4) {
            float4 four = *reinterpret_cast<const float4 *>(from + i);
            to[i] = four.x;
            to[i + 1] = four.y;
            to[i + 2] = four.z;
            to[i + 3] = four.w;
        }
    } else if constexpr (COUNT == 2) {
        float2 two = *reinterpret_cast<const float2 *>(from);
        to[0] = two.x;
        to[1] = two.y;
    } else {
        to[0] = *from;
    }
}

template <int COUNT>
static __device__ __forceinline__ void crn_haar_load_row(const uint8_t *from, float (&to)[COUNT],
                                                         bool unit)
{
    if constexpr (COUNT % 4 == 0) {
        uint32_t words[COUNT / 4];
        if constexpr (COUNT == 8) {
            uint2 two = *reinterpret_cast<const uint2 *>(from);
            words[0] = two.x;
            words[1] = two.y;
        } else {
            words[0] = *reinterpret_cast<const uint32_t *>(from);
        }
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            to[i] = crn_haar_widen(words[i / 4] >> 8 * (i % 4) & 0xff, unit);
    } else {
#pragma unroll
        for (int i = 0; i < COUNT; i++)
            to[i] = crn_haar_widen(from[i], unit);
    }
}

template <int COUNT>
static __device__ __forceinline__ void crn_haar_store_row(float *to, const float (&from)[COUNT])
{
    if constexpr (COUNT >= 4) {
#pragma unroll
        for (int i = 0; i < COUNT; i += 4)
            *reinterpret_cast<float4 *>(to + i) =
                make_float4(from[i], from[i + 1], from[i + 2], from[i + 3]);
    } else if constexpr (COUNT == 2) {
        *reinterpret_cast<float2 *>(to) = make_float2(from[0], from[1]);
    } else {
        *to = from[0];
    }
}

/* --- values of a block, 2^K apart, starting at (oy, ox) --- */

/* Values outside the window become 0. */
template <int K, crn_haar_access ACCESS, int N, int VEC, typename T>
static __device__ __forceinline__ void crn_haar_load(float (&block)[N][N][VEC], int oy, int ox,
                                                     const T *from, const crn_haar_window &window,
                                                     bool unit)
{
    constexpr int COUNT = N >> K;
    from += window.at;
    if constexpr (ACCESS == CRN_HAAR_ROWS) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            float row[COUNT];
            crn_haar_load_row(from + i * window.row_stride, row, unit);
#pragma unroll
            for (int j = 0; j < COUNT; j++)
                block[oy + (i << K)][ox + (j << K)][0] = row[j];
        }
    } else {
#pragma unroll
        for (int i = 0; i < COUNT; i++)
#pragma unroll
            for (int j = 0; j < COUNT; j++) {
                float(&to)[VEC] = block[oy + (i << K)][ox + (j << K)];
                if (ACCESS != CRN_HAAR_EDGE || (i < window.rows && j < window.columns)) {
                    const T *element = from + i * window.row_stride + j * window.step;
                    if (VEC == 1)
                        to[0] = crn_haar_element(element, unit);
                    else
                        crn_haar_load_row(element, to, unit);
                } else {
#pragma unroll
                    for (int v = 0; v < VEC; v++)
                        to[v] = 0;
                }
            }
    }
}

template <int K, crn_haar_access ACCESS, int N, int VEC>
static __device__ __forceinline__ void crn_haar_store(const float (&block)[N][N][VEC], int oy,
                                                      int ox, float *to,
                                                      const crn_haar_window &window)
{
    constexpr int COUNT = N >> K;
    to += window.at;
    if constexpr (ACCESS == CRN_HAAR_ROWS) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            float row[COUNT];
#pragma unroll
            for (int j = 0; j < COUNT; j++)
                row[j] = block[oy + (i << K)][ox + (j << K)][0];
            crn_haar_store_row(to + i * window.row_stride, row);
        }
    } else {
#pragma unroll
        for (int i = 0; i < COUNT; i++)
#pragma unroll
            for (int j = 0; j < COUNT; j++)
                if (ACCESS != CRN_HAAR_EDGE || (i < window.rows && j < window.columns))
                    crn_haar_store_row(to + i * window.row_stride + j * window.step,
                                       block[oy + (i << K)][ox + (j << K)]);
    }
}

/* --- levels --- */

/* From level K to level K + 1. high, wide: extent of level K from the block's first value on. With
 * THRESHOLD the differences are soft-thresholded, and those that do not exist become 0. */
template <int K, crn_haar_access ACCESS, bool THRESHOLD, int N, int VEC>
static __device__ __forceinline__ void crn_haar_forward(float (&block)[N][N][VEC], int32_t high,
                                                        int32_t wide, float threshold)
{
    constexpr int S = 1 << K;
#pragma unroll
    for (int y = 0; y < N; y += 2 * S)
#pragma unroll
        for (int x = 0; x < N; x += 2 * S) {
            bool has_below = ACCESS != CRN_HAAR_EDGE || (y >> K) + 1 < high;
            bool has_right = ACCESS != CRN_HAAR_EDGE || (x >> K) + 1 < wide;
#pragma unroll
            for (int v = 0; v < VEC; v++) {
                float &a = block[y][x][v], &b = block[y][x + S][v];
                float &c = block[y + S][x][v], &d = block[y + S][x + S][v];
                if (ACCESS == CRN_HAAR_EDGE) {
                    b = has_right ? b : a;
                    c = has_below ? c : a;
                    d = has_below ? (has_right ? d : c) : b;
                }
                crn_haar_sums(a, b, c, d);
                if (THRESHOLD) {
                    b = has_right ? crn_haar_soft_threshold(b, threshold) : 0;
                    c = has_below ? crn_haar_soft_threshold(c, threshold) : 0;
                    d = has_below && has_right ? crn_haar_soft_threshold(d, threshold) : 0;
                }
            }
        }
}

/* From level K + 1 back to level K. */
template <int K, int N, int VEC>
static __device__ __forceinline__ void crn_haar_inverse(float (&block)[N][N][VEC])
{
    constexpr int S = 1 << K;
#pragma unroll
    for (int y = 0; y < N; y += 2 * S)
#pragma unroll
        for (int x = 0; x < N; x += 2 * S)
#pragma unroll
            for (int v = 0; v < VEC; v++)
                crn_haar_sums(block[y][x][v], block[y][x + S][v], block[y + S][x][v],
                              block[y + S][x + S][v]);
}

#endif

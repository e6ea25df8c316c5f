/*
 * Tiles of floats in shared memory with the border applied, for any strides: device code for
 * tile.cu and product.cu.
 */
#ifndef CRN_GPU_CONVOLVE_TILE_CUH
#define CRN_GPU_CONVOLVE_TILE_CUH

#include "gpu/convolve/convolve.cuh"

/* A thread's results: consecutive rows, and columns 32 apart, so that a warp reads 32 consecutive
 * floats for any column of the kernel. */
#define CRN_CONVOLVE_TILE_DOWN    8
#define CRN_CONVOLVE_TILE_ACROSS  4
#define CRN_CONVOLVE_TILE_WARPS   8
#define CRN_CONVOLVE_TILE_THREADS (32 * CRN_CONVOLVE_TILE_WARPS)
#define CRN_CONVOLVE_TILE_ROWS    (CRN_CONVOLVE_TILE_DOWN * CRN_CONVOLVE_TILE_WARPS)
#define CRN_CONVOLVE_TILE_COLUMNS (32 * CRN_CONVOLVE_TILE_ACROSS)

/* Maximum shared memory of a block, so that at least two fit on a multiprocessor. */
#define CRN_CONVOLVE_TILE_BYTES_MAX (96 << 10)

static __device__ __forceinline__ float tile_value(float value)
{
    return value;
}

static __device__ __forceinline__ float tile_value(uint8_t value)
{
    return (float)value;
}

/* Source offsets, relative to the row's beginning, of `count` elements from element `first`
 * on; INT64_MIN: zero. */
static __device__ __forceinline__ void tile_places(const crn_convolve_pictures &in,
                                                   const crn_convolve_shape &shape, int64_t first,
                                                   int32_t count, int64_t *places)
{
    for (int32_t i = (int32_t)threadIdx.x; i < count; i += CRN_CONVOLVE_TILE_THREADS) {
        int64_t element = first + i;
        int64_t pixel = element / shape.lanes;
        pixel -= element - pixel * shape.lanes < 0;
        int64_t lane = element - pixel * shape.lanes;
        int32_t source = crn_convolve_place(shape.border, pixel, shape.width);
        places[i] = source < 0 ? INT64_MIN : source * in.step + lane * in.lane;
    }
}

/* Loads in flight per thread. */
#define CRN_CONVOLVE_TILE_LOADS 6

/* Copies `columns` elements of a row to the tile: consecutive ones (`places` NULL), or each
 * from its source offset. */
template <typename T>
static __device__ __forceinline__ void tile_read_row(const T *row, int32_t columns,
                                                     const int64_t *places, float *to)
{
    for (int32_t c = (int32_t)threadIdx.x % 32; c < columns; c += 32 * CRN_CONVOLVE_TILE_LOADS) {
        T values[CRN_CONVOLVE_TILE_LOADS];
#pragma unroll
        for (int k = 0; k < CRN_CONVOLVE_TILE_LOADS; k++) {
            values[k] = 0;
            if (c + 32 * k < columns) {
                int64_t place = places ? places[c + 32 * k] : c + 32 * k;
                values[k] = place == INT64_MIN ? (T)0 : __ldg(row + place);
            }
        }
#pragma unroll
        for (int k = 0; k < CRN_CONVOLVE_TILE_LOADS; k++)
            if (c + 32 * k < columns)
                to[c + 32 * k] = tile_value(values[k]);
    }
}

/* The input of a tile: rows from `y` on, elements from `x` on, which may lie
 * outside the picture. */
typedef struct tile_area {
    int64_t x, y;
    int32_t rows, columns;
} tile_area;

/* Loads the area into the tile, one warp per row. */
template <typename T>
static __device__ __forceinline__ void
tile_read(const T *picture, const crn_convolve_pictures &in, const crn_convolve_shape &shape,
          const tile_area &area, const int64_t *places, float *tile, int32_t pitch)
{
    bool inside = in.step == shape.lanes && area.x >= 0 &&
                  area.x + area.columns <= (int64_t)shape.width * shape.lanes;
#pragma unroll 2
    for (int32_t r = (int32_t)threadIdx.x / 32; r < area.rows; r += CRN_CONVOLVE_TILE_WARPS) {
        int32_t source = crn_convolve_place(shape.border, area.y + r, shape.height);
        const T *row = picture + source * in.row;
        float *to = tile + r * pitch;
        if (source < 0) {
            for (int32_t c = (int32_t)threadIdx.x % 32; c < area.columns; c += 32)
                to[c] = 0;
        } else if (inside) {
            tile_read_row(row + area.x, area.columns, nullptr, to);
        } else {
            tile_read_row(row, area.columns, places, to);
        }
    }
}

/* Moves down by one row: `from` is the row that enters, `u` the rotation of the register window. */
template <int ACROSS>
static __device__ __forceinline__ void tile_step(const float *from, float weight, int u,
                                                 float (*window)[ACROSS], float (*sums)[ACROSS])
{
#pragma unroll
    for (int n = 0; n < ACROSS; n++)
        window[(u + CRN_CONVOLVE_TILE_DOWN - 1) % CRN_CONVOLVE_TILE_DOWN][n] = from[32 * n];
#pragma unroll
    for (int m = 0; m < CRN_CONVOLVE_TILE_DOWN; m++)
#pragma unroll
        for (int n = 0; n < ACROSS; n++)
            sums[m][n] = __fmaf_rn(weight, window[(u + m) % CRN_CONVOLVE_TILE_DOWN][n], sums[m][n]);
}

/*
 * Applies a column of the kernel, `count` weights (aligned to 16 bytes and padded to whole groups
 * of CRN_CONVOLVE_TILE_DOWN), to ACROSS columns that begin at `from` and are 32 apart; `pitch` from
 * one row to the next. Each value is read once and goes into all sums that it contributes to.
 */
template <int ACROSS>
static __device__ __forceinline__ void tile_slide(const float *from, int32_t pitch,
                                                  const float *weights, int32_t count,
                                                  float (*sums)[ACROSS])
{
    float window[CRN_CONVOLVE_TILE_DOWN][ACROSS], some[CRN_CONVOLVE_TILE_DOWN];
#pragma unroll
    for (int m = 0; m < CRN_CONVOLVE_TILE_DOWN - 1; m++, from += pitch)
#pragma unroll
        for (int n = 0; n < ACROSS; n++)
            window[m][n] = from[32 * n];
    int32_t j = 0;
#pragma unroll 1
    for (; j + CRN_CONVOLVE_TILE_DOWN <= count; j += CRN_CONVOLVE_TILE_DOWN) {
        *reinterpret_cast<float4 *>(some) = *reinterpret_cast<const float4 *>(weights + j);
        *reinterpret_cast<float4 *>(some + 4) = *reinterpret_cast<const float4 *>(weights + j + 4);
#pragma unroll
        for (int u = 0; u < CRN_CONVOLVE_TILE_DOWN; u++, from += pitch)
            tile_step(from, some[u], u, window, sums);
    }
    if (j == count)
        return;
    *reinterpret_cast<float4 *>(some) = *reinterpret_cast<const float4 *>(weights + j);
    *reinterpret_cast<float4 *>(some + 4) = *reinterpret_cast<const float4 *>(weights + j + 4);
#pragma unroll
    for (int u = 0; u < CRN_CONVOLVE_TILE_DOWN - 1; u++, from += pitch) {
        if (j + u >= count)
            break;
        tile_step(from, some[u], u, window, sums);
    }
}

/* Stores a thread's results; the first is row `y`, element `x` of the picture. Elements from `end`
 * on belong to another thread. */
template <typename T>
static __device__ __forceinline__ void
tile_write(T *picture, const crn_convolve_pictures &out, const crn_convolve_shape &shape, int32_t y,
           int64_t x, int64_t end, const float (*sums)[CRN_CONVOLVE_TILE_ACROSS])
{
    int64_t elements = (int64_t)shape.width * shape.lanes;
    end = end < elements ? end : elements;
#pragma unroll
    for (int n = 0; n < CRN_CONVOLVE_TILE_ACROSS; n++) {
        int64_t element = x + 32 * n;
        if (element >= end)
            break;
        int64_t pixel = shape.lanes == 1 ? element : element / shape.lanes;
        T *to = picture + pixel * out.step + (element - pixel * shape.lanes) * out.lane;
#pragma unroll
        for (int m = 0; m < CRN_CONVOLVE_TILE_DOWN; m++)
            if (y + m < shape.height)
                crn_convolve_put(to + (int64_t)(y + m) * out.row, sums[m][n]);
    }
}

#endif

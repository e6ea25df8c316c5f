/*
 * Tiles of floats in shared memory, with what lies beyond the picture, of any strides: the device's
 * side of tile.cu and product.cu.
 */
#ifndef CRN_GPU_CONVOLVE_TILE_CUH
#define CRN_GPU_CONVOLVE_TILE_CUH

#include "gpu/convolve/convolve.cuh"

/* A thread's results: rows below each other, and columns 32 apart, so that a warp reads 32 floats
 * beside each other wherever the kernel's column lies. */
#define CRN_CONVOLVE_TILE_DOWN    8
#define CRN_CONVOLVE_TILE_ACROSS  4
#define CRN_CONVOLVE_TILE_WARPS   8
#define CRN_CONVOLVE_TILE_THREADS (32 * CRN_CONVOLVE_TILE_WARPS)
#define CRN_CONVOLVE_TILE_ROWS    (CRN_CONVOLVE_TILE_DOWN * CRN_CONVOLVE_TILE_WARPS)
#define CRN_CONVOLVE_TILE_COLUMNS (32 * CRN_CONVOLVE_TILE_ACROSS)

/* Of a block; what a multiprocessor has is enough for two and more of them. */
#define CRN_CONVOLVE_TILE_BYTES_MAX (96 << 10)

static __device__ __forceinline__ float tile_value(float value)
{
    return value;
}

static __device__ __forceinline__ float tile_value(uint8_t value)
{
    return (float)value;
}

/* Where the elements of `count` columns from element `first` of a row on come from, counted from
 * the row's beginning; INT64_MIN: zeros do. */
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

/* Loads of a thread that are on their way at once. */
#define CRN_CONVOLVE_TILE_LOADS 6

/* Elements of a row, `columns` of them, to the tile: as they lie (`places` NULL), or each from its
 * place. */
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

/* What a tile reads: rows from `y` on, elements from `x` on, which may lie outside. */
typedef struct tile_area {
    int64_t x, y;
    int32_t rows, columns;
} tile_area;

/* The area of the picture into the tile, a warp a row. */
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

/* One row further: `from` is what comes in below, `u` how far the window has turned. */
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
 * A column of the kernel, `count` weights (at a multiple of 16 bytes, with room for whole groups of
 * CRN_CONVOLVE_TILE_DOWN), over ACROSS columns that begin at `from` and 32 further each; `pitch`
 * from one row to the next. Each value is read once and goes into all DOWN sums over which the
 * column passes.
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

/* A thread's results to where they belong: row `y` and element `x` of the picture are its first;
 * those from element `end` on are another's. */
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

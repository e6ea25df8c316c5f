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

/* The images of a job and their division into tiles, one per block. */
typedef struct convolve_tiling {
    crn_convolve_images in, out;
    crn_convolve_shape shape;
    int32_t kernel_width, kernel_height;
    int32_t across, down; /* tiles of an image */
} convolve_tiling;

/* A block's tile: its image, and the first result's element and row. */
typedef struct tile_position {
    int32_t image;
    int64_t x, y;
} tile_position;

/* `advance`: columns of a tile that are results. Returns the number of blocks, or -EINVAL. */
static inline int64_t convolve_tiling_of(const crn_convolve_task *task, int32_t advance,
                                         convolve_tiling *ret_tiling)
{
    const crn_convolve_shape *shape = &task->shape;
    int64_t elements = (int64_t)shape->width * shape->channels;
    int64_t across = (elements + advance - 1) / advance;
    int64_t down = ((int64_t)shape->height + CRN_CONVOLVE_TILE_ROWS - 1) / CRN_CONVOLVE_TILE_ROWS;
    int64_t blocks = across * down * shape->count;
    if (across > INT32_MAX || blocks > INT32_MAX)
        return -EINVAL;
    *ret_tiling = {task->in,        task->out,    *shape, task->kernel.width, task->kernel.height,
                   (int32_t)across, (int32_t)down};
    return blocks;
}

static __device__ __forceinline__ tile_position tile_position_of(const convolve_tiling &t,
                                                                 int32_t advance)
{
    int32_t across = (int32_t)blockIdx.x % t.across;
    int32_t down = (int32_t)blockIdx.x / t.across % t.down;
    tile_position p;
    p.image = (int32_t)blockIdx.x / t.across / t.down;
    p.x = (int64_t)across * advance;
    p.y = (int64_t)down * CRN_CONVOLVE_TILE_ROWS;
    return p;
}

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
static __device__ __forceinline__ void tile_offsets(const crn_convolve_images &in,
                                                    const crn_convolve_shape &shape, int64_t first,
                                                    int32_t count, int64_t *offsets)
{
    for (int32_t i = (int32_t)threadIdx.x; i < count; i += CRN_CONVOLVE_TILE_THREADS) {
        int64_t element = first + i;
        int64_t pixel = element / shape.channels;
        pixel -= element - pixel * shape.channels < 0;
        int64_t channel = element - pixel * shape.channels;
        int32_t source = crn_convolve_border_index(shape.border, pixel, shape.width);
        offsets[i] = source < 0 ? INT64_MIN : source * in.step + channel * in.channel;
    }
}

/* Loads in flight per thread. */
#define CRN_CONVOLVE_TILE_LOADS 6

/* Copies `columns` elements of a row to the tile: consecutive ones (`offsets` NULL), or each
 * from its source offset. */
template <typename T>
static __device__ __forceinline__ void tile_read_row(const T *row, int32_t columns,
                                                     const int64_t *offsets, float *to)
{
    for (int32_t c = (int32_t)threadIdx.x % 32; c < columns; c += 32 * CRN_CONVOLVE_TILE_LOADS) {
        T values[CRN_CONVOLVE_TILE_LOADS];
#pragma unroll
        for (int k = 0; k < CRN_CONVOLVE_TILE_LOADS; k++) {
            values[k] = 0;
            if (c + 32 * k < columns) {
                int64_t offset = offsets ? offsets[c + 32 * k] : c + 32 * k;
                values[k] = offset == INT64_MIN ? (T)0 : __ldg(row + offset);
            }
        }
#pragma unroll
        for (int k = 0; k < CRN_CONVOLVE_TILE_LOADS; k++)
            if (c + 32 * k < columns)
                to[c + 32 * k] = tile_value(values[k]);
    }
}

/* The input of a tile: rows from `y` on, elements from `x` on, which may lie
 * outside the image. */
typedef struct tile_area {
    int64_t x, y;
    int32_t rows, columns;
} tile_area;

/* Loads the area into the tile, one warp per row. */
template <typename T>
static __device__ __forceinline__ void tile_read(const T *image, const convolve_tiling &t,
                                                 const tile_area &area, const int64_t *offsets,
                                                 float *tile, int32_t pitch)
{
    bool inside = t.in.step == t.shape.channels && area.x >= 0 &&
                  area.x + area.columns <= (int64_t)t.shape.width * t.shape.channels;
#pragma unroll 2
    for (int32_t r = (int32_t)threadIdx.x / 32; r < area.rows; r += CRN_CONVOLVE_TILE_WARPS) {
        int32_t source = crn_convolve_border_index(t.shape.border, area.y + r, t.shape.height);
        const T *row = image + source * t.in.row;
        float *to = tile + r * pitch;
        if (source < 0) {
            for (int32_t c = (int32_t)threadIdx.x % 32; c < area.columns; c += 32)
                to[c] = 0;
        } else if (inside) {
            tile_read_row(row + area.x, area.columns, nullptr, to);
        } else {
            tile_read_row(row, area.columns, offsets, to);
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

static __device__ __forceinline__ void tile_read_weights(const float *from,
                                                         float (&to)[CRN_CONVOLVE_TILE_DOWN])
{
    *reinterpret_cast<float4 *>(to) = *reinterpret_cast<const float4 *>(from);
    *reinterpret_cast<float4 *>(to + 4) = *reinterpret_cast<const float4 *>(from + 4);
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
    float window[CRN_CONVOLVE_TILE_DOWN][ACROSS], group_weights[CRN_CONVOLVE_TILE_DOWN];
#pragma unroll
    for (int m = 0; m < CRN_CONVOLVE_TILE_DOWN - 1; m++, from += pitch)
#pragma unroll
        for (int n = 0; n < ACROSS; n++)
            window[m][n] = from[32 * n];
    int32_t j = 0;
#pragma unroll 1
    for (; j + CRN_CONVOLVE_TILE_DOWN <= count; j += CRN_CONVOLVE_TILE_DOWN) {
        tile_read_weights(weights + j, group_weights);
#pragma unroll
        for (int u = 0; u < CRN_CONVOLVE_TILE_DOWN; u++, from += pitch)
            tile_step(from, group_weights[u], u, window, sums);
    }
    if (j == count)
        return;
    tile_read_weights(weights + j, group_weights);
#pragma unroll
    for (int u = 0; u < CRN_CONVOLVE_TILE_DOWN - 1; u++, from += pitch) {
        if (j + u >= count)
            break;
        tile_step(from, group_weights[u], u, window, sums);
    }
}

/* Stores a thread's results; the first is row `y`, element `x` of the image. Elements from `end` on
 * belong to another tile. */
template <typename T>
static __device__ __forceinline__ void tile_write(T *image, const convolve_tiling &t, int32_t y,
                                                  int64_t x, int64_t end,
                                                  const float (*sums)[CRN_CONVOLVE_TILE_ACROSS])
{
    const crn_convolve_shape &shape = t.shape;
    int64_t elements = (int64_t)shape.width * shape.channels;
    end = end < elements ? end : elements;
#pragma unroll
    for (int n = 0; n < CRN_CONVOLVE_TILE_ACROSS; n++) {
        int64_t element = x + 32 * n;
        if (element >= end)
            break;
        int64_t pixel = shape.channels == 1 ? element : element / shape.channels;
        T *to = image + pixel * t.out.step + (element - pixel * shape.channels) * t.out.channel;
#pragma unroll
        for (int m = 0; m < CRN_CONVOLVE_TILE_DOWN; m++)
            if (y + m < shape.height)
                crn_convolve_put(to + (int64_t)(y + m) * t.out.row, sums[m][n]);
    }
}

/* Stores the thread's results of a tile with `advance` columns. */
template <typename T>
static __device__ __forceinline__ void
tile_write_results(const convolve_tiling &t, const tile_position &p, int32_t advance,
                   const float (*sums)[CRN_CONVOLVE_TILE_ACROSS])
{
    int32_t lane = (int32_t)threadIdx.x % 32, warp = (int32_t)threadIdx.x / 32;
    if (p.y + warp * CRN_CONVOLVE_TILE_DOWN < t.shape.height)
        tile_write(static_cast<T *>(t.out.data) + p.image * t.out.image, t,
                   (int32_t)p.y + warp * CRN_CONVOLVE_TILE_DOWN, p.x + lane, p.x + advance, sums);
}

#endif

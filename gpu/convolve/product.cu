/*
 * Separable kernels (a column times a row): a tile is filtered along its rows, then down its
 * columns, in shared memory.
 *
 * Along the rows a thread has CRN_CONVOLVE_TILE_DOWN adjacent pixels of one plane, and the threads
 * of a warp have different rows: the row pitch is odd, against bank conflicts.
 */
#include "gpu/convolve/tile.cuh"

extern "C" {
#include "stages/serial/convolve_factor.h"
}

/* Longest side of a kernel: bounds the two factors on the host's stack, and shared memory. */
#define SIDE_MAX 256

/* With more interleaved planes than this, tiles are too narrow for several
 * adjacent pixels per thread. */
#define CHANNELS_MAX (CRN_CONVOLVE_TILE_COLUMNS / CRN_CONVOLVE_TILE_DOWN)

/* Rows that are loaded and filtered at once; fewer need less memory, more keep threads busy. */
#define BAND_ROWS 40

typedef struct product_job {
    convolve_tiling tiling;
    const float *row, *column; /* on the device, padded to whole groups of CRN_CONVOLVE_TILE_DOWN */
    int32_t row_pitch, column_pitch;
    int32_t advance;       /* columns of a tile that are results */
    int32_t columns, rows; /* size of the tile with its halo */
    int32_t band_rows, band_pitch, sums_pitch;
} product_job;

/* Shared memory: offsets, the column's weights and the row's, a band, row sums of all rows. */
static size_t bytes_of(const product_job *job)
{
    return ((size_t)job->columns + 1) / 2 * 16 +
           sizeof(float) * ((size_t)job->row_pitch + (size_t)job->column_pitch +
                            (size_t)job->band_rows * (size_t)job->band_pitch +
                            (size_t)job->rows * (size_t)job->sums_pitch);
}

/* Filters a band of `rows` rows along their pixels. */
static __device__ __forceinline__ void sum_along(const product_job &job, const float *band,
                                                 const float *weights, int32_t rows, float *to)
{
    int32_t channels = job.tiling.shape.channels,
            items = rows * (job.advance / CRN_CONVOLVE_TILE_DOWN);
    for (int32_t item = (int32_t)threadIdx.x; item < items; item += CRN_CONVOLVE_TILE_THREADS) {
        int32_t chain = item / rows, r = item % rows;
        int32_t group = chain / channels,
                first = group * (CRN_CONVOLVE_TILE_DOWN - 1) * channels + chain;
        float sums[CRN_CONVOLVE_TILE_DOWN][1] = {};
        tile_slide<1>(band + r * job.band_pitch + first, channels, weights, job.tiling.kernel_width,
                      sums);
        float *offset = to + r * job.sums_pitch + first;
#pragma unroll
        for (int m = 0; m < CRN_CONVOLVE_TILE_DOWN; m++)
            offset[m * channels] = sums[m][0];
    }
}

template <typename T>
static __global__ void __launch_bounds__(CRN_CONVOLVE_TILE_THREADS, 3)
    filter_product(const __grid_constant__ product_job job)
{
    extern __shared__ float4 memory[];
    int64_t *offsets = reinterpret_cast<int64_t *>(memory);
    float *row = reinterpret_cast<float *>(memory + (job.columns + 1) / 2);
    float *column = row + job.row_pitch, *band = column + job.column_pitch;
    float *along = band + job.band_rows * job.band_pitch;
    const convolve_tiling &tiling = job.tiling;
    tile_position p = tile_position_of(tiling, job.advance);
    const T *in = static_cast<const T *>(tiling.in.data) + p.image * tiling.in.image;
    int32_t lane = (int32_t)threadIdx.x % 32, warp = (int32_t)threadIdx.x / 32;
    for (int32_t i = (int32_t)threadIdx.x; i < job.row_pitch; i += CRN_CONVOLVE_TILE_THREADS)
        row[i] = __ldg(job.row + i);
    for (int32_t i = (int32_t)threadIdx.x; i < job.column_pitch; i += CRN_CONVOLVE_TILE_THREADS)
        column[i] = __ldg(job.column + i);
    tile_area area = {p.x - (int64_t)(tiling.kernel_width / 2) * tiling.shape.channels, 0, 0,
                      job.columns};
    tile_offsets(tiling.in, tiling.shape, area.x, job.columns, offsets);
    for (int32_t r = 0; r < job.rows; r += job.band_rows) {
        area.y = p.y + r - tiling.kernel_height / 2;
        area.rows = min(job.band_rows, job.rows - r);
        __syncthreads();
        tile_read(in, tiling, area, offsets, band, job.band_pitch);
        __syncthreads();
        sum_along(job, band, row, area.rows, along + r * job.sums_pitch);
    }
    __syncthreads();
    float sums[CRN_CONVOLVE_TILE_DOWN][CRN_CONVOLVE_TILE_ACROSS] = {};
    tile_slide<CRN_CONVOLVE_TILE_ACROSS>(along + warp * CRN_CONVOLVE_TILE_DOWN * job.sums_pitch +
                                             lane,
                                         job.sums_pitch, column, tiling.kernel_height, sums);
    tile_write_results<T>(tiling, p, job.advance, sums);
}

/* Two passes cost their taps, and the round trip through shared memory between them. */
static bool is_worth_two_passes(const crn_convolve_task *task)
{
    int32_t width = task->kernel.width, height = task->kernel.height;
    return width > 1 && height > 1 && width <= SIDE_MAX && height <= SIDE_MAX &&
           task->shape.channels <= CHANNELS_MAX && width * height > 2 * (width + height) + 8;
}

static int32_t whole_groups(int32_t count)
{
    return (count + CRN_CONVOLVE_TILE_DOWN - 1) / CRN_CONVOLVE_TILE_DOWN * CRN_CONVOLVE_TILE_DOWN;
}

/* Sets the tile's size; its rows have an odd pitch. Returns the number of blocks, or -EINVAL. */
static int64_t set_tile(product_job *job, const crn_convolve_task *task)
{
    int32_t channels = task->shape.channels;
    job->advance = CRN_CONVOLVE_TILE_COLUMNS / (CRN_CONVOLVE_TILE_DOWN * channels) *
                   CRN_CONVOLVE_TILE_DOWN * channels;
    job->columns = job->advance + (task->kernel.width - 1) * channels;
    job->rows = CRN_CONVOLVE_TILE_ROWS + task->kernel.height - 1;
    int32_t bands = (job->rows + BAND_ROWS - 1) / BAND_ROWS;
    job->band_rows = (job->rows + bands - 1) / bands;
    job->band_pitch = job->columns | 1;
    job->sums_pitch = CRN_CONVOLVE_TILE_COLUMNS | 1;
    return convolve_tiling_of(task, job->advance, &job->tiling);
}

/* Factors the kernel, pads the factors to whole groups, and puts them on the device. 0: the
 * kernel is not separable. */
static int upload_factors(product_job *job, const crn_convolve_task *task)
{
    float factors[2 * SIDE_MAX] = {};
    const crn_convolve_params &kernel = task->kernel;
    job->row_pitch = whole_groups(kernel.width);
    job->column_pitch = whole_groups(kernel.height);
    if (!crn_convolve_factor(&kernel, factors + job->row_pitch, factors))
        return 0;
    size_t bytes = (size_t)(job->row_pitch + job->column_pitch) * sizeof *factors;
    job->row = static_cast<const float *>(crn_gpu_constants(task->context, factors, bytes));
    job->column = job->row ? job->row + job->row_pitch : NULL;
    return job->row ? 1 : -ENOMEM;
}

int crn_convolve_product(const crn_convolve_task *task)
{
    if (!is_worth_two_passes(task))
        return 0;
    product_job job;
    int64_t blocks = set_tile(&job, task);
    if (blocks < 0)
        return -EINVAL;
    int r = upload_factors(&job, task);
    if (r <= 0 || bytes_of(&job) > crn_gpu_limits_of(task->context)->shared_bytes)
        return r < 0 ? r : 0;
    r = crn_gpu_launch_kernel(
        task->context, task->type == CRN_U8 ? filter_product<uint8_t> : filter_product<float>,
        dim3((unsigned)blocks), CRN_CONVOLVE_TILE_THREADS, bytes_of(&job), job);
    return r < 0 ? r : 1;
}

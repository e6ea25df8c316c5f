/*
 * Any kernel on images of any strides: tiles in shared memory; a kernel that is too large (or
 * whose halo is) is applied in pieces.
 */
#include "gpu/convolve/tile.cuh"

/* Pieces of the kernel, and sizes in shared memory. */
typedef struct tile_job {
    convolve_tiling tiling;
    const float *weights; /* on the device: column by column, each `column_pitch` long */
    int32_t column_pitch;
    int32_t piece_width, piece_height; /* of the kernel */
    int32_t columns, rows;             /* of a tile, with a piece's halo */
    int32_t weights_pitch;             /* of a piece's column */
} tile_job;

/* Shared memory: offsets, the piece's weights, the tile. */
static size_t bytes_of(const tile_job *job)
{
    size_t columns = (size_t)job->columns;
    return (columns + 1) / 2 * 16 +
           sizeof(float) * ((size_t)job->weights_pitch * (size_t)job->piece_width +
                            columns * (size_t)job->rows);
}

/* Loads a piece's weights into shared memory. */
static __device__ void read_weights(const tile_job &job, int32_t i0, int32_t j0, int32_t width,
                                    int32_t height, float *weights)
{
    for (int32_t k = (int32_t)threadIdx.x; k < width * height; k += CRN_CONVOLVE_TILE_THREADS) {
        int32_t i = k / height, j = k % height;
        weights[i * job.weights_pitch + j] =
            __ldg(job.weights + (int64_t)(i0 + i) * job.column_pitch + j0 + j);
    }
}

template <typename T>
static __global__ void __launch_bounds__(CRN_CONVOLVE_TILE_THREADS, 2)
    filter_tiles(const __grid_constant__ tile_job job)
{
    extern __shared__ float4 memory[];
    int64_t *offsets = reinterpret_cast<int64_t *>(memory);
    float *weights = reinterpret_cast<float *>(memory + (job.columns + 1) / 2);
    float *tile = weights + job.weights_pitch * job.piece_width;
    const convolve_tiling &tiling = job.tiling;
    tile_position p = tile_position_of(tiling, CRN_CONVOLVE_TILE_COLUMNS);
    const T *in = static_cast<const T *>(tiling.in.data) + p.image * tiling.in.image;
    int32_t lane = (int32_t)threadIdx.x % 32, warp = (int32_t)threadIdx.x / 32;
    float sums[CRN_CONVOLVE_TILE_DOWN][CRN_CONVOLVE_TILE_ACROSS] = {};
    for (int32_t i0 = 0; i0 < tiling.kernel_width; i0 += job.piece_width)
        for (int32_t j0 = 0; j0 < tiling.kernel_height; j0 += job.piece_height) {
            int32_t width = min(job.piece_width, tiling.kernel_width - i0);
            int32_t height = min(job.piece_height, tiling.kernel_height - j0);
            tile_area area = {p.x + (int64_t)(i0 - tiling.kernel_width / 2) * tiling.shape.channels,
                              p.y + j0 - tiling.kernel_height / 2, job.rows, job.columns};
            __syncthreads();
            tile_offsets(tiling.in, tiling.shape, area.x, job.columns, offsets);
            read_weights(job, i0, j0, width, height, weights);
            __syncthreads();
            tile_read(in, tiling, area, offsets, tile, job.columns);
            __syncthreads();
            const float *from = tile + warp * CRN_CONVOLVE_TILE_DOWN * job.columns + lane;
            for (int32_t i = 0; i < width; i++)
                tile_slide<CRN_CONVOLVE_TILE_ACROSS>(from + i * tiling.shape.channels, job.columns,
                                                     weights + i * job.weights_pitch, height, sums);
        }
    tile_write_results<T>(tiling, p, CRN_CONVOLVE_TILE_COLUMNS, sums);
}

static void set_piece(tile_job *job, int32_t width, int32_t height)
{
    job->piece_width = width;
    job->piece_height = height;
    job->weights_pitch =
        (height + CRN_CONVOLVE_TILE_DOWN - 1) / CRN_CONVOLVE_TILE_DOWN * CRN_CONVOLVE_TILE_DOWN;
    job->columns = CRN_CONVOLVE_TILE_COLUMNS + (width - 1) * job->tiling.shape.channels;
    job->rows = CRN_CONVOLVE_TILE_ROWS + height - 1;
}

/* The largest pieces that fit: the kernel's whole height, or a good part of it, then its width. */
static int cut_kernel(tile_job *job, size_t bytes)
{
    int32_t height = job->tiling.kernel_height < 32 ? job->tiling.kernel_height : 32, width = 1;
    set_piece(job, 1, height);
    if (bytes_of(job) > bytes)
        return -EINVAL;
    for (int32_t w = 2; w <= job->tiling.kernel_width && bytes_of(job) <= bytes; w++) {
        if ((int64_t)w * job->tiling.shape.channels > CRN_CONVOLVE_TILE_BYTES_MAX)
            break;
        set_piece(job, w, height);
        width = bytes_of(job) <= bytes ? w : width;
    }
    if (width == job->tiling.kernel_width)
        for (int32_t h = height + 1; h <= job->tiling.kernel_height; h++) {
            set_piece(job, width, h);
            if (bytes_of(job) > bytes)
                break;
            height = h;
        }
    set_piece(job, width, height);
    return 0;
}

/* Puts the weights on the device column by column, in the order in which threads use them. */
static int upload_weights(tile_job *job, const crn_convolve_task *task)
{
    float columns[CRN_KERNEL_TAPS_MAX];
    int32_t width = task->kernel.width, height = task->kernel.height;
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++)
            columns[x * height + y] = task->kernel.weights[y * width + x];
    job->column_pitch = height;
    size_t bytes = (size_t)width * (size_t)height * sizeof *columns;
    job->weights = static_cast<const float *>(crn_gpu_constants(task->context, columns, bytes));
    return job->weights ? 0 : -ENOMEM;
}

int crn_convolve_tiles(const crn_convolve_task *task)
{
    tile_job job;
    int64_t blocks = convolve_tiling_of(task, CRN_CONVOLVE_TILE_COLUMNS, &job.tiling);
    if (blocks < 0)
        return -EINVAL;
    size_t bytes = crn_gpu_limits_of(task->context)->shared_bytes;
    int r =
        cut_kernel(&job, bytes < CRN_CONVOLVE_TILE_BYTES_MAX ? bytes : CRN_CONVOLVE_TILE_BYTES_MAX);
    if (r == 0)
        r = upload_weights(&job, task);
    if (r < 0)
        return r;
    return crn_gpu_launch_kernel(
        task->context, task->type == CRN_U8 ? filter_tiles<uint8_t> : filter_tiles<float>,
        dim3((unsigned)blocks), CRN_CONVOLVE_TILE_THREADS, bytes_of(&job), job);
}

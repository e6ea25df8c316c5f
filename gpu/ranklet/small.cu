/* Windows of a few pixels: all pairs, one thread per position or per two. */
#include "gpu/ranklet/ranklet.cuh"

#include <cuda_fp16.h>

#define COLUMNS 32
#define ROWS    8

/* Maximum pixels of a quarter for u16 images: their histograms may have 256 times as many
 * values as those of u8. */
#define U16_QUARTER 64

/* --- u8: binary16 arithmetic, two rows of positions per thread --- */

/* The sum of (sign(p - q) + 1) / 2 over all p and q, for two windows: of min(max(p / 2 + (1 - q) /
 * 2, 0), 1). Exact, because binary16 represents every multiple of a half up to 1024. */
template <int COUNT>
static __device__ __forceinline__ __half2 half_signs(const __half2 *p, const __half2 *q)
{
    __half2 sum[2] = {__float2half2_rn(0), __float2half2_rn(0)};
#pragma unroll
    for (int i = 0; i < COUNT; i++)
#pragma unroll
        for (int j = 0; j < COUNT; j++)
            sum[j % 2] = __hadd2(sum[j % 2], __hadd2_sat(p[i], q[j]));
    return __hadd2(sum[0], sum[1]);
}

/* A quarter's pixels / 2, or with `away` (1 - pixel) / 2. */
template <int H, int W>
static __device__ __forceinline__ void read_quarter(const __half2 (*tile)[COLUMNS + W], int32_t row,
                                                    int32_t column, bool away, __half2 *ret_pixels)
{
#pragma unroll
    for (int i = 0; i < H * W / 4; i++) {
        __half2 pixel = tile[row + i / (W / 2)][column + i % (W / 2)];
        ret_pixels[i] = away ? __hsub2(__float2half2_rn(0.5f), pixel) : pixel;
    }
}

static __device__ __forceinline__ int32_t sum_of(__half half_signs, int32_t pairs)
{
    return static_cast<int32_t>(2 * __half2float(half_signs)) - pairs;
}

/* Loads the tile's pixels / 2, those of a row and the next packed together. */
template <int H, int W>
static __device__ void fill_tile(const crn_ranklet_job &job, int32_t image, int32_t y, int32_t x,
                                 __half2 (*tile)[COLUMNS + W])
{
    const uint8_t *codes = crn_ranklet_image<uint8_t>(job, image) + y * job.code_row + x;
    const int32_t rows = job.rows + job.height - 1 - y, columns = job.columns + job.width - 1 - x;
    for (int32_t i = threadIdx.y; i < 2 * ROWS + H - 2; i += ROWS)
        for (int32_t k = threadIdx.x; k < COLUMNS + W - 1; k += COLUMNS) {
            bool is_in = i < rows && k < columns, is_next_in = i + 1 < rows && k < columns;
            float first = is_in ? codes[i * job.code_row + k] : 0;
            float next = is_next_in ? codes[(i + 1) * job.code_row + k] : 0;
            tile[i][k] = __floats2half2_rn(first * 0.5f, next * 0.5f);
        }
}

template <int H, int W>
static __global__ void __launch_bounds__(COLUMNS *ROWS) count_halves(crn_ranklet_job job)
{
    __shared__ __half2 tile[2 * ROWS + H][COLUMNS + W];
    const int32_t N = H * W / 4, column = threadIdx.x, row = 2 * threadIdx.y;
    const int32_t x = blockIdx.x * COLUMNS, y = blockIdx.y * 2 * ROWS;
    for (int32_t image = blockIdx.z; image < job.images; image += gridDim.z) {
        fill_tile<H, W>(job, image, y, x, tile);
        __syncthreads();
        __half2 p[N], q[N];
        read_quarter<H, W>(tile, row, column, false, p);
        read_quarter<H, W>(tile, row, column + W / 2, true, q);
        const __half2 ab = half_signs<N>(p, q);
        read_quarter<H, W>(tile, row + H / 2, column, true, q);
        const __half2 ac = half_signs<N>(p, q);
        read_quarter<H, W>(tile, row + H / 2, column + W / 2, true, q);
        const __half2 ad = half_signs<N>(p, q);
        read_quarter<H, W>(tile, row, column + W / 2, false, p);
        const __half2 bd = half_signs<N>(p, q);
        read_quarter<H, W>(tile, row + H / 2, column, true, q);
        const __half2 bc = half_signs<N>(p, q);
        read_quarter<H, W>(tile, row + H / 2, column, false, p);
        read_quarter<H, W>(tile, row + H / 2, column + W / 2, true, q);
        const __half2 cd = half_signs<N>(p, q);
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int32_t of[6] = {
                sum_of(i ? __high2half(ab) : __low2half(ab), N * N),
                sum_of(i ? __high2half(ac) : __low2half(ac), N * N),
                sum_of(i ? __high2half(ad) : __low2half(ad), N * N),
                sum_of(i ? __high2half(bc) : __low2half(bc), N * N),
                sum_of(i ? __high2half(bd) : __low2half(bd), N * N),
                sum_of(i ? __high2half(cd) : __low2half(cd), N * N),
            };
            if (x + column < job.columns && y + row + i < job.rows)
                crn_ranklet_write(job, image, y + row + i, x + column, of[0] + of[1] + of[2],
                                  of[3] + of[4] - of[0], of[5] - of[1] - of[3]);
        }
        __syncthreads();
    }
}

/* --- u16 --- */

/* The sum of sign(p - q) over two quarters that begin there. */
static __device__ int32_t pairs(const crn_ranklet_job &job, const uint16_t *p, const uint16_t *q)
{
    const int32_t height = job.height / 2, width = job.width / 2;
    int32_t sum = 0;
    for (int32_t i = 0; i < height; i++)
        for (int32_t k = 0; k < width; k++) {
            const int32_t pixel = p[i * job.code_row + k];
            for (int32_t j = 0; j < height; j++)
#pragma unroll 4
                for (int32_t l = 0; l < width; l++)
                    sum += min(max(pixel - q[j * job.code_row + l], -1), 1);
        }
    return sum;
}

static __global__ void __launch_bounds__(COLUMNS *ROWS) count_pairs(crn_ranklet_job job)
{
    const int32_t x = blockIdx.x * COLUMNS + threadIdx.x, y = blockIdx.y * ROWS + threadIdx.y;
    if (x >= job.columns || y >= job.rows)
        return;
    for (int32_t image = blockIdx.z; image < job.images; image += gridDim.z) {
        const uint16_t *a = crn_ranklet_image<uint16_t>(job, image) + y * job.code_row + x;
        const uint16_t *b = a + job.width / 2, *c = a + job.height / 2 * job.code_row;
        const uint16_t *d = c + job.width / 2;
        int32_t ab = pairs(job, a, b), ac = pairs(job, a, c), ad = pairs(job, a, d);
        int32_t bc = pairs(job, b, c), bd = pairs(job, b, d), cd = pairs(job, c, d);
        crn_ranklet_write(job, image, y, x, ab + ac + ad, bc + bd - ab, cd - ac - bc);
    }
}

static int32_t blocks_down(const crn_ranklet_job *job)
{
    return crn_gpu_blocks(job->rows, job->is_u16 ? ROWS : 2 * ROWS);
}

bool crn_ranklet_is_small(const crn_ranklet_job *job)
{
    if (blocks_down(job) > 65535)
        return false;
    if (job->is_u16)
        return static_cast<int64_t>(job->width) * job->height <= 4 * U16_QUARTER;
    return job->width == job->height && (job->width == 2 || job->width == 4 || job->width == 8);
}

void crn_ranklet_small(crn_context *context, const crn_ranklet_job *job)
{
    dim3 grid(static_cast<unsigned>(crn_gpu_blocks(job->columns, COLUMNS)),
              static_cast<unsigned>(blocks_down(job)),
              static_cast<unsigned>(job->images < 65535 ? job->images : 65535));
    dim3 block(COLUMNS, ROWS);
    cudaStream_t stream = crn_gpu_stream(context);
    if (job->is_u16)
        count_pairs<<<grid, block, 0, stream>>>(*job);
    else if (job->width == 2)
        count_halves<2, 2><<<grid, block, 0, stream>>>(*job);
    else if (job->width == 4)
        count_halves<4, 4><<<grid, block, 0, stream>>>(*job);
    else
        count_halves<8, 8><<<grid, block, 0, stream>>>(*job);
}

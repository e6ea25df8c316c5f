/* Windows of a few pixels: all pairs, a thread a position. */
#include "gpu/ranklet.cuh"

#define COLUMNS 32
#define ROWS    8

static __device__ int32_t sign_of(int32_t difference)
{
    return min(max(difference, -1), 1);
}

/* The sum of sign(p - q) over two quarters of H x W pixels. */
template <int H, int W> static __device__ int32_t pairs(const int32_t *p, const int32_t *q)
{
    int32_t sum = 0;
#pragma unroll
    for (int i = 0; i < H * W; i++)
#pragma unroll
        for (int j = 0; j < H * W; j++)
            sum += sign_of(p[i / W * 2 * W + i % W] - q[j / W * 2 * W + j % W]);
    return sum;
}

template <typename Code, int H, int W> static __global__ void count_pairs(crn_ranklet_job job)
{
    const int32_t x = blockIdx.x * COLUMNS + threadIdx.x, y = blockIdx.y * ROWS + threadIdx.y;
    if (x >= job.columns || y >= job.rows)
        return;
    for (int32_t image = blockIdx.z; image < job.images; image += gridDim.z) {
        const Code *codes = crn_ranklet_image<Code>(job, image) + y * job.code_row + x;
        int32_t a[H * W];
#pragma unroll
        for (int i = 0; i < H * W; i++)
            a[i] = codes[i / W * job.code_row + i % W];
        const int32_t *b = a + W / 2, *c = a + H / 2 * W, *d = c + W / 2;
        int32_t ab = pairs<H / 2, W / 2>(a, b), ac = pairs<H / 2, W / 2>(a, c);
        int32_t ad = pairs<H / 2, W / 2>(a, d), bc = pairs<H / 2, W / 2>(b, c);
        int32_t bd = pairs<H / 2, W / 2>(b, d), cd = pairs<H / 2, W / 2>(c, d);
        crn_ranklet_write(job, image, y, x, ab + ac + ad, bc + bd - ab, cd - ac - bc);
    }
}

template <int H, int W>
static void launch(crn_context *context, const crn_ranklet_job *job, dim3 grid)
{
    dim3 block(COLUMNS, ROWS);
    cudaStream_t stream = crn_gpu_stream(context);
    if (job->is_u16)
        count_pairs<uint16_t, H, W><<<grid, block, 0, stream>>>(*job);
    else
        count_pairs<uint8_t, H, W><<<grid, block, 0, stream>>>(*job);
}

bool crn_ranklet_small(crn_context *context, const crn_ranklet_job *job)
{
    int32_t rows = crn_gpu_blocks(job->rows, ROWS);
    if (rows > 65535)
        return false;
    dim3 grid(static_cast<unsigned>(crn_gpu_blocks(job->columns, COLUMNS)),
              static_cast<unsigned>(rows),
              static_cast<unsigned>(job->images < 65535 ? job->images : 65535));
    if (job->width == 2 && job->height == 2)
        launch<2, 2>(context, job, grid);
    else if (job->width == 4 && job->height == 4)
        launch<4, 4>(context, job, grid);
    else
        return false;
    return true;
}

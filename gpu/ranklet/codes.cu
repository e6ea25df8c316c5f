/* Dense copies of the pixels: u8 as they are, u16 as ranks among the values that occur in the
 * image. At the other end, converts sums to R. */
#include "gpu/ranklet/ranklet.cuh"

#define VALUES     65536
#define THREADS    256
#define IMAGES_MAX 65535 /* maximum of the grid's y dimension */

typedef struct pixel_layout {
    const void *data;
    ptrdiff_t step, row, plane, view;
    int32_t width, planes, images;
    int64_t pixels; /* per image */
} pixel_layout;

/* A pixel of an image by its index. */
template <typename Code>
static __device__ Code pixel_of(const pixel_layout &in, int32_t image, int64_t pixel)
{
    int64_t y = pixel / in.width, x = pixel - y * in.width;
    ptrdiff_t at = image / in.planes * in.view + image % in.planes * in.plane;
    return static_cast<const Code *>(in.data)[at + y * in.row + x * in.step];
}

/* Copies the pixels, mapped to `ranks` unless NULL. */
template <typename Code>
static __global__ void gather(pixel_layout in, const uint16_t *ranks, Code *codes)
{
    int64_t pixel = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    if (pixel >= in.pixels)
        return;
    for (int32_t image = blockIdx.y; image < in.images; image += gridDim.y) {
        Code code = pixel_of<Code>(in, image, pixel);
        if (ranks)
            code = static_cast<Code>(ranks[static_cast<int64_t>(image) * VALUES + code]);
        codes[image * in.pixels + pixel] = code;
    }
}

/* Sets `ranks`, zero before, to 1 for each value that occurs. */
static __global__ void mark_values(pixel_layout in, uint16_t *ranks)
{
    int64_t pixel = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    if (pixel >= in.pixels)
        return;
    for (int32_t image = blockIdx.y; image < in.images; image += gridDim.y)
        ranks[static_cast<int64_t>(image) * VALUES + pixel_of<uint16_t>(in, image, pixel)] = 1;
}

/* Exclusive scan that turns the marks into ranks: one block per image, 64
 * consecutive values per thread. */
static __global__ void __launch_bounds__(1024) rank_values(uint16_t *ranks, int32_t *values)
{
    __shared__ int32_t totals[32];
    const int32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint16_t *mine = ranks + static_cast<int64_t>(blockIdx.x) * VALUES + threadIdx.x * 64;
    int32_t count = 0;
    for (int32_t i = 0; i < 64; i++)
        count += mine[i];
    int32_t below = count;
    for (int32_t d = 1; d < 32; d *= 2) {
        int32_t more = __shfl_up_sync(~0u, below, d);
        below += lane >= d ? more : 0;
    }
    if (lane == 31)
        totals[warp] = below;
    __syncthreads();
    for (int32_t i = 0; i < warp; i++)
        below += totals[i];
    if (threadIdx.x == 1023)
        values[blockIdx.x] = below;
    below -= count;
    for (int32_t i = 0; i < 64; i++) {
        int32_t occurs = mine[i];
        mine[i] = static_cast<uint16_t>(below);
        below += occurs;
    }
}

static int rank(crn_context *context, const pixel_layout &in, dim3 grid, crn_ranklet_job *job)
{
    size_t planes = static_cast<size_t>(in.planes);
    uint16_t *ranks = static_cast<uint16_t *>(
        crn_context_scratch(context, CRN_RANKLET_SLOT_RANKS, planes * VALUES * sizeof *ranks));
    int32_t *values = static_cast<int32_t *>(
        crn_context_scratch(context, CRN_RANKLET_SLOT_VALUES, planes * sizeof *values));
    if (!ranks || !values)
        return -ENOMEM;
    cudaStream_t stream = crn_gpu_stream(context);
    size_t bytes = static_cast<size_t>(in.images) * VALUES * sizeof *ranks;
    int r = crn_gpu_errno(cudaMemsetAsync(ranks, 0, bytes, stream));
    if (r < 0)
        return r;
    mark_values<<<grid, THREADS, 0, stream>>>(in, ranks);
    rank_values<<<in.images, 1024, 0, stream>>>(ranks, values);
    uint16_t *codes = static_cast<uint16_t *>(const_cast<void *>(job->codes));
    gather<uint16_t><<<grid, THREADS, 0, stream>>>(in, ranks, codes);
    job->values = values;
    return 0;
}

int crn_ranklet_codes(crn_context *context, const crn_image *in, bool ranked, crn_ranklet_job *job)
{
    job->codes = in->data;
    job->code_row = in->row_stride;
    job->code_plane = in->plane_stride;
    job->code_view = crn_gpu_view_stride(in);
    ranked = ranked && in->type == CRN_U16;
    if (in->step == 1 && !ranked)
        return 0;
    int64_t pixels = static_cast<int64_t>(in->height) * in->width;
    pixel_layout from = {in->data,         in->step,       in->row_stride,
                         in->plane_stride, job->code_view, in->width,
                         in->planes,       job->images,    pixels};
    size_t bytes = crn_image_elements(in) * crn_type_bytes(in->type);
    void *codes = crn_context_scratch(context, CRN_RANKLET_SLOT_CODES, bytes);
    if (!codes)
        return -ENOMEM;
    job->codes = codes;
    job->code_row = in->width;
    job->code_plane = pixels;
    dim3 grid(static_cast<unsigned>(crn_gpu_blocks(pixels, THREADS)),
              static_cast<unsigned>(job->images < IMAGES_MAX ? job->images : IMAGES_MAX));
    if (ranked)
        return rank(context, from, grid, job);
    cudaStream_t stream = crn_gpu_stream(context);
    if (in->type == CRN_U16)
        gather<uint16_t><<<grid, THREADS, 0, stream>>>(from, NULL, static_cast<uint16_t *>(codes));
    else
        gather<uint8_t><<<grid, THREADS, 0, stream>>>(from, NULL, static_cast<uint8_t *>(codes));
    return 0;
}

/* --- results --- */

/* Subtracts |quarter| |window|, the excess of each sum because it counts the values below only.
 * Unsigned wrap-around is intended. */
template <typename Sum, typename Unsigned>
static __global__ void finish(crn_ranklet_job job, const Unsigned *sums)
{
    const Unsigned quarter = static_cast<Unsigned>(job.width / 2) * (job.height / 2);
    const Unsigned more = 4 * quarter * quarter;
    int64_t positions = static_cast<int64_t>(job.rows) * job.columns;
    int64_t position = static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x;
    if (position >= positions)
        return;
    int32_t y = static_cast<int32_t>(position / job.columns);
    int32_t x = static_cast<int32_t>(position - static_cast<int64_t>(y) * job.columns);
    for (int32_t image = blockIdx.y; image < job.images; image += gridDim.y) {
        const Unsigned *of = sums + 3 * image * positions + position;
        crn_ranklet_write(job, image, y, x, static_cast<Sum>(of[0] - more),
                          static_cast<Sum>(of[positions] - more),
                          static_cast<Sum>(of[2 * positions] - more));
    }
}

void crn_ranklet_finish(crn_context *context, const crn_ranklet_job *job,
                        const crn_ranklet_tiling *tiling)
{
    int64_t positions = static_cast<int64_t>(job->rows) * job->columns;
    dim3 grid(static_cast<unsigned>(crn_gpu_blocks(positions, THREADS)),
              static_cast<unsigned>(job->images < IMAGES_MAX ? job->images : IMAGES_MAX));
    cudaStream_t stream = crn_gpu_stream(context);
    if (tiling->kind == CRN_RANKLET_WIDE)
        finish<int64_t>
            <<<grid, THREADS, 0, stream>>>(*job, static_cast<const uint64_t *>(tiling->sums));
    else
        finish<int32_t>
            <<<grid, THREADS, 0, stream>>>(*job, static_cast<const uint32_t *>(tiling->sums));
}

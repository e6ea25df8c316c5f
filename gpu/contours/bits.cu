/* Thresholding into bits: whether a corner is above its plane's level, and whether it is invalid.
 */
#include "gpu/contours/contours.cuh"

#define THREADS 256
#define WARPS   (THREADS / 32)

/* Loads in flight per warp: of rows, or of interleaved planes. */
#define ROWS_AHEAD   8
#define PLANES_AHEAD 16

static __device__ float float_of(uint8_t value)
{
    return value;
}

static __device__ float float_of(uint16_t value)
{
    return value;
}

static __device__ float float_of(__half value)
{
    return __half2float(value);
}

static __device__ float float_of(float value)
{
    return value;
}

/* The greatest float not above the level: a float is greater than it exactly if
 * it is above the level. */
static __device__ float level_of(const crn_gpu_contours_job &job, int32_t plane)
{
    return __double2float_rd(job.more_levels ? job.more_levels[plane] : job.levels[plane]);
}

/* Programmatic dependent launch: the next kernel may start and wait for this one's end. */
static __device__ void launch_dependents(void)
{
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

static __device__ void clear_control(const crn_gpu_contours_job &job)
{
    size_t count = (sizeof *job.control + (size_t)job.numbers * sizeof *job.control->status) / 4;
    uint32_t *word = reinterpret_cast<uint32_t *>(job.control);
    for (size_t i = threadIdx.x; i < count; i += blockDim.x)
        word[i] = 0;
}

/* Thresholds ROWS_AHEAD words of a column of one plane. Corners outside the image read as 0, which
 * is never above: with a closed border no level is negative, with an open one all corners are
 * pixels, and right of them `level` is inf. */
template <typename T, bool MASKED>
static __device__ void make_column(const crn_gpu_contours_job &job, const T *data, float level,
                                   int32_t first, int32_t x, uint32_t *to)
{
    bool in_row = (uint32_t)x < (uint32_t)job.width;
    int32_t lane = threadIdx.x % 32;
    T value[ROWS_AHEAD];
    bool valid[ROWS_AHEAD];
#pragma unroll
    for (int32_t i = 0; i < ROWS_AHEAD; i++) {
        int32_t y = first + i + job.origin;
        bool inside = in_row && (uint32_t)y < (uint32_t)job.height;
        value[i] = inside ? data[i * job.row_stride] : T();
        valid[i] = !MASKED || !inside || job.mask[(size_t)y * (size_t)job.width + (size_t)x];
    }
    uint32_t bits = 0, invalid = 0; /* warp lane i keeps the i-th word */
#pragma unroll
    for (int32_t i = 0; i < ROWS_AHEAD; i++) {
        float v = float_of(value[i]);
        uint32_t above = __ballot_sync(~0u, v > level);
        uint32_t none = __ballot_sync(~0u, v != v || !valid[i]);
        bits = lane == i ? above : bits;
        invalid = lane == i ? none : invalid;
    }
    if (lane < ROWS_AHEAD && first + lane <= job.cell_rows) {
        to += lane * job.words;
        to[0] = bits;
        if (job.has_invalid)
            to[job.corner_words] = invalid;
    }
}

/* Planar images: columns of words, each `rows` rows high. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    make_rows_of_bits(const __grid_constant__ crn_gpu_contours_job job, int32_t rows)
{
    launch_dependents();
    if (blockIdx.x == 0 && blockIdx.y == 0)
        clear_control(job);
    int32_t across = (job.words + WARPS - 1) / WARPS, down = (int32_t)blockIdx.x / across;
    int32_t word = ((int32_t)blockIdx.x - down * across) * WARPS + (int32_t)threadIdx.x / 32;
    int32_t x = 32 * word + (int32_t)threadIdx.x % 32 + job.origin, begin = down * rows;
    if (word >= job.words)
        return;
    int32_t end = begin + rows <= job.cell_rows ? begin + rows : job.cell_rows + 1;
    for (int32_t number = (int32_t)blockIdx.y; number < job.numbers; number += (int32_t)gridDim.y) {
        const T *data = static_cast<const T *>(job.data) +
                        crn_contours_index(job, number, begin + job.origin, x);
        uint32_t *to =
            job.bits + (size_t)number * job.plane_words + (uint32_t)(begin * job.words + word);
        float level = (uint32_t)x < (uint32_t)job.width ? level_of(job, number % job.planes)
                                                        : __int_as_float(0x7f800000);
        for (int32_t row = begin; row < end; row += ROWS_AHEAD) {
            if (job.mask)
                make_column<T, true>(job, data, level, row, x, to);
            else
                make_column<T, false>(job, data, level, row, x, to);
            data += ROWS_AHEAD * job.row_stride;
            to += ROWS_AHEAD * job.words;
        }
    }
}

/* Interleaved images: a warp thresholds the same word of all planes. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    make_bits_of_planes(const __grid_constant__ crn_gpu_contours_job job)
{
    launch_dependents();
    if (blockIdx.x == 0)
        clear_control(job);
    int32_t lane = threadIdx.x % 32;
    uint32_t warp = blockIdx.x * WARPS + threadIdx.x / 32; /* there can be more than 2^32 threads */
    uint32_t rows = (uint32_t)job.cell_rows + 1, row_of_all = warp / (uint32_t)job.words;
    uint32_t word = warp - row_of_all * (uint32_t)job.words, view = row_of_all / rows;
    uint32_t row = row_of_all - view * rows;
    int32_t first = (int32_t)view * job.planes, x = (int32_t)(32 * word) + lane + job.origin;
    int32_t y = (int32_t)row + job.origin;
    if (first >= job.numbers)
        return;
    bool inside = crn_contours_is_inside(job, y, x);
    bool valid = !inside || !job.mask || job.mask[(size_t)y * (size_t)job.width + (size_t)x];
    const T *data = static_cast<const T *>(job.data) + crn_contours_index(job, first, y, x);
    uint32_t *at = job.bits + (size_t)first * job.plane_words + row * (uint32_t)job.words + word;
    for (int32_t plane = 0; plane < job.planes; plane += PLANES_AHEAD) {
        T value[PLANES_AHEAD];
#pragma unroll
        for (int32_t i = 0; i < PLANES_AHEAD; i++)
            value[i] =
                inside && plane + i < job.planes ? data[(plane + i) * job.plane_stride] : T();
        uint32_t bits = 0, invalid = 0;
#pragma unroll
        for (int32_t i = 0; i < PLANES_AHEAD; i++) {
            float level = plane + i < job.planes ? level_of(job, plane + i) : 0;
            float v = float_of(value[i]);
            uint32_t above = __ballot_sync(~0u, inside && v > level);
            uint32_t none = __ballot_sync(~0u, v != v || !valid);
            bits = lane == i ? above : bits;
            invalid = lane == i ? none : invalid;
        }
        if (lane < PLANES_AHEAD && plane + lane < job.planes) {
            size_t which = (size_t)(plane + lane) * job.plane_words;
            at[which] = bits;
            if (job.has_invalid)
                at[which + job.corner_words] = invalid;
        }
    }
}

template <typename T>
static void make_bits(const crn_context *context, const crn_gpu_contours_job *job)
{
    cudaLaunchConfig_t config = {};
    config.blockDim = dim3(THREADS);
    config.stream = crn_gpu_stream(context);
    int64_t rows = job->cell_rows + 1;
    if (job->by_pixel) {
        int64_t words = rows * job->words * (job->numbers / job->planes);
        config.gridDim = dim3((unsigned)crn_gpu_blocks(words, WARPS));
        cudaLaunchKernelEx(&config, make_bits_of_planes<T>, *job);
        return;
    }
    /* Blocks as high as possible, up to where it stops paying, while all
     * multiprocessors have a few. */
    int64_t words = rows * job->words * job->numbers,
            blocks = 8 * crn_gpu_limits_of(context)->multiprocessors;
    int32_t high = words / WARPS / blocks >= 4 * ROWS_AHEAD ? 4 * ROWS_AHEAD : ROWS_AHEAD;
    int64_t down = (rows + high - 1) / high;
    config.gridDim = dim3((unsigned)(down * crn_gpu_blocks(job->words, WARPS)),
                          (unsigned)(job->numbers < 65535 ? job->numbers : 65535));
    cudaLaunchKernelEx(&config, make_rows_of_bits<T>, *job, high);
}

int crn_contours_bits(const crn_context *context, const crn_gpu_contours_job *job)
{
    switch (job->type) {
    case CRN_U8:
        make_bits<uint8_t>(context, job);
        break;
    case CRN_U16:
        make_bits<uint16_t>(context, job);
        break;
    case CRN_F16:
        make_bits<__half>(context, job);
        break;
    default:
        make_bits<float>(context, job);
        break;
    }
    return crn_gpu_launch_error();
}

/* Thresholding into bits: is a corner above its plane's level, is it invalid? */
#include "gpu/contours/contours.cuh"

#define THREADS 256
#define WARPS   (THREADS / 32)

/* Loads in flight per warp: of rows, or of interleaved planes. */
#define ROWS_AHEAD   8
#define PLANES_AHEAD 16

static __device__ float widened(uint8_t value)
{
    return value;
}

static __device__ float widened(uint16_t value)
{
    return value;
}

static __device__ float widened(__half value)
{
    return __half2float(value);
}

static __device__ float widened(float value)
{
    return value;
}

/* The greatest float not above the level: a float is greater than it exactly if
 * it is above the level. */
static __device__ float level_of(const crn_contours_plan &plan, int32_t plane)
{
    return __double2float_rd(plan.more_levels ? plan.more_levels[plane] : plan.levels[plane]);
}

/* Programmatic dependent launch: the next kernel may start and wait for this one's end. */
static __device__ void let_next_begin(void)
{
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

static __device__ void clear_control(const crn_contours_plan &plan)
{
    size_t count = (sizeof *plan.control + (size_t)plan.numbers * sizeof *plan.control->status) / 4;
    uint32_t *word = reinterpret_cast<uint32_t *>(plan.control);
    for (size_t i = threadIdx.x; i < count; i += blockDim.x)
        word[i] = 0;
}

/* Thresholds ROWS_AHEAD words of a column of one plane. Corners outside the image read as 0, which
 * is never above: with a closed border no level is negative, with an open one all corners are
 * pixels, and right of them `level` is inf. */
template <typename T, bool MASKED>
static __device__ void make_column(const crn_contours_plan &plan, const T *data, float level,
                                   int32_t first, int32_t x, uint32_t *to)
{
    bool in_row = (uint32_t)x < (uint32_t)plan.width;
    int32_t lane = threadIdx.x % 32;
    T value[ROWS_AHEAD];
    bool valid[ROWS_AHEAD];
#pragma unroll
    for (int32_t i = 0; i < ROWS_AHEAD; i++) {
        int32_t y = first + i + plan.origin;
        bool inside = in_row && (uint32_t)y < (uint32_t)plan.height;
        value[i] = inside ? data[i * plan.row_stride] : T();
        valid[i] = !MASKED || !inside || plan.mask[(size_t)y * (size_t)plan.width + (size_t)x];
    }
    uint32_t bits = 0, bad = 0; /* warp lane i keeps the i-th word */
#pragma unroll
    for (int32_t i = 0; i < ROWS_AHEAD; i++) {
        float v = widened(value[i]);
        uint32_t above = __ballot_sync(~0u, v > level);
        uint32_t none = __ballot_sync(~0u, v != v || !valid[i]);
        bits = lane == i ? above : bits;
        bad = lane == i ? none : bad;
    }
    if (lane < ROWS_AHEAD && first + lane <= plan.cell_rows) {
        to += lane * plan.words;
        to[0] = bits;
        if (plan.lacks)
            to[plan.corner_words] = bad;
    }
}

/* Planar images: columns of words, each `rows` rows high. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    make_rows_of_bits(const __grid_constant__ crn_contours_plan plan, int32_t rows)
{
    let_next_begin();
    if (blockIdx.x == 0 && blockIdx.y == 0)
        clear_control(plan);
    int32_t across = (plan.words + WARPS - 1) / WARPS, down = (int32_t)blockIdx.x / across;
    int32_t word = ((int32_t)blockIdx.x - down * across) * WARPS + (int32_t)threadIdx.x / 32;
    int32_t x = 32 * word + (int32_t)threadIdx.x % 32 + plan.origin, begin = down * rows;
    if (word >= plan.words)
        return;
    int32_t end = begin + rows <= plan.cell_rows ? begin + rows : plan.cell_rows + 1;
    for (int32_t number = (int32_t)blockIdx.y; number < plan.numbers;
         number += (int32_t)gridDim.y) {
        const T *data = static_cast<const T *>(plan.data) +
                        crn_contours_index(plan, number, begin + plan.origin, x);
        uint32_t *to =
            plan.bits + (size_t)number * plan.plane_words + (uint32_t)(begin * plan.words + word);
        float level = (uint32_t)x < (uint32_t)plan.width ? level_of(plan, number % plan.planes)
                                                         : __int_as_float(0x7f800000);
        for (int32_t row = begin; row < end; row += ROWS_AHEAD) {
            if (plan.mask)
                make_column<T, true>(plan, data, level, row, x, to);
            else
                make_column<T, false>(plan, data, level, row, x, to);
            data += ROWS_AHEAD * plan.row_stride;
            to += ROWS_AHEAD * plan.words;
        }
    }
}

/* Interleaved images: a warp thresholds the same word of all planes. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    make_bits_of_planes(const __grid_constant__ crn_contours_plan plan)
{
    let_next_begin();
    if (blockIdx.x == 0)
        clear_control(plan);
    int32_t lane = threadIdx.x % 32;
    uint32_t warp = blockIdx.x * WARPS + threadIdx.x / 32; /* there can be more than 2^32 threads */
    uint32_t rows = (uint32_t)plan.cell_rows + 1, row_of_all = warp / (uint32_t)plan.words;
    uint32_t word = warp - row_of_all * (uint32_t)plan.words, view = row_of_all / rows;
    uint32_t row = row_of_all - view * rows;
    int32_t first = (int32_t)view * plan.planes, x = (int32_t)(32 * word) + lane + plan.origin;
    int32_t y = (int32_t)row + plan.origin;
    if (first >= plan.numbers)
        return;
    bool inside = crn_contours_is_inside(plan, y, x);
    bool valid = !inside || !plan.mask || plan.mask[(size_t)y * (size_t)plan.width + (size_t)x];
    const T *data = static_cast<const T *>(plan.data) + crn_contours_index(plan, first, y, x);
    uint32_t *at = plan.bits + (size_t)first * plan.plane_words + row * (uint32_t)plan.words + word;
    for (int32_t plane = 0; plane < plan.planes; plane += PLANES_AHEAD) {
        T value[PLANES_AHEAD];
#pragma unroll
        for (int32_t i = 0; i < PLANES_AHEAD; i++)
            value[i] =
                inside && plane + i < plan.planes ? data[(plane + i) * plan.plane_stride] : T();
        uint32_t bits = 0, bad = 0;
#pragma unroll
        for (int32_t i = 0; i < PLANES_AHEAD; i++) {
            float level = plane + i < plan.planes ? level_of(plan, plane + i) : 0;
            float v = widened(value[i]);
            uint32_t above = __ballot_sync(~0u, inside && v > level);
            uint32_t none = __ballot_sync(~0u, v != v || !valid);
            bits = lane == i ? above : bits;
            bad = lane == i ? none : bad;
        }
        if (lane < PLANES_AHEAD && plane + lane < plan.planes) {
            size_t which = (size_t)(plane + lane) * plan.plane_words;
            at[which] = bits;
            if (plan.lacks)
                at[which + plan.corner_words] = bad;
        }
    }
}

template <typename T>
static void make_bits(const crn_context *context, const crn_contours_plan *plan)
{
    cudaLaunchConfig_t config = {};
    config.blockDim = dim3(THREADS);
    config.stream = crn_gpu_stream(context);
    int64_t rows = plan->cell_rows + 1;
    if (plan->by_pixel) {
        int64_t words = rows * plan->words * (plan->numbers / plan->planes);
        config.gridDim = dim3((unsigned)crn_gpu_blocks(words, WARPS));
        cudaLaunchKernelEx(&config, make_bits_of_planes<T>, *plan);
        return;
    }
    /* Blocks as high as possible, up to where it stops paying, while all
     * multiprocessors have a few. */
    int64_t words = rows * plan->words * plan->numbers,
            blocks = 8 * crn_gpu_limits_of(context)->multiprocessors;
    int32_t high = words / WARPS / blocks >= 4 * ROWS_AHEAD ? 4 * ROWS_AHEAD : ROWS_AHEAD;
    int64_t down = (rows + high - 1) / high;
    config.gridDim = dim3((unsigned)(down * crn_gpu_blocks(plan->words, WARPS)),
                          (unsigned)(plan->numbers < 65535 ? plan->numbers : 65535));
    cudaLaunchKernelEx(&config, make_rows_of_bits<T>, *plan, high);
}

int crn_contours_bits(const crn_context *context, const crn_contours_plan *plan)
{
    switch (plan->type) {
    case CRN_U8:
        make_bits<uint8_t>(context, plan);
        break;
    case CRN_U16:
        make_bits<uint16_t>(context, plan);
        break;
    case CRN_F16:
        make_bits<__half>(context, plan);
        break;
    default:
        make_bits<float>(context, plan);
        break;
    }
    return crn_gpu_launch_error();
}

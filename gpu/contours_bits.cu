/* Corners into bits: is the value above its plane's level, is it no value at all? */
#include "gpu/contours.cuh"

#define THREADS 256

/* Words that a warp has on the way at once. */
#define AHEAD 8

/* Where a warp's word lies. */
typedef struct word_place {
    int32_t number, row, word;
} word_place;

/* Words in the order in which their pixels lie in memory, as far as that is easily said. */
static __device__ word_place place_of(const crn_contours_plan &plan, int64_t item)
{
    int32_t rows = plan.cell_rows + 1;
    word_place at;
    if (plan.by_pixel) {
        int32_t plane = (int32_t)(item % plan.planes);
        item /= plan.planes;
        at.word = (int32_t)(item % plan.words);
        item /= plan.words;
        at.row = (int32_t)(item % rows);
        at.number = (int32_t)(item / rows) * plan.planes + plane;
    } else {
        at.word = (int32_t)(item % plan.words);
        item /= plan.words;
        at.row = (int32_t)(item % rows);
        at.number = (int32_t)(item / rows);
    }
    return at;
}

static __device__ void step_on(const crn_contours_plan &plan, word_place *at)
{
    if (plan.by_pixel) {
        at->number++;
        if (at->number % plan.planes)
            return;
        at->number -= plan.planes;
    }
    if (++at->word < plan.words)
        return;
    at->word = 0;
    if (++at->row <= plan.cell_rows)
        return;
    at->row = 0;
    at->number += plan.by_pixel ? plan.planes : 1;
}

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

static __device__ void clear_control(const crn_contours_plan &plan)
{
    size_t count = (sizeof *plan.control + (size_t)plan.numbers * sizeof *plan.control->status) / 4;
    uint32_t *word = reinterpret_cast<uint32_t *>(plan.control);
    for (size_t i = threadIdx.x; i < count; i += blockDim.x)
        word[i] = 0;
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    make_bits(const __grid_constant__ crn_contours_plan plan)
{
    if (blockIdx.x == 0)
        clear_control(plan);
    int32_t lane = threadIdx.x % 32, rows = plan.cell_rows + 1;
    int64_t warp = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / 32;
    int64_t items = (int64_t)plan.numbers * rows * plan.words, item = warp * AHEAD;
    if (item >= items)
        return;
    word_place at = place_of(plan, item);
    T value[AHEAD];
    bool inside[AHEAD], valid[AHEAD];
    float level[AHEAD];
    size_t place = 0; /* lane i keeps the i-th word and its place */
#pragma unroll
    for (int32_t i = 0; i < AHEAD; i++) {
        int32_t y = at.row + plan.origin, x = 32 * at.word + lane + plan.origin;
        inside[i] = item + i < items && crn_contours_is_inside(plan, y, x);
        valid[i] = true;
        value[i] = T();
        level[i] = 0;
        if (inside[i]) {
            const T *data = static_cast<const T *>(plan.data);
            value[i] = data[crn_contours_index(plan, at.number, y, x)];
            if (plan.mask)
                valid[i] = plan.mask[(size_t)y * (size_t)plan.width + (size_t)x] != 0;
            /* The greatest float that is no greater: the same floats lie above it. */
            level[i] = __double2float_rd(crn_contours_level(plan, at.number));
        }
        if (lane == i)
            place =
                (size_t)at.number * plan.plane_words + (uint32_t)(at.row * plan.words + at.word);
        step_on(plan, &at);
    }
    uint32_t bits = 0, bad = 0;
#pragma unroll
    for (int32_t i = 0; i < AHEAD; i++) {
        float v = widened(value[i]);
        uint32_t above = __ballot_sync(~0u, inside[i] && v > level[i]);
        uint32_t none = __ballot_sync(~0u, inside[i] && (v != v || !valid[i]));
        if (lane == i) {
            bits = above;
            bad = none;
        }
    }
    if (lane < AHEAD && item + lane < items) {
        plan.bits[place] = bits;
        if (plan.lacks)
            plan.bits[place + plan.corner_words] = bad;
    }
}

int crn_contours_bits(const crn_context *context, const crn_contours_plan *plan)
{
    int64_t items = (int64_t)plan->numbers * (plan->cell_rows + 1) * plan->words;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)crn_gpu_blocks(items, AHEAD * THREADS / 32));
    config.blockDim = dim3(THREADS);
    config.stream = crn_gpu_stream(context);
    switch (plan->type) {
    case CRN_U8:
        cudaLaunchKernelEx(&config, make_bits<uint8_t>, *plan);
        break;
    case CRN_U16:
        cudaLaunchKernelEx(&config, make_bits<uint16_t>, *plan);
        break;
    case CRN_F16:
        cudaLaunchKernelEx(&config, make_bits<__half>, *plan);
        break;
    default:
        cudaLaunchKernelEx(&config, make_bits<float>, *plan);
        break;
    }
    return crn_gpu_launched();
}

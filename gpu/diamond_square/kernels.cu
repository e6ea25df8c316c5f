/* The diamond-square's last level, and its stores to the image (diamond_square.cuh). */
#include "gpu/diamond_square/coarse.cuh"

#define WARP      CRN_DIAMOND_SQUARE_WARP
#define WARPS     (CRN_DIAMOND_SQUARE_THREADS / WARP)
#define FULL_WARP 0xffffffffu
#define COLUMNS   (8 * WARP) /* of the field, that a warp makes of two rows */

/* Blocks that run on a multiprocessor at once: bounds the registers of each. */
#define TILES_AT_ONCE 3

/* State of a warp that moves down the last level: four x per warp lane. */
typedef struct strip {
    int32_t lane, group, level;
    crn_diamond_square_column diamond_column, square_column;
    bool is_left, is_right; /* the first point lies on the field's border */
    bool is_inside;         /* the thread's words lie in the rectangle for any alignment */
    int32_t column;         /* of the thread's first point, in the rectangle */
    float scale;
    int32_t stage; /* a row of floats in shared memory, per warp */
} strip;

/* --- one element --- */

/* Rounds half to even as the definition does, without saturating: multiplied by the smallest
 * subnormal number, a value has the rounded integer as its bits, with a sign. */
static __device__ __forceinline__ int32_t whole_of(float value)
{
    return __float_as_int(value * 0x1p-149f);
}

/* Converts four values to bytes, saturated. */
static __device__ __forceinline__ uint32_t bytes_of(float a, float b, float c, float d)
{
    uint32_t high, all;
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, 0;" : "=r"(high) : "r"(whole_of(d)), "r"(whole_of(c)));
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;"
        : "=r"(all)
        : "r"(whole_of(b)), "r"(whole_of(a)), "r"(high));
    return all;
}

static __device__ __forceinline__ void put(const crn_diamond_square_job &job, int32_t y, int32_t x,
                                           float value)
{
    ptrdiff_t at = y * job.row_stride + x * job.step;
    if (job.type == CRN_F32)
        static_cast<float *>(job.data)[at] = value;
    else
        static_cast<uint8_t *>(job.data)[at] = (uint8_t)bytes_of(value, 0, 0, 0);
}

/* --- a row of the field, eight points a warp lane --- */

/* Stores whole aligned words of 8 bytes: a thread's begins up to 7 bytes before its own points,
 * with the last of the previous thread. The strip's first word, and what follows its last,
 * belong to the neighbours. */
static __device__ __forceinline__ void put_bytes(const crn_diamond_square_job &job, const strip &s,
                                                 uint8_t *to, const float (&row)[8])
{
    uint32_t low = bytes_of(row[0], row[1], row[2], row[3]);
    uint32_t high = bytes_of(row[4], row[5], row[6], row[7]);
    uint32_t low_before = __shfl_up_sync(FULL_WARP, low, 1),
             high_before = __shfl_up_sync(FULL_WARP, high, 1);
    uint32_t early = (uint32_t)(uintptr_t)to & 7, bits = 8 * early;
    bool is_half = early >= 4;
    uint32_t a = is_half ? low_before : high_before, b = is_half ? high_before : low;
    uint32_t c = is_half ? low : high;
    uint2 word = make_uint2(__funnelshift_l(a, b, bits), __funnelshift_l(b, c, bits));
    to -= early;
    if (s.is_inside) {
        *reinterpret_cast<uint2 *>(to) = word;
    } else if (s.lane > 0) {
        int32_t column = s.column - (int32_t)early;
#pragma unroll 1
        for (int e = 0; e < 8; e++, column++, to++) {
            if (column >= 0 && column < job.width)
                *to = (uint8_t)word.x;
            word.x = __funnelshift_r(word.x, word.y, 8);
            word.y >>= 8;
        }
    }
}

/* Stores through shared memory, so that the warp's stores are coalesced. */
static __device__ __forceinline__ void put_floats(const crn_diamond_square_job &job, const strip &s,
                                                  float *to, const float (&row)[8])
{
    float4 *mine = reinterpret_cast<float4 *>(crn_diamond_square_shared(s.stage + 8 * s.lane));
    mine[0] = make_float4(row[0], row[1], row[2], row[3]);
    mine[1] = make_float4(row[4], row[5], row[6], row[7]);
    __syncwarp();
    int32_t column = s.column - 7 * s.lane;
    to -= 7 * s.lane;
#pragma unroll
    for (int e = 0; e < 8; e++) {
        int32_t at = WARP * e;
        if ((e > 0 || s.lane >= 8) && (uint32_t)(column + at) < (uint32_t)job.width)
            to[at] = *crn_diamond_square_shared(s.stage + at + s.lane);
    }
    __syncwarp();
}

/* Stores `row` of the rectangle, unless outside; `to` is where its points would lie. */
template <crn_gpu_diamond_square_variant VARIANT>
static __device__ __forceinline__ void put_row(const crn_diamond_square_job &job, const strip &s,
                                               int32_t row, char *to, const float (&values)[8])
{
    if ((uint32_t)row >= (uint32_t)job.height)
        return;
    if (VARIANT == CRN_DIAMOND_SQUARE_BYTES) {
        put_bytes(job, s, reinterpret_cast<uint8_t *>(to), values);
    } else if (VARIANT == CRN_DIAMOND_SQUARE_FLOATS) {
        put_floats(job, s, reinterpret_cast<float *>(to), values);
    } else {
#pragma unroll
        for (int e = 0; e < 8; e++)
            if (s.lane > 0 && (uint32_t)(s.column + e) < (uint32_t)job.width)
                put(job, row, s.column + e, values[e]);
    }
}

/* --- the last level --- */

/* Row a of grid `level`: the thread's points, and the next thread's first. */
static __device__ __forceinline__ void load_points(const strip &s, int32_t offset, float (&to)[5])
{
    const float *row = crn_diamond_square_shared(offset);
    float4 four = *reinterpret_cast<const float4 *>(row);
    to[0] = four.x;
    to[1] = four.y;
    to[2] = four.z;
    to[3] = four.w;
    to[4] = __shfl_down_sync(FULL_WARP, four.x, 1);
    if (s.lane == WARP - 1)
        to[4] = row[4];
}

template <crn_gpu_diamond_square_variant VARIANT>
static __device__ __forceinline__ void noises(const crn_diamond_square_job &job, const strip &s,
                                              const crn_diamond_square_column &column, int32_t j,
                                              float (&noise)[4])
{
    crn_diamond_square_group_noise<VARIANT>(
        job.keys, crn_diamond_square_row_of(job.keys, s.level, j), column, s.scale, noise);
}

/* Turns noise into diamonds. */
template <crn_gpu_diamond_square_variant VARIANT>
static __device__ __forceinline__ void add_diamonds(const float (&above)[5],
                                                    const float (&below)[5], float (&noise)[4])
{
#pragma unroll
    for (int e = 0; e < 4; e++)
        noise[e] = crn_diamond_square_mean<VARIANT>(
            ((above[e] + above[e + 1]) + below[e]) + below[e + 1], false, noise[e]);
}

/* Row 2a of the field. */
template <crn_gpu_diamond_square_variant VARIANT>
static __device__ __forceinline__ void even_row(bool is_border, const float (&points)[5],
                                                const float (&up)[4], const float (&down)[4],
                                                const float (&noise)[4], float (&row)[8])
{
#pragma unroll
    for (int e = 0; e < 4; e++) {
        float sum = ((up[e] + points[e]) + points[e + 1]) + down[e];
        row[2 * e] = points[e];
        row[2 * e + 1] = crn_diamond_square_mean<VARIANT>(sum, is_border, noise[e]);
    }
}

/* Row 2a + 1. */
template <crn_gpu_diamond_square_variant VARIANT>
static __device__ __forceinline__ void odd_row(const strip &s, const float (&above)[5],
                                               const float (&below)[5], const float (&diamonds)[4],
                                               const float (&noise)[4], float (&row)[8])
{
    float left = __shfl_up_sync(FULL_WARP, diamonds[3], 1);
    left = s.is_left ? CRN_DIAMOND_SQUARE_NEUTRAL : left;
#pragma unroll
    for (int e = 0; e < 4; e++) {
        float right = e == 0 && s.is_right ? CRN_DIAMOND_SQUARE_NEUTRAL : diamonds[e];
        float sum = ((above[e] + left) + right) + below[e];
        row[2 * e] =
            crn_diamond_square_mean<VARIANT>(sum, e == 0 && (s.is_left || s.is_right), noise[e]);
        row[2 * e + 1] = diamonds[e];
        left = diamonds[e];
    }
}

template <crn_gpu_diamond_square_variant VARIANT>
static __device__ __forceinline__ strip strip_of(const crn_diamond_square_job &job, int32_t group,
                                                 int32_t stages)
{
    strip s;
    s.lane = (int32_t)threadIdx.x % WARP;
    s.group = group + s.lane;
    s.level = job.exponent - 1;
    s.scale = crn_diamond_square_scale<VARIANT>(job, s.level);
    s.diamond_column = crn_diamond_square_column_of(job.keys, s.level, CRN_PHASE_DIAMOND, s.group);
    s.square_column = crn_diamond_square_column_of(job.keys, s.level, CRN_PHASE_SQUARE, s.group);
    s.is_left = s.group == 0;
    s.is_right = 4 * s.group == 1 << s.level;
    s.column = 8 * s.group - job.x;
    s.is_inside = s.lane > 0 && s.column >= 7 && s.column + 8 <= job.width;
    s.stage = stages + COLUMNS * (int32_t)(threadIdx.x / WARP);
    return s;
}

/* Makes rows 2a and 2a + 1 for a from `a` to `end` - 1; the points begin at offset
 * `offset` (row a - 1). */
template <crn_gpu_diamond_square_variant VARIANT>
static __device__ __forceinline__ void walk_down(const crn_diamond_square_job &job, const strip &s,
                                                 int32_t a, int32_t end, int32_t offset)
{
    const int32_t last = 1 << s.level;
    const ptrdiff_t stride = job.row_stride * (VARIANT == CRN_DIAMOND_SQUARE_FLOATS ? 4 : 1);
    char *to = static_cast<char *>(job.data) + (2 * a - job.y) * stride +
               s.column * (VARIANT == CRN_DIAMOND_SQUARE_FLOATS ? 4 : 1);
    float here[5], up[4], row[8];
    load_points(s, offset + CRN_DIAMOND_SQUARE_PITCH0, here);
    {
        float above[5];
        load_points(s, a > 0 ? offset : offset + CRN_DIAMOND_SQUARE_PITCH0, above);
        noises<VARIANT>(job, s, s.diamond_column, a - 1, up);
        add_diamonds<VARIANT>(above, here, up);
    }
#pragma unroll
    for (int e = 0; e < 4; e++)
        up[e] = a > 0 ? up[e] : CRN_DIAMOND_SQUARE_NEUTRAL;
    offset += 2 * CRN_DIAMOND_SQUARE_PITCH0;
    int32_t rows = min(end, last);
#pragma unroll 1
    for (; a < rows; a++, offset += CRN_DIAMOND_SQUARE_PITCH0) {
        /* The three groups of noise are independent of each other and of the
         * points: they overlap. */
        float below[5], down[4], even_noise[4], odd_noise[4];
        noises<VARIANT>(job, s, s.diamond_column, a, down);
        noises<VARIANT>(job, s, s.square_column, 2 * a, even_noise);
        noises<VARIANT>(job, s, s.square_column, 2 * a + 1, odd_noise);
        load_points(s, offset, below);
        add_diamonds<VARIANT>(here, below, down);
        even_row<VARIANT>(a == 0, here, up, down, even_noise, row);
        put_row<VARIANT>(job, s, 2 * a - job.y, to, row);
        odd_row<VARIANT>(s, here, below, down, odd_noise, row);
        put_row<VARIANT>(job, s, 2 * a + 1 - job.y, to + stride, row);
        to += 2 * stride;
#pragma unroll
        for (int e = 0; e < 4; e++)
            up[e] = down[e];
#pragma unroll
        for (int e = 0; e < 5; e++)
            here[e] = below[e];
    }
    if (a < end) {
        float even_noise[4];
        const float down[4] = {CRN_DIAMOND_SQUARE_NEUTRAL, CRN_DIAMOND_SQUARE_NEUTRAL,
                               CRN_DIAMOND_SQUARE_NEUTRAL, CRN_DIAMOND_SQUARE_NEUTRAL};
        noises<VARIANT>(job, s, s.square_column, 2 * a, even_noise);
        even_row<VARIANT>(true, here, up, down, even_noise, row);
        put_row<VARIANT>(job, s, 2 * a - job.y, to, row);
    }
}

/* A tile's layout in shared memory, without the stages after it. */
static __device__ __forceinline__ crn_diamond_square_tile tile_in(int32_t pairs)
{
    crn_diamond_square_tile tile = {};
    tile.coarse = crn_diamond_square_rows(pairs) * CRN_DIAMOND_SQUARE_PITCH0;
    tile.diamonds = tile.coarse +
                    crn_diamond_square_coarse_rows(pairs) * CRN_DIAMOND_SQUARE_PITCH1 +
                    CRN_DIAMOND_SQUARE_GAP;
    tile.chain = crn_diamond_square_floats(pairs);
    return tile;
}

static __host__ __device__ inline int32_t floats_of(const crn_diamond_square_job &job)
{
    return crn_diamond_square_floats(job.pairs) +
           (job.from ? 0 : crn_diamond_square_chain_floats(job.exponent - 1));
}

template <crn_gpu_diamond_square_variant VARIANT>
static __global__ void __launch_bounds__(CRN_DIAMOND_SQUARE_THREADS, TILES_AT_ONCE)
    tile_kernel(const __grid_constant__ crn_diamond_square_job job)
{
    int32_t tile_x = (int32_t)blockIdx.x % job.tiles_across;
    int32_t tile_y = (int32_t)blockIdx.x / job.tiles_across;
    int32_t group = job.first_group + CRN_DIAMOND_SQUARE_GROUPS * tile_x - 1;
    int32_t first = job.first_pair + job.pairs * tile_y;
    crn_diamond_square_tile tile = tile_in(job.pairs);
    tile.x0 = 4 * group;
    tile.x1 = 4 * (group + WARP);
    tile.y0 = first - 1;
    tile.y1 = first + job.pairs;
    tile.grid = job.exponent - 1;
    crn_diamond_square_coarse<VARIANT>(job, tile);

    strip s = strip_of<VARIANT>(job, group, floats_of(job));
    int32_t warp = (int32_t)threadIdx.x / WARP;
    int32_t last = min(first + job.pairs - 1, (job.y + job.height - 1) / 2) + 1;
    int32_t a = first + job.pairs * warp / WARPS;
    int32_t end = min(first + job.pairs * (warp + 1) / WARPS, last);
    if (a < end)
        walk_down<VARIANT>(job, s, a, end,
                           tile.finest + (a - first) * CRN_DIAMOND_SQUARE_PITCH0 + 4 * s.lane);
}

/* A field so small that a tile's coarse part computes it whole. */
static __global__ void __launch_bounds__(WARP)
    small_kernel(const __grid_constant__ crn_diamond_square_job job)
{
    crn_diamond_square_tile tile = tile_in(job.pairs);
    tile.x1 = tile.y1 = 1 << job.exponent;
    tile.grid = job.exponent;
    crn_diamond_square_coarse<CRN_DIAMOND_SQUARE_ANY>(job, tile);
    for (int32_t i = (int32_t)threadIdx.x; i < job.height * job.width; i += WARP) {
        int32_t y = i / job.width, x = i % job.width;
        put(job, y, x,
            *crn_diamond_square_shared(tile.finest + (job.y + y) * CRN_DIAMOND_SQUARE_PITCH0 +
                                       job.x + x));
    }
}

/* --- launches --- */

static size_t bytes_of(crn_gpu_diamond_square_variant variant, const crn_diamond_square_job *job)
{
    int32_t stages = variant == CRN_DIAMOND_SQUARE_FLOATS ? WARPS * COLUMNS : 0;
    return (size_t)(stages + floats_of(*job)) * sizeof(float);
}

typedef void kernel_fn(crn_diamond_square_job job);

static kernel_fn *kernel_of(crn_gpu_diamond_square_variant variant)
{
    return variant == CRN_DIAMOND_SQUARE_BYTES    ? tile_kernel<CRN_DIAMOND_SQUARE_BYTES>
           : variant == CRN_DIAMOND_SQUARE_FLOATS ? tile_kernel<CRN_DIAMOND_SQUARE_FLOATS>
                                                  : tile_kernel<CRN_DIAMOND_SQUARE_ANY>;
}

int crn_diamond_square_launch(crn_context *context, crn_gpu_diamond_square_variant variant,
                              const crn_diamond_square_job *job)
{
    return crn_gpu_launch_kernel(context, kernel_of(variant), dim3((unsigned)job->tiles),
                                 CRN_DIAMOND_SQUARE_THREADS, bytes_of(variant, job), *job);
}

int crn_diamond_square_launch_small(crn_context *context, const crn_diamond_square_job *job)
{
    return crn_gpu_launch_kernel(context, small_kernel, dim3(1), WARP,
                                 bytes_of(CRN_DIAMOND_SQUARE_ANY, job), *job);
}

int32_t crn_diamond_square_tiles_at_once(const crn_context *context,
                                         crn_gpu_diamond_square_variant variant,
                                         const crn_diamond_square_job *job)
{
    const crn_gpu_limits *limits = crn_gpu_limits_of(context);
    int32_t fit = (int32_t)(limits->shared_bytes / (bytes_of(variant, job) + 1024));
    return fit < 1 ? 1 : fit > TILES_AT_ONCE ? TILES_AT_ONCE : fit;
}

/* The diamond-square's last level, and its way to the image (diamond_square.cuh). */
#include "gpu/diamond_square_coarse.cuh"

#define WARP    32
#define WARPS   (CRN_DIAMOND_SQUARE_THREADS / WARP)
#define LANES   0xffffffffu
#define COLUMNS (8 * WARP) /* of the field, that a warp makes of two rows */

/* A warp's walk down the last level: four x a lane. */
typedef struct strip {
    int32_t lane, group, level, x; /* x: of the lane's first point */
    crn_diamond_square_column diamond_column, square_column;
    bool is_left, is_right; /* the first point lies on the field's border */
    float factor;           /* of it */
    float *stage;           /* a row of floats, of the warp */
} strip;

/* --- one element --- */

/* As the definition does: half to even, saturated. */
static __device__ __forceinline__ uint32_t byte_of(float value)
{
    /* The last bit of numbers near 1.5 x 2^23 is 1. */
    return __float_as_uint(fminf(fmaxf(value, 0.0f), 255.0f) + 0x1.8p23f);
}

static __device__ __forceinline__ void put(const crn_diamond_square_job &job, int32_t y, int32_t x,
                                           float value)
{
    ptrdiff_t at = y * job.row_stride + x * job.step;
    if (job.type == CRN_F32)
        static_cast<float *>(job.data)[at] = value;
    else
        static_cast<uint8_t *>(job.data)[at] = (uint8_t)byte_of(value);
}

/* --- a row of the field, eight points a lane --- */

/* Whole words of 8 bytes of memory: a lane's begins up to 7 bytes before its own points, with the
 * last of the lane before. The strip's first word and what follows its last are the neighbours'. */
static __device__ __forceinline__ void put_bytes(const crn_diamond_square_job &job, const strip &s,
                                                 int32_t y, const float (&row)[8])
{
    uint32_t bytes[8];
#pragma unroll
    for (int e = 0; e < 8; e++)
        bytes[e] = byte_of(row[e]);
    uint32_t low = __byte_perm(__byte_perm(bytes[0], bytes[1], 0x0040),
                               __byte_perm(bytes[2], bytes[3], 0x0040), 0x5410);
    uint32_t high = __byte_perm(__byte_perm(bytes[4], bytes[5], 0x0040),
                                __byte_perm(bytes[6], bytes[7], 0x0040), 0x5410);
    uint32_t low_before = __shfl_up_sync(LANES, low, 1),
             high_before = __shfl_up_sync(LANES, high, 1);
    int32_t column = 8 * s.group - job.x;
    uint8_t *to = static_cast<uint8_t *>(job.data) + y * job.row_stride + column;
    uint32_t early = (uint32_t)(uintptr_t)to & 7, bits = 8 * early;
    bool is_half = early >= 4;
    uint32_t a = is_half ? low_before : high_before, b = is_half ? high_before : low;
    uint32_t c = is_half ? low : high;
    uint2 word = make_uint2(__funnelshift_l(a, b, bits), __funnelshift_l(b, c, bits));
    column -= (int32_t)early;
    to -= early;
    if (s.lane == 0)
        return;
    if (column >= 0 && column + 8 <= job.width) {
        *reinterpret_cast<uint2 *>(to) = word;
        return;
    }
    for (int e = 0; e < 8; e++)
        if (column + e >= 0 && column + e < job.width)
            to[e] = (uint8_t)((e < 4 ? word.x : word.y) >> 8 * (e & 3));
}

/* By way of shared memory, so that neighbouring lanes write neighbouring floats. */
static __device__ __forceinline__ void put_floats(const crn_diamond_square_job &job, const strip &s,
                                                  int32_t y, const float (&row)[8])
{
    float4 *mine = reinterpret_cast<float4 *>(s.stage + 8 * s.lane);
    mine[0] = make_float4(row[0], row[1], row[2], row[3]);
    mine[1] = make_float4(row[4], row[5], row[6], row[7]);
    __syncwarp();
    float *to = static_cast<float *>(job.data) + y * job.row_stride;
    int32_t column = 8 * (s.group - s.lane) - job.x;
#pragma unroll
    for (int e = 0; e < 8; e++) {
        int32_t at = WARP * e + s.lane;
        if (at >= 8 && column + at >= 0 && column + at < job.width)
            to[column + at] = s.stage[at];
    }
    __syncwarp();
}

template <crn_diamond_square_way WAY>
static __device__ __forceinline__ void put_row(const crn_diamond_square_job &job, const strip &s,
                                               int32_t y, const float (&row)[8])
{
    y -= job.y;
    if (y < 0 || y >= job.height)
        return;
    if (WAY == CRN_DIAMOND_SQUARE_BYTES) {
        put_bytes(job, s, y, row);
    } else if (WAY == CRN_DIAMOND_SQUARE_FLOATS) {
        put_floats(job, s, y, row);
    } else {
        int32_t column = 8 * s.group - job.x;
        for (int e = 0; e < 8; e++)
            if (s.lane > 0 && column + e >= 0 && column + e < job.width)
                put(job, y, column + e, row[e]);
    }
}

/* --- the last level --- */

template <crn_diamond_square_way WAY>
static __device__ __forceinline__ void noises(const crn_diamond_square_job &job, const strip &s,
                                              crn_diamond_square_phase phase, int32_t j,
                                              float (&noise)[4])
{
    uint32_t words[4];
    crn_diamond_square_words(job.keys, crn_diamond_square_row_of(job.keys, s.level, j),
                             phase == CRN_PHASE_DIAMOND ? s.diamond_column : s.square_column,
                             words);
#pragma unroll
    for (int e = 0; e < 4; e++) {
        float word = (float)(int32_t)words[e];
        noise[e] = WAY == CRN_DIAMOND_SQUARE_ANY ? job.amplitude[s.level] * (word * 0x1p-31f)
                                                 : word * job.scale; /* their product is exact */
    }
}

/* Row a of grid `level`: the lane's points, and the next one's first. */
static __device__ __forceinline__ void load_points(const strip &s, const float *row, float (&to)[5])
{
    float4 four = *reinterpret_cast<const float4 *>(row);
    to[0] = four.x;
    to[1] = four.y;
    to[2] = four.z;
    to[3] = four.w;
    to[4] = __shfl_down_sync(LANES, four.x, 1);
    if (s.lane == WARP - 1)
        to[4] = row[4];
}

template <crn_diamond_square_way WAY>
static __device__ __forceinline__ void
make_diamonds(const crn_diamond_square_job &job, const strip &s, int32_t a, const float (&above)[5],
              const float (&below)[5], float (&diamonds)[4])
{
    noises<WAY>(job, s, CRN_PHASE_DIAMOND, a, diamonds);
#pragma unroll
    for (int e = 0; e < 4; e++)
        diamonds[e] = (((above[e] + above[e + 1]) + below[e]) + below[e + 1]) * 0.25f + diamonds[e];
}

/* Row 2a of the field. */
template <crn_diamond_square_way WAY>
static __device__ __forceinline__ void make_even(const crn_diamond_square_job &job, const strip &s,
                                                 int32_t a, const float (&points)[5],
                                                 const float (&up)[4], const float (&down)[4])
{
    float noise[4], row[8];
    noises<WAY>(job, s, CRN_PHASE_SQUARE, 2 * a, noise);
    float factor = a == 0 || a == 1 << s.level ? 1.0f / 3.0f : 0.25f;
#pragma unroll
    for (int e = 0; e < 4; e++) {
        row[2 * e] = points[e];
        row[2 * e + 1] = (((up[e] + points[e]) + points[e + 1]) + down[e]) * factor + noise[e];
    }
    put_row<WAY>(job, s, 2 * a, row);
}

/* Row 2a + 1. */
template <crn_diamond_square_way WAY>
static __device__ __forceinline__ void make_odd(const crn_diamond_square_job &job, const strip &s,
                                                int32_t a, const float (&above)[5],
                                                const float (&below)[5], const float (&diamonds)[4])
{
    float noise[4], row[8];
    noises<WAY>(job, s, CRN_PHASE_SQUARE, 2 * a + 1, noise);
    float left = __shfl_up_sync(LANES, diamonds[3], 1);
    left = s.is_left ? CRN_DIAMOND_SQUARE_NOTHING : left;
#pragma unroll
    for (int e = 0; e < 4; e++) {
        float right = e == 0 && s.is_right ? CRN_DIAMOND_SQUARE_NOTHING : diamonds[e];
        float factor = e == 0 ? s.factor : 0.25f;
        row[2 * e] = (((above[e] + left) + right) + below[e]) * factor + noise[e];
        row[2 * e + 1] = diamonds[e];
        left = diamonds[e];
    }
    put_row<WAY>(job, s, 2 * a + 1, row);
}

static __device__ __forceinline__ strip strip_of(const crn_diamond_square_job &job, int32_t group,
                                                 float *stages)
{
    strip s;
    s.lane = (int32_t)threadIdx.x % WARP;
    s.group = group + s.lane;
    s.x = 4 * s.group;
    s.level = job.exponent - 1;
    s.diamond_column = crn_diamond_square_column_of(job.keys, s.level, CRN_PHASE_DIAMOND, s.group);
    s.square_column = crn_diamond_square_column_of(job.keys, s.level, CRN_PHASE_SQUARE, s.group);
    s.is_left = s.x == 0;
    s.is_right = s.x == 1 << s.level;
    s.factor = s.is_left || s.is_right ? 1.0f / 3.0f : 0.25f;
    s.stage = stages + COLUMNS * (threadIdx.x / WARP);
    return s;
}

/* Rows 2a and 2a + 1 for a from `a` to before `end`, of the points from `row` (row a - 1) on. */
template <crn_diamond_square_way WAY>
static __device__ __forceinline__ void walk_down(const crn_diamond_square_job &job, const strip &s,
                                                 int32_t a, int32_t end, const float *row)
{
    const int32_t last = 1 << s.level;
    float above[5], here[5], up[4], down[4];
    load_points(s, row + CRN_DIAMOND_SQUARE_PITCH0, here);
    if (a > 0) {
        load_points(s, row, above);
        make_diamonds<WAY>(job, s, a - 1, above, here, up);
    }
#pragma unroll
    for (int e = 0; e < 4; e++)
        up[e] = a > 0 ? up[e] : CRN_DIAMOND_SQUARE_NOTHING;
    row += 2 * CRN_DIAMOND_SQUARE_PITCH0;
#pragma unroll 1
    for (; a < end; a++, row += CRN_DIAMOND_SQUARE_PITCH0) {
        if (a == last) {
#pragma unroll
            for (int e = 0; e < 4; e++)
                down[e] = CRN_DIAMOND_SQUARE_NOTHING;
            make_even<WAY>(job, s, a, here, up, down);
            return;
        }
        float below[5];
        load_points(s, row, below);
        make_diamonds<WAY>(job, s, a, here, below, down);
        make_even<WAY>(job, s, a, here, up, down);
        make_odd<WAY>(job, s, a, here, below, down);
#pragma unroll
        for (int e = 0; e < 4; e++)
            up[e] = down[e];
#pragma unroll
        for (int e = 0; e < 5; e++)
            here[e] = below[e];
    }
}

/* A tile's part of shared memory. */
static __device__ crn_diamond_square_tile tile_in(float *shared, int32_t pairs)
{
    crn_diamond_square_tile tile = {};
    tile.finest = shared;
    tile.coarse = shared + crn_diamond_square_rows(pairs) * CRN_DIAMOND_SQUARE_PITCH0;
    tile.diamonds = tile.coarse + crn_diamond_square_coarse_rows(pairs) * CRN_DIAMOND_SQUARE_PITCH1;
    return tile;
}

template <crn_diamond_square_way WAY>
static __global__ void __launch_bounds__(CRN_DIAMOND_SQUARE_THREADS, 4)
    tile_kernel(const __grid_constant__ crn_diamond_square_job job)
{
    extern __shared__ float4 memory[];
    float *shared = reinterpret_cast<float *>(memory);
    int32_t tile_x = (int32_t)blockIdx.x % job.tiles_across;
    int32_t tile_y = (int32_t)blockIdx.x / job.tiles_across;
    int32_t group = job.first_group + CRN_DIAMOND_SQUARE_GROUPS * tile_x - 1;
    int32_t first = job.first_pair + job.pairs * tile_y;
    crn_diamond_square_tile tile = tile_in(shared, job.pairs);
    tile.x0 = 4 * group;
    tile.x1 = 4 * (group + WARP);
    tile.y0 = first - 1;
    tile.y1 = first + job.pairs;
    tile.grid = job.exponent - 1;
    crn_diamond_square_coarse(job, tile);

    strip s = strip_of(job, group, shared + crn_diamond_square_floats(job.pairs));
    int32_t warp = (int32_t)threadIdx.x / WARP;
    int32_t last = min(first + job.pairs - 1, (job.y + job.height - 1) / 2) + 1;
    int32_t a = first + job.pairs * warp / WARPS;
    int32_t end = min(first + job.pairs * (warp + 1) / WARPS, last);
    if (a < end)
        walk_down<WAY>(job, s, a, end,
                       tile.finest + (a - first) * CRN_DIAMOND_SQUARE_PITCH0 + 4 * s.lane);
}

/* A field of so few points that it is one tile's coarse part. */
static __global__ void __launch_bounds__(WARP)
    small_kernel(const __grid_constant__ crn_diamond_square_job job)
{
    extern __shared__ float4 memory[];
    crn_diamond_square_tile tile = tile_in(reinterpret_cast<float *>(memory), job.pairs);
    tile.x1 = tile.y1 = 1 << job.exponent;
    tile.grid = job.exponent;
    crn_diamond_square_coarse(job, tile);
    for (int32_t i = (int32_t)threadIdx.x; i < job.height * job.width; i += WARP) {
        int32_t y = i / job.width, x = i % job.width;
        put(job, y, x, tile.finest[(job.y + y) * CRN_DIAMOND_SQUARE_PITCH0 + job.x + x]);
    }
}

/* --- launches --- */

static size_t bytes_of(crn_diamond_square_way way, int32_t pairs)
{
    size_t stages = way == CRN_DIAMOND_SQUARE_FLOATS ? WARPS * COLUMNS : 0;
    return (stages + (size_t)crn_diamond_square_floats(pairs)) * sizeof(float);
}

typedef void kernel_fn(crn_diamond_square_job job);

static kernel_fn *kernel_of(crn_diamond_square_way way)
{
    return way == CRN_DIAMOND_SQUARE_BYTES    ? tile_kernel<CRN_DIAMOND_SQUARE_BYTES>
           : way == CRN_DIAMOND_SQUARE_FLOATS ? tile_kernel<CRN_DIAMOND_SQUARE_FLOATS>
                                              : tile_kernel<CRN_DIAMOND_SQUARE_ANY>;
}

int crn_diamond_square_launch(crn_context *context, crn_diamond_square_way way, int32_t tiles,
                              const crn_diamond_square_job *job)
{
    kernel_fn *kernel = kernel_of(way);
    size_t bytes = bytes_of(way, job->pairs);
    int r = crn_gpu_allow_shared(context, reinterpret_cast<const void *>(kernel), bytes);
    if (r < 0)
        return r;
    kernel<<<(uint32_t)tiles, CRN_DIAMOND_SQUARE_THREADS, bytes, crn_gpu_stream(context)>>>(*job);
    return crn_gpu_launched();
}

int crn_diamond_square_launch_small(crn_context *context, const crn_diamond_square_job *job)
{
    size_t bytes = bytes_of(CRN_DIAMOND_SQUARE_ANY, job->pairs);
    small_kernel<<<1, WARP, bytes, crn_gpu_stream(context)>>>(*job);
    return crn_gpu_launched();
}

int32_t crn_diamond_square_tiles_at_once(const crn_context *context, crn_diamond_square_way way,
                                         int32_t pairs)
{
    /* The kernel is bound to registers for four. */
    const crn_gpu_limits *limits = crn_gpu_limits_of(context);
    int32_t fit = (int32_t)(limits->shared_bytes / (bytes_of(way, pairs) + 1024));
    return fit < 1 ? 1 : fit > 4 ? 4 : fit;
}

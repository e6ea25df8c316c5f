/* The last level of a launch, by warps, and its way to the image (diamond_square.cuh). */
#ifndef CRN_GPU_DIAMOND_SQUARE_STRIP_CUH
#define CRN_GPU_DIAMOND_SQUARE_STRIP_CUH

#include "gpu/diamond_square_part.cuh"

#define CRN_DIAMOND_SQUARE_WARPS (CRN_DIAMOND_SQUARE_THREADS / CRN_DIAMOND_SQUARE_WARP)
#define CRN_DIAMOND_SQUARE_LANES 0xffffffffu

/* Columns of the field that a warp makes of two rows. */
#define CRN_DIAMOND_SQUARE_COLUMNS (8 * CRN_DIAMOND_SQUARE_WARP)

/* Floats of shared memory behind all else: a row of each warp. */
static inline int32_t crn_diamond_square_stage_floats(crn_diamond_square_way way)
{
    return way == CRN_DIAMOND_SQUARE_FLOATS ? CRN_DIAMOND_SQUARE_WARPS * CRN_DIAMOND_SQUARE_COLUMNS
                                            : 0;
}

/* A warp's walk down the last level: four x a lane. */
typedef struct crn_diamond_square_strip {
    int32_t lane, group, level;
    crn_diamond_square_column diamond_column, square_column;
    bool is_left, is_right; /* the first point lies on the field's border */
    bool is_inside;         /* all that the lane writes lies in the rectangle */
    int32_t column;         /* of the rectangle: the lane's first */
    float scale;
    int32_t stage; /* a row of floats in shared memory, of the warp */
} crn_diamond_square_strip;

/* --- one element --- */

/* As the definition does, half to even and saturated, but for the saturation at 0 and 255: a
 * product by the least number there is has the rounded whole number for its bits, and a sign. */
static __device__ __forceinline__ int32_t crn_diamond_square_whole(float value)
{
    return __float_as_int(value * 0x1p-149f);
}

/* Four of them as bytes, saturated. */
static __device__ __forceinline__ uint32_t crn_diamond_square_pack(float a, float b, float c,
                                                                   float d)
{
    uint32_t high, all;
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, 0;"
        : "=r"(high)
        : "r"(crn_diamond_square_whole(d)), "r"(crn_diamond_square_whole(c)));
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;"
        : "=r"(all)
        : "r"(crn_diamond_square_whole(b)), "r"(crn_diamond_square_whole(a)), "r"(high));
    return all;
}

static __device__ __forceinline__ void crn_diamond_square_put(const crn_diamond_square_job &job,
                                                              int32_t y, int32_t x, float value)
{
    ptrdiff_t at = y * job.row_stride + x * job.step;
    if (job.type == CRN_F32)
        static_cast<float *>(job.data)[at] = value;
    else
        static_cast<uint8_t *>(job.data)[at] = (uint8_t)crn_diamond_square_pack(value, 0, 0, 0);
}

/* --- a row of the field, eight points a lane --- */

/* Whole words of 8 bytes of memory: a lane's begins up to 7 bytes before its own points, with the
 * last of the lane before. The strip's first word and what follows its last are the neighbours'. */
static __device__ __forceinline__ void
crn_diamond_square_put_bytes(const crn_diamond_square_job &job, const crn_diamond_square_strip &s,
                             uint8_t *to, const float (&row)[8])
{
    uint32_t low = crn_diamond_square_pack(row[0], row[1], row[2], row[3]);
    uint32_t high = crn_diamond_square_pack(row[4], row[5], row[6], row[7]);
    uint32_t low_before = __shfl_up_sync(CRN_DIAMOND_SQUARE_LANES, low, 1),
             high_before = __shfl_up_sync(CRN_DIAMOND_SQUARE_LANES, high, 1);
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

/* Where rows are not aligned, by way of shared memory, so that neighbouring lanes write
 * neighbouring floats. */
static __device__ __forceinline__ void
crn_diamond_square_put_floats(const crn_diamond_square_job &job, const crn_diamond_square_strip &s,
                              float *to, const float (&row)[8])
{
    if (job.aligned && s.is_inside) {
        reinterpret_cast<float4 *>(to)[0] = make_float4(row[0], row[1], row[2], row[3]);
        reinterpret_cast<float4 *>(to)[1] = make_float4(row[4], row[5], row[6], row[7]);
    }
    if (job.aligned && __all_sync(CRN_DIAMOND_SQUARE_LANES, s.is_inside || s.lane == 0))
        return;
    float4 *mine = reinterpret_cast<float4 *>(crn_diamond_square_shared(s.stage + 8 * s.lane));
    mine[0] = make_float4(row[0], row[1], row[2], row[3]);
    mine[1] = make_float4(row[4], row[5], row[6], row[7]);
    __syncwarp();
    int32_t column = s.column - 7 * s.lane;
    to -= 7 * s.lane;
#pragma unroll
    for (int e = 0; e < 8; e++) {
        int32_t at = CRN_DIAMOND_SQUARE_WARP * e;
        if ((e > 0 || s.lane >= 8) && (uint32_t)(column + at) < (uint32_t)job.width)
            to[at] = *crn_diamond_square_shared(s.stage + at + s.lane);
    }
    __syncwarp();
}

/* `row` of the rectangle, perhaps beyond it; where its points would lie. */
template <crn_diamond_square_way WAY>
static __device__ __forceinline__ void
crn_diamond_square_put_row(const crn_diamond_square_job &job, const crn_diamond_square_strip &s,
                           int32_t row, char *to, const float (&values)[8])
{
    if ((uint32_t)row >= (uint32_t)job.height)
        return;
    if (WAY == CRN_DIAMOND_SQUARE_BYTES) {
        crn_diamond_square_put_bytes(job, s, reinterpret_cast<uint8_t *>(to), values);
    } else if (WAY == CRN_DIAMOND_SQUARE_FLOATS) {
        crn_diamond_square_put_floats(job, s, reinterpret_cast<float *>(to), values);
    } else {
#pragma unroll
        for (int e = 0; e < 8; e++)
            if (s.lane > 0 && (uint32_t)(s.column + e) < (uint32_t)job.width)
                crn_diamond_square_put(job, row, s.column + e, values[e]);
    }
}

/* --- the last level --- */

/* Of a row of grid `level`: the lane's points, which lie there, and the next lane's first. */
static __device__ __forceinline__ void crn_diamond_square_take(const crn_diamond_square_strip &s,
                                                               const float *row, float (&to)[5])
{
    float4 four = *reinterpret_cast<const float4 *>(row);
    to[0] = four.x;
    to[1] = four.y;
    to[2] = four.z;
    to[3] = four.w;
    to[4] = __shfl_down_sync(CRN_DIAMOND_SQUARE_LANES, four.x, 1);
    if (s.lane == CRN_DIAMOND_SQUARE_WARP - 1)
        to[4] = row[4];
}

template <crn_diamond_square_way WAY>
static __device__ __forceinline__ void crn_diamond_square_strip_noises(
    const crn_diamond_square_job &job, const crn_diamond_square_strip &s,
    const crn_diamond_square_column &column, int32_t j, float (&noise)[4])
{
    crn_diamond_square_meet<WAY>(job.keys, crn_diamond_square_row_of(job.keys, s.level, j), column,
                                 s.scale, noise);
}

/* Noise becomes diamonds. */
template <crn_diamond_square_way WAY>
static __device__ __forceinline__ void
crn_diamond_square_add_diamonds(const float (&above)[5], const float (&below)[5], float (&noise)[4])
{
#pragma unroll
    for (int e = 0; e < 4; e++)
        noise[e] = crn_diamond_square_mean<WAY>(
            ((above[e] + above[e + 1]) + below[e]) + below[e + 1], false, noise[e]);
}

/* Row 2a of the field. */
template <crn_diamond_square_way WAY>
static __device__ __forceinline__ void
crn_diamond_square_even_row(bool is_border, const float (&points)[5], const float (&up)[4],
                            const float (&down)[4], const float (&noise)[4], float (&row)[8])
{
#pragma unroll
    for (int e = 0; e < 4; e++) {
        float sum = ((up[e] + points[e]) + points[e + 1]) + down[e];
        row[2 * e] = points[e];
        row[2 * e + 1] = crn_diamond_square_mean<WAY>(sum, is_border, noise[e]);
    }
}

/* Row 2a + 1. */
template <crn_diamond_square_way WAY>
static __device__ __forceinline__ void
crn_diamond_square_odd_row(const crn_diamond_square_strip &s, const float (&above)[5],
                           const float (&below)[5], const float (&diamonds)[4],
                           const float (&noise)[4], float (&row)[8])
{
    float left = __shfl_up_sync(CRN_DIAMOND_SQUARE_LANES, diamonds[3], 1);
    left = s.is_left ? CRN_DIAMOND_SQUARE_NOTHING : left;
#pragma unroll
    for (int e = 0; e < 4; e++) {
        float right = e == 0 && s.is_right ? CRN_DIAMOND_SQUARE_NOTHING : diamonds[e];
        float sum = ((above[e] + left) + right) + below[e];
        row[2 * e] =
            crn_diamond_square_mean<WAY>(sum, e == 0 && (s.is_left || s.is_right), noise[e]);
        row[2 * e + 1] = diamonds[e];
        left = diamonds[e];
    }
}

template <crn_diamond_square_way WAY>
static __device__ __forceinline__ crn_diamond_square_strip
crn_diamond_square_strip_of(const crn_diamond_square_job &job, int32_t group, int32_t stages)
{
    crn_diamond_square_strip s;
    s.lane = (int32_t)threadIdx.x % CRN_DIAMOND_SQUARE_WARP;
    s.group = group + s.lane;
    s.level = job.exponent - 1;
    s.scale = crn_diamond_square_scale<WAY>(job, s.level);
    s.diamond_column = crn_diamond_square_column_of(job.keys, s.level, CRN_PHASE_DIAMOND, s.group);
    s.square_column = crn_diamond_square_column_of(job.keys, s.level, CRN_PHASE_SQUARE, s.group);
    s.is_left = s.group == 0;
    s.is_right = 4 * s.group == 1 << s.level;
    s.column = 8 * s.group - job.x;
    const int32_t early = WAY == CRN_DIAMOND_SQUARE_BYTES ? 7 : 0;
    s.is_inside = s.lane > 0 && s.column >= early && s.column + 8 <= job.width;
    s.stage =
        stages + CRN_DIAMOND_SQUARE_COLUMNS * (int32_t)(threadIdx.x / CRN_DIAMOND_SQUARE_WARP);
    return s;
}

/* Rows 2a and 2a + 1 for a from `a` to before `end`. points(a) is where the lane's points of row a
 * of grid `level` lie; beyond the field anywhere that can be read. */
template <crn_diamond_square_way WAY, typename POINTS>
static __device__ __forceinline__ void
crn_diamond_square_walk_down(const crn_diamond_square_job &job, const crn_diamond_square_strip &s,
                             int32_t a, int32_t end, POINTS points)
{
    const int32_t rows = min(end, 1 << s.level);
    const ptrdiff_t stride = job.row_stride * (WAY == CRN_DIAMOND_SQUARE_FLOATS ? 4 : 1);
    char *to = static_cast<char *>(job.data) + (2 * a - job.y) * stride +
               s.column * (WAY == CRN_DIAMOND_SQUARE_FLOATS ? 4 : 1);
    float above[5], here[5], up[4], row[8];
    crn_diamond_square_take(s, points(a), here);
    crn_diamond_square_take(s, points(max(a - 1, 0)), above);
    crn_diamond_square_strip_noises<WAY>(job, s, s.diamond_column, a - 1, up);
    crn_diamond_square_add_diamonds<WAY>(above, here, up);
#pragma unroll
    for (int e = 0; e < 4; e++)
        up[e] = a > 0 ? up[e] : CRN_DIAMOND_SQUARE_NOTHING;
#pragma unroll 1
    for (; a < rows; a++) {
        /* Noise waits for nothing but itself: three groups of it at a time. */
        float below[5], down[4], between[4], beside[4];
        crn_diamond_square_take(s, points(a + 1), below);
        crn_diamond_square_strip_noises<WAY>(job, s, s.diamond_column, a, down);
        crn_diamond_square_strip_noises<WAY>(job, s, s.square_column, 2 * a, between);
        crn_diamond_square_strip_noises<WAY>(job, s, s.square_column, 2 * a + 1, beside);
        crn_diamond_square_add_diamonds<WAY>(here, below, down);
        crn_diamond_square_even_row<WAY>(a == 0, here, up, down, between, row);
        crn_diamond_square_put_row<WAY>(job, s, 2 * a - job.y, to, row);
        crn_diamond_square_odd_row<WAY>(s, here, below, down, beside, row);
        crn_diamond_square_put_row<WAY>(job, s, 2 * a + 1 - job.y, to + stride, row);
        to += 2 * stride;
#pragma unroll
        for (int e = 0; e < 4; e++)
            up[e] = down[e];
#pragma unroll
        for (int e = 0; e < 5; e++)
            here[e] = below[e];
    }
    if (a < end) {
        float between[4];
        const float down[4] = {CRN_DIAMOND_SQUARE_NOTHING, CRN_DIAMOND_SQUARE_NOTHING,
                               CRN_DIAMOND_SQUARE_NOTHING, CRN_DIAMOND_SQUARE_NOTHING};
        crn_diamond_square_strip_noises<WAY>(job, s, s.square_column, 2 * a, between);
        crn_diamond_square_even_row<WAY>(true, here, up, down, between, row);
        crn_diamond_square_put_row<WAY>(job, s, 2 * a - job.y, to, row);
    }
}

#endif

/*
 * Shared by the files of the diamond-square operator.
 *
 *   diamond_square.cu          the entry: launches of tiles
 *   diamond_square.cuh         Philox; the region of each grid that a tile needs, and its layout
 *   coarse.cuh                 the first levels of a tile, and those between, in shared memory
 *   kernels.cu                 the last level, and its stores to the image
 *
 * Grid l, 0 to the exponent, is the field at every 2^(exponent - l)-th point: (2^l + 1)^2 of them;
 * level l makes grid l + 1 from grid l. With G a row of grid l, D the diamonds of the level, H the
 * square points between horizontal neighbours and V those between vertical ones:
 *
 *   row 2a      G[a][0]  H[a][0]  G[a][1]  H[a][1] ...
 *   row 2a + 1  V[a][0]  D[a][0]  V[a][1]  D[a][1] ...
 *
 *   D[a][x] from G[a][x], G[a][x+1], G[a+1][x], G[a+1][x+1]
 *   H[a][x] from D[a-1][x], G[a][x], G[a][x+1], D[a][x]
 *   V[a][x] from G[a][x], D[a][x-1], D[a][x], G[a+1][x]
 *
 * The x of all three is the index of their noise. One Philox call gives four values, so x is
 * processed in groups of four that begin at a multiple of four.
 *
 * Noise depends on its index only, so a tile recomputes the neighbouring points that it needs: of
 * each coarser grid half as many points per side and up to three more. A field of few tiles is one
 * launch, and each tile starts from the four corners. A larger one starts from the field of
 * exponent - 2, which is its grid exponent - 2, so that its tiles compute the last two levels only.
 */
#ifndef CRN_GPU_DIAMOND_SQUARE_DIAMOND_SQUARE_CUH
#define CRN_GPU_DIAMOND_SQUARE_DIAMOND_SQUARE_CUH

#include "gpu/device.cuh"

extern "C" {
#include "stages/philox.h"
#include "stages/serial/diamond_square.h"
}

#define CRN_DIAMOND_SQUARE_LEVELS CRN_DIAMOND_SQUARE_EXPONENT_MAX

/* Groups per warp: the first of its 32 threads only provides its last diamond, which the next
 * group's points need. */
#define CRN_DIAMOND_SQUARE_GROUPS 31

/* Maximum number of rows 2a of a tile. */
#define CRN_DIAMOND_SQUARE_PAIRS_MAX 48

#define CRN_DIAMOND_SQUARE_THREADS 256
#define CRN_DIAMOND_SQUARE_WARP    32

typedef struct crn_gpu_diamond_square_keys {
    uint32_t round[CRN_PHILOX_ROUNDS][2];
} crn_gpu_diamond_square_keys;

typedef enum crn_gpu_diamond_square_variant {
    CRN_DIAMOND_SQUARE_BYTES,  /* u8, step 1 */
    CRN_DIAMOND_SQUARE_FLOATS, /* f32, step 1 */
    CRN_DIAMOND_SQUARE_ANY,    /* any strides, and noise of any size */
} crn_gpu_diamond_square_variant;

typedef struct crn_diamond_square_job {
    crn_gpu_diamond_square_keys keys;
    float amplitude[CRN_DIAMOND_SQUARE_LEVELS];
    float scale[CRN_DIAMOND_SQUARE_LEVELS]; /* amplitude x 2^-31 */
    int32_t exponent;
    int32_t x, y, width, height; /* of the rectangle, on the field */
    void *data;
    ptrdiff_t row_stride, step;
    crn_type type;
    int32_t first_group, first_pair; /* of the first tile */
    int32_t pairs;                   /* rows 2a of a tile */
    int32_t tiles_across, tiles;
    /* Grid exponent - 2, or NULL: rows of whole groups from (from_y, from_x) on. */
    const float *from;
    int32_t from_x, from_y, from_width, from_stride;
} crn_diamond_square_job;

/* Launch all tiles of a field of exponent 3 and more; a smaller field. */
int crn_diamond_square_launch(crn_context *context, crn_gpu_diamond_square_variant variant,
                              const crn_diamond_square_job *job);
int crn_diamond_square_launch_small(crn_context *context, const crn_diamond_square_job *job);

/* Resident tiles per multiprocessor. */
int32_t crn_diamond_square_tiles_at_once(const crn_context *context,
                                         crn_gpu_diamond_square_variant variant,
                                         const crn_diamond_square_job *job);

/*
 * --- noise: Philox4x32-10 on (x / 4, j, level, phase) ---
 *
 * Along a row only the first word of the counter changes, from row to row only the second. Nearly
 * all of the first three rounds depends on one of them alone and is computed once per column or
 * row; the two are combined in the third.
 */

/* A row's part: words 2 and 3 (keyed) before the third round. */
typedef struct crn_gpu_diamond_square_row {
    uint32_t u, v;
} crn_gpu_diamond_square_row;

/* A column's part: what word 2 is xored with before the third round; in the
 * third, words 1, 2, 3. */
typedef struct crn_diamond_square_column {
    uint32_t p, q, r, t;
} crn_diamond_square_column;

static __device__ __forceinline__ uint64_t crn_wide_product(uint32_t a, uint32_t b)
{
    return (uint64_t)a * b;
}

static __device__ __forceinline__ crn_gpu_diamond_square_row
crn_diamond_square_row_of(const crn_gpu_diamond_square_keys &keys, int32_t level, int32_t j)
{
    uint32_t word = (uint32_t)(crn_wide_product(CRN_PHILOX_FACTOR1, (uint32_t)level) >> 32);
    uint64_t a = crn_wide_product(CRN_PHILOX_FACTOR0, word ^ (uint32_t)j ^ keys.round[0][0]);
    crn_gpu_diamond_square_row row = {(uint32_t)(a >> 32) ^ keys.round[1][1], (uint32_t)a};
    return row;
}

static __device__ __forceinline__ crn_diamond_square_column
crn_diamond_square_column_of(const crn_gpu_diamond_square_keys &keys, int32_t level,
                             crn_diamond_square_phase phase, int32_t group)
{
    uint64_t a = crn_wide_product(CRN_PHILOX_FACTOR0, (uint32_t)group);
    uint64_t b = crn_wide_product(CRN_PHILOX_FACTOR1,
                                  (uint32_t)(a >> 32) ^ (uint32_t)phase ^ keys.round[0][1]);
    uint32_t word = CRN_PHILOX_FACTOR1 * (uint32_t)level;
    uint64_t c =
        crn_wide_product(CRN_PHILOX_FACTOR0, (uint32_t)(b >> 32) ^ word ^ keys.round[1][0]);
    crn_diamond_square_column column = {(uint32_t)a, (uint32_t)b ^ keys.round[2][0],
                                        (uint32_t)(c >> 32) ^ keys.round[2][1], (uint32_t)c};
    return column;
}

/* Combines a row and a column into the four output words. */
static __device__ __forceinline__ void
crn_diamond_square_words(const crn_gpu_diamond_square_keys &keys,
                         const crn_gpu_diamond_square_row &row,
                         const crn_diamond_square_column &column, uint32_t (&words)[4])
{
    uint64_t b = crn_wide_product(CRN_PHILOX_FACTOR1, row.u ^ column.p);
    uint32_t x0 = (uint32_t)(b >> 32) ^ column.q, x1 = (uint32_t)b;
    uint32_t x2 = column.r ^ row.v, x3 = column.t;
#pragma unroll
    for (int round = 3; round < CRN_PHILOX_ROUNDS; round++) {
        uint64_t a = crn_wide_product(CRN_PHILOX_FACTOR0, x0);
        b = crn_wide_product(CRN_PHILOX_FACTOR1, x2);
        x0 = (uint32_t)(b >> 32) ^ x1 ^ keys.round[round][0];
        x1 = (uint32_t)b;
        x2 = (uint32_t)(a >> 32) ^ x3 ^ keys.round[round][1];
        x3 = (uint32_t)a;
    }
    words[0] = x0;
    words[1] = x1;
    words[2] = x2;
    words[3] = x3;
}

/*
 * The factor of a level's words. The definition multiplies by 2^-31, then by the amplitude. Except
 * for ANY the combined factor is at least 2^-95 (crn_diamond_square_cuda ensures it), and one
 * multiplication rounds to the same value.
 */
template <crn_gpu_diamond_square_variant VARIANT>
static __device__ __forceinline__ float crn_diamond_square_scale(const crn_diamond_square_job &job,
                                                                 int32_t level)
{
    return VARIANT == CRN_DIAMOND_SQUARE_ANY ? job.amplitude[level] : job.scale[level];
}

/* The noise of a group, from its row and its column. */
template <crn_gpu_diamond_square_variant VARIANT>
static __device__ __forceinline__ void crn_diamond_square_group_noise(
    const crn_gpu_diamond_square_keys &keys, const crn_gpu_diamond_square_row &row,
    const crn_diamond_square_column &column, float scale, float (&noise)[4])
{
    uint32_t words[4];
    crn_diamond_square_words(keys, row, column, words);
#pragma unroll
    for (int e = 0; e < 4; e++) {
        float word = (float)(int32_t)words[e];
        noise[e] = scale * (VARIANT == CRN_DIAMOND_SQUARE_ANY ? word * 0x1p-31f : word);
    }
}

template <crn_gpu_diamond_square_variant VARIANT>
static __device__ __forceinline__ void
crn_diamond_square_noises(const crn_diamond_square_job &job, int32_t level,
                          crn_diamond_square_phase phase, int32_t group, int32_t j,
                          float (&noise)[4])
{
    crn_diamond_square_group_noise<VARIANT>(
        job.keys, crn_diamond_square_row_of(job.keys, level, j),
        crn_diamond_square_column_of(job.keys, level, phase, group),
        crn_diamond_square_scale<VARIANT>(job, level), noise);
}

/* Stands for a missing neighbour: adding it changes nothing. */
#define CRN_DIAMOND_SQUARE_NEUTRAL (-0.0f)

/*
 * The mean of four points, at the field's border of three, plus noise. A quarter of the sum is
 * exact unless below 2^-126; then the noise, which is 0 or at least 2^-95 except for ANY, alone
 * determines the result, with two roundings or with one. So a fused multiply-add gives the same
 * bytes.
 */
template <crn_gpu_diamond_square_variant VARIANT>
static __device__ __forceinline__ float crn_diamond_square_mean(float sum, bool is_border,
                                                                float noise)
{
    const float third = 1.0f / 3.0f;
    if (VARIANT == CRN_DIAMOND_SQUARE_ANY)
        return sum * (is_border ? third : 0.25f) + noise;
    if (is_border)
        sum *= third;
    return __fmaf_rn(sum, is_border ? 1.0f : 0.25f, noise);
}

/* --- the region of each grid that a tile needs, and its layout in shared memory --- */

/*
 * Pitches of a tile's finest grid, of the one before, and of its diamonds; multiples of four. The
 * finest has 32 groups and one column, in pairs of groups. The grid two before it shares its
 * memory. Grids 3 and more before the finest have memory of their own, with a margin of one point.
 */
#define CRN_DIAMOND_SQUARE_PITCH0         136
#define CRN_DIAMOND_SQUARE_PITCH1         80
#define CRN_DIAMOND_SQUARE_PITCH_DIAMONDS 80
#define CRN_DIAMOND_SQUARE_PITCH3         32
#define CRN_DIAMOND_SQUARE_PITCH4         16
#define CRN_DIAMOND_SQUARE_FLOATS3        (12 * CRN_DIAMOND_SQUARE_PITCH3)
#define CRN_DIAMOND_SQUARE_FLOATS4        (9 * CRN_DIAMOND_SQUARE_PITCH4)

/* Rows of the first two, for so many pairs of rows of the field. */
static __host__ __device__ inline int32_t crn_diamond_square_rows(int32_t pairs)
{
    return pairs + 2;
}

static __host__ __device__ inline int32_t crn_diamond_square_coarse_rows(int32_t pairs)
{
    return pairs / 2 + 4;
}

/* Padding before the diamonds, read but not used. */
#define CRN_DIAMOND_SQUARE_GAP 4

/* Floats of shared memory, without the chain's; and those of a chain to grid `grid`. */
static __host__ __device__ inline int32_t crn_diamond_square_floats(int32_t pairs)
{
    return crn_diamond_square_rows(pairs) * CRN_DIAMOND_SQUARE_PITCH0 +
           crn_diamond_square_coarse_rows(pairs) *
               (CRN_DIAMOND_SQUARE_PITCH1 + CRN_DIAMOND_SQUARE_PITCH_DIAMONDS) +
           CRN_DIAMOND_SQUARE_GAP;
}

static __host__ __device__ inline int32_t crn_diamond_square_chain_floats(int32_t grid)
{
    return grid < 3 ? 0 : CRN_DIAMOND_SQUARE_FLOATS3 + (grid - 3) * CRN_DIAMOND_SQUARE_FLOATS4;
}

/* The region of a grid that a tile needs, bounds inclusive, and its layout. */
typedef struct crn_diamond_square_region {
    int32_t at; /* (y0, origin), in shared memory */
    int32_t pitch, origin;
    int32_t x0, x1, y0, y1;
} crn_diamond_square_region;

/* A tile: the region of the finest grid in shared memory that it needs, not yet
 * clipped to the field. */
typedef struct crn_diamond_square_tile {
    int32_t finest, coarse, diamonds, chain; /* their offsets in shared memory */
    int32_t x0, x1, y0, y1;                  /* x0 is a multiple of four, perhaps -4 */
    int32_t grid;                            /* its number */
} crn_diamond_square_tile;

/* A point at n needs points (n - 1) / 2 to n / 2 + 1, rounded down, of the grid before.
 * Applied `times` times: */
static __host__ __device__ inline int32_t crn_diamond_square_low(int32_t n, int32_t times)
{
    int32_t low = ((n + 1) >> times) - 1;
    return low < 0 ? 0 : low;
}

static __host__ __device__ inline int32_t crn_diamond_square_high(int32_t n, int32_t times)
{
    return ((n - 2) >> times) + 2;
}

static __device__ __forceinline__ crn_diamond_square_region
crn_diamond_square_region_of(const crn_diamond_square_tile &tile, int32_t grid)
{
    int32_t times = tile.grid - grid, last = 1 << grid;
    crn_diamond_square_region region;
    region.x0 = crn_diamond_square_low(tile.x0, times);
    region.y0 = crn_diamond_square_low(tile.y0, times);
    region.x1 = min(crn_diamond_square_high(tile.x1, times), last);
    region.y1 = min(crn_diamond_square_high(tile.y1, times), last);
    if (times >= 3) {
        region.pitch = times == 3 ? CRN_DIAMOND_SQUARE_PITCH3 : CRN_DIAMOND_SQUARE_PITCH4;
        region.origin = times == 3 ? (region.x0 - 1) & ~3 : region.x0 - 1;
        region.at = tile.chain + region.pitch;
        if (times > 3)
            region.at += CRN_DIAMOND_SQUARE_FLOATS3 + (times - 4) * CRN_DIAMOND_SQUARE_FLOATS4;
        return region;
    }
    region.origin = times == 0 ? tile.x0 : region.x0 & ~3;
    region.pitch = times == 1 ? CRN_DIAMOND_SQUARE_PITCH1 : CRN_DIAMOND_SQUARE_PITCH0;
    region.at = times == 1 ? tile.coarse : tile.finest;
    /* The finest grid's rows are where the tile's last step reads them. */
    if (times == 0)
        region.at += (region.y0 - tile.y0) * region.pitch;
    return region;
}

/* Shared memory, as floats. It is addressed by offset, so that the compiler
 * knows the address space. */
static __device__ __forceinline__ float *crn_diamond_square_shared(int32_t at)
{
    extern __shared__ float4 memory[];
    return reinterpret_cast<float *>(memory) + at;
}

/* Offset of a point of a grid. */
static __device__ __forceinline__ int32_t
crn_diamond_square_point(const crn_diamond_square_region &region, int32_t y, int32_t x)
{
    return region.at + (y - region.y0) * region.pitch + x - region.origin;
}

#endif

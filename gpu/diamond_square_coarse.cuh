/* What a tile needs of the coarser grids (diamond_square.cuh), made in shared memory. */
#ifndef CRN_GPU_DIAMOND_SQUARE_COARSE_CUH
#define CRN_GPU_DIAMOND_SQUARE_COARSE_CUH

#include "gpu/diamond_square_noise.cuh"

/* Columns of the finest grid in shared memory, of the one before, and of its diamonds; multiples of
 * four. Of the finest: 32 groups and one column, in pairs of groups. */
#define CRN_DIAMOND_SQUARE_PITCH0         136
#define CRN_DIAMOND_SQUARE_PITCH1         80
#define CRN_DIAMOND_SQUARE_PITCH_DIAMONDS 80

/* Rows of them, for so many pairs of rows of the field. */
static __host__ __device__ inline int32_t crn_diamond_square_rows(int32_t pairs)
{
    return pairs + 2;
}

static __host__ __device__ inline int32_t crn_diamond_square_coarse_rows(int32_t pairs)
{
    return pairs / 2 + 4;
}

/* Floats of shared memory. */
static __host__ __device__ inline int32_t crn_diamond_square_floats(int32_t pairs)
{
    return crn_diamond_square_rows(pairs) * CRN_DIAMOND_SQUARE_PITCH0 +
           crn_diamond_square_coarse_rows(pairs) *
               (CRN_DIAMOND_SQUARE_PITCH1 + CRN_DIAMOND_SQUARE_PITCH_DIAMONDS);
}

/* Where a neighbour is missing: adding it changes nothing. */
#define CRN_DIAMOND_SQUARE_NOTHING (-0.0f)

/* The part of a grid that a tile needs, ends included, and where it lies. */
typedef struct crn_diamond_square_part {
    float *at; /* (y0, origin) */
    int32_t pitch, origin;
    int32_t x0, x1, y0, y1;
} crn_diamond_square_part;

/* A tile: what it needs of the finest grid in shared memory, cut off at the field later. */
typedef struct crn_diamond_square_tile {
    float *finest, *coarse, *diamonds;
    int32_t x0, x1, y0, y1; /* x0 a multiple of four, perhaps -4 */
    int32_t grid;           /* its number */
} crn_diamond_square_tile;

/* A point at n needs points from (n - 1) / 2 to n / 2 + 1, rounded down, of the grid before; so
 * often repeated, that is: */
static __device__ __forceinline__ int32_t crn_diamond_square_low(int32_t n, int32_t times)
{
    return max(((n + 1) >> times) - 1, 0);
}

static __device__ __forceinline__ int32_t crn_diamond_square_high(int32_t n, int32_t times)
{
    return ((n - 2) >> times) + 2;
}

static __device__ __forceinline__ crn_diamond_square_part
crn_diamond_square_part_of(const crn_diamond_square_tile &tile, int32_t grid)
{
    int32_t times = tile.grid - grid, last = 1 << grid;
    crn_diamond_square_part part;
    part.x0 = crn_diamond_square_low(tile.x0, times);
    part.y0 = crn_diamond_square_low(tile.y0, times);
    part.x1 = min(crn_diamond_square_high(tile.x1, times), last);
    part.y1 = min(crn_diamond_square_high(tile.y1, times), last);
    part.origin = times == 0 ? tile.x0 : part.x0 & ~3;
    bool fine = times % 2 == 0;
    part.pitch = fine ? CRN_DIAMOND_SQUARE_PITCH0 : CRN_DIAMOND_SQUARE_PITCH1;
    part.at = fine ? tile.finest : tile.coarse;
    /* The finest grid's rows stand where the tile's last step looks for them. */
    if (times == 0)
        part.at += (part.y0 - tile.y0) * part.pitch;
    return part;
}

/* Four points and the one after them. */
static __device__ __forceinline__ void crn_diamond_square_load(const float *from, float (&to)[5])
{
    float4 four = *reinterpret_cast<const float4 *>(from);
    to[0] = four.x;
    to[1] = four.y;
    to[2] = four.z;
    to[3] = four.w;
    to[4] = from[4];
}

/* Item number i of rows of `wide`: exact, as both are below 4096 / wide. */
typedef struct crn_diamond_square_walk {
    int32_t wide, count;
    uint32_t inverse;
} crn_diamond_square_walk;

static __device__ __forceinline__ crn_diamond_square_walk crn_diamond_square_walk_of(int32_t wide,
                                                                                     int32_t rows)
{
    crn_diamond_square_walk walk = {wide, wide * rows, 65536u / (uint32_t)wide + 1};
    return walk;
}

/* The diamonds of a level, a group an item. Those beyond the field's right border are garbage. */
static __device__ void crn_diamond_square_diamonds(const crn_diamond_square_job &job,
                                                   const crn_diamond_square_part &from,
                                                   const crn_diamond_square_part &to, int32_t level,
                                                   float *diamonds)
{
    int32_t first = from.x0 / 4, last_row = min(to.y1 / 2, (1 << level) - 1);
    crn_diamond_square_walk walk =
        crn_diamond_square_walk_of(to.x1 / 8 - first + 1, last_row - from.y0 + 1);
    float amplitude = job.amplitude[level];
    for (int32_t i = (int32_t)threadIdx.x; i < walk.count; i += (int32_t)blockDim.x) {
        int32_t row = (int32_t)((uint32_t)i * walk.inverse >> 16), group = i - row * walk.wide;
        float above[5], below[5], noise[4];
        const float *at = from.at + row * from.pitch + 4 * (first + group) - from.origin;
        crn_diamond_square_load(at, above);
        crn_diamond_square_load(at + from.pitch, below);
        crn_diamond_square_noises(job.keys, level, CRN_PHASE_DIAMOND, first + group, from.y0 + row,
                                  amplitude, noise);
        float made[4];
#pragma unroll
        for (int e = 0; e < 4; e++)
            made[e] = (((above[e] + above[e + 1]) + below[e]) + below[e + 1]) * 0.25f + noise[e];
        *reinterpret_cast<float4 *>(diamonds + row * CRN_DIAMOND_SQUARE_PITCH_DIAMONDS +
                                    4 * group) = make_float4(made[0], made[1], made[2], made[3]);
    }
}

/* A group of an even row 2a: points that are there, and those between them. */
static __device__ __forceinline__ void crn_diamond_square_even(const crn_diamond_square_part &from,
                                                               int32_t level, int32_t a,
                                                               int32_t group, const float *diamonds,
                                                               const float (&noise)[4],
                                                               float (&row)[8])
{
    float g[5];
    crn_diamond_square_load(from.at + (a - from.y0) * from.pitch + 4 * group - from.origin, g);
    bool top = a == 0, bottom = a == 1 << level;
    float factor = top || bottom ? 1.0f / 3.0f : 0.25f;
#pragma unroll
    for (int e = 0; e < 4; e++) {
        float up =
            top ? CRN_DIAMOND_SQUARE_NOTHING : diamonds[e - CRN_DIAMOND_SQUARE_PITCH_DIAMONDS];
        float down = bottom ? CRN_DIAMOND_SQUARE_NOTHING : diamonds[e];
        row[2 * e] = g[e];
        row[2 * e + 1] = (((up + g[e]) + g[e + 1]) + down) * factor + noise[e];
    }
}

/* A group of an odd row 2a + 1: those below points that are there, and diamonds. */
static __device__ __forceinline__ void
crn_diamond_square_odd(const crn_diamond_square_part &from, int32_t level, int32_t a, int32_t group,
                       const float *diamonds, const float (&noise)[4], float (&row)[8])
{
    const float *above = from.at + (a - from.y0) * from.pitch + 4 * group - from.origin;
#pragma unroll
    for (int e = 0; e < 4; e++) {
        int32_t x = 4 * group + e;
        bool is_left = x == 0, is_right = x == 1 << level;
        float left = is_left ? CRN_DIAMOND_SQUARE_NOTHING : diamonds[e - 1];
        float right = is_right ? CRN_DIAMOND_SQUARE_NOTHING : diamonds[e];
        float factor = is_left || is_right ? 1.0f / 3.0f : 0.25f;
        row[2 * e] = (((above[e] + left) + right) + above[e + from.pitch]) * factor + noise[e];
        row[2 * e + 1] = right;
    }
}

/* The other points of a level, and the whole of the next grid. */
static __device__ void crn_diamond_square_squares(const crn_diamond_square_job &job,
                                                  const crn_diamond_square_part &from,
                                                  const crn_diamond_square_part &to, int32_t level,
                                                  const float *diamonds)
{
    int32_t first = to.x0 / 8;
    crn_diamond_square_walk walk =
        crn_diamond_square_walk_of(to.x1 / 8 - first + 1, to.y1 - to.y0 + 1);
    float amplitude = job.amplitude[level];
    for (int32_t i = (int32_t)threadIdx.x; i < walk.count; i += (int32_t)blockDim.x) {
        int32_t y = (int32_t)((uint32_t)i * walk.inverse >> 16);
        int32_t group = first + i - y * walk.wide;
        float *at = to.at + y * to.pitch + 8 * group - to.origin;
        y += to.y0;
        const float *d = diamonds + (y / 2 - from.y0) * CRN_DIAMOND_SQUARE_PITCH_DIAMONDS +
                         4 * (group - from.x0 / 4);
        float noise[4], row[8];
        crn_diamond_square_noises(job.keys, level, CRN_PHASE_SQUARE, group, y, amplitude, noise);
        if (y & 1)
            crn_diamond_square_odd(from, level, y / 2, group, d, noise, row);
        else
            crn_diamond_square_even(from, level, y / 2, group, d, noise, row);
        if (8 * group >= to.origin)
            *reinterpret_cast<float4 *>(at) = make_float4(row[0], row[1], row[2], row[3]);
        *reinterpret_cast<float4 *>(at + 4) = make_float4(row[4], row[5], row[6], row[7]);
    }
}

/* All levels of a tile, from the corners to its finest grid in shared memory. All threads of the
 * CTA are through when they return. */
static __device__ void crn_diamond_square_coarse(const crn_diamond_square_job &job,
                                                 const crn_diamond_square_tile &tile)
{
    crn_diamond_square_part from = crn_diamond_square_part_of(tile, 0);
    if (threadIdx.x < 2) {
        int32_t j = (int32_t)threadIdx.x;
        float noise[4];
        crn_diamond_square_noises(job.keys, 0, CRN_PHASE_CORNERS, 0, j, CRN_DIAMOND_SQUARE_MIDDLE,
                                  noise);
        for (int e = 0; e < 2; e++)
            from.at[(j - from.y0) * from.pitch + e - from.origin] =
                CRN_DIAMOND_SQUARE_MIDDLE + noise[e];
    }
    __syncthreads();
    for (int32_t level = 0; level < tile.grid; level++) {
        crn_diamond_square_part to = crn_diamond_square_part_of(tile, level + 1);
        crn_diamond_square_diamonds(job, from, to, level, tile.diamonds);
        __syncthreads();
        crn_diamond_square_squares(job, from, to, level, tile.diamonds);
        __syncthreads();
        from = to;
    }
}

#endif

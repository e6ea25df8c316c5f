/* The part of each grid that a tile needs, and its layout in shared memory (diamond_square.cuh). */
#ifndef CRN_GPU_DIAMOND_SQUARE_INTERNAL_CUH
#define CRN_GPU_DIAMOND_SQUARE_INTERNAL_CUH

#include "gpu/diamond_square/noise.cuh"

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

/* The part of a grid that a tile needs, bounds inclusive, and its layout. */
typedef struct crn_diamond_square_part {
    int32_t at; /* (y0, origin), in shared memory */
    int32_t pitch, origin;
    int32_t x0, x1, y0, y1;
} crn_diamond_square_part;

/* A tile: the part of the finest grid in shared memory that it needs, not yet
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

static __device__ __forceinline__ crn_diamond_square_part
crn_diamond_square_part_of(const crn_diamond_square_tile &tile, int32_t grid)
{
    int32_t times = tile.grid - grid, last = 1 << grid;
    crn_diamond_square_part part;
    part.x0 = crn_diamond_square_low(tile.x0, times);
    part.y0 = crn_diamond_square_low(tile.y0, times);
    part.x1 = min(crn_diamond_square_high(tile.x1, times), last);
    part.y1 = min(crn_diamond_square_high(tile.y1, times), last);
    if (times >= 3) {
        part.pitch = times == 3 ? CRN_DIAMOND_SQUARE_PITCH3 : CRN_DIAMOND_SQUARE_PITCH4;
        part.origin = times == 3 ? (part.x0 - 1) & ~3 : part.x0 - 1;
        part.at = tile.chain + part.pitch;
        if (times > 3)
            part.at += CRN_DIAMOND_SQUARE_FLOATS3 + (times - 4) * CRN_DIAMOND_SQUARE_FLOATS4;
        return part;
    }
    part.origin = times == 0 ? tile.x0 : part.x0 & ~3;
    part.pitch = times == 1 ? CRN_DIAMOND_SQUARE_PITCH1 : CRN_DIAMOND_SQUARE_PITCH0;
    part.at = times == 1 ? tile.coarse : tile.finest;
    /* The finest grid's rows are where the tile's last step reads them. */
    if (times == 0)
        part.at += (part.y0 - tile.y0) * part.pitch;
    return part;
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
crn_diamond_square_point(const crn_diamond_square_part &part, int32_t y, int32_t x)
{
    return part.at + (y - part.y0) * part.pitch + x - part.origin;
}

#endif

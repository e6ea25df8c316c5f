/*
 * The diamond-square: what its files share.
 *
 *   diamond_square.cu          the entry: launches of tiles
 *   noise.cuh                  Philox, and what of it rows and columns share
 *   internal.cuh               which part of which grid a tile needs, and where it lies
 *   chain.cuh                  the first levels of a tile, of few points, one after the other
 *   coarse.cuh                 the levels between, in shared memory
 *   kernels.cu                 the last level, and its way to the image
 *
 * Grid l, 0 to the exponent, is the field at every 2^(exponent - l)-th point: (2^l + 1)^2 of them;
 * level l makes grid l + 1 of grid l. With G a row of grid l, D the diamonds of the level, H the
 * square points between horizontal neighbours and V those between vertical ones:
 *
 *   row 2a      G[a][0]  H[a][0]  G[a][1]  H[a][1] ...
 *   row 2a + 1  V[a][0]  D[a][0]  V[a][1]  D[a][1] ...
 *
 *   D[a][x] from G[a][x], G[a][x+1], G[a+1][x], G[a+1][x+1]
 *   H[a][x] from D[a-1][x], G[a][x], G[a][x+1], D[a][x]
 *   V[a][x] from G[a][x], D[a][x-1], D[a][x], G[a+1][x]
 *
 * The x of all three is the i of their noise, four of which one Philox gives: x go in groups of
 * four, from a multiple of four on.
 *
 * Noise depends on nothing, so a tile makes what it needs of its neighbours itself: of each coarser
 * grid half as many points a side and up to three more. A field of few tiles is one launch, each
 * tile beginning at the four corners. A larger one is made from the field of exponent - 2, which is
 * its grid exponent - 2, so that its tiles have only the last two levels to do.
 */
#ifndef CRN_GPU_DIAMOND_SQUARE_DIAMOND_SQUARE_CUH
#define CRN_GPU_DIAMOND_SQUARE_DIAMOND_SQUARE_CUH

#include "gpu/device.cuh"

extern "C" {
#include "stages/philox.h"
#include "stages/serial/diamond_square.h"
}

#define CRN_DIAMOND_SQUARE_LEVELS CRN_DIAMOND_SQUARE_EXPONENT_MAX

/* Of a warp's 32 groups, the first is there for its
 * last diamond, which the next one's points need. */
#define CRN_DIAMOND_SQUARE_GROUPS 31

/* Most rows 2a of a tile. */
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
    /* Grid exponent - 2, where it is there: rows of whole groups from (from_y, from_x) on. */
    const float *from;
    int32_t from_x, from_y, from_width, from_stride;
} crn_diamond_square_job;

/* The launches: all tiles of a field of exponent 3 and more; a smaller field. */
int crn_diamond_square_launch(crn_context *context, crn_gpu_diamond_square_variant way,
                              const crn_diamond_square_job *job);
int crn_diamond_square_launch_small(crn_context *context, const crn_diamond_square_job *job);

/* Tiles that a multiprocessor has at once. */
int32_t crn_diamond_square_tiles_at_once(const crn_context *context,
                                         crn_gpu_diamond_square_variant way,
                                         const crn_diamond_square_job *job);

#endif

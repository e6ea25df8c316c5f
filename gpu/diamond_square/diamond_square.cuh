/*
 * Shared by the files of the diamond-square operator.
 *
 *   diamond_square.cu          the entry: launches of tiles
 *   noise.cuh                  Philox, with the parts common to a row or a column factored out
 *   internal.cuh               the part of each grid that a tile needs, and its layout
 *   chain.cuh                  the first levels of a tile, of few points, one after the other
 *   coarse.cuh                 the levels between, in shared memory
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
int crn_diamond_square_launch(crn_context *context, crn_gpu_diamond_square_variant way,
                              const crn_diamond_square_job *job);
int crn_diamond_square_launch_small(crn_context *context, const crn_diamond_square_job *job);

/* Resident tiles per multiprocessor. */
int32_t crn_diamond_square_tiles_at_once(const crn_context *context,
                                         crn_gpu_diamond_square_variant way,
                                         const crn_diamond_square_job *job);

#endif

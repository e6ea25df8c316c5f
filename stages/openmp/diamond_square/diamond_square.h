/*
 * The CPU diamond-square (openmp): types and functions shared by its files.
 *
 *   diamond_square.c         entry point: tiles, threads, memory, the cascade of levels
 *   diamond_square_simd.c    two rows of a level from two rows of the previous one
 *
 * Grid l, 0 to the exponent, is the field at every 2^(exponent - l)-th point: (2^l + 1)^2 points.
 * Level l computes grid l + 1 from grid l. With G a row of grid l, D the diamond points of the
 * level, H the square points between horizontal neighbours and V those between vertical ones:
 *
 *   row 2a      G[a][0]  H[a][0]  G[a][1]  H[a][1] ...
 *   row 2a + 1  V[a][0]  D[a][0]  V[a][1]  D[a][1] ...
 *
 *   D[a][x] from G[a][x], G[a][x+1], G[a+1][x], G[a+1][x+1]
 *   H[a][x] from D[a-1][x], G[a][x], G[a][x+1], D[a][x]
 *   V[a][x] from G[a][x], D[a][x-1], D[a][x], G[a+1][x]
 *
 * D, H and V are thus contiguous, and x is the index i of the noise of all three: rows begin at an
 * x that is a multiple of 16, and four noise values are one Philox block.
 */
#ifndef CRN_STAGES_OPENMP_DIAMOND_SQUARE_DIAMOND_SQUARE_H
#define CRN_STAGES_OPENMP_DIAMOND_SQUARE_DIAMOND_SQUARE_H

#include "stages/openmp/simd.h"
#include "stages/philox.h"
#include "stages/serial/diamond_square.h"

/* Granularity of x, for any vector length: 64 elements of two rows. */
#define CRN_DIAMOND_SQUARE_BLOCK 32

/* The keys of all rounds. */
typedef struct crn_diamond_square_keys {
    uint32_t round[CRN_PHILOX_ROUNDS][2];
} crn_diamond_square_keys;

/*
 * Philox with shared rounds: of a counter (x / 4, j, level, phase), only x / 4 changes along a row
 * and only j from row to row. Most of the first three rounds depends on only one of them and is
 * computed once per column or once per row; the two are combined in the third round.
 */
typedef struct crn_diamond_square_row {
    uint32_t u, v; /* XORed with word 2 before the third round; word 3 before it */
} crn_diamond_square_row;

/* Column-dependent state: two arrays with an element per 4 x, in the target's order. */
typedef struct crn_diamond_square_columns {
    uint64_t *first;  /* word 2 before the third round, without u; keyed word 1 there */
    uint64_t *second; /* words 3 and 2 after it, the latter without v */
} crn_diamond_square_columns;

/* Computes the state for x from `start` on, a multiple of 16; count is a multiple of the block. */
typedef void crn_diamond_square_columns_fn(const crn_diamond_square_keys *keys, int32_t level,
                                           crn_diamond_square_phase phase, int32_t start,
                                           int32_t count,
                                           const crn_diamond_square_columns *columns);

/* Computes rows 2a and 2a + 1; all pointers are at the same x. Values outside of the field are
 * garbage that no point inside depends on, except V at the left and right borders, which the caller
 * recomputes from its three neighbours. */
typedef struct crn_diamond_square_pair {
    const float *above, *below; /* G[a], G[a + 1], readable to count + 1; below NULL: the last row,
                                   without a row 2a + 1 */
    float *diamonds;            /* D[a - 1], replaced by D[a]; readable 16 elements before */
    bool top;                   /* a is 0 */
    float amplitude;
    const crn_diamond_square_keys *keys;
    crn_diamond_square_columns diamond_columns, square_columns;
    crn_diamond_square_row diamond_row, even_row, odd_row;
    int32_t count; /* number of x, a multiple of the block */
    crn_type type; /* of even and odd: u8 or f32 */
    void *even, *odd;
} crn_diamond_square_pair;

typedef void crn_diamond_square_pair_fn(const crn_diamond_square_pair *pair);

crn_diamond_square_columns_fn crn_diamond_square_columns_baseline;
crn_diamond_square_columns_fn crn_diamond_square_columns_avx2;
crn_diamond_square_columns_fn crn_diamond_square_columns_avx512;
crn_diamond_square_pair_fn crn_diamond_square_pair_baseline;
crn_diamond_square_pair_fn crn_diamond_square_pair_avx2;
crn_diamond_square_pair_fn crn_diamond_square_pair_avx512;

/* An execution variant: chosen by processor and rectangle size, or by a test. */
typedef struct crn_diamond_square_variant {
    crn_target target;
    int32_t threads;       /* >= 1 */
    int32_t rows, columns; /* maximum size of a tile, >= 1 */
    bool stream;           /* non-temporal stores for dense f32 */
} crn_diamond_square_variant;

int crn_diamond_square_openmp_with(const crn_diamond_square_variant *variant, crn_context *context,
                                   const crn_diamond_square_params *params, crn_image *out);

#endif

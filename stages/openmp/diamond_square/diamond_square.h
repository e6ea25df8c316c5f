/*
 * The fast diamond-square: what its files share.
 *
 *   diamond_square.c         the entry: tiles, threads, memory, the cascade of levels
 *   diamond_square_simd.c    two rows of a level from two rows of the one before
 *   vector.h                 the few vector operations that differ between instruction sets
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
 * so all is contiguous, and the x of all three is the i of their noise: rows begin at an x that is
 * a multiple of 16, and four noises are a block.
 */
#ifndef CRN_STAGES_OPENMP_DIAMOND_SQUARE_DIAMOND_SQUARE_H
#define CRN_STAGES_OPENMP_DIAMOND_SQUARE_DIAMOND_SQUARE_H

#include "stages/openmp/simd.h"
#include "stages/philox.h"
#include "stages/serial/diamond_square.h"

/* x are made in blocks of so many, whatever the vectors: 64 elements of two rows. */
#define CRN_DIAMOND_SQUARE_BLOCK 32

/* The key of every round. */
typedef struct crn_diamond_square_keys {
    uint32_t round[CRN_PHILOX_ROUNDS][2];
} crn_diamond_square_keys;

/*
 * Of a counter (x / 4, j, level, phase), only x / 4 changes along a row and only j from row to row.
 * So of the first three rounds most depends on the one or on the other alone, and is computed once
 * per column or once per row; the two meet in the third round.
 */
typedef struct crn_diamond_square_row {
    uint32_t u, v; /* what word 2 is xored with before the third round; word 3 before it */
} crn_diamond_square_row;

/* What depends on the column: two arrays of an element per 4 x, in the target's order. */
typedef struct crn_diamond_square_columns {
    uint64_t *first;  /* word 2 before the third round (without u); word 1 there, keyed */
    uint64_t *second; /* words 3 and 2 after it (the latter without v) */
} crn_diamond_square_columns;

/* Elements of x from `start` on, a multiple of 16; count a multiple of the block. */
typedef void crn_diamond_square_columns_fn(const crn_diamond_square_keys *keys, int32_t level,
                                           crn_diamond_square_phase phase, int32_t start,
                                           int32_t count,
                                           const crn_diamond_square_columns *columns);

/* Rows 2a and 2a + 1, all pointers at the same x; what lies out of the field is garbage that no
 * point on it depends on, but V at the left and right border, which has three neighbours. */
typedef struct crn_diamond_square_pair {
    const float *above, *below; /* G[a], G[a + 1], readable to count + 1; below NULL: the last row,
                                   which has no 2a + 1 */
    float *diamonds;            /* D[a - 1], becomes D[a]; readable 16 before */
    bool top;                   /* a is 0 */
    float amplitude;
    const crn_diamond_square_keys *keys;
    crn_diamond_square_columns diamond_columns, square_columns;
    crn_diamond_square_row diamond_row, even_row, odd_row;
    int32_t count; /* of x, a multiple of the block */
    crn_type type; /* u8 or f32, of: */
    void *even, *odd;
} crn_diamond_square_pair;

typedef void crn_diamond_square_pair_fn(const crn_diamond_square_pair *pair);

crn_diamond_square_columns_fn crn_diamond_square_columns_baseline;
crn_diamond_square_columns_fn crn_diamond_square_columns_avx2;
crn_diamond_square_columns_fn crn_diamond_square_columns_avx512;
crn_diamond_square_pair_fn crn_diamond_square_pair_baseline;
crn_diamond_square_pair_fn crn_diamond_square_pair_avx2;
crn_diamond_square_pair_fn crn_diamond_square_pair_avx512;

/* How to go about it: chosen by the processor and the rectangle's size, or by a test. */
typedef struct crn_diamond_square_variant {
    crn_target target;
    int32_t threads;       /* >= 1 */
    int32_t rows, columns; /* most of a tile, >= 1 */
    bool stream;           /* dense f32 goes past the caches */
} crn_diamond_square_variant;

int crn_diamond_square_openmp_with(const crn_diamond_square_variant *way, crn_context *context,
                                   const crn_diamond_square_params *params, crn_image *out);

#endif

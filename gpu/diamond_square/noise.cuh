/*
 * Noise: Philox4x32-10 on (x / 4, j, level, phase).
 *
 * Along a row only the first word of the counter changes, from row to row only the second. Nearly
 * all of the first three rounds depends on one of them alone and is computed once per column or
 * row; the two are combined in the third.
 */
#ifndef CRN_GPU_DIAMOND_SQUARE_NOISE_CUH
#define CRN_GPU_DIAMOND_SQUARE_NOISE_CUH

#include "gpu/diamond_square/diamond_square.cuh"

/* A row's part: words 2 and 3 (keyed) before the third round. */
typedef struct crn_gpu_diamond_square_row {
    uint32_t u, v;
} crn_gpu_diamond_square_row;

/* A column's part: what word 2 is xored with before the third round; in the
 * third, words 1, 2, 3. */
typedef struct crn_diamond_square_column {
    uint32_t p, q, r, t;
} crn_diamond_square_column;

static __device__ __forceinline__ uint64_t crn_product(uint32_t a, uint32_t b)
{
    return (uint64_t)a * b;
}

static __device__ __forceinline__ crn_gpu_diamond_square_row
crn_diamond_square_row_of(const crn_gpu_diamond_square_keys &keys, int32_t level, int32_t j)
{
    uint32_t word = (uint32_t)(crn_product(CRN_PHILOX_FACTOR1, (uint32_t)level) >> 32);
    uint64_t a = crn_product(CRN_PHILOX_FACTOR0, word ^ (uint32_t)j ^ keys.round[0][0]);
    crn_gpu_diamond_square_row row = {(uint32_t)(a >> 32) ^ keys.round[1][1], (uint32_t)a};
    return row;
}

static __device__ __forceinline__ crn_diamond_square_column
crn_diamond_square_column_of(const crn_gpu_diamond_square_keys &keys, int32_t level,
                             crn_diamond_square_phase phase, int32_t group)
{
    uint64_t a = crn_product(CRN_PHILOX_FACTOR0, (uint32_t)group);
    uint64_t b =
        crn_product(CRN_PHILOX_FACTOR1, (uint32_t)(a >> 32) ^ (uint32_t)phase ^ keys.round[0][1]);
    uint32_t word = CRN_PHILOX_FACTOR1 * (uint32_t)level;
    uint64_t c = crn_product(CRN_PHILOX_FACTOR0, (uint32_t)(b >> 32) ^ word ^ keys.round[1][0]);
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
    uint64_t b = crn_product(CRN_PHILOX_FACTOR1, row.u ^ column.p);
    uint32_t x0 = (uint32_t)(b >> 32) ^ column.q, x1 = (uint32_t)b;
    uint32_t x2 = column.r ^ row.v, x3 = column.t;
#pragma unroll
    for (int round = 3; round < CRN_PHILOX_ROUNDS; round++) {
        uint64_t a = crn_product(CRN_PHILOX_FACTOR0, x0);
        b = crn_product(CRN_PHILOX_FACTOR1, x2);
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
template <crn_gpu_diamond_square_variant WAY>
static __device__ __forceinline__ float crn_diamond_square_scale(const crn_diamond_square_job &job,
                                                                 int32_t level)
{
    return WAY == CRN_DIAMOND_SQUARE_ANY ? job.amplitude[level] : job.scale[level];
}

/* The noise of a group, from its row and its column. */
template <crn_gpu_diamond_square_variant WAY>
static __device__ __forceinline__ void crn_diamond_square_group_noise(
    const crn_gpu_diamond_square_keys &keys, const crn_gpu_diamond_square_row &row,
    const crn_diamond_square_column &column, float scale, float (&noise)[4])
{
    uint32_t words[4];
    crn_diamond_square_words(keys, row, column, words);
#pragma unroll
    for (int e = 0; e < 4; e++) {
        float word = (float)(int32_t)words[e];
        noise[e] = scale * (WAY == CRN_DIAMOND_SQUARE_ANY ? word * 0x1p-31f : word);
    }
}

template <crn_gpu_diamond_square_variant WAY>
static __device__ __forceinline__ void
crn_diamond_square_noises(const crn_diamond_square_job &job, int32_t level,
                          crn_diamond_square_phase phase, int32_t group, int32_t j,
                          float (&noise)[4])
{
    crn_diamond_square_group_noise<WAY>(job.keys, crn_diamond_square_row_of(job.keys, level, j),
                                        crn_diamond_square_column_of(job.keys, level, phase, group),
                                        crn_diamond_square_scale<WAY>(job, level), noise);
}

/* Stands for a missing neighbour: adding it changes nothing. */
#define CRN_DIAMOND_SQUARE_NOTHING (-0.0f)

/*
 * The mean of four points, at the field's border of three, plus noise. A quarter of the sum is
 * exact unless below 2^-126; then the noise, which is 0 or at least 2^-95 except for ANY, alone
 * determines the result, with two roundings or with one. So a fused multiply-add gives the same
 * bytes.
 */
template <crn_gpu_diamond_square_variant WAY>
static __device__ __forceinline__ float crn_diamond_square_mean(float sum, bool is_border,
                                                                float noise)
{
    const float third = 1.0f / 3.0f;
    if (WAY == CRN_DIAMOND_SQUARE_ANY)
        return sum * (is_border ? third : 0.25f) + noise;
    if (is_border)
        sum *= third;
    return __fmaf_rn(sum, is_border ? 1.0f : 0.25f, noise);
}

#endif

/* Vectorised filters; compiled once per target. */
#include "stages/openmp/convolve/convolve.h"

#include <string.h>

typedef crn_floats vector;

/* Per target: how many vectors are computed side by side, and the operations that differ. Results
 * are clamped before conversion to integers, so that none overflows. */
#if defined(CRN_TARGET_avx512)

#define ACROSS 4

static inline vector fused(vector a, vector b, vector sum)
{
    return _mm512_fmadd_ps(a, b, sum);
}

static inline void store_u8(uint8_t *to, vector v)
{
    v = _mm512_min_ps(_mm512_max_ps(v, _mm512_setzero_ps()), _mm512_set1_ps(255));
    _mm_storeu_si128((__m128i *)(void *)to, _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v)));
}

#elif defined(CRN_TARGET_avx2)

#define ACROSS 2

static inline vector fused(vector a, vector b, vector sum)
{
    return _mm256_fmadd_ps(a, b, sum);
}

static inline void store_u8(uint8_t *to, vector v)
{
    v = _mm256_min_ps(_mm256_max_ps(v, _mm256_setzero_ps()), _mm256_set1_ps(255));
    __m256i whole = _mm256_cvtps_epi32(v);
    __m128i half =
        _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
    _mm_storel_epi64((__m128i *)(void *)to, _mm_packus_epi16(half, half));
}

#else

#define ACROSS 2

static inline vector fused(vector a, vector b, vector sum)
{
    return _mm_add_ps(_mm_mul_ps(a, b), sum);
}

static inline void store_u8(uint8_t *to, vector v)
{
    v = _mm_min_ps(_mm_max_ps(v, _mm_setzero_ps()), _mm_set1_ps(255));
    __m128i whole = _mm_cvtps_epi32(v);
    whole = _mm_packs_epi32(whole, whole);
    int32_t four = _mm_cvtsi128_si32(_mm_packus_epi16(whole, whole));
    memcpy(to, &four, sizeof four);
}

#endif

#define DOWN CRN_CONVOLVE_DOWN
#define WIDE (sizeof(vector) / sizeof(float))

/* Constant loops over vectors must be unrolled, or the vectors are kept in memory. */
#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

CRN_INLINE vector load(const float *from)
{
    vector v;
    memcpy(&v, from, sizeof v);
    return v;
}

CRN_INLINE vector all(float value)
{
    return CRN_MM(set1_ps)(value);
}

/* Accumulates one input row into output rows low to high; each uses a different row of the kernel,
 * and `row` is that of output row 0. */
CRN_INLINE void add_row(const crn_convolve_taps *taps, const float *from, int32_t row, int low,
                        int high, int across, vector sums[DOWN][ACROSS])
{
    const float *weights = taps->weights + (ptrdiff_t)(row - low) * taps->width;
    ptrdiff_t width = taps->width, step = taps->step;
    for (ptrdiff_t i = 0; i < width; i++, from += step) {
        vector pixels[ACROSS];
        UNROLL for (int v = 0; v < across; v++) pixels[v] = load(from + (size_t)v * WIDE);
        UNROLL for (int r = low; r <= high; r++)
        {
            vector weight = all(weights[i - (r - low) * width]);
            UNROLL for (int v = 0; v < across; v++) sums[r][v] =
                fused(pixels[v], weight, sums[r][v]);
        }
    }
}

/* add_row with compile-time constants for low and high; DOWN is 4 here. */
CRN_INLINE void add_row_to_some(const crn_convolve_taps *taps, const float *from, int32_t row,
                                int across, vector sums[DOWN][ACROSS])
{
    int low = row < taps->height ? 0 : row - taps->height + 1, high = row < DOWN ? row : DOWN - 1;
    switch (low * DOWN + high) {
#define CASE(l, h)                                                                                 \
    case (l)*DOWN + (h):                                                                           \
        add_row(taps, from, row, l, h, across, sums);                                              \
        break
        CASE(0, 0);
        CASE(0, 1);
        CASE(0, 2);
        CASE(0, 3);
        CASE(1, 1);
        CASE(1, 2);
        CASE(1, 3);
        CASE(2, 2);
        CASE(2, 3);
        CASE(3, 3);
#undef CASE
    }
}

/* Output rows, of u8 (`bytes`) or f32. */
typedef struct filter_output {
    void *const *rows;
    bool bytes;
} filter_output;

/* Stores a block; of one narrower than a vector only the first `count` results. */
CRN_INLINE void store_block(vector sums[DOWN][ACROSS], size_t x, int down, int across, size_t count,
                            filter_output out)
{
    UNROLL for (int r = 0; r < down; r++) UNROLL for (int v = 0; v < across; v++)
    {
        size_t at = x + (size_t)v * WIDE;
        if (out.bytes) {
            uint8_t few[WIDE], *to = (uint8_t *)out.rows[r] + at;
            store_u8(count < WIDE ? few : to, sums[r][v]);
            if (count < WIDE)
                memcpy(to, few, count);
        } else {
            memcpy((float *)out.rows[r] + at, &sums[r][v],
                   count < WIDE ? count * sizeof(float) : sizeof(vector));
        }
    }
}

/* Computes a block of `down` rows and `across` vectors. */
CRN_INLINE void filter_block(const crn_convolve_taps *taps, const float *const *rows, size_t x,
                             int down, int across, size_t count, filter_output out)
{
    vector sums[DOWN][ACROSS];
    UNROLL for (int r = 0; r < down; r++) UNROLL for (int v = 0; v < across; v++) sums[r][v] =
        all(0);
    for (int32_t row = 0; row < taps->height + down - 1; row++) {
        if (down == 1)
            add_row(taps, rows[row] + x, row, 0, 0, across, sums);
        else
            add_row_to_some(taps, rows[row] + x, row, across, sums);
    }
    store_block(sums, x, down, across, count, out);
}

/* filter_block for 3 x 3 kernels, with weights in registers. */
CRN_INLINE void filter_block_3(const vector weights[9], ptrdiff_t step, const float *const *rows,
                               size_t x, filter_output out)
{
    vector sums[DOWN][ACROSS];
    UNROLL for (int row = 0; row < DOWN + 2; row++) UNROLL for (int i = 0; i < 3; i++)
    {
        vector pixels[ACROSS];
        UNROLL for (int v = 0; v < ACROSS; v++) pixels[v] =
            load(rows[row] + x + i * step + (size_t)v * WIDE);
        UNROLL for (int r = 0; r < DOWN; r++)
        {
            if (r > row || row > r + 2)
                continue;
            UNROLL for (int v = 0; v < ACROSS; v++) sums[r][v] = fused(
                pixels[v], weights[(row - r) * 3 + i], row == r && i == 0 ? all(0) : sums[r][v]);
        }
    }
    store_block(sums, x, DOWN, ACROSS, WIDE, out);
}

CRN_INLINE void filter_rows_3(const crn_convolve_taps *taps, const float *const *rows, size_t count,
                              filter_output out)
{
    vector weights[9];
    UNROLL for (int i = 0; i < 9; i++) weights[i] = all(taps->weights[i]);
    size_t wide = ACROSS * WIDE, x = 0;
    for (; x + wide <= count; x += wide)
        filter_block_3(weights, taps->step, rows, x, out);
    if (x < count)
        filter_block_3(weights, taps->step, rows, count - wide, out);
}

/* The last block overlaps the previous one and recomputes some results, rather than be smaller. */
CRN_INLINE void filter_rows(const crn_convolve_taps *taps, const float *const *rows, size_t count,
                            int down, filter_output out)
{
    size_t wide = ACROSS * WIDE, x = 0;
    if (down == DOWN && taps->width == 3 && taps->height == 3 && count >= wide) {
        filter_rows_3(taps, rows, count, out);
        return;
    }
    if (count >= wide) {
        for (; x + wide <= count; x += wide)
            filter_block(taps, rows, x, down, ACROSS, WIDE, out);
        if (x < count)
            filter_block(taps, rows, count - wide, down, ACROSS, WIDE, out);
        return;
    }
    for (; x + WIDE <= count; x += WIDE)
        filter_block(taps, rows, x, down, 1, WIDE, out);
    if (x < count && count > WIDE)
        filter_block(taps, rows, count - WIDE, down, 1, WIDE, out);
    else if (x < count)
        filter_block(taps, rows, 0, down, 1, count, out);
}

static void to_f32(const crn_convolve_taps *taps, const float *const *rows, size_t count,
                   int32_t down, void *const *out)
{
    if (down == 1)
        filter_rows(taps, rows, count, 1, (filter_output){out, false});
    else
        filter_rows(taps, rows, count, DOWN, (filter_output){out, false});
}

static void to_u8(const crn_convolve_taps *taps, const float *const *rows, size_t count,
                  int32_t down, void *const *out)
{
    if (down == 1)
        filter_rows(taps, rows, count, 1, (filter_output){out, true});
    else
        filter_rows(taps, rows, count, DOWN, (filter_output){out, true});
}

static void widen(const uint8_t *restrict from, float *restrict to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = from[i];
}

const crn_convolve_filters CRN_TARGETED(crn_convolve_filters) = {to_f32, to_u8, widen};

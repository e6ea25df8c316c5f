/*
 * Columns variant, for larger windows. For every column of the picture, over the h pixels that the
 * windows of a row cover, it keeps the histograms of the upper and lower half and the score of each
 * value: score(v) = sum over its pixels q of sign(v - q). All are additive over columns, so a
 * window's quarters a, b, c and its score follow from its neighbour's by adding one column and
 * subtracting another, and AW is the inner product sum over v of a(v) score(v), the only sum over
 * values. From row to row a column changes by two pixels.
 */
#include <string.h>

#include "stages/openmp/ranklet/ranklet.h"

#define BYTES CRN_VECTOR_BYTES

typedef int16_t v16 __attribute__((vector_size(BYTES)));
typedef int32_t v32 __attribute__((vector_size(BYTES)));
typedef uint32_t u32 __attribute__((vector_size(BYTES)));
typedef int64_t v64 __attribute__((vector_size(BYTES)));
typedef uint8_t v8_half __attribute__((vector_size(BYTES / 2)));
typedef int8_t s8_half __attribute__((vector_size(BYTES / 2)));
typedef int16_t v16_half __attribute__((vector_size(BYTES / 2)));
typedef int32_t v32_half __attribute__((vector_size(BYTES / 2)));
typedef int32_t quad __attribute__((vector_size(16)));
typedef uint32_t quad_u32 __attribute__((vector_size(16)));

#define LANES16 (BYTES / 2)
#define LANES32 (BYTES / 4)

/* Vectors of values that stay in registers throughout a row. */
#define BLOCK16 (BYTES == 64 ? 4 : 2)
#define BLOCK32 2

/* Horizontal sums of three vectors. */
CRN_INLINE quad add_across(v32 a, v32 b, v32 c)
{
#if defined(CRN_TARGET_avx512)
    __m512i x = (__m512i)a, y = (__m512i)b, z = (__m512i)c;
    __m512i xy = _mm512_add_epi32(_mm512_unpacklo_epi32(x, y), _mm512_unpackhi_epi32(x, y));
    __m512i none = _mm512_setzero_si512();
    __m512i z0 = _mm512_add_epi32(_mm512_unpacklo_epi32(z, none), _mm512_unpackhi_epi32(z, none));
    __m512i all = _mm512_add_epi32(_mm512_unpacklo_epi64(xy, z0), _mm512_unpackhi_epi64(xy, z0));
    __m256i half = _mm256_add_epi32(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64(all, 1));
    return (quad)_mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
#elif defined(CRN_TARGET_avx2)
    __m256i xy = _mm256_hadd_epi32((__m256i)a, (__m256i)b);
    __m256i z0 = _mm256_hadd_epi32((__m256i)c, _mm256_setzero_si256());
    __m256i all = _mm256_hadd_epi32(xy, z0);
    return (quad)_mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
#else
    u32 x = (u32)a, y = (u32)b, z = (u32)c;
    return (quad)(quad_u32){x[0] + x[1] + x[2] + x[3], y[0] + y[1] + y[2] + y[3],
                            z[0] + z[1] + z[2] + z[3], 0};
#endif
}

/* Multiplies and adds adjacent pairs of products. */
CRN_INLINE v32 multiply16(v16 a, v16 b)
{
    return (v32)CRN_MM(madd_epi16)((crn_integers)a, (crn_integers)b);
}

CRN_INLINE v16 load_count8(const uint8_t *p)
{
    v8_half narrow;
    memcpy(&narrow, p, sizeof narrow);
    return __builtin_convertvector(narrow, v16);
}

CRN_INLINE v16 load_score8(const uint8_t *p)
{
    s8_half narrow;
    memcpy(&narrow, p, sizeof narrow);
    return __builtin_convertvector(narrow, v16);
}

CRN_INLINE v16 load_count16(const int16_t *p)
{
    v16 v;
    memcpy(&v, p, sizeof v);
    return v;
}

CRN_INLINE v32 load_count32(const int16_t *p)
{
    v16_half narrow;
    memcpy(&narrow, p, sizeof narrow);
    return __builtin_convertvector(narrow, v32);
}

/* --- a row of positions ----------------------------------------------------------------------- */

/* Sums of a block of values in 16 bits; `count` and `score` load a vector of a column's arrays. */
#define ROW_16(name, type, count, score)                                                           \
    static void name(const crn_ranklet_tile *tile, const type *columns, quad *sums)                \
    {                                                                                              \
        const ptrdiff_t size = 3 * (ptrdiff_t)tile->bins, lower = tile->bins;                      \
        const ptrdiff_t scores = 2 * (ptrdiff_t)tile->bins;                                        \
        const ptrdiff_t middle = tile->width / 2 * size, right = tile->width * size;               \
        v16 a[BLOCK16] = {{0}}, b[BLOCK16] = {{0}}, c[BLOCK16] = {{0}}, g[BLOCK16] = {{0}};        \
        for (const type *p = columns; p < columns + right; p += size)                              \
            for (int i = 0; i < BLOCK16; i++) {                                                    \
                v16 t = count(p + i * LANES16);                                                    \
                a[i] += p < columns + middle ? t : t - t;                                          \
                b[i] += p < columns + middle ? t - t : t;                                          \
                v16 u = count(p + lower + i * LANES16);                                            \
                c[i] += p < columns + middle ? u : u - u;                                          \
                g[i] += score(p + scores + i * LANES16);                                           \
            }                                                                                      \
        const type *p = columns;                                                                   \
        for (int32_t x = 0;; x++, p += size) {                                                     \
            v32 aw = {0}, bw = {0}, cw = {0};                                                      \
            for (int i = 0; i < BLOCK16; i++) {                                                    \
                aw += multiply16(a[i], g[i]);                                                      \
                bw += multiply16(b[i], g[i]);                                                      \
                cw += multiply16(c[i], g[i]);                                                      \
            }                                                                                      \
            sums[x] += add_across(aw, bw, cw);                                                     \
            if (x + 1 == tile->columns)                                                            \
                return;                                                                            \
            for (int i = 0; i < BLOCK16; i++) {                                                    \
                const type *q = p + i * LANES16;                                                   \
                v16 t = count(q + middle), u = count(q + lower + middle);                          \
                a[i] += t - count(q);                                                              \
                b[i] += count(q + right) - t;                                                      \
                c[i] += u - count(q + lower);                                                      \
                g[i] += score(q + scores + right) - score(q + scores);                             \
            }                                                                                      \
        }                                                                                          \
    }

ROW_16(row_8, uint8_t, load_count8, load_score8)
ROW_16(row_16, int16_t, load_count16, load_count16)

/* A window's counts and scores in 32 bits, and the step to its neighbour. */
typedef struct wide {
    v32 a[BLOCK32], b[BLOCK32], c[BLOCK32], g[BLOCK32];
} wide;

/* Initialises them for the first position; `p` is its first column. */
CRN_INLINE wide wide_start(const crn_ranklet_tile *tile, const int16_t *p)
{
    wide w = {.a = {{0}}};
    const ptrdiff_t bins = tile->bins;
    for (int32_t x = 0; x < tile->width; x++, p += 3 * bins)
        for (int i = 0; i < BLOCK32; i++) {
            v32 t = load_count32(p + i * LANES32), u = load_count32(p + bins + i * LANES32);
            if (x < tile->width / 2) {
                w.a[i] += t;
                w.c[i] += u;
            } else {
                w.b[i] += t;
            }
            w.g[i] += load_count32(p + 2 * bins + i * LANES32);
        }
    return w;
}

CRN_INLINE void wide_step(const crn_ranklet_tile *tile, const int16_t *p, ptrdiff_t middle,
                          ptrdiff_t right, wide *w)
{
    const ptrdiff_t lower = tile->bins, scores = 2 * (ptrdiff_t)tile->bins;
    for (int i = 0; i < BLOCK32; i++, p += LANES32) {
        v32 t = load_count32(p + middle), u = load_count32(p + lower + middle);
        w->a[i] += t - load_count32(p);
        w->b[i] += load_count32(p + right) - t;
        w->c[i] += u - load_count32(p + lower);
        w->g[i] += load_count32(p + scores + right) - load_count32(p + scores);
    }
}

/* Products of 32 bits in 64, adjacent ones added. */
CRN_INLINE v64 multiply32(v32 a, v32 b)
{
#if defined(CRN_TARGET_avx512)
    __m512i odd =
        _mm512_mul_epi32(_mm512_srli_epi64((__m512i)a, 32), _mm512_srli_epi64((__m512i)b, 32));
    return (v64)_mm512_add_epi64(_mm512_mul_epi32((__m512i)a, (__m512i)b), odd);
#elif defined(CRN_TARGET_avx2)
    __m256i odd =
        _mm256_mul_epi32(_mm256_srli_epi64((__m256i)a, 32), _mm256_srli_epi64((__m256i)b, 32));
    return (v64)_mm256_add_epi64(_mm256_mul_epi32((__m256i)a, (__m256i)b), odd);
#else
    return (v64){(int64_t)a[0] * b[0] + (int64_t)a[1] * b[1],
                 (int64_t)a[2] * b[2] + (int64_t)a[3] * b[3]};
#endif
}

static inline int64_t add_across64(v64 a)
{
    int64_t sum = 0;
    for (int i = 0; i < BYTES / 8; i++)
        sum += a[i];
    return sum;
}

/* Sums in 32 bits: complete, or modulo 2^32 with the first position's complete. */
static void row_32(const crn_ranklet_tile *tile, const int16_t *columns, quad *sums, int64_t *full)
{
    const ptrdiff_t size = 3 * (ptrdiff_t)tile->bins;
    wide w = wide_start(tile, columns);
    for (int i = 0; i < BLOCK32 && full; i++) {
        full[0] += add_across64(multiply32(w.a[i], w.g[i]));
        full[1] += add_across64(multiply32(w.b[i], w.g[i]));
        full[2] += add_across64(multiply32(w.c[i], w.g[i]));
    }
    for (int32_t x = 0;; x++, columns += size) {
        u32 aw = {0}, bw = {0}, cw = {0};
        for (int i = 0; i < BLOCK32; i++) {
            aw += (u32)w.a[i] * (u32)w.g[i];
            bw += (u32)w.b[i] * (u32)w.g[i];
            cw += (u32)w.c[i] * (u32)w.g[i];
        }
        sums[x] = (quad)((quad_u32)sums[x] + (quad_u32)add_across((v32)aw, (v32)bw, (v32)cw));
        if (x + 1 == tile->columns)
            return;
        wide_step(tile, columns, tile->width / 2 * size, tile->width * size, &w);
    }
}

static void row_64(const crn_ranklet_tile *tile, const int16_t *columns, int64_t (*sums)[4])
{
    const ptrdiff_t size = 3 * (ptrdiff_t)tile->bins;
    wide w = wide_start(tile, columns);
    for (int32_t x = 0;; x++, columns += size) {
        v64 aw = {0}, bw = {0}, cw = {0};
        for (int i = 0; i < BLOCK32; i++) {
            aw += multiply32(w.a[i], w.g[i]);
            bw += multiply32(w.b[i], w.g[i]);
            cw += multiply32(w.c[i], w.g[i]);
        }
        sums[x][0] += add_across64(aw);
        sums[x][1] += add_across64(bw);
        sums[x][2] += add_across64(cw);
        if (x + 1 == tile->columns)
            return;
        wide_step(tile, columns, tile->width / 2 * size, tile->width * size, &w);
    }
}

/* Scalar: one value after the other, for windows of any size. */
static void row_any(const crn_ranklet_tile *tile, const int64_t *columns, int64_t (*sums)[4])
{
    const ptrdiff_t size = 3 * (ptrdiff_t)tile->bins, lower = tile->bins;
    const ptrdiff_t middle = tile->width / 2 * size, right = tile->width * size;
    for (ptrdiff_t v = 0; v < tile->bins; v++) {
        const int64_t *p = columns + v;
        int64_t a = 0, b = 0, c = 0, g = 0;
        for (ptrdiff_t x = 0; x < right; x += size) {
            a += x < middle ? p[x] : 0;
            b += x < middle ? 0 : p[x];
            c += x < middle ? p[x + lower] : 0;
            g += p[x + 2 * lower];
        }
        for (int32_t x = 0;; x++, p += size) {
            sums[x][0] += a * g;
            sums[x][1] += b * g;
            sums[x][2] += c * g;
            if (x + 1 == tile->columns)
                break;
            a += p[middle] - p[0];
            b += p[right] - p[middle];
            c += p[lower + middle] - p[lower];
            g += p[2 * lower + right] - p[2 * lower];
        }
    }
}

void CRN_TARGETED(crn_ranklet_columns_row)(crn_ranklet_tile *tile, int32_t y)
{
    uint8_t *row = (uint8_t *)tile->sums + (size_t)y * crn_ranklet_sums_bytes(tile);
    int64_t *full = (int64_t *)(void *)row, (*sums64)[4] = (int64_t(*)[4])(void *)row;
    quad *sums = (quad *)(void *)(row + CRN_RANKLET_FULL_BYTES);
    const crn_ranklet_width width = tile->counts_width;
    const int block = width <= CRN_RANKLET_16 ? BLOCK16 * LANES16 : BLOCK32 * LANES32;
    if (width == CRN_RANKLET_ANY) {
        row_any(tile, tile->counts, sums64);
        return;
    }
    for (int32_t v = 0; v < tile->bins; v += block)
        if (width == CRN_RANKLET_8)
            row_8(tile, (const uint8_t *)tile->counts + v, sums);
        else if (width == CRN_RANKLET_16)
            row_16(tile, (const int16_t *)tile->counts + v, sums);
        else if (width == CRN_RANKLET_64)
            row_64(tile, (const int16_t *)tile->counts + v, sums64);
        else
            row_32(tile, (const int16_t *)tile->counts + v, sums,
                   width == CRN_RANKLET_WRAPPED ? full : NULL);
}

/* --- columns ---------------------------------------------------------------------------------- */

/* sign(k - 255): from index 255 - p on, the scores of the values 0 ... against p. */
static const int8_t steps8[512] = {[0 ... 254] = -1, [256 ... 511] = 1};
static const int16_t steps16[512] = {[0 ... 254] = -1, [256 ... 511] = 1};

/* Builds the columns of the first row of windows, and advances them to the next: type of counts,
 * type of scores, table of signs. */
#define COLUMNS(name, type, steps_type, steps)                                                     \
    static void name##_clip(const crn_ranklet_tile *tile, type *column)                            \
    {                                                                                              \
        if (tile->clipped)                                                                         \
            column[0] = column[tile->bins - 1] = column[tile->bins] = column[2 * tile->bins - 1] = \
                0;                                                                                 \
    }                                                                                              \
                                                                                                   \
    static void name##_start(const crn_ranklet_tile *tile)                                         \
    {                                                                                              \
        const ptrdiff_t bins = tile->bins, half = tile->height / 2 * tile->stride;                 \
        type *column = tile->counts;                                                               \
        for (int32_t x = 0; x < tile->columns + tile->width - 1; x++, column += 3 * bins) {        \
            if (crn_pace_over(tile->pace, tile->height + 3 * bins))                                \
                return;                                                                            \
            const uint8_t *p = (const uint8_t *)tile->codes + x;                                   \
            memset(column, 0, 3 * (size_t)bins * sizeof *column);                                  \
            for (int32_t y = 0; y < tile->height / 2; y++, p += tile->stride) {                    \
                column[*p]++;                                                                      \
                column[bins + p[half]]++;                                                          \
            }                                                                                      \
            int64_t score = -(int64_t)tile->height;                                                \
            for (ptrdiff_t v = 0; v < bins; v++) {                                                 \
                int64_t here = (int64_t)column[v] + column[bins + v];                              \
                column[2 * bins + v] = (type)(score + here);                                       \
                score += 2 * here;                                                                 \
            }                                                                                      \
            name##_clip(tile, column);                                                             \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void name##_advance(const crn_ranklet_tile *tile, int32_t y)                            \
    {                                                                                              \
        const ptrdiff_t bins = tile->bins;                                                         \
        const uint8_t *leaving = (const uint8_t *)tile->codes + y * tile->stride;                  \
        const uint8_t *middle = leaving + tile->height / 2 * tile->stride;                         \
        const uint8_t *entering = leaving + tile->height * tile->stride;                           \
        type *column = tile->counts;                                                               \
        for (int32_t x = 0; x < tile->columns + tile->width - 1; x++, column += 3 * bins) {        \
            column[leaving[x]]--;                                                                  \
            column[middle[x]]++;                                                                   \
            column[bins + middle[x]]--;                                                            \
            column[bins + entering[x]]++;                                                          \
            name##_clip(tile, column);                                                             \
            const steps_type *add = steps + 255 - entering[x], *take = steps + 255 - leaving[x];   \
            type *score = column + 2 * bins;                                                       \
            for (ptrdiff_t v = 0; v < bins; v++)                                                   \
                score[v] = (type)(score[v] + (type)(add[v] - take[v]));                            \
        }                                                                                          \
    }

COLUMNS(columns_8, uint8_t, int8_t, steps8)
COLUMNS(columns_16, int16_t, int16_t, steps16)
COLUMNS(columns_any, int64_t, int8_t, steps8)

void CRN_TARGETED(crn_ranklet_columns_start)(crn_ranklet_tile *tile, int32_t y)
{
    (void)y;
    if (tile->counts_width == CRN_RANKLET_8)
        columns_8_start(tile);
    else if (tile->counts_width == CRN_RANKLET_ANY)
        columns_any_start(tile);
    else
        columns_16_start(tile);
}

void CRN_TARGETED(crn_ranklet_columns_advance)(crn_ranklet_tile *tile, int32_t y)
{
    if (tile->counts_width == CRN_RANKLET_8)
        columns_8_advance(tile, y);
    else if (tile->counts_width == CRN_RANKLET_ANY)
        columns_any_advance(tile, y);
    else
        columns_16_advance(tile, y);
}

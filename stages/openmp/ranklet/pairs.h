/*
 * Pairs variant, for smaller windows and codes of 8 or 16 bits: a ranklet_pairs*_simd.c selects the
 * code type before it includes this.
 *
 * For two rows of pixels, `down` rows apart, and a displacement d along them, pairs(d) at (y, x) is
 * the sum of sign(p - q) over the column of half a window's height of pixels p from (y, x)
 * downwards, and as many q from (y + down, x + d). Moving down a row changes 2 (2 half - 1) of its
 * half^2 pairs, and all positions of a row are updated alike. A sum over two quarters, such as AB,
 * is the sum of pairs(d), each as often as the quarters have columns d apart.
 *
 * Quarters beside each other (AB, CD) need pairs with down = 0 and d from 1 to width - 1; all
 * others (AC, BD, AD, BC) pairs with down = half the height, and d from -(width - 1) to width - 1.
 */
#ifndef CRN_STAGES_OPENMP_RANKLET_PAIRS_H
#define CRN_STAGES_OPENMP_RANKLET_PAIRS_H

#include <string.h>

#include "stages/openmp/ranklet/ranklet.h"

#ifndef CRN_RANKLET_CODE
#define CRN_RANKLET_CODE int8_t  /* a code, and a sum over a pair of columns */
#define CRN_RANKLET_SUM  int16_t /* a sum over two quarters */
#define CRN_RANKLET_BITS 8
#endif

typedef CRN_RANKLET_CODE crn_code;
typedef CRN_RANKLET_SUM crn_pair_sum;
typedef crn_code crn_codes __attribute__((vector_size(CRN_VECTOR_BYTES)));
typedef crn_code crn_codes_half __attribute__((vector_size(CRN_VECTOR_BYTES / 2)));
typedef crn_pair_sum crn_pair_sums __attribute__((vector_size(CRN_VECTOR_BYTES)));
typedef int32_t crn_pair_results
    __attribute__((vector_size(CRN_VECTOR_BYTES / sizeof(crn_pair_sum) * 4)));

enum {
    CRN_CODES = CRN_VECTOR_BYTES / sizeof(crn_code),
    CRN_PAIR_SUMS = CRN_VECTOR_BYTES / sizeof(crn_pair_sum),
};

CRN_INLINE crn_codes crn_codes_load(const crn_code *p)
{
    crn_codes v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* to + sign(a - b) */
CRN_INLINE crn_codes crn_codes_compare(crn_codes to, crn_codes a, crn_codes b)
{
#if !defined(CRN_TARGET_avx512)
    return to - (crn_codes)(a > b) + (crn_codes)(b > a);
#elif CRN_RANKLET_BITS == 8
    const __m512i one = _mm512_set1_epi8(1);
    __m512i x = (__m512i)a, y = (__m512i)b, sum = (__m512i)to;
    sum = _mm512_mask_add_epi8(sum, _mm512_cmpgt_epi8_mask(x, y), sum, one);
    return (crn_codes)_mm512_mask_sub_epi8(sum, _mm512_cmpgt_epi8_mask(y, x), sum, one);
#else
    const __m512i one = _mm512_set1_epi16(1);
    __m512i x = (__m512i)a, y = (__m512i)b, sum = (__m512i)to;
    sum = _mm512_mask_add_epi16(sum, _mm512_cmpgt_epi16_mask(x, y), sum, one);
    return (crn_codes)_mm512_mask_sub_epi16(sum, _mm512_cmpgt_epi16_mask(y, x), sum, one);
#endif
}

/* Compares `half` pixels from p downwards with as many from q downwards. */
CRN_INLINE crn_codes crn_pairs_all(const crn_code *p, const crn_code *q, ptrdiff_t stride,
                                   int32_t half)
{
    crn_codes sum = {0};
    for (int32_t i = 0; i < half; i++) {
        crn_codes a = crn_codes_load(p + i * stride);
        for (int32_t j = 0; j < half; j++)
            sum = crn_codes_compare(sum, a, crn_codes_load(q + j * stride));
    }
    return sum;
}

/* Updates that sum from one row to the next: the pairs with the first pixel of p or q are removed,
 * those with the new last pixels are added. */
CRN_INLINE crn_codes crn_pairs_next(crn_codes sum, const crn_code *p, const crn_code *q,
                                    ptrdiff_t stride, int32_t half)
{
    crn_codes p_gone = crn_codes_load(p), q_gone = crn_codes_load(q);
    crn_codes p_come = crn_codes_load(p + half * stride);
    crn_codes q_come = crn_codes_load(q + half * stride);
    crn_codes more = {0}; /* two independent sums, to hide latency */
    sum = crn_codes_compare(sum, q_gone, p_gone);
    more = crn_codes_compare(more, p_come, q_come);
    for (int32_t i = 1; i < half; i++) {
        crn_codes a = crn_codes_load(p + i * stride), b = crn_codes_load(q + i * stride);
        sum = crn_codes_compare(sum, q_gone, a);
        more = crn_codes_compare(more, a, q_come);
        sum = crn_codes_compare(sum, b, p_gone);
        more = crn_codes_compare(more, p_come, b);
    }
    return sum + more;
}

/* For smaller halves, all pairs are fewer than those that change. */
#define CRN_PAIRS_HALF_NEXT 4

/* Computes pairs(d) of row y for all displacements, from scratch (`restart`) or from the previous
 * row. `pairs` is the row of displacement `first`. */
CRN_INLINE void crn_pairs_rows(const crn_ranklet_tile *tile, crn_code *pairs, int32_t first,
                               int32_t last, int32_t down, int32_t y, bool restart)
{
    const ptrdiff_t stride = tile->stride;
    const int32_t half = tile->height / 2, pixels = tile->columns + tile->width - 1;
    restart = restart || half < CRN_PAIRS_HALF_NEXT;
    const crn_code *row = (const crn_code *)tile->codes + (y - !restart) * stride;
    for (int32_t x = 0; x < pixels; x += CRN_CODES)
        for (int32_t d = first; d <= last; d++) {
            crn_code *to = pairs + (d - first) * tile->pairs_stride + x;
            const crn_code *p = row + x, *q = p + down * stride + d;
            crn_codes sum = restart ? crn_pairs_all(p, q, stride, half)
                                    : crn_pairs_next(crn_codes_load(to), p, q, stride, half);
            memcpy(to, &sum, sizeof sum);
        }
}

/* The sums at x over two quarters whose first columns are `apart` columns apart. `pairs` is the row
 * of displacement 0. */
CRN_INLINE crn_pair_sums crn_pairs_quarters(const crn_ranklet_tile *tile, const crn_code *pairs,
                                            int32_t apart, int32_t x)
{
    const int32_t half = tile->width / 2;
    crn_pair_sums sum = {0};
    for (int32_t k = 0; k < half; k++) {
        const crn_code *p = pairs + (apart - k) * tile->pairs_stride + x + k;
        for (int32_t l = 0; l < half; l++, p += tile->pairs_stride) {
            crn_codes_half narrow;
            memcpy(&narrow, p, sizeof narrow);
            sum += __builtin_convertvector(narrow, crn_pair_sums);
        }
    }
    return sum;
}

static inline crn_pair_sum *crn_pairs_ring(const crn_ranklet_tile *tile, int32_t y)
{
    return (crn_pair_sum *)tile->rings + y % (tile->height / 2 + 1) * tile->pairs_stride;
}

/* Rows of pairs: of quarters beside each other (down = 0), and of the others, at d = 0. */
static inline crn_code *crn_pairs_beside(const crn_ranklet_tile *tile)
{
    return tile->pairs;
}

static inline crn_code *crn_pairs_below(const crn_ranklet_tile *tile)
{
    return (crn_code *)tile->pairs + (2 * tile->width - 2) * tile->pairs_stride;
}

/* Computes row y of AB and stores it in its ring. */
CRN_INLINE void crn_pairs_ab(const crn_ranklet_tile *tile, int32_t y, bool restart)
{
    crn_code *pairs = crn_pairs_beside(tile);
    crn_pair_sum *ab = crn_pairs_ring(tile, y);
    crn_pairs_rows(tile, pairs, 1, tile->width - 1, 0, y, restart);
    for (int32_t x = 0; x < tile->columns; x += CRN_PAIR_SUMS) {
        crn_pair_sums sum =
            crn_pairs_quarters(tile, pairs - tile->pairs_stride, tile->width / 2, x);
        memcpy(ab + x, &sum, sizeof sum);
    }
}

/* `count` rounded up to whole vectors of `lanes` elements. */
static inline int32_t crn_pairs_whole(int32_t count, int32_t lanes)
{
    return (count + lanes - 1) / lanes * lanes;
}

/*
 * Clears the padding of rows, once per tile. The last vector of a row of sums reads past the last
 * position: up to a window's width into the rows of pairs, half of one into the row of AC, which is
 * further than they are written. The results there are not used, but a sum of uninitialised values
 * might overflow.
 */
static inline void crn_pairs_clear(const crn_ranklet_tile *tile)
{
    const int32_t half = tile->width / 2;
    const int32_t written = crn_pairs_whole(tile->columns + tile->width - 1, CRN_CODES);
    const int32_t sums = crn_pairs_whole(tile->columns, CRN_PAIR_SUMS);
    const int32_t ac_sums = crn_pairs_whole(tile->columns + half, CRN_PAIR_SUMS);
    const int32_t last = sums > ac_sums - half ? sums + tile->width : ac_sums + half;
    crn_code *pairs = tile->pairs;
    for (int32_t d = 0; d < 3 * tile->width - 2 && written < last; d++, pairs += tile->pairs_stride)
        memset(pairs + written, 0, (size_t)(last - written) * sizeof *pairs);
    crn_pair_sum *ac = (crn_pair_sum *)tile->rings + (tile->height / 2 + 1) * tile->pairs_stride;
    if (ac_sums < sums + half)
        memset(ac + ac_sums, 0, (size_t)(sums + half - ac_sums) * sizeof *ac);
}

/* Computes what row y depends on: CD is AB half a window further down. */
CRN_INLINE void crn_pairs_prepare(const crn_ranklet_tile *tile, int32_t y, bool restart)
{
    const int32_t last = tile->width - 1;
    if (restart)
        crn_pairs_clear(tile);
    if (restart)
        for (int32_t i = 0; i < tile->height / 2; i++)
            crn_pairs_ab(tile, y + i, i == 0);
    crn_pairs_ab(tile, y + tile->height / 2, false);
    crn_code *first = crn_pairs_below(tile) - last * tile->pairs_stride;
    crn_pairs_rows(tile, first, -last, last, tile->height / 2, y, restart);
}

/* Computes row y of all three sums. */
static inline void crn_pairs_sum(const crn_ranklet_tile *tile, int32_t y)
{
    const int32_t half = tile->width / 2;
    const crn_code *below = crn_pairs_below(tile);
    const crn_pair_sum *ab_row = crn_pairs_ring(tile, y);
    const crn_pair_sum *cd_row = crn_pairs_ring(tile, y + tile->height / 2);
    crn_pair_sum *ac_row =
        (crn_pair_sum *)tile->rings + (tile->height / 2 + 1) * tile->pairs_stride;
    for (int32_t x = 0; x < tile->columns + half; x += CRN_PAIR_SUMS) {
        crn_pair_sums ac = crn_pairs_quarters(tile, below, 0, x);
        memcpy(ac_row + x, &ac, sizeof ac);
    }
    int32_t *vertical = tile->result[0], *horizontal = tile->result[1];
    int32_t *diagonal = tile->result[2];
    for (int32_t x = 0; x < tile->columns; x += CRN_PAIR_SUMS) {
        crn_pair_sums ab, cd, ac, bd;
        crn_pair_sums ad = crn_pairs_quarters(tile, below, half, x);
        crn_pair_sums bc = crn_pairs_quarters(tile, below, -half, x + half);
        memcpy(&ab, ab_row + x, sizeof ab);
        memcpy(&cd, cd_row + x, sizeof cd);
        memcpy(&ac, ac_row + x, sizeof ac);
        memcpy(&bd, ac_row + x + half, sizeof bd);
        crn_pair_sums v = ab + cd + ad - bc, h = ac + bd + ad + bc, d = ab + ac - cd - bd;
        crn_pair_results results[3] = {__builtin_convertvector(v, crn_pair_results),
                                       __builtin_convertvector(h, crn_pair_results),
                                       __builtin_convertvector(d, crn_pair_results)};
        memcpy(vertical + x, &results[0], sizeof results[0]);
        memcpy(horizontal + x, &results[1], sizeof results[1]);
        memcpy(diagonal + x, &results[2], sizeof results[2]);
    }
}

#endif

/* Small rhombi, the disks of 3 and 5 pixels: runs are computed and merged in registers. */
#include "stages/openmp/morphology/vector.h"
#include "stages/openmp/simd.h"

#if defined(CRN_TARGET_avx512)
#define ROWS_AT_ONCE 8
#else
#define ROWS_AT_ONCE 4
#endif

_Static_assert(CRN_MORPHOLOGY_RHOMBUS_BLOCK % ROWS_AT_ONCE == 0, "blocks are made of whole groups");

#define RADIUS_MAX 2

/* Unless told, clang does not unroll these loops and keeps the results in memory. */
#if defined(__clang__)
#define UNROLL_FULLY _Pragma("clang loop unroll(full)")
#else
#define UNROLL_FULLY CRN_MORPHOLOGY_UNROLL
#endif

/* The vector `bytes` away from `row`, which begins at a cache line. A load that crosses a cache
 * line costs more than twice as much as one within a line, so it is assembled from two whole lines
 * if `bytes` is a compile-time constant. */
#if defined(CRN_TARGET_avx512)

#define SHIFTS true

#define FOR_1_TO_15(call)                                                                          \
    call(1) call(2) call(3) call(4) call(5) call(6) call(7) call(8) call(9) call(10) call(11)      \
        call(12) call(13) call(14) call(15)

#define SHIFT_WORDS(n)                                                                             \
    case n:                                                                                        \
        return _mm512_alignr_epi32(high, low, n);

#define SHIFT_BYTES(n)                                                                             \
    case n:                                                                                        \
        return _mm512_alignr_epi8(high, low, n);

/* 64 bytes of low:high, starting at byte 4 * `words`. */
CRN_INLINE vector shift_words(vector high, vector low, int32_t words)
{
    switch (words) {
        FOR_1_TO_15(SHIFT_WORDS)
    case 16:
        return high;
    default:
        return low;
    }
}

/* The same by bytes, within each 16 bytes. */
CRN_INLINE vector shift_bytes(vector high, vector low, int32_t bytes)
{
    switch (bytes) {
        FOR_1_TO_15(SHIFT_BYTES)
    default:
        return low;
    }
}

CRN_INLINE vector load_neighbour(const uint8_t *row, int32_t bytes)
{
    int32_t rest = (bytes + 4 * CRN_VECTOR_BYTES) % CRN_VECTOR_BYTES;
    vector low = crn_load_vector(row + bytes - rest);
    vector high = crn_load_vector(row + bytes - rest + CRN_VECTOR_BYTES);
    if (rest % 4 == 0)
        return shift_words(high, low, rest / 4);
    int32_t words = rest / 16 * 4;
    return shift_bytes(shift_words(high, low, words + 4), shift_words(high, low, words), rest % 16);
}

#else

#define SHIFTS false

CRN_INLINE vector load_neighbour(const uint8_t *row, int32_t bytes)
{
    return crn_load_vector(row + bytes);
}

#endif

/* Extremes of 1, 3 and 5 pixels centred on each; is_known: `unit` is a compile-time constant. */
CRN_INLINE void make_lengths(crn_morphology_kind kind, int32_t radius, bool is_known,
                             const uint8_t *row, ptrdiff_t unit, vector lengths[RADIUS_MAX + 1])
{
    lengths[0] = crn_load_vector(row);
    UNROLL_FULLY
    for (int32_t i = 1; i <= radius; i++) {
        vector left =
            is_known ? load_neighbour(row, (int32_t)(-i * unit)) : crn_load_vector(row - i * unit);
        vector right =
            is_known ? load_neighbour(row, (int32_t)(i * unit)) : crn_load_vector(row + i * unit);
        lengths[i] = extreme(kind, extreme(kind, lengths[i - 1], left), right);
    }
}

/* Merges row i into a result, one of i - 2 radius to i, in whose window it is `k` rows below
 * the top. */
CRN_INLINE void merge_one(crn_morphology_kind kind, int32_t radius, int32_t i, int32_t k,
                          const vector lengths[RADIUS_MAX + 1], vector v[ROWS_AT_ONCE])
{
    int32_t to = i - k;
    if (k > 2 * radius || to < 0 || to >= ROWS_AT_ONCE)
        return;
    vector one = lengths[k < radius ? k : 2 * radius - k];
    v[to] = k == 0 ? one : extreme(kind, v[to], one);
}

CRN_INLINE void rhombus_at(crn_morphology_kind kind, int32_t radius, bool is_known,
                           const uint8_t *const *rows, ptrdiff_t unit, size_t x,
                           vector v[ROWS_AT_ONCE])
{
    UNROLL_FULLY
    for (int32_t i = 0; i < ROWS_AT_ONCE + 2 * RADIUS_MAX; i++) {
        vector lengths[RADIUS_MAX + 1];
        if (i >= ROWS_AT_ONCE + 2 * radius)
            continue;
        make_lengths(kind, radius, is_known, rows[i] + x, unit, lengths);
        merge_one(kind, radius, i, 0, lengths, v);
        merge_one(kind, radius, i, 1, lengths, v);
        merge_one(kind, radius, i, 2, lengths, v);
        merge_one(kind, radius, i, 3, lengths, v);
        merge_one(kind, radius, i, 4, lengths, v);
    }
}

CRN_INLINE void rhombus_radius(crn_morphology_kind kind, int32_t radius, bool is_known,
                               void *const *to, const uint8_t *const *rows, ptrdiff_t unit,
                               size_t bytes)
{
    for (size_t x = 0; x < bytes; x += CRN_VECTOR_BYTES) {
        vector v[ROWS_AT_ONCE];
        rhombus_at(kind, radius, is_known, rows, unit, x, v);
        if (bytes - x >= CRN_VECTOR_BYTES) {
            UNROLL_FULLY
            for (int32_t i = 0; i < ROWS_AT_ONCE; i++)
                crn_store_vector((uint8_t *)to[i] + x, v[i]);
        } else {
            UNROLL_FULLY
            for (int32_t i = 0; i < ROWS_AT_ONCE; i++)
                store_part((uint8_t *)to[i] + x, v[i], bytes - x);
        }
    }
}

CRN_INLINE void rhombus_unit(crn_morphology_kind kind, int32_t radius, bool is_known,
                             void *const *to, const uint8_t *const *rows, ptrdiff_t unit,
                             size_t bytes)
{
    for (int32_t i = 0; i < CRN_MORPHOLOGY_RHOMBUS_BLOCK; i += ROWS_AT_ONCE) {
        if (radius == 1)
            rhombus_radius(kind, 1, is_known, to + i, rows + i, unit, bytes);
        else
            rhombus_radius(kind, 2, is_known, to + i, rows + i, unit, bytes);
    }
}

/* Specialised for 1, 3 and 12 planes, the most frequent ones. */
CRN_INLINE void rhombus_kind(crn_morphology_kind kind, int32_t radius, void *const *to,
                             const uint8_t *const *rows, ptrdiff_t unit, size_t bytes)
{
    const ptrdiff_t one = crn_morphology_is_f32(kind) ? sizeof(float) : sizeof(uint8_t);
    if (SHIFTS && unit == one)
        rhombus_unit(kind, radius, true, to, rows, one, bytes);
    else if (SHIFTS && unit == 3 * one)
        rhombus_unit(kind, radius, true, to, rows, 3 * one, bytes);
    else if (SHIFTS && unit == 12 * one)
        rhombus_unit(kind, radius, true, to, rows, 12 * one, bytes);
    else
        rhombus_unit(kind, radius, false, to, rows, unit, bytes);
}

void CRN_TARGETED(crn_morphology_rhombus)(crn_morphology_kind kind, int32_t radius, void *const *to,
                                          const void *const *rows, size_t unit, size_t bytes)
{
    CRN_MORPHOLOGY_FOR_EACH_KIND(kind, rhombus_kind, radius, to, (const uint8_t *const *)rows,
                                 (ptrdiff_t)unit, bytes)
}

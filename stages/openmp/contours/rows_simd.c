/* Thresholding: a row of elements becomes a row of bits, 64 at a time; compiled once per target. */
#include "stages/openmp/contours/contours.h"

#include <string.h>

#include "stages/openmp/simd.h"

/* Each target compares 64 elements with their thresholds. Halves are compared as integers with the
 * same order, u16 with the sign bit flipped; thresholds are converted in the same
 * way (contours.c). */
#if defined(CRN_TARGET_avx512)

static inline uint64_t inside_f32(const float *v, const float *t, bool *nan)
{
    __m512 v0 = _mm512_loadu_ps(v), v1 = _mm512_loadu_ps(v + 16);
    __m512 v2 = _mm512_loadu_ps(v + 32), v3 = _mm512_loadu_ps(v + 48);
    uint64_t m0 = _mm512_cmp_ps_mask(v0, _mm512_loadu_ps(t), _CMP_GT_OQ);
    uint64_t m1 = _mm512_cmp_ps_mask(v1, _mm512_loadu_ps(t + 16), _CMP_GT_OQ);
    uint64_t m2 = _mm512_cmp_ps_mask(v2, _mm512_loadu_ps(t + 32), _CMP_GT_OQ);
    uint64_t m3 = _mm512_cmp_ps_mask(v3, _mm512_loadu_ps(t + 48), _CMP_GT_OQ);
    /* The unordered comparison is true if either is NaN. */
    __mmask16 n0 = _mm512_cmp_ps_mask(v0, v1, _CMP_UNORD_Q);
    __mmask16 n1 = _mm512_cmp_ps_mask(v2, v3, _CMP_UNORD_Q);
    *nan |= !_kortestz_mask16_u8(n0, n1);
    return m0 | m1 << 16 | m2 << 32 | m3 << 48;
}

static inline uint64_t inside_u8(const uint8_t *v, const uint8_t *t)
{
    return _mm512_cmpgt_epu8_mask(_mm512_loadu_si512(v), _mm512_loadu_si512(t));
}

static inline __m512i ordered_half(__m512i h)
{
    __m512i negative = _mm512_srai_epi16(h, 15);
    return _mm512_xor_si512(h, _mm512_and_si512(negative, _mm512_set1_epi16(0x7fff)));
}

static inline uint64_t inside_i16(const int16_t *v, const int16_t *t, bool half, bool *nan)
{
    uint64_t bits = 0;
    for (int i = 0; i < 2; i++) {
        __m512i x = _mm512_loadu_si512(v + 32 * i);
        if (half) {
            __m512i magnitude = _mm512_and_si512(x, _mm512_set1_epi16(0x7fff));
            *nan |= _mm512_cmpgt_epi16_mask(magnitude, _mm512_set1_epi16(0x7c00)) != 0;
        }
        x = half ? ordered_half(x) : _mm512_xor_si512(x, _mm512_set1_epi16(INT16_MIN));
        bits |= (uint64_t)_mm512_cmpgt_epi16_mask(x, _mm512_loadu_si512(t + 32 * i)) << 32 * i;
    }
    return bits;
}

static inline uint64_t nan_f32(const float *v)
{
    uint64_t bits = 0;
    for (int i = 0; i < 4; i++) {
        __m512 x = _mm512_loadu_ps(v + 16 * i);
        bits |= (uint64_t)_mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q) << 16 * i;
    }
    return bits;
}

#else

#define FLOATS (CRN_VECTOR_BYTES / 4)

#if defined(CRN_TARGET_avx2)
#define greater(a, b)      _mm256_cmp_ps(a, b, _CMP_GT_OQ)
#define is_unordered(a, b) _mm256_cmp_ps(a, b, _CMP_UNORD_Q)
/* Packing works within 128-bit halves; the permutation restores the order. */
#define pack(a, b)         _mm256_permute4x64_epi64(_mm256_packs_epi16(a, b), 0xd8)
#else
#define greater(a, b)      _mm_cmpgt_ps(a, b)
#define is_unordered(a, b) _mm_cmpunord_ps(a, b)
#define pack(a, b)         _mm_packs_epi16(a, b)
#endif

static inline uint64_t inside_f32(const float *v, const float *t, bool *nan)
{
    uint64_t bits = 0;
    crn_floats unordered = CRN_MM(setzero_ps)();
    for (int i = 0; i < 64 / FLOATS; i += 2) {
        crn_floats v0 = CRN_MM(loadu_ps)(v + FLOATS * i);
        crn_floats v1 = CRN_MM(loadu_ps)(v + FLOATS * i + FLOATS);
        crn_floats m0 = greater(v0, CRN_MM(loadu_ps)(t + FLOATS * i));
        crn_floats m1 = greater(v1, CRN_MM(loadu_ps)(t + FLOATS * i + FLOATS));
        /* The unordered comparison is true if either is NaN. */
        unordered = CRN_MM(or_ps)(unordered, is_unordered(v0, v1));
        bits |= (uint64_t)(uint32_t)CRN_MM(movemask_ps)(m0) << FLOATS * i;
        bits |= (uint64_t)(uint32_t)CRN_MM(movemask_ps)(m1) << (FLOATS * i + FLOATS);
    }
    *nan |= CRN_MM(movemask_ps)(unordered) != 0;
    return bits;
}

static inline uint64_t inside_u8(const uint8_t *v, const uint8_t *t)
{
    uint64_t bits = 0;
    const crn_integers flip = CRN_MM(set1_epi8)(INT8_MIN);
    for (int i = 0; i < 64 / CRN_VECTOR_BYTES; i++) {
        crn_integers x = CRN_SI(loadu)((const void *)(v + CRN_VECTOR_BYTES * i));
        crn_integers y = CRN_SI(loadu)((const void *)(t + CRN_VECTOR_BYTES * i));
        x = CRN_MM(cmpgt_epi8)(CRN_SI(xor)(x, flip), CRN_SI(xor)(y, flip));
        bits |= (uint64_t)(uint32_t)CRN_MM(movemask_epi8)(x) << CRN_VECTOR_BYTES * i;
    }
    return bits;
}

static inline uint64_t inside_i16(const int16_t *v, const int16_t *t, bool half, bool *nan)
{
    uint64_t bits = 0;
    crn_integers over = CRN_SI(setzero)();
    for (int i = 0; i < 64 / CRN_VECTOR_BYTES; i++) {
        crn_integers above[2];
        for (int k = 0; k < 2; k++) {
            const int at = CRN_VECTOR_BYTES * i + CRN_VECTOR_BYTES / 2 * k;
            crn_integers x = CRN_SI(loadu)((const void *)(v + at));
            crn_integers y = CRN_SI(loadu)((const void *)(t + at));
            if (half) {
                crn_integers magnitude = CRN_SI(and)(x, CRN_MM(set1_epi16)(0x7fff));
                crn_integers is_nan = CRN_MM(cmpgt_epi16)(magnitude, CRN_MM(set1_epi16)(0x7c00));
                over = CRN_SI(or)(over, is_nan);
                crn_integers negative = CRN_MM(srai_epi16)(x, 15);
                x = CRN_SI(xor)(x, CRN_MM(srli_epi16)(negative, 1));
            } else {
                x = CRN_SI(xor)(x, CRN_MM(set1_epi16)(INT16_MIN));
            }
            above[k] = CRN_MM(cmpgt_epi16)(x, y);
        }
        crn_integers packed = pack(above[0], above[1]);
        bits |= (uint64_t)(uint32_t)CRN_MM(movemask_epi8)(packed) << CRN_VECTOR_BYTES * i;
    }
    *nan |= CRN_MM(movemask_epi8)(over) != 0;
    return bits;
}

static inline uint64_t nan_f32(const float *v)
{
    uint64_t bits = 0;
    for (int i = 0; i < 64 / FLOATS; i++) {
        crn_floats x = CRN_MM(loadu_ps)(v + FLOATS * i);
        bits |= (uint64_t)(uint32_t)CRN_MM(movemask_ps)(is_unordered(x, x)) << FLOATS * i;
    }
    return bits;
}

#endif

/* Left to the compiler's vectorisation. */
static inline uint64_t inside_f64(const double *v, const double *t, bool *nan)
{
    uint64_t bits = 0;
    int unordered = 0;
    for (int i = 0; i < 64; i++) {
        bits |= (uint64_t)(v[i] > t[i]) << i;
        unordered |= v[i] != v[i];
    }
    *nan |= unordered != 0;
    return bits;
}

static inline uint64_t inside_64(crn_type type, const void *v, const void *t, bool *nan)
{
    switch (type) {
    case CRN_U8:
        return inside_u8(v, t);
    case CRN_U16:
        return inside_i16(v, t, false, nan);
    case CRN_F16:
        return inside_i16(v, t, true, nan);
    case CRN_F32:
        break;
    case CRN_F64:
        return inside_f64(v, t, nan);
    }
    return inside_f32(v, t, nan);
}

CRN_INLINE bool inside_row(const crn_contours_job *job, crn_type type, const uint8_t *row,
                           uint64_t *bits)
{
    size_t elements = (size_t)job->image.width * job->channels, size = crn_type_bytes(type);
    const uint8_t *threshold = job->threshold;
    size_t step = job->threshold_step * size, blocks = elements / 64, rest = elements % 64;
    bool nan = false;
    for (size_t i = 0; i < blocks; i++) {
        /* Prefetches the next row, which the hardware prefetcher does not do during this one. */
        for (size_t k = 0; k < size; k++)
            __builtin_prefetch((const void *)((uintptr_t)row + (i + 8) * 64 * size + 64 * k));
        bits[i] = inside_64(type, row + i * 64 * size, threshold + i * step, &nan);
    }
    for (size_t i = blocks; i < job->words; i++)
        bits[i] = 0;
    if (rest) {
        /* Nothing past the row is read: it may be the end of the caller's memory. Zeros replace it,
         * as outside of a closed border; with an open border no cell there is used. */
        _Alignas(8) uint8_t block[64 * 8] = {0};
        memcpy(block, row + blocks * 64 * size, rest * size);
        bits[blocks] = inside_64(type, block, threshold + blocks * step, &nan);
    }
    return nan;
}

bool CRN_TARGETED(crn_contours_row_inside)(const crn_contours_job *job, const void *row,
                                           uint64_t *bits)
{
    switch (job->image.type) {
    case CRN_U8:
        return inside_row(job, CRN_U8, row, bits);
    case CRN_U16:
        return inside_row(job, CRN_U16, row, bits);
    case CRN_F16:
        return inside_row(job, CRN_F16, row, bits);
    case CRN_F32:
        break;
    case CRN_F64:
        return inside_row(job, CRN_F64, row, bits);
    }
    return inside_row(job, CRN_F32, row, bits);
}

/* Rare, so left to the compiler's vectorisation, as the next one. */
static uint64_t nan_f16(const uint16_t *v, size_t count)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < count; i++)
        bits |= (uint64_t)((v[i] & 0x7fff) > 0x7c00) << i;
    return bits;
}

static uint64_t nan_f64(const double *v, size_t count)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < count; i++)
        bits |= (uint64_t)(v[i] != v[i]) << i;
    return bits;
}

void CRN_TARGETED(crn_contours_row_nan)(const crn_contours_job *job, const void *row,
                                        uint64_t *bits)
{
    size_t elements = (size_t)job->image.width * job->channels,
           size = crn_type_bytes(job->image.type);
    for (size_t word = 0, at = 0; word < job->words; word++, at += 64) {
        size_t count = at >= elements ? 0 : elements - at < 64 ? elements - at : 64;
        const uint8_t *from = (const uint8_t *)row + at * size;
        bits[word] = 0;
        if (job->image.type == CRN_F16) {
            bits[word] = nan_f16((const uint16_t *)(const void *)from, count);
        } else if (job->image.type == CRN_F64) {
            bits[word] = nan_f64((const double *)(const void *)from, count);
        } else if (job->image.type == CRN_F32 && count) {
            float block[64] = {0};
            memcpy(block, from, count * size);
            bits[word] = nan_f32(block);
        }
    }
}

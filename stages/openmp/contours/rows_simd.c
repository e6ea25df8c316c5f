/* Thresholding: a row of elements becomes a row of bits, 64 at a time; compiled once per target. */
#include "stages/openmp/contours/contours.h"

#include <string.h>

#include <immintrin.h>

/* Each target compares 64 elements with their thresholds. Halves are compared as integers with the
 * same order, u16 with the sign bit flipped; thresholds are converted in the same
 * way (contours.c). */
#if defined(CRN_TARGET_avx512)

#define row_inside crn_contours_row_inside_avx512
#define row_nan    crn_contours_row_nan_avx512

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

#elif defined(CRN_TARGET_avx2)

#define row_inside crn_contours_row_inside_avx2
#define row_nan    crn_contours_row_nan_avx2

static inline uint64_t inside_f32(const float *v, const float *t, bool *nan)
{
    uint64_t bits = 0;
    __m256 unordered = _mm256_setzero_ps();
    for (int i = 0; i < 8; i += 2) {
        __m256 v0 = _mm256_loadu_ps(v + 8 * i), v1 = _mm256_loadu_ps(v + 8 * i + 8);
        __m256 m0 = _mm256_cmp_ps(v0, _mm256_loadu_ps(t + 8 * i), _CMP_GT_OQ);
        __m256 m1 = _mm256_cmp_ps(v1, _mm256_loadu_ps(t + 8 * i + 8), _CMP_GT_OQ);
        /* The unordered comparison is true if either is NaN. */
        unordered = _mm256_or_ps(unordered, _mm256_cmp_ps(v0, v1, _CMP_UNORD_Q));
        bits |= (uint64_t)(uint32_t)_mm256_movemask_ps(m0) << 8 * i;
        bits |= (uint64_t)(uint32_t)_mm256_movemask_ps(m1) << (8 * i + 8);
    }
    *nan |= _mm256_movemask_ps(unordered) != 0;
    return bits;
}

static inline uint64_t inside_u8(const uint8_t *v, const uint8_t *t)
{
    uint64_t bits = 0;
    const __m256i flip = _mm256_set1_epi8(INT8_MIN);
    for (int i = 0; i < 2; i++) {
        __m256i x = _mm256_loadu_si256((const __m256i *)(v + 32 * i));
        __m256i y = _mm256_loadu_si256((const __m256i *)(t + 32 * i));
        x = _mm256_cmpgt_epi8(_mm256_xor_si256(x, flip), _mm256_xor_si256(y, flip));
        bits |= (uint64_t)(uint32_t)_mm256_movemask_epi8(x) << 32 * i;
    }
    return bits;
}

static inline uint64_t inside_i16(const int16_t *v, const int16_t *t, bool half, bool *nan)
{
    uint64_t bits = 0;
    __m256i over = _mm256_setzero_si256();
    for (int i = 0; i < 2; i++) {
        __m256i greater[2];
        for (int k = 0; k < 2; k++) {
            __m256i x = _mm256_loadu_si256((const __m256i *)(v + 32 * i + 16 * k));
            __m256i y = _mm256_loadu_si256((const __m256i *)(t + 32 * i + 16 * k));
            if (half) {
                __m256i magnitude = _mm256_and_si256(x, _mm256_set1_epi16(0x7fff));
                __m256i is_nan = _mm256_cmpgt_epi16(magnitude, _mm256_set1_epi16(0x7c00));
                over = _mm256_or_si256(over, is_nan);
                __m256i negative = _mm256_srai_epi16(x, 15);
                x = _mm256_xor_si256(x, _mm256_srli_epi16(negative, 1));
            } else {
                x = _mm256_xor_si256(x, _mm256_set1_epi16(INT16_MIN));
            }
            greater[k] = _mm256_cmpgt_epi16(x, y);
        }
        /* Packing works within 128-bit halves; the permutation restores the order. */
        __m256i packed = _mm256_packs_epi16(greater[0], greater[1]);
        packed = _mm256_permute4x64_epi64(packed, 0xd8);
        bits |= (uint64_t)(uint32_t)_mm256_movemask_epi8(packed) << 32 * i;
    }
    *nan |= _mm256_movemask_epi8(over) != 0;
    return bits;
}

static inline uint64_t nan_f32(const float *v)
{
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++) {
        __m256 x = _mm256_loadu_ps(v + 8 * i);
        x = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
        bits |= (uint64_t)(uint32_t)_mm256_movemask_ps(x) << 8 * i;
    }
    return bits;
}

#else

#define row_inside crn_contours_row_inside_baseline
#define row_nan    crn_contours_row_nan_baseline

static inline uint64_t inside_f32(const float *v, const float *t, bool *nan)
{
    uint64_t bits = 0;
    __m128 unordered = _mm_setzero_ps();
    for (int i = 0; i < 16; i += 2) {
        __m128 v0 = _mm_loadu_ps(v + 4 * i), v1 = _mm_loadu_ps(v + 4 * i + 4);
        __m128 m0 = _mm_cmpgt_ps(v0, _mm_loadu_ps(t + 4 * i));
        __m128 m1 = _mm_cmpgt_ps(v1, _mm_loadu_ps(t + 4 * i + 4));
        /* The unordered comparison is true if either is NaN. */
        unordered = _mm_or_ps(unordered, _mm_cmpunord_ps(v0, v1));
        bits |= (uint64_t)(uint32_t)_mm_movemask_ps(m0) << 4 * i;
        bits |= (uint64_t)(uint32_t)_mm_movemask_ps(m1) << (4 * i + 4);
    }
    *nan |= _mm_movemask_ps(unordered) != 0;
    return bits;
}

static inline uint64_t inside_u8(const uint8_t *v, const uint8_t *t)
{
    uint64_t bits = 0;
    const __m128i flip = _mm_set1_epi8(INT8_MIN);
    for (int i = 0; i < 4; i++) {
        __m128i x = _mm_loadu_si128((const __m128i *)(v + 16 * i));
        __m128i y = _mm_loadu_si128((const __m128i *)(t + 16 * i));
        x = _mm_cmpgt_epi8(_mm_xor_si128(x, flip), _mm_xor_si128(y, flip));
        bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(x) << 16 * i;
    }
    return bits;
}

static inline uint64_t inside_i16(const int16_t *v, const int16_t *t, bool half, bool *nan)
{
    uint64_t bits = 0;
    __m128i over = _mm_setzero_si128();
    for (int i = 0; i < 4; i++) {
        __m128i greater[2];
        for (int k = 0; k < 2; k++) {
            __m128i x = _mm_loadu_si128((const __m128i *)(v + 16 * i + 8 * k));
            __m128i y = _mm_loadu_si128((const __m128i *)(t + 16 * i + 8 * k));
            if (half) {
                __m128i magnitude = _mm_and_si128(x, _mm_set1_epi16(0x7fff));
                __m128i is_nan = _mm_cmpgt_epi16(magnitude, _mm_set1_epi16(0x7c00));
                over = _mm_or_si128(over, is_nan);
                __m128i negative = _mm_srai_epi16(x, 15);
                x = _mm_xor_si128(x, _mm_srli_epi16(negative, 1));
            } else {
                x = _mm_xor_si128(x, _mm_set1_epi16(INT16_MIN));
            }
            greater[k] = _mm_cmpgt_epi16(x, y);
        }
        __m128i packed = _mm_packs_epi16(greater[0], greater[1]);
        bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(packed) << 16 * i;
    }
    *nan |= _mm_movemask_epi8(over) != 0;
    return bits;
}

static inline uint64_t nan_f32(const float *v)
{
    uint64_t bits = 0;
    for (int i = 0; i < 16; i++) {
        __m128 x = _mm_loadu_ps(v + 4 * i);
        bits |= (uint64_t)(uint32_t)_mm_movemask_ps(_mm_cmpunord_ps(x, x)) << 4 * i;
    }
    return bits;
}

#endif

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
    }
    return inside_f32(v, t, nan);
}

static inline __attribute__((always_inline)) bool
inside_row(const crn_contours_job *job, crn_type type, const uint8_t *row, uint64_t *bits)
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
        uint8_t block[64 * 4] = {0};
        memcpy(block, row + blocks * 64 * size, rest * size);
        bits[blocks] = inside_64(type, block, threshold + blocks * step, &nan);
    }
    return nan;
}

bool row_inside(const crn_contours_job *job, const void *row, uint64_t *bits)
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
    }
    return inside_row(job, CRN_F32, row, bits);
}

/* Rare, so left to the compiler's vectorisation. */
static uint64_t nan_f16(const uint16_t *v, size_t count)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < count; i++)
        bits |= (uint64_t)((v[i] & 0x7fff) > 0x7c00) << i;
    return bits;
}

void row_nan(const crn_contours_job *job, const void *row, uint64_t *bits)
{
    size_t elements = (size_t)job->image.width * job->channels,
           size = crn_type_bytes(job->image.type);
    for (size_t word = 0, at = 0; word < job->words; word++, at += 64) {
        size_t count = at >= elements ? 0 : elements - at < 64 ? elements - at : 64;
        const uint8_t *from = (const uint8_t *)row + at * size;
        bits[word] = 0;
        if (job->image.type == CRN_F16) {
            bits[word] = nan_f16((const uint16_t *)(const void *)from, count);
        } else if (job->image.type == CRN_F32 && count) {
            float block[64] = {0};
            memcpy(block, from, count * size);
            bits[word] = nan_f32(block);
        }
    }
}

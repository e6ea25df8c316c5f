/* Vector type and operations of morphology, per target. Only for its *_simd.c files. */
#ifndef CRN_STAGES_OPENMP_MORPHOLOGY_VECTOR_H
#define CRN_STAGES_OPENMP_MORPHOLOGY_VECTOR_H

#include <math.h>
#include <string.h>

#include <immintrin.h>

#include "stages/openmp/morphology/morphology.h"
#include "stages/openmp/simd.h"

#if defined(__GNUC__) && !defined(__clang__)
#define CRN_MORPHOLOGY_UNROLL _Pragma("GCC unroll 16")
#else
#define CRN_MORPHOLOGY_UNROLL
#endif

/* Each target defines a vector type and its operations. Of two floats the first is used only if it
 * is less (greater) than the second, so a NaN as first operand is never used. */
#if defined(CRN_TARGET_avx512)

typedef __m512i vector;
#define CRN_MORPHOLOGY_VECTOR_BYTES  64
#define CRN_MORPHOLOGY_STACK_MAX     16 /* output rows in registers */
#define CRN_MORPHOLOGY_MERGE_AT_ONCE 8  /* vectors */
#define crn_load_vector(p)           _mm512_loadu_si512(p)
#define crn_store_vector(p, v)       _mm512_storeu_si512(p, v)
#define crn_min_u8(a, b)             _mm512_min_epu8(a, b)
#define crn_max_u8(a, b)             _mm512_max_epu8(a, b)
#define crn_add_u8(a, b)             _mm512_adds_epu8(a, b)
#define crn_sub_u8(a, b)             _mm512_subs_epu8(a, b)
#define crn_set1_u8(value)           _mm512_set1_epi8((char)(value))
#define crn_floats(v)                _mm512_castsi512_ps(v)
#define crn_bits(v)                  _mm512_castps_si512(v)
#define crn_min_f32(a, b)            crn_bits(_mm512_min_ps(crn_floats(a), crn_floats(b)))
#define crn_max_f32(a, b)            crn_bits(_mm512_max_ps(crn_floats(a), crn_floats(b)))
#define crn_add_f32(a, b)            crn_bits(_mm512_add_ps(crn_floats(a), crn_floats(b)))
#define crn_set1_f32(value)          crn_bits(_mm512_set1_ps(value))

#elif defined(CRN_TARGET_avx2)

typedef __m256i vector;
#define CRN_MORPHOLOGY_VECTOR_BYTES  32
#define CRN_MORPHOLOGY_STACK_MAX     8
#define CRN_MORPHOLOGY_MERGE_AT_ONCE 4
#define crn_load_vector(p)           _mm256_loadu_si256((const __m256i *)(p))
#define crn_store_vector(p, v)       _mm256_storeu_si256((__m256i *)(p), v)
#define crn_min_u8(a, b)             _mm256_min_epu8(a, b)
#define crn_max_u8(a, b)             _mm256_max_epu8(a, b)
#define crn_add_u8(a, b)             _mm256_adds_epu8(a, b)
#define crn_sub_u8(a, b)             _mm256_subs_epu8(a, b)
#define crn_set1_u8(value)           _mm256_set1_epi8((char)(value))
#define crn_floats(v)                _mm256_castsi256_ps(v)
#define crn_bits(v)                  _mm256_castps_si256(v)
#define crn_min_f32(a, b)            crn_bits(_mm256_min_ps(crn_floats(a), crn_floats(b)))
#define crn_max_f32(a, b)            crn_bits(_mm256_max_ps(crn_floats(a), crn_floats(b)))
#define crn_add_f32(a, b)            crn_bits(_mm256_add_ps(crn_floats(a), crn_floats(b)))
#define crn_set1_f32(value)          crn_bits(_mm256_set1_ps(value))

#else

typedef __m128i vector;
#define CRN_MORPHOLOGY_VECTOR_BYTES  16
#define CRN_MORPHOLOGY_STACK_MAX     8
#define CRN_MORPHOLOGY_MERGE_AT_ONCE 4
#define crn_load_vector(p)           _mm_loadu_si128((const __m128i *)(p))
#define crn_store_vector(p, v)       _mm_storeu_si128((__m128i *)(p), v)
#define crn_min_u8(a, b)             _mm_min_epu8(a, b)
#define crn_max_u8(a, b)             _mm_max_epu8(a, b)
#define crn_add_u8(a, b)             _mm_adds_epu8(a, b)
#define crn_sub_u8(a, b)             _mm_subs_epu8(a, b)
#define crn_set1_u8(value)           _mm_set1_epi8((char)(value))
#define crn_floats(v)                _mm_castsi128_ps(v)
#define crn_bits(v)                  _mm_castps_si128(v)
#define crn_min_f32(a, b)            crn_bits(_mm_min_ps(crn_floats(a), crn_floats(b)))
#define crn_max_f32(a, b)            crn_bits(_mm_max_ps(crn_floats(a), crn_floats(b)))
#define crn_add_f32(a, b)            crn_bits(_mm_add_ps(crn_floats(a), crn_floats(b)))
#define crn_set1_f32(value)          crn_bits(_mm_set1_ps(value))

#endif

CRN_INLINE vector extreme(crn_morphology_kind kind, vector a, vector b)
{
    switch (kind) {
    case CRN_MORPHOLOGY_MIN_U8:
        return crn_min_u8(a, b);
    case CRN_MORPHOLOGY_MAX_U8:
        return crn_max_u8(a, b);
    case CRN_MORPHOLOGY_MIN_F32:
        return crn_min_f32(a, b);
    case CRN_MORPHOLOGY_MAX_F32:
        break;
    }
    return crn_max_f32(a, b);
}

CRN_INLINE vector neutral(crn_morphology_kind kind)
{
    switch (kind) {
    case CRN_MORPHOLOGY_MIN_U8:
        return crn_set1_u8(UINT8_MAX);
    case CRN_MORPHOLOGY_MAX_U8:
        return crn_set1_u8(0);
    case CRN_MORPHOLOGY_MIN_F32:
        return crn_set1_f32(INFINITY);
    case CRN_MORPHOLOGY_MAX_F32:
        break;
    }
    return crn_set1_f32(-INFINITY);
}

/* The last elements of a row. */
#if defined(CRN_TARGET_avx512)

CRN_INLINE void store_part(void *to, vector v, size_t bytes)
{
    _mm512_mask_storeu_epi8(to, ~(__mmask64)0 >> (CRN_MORPHOLOGY_VECTOR_BYTES - bytes), v);
}

CRN_INLINE vector load_part(const void *from, size_t bytes)
{
    return _mm512_maskz_loadu_epi8(~(__mmask64)0 >> (CRN_MORPHOLOGY_VECTOR_BYTES - bytes), from);
}

#else

CRN_INLINE void store_part(void *to, vector v, size_t bytes)
{
    uint8_t whole[CRN_MORPHOLOGY_VECTOR_BYTES];
    crn_store_vector(whole, v);
    memcpy(to, whole, bytes);
}

CRN_INLINE vector load_part(const void *from, size_t bytes)
{
    uint8_t whole[CRN_MORPHOLOGY_VECTOR_BYTES] = {0};
    memcpy(whole, from, bytes);
    return crn_load_vector(whole);
}

#endif

/* Expands `call`, an inline function of a constant kind, for each kind. */
#define CRN_MORPHOLOGY_FOR_EACH_KIND(kind, call, ...)                                              \
    switch (kind) {                                                                                \
    case CRN_MORPHOLOGY_MIN_U8:                                                                    \
        call(CRN_MORPHOLOGY_MIN_U8, __VA_ARGS__);                                                  \
        return;                                                                                    \
    case CRN_MORPHOLOGY_MAX_U8:                                                                    \
        call(CRN_MORPHOLOGY_MAX_U8, __VA_ARGS__);                                                  \
        return;                                                                                    \
    case CRN_MORPHOLOGY_MIN_F32:                                                                   \
        call(CRN_MORPHOLOGY_MIN_F32, __VA_ARGS__);                                                 \
        return;                                                                                    \
    case CRN_MORPHOLOGY_MAX_F32:                                                                   \
        call(CRN_MORPHOLOGY_MAX_F32, __VA_ARGS__);                                                 \
        return;                                                                                    \
    }

/* The target's crn_morphology_kernels.rhombus. */
void CRN_TARGETED(crn_morphology_rhombus)(crn_morphology_kind kind, int32_t radius, void *const *to,
                                          const void *const *rows, size_t unit, size_t bytes);

#endif

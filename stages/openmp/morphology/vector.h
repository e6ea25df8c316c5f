/* Vector type and operations of morphology, per target. Only for its *_simd.c files. */
#ifndef CRN_STAGES_OPENMP_MORPHOLOGY_VECTOR_H
#define CRN_STAGES_OPENMP_MORPHOLOGY_VECTOR_H

#include <math.h>
#include <string.h>

#include "stages/openmp/morphology/morphology.h"
#include "stages/openmp/simd.h"

#if defined(__GNUC__) && !defined(__clang__)
#define CRN_MORPHOLOGY_UNROLL _Pragma("GCC unroll 16")
#else
#define CRN_MORPHOLOGY_UNROLL
#endif

typedef crn_integers vector;

#if defined(CRN_TARGET_avx512)
#define CRN_MORPHOLOGY_STACK_MAX     16 /* output rows in registers */
#define CRN_MORPHOLOGY_MERGE_AT_ONCE 8  /* vectors */
#else
#define CRN_MORPHOLOGY_STACK_MAX     8
#define CRN_MORPHOLOGY_MERGE_AT_ONCE 4
#endif

/* Of two floats the first is used only if it is less (greater) than the second, so a NaN as first
 * operand is never used. */
#define crn_load_vector(p)     CRN_SI(loadu)((const void *)(p))
#define crn_store_vector(p, v) CRN_SI(storeu)((void *)(p), v)
#define crn_min_u8(a, b)       CRN_MM(min_epu8)(a, b)
#define crn_max_u8(a, b)       CRN_MM(max_epu8)(a, b)
#define crn_add_u8(a, b)       CRN_MM(adds_epu8)(a, b)
#define crn_sub_u8(a, b)       CRN_MM(subs_epu8)(a, b)
#define crn_set1_u8(value)     CRN_MM(set1_epi8)((char)(value))
#define crn_min_f32(a, b)      ((vector)CRN_MM(min_ps)((crn_floats)(a), (crn_floats)(b)))
#define crn_max_f32(a, b)      ((vector)CRN_MM(max_ps)((crn_floats)(a), (crn_floats)(b)))
#define crn_add_f32(a, b)      ((vector)CRN_MM(add_ps)((crn_floats)(a), (crn_floats)(b)))
#define crn_set1_f32(value)    ((vector)CRN_MM(set1_ps)(value))

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
    _mm512_mask_storeu_epi8(to, ~(__mmask64)0 >> (CRN_VECTOR_BYTES - bytes), v);
}

CRN_INLINE vector load_part(const void *from, size_t bytes)
{
    return _mm512_maskz_loadu_epi8(~(__mmask64)0 >> (CRN_VECTOR_BYTES - bytes), from);
}

#else

CRN_INLINE void store_part(void *to, vector v, size_t bytes)
{
    uint8_t whole[CRN_VECTOR_BYTES];
    crn_store_vector(whole, v);
    memcpy(to, whole, bytes);
}

CRN_INLINE vector load_part(const void *from, size_t bytes)
{
    uint8_t whole[CRN_VECTOR_BYTES] = {0};
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

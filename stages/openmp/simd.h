/* Instruction set targets. A *_simd.c is compiled once for each; its functions carry the target's
 * name as a suffix, and tables of the three are selected from at run time. */
#ifndef CRN_STAGES_OPENMP_SIMD_H
#define CRN_STAGES_OPENMP_SIMD_H

#include "stages/base/api.h"

typedef enum crn_target {
    CRN_BASELINE, /* the x86-64 baseline: SSE2 */
    CRN_AVX2,     /* Haswell: AVX2, FMA, BMI2 */
    CRN_AVX512,   /* Skylake-X: F, BW, CD, DQ, VL */
    CRN_TARGETS,
} crn_target;

/* The best target of this processor; all below it run as well. */
CRN_API crn_target crn_target_best(void);

/* In a *_simd.c: expands to name_baseline, name_avx2 or name_avx512. */
#define CRN_TARGETED_2(name, target) name##_##target
#define CRN_TARGETED_1(name, target) CRN_TARGETED_2(name, target)
#define CRN_TARGETED(name)           CRN_TARGETED_1(name, CRN_TARGET)

/* For functions that must be inlined: their callers pass constants that select between loops. */
#define CRN_INLINE static inline __attribute__((always_inline))

/* In a *_simd.c: its target's vectors, and the intrinsics on them. CRN_MM(add_ps) is _mm512_add_ps,
 * _mm256_add_ps or _mm_add_ps; CRN_SI(loadu) is _mm512_loadu_si512 and so on. */
#if defined(CRN_TARGET)

#include <immintrin.h>

#if defined(CRN_TARGET_avx512)
#define CRN_VECTOR_BYTES  64
#define CRN_MM(operation) _mm512_##operation
#define CRN_SI(operation) _mm512_##operation##_si512
typedef __m512 crn_floats;
typedef __m512i crn_integers;
#elif defined(CRN_TARGET_avx2)
#define CRN_VECTOR_BYTES  32
#define CRN_MM(operation) _mm256_##operation
#define CRN_SI(operation) _mm256_##operation##_si256
typedef __m256 crn_floats;
typedef __m256i crn_integers;
#else
#define CRN_VECTOR_BYTES  16
#define CRN_MM(operation) _mm_##operation
#define CRN_SI(operation) _mm_##operation##_si128
typedef __m128 crn_floats;
typedef __m128i crn_integers;
#endif

#endif

#endif

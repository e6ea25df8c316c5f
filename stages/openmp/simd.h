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

#endif

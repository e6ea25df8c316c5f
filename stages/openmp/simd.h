/*
 * Instruction sets. A *_simd.c is compiled once for each; what it defines carries the target's name
 * as a suffix, and tables of the three are chosen from at run time.
 */
#ifndef CRN_STAGES_OPENMP_SIMD_H
#define CRN_STAGES_OPENMP_SIMD_H

typedef enum crn_target {
    CRN_BASELINE, /* x86-64 as it came: SSE2 */
    CRN_AVX2,     /* Haswell: AVX2, FMA, BMI2 */
    CRN_AVX512,   /* Skylake-X: F, BW, CD, DQ, VL */
    CRN_TARGETS,
} crn_target;

/* The best that this processor has; those below it run too. */
crn_target crn_target_best(void);

/* In a *_simd.c: name_baseline, name_avx2 or name_avx512. */
#define CRN_TARGETED_2(name, target) name##_##target
#define CRN_TARGETED_1(name, target) CRN_TARGETED_2(name, target)
#define CRN_TARGETED(name)           CRN_TARGETED_1(name, CRN_TARGET)

/* For what must end up inside its caller, whose constants choose between loops. */
#define CRN_INLINE static inline __attribute__((always_inline))

#endif

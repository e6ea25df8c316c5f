#include "stages/openmp/simd.h"

/* CRN_BEST_TARGET of cmake. */
#if defined(CRN_BEST_TARGET_baseline)
static const crn_target allowed = CRN_BASELINE;
#elif defined(CRN_BEST_TARGET_avx2)
static const crn_target allowed = CRN_AVX2;
#elif defined(CRN_BEST_TARGET_avx512)
static const crn_target allowed = CRN_AVX512;
#else
#error "CRN_BEST_TARGET must be baseline, avx2 or avx512"
#endif

static crn_target best_of_processor(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return CRN_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2"))
        return CRN_AVX2;
    return CRN_BASELINE;
}

crn_target crn_target_best(void)
{
    crn_target best = best_of_processor();
    return best < allowed ? best : allowed;
}

#include "stages/openmp/values.h"

const crn_values_kernels *crn_values_kernels_best(void)
{
    static const crn_values_kernels *const kernels[CRN_TARGETS] = {
        [CRN_BASELINE] = &crn_values_kernels_baseline,
        [CRN_AVX2] = &crn_values_kernels_avx2,
        [CRN_AVX512] = &crn_values_kernels_avx512,
    };
    return kernels[crn_target_best()];
}

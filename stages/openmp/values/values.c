#include "stages/openmp/values.h"

#include <errno.h>
#include <string.h>

#include "stages/ops.h"

const crn_values_kernels *crn_values_kernels_best(void)
{
    static const crn_values_kernels *const kernels[CRN_TARGETS] = {
        [CRN_BASELINE] = &crn_values_kernels_baseline,
        [CRN_AVX2] = &crn_values_kernels_avx2,
        [CRN_AVX512] = &crn_values_kernels_avx512,
    };
    return kernels[crn_target_best()];
}

int crn_see_values(crn_context *context, const crn_image *in, crn_values_seen *parts)
{
    (void)context;
    if (!crn_image_is_dense(in) ||
        (in->type != CRN_U8 && in->type != CRN_F16 && in->type != CRN_F32))
        return -EINVAL;
    crn_values_copy_fn *see = crn_values_copy_of(crn_values_kernels_best(), in->type);
    memset(parts, 0, CRN_VALUES_PARTS * sizeof *parts);
    parts[0] = see(NULL, in->data, crn_image_elements(in) * crn_type_bytes(in->type));
    return 0;
}

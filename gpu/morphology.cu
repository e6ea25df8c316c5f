/* Morphology on the device: which way a picture goes (morphology.cuh). */
#include "gpu/morphology.cuh"

extern "C" {
#include "stages/serial/morphology.h"
}

int crn_morphology_cuda(crn_context *context, const crn_morphology_params *params,
                        const crn_image *in, crn_image *out)
{
    if (!crn_gpu_limits_of(context))
        return -EINVAL;
    int r = crn_morphology_check(params, in, out);
    if (r < 0)
        return r;
    if (crn_context_views(context) > 1 && !(crn_gpu_is_dense(in) && crn_gpu_is_dense(out)))
        return -EINVAL;
    return crn_morphology_general(context, params, in, out);
}

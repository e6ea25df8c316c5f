/* Stub for a build without CUDA. */
#include "gpu/gpu.h"

const crn_gpu *crn_gpu_get(const char **ret_why)
{
    *ret_why = "this build has no CUDA operators";
    return NULL;
}

bool crn_gpu_is_failing(const char **ret_why)
{
    (void)ret_why;
    return false;
}

/* Stub for a build without CUDA. */
#include "gpu/gpu.h"

const crn_gpu *crn_gpu_get(const char **ret_why)
{
    *ret_why = "this build has no CUDA operators";
    return NULL;
}

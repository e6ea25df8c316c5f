/* The CUDA wing of a build without CUDA. */
#include "gpu/gpu.h"

const crn_ops *crn_gpu_ops(const char **ret_why)
{
    *ret_why = "this build has no CUDA operators";
    return NULL;
}

/* The CUDA wing of a build without CUDA. */
#include <errno.h>

#include "gpu/gpu.h"

static const char *const why = "this build has no CUDA operators";

const crn_gpu *crn_gpu_get(const char **ret_why)
{
    *ret_why = why;
    return NULL;
}

const crn_ops *crn_gpu_ops(const char **ret_why)
{
    *ret_why = why;
    return NULL;
}

int crn_gpu_times_of(const crn_context *context, crn_gpu_times *ret_times)
{
    (void)context;
    (void)ret_times;
    return -EINVAL;
}

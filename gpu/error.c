/* Error texts of the CUDA backend. */
#include <errno.h>
#include <string.h>

#include "gpu/gpu.h"

const char *crn_gpu_strerror(int error)
{
    if (error == -ENOEXEC)
        return "this build has no code for it; build with -DCRN_CUDA_ARCHITECTURES=native there, "
               "or with the default";
    return strerror(-error);
}

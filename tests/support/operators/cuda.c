#include "tests/support/operators/cuda.h"

#include <stdlib.h>

#include "tests/support/cmocka_prelude.h"

static void leave_out(const char *why)
{
    const char *required = getenv("CRN_REQUIRE_GPU");
    if (required && required[0])
        fail_msg("CRN_REQUIRE_GPU is set: %s", why);
    print_message("skipped: %s\n", why);
    skip();
}

const crn_ops *crn_test_cuda_ops(void)
{
    const char *why;
    const crn_ops *ops = crn_gpu_ops(&why);
    if (!ops)
        leave_out(why);
    return ops;
}

const crn_gpu *crn_test_cuda(void)
{
    const char *why;
    const crn_gpu *gpu = crn_gpu_get(&why);
    if (!gpu)
        leave_out(why);
    return gpu;
}

const crn_gpu *crn_test_several_cuda(void)
{
    const crn_gpu *gpu = crn_test_cuda();
    if (gpu->count() < 2) {
        print_message("skipped: one device\n");
        skip();
    }
    return gpu;
}

int crn_test_gpu_wait(const crn_gpu *gpu, crn_context *context)
{
    /* Ends a kernel that hangs. Concurrent runs under
     * racecheck have needed more than 20 s for a graph. */
    const int64_t limit_ns = INT64_C(600000000000);
    return crn_gpu_wait(gpu, context, limit_ns);
}

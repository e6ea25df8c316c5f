/* The CUDA operators for tests: where there is a device. */
#ifndef CRN_TESTS_SUPPORT_CUDA_H
#define CRN_TESTS_SUPPORT_CUDA_H

#include "gpu/gpu.h"

/* The operators on host images (crn_gpu_ops). Without a device the running test is skipped, or,
 * with CRN_REQUIRE_GPU set, failed. */
const crn_ops *crn_test_cuda_ops(void);

/* The devices, likewise. */
const crn_gpu *crn_test_cuda(void);

/* Two or more. With one the running test is skipped, whatever CRN_REQUIRE_GPU says. */
const crn_gpu *crn_test_several_cuda(void);

/* Waits until the context has done all, however long a sanitizer makes that: 0, or what failed. */
int crn_test_gpu_wait(const crn_gpu *gpu, crn_context *context);

#endif

/* The CUDA operators for tests, if there is a device. */
#ifndef CRN_TESTS_SUPPORT_CUDA_H
#define CRN_TESTS_SUPPORT_CUDA_H

#include "gpu/gpu.h"

/* The operators on host images (crn_gpu_ops). Without a device the running test is skipped, or
 * failed if CRN_REQUIRE_GPU is set. */
const crn_ops *crn_test_cuda_ops(void);

/* The GPU backend, with the same skipping. */
const crn_gpu *crn_test_cuda(void);

/* The GPU backend with at least two devices; otherwise skips the running test, whatever
 * CRN_REQUIRE_GPU says. */
const crn_gpu *crn_test_several_cuda(void);

/* Waits until the context is idle, as long as a sanitizer needs. 0 or the error. */
int crn_test_gpu_wait(const crn_gpu *gpu, crn_context *context);

#endif

/* A benchmark case in host memory, ready to run repeatedly. */
#ifndef CRN_TOOLS_BENCH_OPERATORS_WORK_H
#define CRN_TOOLS_BENCH_OPERATORS_WORK_H

#include "gpu/gpu.h"
#include "tools/bench/cases.h"

typedef struct crn_bench_work crn_bench_work;

/* 0 or -ENOMEM. */
int crn_bench_work_create(const crn_bench_case *of, crn_bench_work **ret_work);
void crn_bench_work_free(crn_bench_work **work);

/* Runs it once. 0 or the operator's negative errno. */
int crn_bench_work_run(crn_bench_work *work, const crn_ops *ops, crn_context *context);

/* Device times of the last run's parts; all 0 if it did not run on a device. */
crn_gpu_times crn_bench_work_times(const crn_bench_work *work);

/* Bytes that one run must read and write, each once;
 * for contours, the result size of the last run. */
size_t crn_bench_work_bytes(const crn_bench_work *work);

/* memcpy of half that many bytes: the same memory traffic. */
void crn_bench_work_copy(crn_bench_work *work);

#endif

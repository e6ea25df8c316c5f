/* A benchmark case in host memory, ready to run repeatedly. */
#ifndef CRN_TOOLS_BENCH_WORK_H
#define CRN_TOOLS_BENCH_WORK_H

#include "gpu/gpu.h"
#include "tools/bench/cases.h"
#include "tools/bench/time.h"

/* Runs whose device times are kept; those of further runs are ignored. */
#define CRN_BENCH_PARTS_MAX 256

/* Parts of a run on a device. */
enum { CRN_PART_KERNEL, CRN_PART_UPLOAD, CRN_PART_DOWNLOAD, CRN_PARTS };

typedef struct crn_bench_work {
    crn_bench_inputs inputs;
    void *out, *smoothed, *opened; /* the last two are the chain's */
    void *copy;                    /* only with reuse_out: what is compared is not timed */
    size_t copy_bytes;
    crn_contours contours;
    bool reuse_out;                                 /* as in crn_bench_target */
    int32_t runs;                                   /* since crn_bench_work_time() began */
    double part_ms[CRN_PARTS][CRN_BENCH_PARTS_MAX]; /* by run; 0 if not on a device */
} crn_bench_work;

/* 0 or -ENOMEM; `frame` as in crn_bench_inputs_create(). */
int crn_bench_work_create(const crn_bench_case *of, const crn_image *frame, bool reuse_out,
                          crn_bench_work **ret_work);
void crn_bench_work_free(crn_bench_work **work);

/* Runs it once. 0 or the operator's negative errno. */
int crn_bench_work_run(crn_bench_work *work, const crn_ops *ops, crn_context *context);

/* Times it with so many threads; otherwise as crn_bench_time(). */
int crn_bench_work_time(crn_bench_work *work, const crn_ops *ops, int32_t threads, double seconds,
                        crn_timing *ret_timing);

/* Bytes that one run must read and write, each once;
 * for contours, the result size of the last run. */
size_t crn_bench_work_bytes(const crn_bench_work *work);

/* memcpy of half that many bytes: the same memory traffic. */
void crn_bench_work_copy(crn_bench_work *work);

#endif

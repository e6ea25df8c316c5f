/* What cernita-bench times: one operator with its parameters on one synthetic picture. */
#ifndef CRN_TOOLS_BENCH_CASES_H
#define CRN_TOOLS_BENCH_CASES_H

#include "gpu/gpu.h"
#include "stages/ops.h"

/* Content of the picture. */
typedef enum crn_bench_field {
    CRN_FIELD_NOISE,
    CRN_FIELD_WAVES, /* smooth, around 0.5, wavelength of `a` pixels */
} crn_bench_field;

typedef struct crn_bench_case {
    const char *operator;
    const char *what; /* the parameters as the table prints them */
    crn_bench_field field;
    crn_type type;
    int32_t planes, height, width; /* interleaved when planes > 1 */
    int32_t a, b;                  /* parameters of the operator (cases.c) */
    double serial_steps;           /* steps of the serial operator per element */
} crn_bench_case;

extern const crn_bench_case crn_bench_cases[];
extern const int32_t crn_bench_case_count;

/* A case with its pictures and parameters, ready to run repeatedly. */
typedef struct crn_bench_work crn_bench_work;

/* 0 or -ENOMEM. */
int crn_bench_work_create(const crn_bench_case *what, crn_bench_work **ret_work);
void crn_bench_work_free(crn_bench_work **work);

/* Runs it once. 0 or the operator's negative errno. */
int crn_bench_work_run(crn_bench_work *work, const crn_ops *ops, crn_context *context);

/* Device times of the last run's parts; all 0 if they were not requested. */
crn_gpu_times crn_bench_work_times(const crn_bench_work *work);

/* Bytes that one run must read and write, each once;
 * for contours, the result size of the last run. */
size_t crn_bench_work_bytes(const crn_bench_work *work);

/* memcpy of half that many bytes: the same memory traffic. */
void crn_bench_work_copy(crn_bench_work *work);

#endif

/* What cernita-bench times: one operator with its parameters on one picture made for it. */
#ifndef CRN_TOOLS_BENCH_CASES_H
#define CRN_TOOLS_BENCH_CASES_H

#include "gpu/gpu.h"
#include "stages/ops.h"

/* What the picture shows. */
typedef enum crn_bench_field {
    CRN_FIELD_NOISE,
    CRN_FIELD_WAVES, /* smooth, about 0.5, `a` pixels long */
} crn_bench_field;

typedef struct crn_bench_case {
    const char *operator;
    const char *what; /* its parameters, as the table names them */
    crn_bench_field field;
    crn_type type;
    int32_t planes, height, width; /* interleaved when planes > 1 */
    int32_t a, b;                  /* of the operator's parameters (cases.c) */
    double serial_steps;           /* per element, of the definition: to tell what takes minutes */
} crn_bench_case;

extern const crn_bench_case crn_bench_cases[];
extern const int32_t crn_bench_case_count;

/* A case with its pictures and parameters, ready to run again and again. */
typedef struct crn_bench_work crn_bench_work;

/* 0 or -ENOMEM. */
int crn_bench_work_create(const crn_bench_case *what, crn_bench_work **ret_work);
void crn_bench_work_free(crn_bench_work **work);

/* Runs it once. 0 or the operator's negative errno. */
int crn_bench_work_run(crn_bench_work *work, const crn_ops *ops, crn_context *context);

/* How long the parts of the last run took on the device; all 0 where none was asked. */
crn_gpu_times crn_bench_work_times(const crn_bench_work *work);

/* Bytes that one run has to read and write, each once; of contours, those found by the last run. */
size_t crn_bench_work_bytes(const crn_bench_work *work);

/* Copies half as many bytes: as much memory traffic. */
void crn_bench_work_copy(crn_bench_work *work);

#endif

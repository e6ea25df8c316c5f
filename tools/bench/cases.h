/*
 * The cases of cernita-bench, each with its operator, parameters and synthetic picture, and how a
 * case runs with the operators of any backend. `cernita-bench operators` times those with a `what`,
 * `cernita-bench gpu` those with rows for it; `cernita-bench list` prints the rows, by whose names
 * the benchmarks in Python time their peers.
 */
#ifndef CRN_TOOLS_BENCH_CASES_H
#define CRN_TOOLS_BENCH_CASES_H

#include "stages/ops.h"

typedef enum crn_bench_operator {
    CRN_BENCH_CONTOURS,
    CRN_BENCH_MORPHOLOGY,
    CRN_BENCH_CONVOLVE,
    CRN_BENCH_HAAR,
    CRN_BENCH_RANKLET,
    CRN_BENCH_DIAMOND_SQUARE,
    CRN_BENCH_CHAIN, /* gaussian 3, opening with a disk of 5, contours with closed borders */
} crn_bench_operator;

/* Names of all but the chain, NULL-terminated. */
extern const char *const crn_bench_operator_names[];

/* Interleaved when planes > 1. */
typedef struct crn_bench_picture {
    int32_t wavelength_px; /* of smooth waves around 0.5; 0: none */
    double noise;          /* amplitude of white noise */
    crn_type type;
    int32_t planes, height, width;
} crn_bench_picture;

/* What a measurement on a device spans. */
typedef enum crn_gpu_span {
    CRN_GPU_ON_DEVICE, /* device time of back-to-back work in one stream */
    CRN_GPU_TO_HOST,   /* picture on the device: from enqueuing to results in host memory */
    CRN_GPU_FROM_HOST, /* picture in pinned host memory: from enqueuing to results in host memory */
    CRN_GPU_SUSTAINED, /* many views in flight: views per second */
    CRN_GPU_NOT_TIMED, /* not measured there: the row only names the case for its peers */
} crn_gpu_span;

typedef struct crn_gpu_row {
    const char *name;
    crn_gpu_span span;
    double target_ms; /* 0: none */
} crn_gpu_row;

#define CRN_BENCH_GPU_ROWS_MAX 2

typedef struct crn_bench_case {
    const char *what; /* parameters as `operators` prints them; NULL: not timed there */
    crn_bench_operator op;
    union {
        crn_border border; /* contours; their level is 0.5 */
        struct {
            crn_element_shape shape;
            int32_t size;
        } opening;
        struct {
            const char *name; /* "gaussian", or "dense": weights without structure */
            int32_t size;
        } kernel;
        crn_haar_params haar;
        struct {
            int32_t first, last; /* sides of the ranklets' square windows, doubling */
        } windows;
        int32_t exponent; /* diamond-square */
    };
    crn_bench_picture picture;
    double serial_steps;                     /* of the serial operator per element */
    crn_gpu_row gpu[CRN_BENCH_GPU_ROWS_MAX]; /* the first without a name ends them */
} crn_bench_case;

extern const crn_bench_case crn_bench_cases[];
extern const int32_t crn_bench_case_count;

/* Named row `index` of all cases, its case in *ret_of; NULL after the last. */
const crn_gpu_row *crn_bench_row(int32_t index, const crn_bench_case **ret_of);

#define CRN_BENCH_PLANES_MAX 64

/* A case's picture and parameters in memory. */
typedef struct crn_bench_inputs {
    const crn_bench_case *of;
    crn_image picture;
    float *weights;
    double levels[CRN_BENCH_PLANES_MAX];
} crn_bench_inputs;

/*
 * @param frame f32 maps that replace the waves of the cases with several planes; NULL: none
 * @param ret_inputs free it with crn_bench_inputs_free, also after a failure
 * @return 0, -ENOMEM, or -EINVAL if the frame has too many planes
 */
int crn_bench_inputs_create(const crn_bench_case *of, const crn_image *frame,
                            crn_bench_inputs *ret_inputs);
void crn_bench_inputs_free(crn_bench_inputs *inputs);

/* Whether the result is contours, not a picture. */
bool crn_bench_has_contours(const crn_bench_case *of);

/* Where a case runs: operators, context, and memory that fits both. */
typedef struct crn_bench_target {
    const crn_ops *ops;
    crn_context *context;
    void *in, *out, *smoothed, *opened; /* the last two are the chain's */
    crn_contours *contours;
    bool reuse_out; /* the ranklets of every window size overwrite the last ones */
} crn_bench_target;

/* Number of operator calls of a case: one per window size, or per operator of the chain. */
int32_t crn_bench_call_count(const crn_bench_case *of);

/* Makes call i, or all of them in order. 0 or the operator's negative errno. */
int crn_bench_call(const crn_bench_inputs *inputs, const crn_bench_target *target, int32_t i);
int crn_bench_run(const crn_bench_inputs *inputs, const crn_bench_target *target);

/* Size of the pictures that a run writes; 0 for contours. */
size_t crn_bench_out_bytes(const crn_bench_inputs *inputs);

/* Ranklets: offset of call i's result, and its size without padding. */
size_t crn_bench_window_offset(const crn_bench_inputs *inputs, int32_t i);
size_t crn_bench_window_bytes(const crn_bench_inputs *inputs, int32_t i);

#endif

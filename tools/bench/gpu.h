/*
 * What `cernita-bench gpu` times: tasks on a device, each with its target time. Pictures and
 * results lie on the device in several copies, used in rotation, so that the device's cache serves
 * only what it would serve in a real line.
 */
#ifndef CRN_TOOLS_BENCH_GPU_H
#define CRN_TOOLS_BENCH_GPU_H

#include "gpu/gpu.h"

/* Timeout; no task here takes as long. */
#define CRN_BENCH_GPU_LIMIT_NS INT64_C(20000000000)

typedef enum crn_gpu_task {
    CRN_GPU_CONTOURS,
    CRN_GPU_OPENING,
    CRN_GPU_CONVOLVE,
    CRN_GPU_HAAR,
    CRN_GPU_RANKLET,
    CRN_GPU_DIAMOND_SQUARE,
    CRN_GPU_CHAIN, /* gaussian 3, opening with a disk of 5, contours with closed borders */
} crn_gpu_task;

/* What a measurement spans. */
typedef enum crn_gpu_span {
    CRN_GPU_ON_DEVICE, /* device time of back-to-back work in one stream */
    CRN_GPU_TO_HOST,   /* picture on the device: from enqueuing to results in host memory */
    CRN_GPU_FROM_HOST, /* picture in pinned host memory: from enqueuing to results in host memory */
    CRN_GPU_SUSTAINED, /* many views in flight: views per second */
} crn_gpu_span;

typedef struct crn_gpu_row {
    const char *name;
    crn_gpu_task task;
    crn_gpu_span span;
    crn_type type;
    int32_t planes, height, width; /* interleaved when planes > 1 */
    int32_t a,
        b; /* task parameters, see crn_gpu_enqueue; contours: a is the wavelength in pixels */
    double at_most_ms; /* target; 0: none */
} crn_gpu_row;

extern const crn_gpu_row crn_gpu_rows[];
extern const int32_t crn_gpu_row_count;

/* This device's bandwidths in GB/s; a copy on the
 * device counts the bytes read plus those written. */
typedef struct crn_gpu_speeds {
    double copy, upload, download;
} crn_gpu_speeds;

/* 0 or negative errno. */
int crn_gpu_speeds_measure(const crn_gpu *gpu, crn_gpu_speeds *ret_speeds);

/* One row's pictures, parameters and result buffers
 * for `views` views at once, on a context of its own. */
typedef struct crn_gpu_work crn_gpu_work;

/* frame: f32 maps of a real picture for the rows that work on a frame; NULL: synthetic ones. copies
 * 0: as many as exceed the cache. 0 or negative errno. */
int crn_gpu_work_create(const crn_gpu *gpu, const crn_gpu_row *row, const crn_image *frame,
                        int32_t views, int32_t copies, crn_gpu_work **ret_work);
void crn_gpu_work_free(crn_gpu_work **work);

crn_context *crn_gpu_work_context(const crn_gpu_work *work);

/* Number of copies of picture and result, and the size of one of each. */
int32_t crn_gpu_work_copies(const crn_gpu_work *work);
size_t crn_gpu_work_in_bytes(const crn_gpu_work *work);
size_t crn_gpu_work_out_bytes(const crn_gpu_work *work);

/* Points and contours of all views in the last run; 0 for other operators. */
uint32_t crn_gpu_work_points(const crn_gpu_work *work);
uint32_t crn_gpu_work_contours(const crn_gpu_work *work);

/* Lower bound of the time in ms: its bytes over the bandwidth of their path. */
double crn_gpu_work_floor_ms(const crn_gpu_work *work, const crn_gpu_speeds *speeds);

/* Enqueues the upload of copy i, and the work on it. 0 or negative errno. */
int crn_gpu_work_upload(crn_gpu_work *work, int32_t i);
int crn_gpu_work_ask(crn_gpu_work *work, int32_t i);

/* After the first run: -ENOSPC if some results exceeded their capacity, else 0. */
int crn_gpu_work_check(const crn_gpu_work *work);

/* Compares the last result of copy 0 with openmp's: equal bytes, or within the tolerance of ops.h.
 * 0; -EBADMSG if they differ; or another negative errno. */
int crn_gpu_work_compare(const crn_gpu *gpu, crn_gpu_work *work);

/* Times of one task in ms; NAN: not measured. */
typedef struct crn_gpu_figures {
    double stream_ms; /* enqueued repeatedly, by the device's clock */
    double graph_ms;  /* as a captured graph, by the device's clock */
    double clock_ms;  /* from enqueuing until poll returns 0, by the host's clock: median */
    double p99_ms;    /* 99th percentile of clock_ms */
    double whole_ms;  /* clock_ms with the upload captured in the graph, not enqueued beside it */
} crn_gpu_figures;

/* Takes the measurements that the row's span needs, about so many seconds each. 0 or the negative
 * errno of the work. */
int crn_gpu_time(const crn_gpu *gpu, crn_gpu_work *work, crn_gpu_span span, double seconds,
                 crn_gpu_figures *ret_figures);

/* Views in flight: several contexts with several views each. */
typedef struct crn_gpu_flow {
    int32_t contexts, views;
    double views_per_s, gb_per_s; /* rate of uploads */
} crn_gpu_flow;

#define CRN_GPU_FLOWS_MAX 16

/* Tries several numbers of contexts and views, for so many seconds each; with `check` each
 * context's final result is compared (crn_gpu_work_compare). Fills ret_flows with one result per
 * combination; returns their number, or negative errno. */
int crn_gpu_flow_measure(const crn_gpu *gpu, const crn_gpu_row *row, const crn_image *frame,
                         double seconds, bool check, crn_gpu_flow ret_flows[CRN_GPU_FLOWS_MAX]);

double crn_gpu_median(double *values, int32_t count); /* sorts `values` */

#endif

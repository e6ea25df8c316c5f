/*
 * Shared by the files of `cernita-bench gpu`. Pictures and results lie on the device in several
 * copies, used in rotation, so that the device's cache serves only what it would serve in a line.
 */
#ifndef CRN_TOOLS_BENCH_GPU_GPU_H
#define CRN_TOOLS_BENCH_GPU_GPU_H

#include "gpu/gpu.h"
#include "tools/bench/cases.h"

/* Timeout; no work here takes as long. */
#define CRN_BENCH_GPU_LIMIT_NS INT64_C(20000000000)

/* A row to measure, on which device, and the maps given by the user (NULL: none). */
typedef struct crn_gpu_task {
    const crn_gpu *gpu;
    const crn_image *frame;
    const crn_bench_case *of;
    const crn_gpu_row *row;
} crn_gpu_task;

/* This device's bandwidths in GB/s; a copy on the
 * device counts the bytes read plus those written. */
typedef struct crn_gpu_speeds {
    double copy, upload, download;
} crn_gpu_speeds;

/* 0 or negative errno. */
int crn_gpu_speeds_measure(const crn_gpu *gpu, crn_gpu_speeds *ret_speeds);

/* A task's pictures, parameters and result buffers
 * for `views` views at once, on a context of its own. */
typedef struct crn_gpu_work {
    crn_gpu_task task;
    crn_bench_inputs inputs; /* of one view */
    crn_context *context;
    int32_t views, copies, host_copies;
    size_t in_bytes, out_bytes;                   /* of one copy with all its views */
    size_t in_step, out_step;                     /* offset from one copy to the next */
    uint8_t *host, *in, *out, *smoothed, *opened; /* host: pinned; the others on the device */
    crn_contours *contours; /* of all views, the struct and its arrays pinned; NULL: none */
} crn_gpu_work;

/* copies 0: as many as exceed the cache. 0 or negative errno. */
int crn_gpu_work_create(const crn_gpu_task *task, int32_t views, int32_t copies,
                        crn_gpu_work **ret_work);
void crn_gpu_work_free(crn_gpu_work **work);

/* Lower bound of the time in ms: its bytes over the bandwidth of their path. */
double crn_gpu_work_floor_ms(const crn_gpu_work *work, const crn_gpu_speeds *speeds);

/* Enqueues the upload of copy i, or the operators on it. 0 or negative errno. */
int crn_gpu_work_upload(crn_gpu_work *work, int32_t i);
int crn_gpu_work_enqueue(crn_gpu_work *work, int32_t i);

/* Captures that as a graph: `count` times from copy i on, each after its upload if `uploads`. */
int crn_gpu_work_capture(crn_gpu_work *work, int32_t i, int32_t count, bool uploads,
                         crn_gpu_graph **ret_graph);

/* Waits for all enqueued work. 0 or negative errno. */
int crn_gpu_work_wait(const crn_gpu_work *work);

/* After the first run: -ENOSPC if some results exceeded their capacity, else 0. */
int crn_gpu_work_check(const crn_gpu_work *work);

/* Compares the last result of copy 0 with openmp's: equal bytes, or within the tolerance of
 * cernita.h. 0; -EBADMSG if they differ; or another negative errno. */
int crn_gpu_work_compare(const crn_gpu_work *work);

/* Times of one run in ms; NAN: not measured. */
typedef struct crn_gpu_figures {
    double stream_ms; /* enqueued repeatedly, by the device's clock */
    double graph_ms;  /* as a captured graph, by the device's clock */
    double clock_ms;  /* from enqueuing until poll returns 0, by the host's clock: median */
    double p99_ms;    /* 99th percentile of clock_ms */
    double upload_captured_ms; /* clock_ms with the upload as a node of the graph */
} crn_gpu_figures;

/* Takes the measurements that the row's span needs, about so many seconds each. 0 or the negative
 * errno of the work. */
int crn_gpu_time(crn_gpu_work *work, double seconds, crn_gpu_figures *ret_figures);

/* Views in flight: several contexts with several views each. */
typedef struct crn_gpu_flow {
    int32_t contexts, views;
    double views_per_s, gb_per_s; /* rate of uploads */
} crn_gpu_flow;

#define CRN_GPU_FLOWS_MAX 16

/* Measures several numbers of contexts and views, for so many seconds each; with `check` each
 * context's final result is compared (crn_gpu_work_compare). Fills ret_flows with one result per
 * combination; returns their number, or negative errno. */
int crn_gpu_flow_measure(const crn_gpu_task *task, double seconds, bool check,
                         crn_gpu_flow ret_flows[CRN_GPU_FLOWS_MAX]);

#endif

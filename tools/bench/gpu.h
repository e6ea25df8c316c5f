/*
 * What `cernita-bench gpu` times: pieces of work on a device, each with the time that it may take.
 * Pictures and results lie on the device in several copies, taken in turns, so that none comes from
 * the device's cache unless a real line's would.
 */
#ifndef CRN_TOOLS_BENCH_GPU_H
#define CRN_TOOLS_BENCH_GPU_H

#include "gpu/gpu.h"

/* Nothing asked of a device here takes as long. */
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

/* Between which moments it is timed. */
typedef enum crn_gpu_span {
    CRN_GPU_ON_DEVICE, /* in a stream of the same work, on the device */
    CRN_GPU_TO_HOST,   /* picture on the device: from asking to the results in host memory */
    CRN_GPU_FROM_HOST, /* picture in pinned host memory: likewise */
    CRN_GPU_SUSTAINED, /* many views in flight: views a second */
} crn_gpu_span;

typedef struct crn_gpu_row {
    const char *name;
    crn_gpu_task task;
    crn_gpu_span span;
    crn_type type;
    int32_t planes, height, width; /* interleaved when planes > 1 */
    int32_t a,
        b; /* of the task's parameters: crn_gpu_enqueue; a of outlines: length of waves, px */
    double at_most_ms; /* 0: none */
} crn_gpu_row;

extern const crn_gpu_row crn_gpu_rows[];
extern const int32_t crn_gpu_row_count;

/* How fast this device moves bytes, in GB/s; a copy on the device counts what it reads and what it
 * writes. */
typedef struct crn_gpu_speeds {
    double copy, upload, download;
} crn_gpu_speeds;

/* 0 or negative errno. */
int crn_gpu_speeds_measure(const crn_gpu *gpu, crn_gpu_speeds *ret_speeds);

/* One row's pictures, parameters and room for results, on a context of its own, for so many views
 * at once. */
typedef struct crn_gpu_work crn_gpu_work;

/* frame: f32 maps of a real picture for the rows that work on a frame; NULL: they are made. copies
 * 0: as many as exceed the cache. 0 or negative errno. */
int crn_gpu_work_create(const crn_gpu *gpu, const crn_gpu_row *row, const crn_image *frame,
                        int32_t views, int32_t copies, crn_gpu_work **ret_work);
void crn_gpu_work_free(crn_gpu_work **work);

crn_context *crn_gpu_work_context(const crn_gpu_work *work);

/* How many copies of picture and result there are, and how large one of each is. */
int32_t crn_gpu_work_copies(const crn_gpu_work *work);
size_t crn_gpu_work_in_bytes(const crn_gpu_work *work);
size_t crn_gpu_work_out_bytes(const crn_gpu_work *work);

/* Of contours, those of the last run, of all views; else 0. */
uint32_t crn_gpu_work_points(const crn_gpu_work *work);
uint32_t crn_gpu_work_contours(const crn_gpu_work *work);

/* The shortest time, in ms, in which its bytes can go where they have to. */
double crn_gpu_work_floor_ms(const crn_gpu_work *work, const crn_gpu_speeds *speeds);

/* Asks for the upload of copy i, and for the work on it. 0 or negative errno. */
int crn_gpu_work_upload(crn_gpu_work *work, int32_t i);
int crn_gpu_work_ask(crn_gpu_work *work, int32_t i);

/* After the first run: whether all results had room. -ENOSPC otherwise. */
int crn_gpu_work_check(const crn_gpu_work *work);

/* Does what was done last with copy 0 have the bytes that openmp gives, or differ from them within
 * what ops.h allows? 0; -EBADMSG: no; or another negative errno. */
int crn_gpu_work_compare(const crn_gpu *gpu, crn_gpu_work *work);

/* What one piece of work takes, in ms; NAN: not measured. */
typedef struct crn_gpu_figures {
    double stream_ms; /* asked for again and again, by the device's clock */
    double graph_ms;  /* as a recorded graph, by the device's clock */
    double clock_ms;  /* from asking to poll == 0, by the host's clock: the median */
    double p99_ms;    /* of these */
    double whole_ms;  /* clock_ms with the picture's upload recorded in the graph, not beside it */
} crn_gpu_figures;

/* Times it in the ways that its row's span asks for, for about so many seconds each. 0 or negative
 * errno: what the work said when it was asked. */
int crn_gpu_time(const crn_gpu *gpu, crn_gpu_work *work, crn_gpu_span span, double seconds,
                 crn_gpu_figures *ret_figures);

/* Views in flight: so many contexts with so many views each. */
typedef struct crn_gpu_flow {
    int32_t contexts, views;
    double views_per_s, gb_per_s; /* uploaded */
} crn_gpu_flow;

#define CRN_GPU_FLOWS_MAX 16

/* Tries several numbers of contexts and views, for so many seconds each; with `check` what every
 * context has at the end is compared (crn_gpu_work_compare). ret_flows: what each came to; returns
 * how many, or negative errno. */
int crn_gpu_flow_measure(const crn_gpu *gpu, const crn_gpu_row *row, const crn_image *frame,
                         double seconds, bool check, crn_gpu_flow ret_flows[CRN_GPU_FLOWS_MAX]);

double crn_gpu_median(double *values, int32_t count); /* sorts them */

#endif

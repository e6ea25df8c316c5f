/* Timing for `cernita-bench gpu`: medians by the device's clock and by the host's. */
#include <errno.h>
#include <math.h>

#include "stages/base/clock.h"
#include "tools/bench/gpu/gpu.h"
#include "tools/bench/time.h"

/* Timing events. */
enum { EVENT_BEGIN, EVENT_END };

/* A round is long enough to make the overhead around it negligible. */
#define ROUND_MS      2.0
#define ROUND_MAX     64
#define ROUNDS_MIN    5
#define ROUNDS_MAX    200
#define LATENCIES     400
#define LATENCIES_MIN 200
#define GRAPHS_MAX    64
#define SPEED_BYTES   ((size_t)256 << 20)
#define SPEED_ROUNDS  9

/* --- bandwidth --- */

typedef struct transfer {
    int (*copy)(crn_context *context, void *to, const void *from, size_t bytes);
    uint8_t *to;
    const uint8_t *from;
} transfer;

/* Milliseconds of one copy of SPEED_BYTES, between two events. */
static int time_transfer(const crn_gpu *gpu, crn_context *context, const transfer *it,
                         double *ret_ms)
{
    double ms[SPEED_ROUNDS];
    int r = it->copy(context, it->to, it->from, SPEED_BYTES);
    for (int i = 0; r == 0 && i < SPEED_ROUNDS; i++) {
        int64_t ns = 0;
        r = gpu->record_event(context, EVENT_BEGIN);
        if (r == 0)
            r = it->copy(context, it->to, it->from, SPEED_BYTES);
        if (r == 0)
            r = gpu->record_event(context, EVENT_END);
        if (r == 0)
            r = crn_gpu_wait(gpu, context, CRN_BENCH_GPU_LIMIT_NS);
        if (r == 0)
            r = gpu->elapsed(context, EVENT_BEGIN, EVENT_END, &ns);
        ms[i] = (double)ns / 1e6;
    }
    if (r == 0)
        *ret_ms = crn_bench_median(ms, SPEED_ROUNDS);
    return r;
}

int crn_gpu_speeds_measure(const crn_gpu *gpu, crn_gpu_speeds *ret_speeds)
{
    crn_context *context = NULL;
    double copy_ms = 1, up_ms = 1, down_ms = 1;
    uint8_t *host = gpu->pinned_create(SPEED_BYTES);
    int r = host ? gpu->context_create(0, 1, &context) : -ENOMEM;
    if (r == 0) {
        uint8_t *device = crn_context_scratch(context, 16, 2 * SPEED_BYTES);
        r = device ? 0 : -ENOMEM;
        if (r == 0)
            r = time_transfer(gpu, context, &(transfer){gpu->upload, device, host}, &up_ms);
        if (r == 0)
            r = time_transfer(gpu, context, &(transfer){gpu->copy, device + SPEED_BYTES, device},
                              &copy_ms);
        if (r == 0)
            r = time_transfer(gpu, context, &(transfer){gpu->download, host, device}, &down_ms);
    }
    if (context)
        crn_gpu_wait(gpu, context, CRN_BENCH_GPU_LIMIT_NS);
    crn_context_free(&context);
    gpu->pinned_free(host);
    if (r < 0)
        return r;
    double bytes = (double)SPEED_BYTES / 1e6;
    *ret_speeds = (crn_gpu_speeds){2 * bytes / copy_ms, bytes / up_ms, bytes / down_ms};
    return 0;
}

/* --- by the device's clock --- */

/* State of timing one row: the next copy, and its graphs. */
typedef struct timer {
    const crn_gpu *gpu;
    crn_gpu_work *work;
    crn_context *context;
    bool uploads; /* upload every picture from the host */
    bool can_capture;
    int32_t next;   /* copy */
    int32_t length; /* runs per round */
    crn_gpu_graph *graph;
} timer;

/* Enqueues the next run, after the upload of its picture if that is included. */
static int enqueue(timer *t)
{
    int r = t->uploads ? crn_gpu_work_upload(t->work, t->next) : 0;
    if (r == 0)
        r = crn_gpu_work_enqueue(t->work, t->next);
    t->next++;
    return r;
}

static int enqueue_round(timer *t)
{
    int r = 0;
    for (int32_t i = 0; r == 0 && i < t->length; i++)
        r = enqueue(t);
    return r;
}

static int launch_round(timer *t)
{
    return t->gpu->launch(t->context, t->graph);
}

/* Times a round between two events. Before rounds of short runs an extra round is enqueued, so
 * that the device is busy at the first event and the host stays ahead of it. */
static int time_round(timer *t, int (*round)(timer *t), double *ret_ms)
{
    int64_t ns = 0;
    int r = t->length > 1 ? round(t) : 0;
    if (r == 0)
        r = t->gpu->record_event(t->context, EVENT_BEGIN);
    if (r == 0)
        r = round(t);
    if (r == 0)
        r = t->gpu->record_event(t->context, EVENT_END);
    /* Also after a failure: nothing may run when the memory is freed. */
    int waited = crn_gpu_work_wait(t->work);
    if (r == 0)
        r = waited;
    if (r == 0)
        r = t->gpu->elapsed(t->context, EVENT_BEGIN, EVENT_END, &ns);
    *ret_ms = (double)ns / 1e6;
    return r;
}

/* Repeats rounds for so many seconds; returns the median time of one run. */
static int time_rounds(timer *t, int (*round)(timer *t), double seconds, double *ret_ms)
{
    double ms[ROUNDS_MAX];
    int32_t rounds = 0;
    int64_t begin_ns = crn_now_ns();
    double spent_s = 0;
    int r = 0;
    while (r == 0 && rounds < ROUNDS_MAX && (rounds < ROUNDS_MIN || spent_s < seconds)) {
        r = time_round(t, round, &ms[rounds++]);
        spent_s = (double)(crn_now_ns() - begin_ns) / 1e9;
    }
    if (r == 0)
        *ret_ms = crn_bench_median(ms, (size_t)rounds) / t->length;
    return r;
}

/* Warms up and determines the number of runs per round. */
static int choose_length(timer *t)
{
    double ms = 0;
    t->length = 1;
    int r = enqueue(t);
    if (r == 0)
        r = crn_gpu_work_wait(t->work);
    if (r == 0)
        r = crn_gpu_work_check(t->work);
    if (r == 0)
        r = time_round(t, enqueue_round, &ms);
    if (r == 0)
        r = time_round(t, enqueue_round, &ms);
    double length = ms > 0 ? ROUND_MS / ms : ROUND_MAX;
    t->length = length < 1 ? 1 : length > ROUND_MAX ? ROUND_MAX : (int32_t)length;
    return r;
}

static int time_by_device(timer *t, double seconds, crn_gpu_figures *figures)
{
    int r = time_rounds(t, enqueue_round, seconds, &figures->stream_ms);
    t->can_capture =
        r == 0 && crn_gpu_work_capture(t->work, t->next, t->length, t->uploads, &t->graph) == 0;
    if (t->can_capture)
        r = time_rounds(t, launch_round, seconds, &figures->graph_ms);
    t->gpu->graph_free(&t->graph);
    return r;
}

/* --- by the host's clock --- */

/* How each copy's result is computed: by its graph, or direct launches without one, with the upload
 * beside the graph or captured in it. */
typedef struct method {
    crn_gpu_graph *graphs[GRAPHS_MAX];
    int32_t copies;
    bool upload_beside, upload_captured;
} method;

/* Time from enqueuing to the result. Busy-waits, because sleeping would add microseconds. */
static int time_latency(const timer *t, const method *by, int32_t count, double *ret_ms)
{
    int32_t copy = count % by->copies;
    int64_t begin_ns = crn_now_ns();
    int r = by->upload_beside ? crn_gpu_work_upload(t->work, copy) : 0;
    if (r == 0)
        r = by->graphs[copy] ? t->gpu->launch(t->context, by->graphs[copy])
                             : crn_gpu_work_enqueue(t->work, copy);
    if (r < 0)
        return r;
    do {
        r = t->gpu->poll(t->context);
        if (crn_now_ns() - begin_ns > CRN_BENCH_GPU_LIMIT_NS)
            return -ETIMEDOUT;
    } while (r == -EAGAIN);
    *ret_ms = (double)(crn_now_ns() - begin_ns) / 1e6;
    return r;
}

static void free_graphs(const timer *t, method *by)
{
    for (int32_t i = 0; i < by->copies; i++)
        t->gpu->graph_free(&by->graphs[i]);
}

static int capture_graphs(timer *t, method *by)
{
    int r = 0;
    for (int32_t i = 0; r == 0 && i < by->copies; i++)
        r = crn_gpu_work_capture(t->work, i, 1, by->upload_captured, &by->graphs[i]);
    if (r < 0)
        free_graphs(t, by);
    return r;
}

static int time_latencies(timer *t, bool upload_captured, double seconds, double ms[LATENCIES],
                          int32_t *ret_count)
{
    int32_t copies = t->work->copies, count = 0;
    method by = {.copies = copies < GRAPHS_MAX ? copies : GRAPHS_MAX,
                 .upload_beside = t->uploads && !upload_captured,
                 .upload_captured = upload_captured};
    int r = t->can_capture ? capture_graphs(t, &by) : 0;
    for (int32_t i = 0; r == 0 && i < by.copies; i++) /* cold start */
        r = time_latency(t, &by, i, &ms[0]);
    int64_t begin_ns = crn_now_ns();
    while (r == 0 && count < LATENCIES &&
           (count < LATENCIES_MIN || (double)(crn_now_ns() - begin_ns) < 1e9 * seconds)) {
        r = time_latency(t, &by, count, &ms[count]);
        count++;
    }
    int waited = crn_gpu_work_wait(t->work);
    free_graphs(t, &by);
    *ret_count = count;
    return r < 0 ? r : waited;
}

static int time_by_host(timer *t, double seconds, crn_gpu_figures *figures)
{
    double ms[LATENCIES];
    int32_t count = 0;
    int r = time_latencies(t, false, seconds, ms, &count);
    if (r < 0)
        return r;
    figures->clock_ms = crn_bench_median(ms, (size_t)count);
    figures->p99_ms = ms[(count * 99 - 1) / 100];
    if (!t->uploads || !t->can_capture)
        return 0;
    r = time_latencies(t, true, seconds, ms, &count);
    if (r == 0)
        figures->upload_captured_ms = crn_bench_median(ms, (size_t)count);
    return r;
}

int crn_gpu_time(crn_gpu_work *work, double seconds, crn_gpu_figures *ret_figures)
{
    crn_gpu_span span = work->task.row->span;
    crn_gpu_figures figures = {NAN, NAN, NAN, NAN, NAN};
    timer t = {.gpu = work->task.gpu,
               .work = work,
               .context = work->context,
               .uploads = span == CRN_GPU_FROM_HOST};
    int r = choose_length(&t);
    if (r == 0)
        r = time_by_device(&t, seconds, &figures);
    if (r == 0 && span != CRN_GPU_ON_DEVICE)
        r = time_by_host(&t, seconds, &figures);
    crn_gpu_work_wait(work);
    if (r == 0)
        *ret_figures = figures;
    return r;
}

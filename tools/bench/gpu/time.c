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

/* Device time of what `enqueue` enqueues. Waits for it also after a failure: nothing may run when
 * the memory is freed. */
static int time_between_events(const crn_gpu *gpu, crn_context *context, int (*enqueue)(void *of),
                               void *of, double *ret_ms)
{
    int64_t ns = 0;
    int r = gpu->record_event(context, EVENT_BEGIN);
    if (r == 0)
        r = enqueue(of);
    if (r == 0)
        r = gpu->record_event(context, EVENT_END);
    int waited = crn_gpu_wait(gpu, context, CRN_BENCH_GPU_LIMIT_NS);
    if (r == 0)
        r = waited;
    if (r == 0)
        r = gpu->elapsed(context, EVENT_BEGIN, EVENT_END, &ns);
    *ret_ms = (double)ns / 1e6;
    return r;
}

/* --- bandwidth --- */

typedef struct transfer {
    const crn_gpu *gpu;
    crn_context *context;
    int (*copy)(crn_context *context, void *to, const void *from, size_t bytes);
    uint8_t *to;
    const uint8_t *from;
} transfer;

static int enqueue_transfer(void *of)
{
    const transfer *it = of;
    return it->copy(it->context, it->to, it->from, SPEED_BYTES);
}

static int time_transfer(void *of, double *ret_ms)
{
    const transfer *it = of;
    return time_between_events(it->gpu, it->context, enqueue_transfer, of, ret_ms);
}

/* GB/s of copies of SPEED_BYTES. */
static int measure_speed(transfer it, double *ret_gb_per_s)
{
    static const crn_bench_rounds rounds = {
        .warm_up = 1, .least = SPEED_ROUNDS, .most = SPEED_ROUNDS};
    double ms[SPEED_ROUNDS];
    int r = crn_bench_repeat(time_transfer, &it, &rounds, ms);
    if (r > 0)
        *ret_gb_per_s = (double)SPEED_BYTES / 1e6 / crn_bench_median(ms, SPEED_ROUNDS);
    return r < 0 ? r : 0;
}

int crn_gpu_speeds_measure(const crn_gpu *gpu, crn_gpu_speeds *ret_speeds)
{
    crn_context *context = NULL;
    uint8_t *host = gpu->pinned_create(SPEED_BYTES), *device = NULL;
    int r = host ? gpu->context_create(0, 1, &context) : -ENOMEM;
    if (r == 0 && !(device = crn_context_scratch(context, 16, 2 * SPEED_BYTES)))
        r = -ENOMEM;
    if (r == 0)
        r = measure_speed((transfer){gpu, context, gpu->upload, device, host}, &ret_speeds->upload);
    if (r == 0)
        r = measure_speed((transfer){gpu, context, gpu->copy, device + SPEED_BYTES, device},
                          &ret_speeds->copy);
    if (r == 0)
        r = measure_speed((transfer){gpu, context, gpu->download, host, device},
                          &ret_speeds->download);
    ret_speeds->copy *= 2; /* read and written */
    if (context)
        crn_gpu_wait(gpu, context, CRN_BENCH_GPU_LIMIT_NS);
    crn_context_free(&context);
    gpu->pinned_free(host);
    return r;
}

/* --- by the device's clock --- */

/* State of timing one row: the next copy, and its graphs. */
typedef struct timer {
    const crn_gpu *gpu;
    crn_gpu_work *work;
    crn_context *context;
    bool uploads; /* upload every picture from the host */
    bool can_capture;
    int32_t next;         /* copy */
    int32_t length;       /* runs per round */
    crn_gpu_graph *graph; /* of a round; NULL: it is enqueued directly */
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

static int enqueue_round(void *of)
{
    timer *t = of;
    if (t->graph)
        return t->gpu->launch(t->context, t->graph);
    int r = 0;
    for (int32_t i = 0; r == 0 && i < t->length; i++)
        r = enqueue(t);
    return r;
}

/* Before rounds of short runs an extra round is enqueued, so that the device is busy at the first
 * event and the host stays ahead of it. */
static int time_round(void *of, double *ret_ms)
{
    timer *t = of;
    int r = t->length > 1 ? enqueue_round(t) : 0;
    if (r < 0) {
        crn_gpu_work_wait(t->work);
        return r;
    }
    return time_between_events(t->gpu, t->context, enqueue_round, t, ret_ms);
}

/* Repeats rounds for so many seconds; the median time of one run. */
static int time_rounds(timer *t, double seconds, double *ret_ms)
{
    crn_bench_rounds rounds = {.least = ROUNDS_MIN, .most = ROUNDS_MAX, .seconds = seconds};
    double ms[ROUNDS_MAX];
    int count = crn_bench_repeat(time_round, t, &rounds, ms);
    if (count > 0)
        *ret_ms = crn_bench_median(ms, (size_t)count) / t->length;
    return count < 0 ? count : 0;
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
    for (int i = 0; r == 0 && i < 2; i++)
        r = time_round(t, &ms);
    double length = ms > 0 ? ROUND_MS / ms : ROUND_MAX;
    t->length = length < 1 ? 1 : length > ROUND_MAX ? ROUND_MAX : (int32_t)length;
    return r;
}

static int time_by_device(timer *t, double seconds, crn_gpu_figures *figures)
{
    int r = time_rounds(t, seconds, &figures->stream_ms);
    t->can_capture =
        r == 0 && crn_gpu_work_capture(t->work, t->next, t->length, t->uploads, &t->graph) == 0;
    if (t->can_capture)
        r = time_rounds(t, seconds, &figures->graph_ms);
    t->gpu->graph_free(&t->graph);
    return r;
}

/* --- by the host's clock --- */

/* How each copy's result is computed: by its graph, or direct launches without one, with the upload
 * beside the graph or captured in it. */
typedef struct method {
    const timer *timer;
    crn_gpu_graph *graphs[GRAPHS_MAX];
    int32_t copies, next;
    bool upload_beside;
} method;

/* Time from enqueuing to the result. Busy-waits, because sleeping would add microseconds. */
static int time_latency(void *of, double *ret_ms)
{
    method *by = of;
    const timer *t = by->timer;
    int32_t copy = by->next++ % by->copies;
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

/* Each copy warms up once. Returns as crn_bench_repeat(). */
static int time_latencies(const timer *t, bool upload_captured, double seconds,
                          double ms[LATENCIES])
{
    int32_t copies = t->work->copies < GRAPHS_MAX ? t->work->copies : GRAPHS_MAX;
    method by = {.timer = t, .copies = copies, .upload_beside = t->uploads && !upload_captured};
    crn_bench_rounds rounds = {
        .warm_up = copies, .least = LATENCIES_MIN, .most = LATENCIES, .seconds = seconds};
    int r = 0;
    for (int32_t i = 0; r == 0 && t->can_capture && i < copies; i++)
        r = crn_gpu_work_capture(t->work, i, 1, upload_captured, &by.graphs[i]);
    if (r == 0)
        r = crn_bench_repeat(time_latency, &by, &rounds, ms);
    int waited = crn_gpu_work_wait(t->work);
    for (int32_t i = 0; i < copies; i++)
        t->gpu->graph_free(&by.graphs[i]);
    return r < 0 || waited == 0 ? r : waited;
}

static int time_by_host(const timer *t, double seconds, crn_gpu_figures *figures)
{
    double ms[LATENCIES];
    int count = time_latencies(t, false, seconds, ms);
    if (count < 0)
        return count;
    figures->clock_ms = crn_bench_median(ms, (size_t)count);
    figures->p99_ms = crn_bench_p99(ms, (size_t)count);
    if (!t->uploads || !t->can_capture)
        return 0;
    count = time_latencies(t, true, seconds, ms);
    if (count > 0)
        figures->upload_captured_ms = crn_bench_median(ms, (size_t)count);
    return count < 0 ? count : 0;
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

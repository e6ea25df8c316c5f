/* Timing for `cernita-bench gpu`: medians by the device's clock and by the host's. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "stages/base/clock.h"
#include "tools/bench/gpu.h"

enum { MARK_BEGIN, MARK_END };

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

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

double crn_gpu_median(double *values, int32_t count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

static int wait_for(const crn_gpu *gpu, crn_context *context)
{
    return crn_gpu_wait(gpu, context, CRN_BENCH_GPU_LIMIT_NS);
}

/* --- bandwidth --- */

typedef struct move {
    int (*copy)(crn_context *context, void *to, const void *from, size_t bytes);
    uint8_t *to;
    const uint8_t *from;
} move;

/* Milliseconds of one copy of SPEED_BYTES, between two events. */
static int time_move(const crn_gpu *gpu, crn_context *context, const move *it, double *ret_ms)
{
    double ms[SPEED_ROUNDS];
    int r = it->copy(context, it->to, it->from, SPEED_BYTES);
    for (int i = 0; r == 0 && i < SPEED_ROUNDS; i++) {
        int64_t ns = 0;
        r = gpu->mark(context, MARK_BEGIN);
        if (r == 0)
            r = it->copy(context, it->to, it->from, SPEED_BYTES);
        if (r == 0)
            r = gpu->mark(context, MARK_END);
        if (r == 0)
            r = wait_for(gpu, context);
        if (r == 0)
            r = gpu->elapsed(context, MARK_BEGIN, MARK_END, &ns);
        ms[i] = (double)ns / 1e6;
    }
    if (r == 0)
        *ret_ms = crn_gpu_median(ms, SPEED_ROUNDS);
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
            r = time_move(gpu, context, &(move){gpu->upload, device, host}, &up_ms);
        if (r == 0)
            r = time_move(gpu, context, &(move){gpu->copy, device + SPEED_BYTES, device}, &copy_ms);
        if (r == 0)
            r = time_move(gpu, context, &(move){gpu->download, host, device}, &down_ms);
    }
    if (context)
        wait_for(gpu, context);
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
    bool can_record;
    int32_t next;   /* copy */
    int32_t length; /* tasks per round */
    crn_gpu_graph *graph;
} timer;

/* Enqueues the next task, after the upload of its picture if that is included. */
static int ask(timer *t)
{
    int r = t->uploads ? crn_gpu_work_upload(t->work, t->next) : 0;
    if (r == 0)
        r = crn_gpu_work_ask(t->work, t->next);
    t->next++;
    return r;
}

static int ask_round(timer *t)
{
    int r = 0;
    for (int32_t i = 0; r == 0 && i < t->length; i++)
        r = ask(t);
    return r;
}

static int launch_round(timer *t)
{
    return t->gpu->launch(t->context, t->graph);
}

/* Times a round between two events. Before rounds of short tasks an extra round is enqueued, so
 * that the device is busy at the first event and the host stays ahead of it. */
static int time_round(timer *t, int (*round)(timer *t), double *ret_ms)
{
    int64_t ns = 0;
    int r = t->length > 1 ? round(t) : 0;
    if (r == 0)
        r = t->gpu->mark(t->context, MARK_BEGIN);
    if (r == 0)
        r = round(t);
    if (r == 0)
        r = t->gpu->mark(t->context, MARK_END);
    /* Also after a failure: nothing may run when the memory is freed. */
    int waited = wait_for(t->gpu, t->context);
    if (r == 0)
        r = waited;
    if (r == 0)
        r = t->gpu->elapsed(t->context, MARK_BEGIN, MARK_END, &ns);
    *ret_ms = (double)ns / 1e6;
    return r;
}

/* Repeats rounds for so many seconds; returns the median time of one task. */
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
        *ret_ms = crn_gpu_median(ms, rounds) / t->length;
    return r;
}

/* Warms up and determines the number of tasks per round. */
static int choose_length(timer *t)
{
    double ms = 0;
    t->length = 1;
    int r = ask(t);
    if (r == 0)
        r = wait_for(t->gpu, t->context);
    if (r == 0)
        r = crn_gpu_work_check(t->work);
    if (r == 0)
        r = time_round(t, ask_round, &ms);
    if (r == 0)
        r = time_round(t, ask_round, &ms);
    double length = ms > 0 ? ROUND_MS / ms : ROUND_MAX;
    t->length = length < 1 ? 1 : length > ROUND_MAX ? ROUND_MAX : (int32_t)length;
    return r;
}

/* Captures a round as one graph. */
static int record_round(timer *t)
{
    int r = t->gpu->record(t->context);
    if (r < 0)
        return r;
    r = ask_round(t);
    int recorded = t->gpu->recorded(t->context, &t->graph);
    return r < 0 ? r : recorded;
}

static int time_by_device(timer *t, double seconds, crn_gpu_figures *figures)
{
    int r = time_rounds(t, ask_round, seconds, &figures->stream_ms);
    t->can_record = r == 0 && record_round(t) == 0;
    if (t->can_record)
        r = time_rounds(t, launch_round, seconds, &figures->graph_ms);
    t->gpu->graph_free(&t->graph);
    return r;
}

/* --- by the host's clock --- */

/* How each copy's result is computed: by its graph, or direct launches without one, with the upload
 * beside the graph or captured in it. */
typedef struct answers {
    crn_gpu_graph *graphs[GRAPHS_MAX];
    int32_t copies;
    bool upload_beside, upload_recorded;
} answers;

/* Time from enqueuing to the result. Busy-waits, because sleeping would add microseconds. */
static int time_answer(const timer *t, const answers *with, int32_t count, double *ret_ms)
{
    int32_t copy = count % with->copies;
    int64_t begin_ns = crn_now_ns();
    int r = with->upload_beside ? crn_gpu_work_upload(t->work, copy) : 0;
    if (r == 0)
        r = with->graphs[copy] ? t->gpu->launch(t->context, with->graphs[copy])
                               : crn_gpu_work_ask(t->work, copy);
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

static void free_answers(const timer *t, answers *with)
{
    for (int32_t i = 0; i < with->copies; i++)
        t->gpu->graph_free(&with->graphs[i]);
}

static int record_answers(timer *t, answers *with)
{
    int r = 0;
    for (int32_t i = 0; r == 0 && i < with->copies; i++) {
        r = t->gpu->record(t->context);
        if (r < 0)
            break;
        r = with->upload_recorded ? crn_gpu_work_upload(t->work, i) : 0;
        if (r == 0)
            r = crn_gpu_work_ask(t->work, i);
        int recorded = t->gpu->recorded(t->context, &with->graphs[i]);
        r = r < 0 ? r : recorded;
    }
    if (r < 0)
        free_answers(t, with);
    return r;
}

/* Times the results. */
static int time_answers(timer *t, bool upload_recorded, double seconds, double ms[LATENCIES],
                        int32_t *ret_count)
{
    int32_t copies = crn_gpu_work_copies(t->work), count = 0;
    answers with = {.copies = copies < GRAPHS_MAX ? copies : GRAPHS_MAX,
                    .upload_beside = t->uploads && !upload_recorded,
                    .upload_recorded = upload_recorded};
    int r = t->can_record ? record_answers(t, &with) : 0;
    for (int32_t i = 0; r == 0 && i < with.copies; i++) /* cold start */
        r = time_answer(t, &with, i, &ms[0]);
    int64_t begin_ns = crn_now_ns();
    while (r == 0 && count < LATENCIES &&
           (count < LATENCIES_MIN || (double)(crn_now_ns() - begin_ns) < 1e9 * seconds)) {
        r = time_answer(t, &with, count, &ms[count]);
        count++;
    }
    int waited = wait_for(t->gpu, t->context);
    free_answers(t, &with);
    *ret_count = count;
    return r < 0 ? r : waited;
}

static int time_by_host(timer *t, double seconds, crn_gpu_figures *figures)
{
    double ms[LATENCIES];
    int32_t count = 0;
    int r = time_answers(t, false, seconds, ms, &count);
    if (r < 0)
        return r;
    figures->clock_ms = crn_gpu_median(ms, count);
    figures->p99_ms = ms[(count * 99 - 1) / 100];
    if (!t->uploads || !t->can_record)
        return 0;
    r = time_answers(t, true, seconds, ms, &count);
    if (r == 0)
        figures->whole_ms = crn_gpu_median(ms, count);
    return r;
}

int crn_gpu_time(const crn_gpu *gpu, crn_gpu_work *work, crn_gpu_span span, double seconds,
                 crn_gpu_figures *ret_figures)
{
    crn_gpu_figures figures = {NAN, NAN, NAN, NAN, NAN};
    timer t = {.gpu = gpu,
               .work = work,
               .context = crn_gpu_work_context(work),
               .uploads = span == CRN_GPU_FROM_HOST};
    int r = choose_length(&t);
    if (r == 0)
        r = time_by_device(&t, seconds, &figures);
    if (r == 0 && span != CRN_GPU_ON_DEVICE)
        r = time_by_host(&t, seconds, &figures);
    wait_for(gpu, t.context);
    if (r == 0)
        *ret_figures = figures;
    return r;
}

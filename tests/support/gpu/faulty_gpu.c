#include "tests/support/gpu/faulty_gpu.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

const char *const crn_gpu_fault_names[] = {"sound", "fails once", "fails",        "hangs",
                                           "stuck", "vanishes",   "slow uploads", "busy"};

static const crn_gpu *inner;
static crn_gpu table;
static crn_ops faulty_ops;

static atomic_int fault;
static atomic_int left; /* calls until the fault */
static atomic_bool struck;
static sem_t gate;

/* Called before every call: 0, or the error to return instead. */
static int strike(void)
{
    int kind = atomic_load(&fault);
    if (kind == CRN_GPU_SOUND)
        return 0;
    int before = atomic_fetch_sub(&left, 1);
    if (before > 0 || kind >= CRN_GPU_SLOW_UPLOADS)
        return 0;
    atomic_store(&struck, true);
    if (before == 0 && kind == CRN_GPU_STUCK)
        while (sem_wait(&gate) != 0)
            continue;
    if (kind == CRN_GPU_FAILS || (before == 0 && kind == CRN_GPU_FAILS_ONCE))
        return -EIO;
    return kind == CRN_GPU_VANISHES ? -ENODEV : 0;
}

#define FAULTY(call)                                                                               \
    int r = strike();                                                                              \
    return r < 0 ? r : inner->call

static int contours(crn_context *context, const crn_contours_params *params, const crn_image *in,
                    crn_contours *out)
{
    FAULTY(ops->contours(context, params, in, out));
}

static int morphology(crn_context *context, const crn_morphology_params *params,
                      const crn_image *in, crn_image *out)
{
    FAULTY(ops->morphology(context, params, in, out));
}

static int convolve(crn_context *context, const crn_convolve_params *params, const crn_image *in,
                    crn_image *out)
{
    FAULTY(ops->convolve(context, params, in, out));
}

static int haar(crn_context *context, const crn_haar_params *params, const crn_image *in,
                crn_image *out)
{
    FAULTY(ops->haar(context, params, in, out));
}

static int widen(crn_context *context, const crn_image *in, crn_image *out)
{
    FAULTY(ops->widen(context, in, out));
}

static int narrow(crn_context *context, const crn_image *in, crn_image *out)
{
    FAULTY(ops->narrow(context, in, out));
}

static int sum_runs(crn_context *context, const crn_image *in, const crn_run *runs, uint32_t count,
                    crn_run_sum *sums)
{
    FAULTY(ops->sum_runs(context, in, runs, count, sums));
}

static int mean_boxes(crn_context *context, const crn_image *in, const crn_boxes *boxes,
                      crn_box_mean *means)
{
    FAULTY(ops->mean_boxes(context, in, boxes, means));
}

static int see_values(crn_context *context, const crn_image *in, crn_values_seen *parts)
{
    FAULTY(ops->see_values(context, in, parts));
}

static int context_create(int32_t device, int32_t views, crn_context **ret_context)
{
    FAULTY(context_create(device, views, ret_context));
}

static int use(crn_context *context)
{
    FAULTY(use(context));
}

/* Per device thread: the last operation was an upload. */
static _Thread_local bool uploaded;
static atomic_int batches;

static int upload(crn_context *context, void *device, const void *host, size_t bytes)
{
    uploaded = true;
    if (atomic_load(&fault) == CRN_GPU_SLOW_UPLOADS)
        crn_clock_move(CRN_FAULTY_GPU_UPLOAD_NS);
    FAULTY(upload(context, device, host, bytes));
}

static int download(crn_context *context, void *host, const void *device, size_t bytes)
{
    FAULTY(download(context, host, device, bytes));
}

/* Busy device, used by its thread only: per context, the end time of its latest batch. Each
 * question whether it has ended takes some time of the clock that the device's thread reads, so
 * that it does not matter how often it finds a core to ask. */
#define QUESTION_NS (CRN_FAULTY_GPU_BATCH_NS / 16)
#define BUSY_MAX    64
static struct {
    const crn_context *context;
    int64_t until_ns;
} busy[BUSY_MAX];
static int64_t busy_until_ns;

static void be_busy(const crn_context *context)
{
    int64_t now_ns = crn_now_ns();
    int32_t i = 0;
    while (i < BUSY_MAX - 1 && busy[i].context && busy[i].context != context)
        i++;
    busy_until_ns = (busy_until_ns > now_ns ? busy_until_ns : now_ns) + CRN_FAULTY_GPU_BATCH_NS;
    busy[i].context = context;
    busy[i].until_ns = busy_until_ns;
}

static bool is_busy(const crn_context *context)
{
    crn_clock_move(QUESTION_NS);
    for (int32_t i = 0; i < BUSY_MAX; i++)
        if (busy[i].context == context)
            return crn_now_ns() < busy[i].until_ns;
    return false;
}

static int poll_one(crn_context *context)
{
    int r = strike();
    if (atomic_load(&fault) == CRN_GPU_BUSY && is_busy(context))
        return -EAGAIN;
    if (r == 0 && atomic_load(&fault) == CRN_GPU_HANGS && atomic_load(&struck))
        return -EAGAIN;
    if (r == 0)
        r = inner->poll(context);
    /* The enqueued work is done by then. */
    while (r == -EAGAIN && atomic_load(&fault) >= CRN_GPU_SLOW_UPLOADS)
        r = inner->poll(context);
    return r;
}

static int record_event(crn_context *context, int32_t number)
{
    FAULTY(record_event(context, number));
}

static int elapsed(crn_context *context, int32_t from, int32_t to, int64_t *ret_ns)
{
    FAULTY(elapsed(context, from, to, ret_ns));
}

static int signal_query(void *signal)
{
    FAULTY(signal_query(signal));
}

static int begin_capture(crn_context *context)
{
    uploaded = false;
    FAULTY(begin_capture(context));
}

/* A capture that was begun must be ended, even when an error is returned. */
static int end_capture(crn_context *context, crn_gpu_graph **ret_graph)
{
    int r = strike();
    crn_gpu_graph *graph = NULL;
    int ended = inner->end_capture(context, &graph);
    if (r == 0)
        r = ended;
    if (r < 0)
        inner->graph_free(&graph);
    else
        *ret_graph = graph;
    return r;
}

static int launch(crn_context *context, crn_gpu_graph *graph)
{
    atomic_fetch_add(&batches, uploaded);
    if (atomic_load(&fault) == CRN_GPU_BUSY)
        be_busy(context);
    uploaded = false;
    FAULTY(launch(context, graph));
}

const crn_gpu *crn_faulty_gpu(const crn_gpu *sound)
{
    static bool made;
    /* A thread that was blocked may still be in here: unchanged fields are not written. */
    if (!made)
        sem_init(&gate, 0, 0);
    made = true;
    crn_faulty_gpu_set(CRN_GPU_SOUND, 0);
    atomic_store(&batches, 0);
    if (inner == sound)
        return &table;
    inner = sound;
    table = *sound;
    faulty_ops = *sound->ops;
    faulty_ops.contours = contours;
    faulty_ops.morphology = morphology;
    faulty_ops.convolve = convolve;
    faulty_ops.haar = haar;
    faulty_ops.widen = widen;
    faulty_ops.narrow = narrow;
    faulty_ops.sum_runs = sum_runs;
    faulty_ops.mean_boxes = mean_boxes;
    faulty_ops.see_values = see_values;
    table.ops = &faulty_ops;
    table.context_create = context_create;
    table.use = use;
    table.upload = upload;
    table.download = download;
    table.poll = poll_one;
    table.record_event = record_event;
    table.elapsed = elapsed;
    table.signal_query = signal_query;
    table.begin_capture = begin_capture;
    table.end_capture = end_capture;
    table.launch = launch;
    return &table;
}

void crn_faulty_gpu_set(crn_gpu_fault kind, int32_t after)
{
    atomic_store(&fault, CRN_GPU_SOUND);
    atomic_store(&struck, false);
    atomic_store(&left, after);
    atomic_store(&fault, (int)kind);
}

bool crn_faulty_gpu_struck(void)
{
    return atomic_load(&struck);
}

int32_t crn_faulty_gpu_batches(void)
{
    return atomic_load(&batches);
}

void crn_faulty_gpu_let_go(void)
{
    if (atomic_load(&fault) == CRN_GPU_STUCK && atomic_load(&struck))
        sem_post(&gate);
}

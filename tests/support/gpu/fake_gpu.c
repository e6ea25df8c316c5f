#include "tests/support/gpu/fake_gpu.h"

#include "tests/support/gpu/fake_export.h"
#include "tests/support/gpu/fake_pinned.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "stages/base/clock.h"
#include "stages/backend.h"
#include "stages/stage/classes.h"

#define ASKED_MAX 1024

/* One enqueued operation. */
typedef struct asked {
    int (*run)(crn_context *context, const struct asked *it);
    crn_image in, out;
    crn_contours *contours;
    double levels[CRN_CLASSES_MAX];
    union {
        crn_contours_params contours;
        crn_morphology_params morphology;
        crn_convolve_params convolve;
        crn_haar_params haar;
        crn_ranklet_params ranklet;
        crn_boxes boxes;
    } params;
    void *to;
    const void *from;
    size_t bytes;
    int32_t event;
} asked;

typedef struct asked_list {
    int32_t count, done;
    asked item[ASKED_MAX];
} asked_list;

struct crn_gpu_graph {
    asked_list list;
};

/* State of a context. */
typedef struct stand {
    crn_context *processor; /* executes the operators */
    asked_list stream;
    crn_gpu_graph *capture; /* NULL: not capturing, operations go to the stream */
    int64_t events_ns[CRN_GPU_EVENTS];
    int failed; /* the first error is kept */
} stand;

crn_fake_gpu_use crn_fake_gpu_used;
_Atomic int64_t crn_fake_gpu_slower_ns;
static int32_t device_count;
int32_t crn_fake_gpu_others;
bool crn_fake_gpu_mps;
static bool only_f32;
static _Atomic size_t most_bytes;

static void *take(void *owner, size_t bytes)
{
    const stand *it = owner;
    if (it->capture || bytes > atomic_load(&most_bytes))
        return NULL;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void give(void *owner, void *memory, size_t bytes)
{
    (void)owner;
    (void)bytes;
    free(memory);
}

static void close_stand(void *owner)
{
    stand *it = owner;
    crn_context_free(&it->processor);
    free(it);
    atomic_fetch_sub(&crn_fake_gpu_used.contexts, 1);
}

static const crn_context_allocator home = {.take = take, .give = give, .close = close_stand};

static stand *stand_of(const crn_context *context)
{
    return crn_context_owner(context, &home);
}

static int ask(crn_context *context, const asked *it)
{
    stand *owner = stand_of(context);
    if (!owner)
        return -EINVAL;
    asked_list *list = owner->capture ? &owner->capture->list : &owner->stream;
    if (list->count == ASKED_MAX)
        return -ENOMEM;
    list->item[list->count++] = *it;
    return 0;
}

/* --- operators --- */

static crn_image view_of(const crn_image *image, int32_t view)
{
    crn_image it = *image;
    it.data = (char *)image->data +
              (size_t)view * crn_image_elements(image) * crn_type_bytes(image->type);
    return it;
}

static const crn_ops *processor_ops(void)
{
    const char *why;
    return crn_backend_ops(CRN_BACKEND_OPENMP, &why);
}

/* Runs view by view, appending the results until the capacity is reached. */
static int run_contours(crn_context *context, const asked *it)
{
    crn_contours *all = it->contours;
    crn_contours_params params = it->params.contours;
    params.levels = it->levels;
    all->point_count = all->contour_count = 0;
    all->truncated = false;
    for (int32_t v = 0; v < crn_context_views(context) && !all->truncated; v++) {
        crn_image in = view_of(&it->in, v);
        crn_contours one = {.points = all->points + all->point_count,
                            .contours = all->contours + all->contour_count,
                            .point_capacity = all->point_capacity - all->point_count,
                            .contour_capacity = all->contour_capacity - all->contour_count};
        int r = processor_ops()->contours(stand_of(context)->processor, &params, &in, &one);
        if (r < 0)
            return r;
        for (uint32_t i = 0; i < one.contour_count; i++) {
            one.contours[i].plane += v * in.planes;
            one.contours[i].first += all->point_count;
        }
        all->point_count += one.point_count;
        all->contour_count += one.contour_count;
        all->truncated = one.truncated;
    }
    return 0;
}

static int contours(crn_context *context, const crn_contours_params *params, const crn_image *in,
                    crn_contours *out)
{
    asked it = {.run = run_contours, .in = *in, .contours = out, .params = {.contours = *params}};
    memcpy(it.levels, params->levels, (size_t)in->planes * sizeof *it.levels);
    return ask(context, &it);
}

#define FOR_EACH_VIEW(call)                                                                        \
    crn_context *processor = stand_of(context)->processor;                                         \
    int r = 0;                                                                                     \
    for (int32_t v = 0; v < crn_context_views(context) && r == 0; v++) {                           \
        crn_image in = view_of(&it->in, v), out = view_of(&it->out, v);                            \
        r = processor_ops()->call;                                                                 \
    }                                                                                              \
    return r

static int run_morphology(crn_context *context, const asked *it)
{
    FOR_EACH_VIEW(morphology(processor, &it->params.morphology, &in, &out));
}

static int run_convolve(crn_context *context, const asked *it)
{
    FOR_EACH_VIEW(convolve(processor, &it->params.convolve, &in, &out));
}

static int run_haar(crn_context *context, const asked *it)
{
    FOR_EACH_VIEW(haar(processor, &it->params.haar, &in, &out));
}

static int run_ranklet(crn_context *context, const asked *it)
{
    FOR_EACH_VIEW(ranklet(processor, &it->params.ranklet, &in, &out));
}

static int run_widen(crn_context *context, const asked *it)
{
    FOR_EACH_VIEW(widen(processor, &in, &out));
}

static int run_narrow(crn_context *context, const asked *it)
{
    FOR_EACH_VIEW(narrow(processor, &in, &out));
}

static int run_sum_runs(crn_context *context, const asked *it)
{
    return processor_ops()->sum_runs(stand_of(context)->processor, &it->in, it->from,
                                     (uint32_t)it->bytes, it->to);
}

static int run_mean_boxes(crn_context *context, const asked *it)
{
    return processor_ops()->mean_boxes(stand_of(context)->processor, &it->in, &it->params.boxes,
                                       it->to);
}

static int run_see_values(crn_context *context, const asked *it)
{
    crn_values_seen *parts = it->to;
    int r = 0;
    for (int32_t v = 0; v < crn_context_views(context) && r == 0; v++) {
        crn_image in = view_of(&it->in, v);
        r = processor_ops()->see_values(stand_of(context)->processor, &in,
                                        parts + (ptrdiff_t)v * CRN_VALUES_PARTS);
    }
    return r;
}

static int morphology(crn_context *context, const crn_morphology_params *params,
                      const crn_image *in, crn_image *out)
{
    asked it = {.run = run_morphology, .in = *in, .out = *out, .params = {.morphology = *params}};
    return ask(context, &it);
}

static int convolve(crn_context *context, const crn_convolve_params *params, const crn_image *in,
                    crn_image *out)
{
    asked it = {.run = run_convolve, .in = *in, .out = *out, .params = {.convolve = *params}};
    return ask(context, &it);
}

static int haar(crn_context *context, const crn_haar_params *params, const crn_image *in,
                crn_image *out)
{
    asked it = {.run = run_haar, .in = *in, .out = *out, .params = {.haar = *params}};
    if (only_f32 && in->type != CRN_F32)
        return -ENOMEM;
    return ask(context, &it);
}

static int ranklet(crn_context *context, const crn_ranklet_params *params, const crn_image *in,
                   crn_image *out)
{
    asked it = {.run = run_ranklet, .in = *in, .out = *out, .params = {.ranklet = *params}};
    return ask(context, &it);
}

static int widen(crn_context *context, const crn_image *in, crn_image *out)
{
    asked it = {.run = run_widen, .in = *in, .out = *out};
    return ask(context, &it);
}

static int narrow(crn_context *context, const crn_image *in, crn_image *out)
{
    asked it = {.run = run_narrow, .in = *in, .out = *out};
    return ask(context, &it);
}

static int sum_runs(crn_context *context, const crn_image *in, const crn_run *runs, uint32_t number,
                    crn_run_sum *sums)
{
    asked it = {.run = run_sum_runs, .in = *in, .from = runs, .bytes = number, .to = sums};
    return ask(context, &it);
}

static int mean_boxes(crn_context *context, const crn_image *in, const crn_boxes *boxes,
                      crn_box_mean *means)
{
    asked it = {.run = run_mean_boxes, .in = *in, .params = {.boxes = *boxes}, .to = means};
    return ask(context, &it);
}

static int see_values(crn_context *context, const crn_image *in, crn_values_seen *parts)
{
    asked it = {.run = run_see_values, .in = *in, .to = parts};
    return ask(context, &it);
}

static const crn_ops fake_ops = {
    .name = "cuda",
    .contours = contours,
    .morphology = morphology,
    .convolve = convolve,
    .haar = haar,
    .ranklet = ranklet,
    .widen = widen,
    .narrow = narrow,
    .sum_runs = sum_runs,
    .mean_boxes = mean_boxes,
    .see_values = see_values,
};

/* --- operator table --- */

static int32_t count(void)
{
    return device_count;
}

static int describe(int32_t device, crn_gpu_device *ret_device)
{
    if (device >= device_count)
        return -ENODEV;
    *ret_device = (crn_gpu_device){
        .capability = 90, .multiprocessors = 1, .memory_bytes = 1u << 30, .mps = crn_fake_gpu_mps};
    snprintf(ret_device->name, sizeof ret_device->name, "Fake %d", device);
    crn_fake_gpu_uuid(device, ret_device->uuid);
    return 0;
}

static int32_t processes(int32_t device)
{
    (void)device;
    return crn_fake_gpu_others + (crn_fake_gpu_mps || atomic_load(&crn_fake_gpu_used.contexts) > 0);
}

static int context_create(int32_t device, int32_t views, crn_context **ret_context)
{
    if (device >= device_count)
        return -ENODEV;
    stand *it = calloc(1, sizeof *it);
    if (!it)
        return -ENOMEM;
    int r = crn_context_create(1, &it->processor);
    if (r == 0)
        r = crn_context_create_at(&home, it, views, ret_context);
    if (r < 0) {
        crn_context_free(&it->processor);
        free(it);
        return r;
    }
    atomic_fetch_add(&crn_fake_gpu_used.contexts, 1);
    return 0;
}

static int context_create_on(int32_t device, void *stream, crn_context **ret_context)
{
    (void)stream;
    return context_create(device, 1, ret_context);
}

static int use(crn_context *context)
{
    return stand_of(context) ? 0 : -EINVAL;
}

static int run_copy(crn_context *context, const asked *it)
{
    (void)context;
    memcpy(it->to, it->from, it->bytes);
    return 0;
}

static int copy(crn_context *context, void *to, const void *from, size_t bytes)
{
    asked it = {.run = run_copy, .to = to, .from = from, .bytes = bytes};
    return ask(context, &it);
}

static int run_probe(crn_context *context, const asked *it)
{
    crn_fake_gpu_probe(&it->in, crn_context_views(context), it->to);
    return 0;
}

static int probe(crn_context *context, const crn_image *in, crn_values_probe *probes)
{
    asked it = {.run = run_probe, .in = *in, .to = probes};
    return ask(context, &it);
}

static int poll_stream(crn_context *context)
{
    stand *it = stand_of(context);
    asked_list *stream = &it->stream;
    if (it->failed == 0 && stream->done < stream->count) {
        const asked *next = &stream->item[stream->done++];
        crn_fake_gpu_allow(PROT_READ | PROT_WRITE);
        it->failed = next->run(context, next);
        crn_fake_gpu_allow(PROT_NONE);
    }
    if (it->failed < 0)
        return -EIO;
    if (stream->done < stream->count)
        return -EAGAIN;
    stream->done = stream->count = 0;
    return 0;
}

static int run_event(crn_context *context, const asked *it)
{
    stand_of(context)->events_ns[it->event] = crn_now_ns();
    return 0;
}

static int record_event(crn_context *context, int32_t number)
{
    asked it = {.run = run_event, .event = number};
    return number < CRN_GPU_EVENTS ? ask(context, &it) : -EINVAL;
}

static int elapsed(crn_context *context, int32_t from, int32_t to, int64_t *ret_ns)
{
    const stand *it = stand_of(context);
    if (!it->events_ns[from] || !it->events_ns[to])
        return -EINVAL;
    *ret_ns = it->events_ns[to] - it->events_ns[from] + atomic_load(&crn_fake_gpu_slower_ns);
    return 0;
}

static int begin_capture(crn_context *context)
{
    stand *it = stand_of(context);
    it->capture = calloc(1, sizeof *it->capture);
    if (!it->capture)
        return -ENOMEM;
    atomic_fetch_add(&crn_fake_gpu_used.graphs, 1);
    return 0;
}

static int end_capture(crn_context *context, crn_gpu_graph **ret_graph)
{
    stand *it = stand_of(context);
    *ret_graph = it->capture;
    it->capture = NULL;
    return 0;
}

static int launch(crn_context *context, crn_gpu_graph *graph)
{
    atomic_fetch_add(&crn_fake_gpu_used.launches, 1);
    atomic_fetch_add(&crn_fake_gpu_used.batched, crn_context_views(context));
    int r = 0;
    for (int32_t i = 0; i < graph->list.count && r == 0; i++)
        r = ask(context, &graph->list.item[i]);
    return r;
}

static void graph_free(crn_gpu_graph **graph)
{
    if (!*graph)
        return;
    atomic_fetch_sub(&crn_fake_gpu_used.graphs, 1);
    free(*graph);
    *graph = NULL;
}

static const crn_gpu table = {
    .ops = &fake_ops,
    .count = count,
    .describe = describe,
    .processes = processes,
    .context_create = context_create,
    .use = use,
    .pinned_create = crn_fake_gpu_pinned_create,
    .pinned_free = crn_fake_gpu_pinned_free,
    .pin = crn_fake_gpu_pin,
    .unpin = crn_fake_gpu_unpin,
    .upload = copy,
    .download = copy,
    .poll = poll_stream,
    .record_event = record_event,
    .elapsed = elapsed,
    .begin_capture = begin_capture,
    .end_capture = end_capture,
    .launch = launch,
    .graph_free = graph_free,
    .context_create_on = context_create_on,
    .copy = copy,
    .probe = probe,
    .export_create = crn_fake_gpu_export_create,
    .export_free = crn_fake_gpu_export_free,
    .signal_create = crn_fake_gpu_signal_create,
    .signal_query = crn_fake_gpu_signal_query,
    .signal_free = crn_fake_gpu_signal_free,
};

const crn_gpu *crn_fake_gpu(int32_t devices, bool f32_only)
{
    device_count = devices;
    only_f32 = f32_only;
    crn_fake_gpu_limit(SIZE_MAX);
    crn_fake_gpu_others = 0;
    crn_fake_gpu_mps = false;
    atomic_store(&crn_fake_gpu_used.unpinned_early, 0);
    atomic_store(&crn_fake_gpu_used.launches, 0);
    atomic_store(&crn_fake_gpu_used.batched, 0);
    return &table;
}

void crn_fake_gpu_limit(size_t bytes)
{
    atomic_store(&most_bytes, bytes);
}

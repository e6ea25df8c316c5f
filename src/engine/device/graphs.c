/* Captures graphs per shape and owns their contexts and memory. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/range.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "src/engine/device/internal.h"

/*
 * The views of a batch share one contours buffer, sized for this many views and for at most
 * POINTS_MAX points (more only if a single view may have more). What does not fit runs on the
 * processor.
 */
#define VIEWS_OF_POINTS 4
#define POINTS_MAX      (4u << 20)

/* A contour has at least two points; those of real maps have many. */
#define POINTS_PER_CONTOUR 4

static uint32_t block_points(const crn_config *config)
{
    uint32_t points = (uint32_t)config->limits.points;
    if (points > POINTS_MAX / VIEWS_OF_POINTS)
        return points > POINTS_MAX ? points : POINTS_MAX;
    return VIEWS_OF_POINTS * points;
}

static size_t block_bytes(const crn_config *config)
{
    size_t points = block_points(config);
    return points * sizeof(crn_point) + points / POINTS_PER_CONTOUR * sizeof(crn_contour);
}

size_t crn_device_bytes(const crn_config *config)
{
    return CRN_DEVICE_SLOTS * (sizeof(crn_job) + block_bytes(config));
}

int crn_slot_create(crn_device *device, crn_device_slot *slot)
{
    const crn_gpu *gpu = device->gpu;
    uint32_t points = block_points(device->config);
    slot->job = gpu->pinned_create(sizeof *slot->job);
    if (!slot->job)
        return -ENOMEM;
    memset(slot->job, 0, sizeof *slot->job);
    crn_contours *contours = &slot->job->contours;
    contours->point_capacity = points;
    contours->contour_capacity = points / POINTS_PER_CONTOUR;
    contours->points = gpu->pinned_create(points * sizeof *contours->points);
    contours->contours =
        gpu->pinned_create(contours->contour_capacity * sizeof *contours->contours);
    return contours->points && contours->contours ? 0 : -ENOMEM;
}

void crn_slot_free(crn_device *device, crn_device_slot *slot)
{
    const crn_gpu *gpu = device->gpu;
    for (int32_t batch = 0; batch < CRN_DEVICE_BATCHES; batch++)
        crn_context_free(&slot->context[batch]);
    if (!slot->job)
        return;
    gpu->pinned_free(slot->job->contours.points);
    gpu->pinned_free(slot->job->contours.contours);
    gpu->pinned_free(slot->job);
    slot->job = NULL;
}

/* Enqueues a batch's enqueue halves, with an event before the first and after each. */
static int enqueue(crn_device *device, crn_device_slot *slot, int32_t batch, const crn_shape *shape,
                   uint32_t skipped)
{
    const crn_config *config = &crn_device_settings_of(device, shape)->config;
    const crn_gpu *gpu = device->gpu;
    crn_job *job = slot->job;
    crn_context *context = slot->context[batch];
    job->ops = gpu->ops;
    job->context = context;
    job->classes = &config->classes;
    job->received =
        crn_image_dense(crn_context_scratch(context, CRN_DEVICE_RECEIVED, crn_shape_bytes(shape)),
                        shape->type, shape->layout, shape->channels, shape->height, shape->width);
    job->maps = job->received;
    int r = job->received.data ? gpu->record_event(context, 0) : -ENOMEM;
    for (int32_t i = 0; i < config->steps && r == 0; i++) {
        const crn_step *step = &config->chain[i];
        if (!step->stage->enqueue || skipped & UINT32_C(1) << i)
            continue;
        CRN_RANGE_BEGIN("%s", step->stage->name);
        r = step->stage->enqueue(step->settings, job);
        CRN_RANGE_END();
        if (r == 0)
            r = gpu->record_event(context, i + 1);
        /* A call that returned too late: the line may have ended meanwhile. */
        if (!crn_device_is_running(device))
            r = -ENODEV;
    }
    return r;
}

/* Uploads one view's maps, in a profiler range of its own. */
static int upload(crn_device *device, crn_context *context, void *received,
                  const crn_device_view *view, size_t bytes)
{
    /* Each upload restarts the call's timer: from memory that is not pinned it takes long. */
    atomic_store(&device->since_ns, crn_now_ns());
    CRN_RANGE_BEGIN("upload lane %" PRIu32 " fruit %" PRIu64 " view %" PRIu32, view->lane,
                    view->fruit, view->index);
    int r = device->gpu->upload(context, received, view->maps, bytes);
    CRN_RANGE_END();
    return r;
}

int crn_slot_launch(crn_device *device, crn_device_slot *slot, int32_t batch,
                    const crn_batch_graph *graph, crn_device_view *const *views, int32_t count,
                    const char **ret_what)
{
    const crn_gpu *gpu = device->gpu;
    crn_context *context = slot->context[batch];
    size_t bytes = crn_shape_bytes(&views[0]->shape);
    char *received = crn_context_scratch(context, CRN_DEVICE_RECEIVED, bytes);
    int r = received ? gpu->use(context) : -ENOMEM;
    *ret_what = "choosing it";
    for (int32_t i = 0; i < count && r == 0; i++) {
        *ret_what = "an upload";
        r = upload(device, context, received + (size_t)i * bytes, views[i], bytes);
    }
    if (r == 0) {
        *ret_what = "a launch";
        atomic_store(&device->since_ns, crn_now_ns());
        CRN_RANGE_BEGIN("launch");
        r = gpu->launch(context, graph->captured);
        CRN_RANGE_END();
    }
    return r;
}

/* Runs the chain once on empty maps, so that all memory is allocated, and waits. */
static int run_once(crn_device *device, crn_device_slot *slot, int32_t batch,
                    const crn_shape *shape, uint32_t skipped, const void *empty)
{
    const crn_gpu *gpu = device->gpu;
    crn_context *context = slot->context[batch];
    size_t bytes = crn_shape_bytes(shape);
    char *received = crn_context_scratch(context, CRN_DEVICE_RECEIVED, bytes);
    int r = received ? 0 : -ENOMEM;
    for (int32_t i = 0; i < 1 << batch && r == 0; i++)
        r = gpu->upload(context, received + (size_t)i * bytes, empty, bytes);
    if (r == 0)
        r = enqueue(device, slot, batch, shape, skipped);
    /* Operations enqueued before a failure still run. */
    int waited = crn_gpu_wait(gpu, context, CRN_DEVICE_PREPARE_LIMIT_NS);
    return waited < 0 ? waited : r;
}

static int capture(crn_device *device, crn_device_slot *slot, int32_t batch, const crn_shape *shape,
                   uint32_t skipped, crn_gpu_graph **ret_graph)
{
    const crn_gpu *gpu = device->gpu;
    crn_context *context = slot->context[batch];
    int r = gpu->begin_capture(context);
    if (r < 0)
        return r;
    r = enqueue(device, slot, batch, shape, skipped);
    crn_gpu_graph *graph = NULL;
    int ended = gpu->end_capture(context, &graph);
    if (r == 0)
        r = ended;
    if (r == 0)
        *ret_graph = graph;
    else
        gpu->graph_free(&graph);
    return r;
}

static int capture_graph(crn_device *device, const crn_shape *shape, int32_t mask, int32_t batch,
                         int32_t slot_index, const void *empty, crn_batch_graph *graph)
{
    const crn_gpu *gpu = device->gpu;
    crn_device_slot *slot = &device->slots[slot_index];
    uint32_t skipped = mask ? crn_device_settings_of(device, shape)->optional : 0;
    gpu->graph_free(&graph->captured);
    int r = 0;
    if (!slot->context[batch])
        r = gpu->context_create(device->number, 1 << batch, &slot->context[batch]);
    if (r == 0)
        r = gpu->use(slot->context[batch]);
    if (r == 0)
        r = run_once(device, slot, batch, shape, skipped, empty);
    if (r == 0)
        r = capture(device, slot, batch, shape, skipped, &graph->captured);
    if (r < 0)
        return r;
    graph->generation = crn_context_generation(slot->context[batch]);
    graph->expected_ns = 0; /* unknown until one has run */
    if (batch > 0)
        return 0;
    /* Launch once now, to learn at set-up whether graphs work at all. */
    r = gpu->launch(slot->context[batch], graph->captured);
    return r < 0 ? r : crn_gpu_wait(gpu, slot->context[batch], CRN_DEVICE_PREPARE_LIMIT_NS);
}

/* True if the failure concerns this shape and not the device. */
static bool is_refusal(int r)
{
    return r != -EIO && r != -ENODEV && r != -ETIMEDOUT;
}

/* Captures all graphs of a shape that are missing or whose context has a newer generation. `later`:
 * only those that were captured before. */
static int capture_graphs(crn_device *device, crn_shape_graphs *graphs, bool later,
                          const void *empty)
{
    bool optional = crn_device_settings_of(device, &graphs->shape)->optional != 0;
    int32_t masks = optional ? CRN_DEVICE_MASKS : 1;
    for (int32_t i = 0; i < masks * CRN_DEVICE_BATCHES * CRN_DEVICE_SLOTS; i++) {
        int32_t mask = i % masks;
        int32_t slot = i / masks % CRN_DEVICE_SLOTS;
        int32_t batch = i / masks / CRN_DEVICE_SLOTS;
        crn_batch_graph *graph = &graphs->graph[mask][batch][slot];
        const crn_context *context = device->slots[slot].context[batch];
        bool is_current = graph->captured && graph->generation == crn_context_generation(context);
        if (is_current || (later && !graph->captured))
            continue;
        int r = capture_graph(device, &graphs->shape, mask, batch, slot, empty, graph);
        if (r < 0) {
            device->gpu->graph_free(&graph->captured);
            /* The device still works without batches of several views. */
            if (is_refusal(r) && batch > 0)
                return 0;
            return r;
        }
    }
    return 0;
}

static bool any_stale(const crn_device *device, const crn_shape_graphs *graphs)
{
    for (int32_t mask = 0; mask < CRN_DEVICE_MASKS; mask++)
        for (int32_t batch = 0; batch < CRN_DEVICE_BATCHES; batch++)
            for (int32_t slot = 0; slot < CRN_DEVICE_SLOTS; slot++) {
                const crn_batch_graph *graph = &graphs->graph[mask][batch][slot];
                if (graph->captured &&
                    graph->generation != crn_context_generation(device->slots[slot].context[batch]))
                    return true;
            }
    return false;
}

static void free_shape(crn_device *device, crn_shape_graphs *graphs)
{
    for (int32_t mask = 0; mask < CRN_DEVICE_MASKS; mask++)
        for (int32_t batch = 0; batch < CRN_DEVICE_BATCHES; batch++)
            for (int32_t slot = 0; slot < CRN_DEVICE_SLOTS; slot++)
                device->gpu->graph_free(&graphs->graph[mask][batch][slot].captured);
    memset(graphs, 0, sizeof *graphs);
}

/* Captures the graphs of a shape again after another shape's preparation moved their memory. If
 * that fails the shape is forgotten and counts as new the next time. */
static int recapture_shape(crn_device *device, crn_shape_graphs *graphs)
{
    void *empty = calloc(1, crn_shape_bytes(&graphs->shape));
    int r = empty ? capture_graphs(device, graphs, true, empty) : -ENOMEM;
    free(empty);
    if (r < 0 && !is_refusal(r))
        return r;
    if (r < 0 || any_stale(device, graphs))
        free_shape(device, graphs);
    return 0;
}

/* Two passes: if memory ran short, the larger shapes reallocate it and thereby move that of the
 * smaller ones, once. */
static int recapture(crn_device *device)
{
    for (int32_t i = 0; i < 2 * CRN_DEVICE_SHAPES; i++) {
        crn_shape_graphs *graphs = &device->shapes[i % CRN_DEVICE_SHAPES];
        if (!graphs->used || graphs->refused || !any_stale(device, graphs))
            continue;
        int r = recapture_shape(device, graphs);
        if (r < 0)
            return r;
    }
    /* A stale graph must never be launched. */
    for (int32_t i = 0; i < CRN_DEVICE_SHAPES; i++)
        if (any_stale(device, &device->shapes[i]) && !device->shapes[i].refused)
            free_shape(device, &device->shapes[i]);
    return 0;
}

crn_shape_graphs *crn_shape_graphs_find(crn_device *device, const crn_shape *shape)
{
    for (int32_t i = 0; i < CRN_DEVICE_SHAPES; i++)
        if (device->shapes[i].used && crn_shape_same(&device->shapes[i].shape, shape))
            return &device->shapes[i];
    return NULL;
}

/* False also once its settings were given back. */
static bool is_in_use(crn_device *device, const crn_shape_graphs *graphs)
{
    return graphs->used && crn_device_settings_of(device, &graphs->shape);
}

/* Index of a free entry, or of the least recently used shape. */
static int32_t entry_for(crn_device *device)
{
    int32_t oldest = 0;
    for (int32_t i = 0; i < CRN_DEVICE_SHAPES; i++) {
        if (!is_in_use(device, &device->shapes[i]))
            return i;
        if (device->shapes[i].used_ns < device->shapes[oldest].used_ns)
            oldest = i;
    }
    return oldest;
}

bool crn_shape_graphs_have_room(crn_device *device, int64_t now_ns)
{
    const crn_shape_graphs *graphs = &device->shapes[entry_for(device)];
    return !is_in_use(device, graphs) || now_ns - graphs->used_ns > CRN_DEVICE_KEEP_NS;
}

/* Frees the graphs of settings that were given back. */
static void sweep(crn_device *device)
{
    for (int32_t i = 0; i < CRN_DEVICE_SHAPES; i++)
        if (device->shapes[i].used && !crn_device_settings_of(device, &device->shapes[i].shape))
            free_shape(device, &device->shapes[i]);
}

int crn_shape_graphs_prepare(crn_device *device, const crn_shape *shape)
{
    sweep(device);
    crn_shape_graphs *graphs = crn_shape_graphs_find(device, shape);
    if (!graphs) {
        graphs = &device->shapes[entry_for(device)];
        free_shape(device, graphs);
        graphs->shape = *shape;
        graphs->used = true;
    }
    void *empty = calloc(1, crn_shape_bytes(shape));
    int r = empty ? capture_graphs(device, graphs, false, empty) : -ENOMEM;
    free(empty);
    graphs->used_ns = crn_now_ns();
    if (r < 0 && !is_refusal(r))
        return r;
    if (r < 0) {
        char text[CRN_SHAPE_TEXT];
        crn_log(
            CRN_LOG_WARNING,
            "device %d does not support views of %s: %s; they run on the processor until restart",
            device->number, crn_shape_text(shape, text), strerror(-r));
        graphs->refused = true;
    }
    return recapture(device);
}

void crn_shape_graphs_free(crn_device *device)
{
    for (int32_t i = 0; i < CRN_DEVICE_SHAPES; i++)
        free_shape(device, &device->shapes[i]);
}

crn_batch_graph *crn_shape_graphs_choose(crn_device *device, crn_shape_graphs *graphs,
                                         uint32_t skipped, int32_t slot, int32_t count,
                                         int32_t *ret_batch)
{
    int32_t mask = skipped != 0;
    for (int32_t batch = CRN_DEVICE_BATCHES - 1; batch >= 0; batch--) {
        crn_batch_graph *graph = &graphs->graph[mask][batch][slot];
        const crn_context *context = device->slots[slot].context[batch];
        /* A stale graph would access freed memory. */
        if (1 << batch <= count && graph->captured &&
            graph->generation == crn_context_generation(context)) {
            *ret_batch = batch;
            return graph;
        }
    }
    return NULL;
}

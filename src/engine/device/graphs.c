/* Captures and launches the graphs of a shape; owns their contexts and memory. */
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

_Static_assert(CRN_STAGES_MAX < CRN_DEVICE_EVENT_BEGUN, "each stage has an event of its own");

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

/* What a slot's batch sees of its views' values. */
#define SEEN_BYTES  (CRN_DEVICE_BATCH_MAX * CRN_VALUES_PARTS * sizeof(crn_values_seen))
#define PROBE_BYTES (CRN_DEVICE_BATCH_MAX * sizeof(crn_values_probe))

size_t crn_device_bytes(const crn_config *config)
{
    return CRN_DEVICE_SLOTS * (sizeof(crn_job) + SEEN_BYTES + PROBE_BYTES + block_bytes(config)) +
           crn_device_reads_bytes(config);
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
    slot->seen = gpu->pinned_create(SEEN_BYTES);
    slot->probes = gpu->pinned_create(PROBE_BYTES);
    return contours->points && contours->contours && slot->seen && slot->probes ? 0 : -ENOMEM;
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
    gpu->pinned_free(slot->seen);
    gpu->pinned_free(slot->probes);
    slot->job = NULL;
    slot->seen = NULL;
    slot->probes = NULL;
}

/* Enqueues the validation of a batch's values and its enqueue halves, with an event before the
 * first of these and after each. */
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
    int r = job->received.data ? 0 : -ENOMEM;
    if (r == 0 && crn_device_sees_values(config))
        r = gpu->ops->see_values(context, &job->received, slot->seen);
    if (r == 0 && device->reads && crn_device_sees_values(config))
        r = gpu->probe(context, &job->received, slot->probes);
    if (r == 0)
        r = gpu->record_event(context, 0);
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

/* Uploads one view's maps, or copies them if they are on the device, in a profiler range of its
 * own. */
static int upload(crn_device *device, crn_context *context, void *received,
                  const crn_device_view *view, size_t bytes)
{
    /* Each upload restarts the call's timer: from memory that is not pinned it takes long. */
    atomic_store(&device->since_ns, crn_now_ns());
    CRN_RANGE_BEGIN("upload lane %" PRIu32 " fruit %" PRIu64 " view %" PRIu32, view->lane,
                    view->fruit, view->index);
    int r = view->signal ? device->gpu->copy(context, received, view->maps, bytes)
                         : device->gpu->upload(context, received, view->maps, bytes);
    CRN_RANGE_END();
    return r;
}

int crn_slot_launch(crn_device *device, crn_device_slot *slot, int32_t batch,
                    const crn_batch_graph *graph, crn_device_view *const *views,
                    const char **ret_what)
{
    const crn_gpu *gpu = device->gpu;
    crn_context *context = slot->context[batch];
    size_t bytes = crn_shape_bytes(&views[0]->shape);
    char *received = crn_context_scratch(context, CRN_DEVICE_RECEIVED, bytes);
    int r = received ? gpu->use(context) : -ENOMEM;
    *ret_what = "choosing it";
    if (r == 0) {
        *ret_what = "an event";
        r = gpu->record_event(context, CRN_DEVICE_EVENT_BEGUN);
    }
    for (int32_t i = 0; i < 1 << batch && r == 0; i++) {
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

/* Which of a shape's graphs. */
typedef struct graph_place {
    int32_t mask, batch, slot;
} graph_place;

static int capture_graph(crn_device *device, crn_shape_graphs *graphs, graph_place at,
                         const void *empty)
{
    const crn_gpu *gpu = device->gpu;
    const crn_shape *shape = &graphs->shape;
    crn_batch_graph *graph = &graphs->graph[at.mask][at.batch][at.slot];
    crn_device_slot *slot = &device->slots[at.slot];
    crn_context **context = &slot->context[at.batch];
    uint32_t skipped = at.mask ? crn_device_settings_of(device, shape)->optional : 0;
    gpu->graph_free(&graph->captured);
    int r = *context ? 0 : gpu->context_create(device->number, 1 << at.batch, context);
    if (r == 0)
        r = gpu->use(*context);
    if (r == 0)
        r = run_once(device, slot, at.batch, shape, skipped, empty);
    if (r == 0)
        r = capture(device, slot, at.batch, shape, skipped, &graph->captured);
    if (r < 0)
        return r;
    graph->generation = crn_context_generation(*context);
    graph->expected_ns = 0; /* unknown until one has run */
    if (at.batch > 0)
        return 0;
    /* Launch once now, to learn at set-up whether graphs work at all. */
    r = gpu->launch(*context, graph->captured);
    return r < 0 ? r : crn_gpu_wait(gpu, *context, CRN_DEVICE_PREPARE_LIMIT_NS);
}

bool crn_device_is_refusal(int error)
{
    return error != -EIO && error != -ENODEV && error != -ETIMEDOUT;
}

static bool is_current(const crn_device *device, const crn_shape_graphs *graphs, graph_place at)
{
    const crn_batch_graph *graph = &graphs->graph[at.mask][at.batch][at.slot];
    return graph->generation == crn_context_generation(device->slots[at.slot].context[at.batch]);
}

static int capture_all(crn_device *device, crn_shape_graphs *graphs, bool later, const void *empty)
{
    bool optional = crn_device_settings_of(device, &graphs->shape)->optional != 0;
    int32_t masks = optional ? CRN_DEVICE_MASKS : 1;
    for (int32_t i = 0; i < masks * CRN_DEVICE_BATCHES * CRN_DEVICE_SLOTS; i++) {
        graph_place at = {.mask = i % masks,
                          .batch = i / masks / CRN_DEVICE_SLOTS,
                          .slot = i / masks % CRN_DEVICE_SLOTS};
        crn_gpu_graph **captured = &graphs->graph[at.mask][at.batch][at.slot].captured;
        if (*captured ? is_current(device, graphs, at) : later)
            continue;
        /* Workers that read from the device wait meanwhile. */
        crn_device_serve_reads(device);
        if (!crn_device_is_running(device))
            return -ENODEV;
        int r = capture_graph(device, graphs, at, empty);
        if (r < 0) {
            device->gpu->graph_free(captured);
            /* The device still works without batches of several views. */
            return crn_device_is_refusal(r) && at.batch > 0 ? 0 : r;
        }
    }
    return 0;
}

int crn_shape_graphs_capture(crn_device *device, crn_shape_graphs *graphs, bool later)
{
    void *empty = calloc(1, crn_shape_bytes(&graphs->shape));
    int r = empty ? capture_all(device, graphs, later, empty) : -ENOMEM;
    free(empty);
    return r;
}

bool crn_shape_graphs_are_stale(const crn_device *device, const crn_shape_graphs *graphs)
{
    for (int32_t mask = 0; mask < CRN_DEVICE_MASKS; mask++)
        for (int32_t batch = 0; batch < CRN_DEVICE_BATCHES; batch++)
            for (int32_t slot = 0; slot < CRN_DEVICE_SLOTS; slot++)
                if (graphs->graph[mask][batch][slot].captured &&
                    !is_current(device, graphs, (graph_place){mask, batch, slot}))
                    return true;
    return false;
}

crn_batch_graph *crn_shape_graphs_choose(crn_device *device, crn_shape_graphs *graphs,
                                         uint32_t skipped, int32_t slot, int32_t count,
                                         int32_t *ret_batch)
{
    int32_t mask = skipped != 0;
    for (int32_t batch = CRN_DEVICE_BATCHES - 1; batch >= 0; batch--) {
        crn_batch_graph *graph = &graphs->graph[mask][batch][slot];
        /* A stale graph would access freed memory. */
        if (1 << batch <= count && graph->captured &&
            is_current(device, graphs, (graph_place){mask, batch, slot})) {
            *ret_batch = batch;
            return graph;
        }
    }
    return NULL;
}

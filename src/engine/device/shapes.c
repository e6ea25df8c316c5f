/* The shapes of views that the device has graphs for, or refused. */
#include <errno.h>
#include <string.h>

#include "src/engine/device/internal.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"

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
    int r = crn_shape_graphs_capture(device, graphs, true);
    if (r < 0 && !crn_device_is_refusal(r))
        return r;
    if (r < 0 || crn_shape_graphs_are_stale(device, graphs))
        free_shape(device, graphs);
    return 0;
}

/* Two passes: if memory ran short, the larger shapes reallocate it and thereby move that of the
 * smaller ones, once. */
static int recapture(crn_device *device)
{
    for (int32_t i = 0; i < 2 * CRN_DEVICE_SHAPES; i++) {
        crn_shape_graphs *graphs = &device->shapes[i % CRN_DEVICE_SHAPES];
        if (!graphs->used || graphs->refused || !crn_shape_graphs_are_stale(device, graphs))
            continue;
        int r = recapture_shape(device, graphs);
        if (r < 0)
            return r;
    }
    /* A stale graph must never be launched. */
    for (int32_t i = 0; i < CRN_DEVICE_SHAPES; i++)
        if (crn_shape_graphs_are_stale(device, &device->shapes[i]) && !device->shapes[i].refused)
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
    int r = crn_shape_graphs_capture(device, graphs, false);
    graphs->used_ns = crn_now_ns();
    if (r < 0 && !crn_device_is_refusal(r))
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

/* The devices, their measured cost, and the routing of views to them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "src/engine/internal.h"
#include "stages/backend.h"

/* Sizes of the views that are measured at the start, on both sides. */
#define SMALL_HEIGHT 48
#define SMALL_WIDTH  256
#define LARGE_HEIGHT 95
#define LARGE_WIDTH  511
#define RUNS         7

/* Maps as a CNN might produce them: one soft disc per class, side by side; f32, interleaved. */
static float *synthetic_maps(const crn_shape *shape)
{
    float *maps = malloc(crn_shape_bytes(shape));
    if (!maps)
        return NULL;
    float *at = maps;
    float radius = (float)shape->height / 3;
    for (int32_t y = 0; y < shape->height; y++) {
        for (int32_t x = 0; x < shape->width; x++) {
            for (int32_t c = 0; c < shape->channels; c++) {
                float dx =
                    (float)x - ((float)c + 0.5f) * (float)shape->width / (float)shape->channels;
                float dy = (float)y - (float)shape->height / 2;
                float distance = (dx * dx + dy * dy) / (radius * radius);
                *at++ = 1 / (1 + distance * distance);
            }
        }
    }
    return maps;
}

static int measure_processor(crn_chain *chain, const crn_shape *shape, float *maps, int64_t *ret_ns)
{
    crn_chain_input input = {.maps = crn_image_dense(maps, shape->type, shape->layout,
                                                     shape->channels, shape->height, shape->width),
                             .deadline_ns = CRN_NEVER_NS};
    int64_t took_ns[RUNS];
    int r = crn_chain_measure(chain, &input, &took_ns[0]); /* warm-up: allocates memory */
    for (int32_t i = 0; i < RUNS && r == 0; i++)
        r = crn_chain_measure(chain, &input, &took_ns[i]);
    if (r == 0)
        *ret_ns = crn_cost_model_median_ns(took_ns, RUNS);
    return r;
}

static int measure_shape(const crn_devices *devices, crn_chain *chain, const crn_shape *shape,
                         int64_t *ret_processor_ns, int64_t *ret_device_ns)
{
    float *maps = synthetic_maps(shape);
    if (!maps)
        return -ENOMEM;
    int r = measure_processor(chain, shape, maps, ret_processor_ns);
    if (r == 0)
        r = crn_device_measure(devices->device[0], shape, maps, RUNS, ret_device_ns);
    /* A device that does not respond may still read them. */
    if (r != -ETIMEDOUT)
        free(maps);
    return r;
}

/* Measures the round trip between this thread and the device's. */
static int measure_hand_over(const crn_devices *devices, int64_t *ret_ns)
{
    crn_shape none = {.height = 0};
    int64_t took_ns[RUNS], no_run_ns;
    for (int32_t i = 0; i < RUNS; i++) {
        int64_t begun_ns = crn_now_ns();
        int r = crn_device_measure(devices->device[0], &none, NULL, 0, &no_run_ns);
        if (r < 0)
            return r;
        took_ns[i] = crn_now_ns() - begun_ns;
    }
    *ret_ns = crn_cost_model_median_ns(took_ns, RUNS);
    return 0;
}

static int measure(crn_devices *devices, const crn_ops *ops)
{
    const crn_config *config = devices->config;
    int32_t classes = config->classes.count;
    crn_shape small = {SMALL_HEIGHT, SMALL_WIDTH, classes, CRN_F32, CRN_HWC, config->generation};
    crn_shape large = {LARGE_HEIGHT, LARGE_WIDTH, classes, CRN_F32, CRN_HWC, config->generation};
    int64_t processor_ns[2], device_ns[2], hand_over_ns = 0;
    crn_chain *chain = NULL;
    int r = crn_chain_create(config, ops, &chain);
    if (r == 0)
        r = measure_shape(devices, chain, &small, &processor_ns[0], &device_ns[0]);
    if (r == 0)
        r = measure_shape(devices, chain, &large, &processor_ns[1], &device_ns[1]);
    crn_chain_free(&chain);
    if (r == 0)
        r = measure_hand_over(devices, &hand_over_ns);
    if (r < 0)
        return r;
    /* The route to the device's thread and back to the line's, before a worker gets the view. */
    device_ns[0] += hand_over_ns;
    device_ns[1] += hand_over_ns;
    size_t small_bytes = crn_shape_bytes(&small), large_bytes = crn_shape_bytes(&large);
    devices->processor_cost =
        crn_cost_fit(small_bytes, processor_ns[0], large_bytes, processor_ns[1]);
    devices->device_cost = crn_cost_fit(small_bytes, device_ns[0], large_bytes, device_ns[1]);
    char text[CRN_SHAPE_TEXT];
    crn_log(CRN_LOG_INFO, "auto: a synthetic view of %s takes %.3f ms via %s, %.3f ms on %s",
            crn_shape_text(&large, text), (double)device_ns[1] / CRN_NS_PER_MS,
            crn_device_about(devices->device[0])->name, (double)processor_ns[1] / CRN_NS_PER_MS,
            ops->name);
    return 0;
}

static int open_one(crn_devices *devices, const crn_device_base *base, int64_t number,
                    crn_error *error)
{
    int32_t there = base->gpu->count();
    if (number >= there)
        return crn_error_set(error, -ENODEV,
                             "run.devices: there is no device %d; this machine has %d, numbered "
                             "from 0",
                             (int)number, (int)there);
    /* Memory that one device pinned is pinned for all. */
    crn_device_base own = *base;
    if (devices->count > 0)
        own.memory = (crn_device_memory){.start = NULL};
    int r = crn_device_open(devices->config, &own, (int32_t)number,
                            &devices->device[devices->count], error);
    if (r == 0)
        devices->number[devices->count++] = (int32_t)number;
    else
        devices->left_out |= own.memory.start != NULL;
    if (r < 0 && !devices->choose) {
        crn_error why = *error;
        crn_error_set(error, r,
                      "%.900s; nvidia-smi shows what the driver has; run.backend: auto starts "
                      "without it",
                      why.text);
    }
    return r;
}

/* Of backend auto: the line starts without them, degraded. */
static void leave_out(crn_devices *devices, int32_t count, const char *why)
{
    if (devices->left_out_count == 0)
        snprintf(devices->left_out_why, sizeof devices->left_out_why, "%.159s", why);
    devices->left_out_count += count;
    crn_log(CRN_LOG_WARNING, "%s; %s left out until restart", why,
            count == 1 ? "it is" : "all are");
}

int crn_devices_open(const crn_config *config, const crn_ops *ops, const crn_device_base *base,
                     crn_devices *ret_devices, crn_error *error)
{
    crn_devices *devices = ret_devices;
    *devices = (crn_devices){.config = config,
                             .processor = ops->name,
                             .choose = config->run.backend == CRN_BACKEND_AUTO};
    devices->lanes = calloc((size_t)config->limits.lanes + 1, sizeof *devices->lanes);
    int r = devices->lanes ? 0 : crn_error_set(error, -ENOMEM, "engine: out of memory");
    for (int32_t i = 0; i < config->run.devices.count && r == 0; i++) {
        r = open_one(devices, base, config->run.devices.item[i], error);
        if (r < 0 && devices->choose) {
            leave_out(devices, 1, error->text);
            r = 0;
        }
    }
    if (r == 0 && devices->choose && devices->count > 0) {
        int measured = measure(devices, ops);
        if (measured < 0) {
            crn_error why;
            crn_error_set(&why, measured, "device %d: cannot be measured: %s", devices->number[0],
                          crn_gpu_strerror(measured));
            leave_out(devices, devices->count, why.text);
            devices->left_out |= !crn_devices_close(devices);
        }
    }
    devices->in_service = devices->count;
    if (r < 0)
        crn_devices_close(devices);
    return r;
}

int crn_devices_prepare(crn_devices *devices, const crn_config *config)
{
    int r = 0;
    int32_t done = 0;
    for (; done < devices->count && r == 0; done++)
        r = crn_device_prepare(devices->device[done], config);
    for (int32_t i = 0; i < done - 1 && r < 0; i++)
        crn_device_forget(devices->device[i], crn_config_slot(config));
    return r;
}

void crn_devices_forget(crn_devices *devices, uint32_t slot)
{
    for (int32_t i = 0; i < devices->count; i++)
        crn_device_forget(devices->device[i], slot);
}

bool crn_devices_close(crn_devices *devices)
{
    bool all = !devices->left_out;
    /* The first device last: the others may still read the memory that it pinned. */
    for (int32_t i = devices->count - 1; i >= 0; i--)
        all &= crn_device_close(&devices->device[i]);
    free(devices->lanes);
    devices->lanes = NULL;
    devices->count = devices->in_service = 0;
    return all;
}

static crn_shape_route *find_route(crn_devices *devices, const crn_shape *shape)
{
    for (int32_t i = 0; i < devices->route_count; i++)
        if (crn_shape_same(&devices->routes[i].shape, shape))
            return &devices->routes[i];
    return NULL;
}

static bool decide(const crn_devices *devices, const crn_shape *shape)
{
    if (!devices->choose)
        return true;
    size_t bytes = crn_shape_bytes(shape);
    bool on_device =
        crn_cost_model_is_device(&devices->processor_cost, &devices->device_cost, bytes);
    /* Beyond this many shapes they are forgotten and decided again: do not log each time. */
    if (devices->route_count == CRN_ENGINE_SHAPES)
        return on_device;
    char text[CRN_SHAPE_TEXT];
    crn_log(
        CRN_LOG_INFO, "auto: views of %s go to %s: measured %.3f ms, %s %.3f ms",
        crn_shape_text(shape, text),
        on_device ? crn_device_about(devices->device[0])->name : devices->processor,
        (double)crn_cost_ns(on_device ? &devices->device_cost : &devices->processor_cost, bytes) /
            CRN_NS_PER_MS,
        on_device ? devices->processor : crn_device_about(devices->device[0])->name,
        (double)crn_cost_ns(on_device ? &devices->processor_cost : &devices->device_cost, bytes) /
            CRN_NS_PER_MS);
    return on_device;
}

static crn_shape_route *add_route(crn_devices *devices, const crn_shape *shape)
{
    bool on_device = decide(devices, shape);
    crn_shape_route *route = &devices->routes[devices->next_route];
    devices->next_route = (devices->next_route + 1) % CRN_ENGINE_SHAPES;
    if (devices->route_count < CRN_ENGINE_SHAPES)
        devices->route_count++;
    else
        devices->routes_on_device -= route->on_device;
    *route = (crn_shape_route){.shape = *shape, .on_device = on_device};
    devices->routes_on_device += route->on_device;
    return route;
}

/* Of the devices in service, of which there is at least one, the one with the fewest lanes. */
static int32_t device_with_fewest_lanes(const crn_devices *devices)
{
    int32_t fewest = -1;
    for (int32_t i = 0; i < devices->count; i++)
        if (!devices->lost[i] && (fewest < 0 || devices->lanes_of[i] < devices->lanes_of[fewest]))
            fewest = i;
    return fewest;
}

/* The lane's device, assigned at its first view and reassigned when that device is lost. */
static int32_t device_of_lane(crn_devices *devices, uint32_t lane)
{
    int32_t at = 0;
    while (at < devices->lane_count && devices->lanes[at].lane != lane)
        at++;
    if (at < devices->lane_count && !devices->lost[devices->lanes[at].device])
        return devices->lanes[at].device;
    int32_t fewest = device_with_fewest_lanes(devices);
    /* Past that only lanes come that were taken in for others. */
    if (at < devices->config->limits.lanes) {
        devices->lanes[at] = (crn_lane_route){.lane = lane, .device = fewest};
        devices->lanes_of[fewest]++;
        devices->lane_count += at == devices->lane_count;
    }
    return fewest;
}

crn_device *crn_devices_route(crn_devices *devices, const crn_view *view)
{
    if (devices->in_service == 0)
        return NULL;
    crn_shape shape = crn_shape_of(view);
    crn_shape_route *route = find_route(devices, &shape);
    if (!route)
        route = add_route(devices, &shape);
    if (!route->on_device)
        return NULL;
    int32_t device = devices->count > 1 ? device_of_lane(devices, view->header.lane) : 0;
    return devices->device[device];
}

void crn_devices_refuse(crn_devices *devices, const crn_shape *shape)
{
    crn_shape_route *route = find_route(devices, shape);
    if (!route || !route->on_device)
        return;
    route->on_device = false;
    devices->routes_on_device--;
}

bool crn_devices_have_room(const crn_devices *devices)
{
    for (int32_t i = 0; i < devices->count && crn_devices_are_used(devices); i++)
        if (crn_device_has_room(devices->device[i]))
            return true;
    return false;
}

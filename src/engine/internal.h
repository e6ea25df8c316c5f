/* Shared by engine.c and devices.c. */
#ifndef CRN_SRC_ENGINE_INTERNAL_H
#define CRN_SRC_ENGINE_INTERNAL_H

#include "src/engine/cost_model.h"
#include "src/engine/engine.h"

/* Shapes whose route is remembered; the one decided first is replaced. */
#define CRN_ENGINE_SHAPES 64

typedef struct crn_shape_route {
    crn_shape shape;
    bool on_device;
} crn_shape_route;

/* All views of a lane go to the same device. */
typedef struct crn_lane_route {
    uint32_t lane;
    int32_t device;
} crn_lane_route;

/* The devices and the routing of views to them; owned by the submitting thread. */
typedef struct crn_devices {
    const crn_config *config;
    const char *processor; /* name of its operators */
    int32_t count;
    crn_device *device[CRN_NUMBERS_MAX];
    int32_t number[CRN_NUMBERS_MAX]; /* as in run.devices */
    bool lost[CRN_NUMBERS_MAX];
    int32_t lanes_of[CRN_NUMBERS_MAX];
    int32_t in_service;
    bool left_out; /* a device was left out that may still access `memory`, or has it pinned */
    int32_t left_out_count;
    char left_out_why[CRN_ENGINE_WHY_BYTES]; /* of the first one */
    bool choose; /* by cost model; otherwise every shape goes to a device */
    crn_cost processor_cost, device_cost;
    crn_shape_route routes[CRN_ENGINE_SHAPES];
    int32_t route_count, next_route, routes_on_device;
    bool has_rings;        /* views lie in devices' memory, and go to these whatever their shape */
    crn_lane_route *lanes; /* limits.lanes entries */
    int32_t lane_count;
} crn_devices;

/* Opens the devices of run.devices and, for backend auto, measures their cost. For auto, devices
 * that do not work are logged, counted and left out. */
int crn_devices_open(const crn_config *config, const crn_ops *ops, const crn_device_base *base,
                     crn_devices *ret_devices, crn_error *error);

/* Call crn_device_prepare and crn_device_forget for all of them. */
int crn_devices_prepare(crn_devices *devices, const crn_config *config);
void crn_devices_forget(crn_devices *devices, uint32_t slot);

/* Calls crn_device_close for all of them. */
bool crn_devices_close(crn_devices *devices);

/* Returns the device for the view, or NULL for the processor. */
crn_device *crn_devices_route(crn_devices *devices, const crn_view *view);

/* Records that no device supports this shape. */
void crn_devices_refuse(crn_devices *devices, const crn_shape *shape);

/* True if some views go to devices. */
static inline bool crn_devices_are_used(const crn_devices *devices)
{
    return devices->routes_on_device > 0 || devices->has_rings;
}

/* True if a device accepts views now. */
bool crn_devices_have_room(const crn_devices *devices);

#endif

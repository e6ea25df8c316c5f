/*
 * Runs the chain: workers on the processor and, in front of them, optional devices that take over
 * the enqueue halves. Views pass in and out without locks; one thread submits and collects. When a
 * device is lost its views run on the workers, so none is lost with it.
 */
#ifndef CRN_SRC_ENGINE_ENGINE_H
#define CRN_SRC_ENGINE_ENGINE_H

#include "gpu/gpu.h"
#include "stages/base/error.h"
#include "stages/chain/chain.h"
#include "src/counts/counts.h"
#include "src/ingest/view.h"
#include "src/engine/device/device.h"
#include "src/engine/worker.h"

typedef struct crn_engine crn_engine;

#define CRN_ENGINE_WHY_BYTES 160

/* Views returned, by where their enqueue halves ran, and the devices' state. */
typedef struct crn_engine_stats {
    uint64_t device, processor; /* views, by what ran them */
    CRN_ENGINE_COUNTS(CRN_COUNT_MEMBER)
    int32_t devices;
    int32_t first_device;                    /* number of the first one, if there are any */
    int32_t left_out;                        /* auto: devices that did not work at the start */
    char left_out_why[CRN_ENGINE_WHY_BYTES]; /* of the first of these, a clause that names it */
} crn_engine_stats;

/*
 * Starts devices and workers and returns when all are ready. `config` is resolved and must outlive
 * the engine. `gpu` NULL: no devices (backend cuda is then refused). `memory` is the memory of the
 * views' maps; devices that are used pin it. `hook` (NULL: none) is static.
 */
int crn_engine_open(const crn_config *config, const crn_gpu *gpu, crn_device_memory memory,
                    const crn_output_hook *hook, crn_engine **ret_engine, crn_error *error);

/*
 * Waits for the views that run, joins workers and devices, frees the engine and sets *engine to
 * NULL; NULL is allowed. Views still inside belong to the caller again. Returns false if a lost
 * device may still access `memory`, which must then stay until the process ends.
 */
bool crn_engine_close(crn_engine **engine);

/*
 * Makes ready what views with these settings will need, before the first of them is submitted
 * (crn_view.config); `config` must outlive that, and be of a slot (crn_config_slot) that is not in
 * use. From any one thread, while views of other slots run. Returns 0; -EBUSY while a device still
 * holds settings of that slot; -ENOMEM.
 */
int crn_engine_prepare(crn_engine *engine, const crn_config *config);

/* Frees that once no view of the slot is inside any more; from the same thread. */
void crn_engine_forget(crn_engine *engine, uint32_t slot);

/* Hands a view over until collect returns it. Returns 0, always so for one view after
 * crn_engine_has_room was true, whatever the devices do meanwhile; else perhaps -EAGAIN. */
int crn_engine_submit(crn_engine *engine, crn_view *view);
bool crn_engine_has_room(const crn_engine *engine);

/* Number of views that run in parallel, as the schedule's cost estimate counts them. */
int32_t crn_engine_parallel(const crn_engine *engine);

/* Returns the next finished view or NULL; its output belongs to the caller until
 * crn_engine_release. Also reclaims the views of a lost device and logs the loss. */
crn_output *crn_engine_collect(crn_engine *engine);
void crn_engine_release(crn_engine *engine, crn_output *output);

/* Readable when collect may return a view; call crn_engine_rearm to reset it before collecting. */
int crn_engine_descriptor(const crn_engine *engine);
void crn_engine_rearm(crn_engine *engine);

/* When to call collect although the descriptor is not readable: a device that hangs signals
 * nothing. CRN_NEVER_NS for never. */
int64_t crn_engine_wake_ns(const crn_engine *engine, int64_t now_ns);

/*
 * Checks that every worker is alive and none has run one view for longer than limit_ns. A worker
 * that fails this cannot be recovered: the process must end. Returns 0, or -EIO with the worker and
 * its view in *error.
 */
int crn_engine_check(const crn_engine *engine, int64_t now_ns, int64_t limit_ns, crn_error *error);

/* A device as it was at the start, and whether it is lost since. */
typedef struct crn_engine_device {
    int32_t number;
    bool is_lost;
    const crn_gpu_device *about;
} crn_engine_device;

/* The i-th of those that are used; false past the last. */
bool crn_engine_get_device(const crn_engine *engine, int32_t i, crn_engine_device *ret_device);

const crn_engine_stats *crn_engine_get_stats(const crn_engine *engine);

/* Describes for the log what runs: "openmp, 1 worker of 1 thread", "cuda on NVIDIA H200, 4 batches
 * in flight, then openmp, ...". */
const char *crn_engine_describe(const crn_engine *engine);

/* Bytes that the engine reserves, without its hook's; part of the memory that --check reports. */
size_t crn_engine_bytes(const crn_config *config);

#endif

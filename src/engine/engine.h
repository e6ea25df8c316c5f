/*
 * What runs the chain: workers on the processor, and in front of them, where there are any, devices
 * that take over the enqueue halves. Views go in and come out without locks; one thread submits and
 * collects. A device that is lost loses no view: the workers run what it had.
 */
#ifndef CRN_SRC_ENGINE_ENGINE_H
#define CRN_SRC_ENGINE_ENGINE_H

#include "gpu/gpu.h"
#include "stages/base/error.h"
#include "src/chain/chain.h"
#include "src/ingest/view.h"
#include "src/engine/device.h"
#include "src/engine/worker.h"

typedef struct crn_engine crn_engine;

/* Views given back, by where their enqueue halves ran, and what became of the devices. */
typedef struct crn_engine_stats {
    uint64_t device, processor;
    uint64_t device_new;   /* of the processor's: a shape the device was not ready for */
    uint64_t device_cut;   /* of the processor's: more contours than a batch has room for */
    uint64_t device_lost;  /* of the processor's: taken back from a lost device */
    int32_t devices, lost; /* lost: of the devices */
} crn_engine_stats;

/*
 * Starts devices and workers and returns when all are ready. `config` is resolved and outlives the
 * engine. `gpu` NULL: no devices (cuda is then refused). `memory` is where views' maps will lie;
 * devices that are used pin it.
 */
int crn_engine_open(const crn_config *config, const crn_gpu *gpu, crn_device_memory memory,
                    crn_engine **ret_engine, crn_error *error);

/* Lets workers and devices end what they run, joins them, nulls; NULL is fine. Views inside are the
 * caller's again. False: a lost device may still look at `memory`, which must stay until the
 * process ends. */
bool crn_engine_close(crn_engine **engine);

/* Hands a view over until collect gives it back.
 * 0, or -EAGAIN when crn_engine_has_room is false. */
int crn_engine_submit(crn_engine *engine, crn_view *view);
bool crn_engine_has_room(const crn_engine *engine);

/* How many views run side by side, as far as what they cost is concerned. */
int32_t crn_engine_parallel(const crn_engine *engine);

/* The next view that is done, NULL when none is. Its output is the caller's until
 * crn_engine_release. Takes back, too, what a lost device had, and logs the loss. */
crn_output *crn_engine_collect(crn_engine *engine);
void crn_engine_release(crn_engine *engine, crn_output *output);

/* Readable when collect may find something; reset by crn_engine_rearm before collecting. */
int crn_engine_descriptor(const crn_engine *engine);
void crn_engine_rearm(crn_engine *engine);

/* When to collect even though the descriptor is silent, as a device may be; CRN_NEVER_NS: never. */
int64_t crn_engine_wake_ns(const crn_engine *engine, int64_t now_ns);

/*
 * Whether every worker is there and none has been at one view for longer than limit_ns. A worker
 * that is not will not come back: the process must end. 0, or -EIO with the worker and its view in
 * *error.
 */
int crn_engine_check(const crn_engine *engine, int64_t now_ns, int64_t limit_ns, crn_error *error);

const crn_engine_stats *crn_engine_get_stats(const crn_engine *engine);

/* "openmp, 1 worker of 1 thread", "cuda on NVIDIA H200, 4 batches in flight, then openmp, ...":
 * what runs, for the log. */
const char *crn_engine_describe(const crn_engine *engine);

/* Bytes that the engine reserves, for the memory that --check tells. */
size_t crn_engine_bytes(const crn_config *config);

#endif

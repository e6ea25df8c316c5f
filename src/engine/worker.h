/*
 * One thread that runs the chain on the processor: whole views, or the finish halves of those whose
 * enqueue halves a device has done. Views go in and come out without locks; the thread that made
 * the worker hands over and takes back.
 */
#ifndef CRN_SRC_ENGINE_WORKER_H
#define CRN_SRC_ENGINE_WORKER_H

#include "gpu/gpu.h"
#include "stages/base/error.h"
#include "src/chain/chain.h"
#include "src/ingest/view.h"
#include "src/engine/device.h"

/* One view runs, one waits: the worker never idles for the hand-over, and little is decided too
 * early. */
#define CRN_WORKER_DEPTH 2

/* A view that was done, or left alone. */
typedef struct crn_output {
    crn_view *view;
    int status;      /* 0, -ECANCELED (its fruit was judged before it began), -ETIME (its time ran
                        out while it ran), or why the chain failed */
    bool on_device;  /* the enqueue halves ran on a device */
    int64_t took_ns; /* since it began; where it did not end, it takes longer */
    crn_judgement judgement; /* when status is 0 */
    crn_defects defects;     /* when status is 0; the worker's memory */
} crn_output;

typedef struct crn_worker crn_worker;

/*
 * Returns when the thread is ready. `ops` are the processor's; `gpu` (NULL: none) gives a
 * profiler's ranges alone. `done_descriptor` is an eventfd that is rung for every view that is
 * done. 0 or negative errno.
 */
int crn_worker_create(const crn_config *config, const crn_ops *ops, const crn_gpu *gpu,
                      int32_t number, int done_descriptor, crn_worker **ret_worker);

/* Lets it end what it runs, leaves what waits, joins, nulls; NULL is fine. */
void crn_worker_free(crn_worker **worker);

/* Views that it has, waiting, running or not yet given back. */
int32_t crn_worker_busy(const crn_worker *worker);

/* `from` NULL: the whole chain. The worker has fewer than CRN_WORKER_DEPTH views. */
void crn_worker_submit(crn_worker *worker, crn_view *view, crn_device_view *from);

/* The next view that is done, or NULL; its output is the caller's until crn_worker_release. */
crn_output *crn_worker_collect(crn_worker *worker);

/* Whether it was an output of this worker; it is the worker's again, and *ret_from the device's
 * view that was handed with it, or NULL. */
bool crn_worker_release(crn_worker *worker, crn_output *output, crn_device_view **ret_from);

/*
 * Whether the thread is there and has not been at one view for longer than limit_ns. One that is
 * not will not come back. 0, or -EIO with the worker and its view in *error.
 */
int crn_worker_check(const crn_worker *worker, int64_t now_ns, int64_t limit_ns, crn_error *error);

/* Bytes that one worker reserves. */
size_t crn_worker_bytes(const crn_config *config);

#endif

/*
 * One thread that runs the chain on the processor: whole views, or the finish halves of views whose
 * enqueue halves a device ran. Views pass in and out without locks; only the thread that created
 * the worker submits and collects.
 */
#ifndef CRN_SRC_ENGINE_WORKER_H
#define CRN_SRC_ENGINE_WORKER_H

#include "stages/base/error.h"
#include "stages/chain/chain.h"
#include "src/ingest/view.h"
#include "src/engine/device/device.h"

/* One view runs and one waits: enough to keep the worker busy during the hand-over, and few enough
 * that the order is decided late. */
#define CRN_WORKER_DEPTH 2

/* A view that was finished or skipped. */
typedef struct crn_output {
    crn_view *view;
    int status; /* 0, -ECANCELED (its fruit was judged before the view began), -ETIME (its time ran
                   out while it ran), -ENODEV (it lay in the memory of a device that is lost), or
                   the chain's error */
    bool on_device;  /* the enqueue halves ran on a device */
    int64_t took_ns; /* since the view began; a lower bound of its cost if it did not finish */
    crn_judgement judgement; /* valid when status is 0 */
    crn_defects defects;     /* valid when status is 0; the worker's memory */
    void *extra;             /* the hook's; NULL without one */
    const crn_values_probe
        *probe; /* for the hook: of a view whose maps it cannot read; else NULL */
} crn_output;

/* What else to do with a judged view on the worker's thread. Its time is part of the view's cost.
 */
typedef struct crn_output_hook {
    /* Called for each output at the start; 0 or a negative errno. */
    int (*create)(const crn_config *config, void **ret_extra);
    void (*free)(void *extra); /* NULL is allowed */
    /* `output` is valid but for its status, which becomes the result: 0 or a negative errno. May
     * take defects away. */
    int (*run)(crn_output *output);
} crn_output_hook;

typedef struct crn_worker crn_worker;

/*
 * Returns when the thread is ready. `ops` are the processor's operators; `hook` may be NULL.
 * `done_descriptor` is an eventfd that is signalled for every finished view. Returns 0 or a
 * negative errno.
 */
int crn_worker_create(const crn_config *config, const crn_ops *ops, const crn_output_hook *hook,
                      int32_t number, int done_descriptor, crn_worker **ret_worker);

/*
 * Makes ready what views with these settings (crn_view.config) will need, before the first of them
 * is submitted; `config` must outlive that. Called by any one thread, while views of other slots
 * (crn_config_slot) run. Returns 0 or -ENOMEM.
 */
int crn_worker_prepare(crn_worker *worker, const crn_config *config);

/* Frees that once no view of the slot is inside any more; by any one thread. */
void crn_worker_forget(crn_worker *worker, uint32_t slot);

/* Cancels the views that wait: they are returned as cancelled instead of run. Its thread ends once
 * the running one has ended; crn_worker_free is all that may follow. */
void crn_worker_stop(crn_worker *worker);
bool crn_worker_has_ended(const crn_worker *worker);

/* Stops it unless that was done, joins its thread, frees and sets *worker to NULL; NULL is allowed.
 */
void crn_worker_free(crn_worker **worker);

/* Number of views that it holds: waiting, running or not yet collected. */
int32_t crn_worker_busy(const crn_worker *worker);

/* Submits a view; `from` is NULL for the whole chain. `device`: in whose memory it lies, NULL if in
 * none's. The worker must hold fewer than CRN_WORKER_DEPTH views. */
void crn_worker_submit(crn_worker *worker, crn_view *view, crn_device_view *from,
                       crn_device *device);

/* Returns the next finished view or NULL; the caller owns its output until crn_worker_release. */
crn_output *crn_worker_collect(crn_worker *worker);

/* Returns the output to the worker; false if it is another worker's. *ret_from is the device's view
 * that was submitted with it, or NULL. */
bool crn_worker_release(crn_worker *worker, crn_output *output, crn_device_view **ret_from);

/* Checks that the thread is alive and has not run one view for longer than limit_ns; one that fails
 * this cannot be recovered. Returns 0, or -EIO with the worker and its view in *error. */
int crn_worker_check(const crn_worker *worker, int64_t now_ns, int64_t limit_ns, crn_error *error);

/* Bytes that one worker reserves, without its hook's. */
size_t crn_worker_bytes(const crn_config *config);

#endif

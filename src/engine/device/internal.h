/* The device's data, shared by the files of this folder (README.md); no other file includes it. */
#ifndef CRN_SRC_ENGINE_DEVICE_INTERNAL_H
#define CRN_SRC_ENGINE_DEVICE_INTERNAL_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "src/engine/device/device.h"
#include "src/service/pulse.h"
#include "stages/base/log.h"
#include "stages/base/ring.h"

/* Batches of 1, 2, 4, 8, 16 views. */
#define CRN_DEVICE_BATCHES   5
#define CRN_DEVICE_BATCH_MAX 16

/* Shapes with graphs, and how long the least recently used one must be idle to be replaced. */
#define CRN_DEVICE_SHAPES  16
#define CRN_DEVICE_KEEP_NS (10 * CRN_NS_PER_S)

/* Graphs exist for no optional step skipped and for all optional image steps skipped only. */
#define CRN_DEVICE_MASKS 2

/* Timing event before a batch's uploads; the first ones are those around the stages. */
#define CRN_DEVICE_EVENT_BEGUN (CRN_GPU_EVENTS - 1)

/* Scratch slot of the maps as received on the device: the last of the stages' slots. */
#define CRN_DEVICE_RECEIVED (CRN_SCRATCH_SLOTS - 1)

/* Time limit while preparing (loading code, allocating memory); no view is on the device then. */
#define CRN_DEVICE_PREPARE_LIMIT_NS (30 * CRN_NS_PER_S)

/* The graph launched for a batch of one shape in one slot. */
typedef struct crn_batch_graph {
    crn_gpu_graph *captured; /* NULL if capturing this graph failed */
    uint32_t generation;     /* its context's generation at the time of capture */
    int64_t expected_ns;     /* recent time from its uploads to completion, by the device's clock */
} crn_batch_graph;

/* All graphs of one shape. */
typedef struct crn_shape_graphs {
    bool used;
    bool refused; /* the device does not support this shape */
    crn_shape shape;
    int64_t used_ns; /* when a view of it last arrived */
    crn_batch_graph graph[CRN_DEVICE_MASKS][CRN_DEVICE_BATCHES][CRN_DEVICE_SLOTS];
} crn_shape_graphs;

struct crn_device_slot {
    crn_context *context[CRN_DEVICE_BATCHES];
    crn_job *job;             /* pinned, with its contours' arrays: the device writes them */
    crn_values_seen *seen;    /* pinned, too: CRN_VALUES_PARTS of each view of the largest batch */
    crn_values_probe *probes; /* the same: one of each view */
    /* Number of views whose finish halves still read the results. */
    atomic_int unfinished;
    /* Of the batch in flight: */
    crn_batch_graph *graph; /* NULL if the slot is idle */
    uint32_t skipped;
    int32_t batch, count; /* count = 1 << batch */
    crn_device_view *views[CRN_DEVICE_BATCH_MAX];
    int64_t begun_ns, launched_ns;
    int64_t poll_ns; /* when to query for completion */
};

typedef enum crn_device_state {
    CRN_DEVICE_RUNNING,
    CRN_DEVICE_FAILED,    /* set by its thread, which gives the reason and ends */
    CRN_DEVICE_ABANDONED, /* set by the submitting thread: a call does not return */
} crn_device_state;

typedef enum crn_device_read_state {
    CRN_READ_IDLE,
    CRN_READ_ASKED,   /* by its worker, which may withdraw it */
    CRN_READ_RUNNING, /* the device's thread's */
    CRN_READ_DONE,
    CRN_READ_REFUSED /* too many wait for their events already */
} crn_device_read_state;

/* What a worker reads of maps in the device's memory. */
typedef struct crn_device_read {
    atomic_int state; /* crn_device_read_state */
    sem_t done;
    void *signal; /* not before this says so; NULL: at once */
    int64_t asked_ns;
    bool is_known;     /* the device's thread has found it unwritten before */
    crn_image image;   /* in the device's memory */
    unsigned char *to; /* host memory for `bytes` of it; NULL: the sums of `count` runs are asked */
    size_t bytes;
    uint32_t count;
    crn_run *runs; /* pinned, as `sums` */
    crn_run_sum *sums;
    crn_context *context; /* the device's thread's */
    int64_t since_ns;
} crn_device_read;

/* A request to time a synthetic view. */
typedef struct crn_device_request {
    crn_shape shape; /* a copy: the requester may be gone when the thread returns from a call */
    const void *maps;
    int32_t runs; /* 0: the thread only responds, and reads neither */
    int64_t ns;
    int status;
} crn_device_request;

/* Settings of views, and what the device's thread remembers under them. */
typedef struct crn_device_settings {
    crn_config config; /* a copy, as `own` */
    uint32_t optional; /* steps that the device may skip */
    crn_recent recent[CRN_STAGES_MAX];
} crn_device_settings;

struct crn_device {
    crn_config own; /* an abandoned thread may still read it after the line's config is gone */
    const crn_config *config; /* the start's, for what no reload changes */
    const crn_gpu *gpu;
    int32_t number;
    crn_gpu_device about;
    crn_device_memory memory;
    bool pinned;
    int done_descriptor; /* its own, so that an abandoned thread never signals a descriptor reused
                            by others */
    pthread_t thread;
    sem_t work;     /* posted when there may be work */
    sem_t answered; /* posted when the thread is set up or has served a request */
    sem_t ended;
    crn_ring in, out;
    int status; /* of the set-up */
    crn_error error;
    crn_device_request request;
    crn_device *next_abandoned;

    /* Shared by both threads. */
    _Alignas(64) atomic_int held; /* views held; written by the submitting thread */
    atomic_bool preparing;        /* no view is accepted; written by the device's thread */
    atomic_bool starved;          /* its thread has views, and no slot for them: whoever frees one
                                     wakes it */
    atomic_int state;             /* crn_device_state; never returns to RUNNING */
    atomic_bool ready;            /* set-up has ended, with `status` */
    atomic_bool stop, request_pending;
    crn_device_settings *_Atomic settings[CRN_GENERATIONS]; /* by crn_config_slot; NULL: none */
    atomic_uint unused;        /* bit per slot: the device's thread gives these settings back */
    _Atomic int64_t budget_ns; /* of the newest settings */
    _Atomic uint64_t slow;     /* batches that took more than half of their limit */
    _Atomic uint64_t copied;   /* views, to host memory */
    crn_device_read *reads;    /* one for each worker; NULL: no view lies in the device's memory */
    int32_t read_count;
    /* Start of the current call or work of the device's thread; 0 while it sleeps. */
    _Atomic int64_t since_ns;
    char why[3][256]; /* reason by state, each written by the thread that sets that state */
    crn_pulse pulse;

    /* Owned by the submitting thread. */
    _Alignas(64) crn_device_view views[CRN_DEVICE_VIEWS];
    int64_t suspect_ns, suspected_ns; /* since_ns at the last check, and the time of that check */
    int32_t suspicions;               /* consecutive checks that saw the same since_ns */

    /* Owned by the device's thread. */
    _Alignas(64) crn_device_slot slots[CRN_DEVICE_SLOTS];
    crn_shape_graphs shapes[CRN_DEVICE_SHAPES];
    crn_device_view *waiting[CRN_DEVICE_VIEWS];
    int32_t waiting_count;
    crn_device_view *unwritten[CRN_DEVICE_VIEWS]; /* whose producer has not written them yet */
    int32_t unwritten_count;
    bool polls_reads;   /* some read is under way */
    int32_t late_reads; /* that have waited long for their events */
    int64_t ended_ns;   /* when the last batch was seen to complete */
    int64_t longest_ns; /* of the recent batches: crn_limit_longest_ns */
    crn_log_gate slow_gate;
    crn_shape requested; /* while preparing */
    bool ring;           /* `out` received entries since the eventfd was last signalled */
};

/* True while neither side has declared the device lost. */
static inline bool crn_device_is_running(const crn_device *device)
{
    return atomic_load(&device->state) == CRN_DEVICE_RUNNING;
}

/* Limit for one call; lower bound of the limit for a batch in flight. */
int64_t crn_device_limit_ns(const crn_device *device);

/* Time limit of a batch in flight, from its turn on. */
int64_t crn_device_batch_limit_ns(const crn_device *device, const crn_batch_graph *graph);

/* True if the batch in this slot has passed its limit. Batches complete one after the other: one
 * that waits for those before it is not stuck. */
bool crn_device_is_stuck(const crn_device *device, const crn_device_slot *slot, int64_t now_ns);

/* Takes note of a batch that was seen to complete, for the limits of the next ones; counts and logs
 * one that came near its limit. */
void crn_device_note_batch(crn_device *device, const crn_device_slot *slot, int64_t now_ns);

/* The settings of such views, or NULL if they were given back. */
crn_device_settings *crn_device_settings_of(crn_device *device, const crn_shape *shape);

/* True if the device validates the values of views with these settings. */
static inline bool crn_device_sees_values(const crn_config *config)
{
    return config->ingest.values != CRN_VALUES_TRUST;
}

void crn_device_settings_free(crn_device_settings *settings); /* NULL is allowed */

/* Gives the view back to the submitting thread (crn_device_view.status). */
void crn_device_return_view(crn_device *device, crn_device_view *view, int status);

/* Takes the views that were submitted; those that their producers have written join `waiting`. */
void crn_device_accept(crn_device *device);
void crn_device_drop_waiting(crn_device *device, int32_t index);

/* True if what the signal (NULL: none) stands for is in the device's memory. If it cannot be asked
 * because the device fails, the device is lost. */
bool crn_device_is_written(crn_device *device, void *signal);

/* Reads of workers: how many there are at once; their contexts and pinned memory; begins and ends
 * them. */
int32_t crn_device_reads_wanted(const crn_config *config);
size_t crn_device_reads_bytes(const crn_config *config);
int crn_device_reads_create(crn_device *device); /* 0 or a negative errno */
void crn_device_reads_free(crn_device *device);
void crn_device_serve_reads(crn_device *device);

/* The device thread's main function. */
void *crn_device_run(void *device);

/* Marks the device lost: FAILED by its own thread, which then ends, ABANDONED by the submitting
 * one. The first call wins. */
__attribute__((format(printf, 3, 4))) void
crn_device_lose(crn_device *device, crn_device_state state, const char *format, ...);

/* Returns the graphs of a shape, or NULL. */
crn_shape_graphs *crn_shape_graphs_find(crn_device *device, const crn_shape *shape);

/* True if one more shape can be prepared. */
bool crn_shape_graphs_have_room(crn_device *device, int64_t now_ns);

/* True if the failure of a call concerns the shape and not the device. */
bool crn_device_is_refusal(int error);

/* Captures all graphs of a shape that are missing or whose context has a newer generation. `later`:
 * only those that were captured before. Returns 0 or a negative errno. */
int crn_shape_graphs_capture(crn_device *device, crn_shape_graphs *graphs, bool later);

/* True if a graph's memory has moved since. */
bool crn_shape_graphs_are_stale(const crn_device *device, const crn_shape_graphs *graphs);

/* Captures the graphs of a shape on an idle device; logs and remembers what the device does not
 * support. Returns 0, or a negative errno if the device is lost. */
int crn_shape_graphs_prepare(crn_device *device, const crn_shape *shape);

/* Frees all graphs. */
void crn_shape_graphs_free(crn_device *device);

/* Chooses the graph with the largest batch of at most `count` views in that slot, 1 << *ret_batch
 * of them; NULL if there is none. */
crn_batch_graph *crn_shape_graphs_choose(crn_device *device, crn_shape_graphs *graphs,
                                         uint32_t skipped, int32_t slot, int32_t count,
                                         int32_t *ret_batch);

/* Allocates the slot's results and sets their capacities. Returns 0 or -ENOMEM. */
int crn_slot_create(crn_device *device, crn_device_slot *slot);
void crn_slot_free(crn_device *device, crn_device_slot *slot);

/* Uploads the maps of a batch's views, of one shape, after an event, and launches the graph.
 * Returns 0, or the error with the failed call in *ret_what. */
int crn_slot_launch(crn_device *device, crn_device_slot *slot, int32_t batch,
                    const crn_batch_graph *graph, crn_device_view *const *views,
                    const char **ret_what);

#endif

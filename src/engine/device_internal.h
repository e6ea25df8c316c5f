/*
 * What the device*.c files share: device.c (the submitting thread's side), device_thread.c (the
 * device's thread), device_graphs.c (shapes made graphs). Nobody else includes it.
 */
#ifndef CRN_SRC_ENGINE_DEVICE_INTERNAL_H
#define CRN_SRC_ENGINE_DEVICE_INTERNAL_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "src/engine/device.h"
#include "stages/base/ring.h"

/* Batches of 1, 2, 4, 8, 16 views. */
#define CRN_DEVICE_BATCHES   5
#define CRN_DEVICE_BATCH_MAX 16

/* Shapes that are ready at once; one that was not seen for a while gives way. */
#define CRN_DEVICE_SHAPES  16
#define CRN_DEVICE_KEEP_NS (10 * CRN_NS_PER_S)

/* Nothing optional left out, or all optional image steps: no graph for every combination. */
#define CRN_DEVICE_MASKS 2

/* Where the maps lie on the device, as they came: the last of the stages' scratch slots. */
#define CRN_DEVICE_RECEIVED (CRN_SCRATCH_SLOTS - 1)

/* While it prepares, no view is on the device, and
 * it may take long: code is loaded, memory taken. */
#define CRN_DEVICE_PREPARE_LIMIT_NS (30 * CRN_NS_PER_S)

/* What is launched for a batch of one shape in one slot. */
typedef struct crn_plan {
    crn_gpu_graph *graph; /* NULL: that cannot be had */
    uint32_t moves;       /* of its context, when it was recorded */
    int64_t expected_ns;  /* from the launch to the end, of late */
} crn_plan;

/* All of one shape. */
typedef struct crn_plans {
    bool used;
    bool refused; /* the device cannot have this shape */
    crn_shape shape;
    int64_t used_ns; /* when a view of it came last */
    crn_plan plan[CRN_DEVICE_MASKS][CRN_DEVICE_BATCHES][CRN_DEVICE_SLOTS];
} crn_plans;

struct crn_device_slot {
    crn_context *context[CRN_DEVICE_BATCHES];
    crn_job *job; /* pinned, its contours' arrays too: the device writes them */
    /* Views whose finish halves still read the results. */
    atomic_int unfinished;
    /* In flight: */
    crn_plan *plan; /* NULL: nothing is */
    uint32_t skipped;
    int32_t batch, count; /* count = 1 << batch */
    crn_device_view *views[CRN_DEVICE_BATCH_MAX];
    int64_t begun_ns, launched_ns;
    int64_t look_ns; /* when to ask whether it is done */
};

typedef enum crn_device_state {
    CRN_DEVICE_RUNNING,
    CRN_DEVICE_FAILED,    /* by its thread, which says why and ends */
    CRN_DEVICE_ABANDONED, /* by the submitting thread: it does not come back from a call */
} crn_device_state;

/* A made-up view to be timed. */
typedef struct crn_device_request {
    crn_shape shape; /* a copy, for the asker may have gone when the thread comes back */
    const void *maps;
    int32_t runs; /* 0: it just answers, and looks at neither */
    int64_t ns;
    int status;
} crn_device_request;

struct crn_device {
    crn_config own; /* an abandoned thread may still look at it when the line's is gone */
    const crn_config *config;
    const crn_gpu *gpu;
    int32_t number;
    crn_gpu_device about;
    crn_device_memory memory;
    bool pinned;
    int done_descriptor; /* one of its own, so that an abandoned thread rings nobody else's bell */
    int64_t limit_ns;    /* for a call; for a batch in flight at least */
    uint32_t optional;   /* steps that may be left out on the device */
    pthread_t thread;
    sem_t work;     /* something may have to be done */
    sem_t answered; /* the thread has set itself up, or served a request */
    sem_t ended;
    crn_ring in, out;
    int status; /* of setting up */
    crn_error error;
    crn_device_request request;
    crn_device *next_abandoned;

    /* Between both threads. */
    _Alignas(64) atomic_int held; /* views that the device has; the submitting thread writes it */
    atomic_bool preparing;        /* no view is taken; the device's thread writes it */
    atomic_int state;             /* crn_device_state, RUNNING once left never again */
    atomic_bool ready;            /* set up, or not: `status` */
    atomic_bool stop, asked;      /* asked: `request` waits */
    /* Since when the device's thread is in a call, or at its work; 0: it sleeps. */
    _Atomic int64_t since_ns;
    char why[3][256]; /* by state, each written by the thread that makes it so */

    /* The submitting thread's. */
    _Alignas(64) crn_device_view views[CRN_DEVICE_VIEWS];
    int64_t suspect_ns, suspected_ns; /* since_ns as seen last, and when that was counted last */
    int32_t suspicions;               /* how often it was seen the same */

    /* The device thread's. */
    _Alignas(64) crn_device_slot slots[CRN_DEVICE_SLOTS];
    crn_plans shapes[CRN_DEVICE_SHAPES];
    crn_device_view *waiting[CRN_DEVICE_VIEWS];
    int32_t waiting_count;
    int64_t ended_ns; /* when a batch was seen to have ended last */
    crn_recent recent[CRN_STAGES_MAX];
    crn_shape requested; /* while preparing */
    bool ring;           /* something was put into `out` since the eventfd was rung last */
};

/* Not lost, as far as anybody has said. */
static inline bool crn_device_is_running(const crn_device *device)
{
    return atomic_load(&device->state) == CRN_DEVICE_RUNNING;
}

/* The thread. */
void *crn_device_run(void *device);

/* Marks the device lost: FAILED by its thread, which then ends, ABANDONED by the submitting one.
 * The first to say so is heard. */
__attribute__((format(printf, 3, 4))) void
crn_device_lose(crn_device *device, crn_device_state state, const char *format, ...);

/* What is ready for a shape, or NULL. */
crn_plans *crn_plans_find(crn_device *device, const crn_shape *shape);

/* Whether there is a place for one more shape. */
bool crn_plans_room(const crn_device *device, int64_t now_ns);

/*
 * Makes a shape ready, on an idle device; what it cannot have is logged and remembered. 0, or a
 * negative errno when the device is lost.
 */
int crn_plans_prepare(crn_device *device, const crn_shape *shape);

/* Frees all graphs. */
void crn_plans_free(crn_device *device);

/* The plan for the most of `count` views that one graph takes in that slot, 1 << *ret_batch of
 * them; NULL: there is none. */
crn_plan *crn_plans_choose(crn_device *device, crn_plans *plans, uint32_t skipped, int32_t slot,
                           int32_t count, int32_t *ret_batch);

/* The slot's results and their capacities; 0 or -ENOMEM. */
int crn_slot_create(crn_device *device, crn_device_slot *slot);
void crn_slot_free(crn_device *device, crn_device_slot *slot);

/* Uploads the maps of `count` views of one shape and launches. 0, or what failed with *ret_what
 * saying where. */
int crn_slot_launch(crn_device *device, crn_device_slot *slot, int32_t batch, const crn_plan *plan,
                    crn_device_view *const *views, int32_t count, const char **ret_what);

#endif

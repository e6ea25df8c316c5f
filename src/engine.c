#include "src/engine.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/priority.h"
#include "src/ring.h"
#include "stages/backend.h"

/* One view runs, one waits: the worker never idles for the hand-over, and little is decided too
 * early. */
#define DEPTH 2

typedef struct worker {
    struct crn_engine *engine;
    int32_t number;
    pthread_t thread;
    bool started;
    crn_chain *chain;
    sem_t ready; /* posted once, when the thread has set itself up */
    sem_t work;  /* one post per output in `in`, one more to stop */
    crn_ring in, out;
    crn_output outputs[DEPTH];
    uint32_t busy; /* bit per output in use; the submitting thread's */
    /* Written by the worker, read by crn_engine_check. */
    _Alignas(64) _Atomic int64_t running_since_ns; /* 0: idle */
    _Atomic uint32_t running_lane;
    _Atomic uint64_t running_fruit;
    atomic_bool gone;
} worker;

struct crn_engine {
    const crn_config *config;
    int32_t workers;
    worker *worker;
    int32_t next; /* collect looks at the workers in turn */
    int done_descriptor;
    char description[96];
};

static void run_view(worker *self, crn_output *output)
{
    const crn_view *view = output->view;
    if (atomic_load_explicit(&view->cancelled, memory_order_relaxed)) {
        output->status = -ECANCELED;
        return;
    }
    atomic_store_explicit(&self->running_lane, view->header.lane, memory_order_relaxed);
    atomic_store_explicit(&self->running_fruit, view->header.fruit, memory_order_relaxed);
    atomic_store_explicit(&self->running_since_ns, crn_now_ns(), memory_order_release);
    output->status = crn_chain_run(self->chain, view, &output->defects, &output->judgement);
    atomic_store_explicit(&self->running_since_ns, 0, memory_order_release);
}

static void ring_done(const struct crn_engine *engine)
{
    uint64_t one = 1;
    /* An eventfd's counter cannot overflow here and the write cannot wait, so there is no failure
     * to mend. */
    if (write(engine->done_descriptor, &one, sizeof one) < 0)
        return;
}

/* However a worker leaves, even by a library's pthread_exit, somebody must notice. */
static void note_gone(void *argument)
{
    worker *self = argument;
    atomic_store(&self->gone, true);
    ring_done(self->engine);
}

static void *run_worker(void *argument)
{
    worker *self = argument;
    char name[16];
    snprintf(name, sizeof name, "worker %d", self->number);
    pthread_setname_np(pthread_self(), name);
    crn_priority_step_back();
    sem_post(&self->ready);
    pthread_cleanup_push(note_gone, self);
    for (;;) {
        while (sem_wait(&self->work) != 0)
            continue; /* a signal */
        crn_output *output = crn_ring_pop(&self->in);
        if (!output)
            break; /* the post that means stop */
        run_view(self, output);
        crn_ring_push(&self->out, output); /* as deep as `in`, so there is room */
        ring_done(self->engine);
    }
    pthread_cleanup_pop(1);
    return NULL;
}

static int allocate_outputs(const crn_config *config, worker *self)
{
    for (int32_t i = 0; i < DEPTH; i++) {
        crn_defects *defects = &self->outputs[i].defects;
        defects->defect_capacity = (uint32_t)config->limits.defects;
        defects->point_capacity = (uint32_t)config->limits.points;
        defects->defects = malloc(defects->defect_capacity * sizeof(crn_defect));
        defects->texture_capacity = defects->defect_capacity * crn_config_textures(config);
        defects->xy = malloc(defects->point_capacity * 2 * sizeof(float));
        if (!defects->defects || !defects->xy)
            return -ENOMEM;
        if (defects->texture_capacity) {
            defects->textures = malloc(defects->texture_capacity * sizeof(crn_texture));
            if (!defects->textures)
                return -ENOMEM;
        }
    }
    return 0;
}

size_t crn_engine_bytes(const crn_config *config)
{
    return (size_t)config->run.workers *
           (crn_chain_bytes(config) + DEPTH * crn_chain_view_bytes(config));
}

static int start_worker(crn_engine *engine, const crn_ops *ops, worker *self)
{
    self->engine = engine;
    self->number = (int32_t)(self - engine->worker);
    int r = crn_ring_init(&self->in, DEPTH);
    if (r == 0)
        r = crn_ring_init(&self->out, DEPTH);
    if (r == 0)
        r = crn_chain_create(engine->config, ops, &self->chain);
    if (r == 0)
        r = allocate_outputs(engine->config, self);
    if (r == 0)
        r = -pthread_create(&self->thread, NULL, run_worker, self);
    self->started = r == 0;
    while (r == 0 && sem_wait(&self->ready) != 0)
        continue; /* a signal */
    return r;
}

int crn_engine_open(const crn_config *config, crn_engine **ret_engine, crn_error *error)
{
    const char *why = "";
    const crn_ops *ops = crn_backend_ops((crn_backend)config->run.backend, &why);
    if (!ops)
        return crn_error_set(error, -ENOTSUP, "run.backend %s: %s; choose openmp, or auto",
                             crn_backend_names[config->run.backend], why);
    crn_engine *engine = calloc(1, sizeof *engine);
    if (!engine)
        return crn_error_set(error, -ENOMEM, "engine: out of memory");
    engine->config = config;
    engine->workers = (int32_t)config->run.workers;
    engine->done_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    engine->worker = aligned_alloc(_Alignof(worker), sizeof(worker) * (size_t)engine->workers);
    int r = engine->done_descriptor < 0 ? -errno : engine->worker ? 0 : -ENOMEM;
    if (engine->worker) {
        memset(engine->worker, 0, sizeof(worker) * (size_t)engine->workers);
        for (int32_t i = 0; i < engine->workers; i++) {
            sem_init(&engine->worker[i].ready, 0, 0);
            sem_init(&engine->worker[i].work, 0, 0);
        }
    }
    for (int32_t i = 0; r == 0 && i < engine->workers; i++)
        r = start_worker(engine, ops, &engine->worker[i]);
    if (r < 0) {
        crn_error_set(error, r,
                      "engine: cannot start %d workers: %s; lower run.workers or limits.points",
                      engine->workers, strerror(-r));
        crn_engine_close(&engine);
        return r;
    }
    snprintf(engine->description, sizeof engine->description, "%s, %d worker%s of %d thread%s",
             ops->name, engine->workers, engine->workers == 1 ? "" : "s", (int)config->run.threads,
             config->run.threads == 1 ? "" : "s");
    *ret_engine = engine;
    return 0;
}

static void stop_worker(worker *self)
{
    if (self->started) {
        /* What still waits comes back cancelled rather than run. */
        for (int32_t i = 0; i < DEPTH; i++)
            if (self->busy & UINT32_C(1) << i)
                atomic_store_explicit(&self->outputs[i].view->cancelled, true,
                                      memory_order_relaxed);
        sem_post(&self->work);
        pthread_join(self->thread, NULL);
    }
    sem_destroy(&self->ready);
    sem_destroy(&self->work);
    crn_ring_done(&self->in);
    crn_ring_done(&self->out);
    crn_chain_free(&self->chain);
    for (int32_t i = 0; i < DEPTH; i++) {
        free(self->outputs[i].defects.defects);
        free(self->outputs[i].defects.xy);
        free(self->outputs[i].defects.textures);
    }
}

void crn_engine_close(crn_engine **engine)
{
    if (!*engine)
        return;
    for (int32_t i = 0; (*engine)->worker && i < (*engine)->workers; i++)
        stop_worker(&(*engine)->worker[i]);
    if ((*engine)->done_descriptor >= 0)
        close((*engine)->done_descriptor);
    free((*engine)->worker);
    free(*engine);
    *engine = NULL;
}

/* The worker with the fewest views, or NULL when all have DEPTH of them. */
static worker *least_busy(const crn_engine *engine)
{
    worker *best = NULL;
    int least = DEPTH;
    for (int32_t i = 0; i < engine->workers; i++) {
        int busy = __builtin_popcount(engine->worker[i].busy);
        if (busy < least) {
            least = busy;
            best = &engine->worker[i];
        }
    }
    return best;
}

bool crn_engine_has_room(const crn_engine *engine)
{
    return least_busy(engine) != NULL;
}

int crn_engine_submit(crn_engine *engine, crn_view *view)
{
    worker *chosen = least_busy(engine);
    if (!chosen)
        return -EAGAIN;
    int32_t free_output = __builtin_ctz(~chosen->busy);
    crn_output *output = &chosen->outputs[free_output];
    output->view = view;
    chosen->busy |= UINT32_C(1) << free_output;
    crn_ring_push(&chosen->in, output);
    sem_post(&chosen->work);
    return 0;
}

crn_output *crn_engine_collect(crn_engine *engine)
{
    for (int32_t i = 0; i < engine->workers; i++) {
        worker *candidate = &engine->worker[engine->next];
        engine->next = (engine->next + 1) % engine->workers;
        crn_output *output = crn_ring_pop(&candidate->out);
        if (output)
            return output;
    }
    return NULL;
}

void crn_engine_release(crn_engine *engine, crn_output *output)
{
    for (int32_t i = 0; i < engine->workers; i++) {
        worker *owner = &engine->worker[i];
        if (output >= owner->outputs && output < owner->outputs + DEPTH) {
            owner->busy &= ~(UINT32_C(1) << (output - owner->outputs));
            return;
        }
    }
}

int crn_engine_descriptor(const crn_engine *engine)
{
    return engine->done_descriptor;
}

void crn_engine_rearm(crn_engine *engine)
{
    uint64_t count;
    /* Nothing to read is as good as read. */
    if (read(engine->done_descriptor, &count, sizeof count) < 0)
        return;
}

int crn_engine_check(const crn_engine *engine, int64_t now_ns, int64_t limit_ns, crn_error *error)
{
    for (int32_t i = 0; i < engine->workers; i++) {
        const worker *one = &engine->worker[i];
        uint32_t lane = atomic_load_explicit(&one->running_lane, memory_order_relaxed);
        uint64_t fruit = atomic_load_explicit(&one->running_fruit, memory_order_relaxed);
        if (atomic_load(&one->gone))
            return crn_error_set(error, -EIO,
                                 "worker %d ended by itself (last view: lane %u fruit %llu)", i,
                                 lane, (unsigned long long)fruit);
        int64_t since_ns = atomic_load_explicit(&one->running_since_ns, memory_order_acquire);
        if (since_ns && now_ns - since_ns > limit_ns)
            return crn_error_set(error, -EIO, "worker %d has been at lane %u fruit %llu for %lld s",
                                 i, lane, (unsigned long long)fruit,
                                 (long long)((now_ns - since_ns) / CRN_NS_PER_S));
    }
    return 0;
}

const char *crn_engine_describe(const crn_engine *engine)
{
    return engine->description;
}

#include "src/engine/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/range.h"
#include "src/service/watchdog.h"
#include "stages/base/clock.h"
#include "stages/base/process/thread.h"
#include "stages/base/ring.h"
#include "src/engine/remote_maps.h"
#include "src/realtime/realtime.h"

/* A view inside the worker; `output` is the part that the caller sees. */
typedef struct task {
    crn_output output;
    crn_device_view *from; /* NULL: run the whole chain */
    crn_device *device;    /* in whose memory the view lies; NULL: in none's */
    int64_t since_ns;      /* when what it costs began */
    crn_values_probe probe;
} task;

/* What views with the same settings need. */
typedef struct worker_settings {
    crn_chain *chain;
    crn_texture *textures[CRN_WORKER_DEPTH]; /* of each task */
    uint32_t texture_capacity;
} worker_settings;

struct crn_worker {
    const crn_config *config;
    int32_t number;
    const crn_output_hook *hook; /* NULL: none */
    int done_descriptor;
    pthread_t thread;
    bool started, stopped;
    crn_remote_maps *remote;
    crn_chain *chain; /* owns the memory that those of all settings share; runs no view itself */
    worker_settings settings[CRN_GENERATIONS]; /* by crn_config_slot */
    sem_t ready;                               /* posted once, when the thread is set up */
    sem_t work;                                /* one post per task in `in`, one more to stop */
    crn_ring in, out;
    task tasks[CRN_WORKER_DEPTH];
    uint32_t busy; /* bit per task in use; owned by the submitting thread */
    /* Written by the worker, read by crn_worker_check. */
    _Alignas(64) _Atomic int64_t running_since_ns; /* 0: idle */
    _Atomic uint32_t running_lane;
    _Atomic uint64_t running_fruit;
    atomic_bool gone;
    crn_pulse pulse;
};

/* True if something needs the maps of a view in a device's memory on this side: steps and measures
 * that read them here, the recorder, or to say what is wrong with their values. */
static bool needs_maps(const crn_worker *self, const crn_view *view, const crn_device_result *done)
{
    return crn_config_textures(view->config) > 0 || crn_config_measures(view->config) ||
           self->config->record.dir[0] || crn_device_result_seen(done, view->header.type).suspect;
}

/* Runs the finish halves of what a device left, where its maps lie or on a copy of them. */
static int run_finish(crn_worker *self, task *it, crn_chain *chain, crn_values_watch *watch)
{
    crn_output *output = &it->output;
    crn_view *view = output->view;
    crn_device_result *done = &it->from->enqueued;
    done->where = NULL;
    if (!crn_view_has_maps(view) && needs_maps(self, view, done)) {
        int r = crn_device_copy_view(it->device, self->number, view);
        if (r < 0)
            return r;
    }
    if (!crn_view_has_maps(view)) {
        done->where = crn_remote_maps_of(self->remote, it->from);
        if (done->probe) {
            it->probe = *done->probe;
            output->probe = &it->probe;
        }
    }
    crn_chain_input input = crn_view_input(view);
    input.watch = watch;
    return crn_chain_finish(chain, &input, done, &output->defects, &output->judgement);
}

/* Runs the whole chain, on a copy where the maps lie on a device. */
static int run_whole(crn_worker *self, task *it, crn_chain *chain, crn_values_watch *watch)
{
    crn_output *output = &it->output;
    crn_view *view = output->view;
    int r = 0;
    if (!crn_view_has_maps(view)) {
        r = crn_device_copy_view(it->device, self->number, view);
        if (!it->from) /* the time that its producer took to write it is no cost of the view */
            it->since_ns = crn_now_ns();
    }
    output->probe = NULL;
    if (r < 0)
        return r;
    crn_chain_input input = crn_view_input(view);
    input.watch = watch;
    return crn_chain_run(chain, &input, &output->defects, &output->judgement);
}

/* Runs the finish halves if a device left complete contours, otherwise the whole chain. */
static int run_chain(crn_worker *self, task *it, crn_values_watch *watch)
{
    crn_output *output = &it->output;
    const worker_settings *settings = &self->settings[crn_config_slot(output->view->config)];
    int r = -EOVERFLOW;
    output->probe = NULL;
    output->defects.textures = settings->textures[it - self->tasks];
    output->defects.texture_capacity = settings->texture_capacity;
    if (it->from && it->from->status == 0)
        r = run_finish(self, it, settings->chain, watch);
    if (r == 0)
        output->judgement.place = it->from->place;
    if (it->from)
        crn_device_finished(it->from);
    output->on_device = r != -EOVERFLOW;
    if (r == -EOVERFLOW)
        r = run_whole(self, it, settings->chain, watch);
    output->judgement.place.worker = (int16_t)self->number;
    return r;
}

/* The values of a view that was not copied: the chain checked them as it read the maps, or a device
 * did; where neither can, they are checked now. Returns the time that it took. */
static int64_t check_values(crn_view *view, const crn_values_watch *watch)
{
    if (!view->check)
        return 0;
    int64_t start_ns = crn_now_ns();
    view->seen =
        watch->is_seen ? watch->seen : view->check(NULL, view->maps, view->header.payload_bytes);
    return crn_now_ns() - start_ns;
}

static void add_time(crn_judgement *judgement, int64_t took_ns)
{
    judgement->run_ns += took_ns;
    judgement->cost_ns += took_ns;
}

/* Runs the hook on a judged view and adds its time to the view's. */
static int run_hook(const crn_worker *self, crn_output *output)
{
    int64_t start_ns = crn_now_ns();
    int r = self->hook->run(output);
    add_time(&output->judgement, crn_now_ns() - start_ns);
    return r;
}

static void run_task(crn_worker *self, task *it)
{
    crn_view *view = it->output.view;
    it->output.on_device = false;
    it->output.took_ns = 0;
    if (atomic_load_explicit(&view->cancelled, memory_order_relaxed)) {
        it->output.status = -ECANCELED;
        if (it->from)
            crn_device_finished(it->from);
        return;
    }
    atomic_store_explicit(&self->running_lane, view->header.lane, memory_order_relaxed);
    atomic_store_explicit(&self->running_fruit, view->header.fruit, memory_order_relaxed);
    it->since_ns = crn_now_ns();
    crn_pulse_limit(&self->pulse, view->deadline_ns);
    atomic_store_explicit(&self->running_since_ns, it->since_ns, memory_order_release);
    CRN_RANGE_BEGIN("lane %" PRIu32 " fruit %" PRIu64 " view %u", view->header.lane,
                    view->header.fruit, view->header.view);
    if (it->from && it->from->status == 0)
        it->since_ns = it->from->enqueued.submitted_ns;
    crn_values_watch watch = {.data = view->maps};
    int r = run_chain(self, it, view->check ? &watch : NULL);
    if (r == 0)
        add_time(&it->output.judgement, check_values(view, &watch));
    if (r == 0 && self->hook)
        r = run_hook(self, &it->output);
    it->output.status = r;
    /* Whoever waited in vain for a producer to write the view has not run it. */
    bool has_run = it->from || crn_view_has_maps(view);
    it->output.took_ns = has_run ? crn_now_ns() - it->since_ns : 0;
    CRN_RANGE_END();
    atomic_store_explicit(&self->running_since_ns, 0, memory_order_release);
}

static void ring_done(const crn_worker *self)
{
    uint64_t one = 1;
    /* The eventfd's counter cannot overflow here and the write
     * cannot block, so a failure is impossible. */
    if (write(self->done_descriptor, &one, sizeof one) < 0)
        return;
}

/* However the thread ends, even by a library's pthread_exit, this records it. */
static void note_gone(void *argument)
{
    crn_worker *self = argument;
    atomic_store(&self->gone, true);
    ring_done(self);
}

static void *run_worker(void *argument)
{
    crn_worker *self = argument;
    char name[16];
    snprintf(name, sizeof name, "worker %d", self->number);
    pthread_setname_np(pthread_self(), name);
    crn_realtime_enter(self->config, CRN_THREAD_WORKER, self->number);
    sem_post(&self->ready);
    pthread_cleanup_push(note_gone, self);
    for (;;) {
        while (sem_wait(&self->work) != 0)
            continue; /* EINTR */
        task *it = crn_ring_pop(&self->in);
        if (!it)
            break; /* the post that means stop */
        run_task(self, it);
        crn_pulse_done(&self->pulse);
        crn_ring_push(&self->out, it); /* as deep as `in`, so it cannot be full */
        ring_done(self);
    }
    pthread_cleanup_pop(1);
    return NULL;
}

static int allocate_defects(const crn_config *config, crn_defects *defects)
{
    defects->defect_capacity = (uint32_t)config->limits.defects;
    defects->point_capacity = (uint32_t)config->limits.points;
    defects->defects = malloc(defects->defect_capacity * sizeof(crn_defect));
    defects->xy = malloc(defects->point_capacity * 2 * sizeof(float));
    return defects->defects && defects->xy ? 0 : -ENOMEM;
}

int crn_worker_prepare(crn_worker *worker, const crn_config *config)
{
    uint32_t slot = crn_config_slot(config);
    worker_settings *settings = &worker->settings[slot];
    settings->texture_capacity = (uint32_t)config->limits.defects * crn_config_textures(config);
    int r = crn_chain_create_beside(config, worker->chain, &settings->chain);
    for (int32_t i = 0; i < CRN_WORKER_DEPTH && settings->texture_capacity && r == 0; i++) {
        settings->textures[i] = malloc(settings->texture_capacity * sizeof(crn_texture));
        r = settings->textures[i] ? 0 : -ENOMEM;
    }
    if (r < 0)
        crn_worker_forget(worker, slot);
    return r;
}

void crn_worker_forget(crn_worker *worker, uint32_t slot)
{
    worker_settings *settings = &worker->settings[slot];
    crn_chain_free(&settings->chain);
    for (int32_t i = 0; i < CRN_WORKER_DEPTH; i++)
        free(settings->textures[i]);
    *settings = (worker_settings){.chain = NULL};
}

int crn_worker_create(const crn_config *config, const crn_ops *ops, const crn_output_hook *hook,
                      int32_t number, int done_descriptor, crn_worker **ret_worker)
{
    crn_worker *self = aligned_alloc(_Alignof(crn_worker), sizeof *self);
    if (!self)
        return -ENOMEM;
    memset(self, 0, sizeof *self);
    self->config = config;
    self->number = number;
    self->hook = hook;
    self->done_descriptor = done_descriptor;
    sem_init(&self->ready, 0, 0);
    sem_init(&self->work, 0, 0);
    int r = crn_ring_init(&self->in, CRN_WORKER_DEPTH);
    if (r == 0)
        r = crn_ring_init(&self->out, CRN_WORKER_DEPTH);
    if (r == 0)
        r = crn_remote_maps_create(number, &self->remote);
    if (r == 0)
        r = crn_chain_create(config, ops, &self->chain);
    if (r == 0)
        r = crn_worker_prepare(self, config);
    for (int32_t i = 0; i < CRN_WORKER_DEPTH && r == 0; i++)
        r = allocate_defects(config, &self->tasks[i].output.defects);
    for (int32_t i = 0; i < CRN_WORKER_DEPTH && r == 0 && hook; i++)
        r = hook->create(config, &self->tasks[i].output.extra);
    if (r == 0)
        r = crn_thread_start(&self->thread, run_worker, self);
    self->started = r == 0;
    if (r < 0) {
        crn_worker_free(&self);
        return r;
    }
    while (sem_wait(&self->ready) != 0)
        continue; /* EINTR */
    char name[CRN_PULSE_NAME_BYTES];
    snprintf(name, sizeof name, "worker %" PRId32, number);
    crn_watchdog_add(&self->pulse, CRN_PULSE_WORK, name);
    *ret_worker = self;
    return 0;
}

void crn_worker_stop(crn_worker *worker)
{
    if (!worker->started || worker->stopped)
        return;
    worker->stopped = true;
    crn_watchdog_remove(&worker->pulse);
    for (int32_t i = 0; i < CRN_WORKER_DEPTH; i++)
        if (worker->busy & UINT32_C(1) << i)
            atomic_store_explicit(&worker->tasks[i].output.view->cancelled, true,
                                  memory_order_relaxed);
    sem_post(&worker->work);
}

bool crn_worker_has_ended(const crn_worker *worker)
{
    return !worker->started || atomic_load(&worker->gone);
}

void crn_worker_free(crn_worker **worker)
{
    crn_worker *self = *worker;
    if (!self)
        return;
    crn_worker_stop(self);
    if (self->started)
        pthread_join(self->thread, NULL);
    sem_destroy(&self->ready);
    sem_destroy(&self->work);
    crn_ring_done(&self->in);
    crn_ring_done(&self->out);
    for (uint32_t slot = 0; slot < CRN_GENERATIONS; slot++)
        crn_worker_forget(self, slot);
    crn_chain_free(&self->chain);
    crn_remote_maps_free(&self->remote);
    for (int32_t i = 0; i < CRN_WORKER_DEPTH; i++) {
        free(self->tasks[i].output.defects.defects);
        free(self->tasks[i].output.defects.xy);
        if (self->hook)
            self->hook->free(self->tasks[i].output.extra);
    }
    free(self);
    *worker = NULL;
}

int32_t crn_worker_busy(const crn_worker *worker)
{
    return __builtin_popcount(worker->busy);
}

void crn_worker_submit(crn_worker *worker, crn_view *view, crn_device_view *from,
                       crn_device *device)
{
    int32_t free_task = __builtin_ctz(~worker->busy);
    task *it = &worker->tasks[free_task];
    it->output.view = view;
    it->from = from;
    it->device = device;
    worker->busy |= UINT32_C(1) << free_task;
    crn_pulse_given(&worker->pulse);
    crn_ring_push(&worker->in, it);
    sem_post(&worker->work);
}

crn_output *crn_worker_collect(crn_worker *worker)
{
    task *it = crn_ring_pop(&worker->out);
    return it ? &it->output : NULL;
}

bool crn_worker_release(crn_worker *worker, crn_output *output, crn_device_view **ret_from)
{
    for (int32_t i = 0; i < CRN_WORKER_DEPTH; i++) {
        if (output != &worker->tasks[i].output)
            continue;
        worker->busy &= ~(UINT32_C(1) << i);
        *ret_from = worker->tasks[i].from;
        return true;
    }
    return false;
}

int crn_worker_check(const crn_worker *worker, int64_t now_ns, int64_t limit_ns, crn_error *error)
{
    uint32_t lane = atomic_load_explicit(&worker->running_lane, memory_order_relaxed);
    uint64_t fruit = atomic_load_explicit(&worker->running_fruit, memory_order_relaxed);
    if (atomic_load(&worker->gone))
        return crn_error_set(error, -EIO,
                             "worker %d ended unexpectedly (last view: lane %u fruit %" PRIu64 ")",
                             worker->number, lane, fruit);
    int64_t since_ns = atomic_load_explicit(&worker->running_since_ns, memory_order_acquire);
    if (since_ns && now_ns - since_ns > limit_ns)
        return crn_error_set(
            error, -EIO, "worker %d has been running lane %u fruit %" PRIu64 " for %" PRId64 " s",
            worker->number, lane, fruit, (now_ns - since_ns) / CRN_NS_PER_S);
    return 0;
}

size_t crn_worker_bytes(const crn_config *config)
{
    return crn_chain_bytes(config) + CRN_WORKER_DEPTH * crn_chain_view_bytes(config);
}

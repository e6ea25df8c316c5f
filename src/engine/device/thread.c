/* The device's thread, the only one that calls it: forms batches of the waiting views, launches
 * them and polls for completion. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "gpu/range.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "src/engine/cost_model.h"
#include "src/engine/device/internal.h"
#include "src/engine/poll_times.h"
#include "src/realtime/realtime.h"

/* Size of the synthetic view that tests whether the device works at all. */
#define TRIAL_SIDE 32

void crn_device_lose(crn_device *device, crn_device_state state, const char *format, ...)
{
    int running = CRN_DEVICE_RUNNING;
    if (!crn_device_is_running(device))
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(device->why[state], sizeof device->why[state], format, arguments);
    va_end(arguments);
    atomic_compare_exchange_strong(&device->state, &running, (int)state);
}

static void ring(crn_device *self)
{
    uint64_t one = 1;
    self->ring = false;
    /* As with the workers' eventfd, a write cannot fail. */
    if (write(self->done_descriptor, &one, sizeof one) < 0)
        return;
}

void crn_device_return_view(crn_device *self, crn_device_view *view, int status)
{
    view->status = status;
    crn_pulse_done(&self->pulse);
    crn_ring_push(&self->out, view); /* capacity is the number of views */
    self->ring = true;
}

/* --- completion ------------------------------------------------------------------------------- */

/* Reads the times between the events and adds each step's to its recent durations. *ret_batch_ns:
 * from the uploads to the end. */
static int read_times(crn_device *self, const crn_device_slot *slot, int64_t *ret_batch_ns,
                      int64_t stage_ns[CRN_STAGES_MAX])
{
    crn_context *context = slot->context[slot->batch];
    crn_device_settings *settings = crn_device_settings_of(self, &slot->views[0]->shape);
    const crn_config *config = &settings->config;
    int32_t before = 0;
    memset(stage_ns, 0, CRN_STAGES_MAX * sizeof *stage_ns);
    for (int32_t i = 0; i < config->steps; i++) {
        if (!config->chain[i].stage->enqueue || slot->skipped & UINT32_C(1) << i)
            continue;
        int r = self->gpu->elapsed(context, before, i + 1, &stage_ns[i]);
        if (r < 0)
            return r;
        crn_recent_add(&settings->recent[i], stage_ns[i]);
        before = i + 1;
    }
    return self->gpu->elapsed(context, CRN_DEVICE_EVENT_BEGUN, before, ret_batch_ns);
}

static void finish_batch(crn_device *self, crn_device_slot *slot, int64_t now_ns)
{
    int64_t took_ns, stage_ns[CRN_STAGES_MAX];
    int r = read_times(self, slot, &took_ns, stage_ns);
    if (r < 0) {
        crn_device_lose(self, CRN_DEVICE_FAILED, "reading its times: %s", strerror(-r));
        return;
    }
    crn_batch_graph *graph = slot->graph;
    int64_t limit_ns = crn_device_batch_limit_ns(self, graph);
    crn_device_note_batch(self, slot, now_ns);
    /* By the device's clock: this thread sees the end of a batch only some time after it, and would
     * wait that long for the next one, too. Clamped: a longer time is a stall from outside; the
     * next batch must be polled in time. */
    graph->expected_ns += ((took_ns < limit_ns ? took_ns : limit_ns) - graph->expected_ns) / 4;
    const crn_config *config = &crn_device_settings_of(self, &slot->views[0]->shape)->config;
    bool has_seen = crn_device_sees_values(config);
    size_t bytes = crn_shape_bytes(&slot->views[0]->shape);
    char *received = crn_context_scratch(slot->context[slot->batch], CRN_DEVICE_RECEIVED, bytes);
    slot->graph = NULL;
    atomic_store_explicit(&slot->unfinished, slot->count, memory_order_relaxed);
    for (int32_t i = 0; i < slot->count; i++) {
        crn_device_view *view = slot->views[i];
        crn_device_result *done = &view->enqueued;
        done->contours = &slot->job->contours;
        done->seen = has_seen ? slot->seen + (ptrdiff_t)i * CRN_VALUES_PARTS : NULL;
        done->probe = self->reads && has_seen ? slot->probes + i : NULL;
        done->index = i;
        done->skipped = slot->skipped;
        done->begun_ns = slot->begun_ns;
        memcpy(done->stage_ns, stage_ns, sizeof stage_ns);
        crn_device_result_find(done, view->shape.channels);
        view->slot = slot;
        view->received = received + (size_t)i * bytes;
        view->place = (crn_run_place){.device = (int16_t)self->number,
                                      .stream = (int16_t)(slot - self->slots),
                                      .batch = (int16_t)slot->count};
    }
    /* Finishing the first view renumbers planes, so all are found before any is returned. */
    for (int32_t i = 0; i < slot->count; i++)
        crn_device_return_view(self, slot->views[i], 0);
}

static void poll_batches(crn_device *self)
{
    for (int32_t i = 0; i < CRN_DEVICE_SLOTS && crn_device_is_running(self); i++) {
        crn_device_slot *slot = &self->slots[i];
        if (!slot->graph)
            continue;
        int64_t now_ns = crn_now_ns();
        int r = self->gpu->poll(slot->context[slot->batch]);
        /* A call that returned too late: the line may have ended meanwhile. */
        if (!crn_device_is_running(self))
            return;
        if (r == 0) {
            CRN_RANGE_BEGIN("collect %" PRId32 " views", slot->count);
            finish_batch(self, slot, now_ns);
            CRN_RANGE_END();
        } else if (r != -EAGAIN)
            crn_device_lose(self, CRN_DEVICE_FAILED, "a batch failed: %s", strerror(-r));
        else if (crn_device_is_stuck(self, slot, now_ns))
            crn_device_lose(self, CRN_DEVICE_FAILED, "a batch did not end in %" PRId64 " ms",
                            (now_ns - slot->launched_ns) / CRN_NS_PER_MS);
        else if (now_ns >= slot->poll_ns)
            slot->poll_ns = crn_poll_next_ns(slot->launched_ns, now_ns);
    }
}

/* --- launch ----------------------------------------------------------------------------------- */

/* If one optional image step has too little time, all of them are skipped: graphs for every
 * combination would cost more than they gain. */
static uint32_t skipped_of(crn_device *self, const crn_device_view *view, int64_t now_ns)
{
    const crn_device_settings *settings = crn_device_settings_of(self, &view->shape);
    for (int32_t i = 0; settings->optional >> i; i++)
        if (settings->optional & UINT32_C(1) << i &&
            view->deadline_ns - now_ns < crn_recent_p99_ns(&settings->recent[i]))
            return settings->optional;
    return 0;
}

static crn_device_slot *find_free_slot(crn_device *self)
{
    for (int32_t i = 0; i < CRN_DEVICE_SLOTS; i++) {
        crn_device_slot *slot = &self->slots[i];
        if (!slot->graph && atomic_load(&slot->unfinished) == 0)
            return slot;
    }
    return NULL;
}

/* NULL: there is none, and whoever frees one wakes this thread (crn_device_finished). */
static crn_device_slot *take_free_slot(crn_device *self)
{
    atomic_store(&self->starved, false);
    crn_device_slot *slot = find_free_slot(self);
    if (slot)
        return slot;
    atomic_store(&self->starved, true);
    return find_free_slot(self); /* one that was freed before the worker could see it */
}

/* Collects up to `most` waiting views that fit the first one's batch; returns their number. */
static int32_t gather(crn_device *self, int32_t max, int64_t now_ns,
                      int32_t ret_indices[CRN_DEVICE_BATCH_MAX])
{
    const crn_device_view *first = self->waiting[0];
    uint32_t skipped = skipped_of(self, first, now_ns);
    int32_t count = 0;
    for (int32_t i = 0; i < self->waiting_count && count < max; i++) {
        const crn_device_view *view = self->waiting[i];
        if (crn_shape_same(&view->shape, &first->shape) &&
            skipped_of(self, view, now_ns) == skipped)
            ret_indices[count++] = i;
    }
    return count;
}

/* Launches the views at these indices and removes them from the waiting ones. */
static void launch(crn_device *self, crn_device_slot *slot, int32_t batch, crn_batch_graph *graph,
                   const int32_t *indices)
{
    const char *what = "";
    int32_t count = 1 << batch;
    for (int32_t i = count - 1; i >= 0; i--) {
        slot->views[i] = self->waiting[indices[i]];
        crn_device_drop_waiting(self, indices[i]);
    }
    crn_device_settings *settings = crn_device_settings_of(self, &slot->views[0]->shape);
    for (int32_t i = 0; slot->skipped >> i; i++)
        if (slot->skipped & UINT32_C(1) << i)
            crn_recent_skip(&settings->recent[i]);
    slot->begun_ns = crn_now_ns();
    CRN_RANGE_BEGIN("batch of %" PRId32, count);
    int r = crn_slot_launch(self, slot, batch, graph, slot->views, &what);
    CRN_RANGE_END();
    if (r < 0) {
        crn_device_lose(self, CRN_DEVICE_FAILED, "%s failed: %s", what, strerror(-r));
        return;
    }
    slot->graph = graph;
    /* Read the clock again: this thread may have been stopped, which is not the device's fault. */
    slot->launched_ns = crn_now_ns();
    slot->batch = batch;
    slot->count = count;
    slot->poll_ns = crn_poll_first_ns(slot->begun_ns, graph->expected_ns);
}

/* For a shape without graphs: its views are refused, and once
 * the device is idle the shape is prepared. */
static void request_shape(crn_device *self, const crn_shape *shape, int64_t now_ns)
{
    if (atomic_load(&self->preparing) || !crn_shape_graphs_have_room(self, now_ns))
        return;
    self->requested = *shape;
    atomic_store(&self->preparing, true);
}

static void start_batches(crn_device *self)
{
    while (self->waiting_count > 0 && crn_device_is_running(self)) {
        int64_t now_ns = crn_now_ns();
        crn_device_view *first = self->waiting[0];
        crn_shape_graphs *graphs = crn_shape_graphs_find(self, &first->shape);
        bool cancelled = atomic_load_explicit(&first->view->cancelled, memory_order_relaxed);
        if (cancelled || !graphs || graphs->refused) {
            if (!cancelled && !graphs)
                request_shape(self, &first->shape, now_ns);
            crn_device_return_view(self, first, graphs && graphs->refused ? -ENOTSUP : -EAGAIN);
            crn_device_drop_waiting(self, 0);
            continue;
        }
        crn_device_slot *slot = take_free_slot(self);
        if (!slot)
            return;
        int32_t indices[CRN_DEVICE_BATCH_MAX], batch = 0;
        int32_t count = gather(self, CRN_DEVICE_BATCH_MAX, now_ns, indices);
        slot->skipped = skipped_of(self, first, now_ns);
        crn_batch_graph *graph = crn_shape_graphs_choose(
            self, graphs, slot->skipped, (int32_t)(slot - self->slots), count, &batch);
        graphs->used_ns = now_ns;
        if (graph) {
            launch(self, slot, batch, graph, indices);
        } else {
            crn_device_return_view(self, first, -EAGAIN);
            crn_device_drop_waiting(self, 0);
        }
    }
}

/* --- preparation and requests ----------------------------------------------------------------- */

/* Median time of the runs; `maps` are uploaded from pinned memory, as views are. */
static int time_runs(crn_device *self, crn_shape_graphs *graphs, crn_device_request *request,
                     const void *maps)
{
    crn_device_slot *slot = &self->slots[0];
    int32_t batch = 0;
    crn_batch_graph *graph = crn_shape_graphs_choose(self, graphs, 0, 0, 1, &batch);
    crn_device_view made_up = {.shape = request->shape, .maps = maps}, *view = &made_up;
    int64_t took_ns[32];
    int32_t runs = request->runs < 32 ? request->runs : 32;
    if (!graph || runs < 1)
        return -ENOTSUP;
    for (int32_t i = 0; i < runs; i++) {
        const char *what;
        int64_t begun_ns = crn_now_ns();
        int r = crn_slot_launch(self, slot, batch, graph, &view, &what);
        if (r == 0)
            r = crn_gpu_wait(self->gpu, slot->context[batch], CRN_DEVICE_PREPARE_LIMIT_NS);
        if (r < 0)
            return r;
        took_ns[i] = crn_now_ns() - begun_ns;
    }
    request->ns = crn_cost_model_median_ns(took_ns, runs);
    return 0;
}

static int serve(crn_device *self, crn_device_request *request)
{
    request->ns = 0;
    if (request->runs == 0)
        return 0;
    int r = crn_shape_graphs_find(self, &request->shape)
                ? 0
                : crn_shape_graphs_prepare(self, &request->shape);
    crn_shape_graphs *graphs = crn_shape_graphs_find(self, &request->shape);
    if (r < 0 || !graphs || graphs->refused)
        return r < 0 ? r : -ENOTSUP;
    size_t bytes = crn_shape_bytes(&request->shape);
    void *pinned = self->gpu->pinned_create(bytes);
    if (!pinned)
        return -ENOMEM;
    memcpy(pinned, request->maps, bytes);
    r = time_runs(self, graphs, request, pinned);
    if (r != -ETIMEDOUT) /* otherwise the device may still read it */
        self->gpu->pinned_free(pinned);
    return r;
}

/* Frees settings that no view has any more. Their graphs go at the next preparation, when the
 * device is idle. */
static void give_back(crn_device *self)
{
    unsigned unused = atomic_exchange(&self->unused, 0);
    for (uint32_t slot = 0; unused >> slot; slot++)
        if (unused >> slot & 1)
            crn_device_settings_free(atomic_exchange(&self->settings[slot], NULL));
}

static void lose_preparing(crn_device *self, int r)
{
    if (!crn_device_is_refusal(r))
        crn_device_lose(self, CRN_DEVICE_FAILED, "preparing for a shape: %s", strerror(-r));
}

/* Runs deferred work, which may take long: only while the device holds no view. */
static void run_deferred(crn_device *self)
{
    if (!crn_device_is_running(self) || atomic_load(&self->held) > 0)
        return;
    if (atomic_load(&self->preparing)) {
        if (crn_device_settings_of(self, &self->requested))
            lose_preparing(self, crn_shape_graphs_prepare(self, &self->requested));
        /* First restart the timer, or the line's thread applies the ordinary limit to this. */
        atomic_store(&self->since_ns, crn_now_ns());
        atomic_store(&self->preparing, false);
    }
    if (atomic_load(&self->request_pending)) {
        self->request.status = serve(self, &self->request);
        lose_preparing(self, self->request.status);
        atomic_store(&self->request_pending, false);
        sem_post(&self->answered);
    }
}

/* --- the thread --------------------------------------------------------------------------------*/

/* Other processes on the device cost time that nothing here can give back. */
static void tell_shared(const crn_device *self)
{
    int32_t others = self->gpu->processes(self->number) - 1;
    if (self->about.mps && others > 0)
        crn_log(CRN_LOG_WARNING,
                "device %d: %" PRId32 " other process%s on it through the same MPS server, and a "
                "view waits for kernels of theirs: %s",
                self->number, others, others == 1 ? " computes" : "es compute",
                CRN_DEVICE_SHARED_CURE);
    else if (others > 0)
        crn_log(CRN_LOG_INFO,
                "device %d: %" PRId32 " other process%s on it, by turns: a view may wait for some "
                "milliseconds",
                self->number, others, others == 1 ? " computes" : "es compute");
}

static int set_up(crn_device *self)
{
    const crn_gpu *gpu = self->gpu;
    int r = gpu->describe(self->number, &self->about);
    /* First, so that all later calls go to this device. */
    if (r == 0)
        r = gpu->context_create(self->number, 1, &self->slots[0].context[0]);
    if (r < 0)
        return crn_error_set(&self->error, r, "device %d: %s", self->number, crn_gpu_strerror(r));
    tell_shared(self);
    if (self->memory.start) {
        r = gpu->pin(self->number, self->memory.start, self->memory.bytes);
        self->pinned = r == 0;
        if (r < 0 && r != -EALREADY) /* pinned already by a device that was left out since */
            crn_log(CRN_LOG_WARNING,
                    "device %d: %zu MiB of slots cannot be pinned: %s; uploads take longer; lower "
                    "limits.view_mib or limits.slots",
                    self->number, self->memory.bytes >> 20, strerror(-r));
    }
    r = 0;
    for (int32_t i = 0; i < CRN_DEVICE_SLOTS && r == 0; i++)
        r = crn_slot_create(self, &self->slots[i]);
    if (r == 0)
        r = crn_device_reads_create(self);
    if (r < 0)
        return crn_error_set(&self->error, r,
                             "device %d: %zu MiB of pinned memory for results: %s; lower "
                             "limits.points",
                             self->number, crn_device_bytes(self->config) >> 20, strerror(-r));
    crn_shape trial = {TRIAL_SIDE, TRIAL_SIDE, self->config->classes.count,
                       CRN_F32,    CRN_HWC,    self->config->generation};
    r = crn_shape_graphs_prepare(self, &trial);
    const crn_shape_graphs *graphs = crn_shape_graphs_find(self, &trial);
    if (r == 0 && (!graphs || graphs->refused))
        r = -ENOTSUP;
    if (r < 0)
        return crn_error_set(&self->error, r, "device %d: cannot run the chain: %s", self->number,
                             strerror(-r));
    return 0;
}

/* Frees the resources of a working device after the batches in flight have completed. */
static void tear_down(crn_device *self)
{
    for (int32_t i = 0; i < CRN_DEVICE_SLOTS; i++) {
        crn_device_slot *slot = &self->slots[i];
        if (slot->graph &&
            crn_gpu_wait(self->gpu, slot->context[slot->batch], crn_device_limit_ns(self)) < 0) {
            crn_device_lose(self, CRN_DEVICE_FAILED, "a batch did not end");
            return;
        }
    }
    crn_shape_graphs_free(self);
    for (int32_t i = 0; i < CRN_DEVICE_SLOTS; i++)
        crn_slot_free(self, &self->slots[i]);
    crn_device_reads_free(self);
    if (self->pinned)
        self->gpu->unpin(self->memory.start);
}

/* Sleeps until there is work or a batch in flight may be complete. */
static void sleep_until_needed(crn_device *self)
{
    int64_t wake_ns = CRN_NEVER_NS;
    for (int32_t i = 0; i < CRN_DEVICE_SLOTS; i++)
        if (self->slots[i].graph && self->slots[i].poll_ns < wake_ns)
            wake_ns = self->slots[i].poll_ns;
    /* Neither a producer's work nor a read wakes this thread when it is done. */
    if (self->unwritten_count > 0 || self->polls_reads) {
        int64_t poll_ns = crn_now_ns() + CRN_POLL_NS;
        wake_ns = poll_ns < wake_ns ? poll_ns : wake_ns;
    }
    (void)crn_sem_wait_until(&self->work, wake_ns);
    /* Woken or timed out: the caller checks everything. */
    while (sem_trywait(&self->work) == 0)
        continue;
}

void *crn_device_run(void *device)
{
    crn_device *self = device;
    char name[16];
    snprintf(name, sizeof name, "device %d", self->number);
    pthread_setname_np(pthread_self(), name);
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    crn_realtime_enter(self->config, CRN_THREAD_DEVICE, self->number); /* CUDA's threads inherit */
    self->status = set_up(self);
    if (self->status < 0)
        crn_device_lose(self, CRN_DEVICE_FAILED, "%.200s", self->error.text);
    atomic_store(&self->ready, true);
    sem_post(&self->answered);
    while (crn_device_is_running(self) && !atomic_load(&self->stop)) {
        atomic_store(&self->since_ns, crn_now_ns());
        crn_device_accept(self);
        poll_batches(self);
        crn_device_serve_reads(self);
        if (self->ring)
            ring(self);
        start_batches(self);
        give_back(self);
        run_deferred(self);
        atomic_store(&self->since_ns, 0);
        if (!crn_device_is_running(self))
            break;
        if (self->ring)
            ring(self);
        sleep_until_needed(self);
    }
    if (crn_device_is_running(self))
        tear_down(self);
    ring(self);
    sem_post(&self->ended);
    return NULL;
}

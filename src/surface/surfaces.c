#include "src/surface/surfaces.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/realtime/realtime.h"
#include "src/service/watchdog.h"
#include "src/surface/packed_surface.h"
#include "stages/base/clock.h"
#include "stages/base/process/thread.h"
#include "stages/base/ring.h"

/* A measurement and the memory of its bytes. */
typedef struct surface_task {
    crn_measurement measurement; /* first member */
    crn_surface_packer packer;
} surface_task;

struct crn_surfaces {
    const crn_config *config;
    int done_descriptor;
    crn_fruit_union *fruit_union; /* the thread's */
    pthread_t thread;
    bool started;
    sem_t work; /* a post for each task in `in`, one more to stop */
    crn_ring in, out;
    surface_task tasks[CRN_SURFACES_MAX];
    uint32_t busy; /* bit per task in use */
    crn_recent recent;
    crn_surfaces_stats stats;
    crn_pulse *pulse;
};

size_t crn_surfaces_bytes(const crn_config *config)
{
    return crn_config_measures(config) ? sizeof(crn_surfaces) + crn_fruit_union_bytes(config) : 0;
}

static void run_task(crn_surfaces *self, surface_task *it)
{
    crn_measurement *measurement = &it->measurement;
    int64_t start_ns = crn_now_ns();
    const crn_surface_fruit *fruit = crn_fruit_union_run(self->fruit_union, measurement);
    measurement->coverage = fruit ? fruit->coverage : 0;
    /* Without memory the fruit is not measured. */
    measurement->is_measured = crn_surface_pack(&it->packer, fruit, measurement) == 0 && fruit;
    measurement->took_ns = crn_now_ns() - start_ns;
}

static void *run_surfaces(void *argument)
{
    crn_surfaces *self = argument;
    uint64_t one = 1;
    pthread_setname_np(pthread_self(), "surfaces");
    crn_realtime_enter(self->config, CRN_THREAD_WORKER, 0);
    for (;;) {
        while (sem_wait(&self->work) != 0)
            continue; /* EINTR */
        surface_task *it = crn_ring_pop(&self->in);
        if (!it)
            return NULL; /* the post that means stop */
        run_task(self, it);
        crn_pulse_done(self->pulse);
        crn_ring_push(&self->out, it); /* as deep as `in`, so it cannot be full */
        /* The eventfd's counter cannot overflow, so the write cannot fail. */
        if (write(self->done_descriptor, &one, sizeof one) < 0)
            continue;
    }
}

int crn_surfaces_open(const crn_config *config, const crn_result_store *store, int done_descriptor,
                      crn_surfaces **ret_surfaces)
{
    crn_surfaces *self = aligned_alloc(_Alignof(crn_surfaces), sizeof *self);
    if (!self)
        return -ENOMEM;
    memset(self, 0, sizeof *self);
    self->config = config;
    self->done_descriptor = done_descriptor;
    sem_init(&self->work, 0, 0);
    self->pulse = crn_pulse_create();
    int r = self->pulse ? crn_ring_init(&self->in, CRN_SURFACES_MAX) : -ENOMEM;
    if (r == 0)
        r = crn_ring_init(&self->out, CRN_SURFACES_MAX);
    if (r == 0)
        r = crn_fruit_union_create(config, store, &self->fruit_union);
    for (int i = 0; i < CRN_SURFACES_MAX && r == 0; i++)
        r = crn_surface_packer_init(config, &self->tasks[i].packer);
    if (r == 0)
        r = crn_thread_start(&self->thread, run_surfaces, self);
    self->started = r == 0;
    if (r < 0) {
        crn_surfaces_close(&self);
        return r;
    }
    crn_watchdog_add(self->pulse, CRN_PULSE_APART, "surfaces");
    *ret_surfaces = self;
    return 0;
}

void crn_surfaces_close(crn_surfaces **surfaces)
{
    crn_surfaces *self = *surfaces;
    if (!self)
        return;
    if (self->pulse)
        crn_watchdog_remove(self->pulse);
    if (self->started) {
        /* It stops when it has popped them all and finds none. */
        sem_post(&self->work);
        pthread_join(self->thread, NULL);
    }
    sem_destroy(&self->work);
    crn_ring_done(&self->in);
    crn_ring_done(&self->out);
    crn_fruit_union_free(&self->fruit_union);
    for (int i = 0; i < CRN_SURFACES_MAX; i++)
        crn_surface_packer_done(&self->tasks[i].packer);
    free(self->pulse);
    free(self);
    *surfaces = NULL;
}

static void list_views(const crn_fruit *fruit, int64_t views, crn_measurement *measurement)
{
    measurement->view_count = 0;
    for (int64_t v = 0; v < views; v++) {
        const crn_fruit_view *view = &fruit->views[v];
        if (view->state != CRN_VIEW_JUDGED)
            continue;
        measurement->views[measurement->view_count++] =
            (crn_measured_view){.view = (uint32_t)v, .result = view->judgement.result};
    }
}

bool crn_surfaces_begin(crn_surfaces *surfaces, const crn_fruit *fruit, int64_t end_ns,
                        int64_t now_ns)
{
    if (surfaces->busy == UINT32_MAX)
        return false;
    if (fruit->config->geometry.surface.optional &&
        end_ns - now_ns < crn_recent_p99_ns(&surfaces->recent)) {
        crn_recent_skip(&surfaces->recent);
        return false;
    }
    int free_task = __builtin_ctz(~surfaces->busy);
    surface_task *it = &surfaces->tasks[free_task];
    it->measurement.fruit = fruit;
    it->measurement.config = fruit->config;
    it->measurement.judged = fruit->judged;
    it->measurement.begun_ns = now_ns;
    it->measurement.done = it->measurement.left = false;
    list_views(fruit, surfaces->config->limits.views, &it->measurement);
    surfaces->busy |= UINT32_C(1) << free_task;
    crn_pulse_given(surfaces->pulse);
    crn_ring_push(&surfaces->in, it); /* it holds them all */
    sem_post(&surfaces->work);
    return true;
}

crn_measurement *crn_surfaces_find(crn_surfaces *surfaces, const crn_fruit *fruit)
{
    for (uint32_t busy = surfaces->busy; busy; busy &= busy - 1) {
        crn_measurement *it = &surfaces->tasks[__builtin_ctz(busy)].measurement;
        if (it->fruit == fruit && !it->left)
            return it;
    }
    return NULL;
}

static void count(crn_surfaces_stats *stats, const crn_measurement *measurement)
{
    stats->measured += measurement->is_measured;
    stats->unmeasured += !measurement->is_measured;
    stats->coverage += measurement->coverage;
    stats->busy_ns += (uint64_t)measurement->took_ns;
    for (int32_t i = 0; i < measurement->view_count; i++) {
        const crn_view_pose *found = &measurement->views[i].found;
        stats->poses[found->source]++;
        stats->rolls[measurement->views[i].roll_source] += i > 0;
        if (found->source == CRN_POSE_PHOTO || found->source == CRN_POSE_CLASS)
            stats->confidence += found->pose.confidence;
    }
}

crn_measurement *crn_surfaces_collect(crn_surfaces *surfaces, int64_t now_ns)
{
    surface_task *it = crn_ring_pop(&surfaces->out);
    if (!it)
        return NULL;
    crn_measurement *measurement = &it->measurement;
    measurement->done = true;
    measurement->packed.took_ns = now_ns - measurement->begun_ns;
    crn_recent_add(&surfaces->recent, measurement->packed.took_ns);
    count(&surfaces->stats, measurement);
    return measurement;
}

void crn_surfaces_release(crn_surfaces *surfaces, crn_measurement *measurement)
{
    const surface_task *it = (const surface_task *)measurement;
    surfaces->busy &= ~(UINT32_C(1) << (it - surfaces->tasks));
}

void crn_surfaces_skip(crn_surfaces *surfaces)
{
    surfaces->stats.skipped++;
}

const crn_surfaces_stats *crn_surfaces_get_stats(const crn_surfaces *surfaces)
{
    return &surfaces->stats;
}

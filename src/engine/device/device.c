/* The submitting thread's side of a device. */
#include "src/engine/device/device.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "stages/base/process/thread.h"
#include "src/engine/device/internal.h"
#include "src/service/watchdog.h"

/* A thread that was stopped from outside is not stuck: it counts as stuck only when seen in the
 * same call this many times, at intervals of an eighth of the limit. */
#define SUSPICIONS 5

/* Time limit for set-up and requests; for the end, if no call of the device may take longer. */
#define ANSWER_LIMIT_NS (60 * CRN_NS_PER_S)
#define END_LIMIT_NS    (3 * CRN_NS_PER_S)

/* Lost devices are leaked on purpose: their threads may return from a call, and it is unknown what
 * still writes to their memory. */
static crn_device *_Atomic abandoned;

/* False on timeout. */
static bool wait_for(sem_t *semaphore, int64_t limit_ns)
{
    return crn_sem_wait_until(semaphore, crn_now_ns() + limit_ns) == 0;
}

static void leak_device(crn_device *device)
{
    device->next_abandoned = atomic_load(&abandoned);
    while (!atomic_compare_exchange_weak(&abandoned, &device->next_abandoned, device))
        continue;
}

/* The thread was never started, or has ended and freed its device resources. */
static void free_device(crn_device *device)
{
    sem_destroy(&device->work);
    sem_destroy(&device->answered);
    sem_destroy(&device->ended);
    crn_ring_done(&device->in);
    crn_ring_done(&device->out);
    if (device->done_descriptor >= 0)
        close(device->done_descriptor);
    for (uint32_t slot = 0; slot < CRN_GENERATIONS; slot++)
        crn_device_settings_free(device->settings[slot]);
    for (int32_t i = 0; i < device->read_count; i++)
        sem_destroy(&device->reads[i].done);
    free(device->reads);
    crn_config_done(&device->own);
    free(device);
}

static crn_device *create(const crn_config *config, const crn_device_base *base, int32_t number)
{
    crn_device *device = aligned_alloc(_Alignof(crn_device), sizeof *device);
    if (!device)
        return NULL;
    memset(device, 0, sizeof *device);
    if (crn_config_copy(config, &device->own) < 0) {
        free(device);
        return NULL;
    }
    device->config = &device->own;
    device->gpu = base->gpu;
    device->number = number;
    device->memory = base->memory;
    sem_init(&device->work, 0, 0);
    sem_init(&device->answered, 0, 0);
    sem_init(&device->ended, 0, 0);
    for (int32_t i = 0; i < CRN_DEVICE_VIEWS; i++)
        device->views[i].device = device;
    int32_t reads = crn_device_reads_wanted(config);
    device->reads = reads > 0 ? calloc((size_t)reads, sizeof *device->reads) : NULL;
    device->read_count = device->reads ? reads : 0;
    for (int32_t i = 0; i < device->read_count; i++)
        sem_init(&device->reads[i].done, 0, 0);
    device->done_descriptor = dup(base->done_descriptor);
    if (device->done_descriptor < 0 || device->read_count < reads ||
        crn_device_prepare(device, config) < 0 ||
        crn_ring_init(&device->in, CRN_DEVICE_VIEWS) < 0 ||
        crn_ring_init(&device->out, CRN_DEVICE_VIEWS) < 0) {
        free_device(device);
        return NULL;
    }
    return device;
}

int crn_device_open(const crn_config *config, const crn_device_base *base, int32_t number,
                    crn_device **ret_device, crn_error *error)
{
    crn_device *device = create(config, base, number);
    if (!device)
        return crn_error_set(error, -ENOMEM, "device %d: out of memory", number);
    int r = crn_thread_start(&device->thread, crn_device_run, device);
    if (r < 0) {
        free_device(device);
        return crn_error_set(error, r, "device %d: cannot start its thread: %s", number,
                             strerror(-r));
    }
    if (!wait_for(&device->answered, ANSWER_LIMIT_NS) || !atomic_load(&device->ready)) {
        crn_device_lose(device, CRN_DEVICE_ABANDONED, "it does not answer");
        crn_error_set(error, -ETIMEDOUT, "device %d: it does not answer", number);
        crn_device_close(&device);
        return -ETIMEDOUT;
    }
    r = device->status;
    if (r < 0) {
        *error = device->error;
        crn_device_close(&device);
        return r;
    }
    char name[CRN_PULSE_NAME_BYTES];
    snprintf(name, sizeof name, "device %" PRId32, number);
    crn_watchdog_add(&device->pulse, CRN_PULSE_WORK, name);
    *ret_device = device;
    return 0;
}

static int64_t end_limit_ns(const crn_device *device)
{
    if (atomic_load(&device->state) == CRN_DEVICE_ABANDONED)
        return 0;
    int64_t call_ns = crn_device_limit_ns(device);
    return call_ns > END_LIMIT_NS ? call_ns : END_LIMIT_NS;
}

bool crn_device_close(crn_device **device)
{
    crn_device *self = *device;
    if (!self)
        return true;
    *device = NULL;
    crn_watchdog_remove(&self->pulse);
    atomic_store(&self->stop, true);
    sem_post(&self->work);
    bool ended = wait_for(&self->ended, end_limit_ns(self));
    if (ended) {
        pthread_join(self->thread, NULL);
    } else {
        crn_device_lose(self, CRN_DEVICE_ABANDONED, "it does not end");
        pthread_detach(self->thread);
    }
    if (crn_device_is_running(self)) {
        free_device(self);
        return true;
    }
    leak_device(self);
    return false;
}

bool crn_device_has_room(const crn_device *device)
{
    return crn_device_is_running(device) && !atomic_load(&device->preparing) &&
           atomic_load(&device->held) < CRN_DEVICE_VIEWS;
}

int crn_device_submit(crn_device *device, crn_view *view, int64_t now_ns)
{
    crn_device_view *entry = NULL;
    for (int32_t i = 0; i < CRN_DEVICE_VIEWS && !entry; i++)
        if (!device->views[i].used)
            entry = &device->views[i];
    if (!crn_device_is_running(device))
        return -ENODEV;
    if (!entry)
        return -EAGAIN;
    /* Increment before reading `preparing`: the thread that is second sees the other's store. */
    atomic_fetch_add(&device->held, 1);
    if (atomic_load(&device->preparing)) {
        if (atomic_fetch_sub(&device->held, 1) == 1)
            sem_post(&device->work);
        return -EBUSY;
    }
    entry->view = view;
    entry->shape = crn_shape_of(view);
    entry->lane = view->header.lane;
    entry->fruit = view->header.fruit;
    entry->index = view->header.view;
    entry->maps = view->gpu.maps ? view->gpu.maps : view->maps;
    entry->signal = view->gpu.maps ? view->gpu.signal : NULL;
    entry->deadline_ns = view->deadline_ns;
    entry->enqueued.submitted_ns = now_ns;
    entry->used = entry->inside = true;
    crn_pulse_given(&device->pulse);
    crn_ring_push(&device->in, entry); /* capacity is the number of views */
    sem_post(&device->work);
    return 0;
}

crn_device_view *crn_device_collect(crn_device *device)
{
    if (!crn_device_is_running(device))
        return NULL;
    crn_device_view *view = crn_ring_pop(&device->out);
    if (view)
        view->inside = false;
    return view;
}

void crn_device_release(crn_device_view *view)
{
    crn_device *device = view->device;
    view->used = false;
    if (atomic_fetch_sub(&device->held, 1) == 1 && atomic_load(&device->preparing))
        sem_post(&device->work);
}

bool crn_device_lost(crn_device *device, int64_t now_ns, const char **ret_why)
{
    /* The order matters: once `preparing` is false, since_ns is recent. */
    bool preparing = atomic_load(&device->preparing) && atomic_load(&device->held) == 0;
    int64_t since_ns = atomic_load(&device->since_ns);
    int64_t limit_ns = preparing ? CRN_DEVICE_PREPARE_LIMIT_NS : crn_device_limit_ns(device);
    if (since_ns == 0 || since_ns != device->suspect_ns) {
        device->suspect_ns = since_ns;
        device->suspected_ns = now_ns;
        device->suspicions = 1;
    } else if (now_ns - device->suspected_ns > limit_ns / 8) {
        device->suspected_ns = now_ns;
        device->suspicions++;
    }
    if (since_ns && now_ns - since_ns > limit_ns && device->suspicions >= SUSPICIONS) {
        crn_device_lose(device, CRN_DEVICE_ABANDONED, "it has been in one call for %lld ms",
                        (long long)((now_ns - since_ns) / CRN_NS_PER_MS));
        /* If the call spins, it must not take a core from working threads. */
        struct sched_param lowest = {.sched_priority = 0};
        pthread_setschedparam(device->thread, SCHED_IDLE, &lowest);
    }
    int state = atomic_load(&device->state);
    *ret_why = device->why[state];
    if (state != CRN_DEVICE_RUNNING)
        crn_pulse_retire(&device->pulse);
    return state != CRN_DEVICE_RUNNING;
}

crn_view *crn_device_reclaim(crn_device *device)
{
    for (int32_t i = 0; i < CRN_DEVICE_VIEWS; i++) {
        crn_device_view *view = &device->views[i];
        if (view->used && view->inside) {
            view->inside = false;
            return view->view;
        }
    }
    return NULL;
}

uint64_t crn_device_copied(const crn_device *device)
{
    return atomic_load_explicit(&device->copied, memory_order_relaxed);
}

uint64_t crn_device_slow(const crn_device *device)
{
    return atomic_load_explicit(&device->slow, memory_order_relaxed);
}

int64_t crn_device_wake_ns(const crn_device *device, int64_t now_ns)
{
    return crn_device_is_running(device) && atomic_load(&device->held) > 0
               ? now_ns + crn_device_limit_ns(device) / 6
               : CRN_NEVER_NS;
}

const crn_gpu_device *crn_device_about(const crn_device *device)
{
    return &device->about;
}

int crn_device_measure(crn_device *device, const crn_shape *shape, const void *maps, int32_t runs,
                       int64_t *ret_ns)
{
    device->request =
        (crn_device_request){.shape = *shape, .maps = maps, .runs = runs, .status = -ETIMEDOUT};
    atomic_store(&device->request_pending, true);
    sem_post(&device->work);
    if (!wait_for(&device->answered, ANSWER_LIMIT_NS) || atomic_load(&device->request_pending)) {
        crn_device_lose(device, CRN_DEVICE_ABANDONED, "it does not answer");
        return -ETIMEDOUT;
    }
    if (device->request.status == 0)
        *ret_ns = device->request.ns;
    return device->request.status;
}

void crn_device_finished(crn_device_view *view)
{
    /* Decrement before reading `starved`: of this thread and the device's, the second sees the
     * first's store. */
    if (view->status == 0 && atomic_fetch_sub(&view->slot->unfinished, 1) == 1 &&
        atomic_load(&view->device->starved))
        sem_post(&view->device->work);
}

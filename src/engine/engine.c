#include "src/engine/engine.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "src/engine/internal.h"
#include "stages/backend.h"

/* How often the end looks at devices. */
#define LOOK_MS 5

/* A view that waits for a worker: for its finish halves, or for the whole chain. */
typedef struct ready_view {
    crn_view *view;
    crn_device_view *from; /* NULL: the whole chain */
} ready_view;

struct crn_engine {
    const crn_config *config;
    int32_t workers;
    crn_worker **worker;
    int32_t next; /* round-robin index of collect over the workers */
    int done_descriptor;
    crn_devices devices;
    ready_view *ready; /* a ring buffer */
    int32_t ready_capacity, ready_first, ready_count;
    crn_engine_stats stats;
    char description[256];
};

size_t crn_engine_bytes(const crn_config *config)
{
    const char *why;
    bool devices = config->run.backend == CRN_BACKEND_CUDA ||
                   (config->run.backend == CRN_BACKEND_AUTO && crn_gpu_get(&why));
    return (size_t)config->run.workers * crn_worker_bytes(config) +
           (devices ? (size_t)config->run.devices.count * crn_device_bytes(config) : 0);
}

static void describe(crn_engine *engine, const crn_ops *ops)
{
    const crn_config *config = engine->config;
    const crn_devices *devices = &engine->devices;
    char number[16] = "", in_front[160] = "";
    if (devices->count > 1)
        snprintf(number, sizeof number, "%d x ", devices->count);
    if (devices->count > 0)
        snprintf(in_front, sizeof in_front, "%s on %s%s, %d batches in flight, then ",
                 crn_backend_names[config->run.backend], number,
                 crn_device_about(devices->device[0])->name, CRN_DEVICE_SLOTS);
    snprintf(engine->description, sizeof engine->description, "%s%s, %d worker%s of %d thread%s",
             in_front, ops->name, engine->workers, engine->workers == 1 ? "" : "s",
             (int)config->run.threads, config->run.threads == 1 ? "" : "s");
}

/* Returns 0, or a negative errno with *error. */
static int open_devices(crn_engine *engine, const crn_ops *ops, const crn_gpu *gpu,
                        crn_device_memory memory, crn_error *error)
{
    const crn_devices *devices = &engine->devices;
    crn_engine_stats *stats = &engine->stats;
    int32_t backend = engine->config->run.backend;
    const char *why = "";
    if (!gpu && backend == CRN_BACKEND_AUTO && crn_gpu_is_failing(&why)) {
        crn_log(CRN_LOG_WARNING, "%s; no device is used until restart", why);
        stats->left_out = 1;
        snprintf(stats->left_out_why, sizeof stats->left_out_why, "%s", why);
    }
    if (!gpu || (backend != CRN_BACKEND_CUDA && backend != CRN_BACKEND_AUTO))
        return 0;
    crn_device_base base = {gpu, memory, engine->done_descriptor};
    int r = crn_devices_open(engine->config, ops, &base, &engine->devices, error);
    stats->devices = devices->count;
    stats->first_device = devices->count > 0 ? devices->number[0] : 0;
    stats->left_out = devices->left_out_count;
    memcpy(stats->left_out_why, devices->left_out_why, sizeof stats->left_out_why);
    return r;
}

static int open_workers(crn_engine *engine, const crn_ops *ops, const crn_output_hook *hook)
{
    const crn_config *config = engine->config;
    engine->worker = calloc((size_t)engine->workers, sizeof *engine->worker);
    engine->ready_capacity = engine->devices.count * CRN_DEVICE_VIEWS + engine->workers + 1;
    engine->ready = calloc((size_t)engine->ready_capacity, sizeof *engine->ready);
    if (!engine->worker || !engine->ready)
        return -ENOMEM;
    for (int32_t i = 0; i < engine->workers; i++) {
        int r =
            crn_worker_create(config, ops, hook, i, engine->done_descriptor, &engine->worker[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

int crn_engine_open(const crn_config *config, const crn_gpu *gpu, crn_device_memory memory,
                    const crn_output_hook *hook, crn_engine **ret_engine, crn_error *error)
{
    const char *why = "";
    bool cuda = config->run.backend == CRN_BACKEND_CUDA;
    if (cuda && !gpu) {
        gpu = crn_gpu_get(&why);
        return crn_error_set(error, -ENOTSUP, "run.backend cuda: %s; choose openmp, or auto",
                             gpu ? "no devices given" : why);
    }
    const crn_ops *ops =
        crn_backend_ops(cuda ? CRN_BACKEND_OPENMP : (crn_backend)config->run.backend, &why);
    crn_engine *engine = calloc(1, sizeof *engine);
    if (!engine)
        return crn_error_set(error, -ENOMEM, "engine: out of memory");
    engine->config = config;
    engine->workers = (int32_t)config->run.workers;
    engine->done_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int r = engine->done_descriptor < 0 ? crn_error_set(error, -errno, "engine: no eventfd") : 0;
    if (r == 0)
        r = open_devices(engine, ops, gpu, memory, error);
    if (r < 0) {
        crn_engine_close(&engine);
        return r;
    }
    r = open_workers(engine, ops, hook);
    if (r < 0) {
        crn_error_set(error, r,
                      "engine: cannot start %d workers: %s; lower run.workers or limits.points",
                      engine->workers, strerror(-r));
        crn_engine_close(&engine);
        return r;
    }
    describe(engine, ops);
    *ret_engine = engine;
    return 0;
}

int crn_engine_prepare(crn_engine *engine, const crn_config *config)
{
    int r = crn_devices_prepare(&engine->devices, config);
    for (int32_t i = 0; i < engine->workers && r == 0; i++)
        r = crn_worker_prepare(engine->worker[i], config);
    if (r < 0 && r != -EBUSY)
        crn_engine_forget(engine, crn_config_slot(config));
    return r;
}

void crn_engine_forget(crn_engine *engine, uint32_t slot)
{
    for (int32_t i = 0; i < engine->workers; i++)
        crn_worker_forget(engine->worker[i], slot);
    crn_devices_forget(&engine->devices, slot);
}

/* Waits until the workers have ended. One that reads from a device ends with that at the latest:
 * nothing else looks any more whether it is lost. */
static void stop_workers(crn_engine *engine)
{
    const char *why;
    for (int32_t i = 0; i < engine->workers; i++)
        if (engine->worker[i])
            crn_worker_stop(engine->worker[i]);
    for (int32_t i = 0; i < engine->workers && engine->devices.count > 0; i++) {
        while (engine->worker[i] && !crn_worker_has_ended(engine->worker[i])) {
            for (int32_t k = 0; k < engine->devices.count; k++)
                crn_device_lost(engine->devices.device[k], crn_now_ns(), &why);
            struct pollfd polled = {.fd = engine->done_descriptor, .events = POLLIN};
            (void)poll(&polled, 1, LOOK_MS);
            crn_engine_rearm(engine);
        }
    }
}

bool crn_engine_close(crn_engine **engine)
{
    crn_engine *it = *engine;
    if (!it)
        return true;
    /* Workers first: they read the devices' results. */
    if (it->worker)
        stop_workers(it);
    for (int32_t i = 0; it->worker && i < it->workers; i++)
        crn_worker_free(&it->worker[i]);
    bool all = crn_devices_close(&it->devices);
    if (it->done_descriptor >= 0)
        close(it->done_descriptor);
    free(it->worker);
    free(it->ready);
    free(it);
    *engine = NULL;
    return all;
}

/* Returns the worker with the fewest views, or NULL if all are full. */
static crn_worker *least_busy(const crn_engine *engine)
{
    crn_worker *best = NULL;
    int32_t fewest = CRN_WORKER_DEPTH;
    for (int32_t i = 0; i < engine->workers; i++) {
        int32_t busy = crn_worker_busy(engine->worker[i]);
        if (busy < fewest) {
            fewest = busy;
            best = engine->worker[i];
        }
    }
    return best;
}

static void make_ready(crn_engine *engine, crn_view *view, crn_device_view *from)
{
    int32_t last = (engine->ready_first + engine->ready_count++) % engine->ready_capacity;
    engine->ready[last] = (ready_view){.view = view, .from = from};
}

/* In whose memory the view lies; NULL: in none's. Also a lost one. */
static crn_device *device_of(const crn_engine *engine, const crn_view *view)
{
    const crn_devices *devices = &engine->devices;
    for (int32_t i = 0; view->gpu.maps && i < devices->count; i++)
        if (devices->number[i] == view->gpu.device)
            return devices->device[i];
    return NULL;
}

static void submit_ready(crn_engine *engine)
{
    crn_worker *worker;
    while (engine->ready_count > 0 && (worker = least_busy(engine))) {
        ready_view *first = &engine->ready[engine->ready_first];
        engine->ready_first = (engine->ready_first + 1) % engine->ready_capacity;
        engine->ready_count--;
        crn_worker_submit(worker, first->view, first->from, device_of(engine, first->view));
    }
}

bool crn_engine_has_room(const crn_engine *engine)
{
    /* With devices in service some finish halves may wait for a
     * worker, so that the devices are not stalled. */
    if (crn_devices_have_room(&engine->devices))
        return engine->ready_count < engine->workers;
    return engine->ready_count == 0 && least_busy(engine);
}

int32_t crn_engine_parallel(const crn_engine *engine)
{
    const crn_devices *devices = &engine->devices;
    return engine->workers +
           (crn_devices_are_used(devices) ? devices->in_service * CRN_DEVICE_VIEWS : 0);
}

int crn_engine_submit(crn_engine *engine, crn_view *view)
{
    /* Not crn_engine_has_room: since the caller asked it, a device's thread may have begun to
     * prepare for a shape. The view that no device accepts then waits for a worker. */
    if (engine->ready_count >= engine->workers ||
        (engine->devices.count == 0 && !least_busy(engine)))
        return -EAGAIN;
    engine->devices.has_rings |= view->gpu.maps != NULL;
    crn_device *device =
        view->gpu.maps ? device_of(engine, view) : crn_devices_route(&engine->devices, view);
    if (device) {
        int r = crn_device_submit(device, view, crn_now_ns());
        if (r == 0)
            return 0;
        engine->stats.device_new += r == -EBUSY;
    }
    make_ready(engine, view, NULL);
    submit_ready(engine);
    return 0;
}

/* Hands the views of a lost device to the workers. */
static void reclaim_views(crn_engine *engine, crn_device *device)
{
    for (int32_t i = 0; i < engine->ready_count; i++) {
        ready_view *ready = &engine->ready[(engine->ready_first + i) % engine->ready_capacity];
        if (ready->from && ready->from->device == device) {
            ready->from = NULL;
            engine->stats.device_lost += !ready->view->gpu.maps; /* else it is lost with it */
        }
    }
    crn_view *view;
    while ((view = crn_device_reclaim(device))) {
        make_ready(engine, view, NULL);
        engine->stats.device_lost += !view->gpu.maps;
    }
}

static void watch_devices(crn_engine *engine)
{
    crn_devices *devices = &engine->devices;
    const char *why;
    for (int32_t i = 0; i < devices->count; i++) {
        if (devices->lost[i] || !crn_device_lost(devices->device[i], crn_now_ns(), &why))
            continue;
        devices->lost[i] = true;
        devices->in_service--;
        engine->stats.lost++;
        reclaim_views(engine, devices->device[i]);
        crn_log(CRN_LOG_WARNING, "device %d lost: %s; its lanes move to %s until restart",
                devices->number[i], why,
                devices->in_service ? "the other devices" : devices->processor);
    }
}

/* Passes the views that devices returned on to the workers. */
static void collect_from_devices(crn_engine *engine)
{
    crn_devices *devices = &engine->devices;
    engine->stats.device_slow = engine->stats.device_copied = 0;
    for (int32_t i = 0; i < devices->count; i++) {
        crn_device_view *from;
        engine->stats.device_slow += crn_device_slow(devices->device[i]);
        engine->stats.device_copied += crn_device_copied(devices->device[i]);
        while (!devices->lost[i] && (from = crn_device_collect(devices->device[i]))) {
            if (from->status == 0) {
                make_ready(engine, from->view, from);
                continue;
            }
            if (from->status == -ENOTSUP)
                crn_devices_refuse(devices, &from->shape);
            /* A cancelled view is skipped wherever it goes. */
            engine->stats.device_new +=
                from->status != -ETIME &&
                !atomic_load_explicit(&from->view->cancelled, memory_order_relaxed);
            make_ready(engine, from->view, NULL);
            crn_device_release(from);
        }
    }
}

crn_output *crn_engine_collect(crn_engine *engine)
{
    if (engine->devices.in_service > 0) {
        watch_devices(engine);
        collect_from_devices(engine);
        submit_ready(engine);
    }
    for (int32_t i = 0; i < engine->workers; i++) {
        crn_worker *candidate = engine->worker[engine->next];
        engine->next = (engine->next + 1) % engine->workers;
        crn_output *output = crn_worker_collect(candidate);
        if (output)
            return output;
    }
    return NULL;
}

void crn_engine_release(crn_engine *engine, crn_output *output)
{
    crn_device_view *from = NULL;
    for (int32_t i = 0; i < engine->workers; i++)
        if (crn_worker_release(engine->worker[i], output, &from))
            break;
    engine->stats.device += output->on_device;
    engine->stats.processor += !output->on_device && output->status != -ECANCELED;
    if (from) {
        engine->stats.device_cut += !output->on_device && output->status != -ECANCELED;
        crn_device_release(from);
    }
    submit_ready(engine);
}

int crn_engine_descriptor(const crn_engine *engine)
{
    return engine->done_descriptor;
}

void crn_engine_rearm(crn_engine *engine)
{
    uint64_t count;
    /* EAGAIN means that it is reset already. */
    if (read(engine->done_descriptor, &count, sizeof count) < 0)
        return;
}

int64_t crn_engine_wake_ns(const crn_engine *engine, int64_t now_ns)
{
    int64_t wake_ns = CRN_NEVER_NS;
    for (int32_t i = 0; i < engine->devices.count; i++) {
        int64_t device_ns = crn_device_wake_ns(engine->devices.device[i], now_ns);
        if (device_ns < wake_ns)
            wake_ns = device_ns;
    }
    return wake_ns;
}

int crn_engine_check(const crn_engine *engine, int64_t now_ns, int64_t limit_ns, crn_error *error)
{
    for (int32_t i = 0; i < engine->workers; i++) {
        int r = crn_worker_check(engine->worker[i], now_ns, limit_ns, error);
        if (r < 0)
            return r;
    }
    return 0;
}

bool crn_engine_get_device(const crn_engine *engine, int32_t i, crn_engine_device *ret_device)
{
    const crn_devices *devices = &engine->devices;
    if (i >= devices->count)
        return false;
    *ret_device = (crn_engine_device){.number = devices->number[i],
                                      .is_lost = devices->lost[i],
                                      .about = crn_device_about(devices->device[i])};
    return true;
}

const crn_engine_stats *crn_engine_get_stats(const crn_engine *engine)
{
    return &engine->stats;
}

const char *crn_engine_describe(const crn_engine *engine)
{
    return engine->description;
}

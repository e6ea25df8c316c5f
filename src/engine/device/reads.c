/*
 * What workers read of maps that lie in the device's memory: the device's thread makes the calls,
 * one read of each worker at a time, on a stream of its own. A read that is under way when the
 * device is lost may still write to its buffers and to the view's copy: these stay.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/engine/device/internal.h"
#include "src/formats/slots/slots.h"
#include "stages/base/clock.h"

/* Runs that are summed by one read. */
#define RUNS_MAX 16384

/* How often a worker that waits looks whether it may still. */
#define LOOK_NS (5 * CRN_NS_PER_MS)

/* A view may have all the time of its fruit, and a worker that waits is one less for others. */
#define WAIT_NS (5 * CRN_NS_PER_S)

/* Half of the workers may wait longer than this for events that do not come; the others are for
 * views that can be judged. */
#define LATE_NS (100 * CRN_NS_PER_MS)

static size_t buffer_bytes(void)
{
    return RUNS_MAX * (sizeof(crn_run) + sizeof(crn_run_sum));
}

int32_t crn_device_reads_wanted(const crn_config *config)
{
    return crn_config_gives_slots(config, "vmm") ? (int32_t)config->run.workers : 0;
}

size_t crn_device_reads_bytes(const crn_config *config)
{
    return (size_t)crn_device_reads_wanted(config) * buffer_bytes();
}

/* --- the device's thread --- */

int crn_device_reads_create(crn_device *device)
{
    for (int32_t i = 0; i < device->read_count; i++) {
        crn_device_read *read = &device->reads[i];
        int r = device->gpu->context_create(device->number, 1, &read->context);
        if (r < 0)
            return r;
        read->runs = device->gpu->pinned_create(buffer_bytes());
        if (!read->runs)
            return -ENOMEM;
        read->sums = (crn_run_sum *)(read->runs + RUNS_MAX);
    }
    return 0;
}

void crn_device_reads_free(crn_device *device)
{
    for (int32_t i = 0; i < device->read_count; i++) {
        crn_context_free(&device->reads[i].context);
        device->gpu->pinned_free(device->reads[i].runs);
        device->reads[i].runs = NULL;
    }
}

static int begin(crn_device *device, crn_device_read *read)
{
    const crn_gpu *gpu = device->gpu;
    /* Each read restarts the call's timer, as each upload does. */
    atomic_store(&device->since_ns, crn_now_ns());
    int r = gpu->use(read->context);
    if (r == 0 && read->to)
        r = gpu->download(read->context, read->to, read->image.data, read->bytes);
    else if (r == 0)
        r = gpu->ops->sum_runs(read->context, &read->image, read->runs, read->count, read->sums);
    read->since_ns = crn_now_ns();
    return r;
}

static void end(crn_device_read *read, crn_device_read_state state)
{
    atomic_store(&read->state, (int)state);
    sem_post(&read->done);
}

static void poll_read(crn_device *device, crn_device_read *read)
{
    int r = device->gpu->poll(read->context);
    int64_t took_ns = crn_now_ns() - read->since_ns;
    if (!crn_device_is_running(device))
        return;
    if (r == 0) {
        end(read, CRN_READ_DONE);
    } else if (r != -EAGAIN) {
        crn_device_lose(device, CRN_DEVICE_FAILED, "a read of maps failed: %s", strerror(-r));
    } else if (took_ns > CRN_DEVICE_SLOTS * crn_device_limit_ns(device)) {
        crn_device_lose(device, CRN_DEVICE_FAILED, "a read of maps did not end in %" PRId64 " ms",
                        took_ns / CRN_NS_PER_MS);
    }
}

/* Whether a read whose event is not done may wait for it. *late: reads so far that have waited
 * long. Those of the last round count only for a read that was there: its worker may have withdrawn
 * one of them for it. */
static bool may_wait(const crn_device *device, crn_device_read *read, int32_t *late)
{
    int32_t most = device->read_count > 1 ? device->read_count / 2 : 1;
    bool is_new = !read->is_known;
    read->is_known = true;
    if (crn_now_ns() - read->asked_ns > LATE_NS)
        return ++*late <= most;
    return is_new || device->late_reads < most;
}

/* Begins a read that is asked for, once its view is written. It is claimed before its signal is
 * asked: until then its worker may withdraw it, ask for another one, and free the signal. */
static void begin_if_written(crn_device *device, crn_device_read *read, int32_t *late)
{
    int asked = CRN_READ_ASKED;
    if (!atomic_compare_exchange_strong(&read->state, &asked, CRN_READ_RUNNING))
        return;
    bool is_written = crn_device_is_written(device, read->signal);
    /* A call that returned too late: the line may have ended meanwhile. */
    if (!crn_device_is_running(device))
        return;
    int r = is_written ? begin(device, read) : 0;
    if (!is_written && may_wait(device, read, late))
        atomic_store(&read->state, CRN_READ_ASKED);
    else if (!is_written)
        end(read, CRN_READ_REFUSED);
    else if (r < 0)
        crn_device_lose(device, CRN_DEVICE_FAILED, "reading maps: %s", strerror(-r));
}

void crn_device_serve_reads(crn_device *device)
{
    int32_t late = 0;
    device->polls_reads = false;
    for (int32_t i = 0; i < device->read_count && crn_device_is_running(device); i++) {
        crn_device_read *read = &device->reads[i];
        int state = atomic_load(&read->state);
        if (state == CRN_READ_ASKED)
            begin_if_written(device, read, &late);
        else if (state == CRN_READ_RUNNING)
            poll_read(device, read);
        state = atomic_load(&read->state);
        device->polls_reads |= state == CRN_READ_ASKED || state == CRN_READ_RUNNING;
    }
    device->late_reads = late;
}

/* --- a worker --- */

/* Whether the view is still wanted: 0, -ECANCELED or -ETIME. */
static int status_of(const crn_view *view, int64_t until_ns)
{
    int64_t now_ns = crn_now_ns();
    if (atomic_load_explicit(&view->cancelled, memory_order_relaxed))
        return -ECANCELED;
    return now_ns >= view->deadline_ns || now_ns >= until_ns ? -ETIME : 0;
}

/* True once the device's thread has ended it. */
static bool has_ended(crn_device_read *read)
{
    int state = atomic_load(&read->state);
    return state == CRN_READ_DONE || state == CRN_READ_REFUSED;
}

/* Waits until the read is done. Once it runs it is not given up, unless the device is. */
static int wait_for(crn_device *device, crn_device_read *read, const crn_view *view)
{
    read->asked_ns = crn_now_ns();
    read->is_known = false;
    int64_t until_ns = read->asked_ns + WAIT_NS;
    atomic_store(&read->state, CRN_READ_ASKED);
    sem_post(&device->work);
    while (!has_ended(read)) {
        int asked = CRN_READ_ASKED, r = status_of(view, until_ns);
        if (!crn_device_is_running(device))
            return -ENODEV;
        if (r < 0 && atomic_compare_exchange_strong(&read->state, &asked, CRN_READ_IDLE))
            return r;
        (void)crn_sem_wait_until(&read->done, crn_now_ns() + LOOK_NS);
    }
    while (sem_trywait(&read->done) == 0)
        continue;
    return atomic_load(&read->state) == CRN_READ_DONE ? 0 : -ETIME;
}

int crn_device_copy_view(crn_device *device, int32_t worker, crn_view *view)
{
    crn_device_read *read = &device->reads[worker];
    uint64_t intensity_bytes = crn_wire_intensity_bytes(&view->header);
    if (crn_view_has_maps(view))
        return 0;
    if (!crn_device_is_running(device))
        return -ENODEV;
    read->signal = view->gpu.signal;
    read->image.data = (void *)(uintptr_t)view->gpu.maps;
    read->to = view->maps;
    read->bytes = (size_t)crn_slots_view_bytes(view->header.payload_bytes, intensity_bytes);
    int r = wait_for(device, read, view);
    if (r < 0)
        return r;
    if (intensity_bytes > 0)
        view->intensity = view->maps + crn_slots_intensity_at(view->header.payload_bytes);
    atomic_store_explicit(&view->gpu.is_copied, true, memory_order_release);
    atomic_fetch_add_explicit(&device->copied, 1, memory_order_relaxed);
    return 0;
}

int crn_device_sum_runs(crn_device_view *from, int32_t worker, const crn_image *in,
                        const crn_run *runs, uint32_t count, crn_run_sum *sums)
{
    crn_device *device = from->device;
    crn_device_read *read = &device->reads[worker];
    int r = 0;
    for (uint32_t done = 0; done < count && r == 0; done += read->count) {
        if (!crn_device_is_running(device))
            return -ENODEV;
        read->count = count - done < RUNS_MAX ? count - done : RUNS_MAX;
        read->signal = NULL;
        read->to = NULL;
        read->image = *in;
        read->image.data = from->received;
        memcpy(read->runs, runs + done, read->count * sizeof *runs);
        r = wait_for(device, read, from->view);
        if (r == 0)
            memcpy(sums + done, read->sums, read->count * sizeof *sums);
    }
    return r;
}

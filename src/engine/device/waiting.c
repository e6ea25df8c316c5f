/* The views that wait on the device's thread: for their producer, which still writes them, then for
 * a batch. */
#include <errno.h>
#include <string.h>

#include "src/engine/device/internal.h"
#include "stages/base/clock.h"

/* Much longer than a round of the device's thread, which looks again every CRN_POLL_NS. */
#define UNWRITTEN_PULSE_NS (1 * CRN_NS_PER_S)

/* Removes the entry, in order. */
static void drop(crn_device_view **views, int32_t *count, int32_t index)
{
    --*count;
    memmove(&views[index], &views[index + 1], (size_t)(*count - index) * sizeof *views);
}

void crn_device_drop_waiting(crn_device *device, int32_t index)
{
    drop(device->waiting, &device->waiting_count, index);
}

bool crn_device_is_written(crn_device *device, void *signal)
{
    int r = signal ? device->gpu->signal_query(signal) : 0;
    if (r == 0 || r == -EAGAIN)
        return r == 0;
    /* Of the signal alone, or of the device, which may have nothing else to do that would show it.
     */
    int of_device = device->gpu->poll(device->slots[0].context[0]);
    if (of_device < 0 && of_device != -EAGAIN)
        crn_device_lose(device, CRN_DEVICE_FAILED, "asking for an event: %s", strerror(-of_device));
    return false;
}

/* Hands the views on whose producer has written them, and those back for which no time is left. */
static void look_at_unwritten(crn_device *device)
{
    for (int32_t i = 0; i < device->unwritten_count && crn_device_is_running(device);) {
        crn_device_view *view = device->unwritten[i];
        bool is_over =
            view->signal && (atomic_load_explicit(&view->view->cancelled, memory_order_relaxed) ||
                             crn_now_ns() >= view->deadline_ns);
        bool is_written = !is_over && crn_device_is_written(device, view->signal);
        /* A call that returned too late: the line may have ended meanwhile. */
        if (!crn_device_is_running(device))
            return;
        if (!is_over && !is_written) {
            i++;
            continue;
        }
        drop(device->unwritten, &device->unwritten_count, i);
        if (is_over) {
            crn_device_return_view(device, view, -ETIME);
            continue;
        }
        if (view->signal) /* its producer's time is no cost of the view */
            view->enqueued.submitted_ns = crn_now_ns();
        device->waiting[device->waiting_count++] = view;
    }
}

void crn_device_accept(crn_device *device)
{
    /* There are CRN_DEVICE_VIEWS in all, so both arrays have room. */
    crn_device_view *view;
    while ((view = crn_ring_pop(&device->in)))
        device->unwritten[device->unwritten_count++] = view;
    look_at_unwritten(device);
    /* Their producers take what time they like: this thread moves, although it ends none. */
    crn_pulse_limit(&device->pulse,
                    device->unwritten_count > 0 ? crn_now_ns() + UNWRITTEN_PULSE_NS : 0);
}

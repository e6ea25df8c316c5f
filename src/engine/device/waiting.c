/* The views that wait on the device's thread: for their producer, which still writes them, then for
 * a batch. */
#include <errno.h>
#include <string.h>

#include "src/engine/device/internal.h"
#include "stages/base/clock.h"

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

bool crn_device_is_written(const crn_device *device, void *signal)
{
    /* An error is none of this view's: it shows in what the device does. */
    return !signal || device->gpu->signal_query(signal) == 0;
}

/* Hands the views on whose producer has written them, and those back for which no time is left. */
static void look_at_unwritten(crn_device *device)
{
    for (int32_t i = 0; i < device->unwritten_count;) {
        crn_device_view *view = device->unwritten[i];
        bool is_over =
            view->signal && (atomic_load_explicit(&view->view->cancelled, memory_order_relaxed) ||
                             crn_now_ns() >= view->deadline_ns);
        bool is_written = !is_over && crn_device_is_written(device, view->signal);
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
}

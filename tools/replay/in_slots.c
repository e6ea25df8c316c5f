#include "tools/replay/in_slots.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "src/formats/view/produced_view.h"
#include "stages/base/clock.h"

#define LOOK_MS 100 /* how often signals are looked for */

/* Waits a moment; true after a termination signal. */
static bool is_stopped(const crn_in_slots *to, int ms)
{
    struct pollfd signals = {to->signals, POLLIN, 0};
    return poll(&signals, 1, ms) > 0;
}

/* True while a line may still come: it is not there yet, or has no ring free. */
static bool is_to_wait_for(int fault)
{
    return fault == -ENOENT || fault == -ECONNREFUSED || fault == -ENOTCONN ||
           fault == -ETIMEDOUT || fault == -EUSERS;
}

int crn_in_slots_open(const char *path, uint64_t view_bytes, crn_in_slots *to, crn_error *error)
{
    crn_producer_settings settings = {.path = path, .view_bytes = view_bytes};
    int64_t until_ns = crn_now_ns() + to->wait_ms * CRN_NS_PER_MS;
    int r = crn_producer_create(&settings, &to->producer);
    if (r < 0)
        return crn_error_set(error, r, "%s: %s", path, strerror(-r));
    int answer_ms = crn_producer_answer_ms(&settings);
    while (is_to_wait_for(r = crn_producer_connect(to->producer, answer_ms)) &&
           crn_now_ns() < until_ns)
        if (is_stopped(to, LOOK_MS))
            return 0;
    return r < 0 ? crn_error_set(error, r, "%s: %s", path, crn_in_slots_error(to)) : 1;
}

/* 1, 0 on a termination signal, -ETIMEDOUT, another negative errno. */
static int take(crn_in_slots *to, const crn_producer_view *view, crn_producer_slot *ret_slot)
{
    int64_t until_ns = crn_now_ns() + to->wait_ms * CRN_NS_PER_MS;
    int r;
    while ((r = crn_producer_take(to->producer, view, LOOK_MS, ret_slot)) == -EAGAIN) {
        if (is_stopped(to, 0))
            return 0;
        if (crn_now_ns() > until_ns)
            return -ETIMEDOUT;
    }
    return r < 0 ? r : 1;
}

int crn_in_slots_send(crn_in_slots *to, const crn_view_header *header,
                      const crn_recorded_view *view)
{
    crn_producer_view described = crn_produced_view(header);
    crn_producer_slot slot;
    int r = take(to, &described, &slot);
    if (r <= 0)
        return r;
    memcpy(slot.tensor, view->maps, header->payload_bytes);
    if (slot.intensity)
        memcpy(slot.intensity, view->intensity, crn_wire_intensity_bytes(header));
    while ((r = crn_producer_send(to->producer, &described, &slot)) == -EAGAIN)
        if (is_stopped(to, 1))
            return 0;
    return r < 0 ? r : 1;
}

const char *crn_in_slots_error(const crn_in_slots *to)
{
    return crn_producer_error(to->producer);
}

void crn_in_slots_close(crn_in_slots *to)
{
    crn_producer_free(&to->producer);
}

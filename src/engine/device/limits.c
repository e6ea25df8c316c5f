/* When the device's thread gives up on a batch, from what the ones before took. */
#include <inttypes.h>

#include "stages/base/clock.h"
#include "src/engine/device/internal.h"
#include "src/engine/limit.h"

int64_t crn_device_limit_ns(const crn_device *device)
{
    return crn_limit_of_call_ns(atomic_load(&device->budget_ns), device->about.mps);
}

int64_t crn_device_batch_limit_ns(const crn_device *device, const crn_batch_graph *graph)
{
    return crn_limit_of_batch_ns(graph->expected_ns, device->longest_ns,
                                 atomic_load(&device->budget_ns), device->about.mps);
}

/* When the device could begin with the batch, as far as its own earlier batches are concerned. */
static int64_t turn_of(const crn_device *device, const crn_device_slot *slot)
{
    return device->ended_ns > slot->launched_ns ? device->ended_ns : slot->launched_ns;
}

bool crn_device_is_stuck(const crn_device *device, const crn_device_slot *slot, int64_t now_ns)
{
    int64_t limit_ns = crn_device_batch_limit_ns(device, slot->graph);
    return now_ns - turn_of(device, slot) > limit_ns ||
           now_ns - slot->launched_ns > CRN_DEVICE_SLOTS * limit_ns;
}

static void tell_slow(crn_device *device, int64_t took_ns, int64_t limit_ns)
{
    atomic_fetch_add_explicit(&device->slow, 1, memory_order_relaxed);
    crn_log_gated(
        &device->slow_gate, crn_now_ns(), CRN_LOG_WARNING,
        "device %d: a batch took %.1f ms; after %.1f ms the device counts as lost: %s",
        device->number, (double)took_ns / CRN_NS_PER_MS, (double)limit_ns / CRN_NS_PER_MS,
        device->about.mps
            ? CRN_DEVICE_SHARED_CURE
            : "does another process compute on it, or did this thread find no core free?");
}

void crn_device_note_batch(crn_device *device, const crn_device_slot *slot, int64_t now_ns)
{
    int64_t took_ns = now_ns - turn_of(device, slot);
    int64_t limit_ns = crn_device_batch_limit_ns(device, slot->graph);
    if (took_ns > limit_ns / 2)
        tell_slow(device, took_ns, limit_ns);
    device->longest_ns = crn_limit_longest_ns(device->longest_ns, took_ns);
    device->ended_ns = now_ns;
}

/* The settings that a device's views are judged by: those in force, and those before a reload. */
#include <errno.h>
#include <stdlib.h>

#include "stages/base/clock.h"
#include "src/engine/device/internal.h"

static uint32_t optional_steps(const crn_config *config)
{
    uint32_t steps = 0;
    for (int32_t i = 0; i < config->steps; i++)
        if (config->chain[i].optional && config->chain[i].stage->enqueue)
            steps |= UINT32_C(1) << i;
    return steps;
}

crn_device_settings *crn_device_settings_of(crn_device *device, const crn_shape *shape)
{
    crn_device_settings *settings =
        atomic_load(&device->settings[shape->settings % CRN_GENERATIONS]);
    return settings && settings->config.generation == shape->settings ? settings : NULL;
}

void crn_device_settings_free(crn_device_settings *settings)
{
    if (settings)
        crn_config_done(&settings->config);
    free(settings);
}

int crn_device_prepare(crn_device *device, const crn_config *config)
{
    uint32_t slot = crn_config_slot(config);
    if (!crn_device_is_running(device))
        return 0;
    if (atomic_load(&device->settings[slot]))
        return -EBUSY;
    crn_device_settings *settings = calloc(1, sizeof *settings);
    if (!settings || crn_config_copy(config, &settings->config) < 0) {
        free(settings);
        return -ENOMEM;
    }
    settings->optional = optional_steps(config);
    atomic_store(&device->budget_ns, config->latency.budget_ms * CRN_NS_PER_MS);
    atomic_store(&device->settings[slot], settings);
    return 0;
}

void crn_device_forget(crn_device *device, uint32_t slot)
{
    atomic_fetch_or(&device->unused, 1u << slot);
    sem_post(&device->work);
}

#include "src/monitor/events/health.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "stages/base/clock.h"

void crn_health_state(const crn_observation *observation, const crn_reasons *reasons,
                      crn_encoder *encoder)
{
    crn_encoder_pair_text(encoder, "state", crn_state_names[observation->snapshot->state]);
    crn_encoder_pair_bool(encoder, "healthy", crn_reasons_is_healthy(observation));
    crn_encoder_pair_bool(encoder, "ready", crn_reasons_is_ready(observation));
    crn_encoder_text(encoder, "reasons");
    crn_encoder_array(encoder, reasons->count);
    for (uint32_t i = 0; i < reasons->count; i++)
        crn_encoder_text(encoder, reasons->at[i].text);
    crn_encoder_array_end(encoder);
}

void crn_health_settings(const crn_observation *observation, crn_encoder *encoder)
{
    const crn_config *start = observation->facts->config;
    const crn_settings_in_force *settings = &observation->snapshot->settings;
    bool runs = observation->snapshot->number > 0;
    char hash[17];
    snprintf(hash, sizeof hash, "%016" PRIx64, runs ? settings->hash : start->hash);
    crn_encoder_pair_text(encoder, "settings", hash);
    crn_encoder_pair_text(encoder, "recipe", runs ? settings->recipe : start->recipe);
}

void crn_health_page(const crn_observation *observation, crn_encoder *encoder)
{
    const crn_monitor_facts *facts = observation->facts;
    crn_reasons reasons;
    crn_reasons_find(observation, &reasons);
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, CRN_HEALTH_PAIRS + CRN_SETTINGS_PAIRS + 3);
    crn_health_state(observation, &reasons, encoder);
    crn_encoder_pair_text(encoder, "version", CRN_VERSION);
    crn_encoder_pair_text(encoder, "run", facts->run);
    crn_health_settings(observation, encoder);
    crn_encoder_pair_real(
        encoder, "uptime_s",
        round((double)(observation->now_ns - facts->began_ns) / (double)CRN_NS_PER_S));
    crn_encoder_map_end(encoder);
}

#include "src/monitor/events/health.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "stages/base/clock.h"

int64_t crn_health_silence_ns(const crn_observation *observation)
{
    const crn_snapshot *snapshot = observation->snapshot;
    return snapshot->number > 0 ? observation->now_ns - snapshot->taken_ns : 0;
}

bool crn_health_is_healthy(const crn_observation *observation)
{
    return crn_health_silence_ns(observation) < CRN_HEALTH_SILENCE_NS;
}

bool crn_health_is_ready(const crn_observation *observation)
{
    crn_state state = observation->snapshot->state;
    return crn_health_is_healthy(observation) && state != CRN_STATE_STARTING &&
           state != CRN_STATE_STOPPING;
}

void crn_health_state(const crn_observation *observation, crn_encoder *encoder)
{
    crn_encoder_pair_text(encoder, "state", crn_state_names[observation->snapshot->state]);
    crn_encoder_pair_bool(encoder, "healthy", crn_health_is_healthy(observation));
    crn_encoder_pair_bool(encoder, "ready", crn_health_is_ready(observation));
    crn_conditions_json(observation->conditions, observation->now_ns, encoder);
}

void crn_health_lot(const crn_lot *lot, crn_encoder *encoder)
{
    crn_encoder_pair_text(encoder, "lot", lot->id);
    crn_encoder_pair_text(encoder, "grower", lot->grower);
    crn_encoder_pair_text(encoder, "variety", lot->variety);
    crn_encoder_pair_unsigned(encoder, "lot_since_s", (uint64_t)lot->since_s);
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
    crn_health_lot(&settings->lot, encoder);
}

void crn_health_page(const crn_observation *observation, crn_encoder *encoder)
{
    const crn_monitor_facts *facts = observation->facts;
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, CRN_HEALTH_PAIRS + CRN_SETTINGS_PAIRS + 3);
    crn_health_state(observation, encoder);
    crn_encoder_pair_text(encoder, "version", CRN_VERSION);
    crn_encoder_pair_text(encoder, "run", facts->run);
    crn_health_settings(observation, encoder);
    crn_encoder_pair_real(
        encoder, "uptime_s",
        round((double)(observation->now_ns - facts->began_ns) / (double)CRN_NS_PER_S));
    crn_encoder_map_end(encoder);
}

#include "src/monitor/events/health.h"

#include <math.h>

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

void crn_health_page(const crn_observation *observation, crn_encoder *encoder)
{
    const crn_monitor_facts *facts = observation->facts;
    crn_reasons reasons;
    crn_reasons_find(observation, &reasons);
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, CRN_HEALTH_PAIRS + 3);
    crn_health_state(observation, &reasons, encoder);
    crn_encoder_pair_text(encoder, "version", CRN_VERSION);
    crn_encoder_pair_text(encoder, "run", facts->run);
    crn_encoder_pair_real(
        encoder, "uptime_s",
        round((double)(observation->now_ns - facts->began_ns) / (double)CRN_NS_PER_S));
    crn_encoder_map_end(encoder);
}

#include "src/publish/status.h"

#include "src/publish/verdict.h"

static void put_head(crn_encoder *encoder, const crn_status *status)
{
    crn_encoder_pair_unsigned(encoder, "v", CRN_VERDICT_VERSION);
    crn_encoder_pair_text(encoder, "run", status->run);
    crn_encoder_pair_text(encoder, "state", status->state);
    crn_encoder_pair_unsigned(encoder, "published_ns", status->published_ns);
}

static void put_last_sequence(crn_encoder *encoder, const crn_lane *lane)
{
    uint64_t verdicts = lane->verdicts;
    crn_encoder_pair_unsigned(encoder, "lane", lane->number);
    crn_encoder_text(encoder, "sequence");
    if (verdicts > 0)
        crn_encoder_unsigned(encoder, verdicts - 1);
    else
        crn_encoder_null(encoder);
}

static void put_refused(crn_encoder *encoder, const char *key, const crn_refusals *refused)
{
    uint32_t reasons = 0;
    for (int why = 1; why < CRN_REFUSALS; why++)
        reasons += refused->count[why] > 0;
    crn_encoder_text(encoder, key);
    crn_encoder_map(encoder, reasons);
    for (int why = 1; why < CRN_REFUSALS; why++)
        if (refused->count[why] > 0)
            crn_encoder_pair_unsigned(encoder, crn_refusal_name((crn_refusal)why),
                                      refused->count[why]);
    crn_encoder_map_end(encoder);
}

static void put_lanes(crn_encoder *encoder, crn_lanes *lanes, bool refused)
{
    int32_t count = crn_lanes_count(lanes);
    crn_encoder_text(encoder, "lanes");
    crn_encoder_array(encoder, (uint32_t)count);
    for (int32_t i = 0; i < count; i++) {
        const crn_lane *lane = crn_lanes_at(lanes, i);
        crn_encoder_map(encoder, 2 + (uint32_t)refused);
        put_last_sequence(encoder, lane);
        if (refused)
            put_refused(encoder, "refused", &lane->stats.refused);
        crn_encoder_map_end(encoder);
    }
    crn_encoder_array_end(encoder);
}

static void put_classes(crn_encoder *encoder, const crn_classes *classes)
{
    crn_encoder_text(encoder, "classes");
    crn_encoder_array(encoder, (uint32_t)classes->count);
    for (int32_t i = 0; i < classes->count; i++)
        crn_encoder_text(encoder, classes->name[i]);
    crn_encoder_array_end(encoder);
}

int crn_status_pack(crn_encoder *encoder, const crn_status *status, const unsigned char **ret_bytes,
                    size_t *ret_size)
{
    const crn_publish_stats *stats = status->publish;
    const crn_refusals *elsewhere = &crn_lanes_totals_of(status->lanes)->refused_elsewhere;
    crn_refusals refused = crn_lanes_sum(status->lanes).refused;
    crn_refusals_add(&refused, elsewhere);
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, 19);
    put_head(encoder, status);
    put_lanes(encoder, status->lanes, true);
    put_refused(encoder, "refused", &refused);
    put_refused(encoder, "refused_elsewhere", elsewhere);
    crn_encoder_pair_unsigned(encoder, "verdicts", stats->verdicts);
    crn_encoder_pair_unsigned(encoder, "sent", stats->sent);
    crn_encoder_pair_unsigned(encoder, "stale", stats->stale);
    crn_encoder_pair_unsigned(encoder, "dropped", stats->dropped);
    crn_encoder_pair_unsigned(encoder, "waiting", stats->waiting);
    crn_encoder_pair_unsigned(encoder, "graders", stats->graders);
    crn_encoder_pair_unsigned(encoder, "possibly_lost", stats->possibly_lost);
    crn_encoder_pair_unsigned(encoder, "viewers", stats->viewers);
    crn_encoder_pair_unsigned(encoder, "log_dropped", stats->log.dropped);
    crn_encoder_pair_unsigned(encoder, "log_failed", stats->log.failed);
    crn_encoder_pair_unsigned(encoder, "slots", (uint64_t)status->config->limits.slots);
    put_classes(encoder, &status->config->classes);
    crn_encoder_map_end(encoder);
    return crn_encoder_end(encoder, ret_bytes, ret_size);
}

int crn_status_pack_alive(crn_encoder *encoder, const crn_status *status,
                          const unsigned char **ret_bytes, size_t *ret_size)
{
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, 6);
    put_head(encoder, status);
    crn_encoder_pair_unsigned(encoder, "alive_ms", (uint64_t)status->alive_ms);
    put_lanes(encoder, status->lanes, false);
    crn_encoder_map_end(encoder);
    return crn_encoder_end(encoder, ret_bytes, ret_size);
}

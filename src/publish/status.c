#include "src/publish/status.h"

#include "src/publish/verdict.h"

static void put_head(crn_emit *emit, const crn_status *status)
{
    crn_emit_pair_unsigned(emit, "v", CRN_VERDICT_VERSION);
    crn_emit_pair_text(emit, "run", status->run);
    crn_emit_pair_text(emit, "state", status->state);
    crn_emit_pair_unsigned(emit, "published_ns", status->published_ns);
}

static void put_last_sequence(crn_emit *emit, const crn_lane *lane)
{
    uint64_t verdicts = crn_lane_verdicts(lane);
    crn_emit_pair_unsigned(emit, "lane", crn_lane_number(lane));
    crn_emit_text(emit, "sequence");
    if (verdicts > 0)
        crn_emit_unsigned(emit, verdicts - 1);
    else
        crn_emit_null(emit);
}

static void put_refused(crn_emit *emit, const char *key, const crn_refusals *refused)
{
    uint32_t reasons = 0;
    for (int why = 1; why < CRN_REFUSALS; why++)
        reasons += refused->count[why] > 0;
    crn_emit_text(emit, key);
    crn_emit_map(emit, reasons);
    for (int why = 1; why < CRN_REFUSALS; why++)
        if (refused->count[why] > 0)
            crn_emit_pair_unsigned(emit, crn_refusal_name((crn_refusal)why), refused->count[why]);
    crn_emit_map_end(emit);
}

static void put_lanes(crn_emit *emit, crn_lanes *lanes, bool refused)
{
    int32_t count = crn_lanes_count(lanes);
    crn_emit_text(emit, "lanes");
    crn_emit_array(emit, (uint32_t)count);
    for (int32_t i = 0; i < count; i++) {
        const crn_lane *lane = crn_lanes_at(lanes, i);
        crn_emit_map(emit, 2 + (uint32_t)refused);
        put_last_sequence(emit, lane);
        if (refused)
            put_refused(emit, "refused", &crn_lane_get_stats(lane)->refused);
        crn_emit_map_end(emit);
    }
    crn_emit_array_end(emit);
}

int crn_status_pack(crn_emit *emit, const crn_status *status, const unsigned char **ret_bytes,
                    size_t *ret_size)
{
    const crn_publish_stats *stats = status->publish;
    const crn_refusals *elsewhere = crn_lanes_refused_elsewhere(status->lanes);
    crn_refusals refused = crn_lanes_sum(status->lanes).refused;
    crn_refusals_add(&refused, elsewhere);
    crn_emit_begin(emit);
    crn_emit_map(emit, 15);
    put_head(emit, status);
    put_lanes(emit, status->lanes, true);
    put_refused(emit, "refused", &refused);
    put_refused(emit, "refused_elsewhere", elsewhere);
    crn_emit_pair_unsigned(emit, "verdicts", stats->verdicts);
    crn_emit_pair_unsigned(emit, "sent", stats->sent);
    crn_emit_pair_unsigned(emit, "stale", stats->stale);
    crn_emit_pair_unsigned(emit, "dropped", stats->dropped);
    crn_emit_pair_unsigned(emit, "waiting", stats->waiting);
    crn_emit_pair_unsigned(emit, "graders", stats->graders);
    crn_emit_pair_unsigned(emit, "possibly_lost", stats->possibly_lost);
    crn_emit_pair_unsigned(emit, "viewers", stats->viewers);
    crn_emit_map_end(emit);
    return crn_emit_end(emit, ret_bytes, ret_size);
}

int crn_status_pack_alive(crn_emit *emit, const crn_status *status, const unsigned char **ret_bytes,
                          size_t *ret_size)
{
    crn_emit_begin(emit);
    crn_emit_map(emit, 6);
    put_head(emit, status);
    crn_emit_pair_unsigned(emit, "alive_ms", (uint64_t)status->alive_ms);
    put_lanes(emit, status->lanes, false);
    crn_emit_map_end(emit);
    return crn_emit_end(emit, ret_bytes, ret_size);
}

/* The line as the monitor sees it: its state and all numbers. */
#include "src/line/internal.h"

#include <string.h>

crn_metrics crn_line_metrics(const crn_line *line)
{
    const crn_lanes_totals *lanes = crn_lanes_totals_of(line->lanes);
    crn_metrics metrics = {
        .ingest = *crn_ingest_get_stats(line->ingest),
        .slots = crn_slots_get_stats(line->slots),
        .fruits = *crn_fruits_get_stats(line->fruits),
        .engine = *crn_engine_get_stats(line->engine),
        .publish = *crn_publish_get_stats(line->publish),
        .lanes = crn_lanes_sum(line->lanes),
        .values = line->values.stats,
        .lane_count = crn_lanes_count(line->lanes),
        .mixed = lanes->mixed,
        .lanes_freed = lanes->frees,
        .refused_elsewhere = lanes->refused_elsewhere,
        .latency = line->latency,
        .budget_ns = line->settings.in_force->latency.budget_ms * CRN_NS_PER_MS,
    };
#define COPY(member, ...) metrics.member = line->counts.member;
    CRN_LINE_COUNTS(COPY)
#undef COPY
    crn_access_get_stats(line->config->guard, &metrics.access);
    if (line->surfaces)
        metrics.surfaces = *crn_surfaces_get_stats(line->surfaces);
    if (line->flight)
        metrics.flight_dropped = crn_flight_dropped(line->flight);
    if (line->recorder)
        metrics.recorder = crn_recorder_get_stats(line->recorder);
    return metrics;
}

crn_state crn_line_state(const crn_line *line)
{
    if (line->stopping)
        return CRN_STATE_STOPPING;
    const crn_engine_stats *engine = crn_engine_get_stats(line->engine);
    if (engine->lost > 0 || engine->left_out > 0)
        return CRN_STATE_DEGRADED;
    return crn_lanes_count(line->lanes) > 0 ? CRN_STATE_RUNNING : CRN_STATE_READY;
}

/* All but lanes_unproven, which fill_lanes counts. */
static crn_levels levels_of(const crn_line *line, const crn_metrics *metrics)
{
    return (crn_levels){
        .senders = metrics->ingest.connected - metrics->ingest.disconnected +
                   metrics->slots.producers - metrics->slots.left,
        .lanes = (uint64_t)metrics->lane_count,
        .fruits_open = (uint64_t)crn_fruits_open(line->fruits),
        .slots_free = crn_pool_free_slots(line->pool),
        .result_bytes = crn_result_store_used_bytes(line->store),
        .backlog_bytes = metrics->publish.waiting_bytes,
        .devices = (uint64_t)metrics->engine.devices,
        .devices_lost = metrics->engine.lost,
        .devices_left_out = (uint64_t)metrics->engine.left_out,
    };
}

/* A lane's `missing` falls when a reordered view arrives after all; a counter must not. */
static uint64_t highest(uint64_t before, uint64_t now)
{
    return now > before ? now : before;
}

static void fill_lanes(crn_line *line, int64_t now_ns, crn_snapshot *snapshot)
{
    snapshot->lane_count = snapshot->metrics.lane_count;
    snapshot->freed = (crn_lane_snapshot){.stats = crn_lanes_totals_of(line->lanes)->freed,
                                          .meters = line->meters.freed};
    for (int32_t i = 0; i < snapshot->lane_count; i++) {
        const crn_lane *lane = crn_lanes_at(line->lanes, i);
        crn_lane_meters *meters = &line->meters.lanes[i];
        meters->gaps = highest(meters->gaps, lane->stats.missing);
        snapshot->lanes[i] = (crn_lane_snapshot){.number = lane->number,
                                                 .stats = lane->stats,
                                                 .meters = *meters,
                                                 .values = lane->values.stats,
                                                 .is_unproven = crn_lane_is_unproven(lane, now_ns)};
        snapshot->levels.lanes_unproven += snapshot->lanes[i].is_unproven;
    }
}

static void fill(crn_line *line, int64_t now_ns, crn_snapshot *ret_snapshot)
{
    ret_snapshot->number = ++line->snapshot_number;
    ret_snapshot->taken_ns = now_ns;
    ret_snapshot->state = crn_line_state(line);
    ret_snapshot->metrics = crn_line_metrics(line);
    ret_snapshot->levels = levels_of(line, &ret_snapshot->metrics);
    crn_line_settings_report(line, &ret_snapshot->settings);
    ret_snapshot->views = line->meters.views;
    fill_lanes(line, now_ns, ret_snapshot);
}

void crn_line_snapshot(crn_line *line, int64_t now_ns)
{
    crn_snapshots *of_conditions = crn_conditions_snapshots(line->conditions);
    crn_snapshot *all = crn_snapshots_begin(of_conditions);
    fill(line, now_ns, all);
    if (line->http) {
        memcpy(crn_snapshots_begin(line->snapshots), all, crn_snapshot_bytes(all->lane_count));
        crn_snapshots_publish(line->snapshots);
    }
    crn_snapshots_publish(of_conditions);
    crn_conditions_look(line->conditions);
}

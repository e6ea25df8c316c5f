#include "src/monitor/events/lanes.h"

#include <math.h>

#include "stages/base/clock.h"

static const char good[] = "good", degraded[] = "degraded", silent[] = "silent";

crn_lane_meters crn_event_sum_lanes(const crn_snapshot *snapshot)
{
    crn_lane_meters sum = snapshot->freed.meters;
    for (int32_t i = 0; i < snapshot->lane_count; i++)
        crn_lane_meters_add(&sum, &snapshot->lanes[i].meters);
    return sum;
}

crn_lane_meters crn_event_difference(const crn_lane_meters *now, const crn_lane_meters *before)
{
    crn_lane_meters difference = *now;
    for (int i = 0; i <= CRN_HISTOGRAM_EDGES; i++)
        difference.latency.count[i] -= before->latency.count[i];
    difference.latency.sum_ns -= before->latency.sum_ns;
    difference.over_budget -= before->over_budget;
    for (int kind = 0; kind <= CRN_VERDICT_LATE; kind++)
        difference.verdicts[kind] -= before->verdicts[kind];
    return difference;
}

/* --- figures --- */

static void put_quantile(const char *key, const crn_histogram *latency,
                         const crn_histogram_edges *edges, double share, crn_encoder *encoder)
{
    double ns = crn_histogram_quantile_ns(latency, edges, share);
    crn_encoder_text(encoder, key);
    if (ns < 0)
        crn_encoder_null(encoder);
    else
        crn_encoder_real(encoder, round(ns / 1e4) / 1e2);
}

/* Share of the fruits whose verdict was published within the budget; null before the first. */
static void put_share(const crn_histogram *latency, uint64_t over, crn_encoder *encoder)
{
    uint64_t count = crn_histogram_count(latency);
    crn_encoder_text(encoder, "within_budget");
    if (count == 0)
        crn_encoder_null(encoder);
    else
        crn_encoder_real(encoder, (double)(count - over) / (double)count);
}

void crn_event_figures(const crn_lane_meters *meters, const crn_histogram_edges *edges,
                       crn_encoder *encoder)
{
    crn_encoder_text(encoder, "verdicts");
    crn_encoder_map(encoder, CRN_VERDICT_LATE + 1);
    for (int kind = 0; kind <= CRN_VERDICT_LATE; kind++)
        crn_encoder_pair_unsigned(encoder, crn_verdict_kind_names[kind], meters->verdicts[kind]);
    crn_encoder_map_end(encoder);
    crn_encoder_text(encoder, "latency_ms");
    crn_encoder_map(encoder, 3);
    put_quantile("p50", &meters->latency, edges, 0.5, encoder);
    put_quantile("p99", &meters->latency, edges, 0.99, encoder);
    put_share(&meters->latency, meters->over_budget, encoder);
    crn_encoder_map_end(encoder);
}

/* --- lanes --- */

static uint64_t count_rejected(const crn_lane_snapshot *lane)
{
    uint64_t count = 0;
    for (int why = 0; why < CRN_REFUSALS; why++)
        count += lane->stats.refused.count[why];
    return count;
}

#define CAUSES 5

typedef struct cause {
    const char *name;
    uint64_t count;
} cause;

/* What went wrong on a lane since `before`; returns whether anything did. */
static bool find_causes(const crn_lane_snapshot *lane, const crn_lane_snapshot *before,
                        cause ret_causes[CAUSES])
{
    crn_lane_meters recent = crn_event_difference(&lane->meters, &before->meters);
    const cause found[CAUSES] = {
        {"late", recent.verdicts[CRN_VERDICT_LATE]},
        {"partial", recent.verdicts[CRN_VERDICT_PARTIAL]},
        {"over_budget", recent.over_budget},
        {"rejected", count_rejected(lane) - count_rejected(before)},
        {"gaps", lane->meters.gaps - before->meters.gaps},
    };
    bool any = false;
    for (int i = 0; i < CAUSES; i++) {
        ret_causes[i] = found[i];
        any = any || found[i].count > 0;
    }
    return any;
}

static void put_state(const crn_observation *observation, const crn_lane_snapshot *lane,
                      const crn_lane_snapshot *before, crn_encoder *encoder)
{
    cause causes[CAUSES];
    bool any = find_causes(lane, before, causes);
    int64_t quiet_ns = observation->now_ns - lane->meters.arrived_ns;
    bool is_silent = crn_lane_meters_is_silence(&lane->meters, quiet_ns);
    uint32_t count = 0;
    for (int i = 0; i < CAUSES; i++)
        count += causes[i].count > 0;
    crn_encoder_pair_text(encoder, "state", is_silent ? silent : any ? degraded : good);
    crn_encoder_text(encoder, "causes");
    crn_encoder_map(encoder, count);
    for (int i = 0; i < CAUSES; i++)
        if (causes[i].count > 0)
            crn_encoder_pair_unsigned(encoder, causes[i].name, causes[i].count);
    crn_encoder_map_end(encoder);
}

static void put_lane(const crn_observation *observation, int32_t index, crn_encoder *encoder)
{
    static const crn_lane_snapshot none;
    const crn_lane_snapshot *lane = &observation->snapshot->lanes[index];
    const crn_lane_snapshot *before =
        index < observation->before->lane_count ? &observation->before->lanes[index] : &none;
    if (before->meters.serial != lane->meters.serial) /* another lane was in this place */
        before = &none;
    crn_encoder_map(encoder, 7 + CRN_EVENT_FIGURE_PAIRS);
    crn_encoder_pair_unsigned(encoder, "lane", lane->number);
    put_state(observation, lane, before, encoder);
    crn_encoder_pair_unsigned(encoder, "views", lane->stats.views);
    crn_encoder_pair_unsigned(encoder, "gaps", lane->meters.gaps);
    crn_encoder_pair_unsigned(encoder, "rejected", count_rejected(lane));
    int64_t last_view_ns = crn_realtime_ns() - (observation->now_ns - lane->meters.arrived_ns);
    crn_encoder_pair_real(encoder, "last_view_s", round((double)last_view_ns / 1e6) / 1e3);
    crn_event_figures(&lane->meters, &observation->edges[CRN_SCALE_FRUIT], encoder);
    crn_encoder_map_end(encoder);
}

void crn_event_lanes(const crn_observation *observation, crn_encoder *encoder)
{
    crn_encoder_text(encoder, "lanes");
    crn_encoder_array(encoder, (uint32_t)observation->snapshot->lane_count);
    for (int32_t i = 0; i < observation->snapshot->lane_count; i++)
        put_lane(observation, i, encoder);
    crn_encoder_array_end(encoder);
}

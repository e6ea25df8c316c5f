#include "src/monitor/http/pages.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>

#include "src/monitor/losses.h"
#include "stages/base/clock.h"

#define REASONS_MAX  12
#define REASON_BYTES 256

typedef struct reasons {
    uint32_t count;
    char text[REASONS_MAX][REASON_BYTES];
} reasons;

static double seconds(int64_t ns)
{
    return (double)ns / (double)CRN_NS_PER_S;
}

static int64_t silence_ns(const crn_observation *observation)
{
    const crn_snapshot *snapshot = observation->snapshot;
    return snapshot->number > 0 ? observation->now_ns - snapshot->taken_ns : 0;
}

bool crn_pages_is_healthy(const crn_observation *observation)
{
    return silence_ns(observation) < CRN_PAGES_SILENCE_NS;
}

bool crn_pages_is_ready(const crn_observation *observation)
{
    crn_state state = observation->snapshot->state;
    return crn_pages_is_healthy(observation) && state != CRN_STATE_STARTING &&
           state != CRN_STATE_STOPPING;
}

/* --- reasons ---------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void add(reasons *list, const char *format, ...)
{
    if (list->count == REASONS_MAX)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(list->text[list->count++], REASON_BYTES, format, arguments);
    va_end(arguments);
}

static void add_state(const crn_observation *observation, reasons *list)
{
    const crn_snapshot *snapshot = observation->snapshot;
    const crn_levels *levels = &snapshot->levels;
    switch (snapshot->state) {
    case CRN_STATE_STARTING:
        add(list, "memory is being reserved, devices are being prepared");
        break;
    case CRN_STATE_READY:
        add(list, "no view has arrived yet");
        break;
    case CRN_STATE_STOPPING:
        add(list, "no more views are read, %" PRIu64 " open fruit%s judged", levels->fruits_open,
            levels->fruits_open == 1 ? " is" : "s are");
        break;
    default:
        break;
    }
    if (levels->devices_lost > 0)
        add(list,
            "%" PRIu64 " of %" PRIu64 " devices lost: their views run on the others or on the "
            "processor until restart",
            levels->devices_lost, levels->devices);
}

static void add_grader(const crn_snapshot *snapshot, reasons *list)
{
    const crn_publish_stats *publish = &snapshot->metrics.publish;
    if (publish->graders > 1)
        add(list,
            "%" PRIu64 " graders are connected, each gets a part of the verdicts: stop all but one",
            publish->graders);
    else if (publish->graders == 0)
        add(list, "no grader is connected, %" PRIu64 " verdict%s for it, %" PRIu64 " %s dropped",
            publish->waiting, publish->waiting == 1 ? " waits" : "s wait", publish->dropped,
            publish->dropped == 1 ? "was" : "were");
}

/* What was lost of late, and which peers were disconnected. */
static void add_losses(const crn_observation *observation, reasons *list)
{
    crn_loss losses[CRN_LOSSES_MAX];
    int rows = crn_losses_since(&observation->snapshot->metrics, observation->before, losses);
    for (int i = 0; i < rows; i++)
        if (losses[i].count > 0 && losses[i].hint)
            add(list, "%s: %" PRIu64 " in the last two minutes: %s", losses[i].name,
                losses[i].count, losses[i].hint);
}

static void find_reasons(const crn_observation *observation, reasons *list)
{
    list->count = 0;
    if (!crn_pages_is_healthy(observation))
        add(list, "the line's thread has not answered for %.0f s",
            seconds(silence_ns(observation)));
    add_state(observation, list);
    if (observation->snapshot->number > 0)
        add_grader(observation->snapshot, list);
    add_losses(observation, list);
}

/* --- pages ------------------------------------------------------------------------------------ */

#define STATE_PAIRS 4

static void put_state(const crn_observation *observation, crn_encoder *encoder)
{
    reasons list;
    find_reasons(observation, &list);
    crn_encoder_pair_text(encoder, "state", crn_state_names[observation->snapshot->state]);
    crn_encoder_pair_bool(encoder, "healthy", crn_pages_is_healthy(observation));
    crn_encoder_pair_bool(encoder, "ready", crn_pages_is_ready(observation));
    crn_encoder_text(encoder, "reasons");
    crn_encoder_array(encoder, list.count);
    for (uint32_t i = 0; i < list.count; i++)
        crn_encoder_text(encoder, list.text[i]);
    crn_encoder_array_end(encoder);
}

void crn_pages_health(const crn_observation *observation, crn_encoder *encoder)
{
    const crn_monitor_facts *facts = observation->facts;
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, STATE_PAIRS + 3);
    put_state(observation, encoder);
    crn_encoder_pair_text(encoder, "version", CRN_VERSION);
    crn_encoder_pair_text(encoder, "run", facts->run);
    crn_encoder_pair_real(encoder, "uptime_s",
                          round(seconds(crn_realtime_ns() - facts->started_ns)));
    crn_encoder_map_end(encoder);
}

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

static void put_lane_figures(const crn_lane_meters *meters, const crn_histogram_edges *edges,
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

static uint64_t count_rejected(const crn_lane_snapshot *lane)
{
    uint64_t count = 0;
    for (int why = 0; why < CRN_REFUSALS; why++)
        count += lane->stats.refused.count[why];
    return count;
}

static void put_lanes(const crn_observation *observation, crn_encoder *encoder)
{
    const crn_snapshot *snapshot = observation->snapshot;
    const crn_histogram_edges *edges = &observation->edges[CRN_SCALE_FRUIT];
    crn_encoder_text(encoder, "lanes");
    crn_encoder_array(encoder, (uint32_t)snapshot->lane_count);
    for (int32_t i = 0; i < snapshot->lane_count; i++) {
        const crn_lane_snapshot *lane = &snapshot->lanes[i];
        crn_encoder_map(encoder, 7);
        crn_encoder_pair_unsigned(encoder, "lane", lane->number);
        crn_encoder_pair_unsigned(encoder, "views", lane->stats.views);
        crn_encoder_pair_unsigned(encoder, "gaps", lane->meters.gaps);
        crn_encoder_pair_unsigned(encoder, "rejected", count_rejected(lane));
        crn_encoder_pair_real(encoder, "last_view_s",
                              round(seconds((int64_t)lane->meters.last_view_ns) * 1e3) / 1e3);
        put_lane_figures(&lane->meters, edges, encoder);
        crn_encoder_map_end(encoder);
    }
    crn_encoder_array_end(encoder);
}

/* All lanes' figures together. */
static crn_lane_meters sum_lanes(const crn_snapshot *snapshot)
{
    crn_lane_meters sum = {.over_budget = 0};
    for (int32_t i = 0; i < snapshot->lane_count; i++) {
        const crn_lane_meters *lane = &snapshot->lanes[i].meters;
        crn_histogram_merge(&sum.latency, &lane->latency);
        sum.over_budget += lane->over_budget;
        for (int kind = 0; kind <= CRN_VERDICT_LATE; kind++)
            sum.verdicts[kind] += lane->verdicts[kind];
    }
    return sum;
}

static void update_rates(const crn_snapshot *snapshot, crn_pages_rates *rates)
{
    double passed_s = seconds(snapshot->taken_ns - rates->taken_ns);
    uint64_t views = snapshot->metrics.lanes.views, verdicts = snapshot->metrics.publish.verdicts;
    if (rates->taken_ns > 0 && passed_s > 0) {
        rates->views_per_s = (double)(views - rates->views) / passed_s;
        rates->verdicts_per_s = (double)(verdicts - rates->verdicts) / passed_s;
    }
    rates->taken_ns = snapshot->taken_ns;
    rates->views = views;
    rates->verdicts = verdicts;
}

void crn_pages_event(const crn_observation *observation, crn_pages_rates *rates,
                     crn_encoder *encoder)
{
    const crn_snapshot *snapshot = observation->snapshot;
    const crn_config *config = observation->facts->config;
    const crn_fruit_stats *fruits = &snapshot->metrics.fruits;
    crn_lane_meters sum = sum_lanes(snapshot);
    update_rates(snapshot, rates);
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, STATE_PAIRS + 14);
    crn_encoder_pair_unsigned(encoder, "number", snapshot->number);
    put_state(observation, encoder);
    crn_encoder_pair_real(encoder, "age_s", round(seconds(silence_ns(observation)) * 1e3) / 1e3);
    crn_encoder_pair_real(encoder, "views_per_s", round(rates->views_per_s * 10) / 10);
    crn_encoder_pair_real(encoder, "verdicts_per_s", round(rates->verdicts_per_s * 10) / 10);
    crn_encoder_pair_unsigned(encoder, "budget_ms", (uint64_t)config->latency.budget_ms);
    put_lane_figures(&sum, &observation->edges[CRN_SCALE_FRUIT], encoder);
    crn_encoder_pair_unsigned(encoder, "lost",
                              fruits->no_slot + fruits->discarded + fruits->unfinished +
                                  fruits->failed + fruits->stragglers + fruits->table_full);
    crn_encoder_pair_unsigned(encoder, "waiting", snapshot->metrics.publish.waiting);
    crn_encoder_pair_unsigned(encoder, "graders", snapshot->metrics.publish.graders);
    crn_encoder_pair_unsigned(encoder, "fruits_open", snapshot->levels.fruits_open);
    crn_encoder_pair_unsigned(encoder, "slots", (uint64_t)config->limits.slots);
    crn_encoder_pair_unsigned(encoder, "slots_free", snapshot->levels.slots_free);
    put_lanes(observation, encoder);
    crn_encoder_map_end(encoder);
}

#include "src/monitor/events/events.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/monitor/events/lanes.h"
#include "src/monitor/events/health.h"
#include "stages/base/clock.h"

/* To a thousandth: times of day, ages. */
static double to_ms(double value)
{
    return round(value * 1e3) / 1e3;
}

static double ms_of(double ns)
{
    return round(ns / 1e3) / 1e3;
}

/* What today's clock said then: CLOCK_MONOTONIC to seconds since 1970. Differences of
 * CLOCK_REALTIME would be wrong once it has been set, as on a machine that learns the time after
 * its start. */
static double time_of_day(const crn_observation *observation, int64_t ns)
{
    return crn_seconds(crn_realtime_ns() - (observation->now_ns - ns));
}

/* --- what it is --- */

#define FACT_PAIRS 10

static void put_facts(const crn_observation *observation, crn_encoder *encoder)
{
    const crn_monitor_facts *facts = observation->facts;
    const crn_levels *levels = &observation->snapshot->levels;
    const char *slash = facts->config->file ? strrchr(facts->config->file, '/') : NULL;
    const char *backend = levels->devices > 0 ? "cuda" : facts->processor;
    crn_encoder_pair_text(encoder, "version", CRN_VERSION);
    crn_encoder_pair_text(encoder, "run", facts->run);
    crn_encoder_pair_real(encoder, "started_s", to_ms(time_of_day(observation, facts->began_ns)));
    crn_encoder_pair_text(encoder, "config",
                          slash                 ? slash + 1
                          : facts->config->file ? facts->config->file
                                                : "");
    crn_encoder_pair_text(encoder, "backend", backend);
    crn_encoder_pair_unsigned(encoder, "workers", (uint64_t)facts->config->run.workers);
    crn_encoder_pair_unsigned(encoder, "devices", levels->devices);
    crn_encoder_pair_unsigned(encoder, "devices_lost", levels->devices_lost);
    crn_encoder_pair_unsigned(encoder, "memory_bytes", observation->machine.resident_bytes);
    crn_encoder_text(encoder, "classes");
    crn_encoder_array(encoder, (uint32_t)facts->config->classes.count);
    for (int32_t i = 0; i < facts->config->classes.count; i++)
        crn_encoder_text(encoder, facts->config->classes.name[i]);
    crn_encoder_array_end(encoder);
}

/* --- how it does --- */

static void put_budget(const crn_observation *observation, crn_budget_watch budget,
                       crn_encoder *encoder)
{
    int64_t since_ns = budget.since_ns > 0 ? budget.since_ns : observation->facts->began_ns;
    crn_encoder_text(encoder, "budget");
    crn_encoder_map(encoder, 4);
    crn_encoder_pair_bool(encoder, "kept", budget.kept);
    crn_encoder_pair_real(encoder, "since_s", round(time_of_day(observation, since_ns)));
    crn_encoder_pair_unsigned(encoder, "missed", budget.missed);
    crn_encoder_pair_unsigned(encoder, "verdicts", budget.verdicts);
    crn_encoder_map_end(encoder);
}

void crn_event_rates_update(crn_event_rates *rates, const crn_snapshot *snapshot)
{
    double passed_s = crn_seconds(snapshot->taken_ns - rates->taken_ns);
    uint64_t views = snapshot->metrics.lanes.views, verdicts = snapshot->metrics.publish.verdicts;
    if (rates->taken_ns > 0 && passed_s > 0) {
        rates->views_per_s = (double)(views - rates->views) / passed_s;
        rates->verdicts_per_s = (double)(verdicts - rates->verdicts) / passed_s;
    }
    rates->taken_ns = snapshot->taken_ns;
    rates->views = views;
    rates->verdicts = verdicts;
}

#define RATE_PAIRS 9

static void put_rates(const crn_observation *observation, const crn_event_rates *rates,
                      crn_encoder *encoder)
{
    const crn_snapshot *snapshot = observation->snapshot;
    crn_encoder_pair_real(encoder, "views_per_s", round(rates->views_per_s * 10) / 10);
    crn_encoder_pair_real(encoder, "verdicts_per_s", round(rates->verdicts_per_s * 10) / 10);
    crn_encoder_pair_unsigned(encoder, "views", snapshot->metrics.lanes.views);
    crn_encoder_pair_unsigned(encoder, "lost",
                              crn_counts_sum("cernita_views_lost_total", &snapshot->metrics));
    crn_encoder_pair_unsigned(encoder, "waiting", snapshot->metrics.publish.waiting);
    crn_encoder_pair_unsigned(encoder, "graders", snapshot->metrics.publish.graders);
    crn_encoder_pair_unsigned(encoder, "fruits_open", snapshot->levels.fruits_open);
    crn_encoder_pair_unsigned(encoder, "slots", (uint64_t)observation->facts->config->limits.slots);
    crn_encoder_pair_unsigned(encoder, "slots_free", snapshot->levels.slots_free);
}

/* --- latencies --- */

static void put_counts(const crn_histogram *histogram, crn_encoder *encoder)
{
    crn_encoder_text(encoder, "counts");
    crn_encoder_array(encoder, CRN_HISTOGRAM_EDGES + 1);
    for (int i = 0; i <= CRN_HISTOGRAM_EDGES; i++)
        crn_encoder_unsigned(encoder, histogram->count[i]);
    crn_encoder_array_end(encoder);
}

static void put_edges(const crn_histogram_edges *edges, crn_encoder *encoder)
{
    crn_encoder_text(encoder, "edges_ms");
    crn_encoder_array(encoder, CRN_HISTOGRAM_EDGES);
    for (int i = 0; i < CRN_HISTOGRAM_EDGES; i++)
        crn_encoder_real(encoder, (double)edges->ns[i] / (double)CRN_NS_PER_MS);
    crn_encoder_array_end(encoder);
}

/* A step's part of the time that views took, of late. */
typedef struct time_part {
    const char *backend;
    char name[64];
    uint64_t views, sum_ns;
} time_part;

static uint64_t add_part(const crn_histogram *now, const crn_histogram *before, time_part *ret_part)
{
    ret_part->views = crn_histogram_count(now) - crn_histogram_count(before);
    ret_part->sum_ns = now->sum_ns - before->sum_ns;
    return ret_part->sum_ns;
}

static void put_part(const time_part *one, uint64_t all_ns, crn_encoder *encoder)
{
    crn_encoder_map(encoder, 5);
    crn_encoder_pair_text(encoder, "stage", one->name);
    crn_encoder_pair_text(encoder, "backend", one->backend);
    crn_encoder_pair_unsigned(encoder, "views", one->views);
    crn_encoder_pair_real(encoder, "mean_ms", ms_of((double)one->sum_ns / (double)one->views));
    crn_encoder_pair_real(encoder, "share", to_ms((double)one->sum_ns / (double)all_ns));
    crn_encoder_map_end(encoder);
}

/* The wait for a worker first, then each step that ran, by what ran it. */
static void put_stages(const crn_observation *observation, crn_encoder *encoder)
{
    const crn_view_meters *now = &observation->snapshot->views,
                          *before = &observation->before->views;
    time_part parts[1 + CRN_SIDES * CRN_METER_STEPS] = {{.backend = "", .name = "queue"}};
    uint64_t all_ns = add_part(&now->queue, &before->queue, &parts[0]);
    uint32_t count = parts[0].sum_ns > 0;
    for (crn_side side = 0; side < CRN_SIDES; side++) {
        const char *backend = crn_observation_backend(observation, side);
        for (int32_t step = 0; backend && step < now->steps; step++) {
            time_part *one = &parts[count];
            one->backend = backend;
            crn_step_kind_name(&now->step[step], one->name, sizeof one->name);
            all_ns += add_part(&now->stage[side][step], &before->stage[side][step], one);
            count += one->sum_ns > 0;
        }
    }
    crn_encoder_text(encoder, "stages");
    crn_encoder_array(encoder, count);
    for (uint32_t i = 0; i < count; i++)
        put_part(&parts[i], all_ns, encoder);
    crn_encoder_array_end(encoder);
}

static void put_recent(const crn_observation *observation, const crn_lane_meters *sum,
                       crn_encoder *encoder)
{
    crn_lane_meters before = crn_event_sum_lanes(observation->before);
    crn_lane_meters recent = crn_event_difference(sum, &before);
    crn_encoder_text(encoder, "recent");
    crn_encoder_map(encoder, 3 + CRN_EVENT_FIGURE_PAIRS);
    crn_encoder_pair_unsigned(encoder, "over_budget", recent.over_budget);
    crn_event_figures(&recent, &observation->edges[CRN_SCALE_FRUIT], encoder);
    put_counts(&recent.latency, encoder);
    put_stages(observation, encoder);
    crn_encoder_map_end(encoder);
}

/* --- disks --- */

/* A writer: the recorder, or the verdict log. */
static void put_writer(const char *key, bool on, const uint64_t figures[3],
                       const crn_resource_disk *disk, crn_encoder *encoder)
{
    crn_encoder_text(encoder, key);
    crn_encoder_map(encoder, 6);
    crn_encoder_pair_bool(encoder, "on", on);
    crn_encoder_pair_unsigned(encoder, "written", figures[0]);
    crn_encoder_pair_unsigned(encoder, "lost", figures[1]);
    crn_encoder_pair_unsigned(encoder, "bytes", figures[2]);
    crn_encoder_pair_unsigned(encoder, "free_bytes", (uint64_t)disk->free_bytes);
    crn_encoder_pair_unsigned(encoder, "size_bytes", (uint64_t)disk->size_bytes);
    crn_encoder_map_end(encoder);
}

static void put_writers(const crn_observation *observation, crn_encoder *encoder)
{
    const crn_config *config = observation->facts->config;
    const crn_recorder_stats *recorder = &observation->snapshot->metrics.recorder;
    const crn_verdict_log_stats *log = &observation->snapshot->metrics.publish.log;
    put_writer("recorder", config->record.dir[0],
               (uint64_t[]){recorder->written,
                            recorder->dropped + recorder->failed + recorder->missed,
                            recorder->bytes},
               &observation->disks[CRN_RESOURCE_RECORD], encoder);
    put_writer("log", config->publish.log.dir[0],
               (uint64_t[]){log->written, log->dropped + log->failed, log->bytes},
               &observation->disks[CRN_RESOURCE_LOG], encoder);
}

/* --- fruits --- */

/* LANE/EPOCH/FRUIT, as in the addresses of pages: an epoch has more digits than JavaScript's
 * numbers. */
static void put_name(const crn_kept_fruit *name, crn_encoder *encoder)
{
    char text[64];
    snprintf(text, sizeof text, "%" PRIu32 "/%" PRIu64 "/%" PRIu64, name->lane, name->epoch,
             name->fruit);
    crn_encoder_text(encoder, text);
}

static void put_bad(const crn_bad_fruit *fruit, crn_encoder *encoder)
{
    crn_encoder_map(encoder, 9);
    crn_encoder_text(encoder, "name");
    put_name(&fruit->name, encoder);
    crn_encoder_pair_unsigned(encoder, "lane", fruit->name.lane);
    crn_encoder_pair_unsigned(encoder, "fruit", fruit->name.fruit);
    crn_encoder_pair_text(encoder, "verdict", crn_verdict_kind_names[fruit->kind]);
    crn_encoder_pair_bool(encoder, "over_budget", fruit->over_budget);
    crn_encoder_pair_real(encoder, "latency_ms", ms_of((double)fruit->latency_ns));
    crn_encoder_pair_unsigned(encoder, "views_judged", fruit->judged);
    crn_encoder_pair_unsigned(encoder, "views_expected", fruit->expected);
    crn_encoder_pair_real(encoder, "published_s", to_ms(crn_seconds(fruit->published_ns)));
    crn_encoder_map_end(encoder);
}

/* Both lists, newest first. */
static void put_fruits(const crn_last_fruits *fruits, crn_encoder *encoder)
{
    uint64_t bad = fruits->bad_count < CRN_BAD_FRUITS_MAX ? fruits->bad_count : CRN_BAD_FRUITS_MAX;
    uint64_t shown =
        fruits->shown_count < CRN_SHOWN_FRUITS_MAX ? fruits->shown_count : CRN_SHOWN_FRUITS_MAX;
    crn_encoder_text(encoder, "bad");
    crn_encoder_array(encoder, (uint32_t)bad);
    for (uint64_t i = 1; i <= bad; i++)
        put_bad(&fruits->bad[(fruits->bad_count - i) % CRN_BAD_FRUITS_MAX], encoder);
    crn_encoder_array_end(encoder);
    crn_encoder_text(encoder, "shown");
    crn_encoder_array(encoder, (uint32_t)shown);
    for (uint64_t i = 1; i <= shown; i++)
        put_name(&fruits->shown[(fruits->shown_count - i) % CRN_SHOWN_FRUITS_MAX], encoder);
    crn_encoder_array_end(encoder);
}

static void put_alarms(const crn_alarm_summary *alarms, crn_encoder *encoder)
{
    crn_encoder_text(encoder, "alarms");
    crn_encoder_map(encoder, 5);
    crn_encoder_pair_unsigned(encoder, "open", alarms->open);
    crn_encoder_pair_unsigned(encoder, "unacknowledged", alarms->unacknowledged);
    crn_encoder_pair_text(encoder, "loudest", crn_alarm_loudest(alarms));
    crn_encoder_pair_unsigned(encoder, "newest", alarms->newest);
    crn_encoder_pair_unsigned(encoder, "change", alarms->change);
    crn_encoder_map_end(encoder);
}

static void put_sorter(const crn_observation *observation, crn_encoder *encoder)
{
    crn_encoder_text(encoder, "sorter");
    if (observation->sorter)
        crn_outlet_report_put(observation->sorter, encoder);
    else
        crn_encoder_null(encoder);
}

static void put_hour(const crn_minutes_hour *hour, crn_encoder *encoder)
{
    bool has_worst = hour->worst.fruits > 0;
    crn_encoder_text(encoder, "last_hour");
    crn_encoder_map(encoder, 3);
    crn_encoder_pair_unsigned(encoder, "fruits", hour->fruits);
    crn_encoder_pair_unsigned(encoder, "with_defect", hour->with_defect);
    crn_encoder_text(encoder, "worst");
    if (has_worst) {
        crn_encoder_map(encoder, 3);
        crn_encoder_pair_text(encoder, "class", hour->worst.name);
        crn_encoder_pair_unsigned(encoder, "looked_for", hour->worst.looked_for);
        crn_encoder_pair_unsigned(encoder, "fruits", hour->worst.fruits);
        crn_encoder_map_end(encoder);
    } else {
        crn_encoder_null(encoder);
    }
    crn_encoder_map_end(encoder);
}

void crn_event_snapshot(const crn_observation *observation, crn_budget_watch budget,
                        const crn_last_fruits *fruits, const crn_event_rates *rates,
                        crn_encoder *encoder)
{
    const crn_histogram_edges *edges = &observation->edges[CRN_SCALE_FRUIT];
    crn_lane_meters sum = crn_event_sum_lanes(observation->snapshot);
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, 17 + CRN_HEALTH_PAIRS + CRN_SETTINGS_PAIRS + FACT_PAIRS + RATE_PAIRS +
                                 CRN_EVENT_FIGURE_PAIRS);
    crn_encoder_pair_unsigned(encoder, "number", observation->snapshot->number);
    crn_encoder_pair_real(encoder, "now_s", to_ms(crn_seconds(crn_realtime_ns())));
    crn_health_state(observation, encoder);
    put_alarms(&observation->alarms, encoder);
    crn_encoder_pair_real(encoder, "age_s", to_ms(crn_seconds(crn_health_silence_ns(observation))));
    put_facts(observation, encoder);
    crn_health_settings(observation, encoder);
    put_rates(observation, rates, encoder);
    crn_encoder_pair_unsigned(encoder, "budget_ms",
                              (uint64_t)crn_observation_budget_ms(observation));
    put_budget(observation, budget, encoder);
    crn_event_figures(&sum, edges, encoder);
    put_edges(edges, encoder);
    put_counts(&sum.latency, encoder);
    put_recent(observation, &sum, encoder);
    crn_event_lanes(observation, encoder);
    put_writers(observation, encoder);
    put_sorter(observation, encoder);
    put_fruits(fruits, encoder);
    put_hour(&observation->hour, encoder);
    crn_encoder_text(encoder, "classes_per_minute");
    crn_class_counts_put(&fruits->classes, observation->now_ns, encoder);
    crn_encoder_map_end(encoder);
}

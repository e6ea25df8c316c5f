#include "src/monitor/samples.h"

#include <inttypes.h>
#include <string.h>

#include "stages/base/clock.h"

static uint64_t number_at(const void *object, size_t offset)
{
    return *(const uint64_t *)((const char *)object + offset);
}

/* The number of a row, whichever of the two it lies in. */
static uint64_t number_of(const crn_family *row, const crn_observation *observation)
{
    return row->samples == crn_samples_observed ? number_at(observation, row->offset)
                                                : number_at(observation->snapshot, row->offset);
}

static uint64_t refusals_sum(const crn_refusals *refusals)
{
    uint64_t sum = 0;
    for (int why = 0; why < CRN_REFUSALS; why++)
        sum += refusals->count[why];
    return sum;
}

/* --- conditions --- */

/* A sample for each lane with that condition, or one with 0. */
static void print_condition(const crn_family *family, const crn_condition *row,
                            const crn_condition_list *list, FILE *out)
{
    bool holds = false;
    for (uint32_t i = 0; i < list->count; i++) {
        int64_t lane = list->at[i].values.lane;
        if (list->at[i].row != row)
            continue;
        holds = true;
        fprintf(out, "%s{condition=\"%s\",lane=\"", family->name, row->id);
        if (lane >= 0)
            fprintf(out, "%" PRId64, lane);
        fputs("\"} 1\n", out);
    }
    if (!holds)
        fprintf(out, "%s{condition=\"%s\",lane=\"\"} 0\n", family->name, row->id);
}

void crn_samples_conditions(const crn_family *family, const crn_observation *observation, FILE *out)
{
    for (int32_t i = 0; i < crn_condition_row_count; i++)
        print_condition(family, crn_condition_rows[i], observation->conditions, out);
}

/* --- one number, a list, lanes --- */

void crn_samples_value(const crn_family *family, const crn_observation *observation, FILE *out)
{
    fprintf(out, "%s %" PRIu64 "\n", family->name, number_of(family, observation));
}

void crn_samples_observed(const crn_family *family, const crn_observation *observation, FILE *out)
{
    crn_samples_value(family, observation, out);
}

void crn_samples_of(const crn_family *family, const crn_observation *observation, FILE *out)
{
    for (const crn_family *row = crn_counts; row < crn_counts + crn_counts_count; row++)
        if (row->sample_of && strcmp(row->sample_of, family->name) == 0)
            fprintf(out, "%s{%s=\"%s\"} %" PRIu64 "\n", family->name, family->labels, row->value,
                    number_of(row, observation));
}

/* A lane, or behind the last one, once any was freed, `other`: those freed. */
typedef struct lane_row {
    const crn_lane_snapshot *of; /* NULL: there are no more */
    char label[16];
} lane_row;

static lane_row lane_at(const crn_snapshot *snapshot, int32_t at)
{
    lane_row row = {.of = NULL};
    if (at < snapshot->lane_count) {
        row.of = &snapshot->lanes[at];
        snprintf(row.label, sizeof row.label, "%" PRIu32, row.of->number);
    } else if (at == snapshot->lane_count && snapshot->metrics.lanes_freed > 0) {
        row.of = &snapshot->freed;
        snprintf(row.label, sizeof row.label, "other");
    }
    return row;
}

void crn_samples_lane(const crn_family *family, const crn_observation *observation, FILE *out)
{
    lane_row lane;
    for (int32_t i = 0; (lane = lane_at(observation->snapshot, i)).of; i++)
        fprintf(out, "%s{lane=\"%s\"} %" PRIu64 "\n", family->name, lane.label,
                number_at(lane.of, family->offset));
}

void crn_samples_lane_time(const crn_family *family, const crn_observation *observation, FILE *out)
{
    const crn_snapshot *snapshot = observation->snapshot;
    for (int32_t i = 0; i < snapshot->lane_count; i++) {
        uint64_t ns = number_at(&snapshot->lanes[i], family->offset);
        if (ns > 0)
            fprintf(out, "%s{lane=\"%" PRIu32 "\"} %.3f\n", family->name, snapshot->lanes[i].number,
                    crn_seconds((int64_t)ns));
    }
}

/* --- histograms --- */

/* `labels` are those of the family, with a comma behind each. */
static void print_histogram(const char *name, const char *labels, const crn_histogram *histogram,
                            const crn_histogram_edges *edges, FILE *out)
{
    uint64_t count = 0;
    for (int i = 0; i < CRN_HISTOGRAM_EDGES; i++) {
        count += histogram->count[i];
        fprintf(out, "%s_bucket{%sle=\"%.9g\"} %" PRIu64 "\n", name, labels,
                crn_seconds(edges->ns[i]), count);
    }
    count += histogram->count[CRN_HISTOGRAM_EDGES];
    fprintf(out, "%s_bucket{%sle=\"+Inf\"} %" PRIu64 "\n", name, labels, count);
    int length = 0;
    while (labels[length] && labels[length + 1])
        length++;
    const char *open = length ? "{" : "", *close = length ? "}" : "";
    fprintf(out, "%s_sum%s%.*s%s %.9f\n", name, open, length, labels, close,
            crn_seconds((int64_t)histogram->sum_ns));
    fprintf(out, "%s_count%s%.*s%s %" PRIu64 "\n", name, open, length, labels, close, count);
}

static void print_lanes(const crn_family *family, const crn_observation *observation,
                        crn_histogram_scale scale, FILE *out)
{
    lane_row lane;
    for (int32_t i = 0; (lane = lane_at(observation->snapshot, i)).of; i++) {
        char labels[32];
        snprintf(labels, sizeof labels, "lane=\"%s\",", lane.label);
        print_histogram(family->name, labels,
                        (const crn_histogram *)((const char *)lane.of + family->offset),
                        &observation->edges[scale], out);
    }
}

void crn_samples_lane_latency(const crn_family *family, const crn_observation *observation,
                              FILE *out)
{
    print_lanes(family, observation, CRN_SCALE_FRUIT, out);
}

void crn_samples_lane_lateness(const crn_family *family, const crn_observation *observation,
                               FILE *out)
{
    print_lanes(family, observation, CRN_SCALE_SENDER, out);
}

/* Label for what ran a view: the processor's operators or the device's; NULL if there is no such.
 */
const char *crn_observation_backend(const crn_observation *observation, crn_side side)
{
    bool devices = observation->snapshot->levels.devices > 0;
    if (side == CRN_SIDE_DEVICE)
        return devices ? "cuda" : NULL;
    return observation->facts->processor;
}

int64_t crn_observation_budget_ms(const crn_observation *observation)
{
    int64_t budget_ms = observation->snapshot->settings.budget_ms;
    return budget_ms > 0 ? budget_ms : observation->facts->config->latency.budget_ms;
}

void crn_samples_queue(const crn_family *family, const crn_observation *observation, FILE *out)
{
    print_histogram(family->name, "", &observation->snapshot->views.queue,
                    &observation->edges[CRN_SCALE_VIEW], out);
}

void crn_samples_run(const crn_family *family, const crn_observation *observation, FILE *out)
{
    for (crn_side side = 0; side < CRN_SIDES; side++) {
        const char *backend = crn_observation_backend(observation, side);
        char labels[40];
        if (!backend)
            continue;
        snprintf(labels, sizeof labels, "backend=\"%s\",", backend);
        print_histogram(family->name, labels, &observation->snapshot->views.run[side],
                        &observation->edges[CRN_SCALE_VIEW], out);
    }
}

void crn_samples_stages(const crn_family *family, const crn_observation *observation, FILE *out)
{
    const crn_view_meters *views = &observation->snapshot->views;
    for (crn_side side = 0; side < CRN_SIDES; side++) {
        const char *backend = crn_observation_backend(observation, side);
        for (int32_t step = 0; backend && step < views->steps; step++) {
            char labels[128], name[64];
            crn_step_kind_name(&views->step[step], name, sizeof name);
            snprintf(labels, sizeof labels, "stage=\"%s\",backend=\"%s\",", name, backend);
            print_histogram(family->name, labels, &views->stage[side][step],
                            &observation->edges[CRN_SCALE_VIEW], out);
        }
    }
}

void crn_samples_busy(const crn_family *family, const crn_observation *observation, FILE *out)
{
    for (crn_side side = 0; side < CRN_SIDES; side++) {
        const char *backend = crn_observation_backend(observation, side);
        if (backend)
            fprintf(out, "%s{backend=\"%s\"} %.9f\n", family->name, backend,
                    crn_seconds((int64_t)observation->snapshot->views.busy_ns[side]));
    }
}

void crn_samples_ended(const crn_family *family, const crn_observation *observation, FILE *out)
{
    const crn_engine_stats *engine = &observation->snapshot->metrics.engine;
    const uint64_t ended[] = {
        [CRN_SIDE_PROCESSOR] = engine->processor, [CRN_SIDE_DEVICE] = engine->device};
    for (crn_side side = 0; side < CRN_SIDES; side++) {
        const char *backend = crn_observation_backend(observation, side);
        if (backend)
            fprintf(out, "%s{backend=\"%s\"} %" PRIu64 "\n", family->name, backend, ended[side]);
    }
}

/* --- lists with names of their own --- */

void crn_samples_received(const crn_family *family, const crn_observation *observation, FILE *out)
{
    lane_row lane;
    for (int32_t i = 0; (lane = lane_at(observation->snapshot, i)).of; i++)
        for (crn_ingest_path path = 0; path < CRN_INGEST_PATHS; path++)
            fprintf(out, "%s{lane=\"%s\",path=\"%s\"} %" PRIu64 "\n", family->name, lane.label,
                    crn_ingest_path_names[path], lane.of->meters.received[path]);
}

void crn_samples_rejected(const crn_family *family, const crn_observation *observation, FILE *out)
{
    const crn_metrics *metrics = &observation->snapshot->metrics;
    for (int why = 1; why < CRN_REFUSALS; why++)
        fprintf(out, "%s{reason=\"%s\"} %" PRIu64 "\n", family->name,
                crn_refusal_name((crn_refusal)why),
                metrics->lanes.refused.count[why] + metrics->refused_elsewhere.count[why]);
}

void crn_samples_lane_rejected(const crn_family *family, const crn_observation *observation,
                               FILE *out)
{
    const crn_snapshot *snapshot = observation->snapshot;
    for (int32_t i = 0; i < snapshot->lane_count; i++)
        fprintf(out, "%s{lane=\"%" PRIu32 "\"} %" PRIu64 "\n", family->name,
                snapshot->lanes[i].number, refusals_sum(&snapshot->lanes[i].stats.refused));
    fprintf(out, "%s{lane=\"other\"} %" PRIu64 "\n", family->name,
            refusals_sum(&snapshot->metrics.refused_elsewhere));
}

void crn_samples_values(const crn_family *family, const crn_observation *observation, FILE *out)
{
    for (int reason = CRN_REASON_NOT_FINITE; reason < CRN_REASONS; reason++)
        fprintf(out, "%s{reason=\"%s\"} %" PRIu64 "\n", family->name, crn_view_reason_names[reason],
                observation->snapshot->metrics.values.faulty[reason]);
}

void crn_samples_verdicts(const crn_family *family, const crn_observation *observation, FILE *out)
{
    lane_row lane;
    for (int32_t i = 0; (lane = lane_at(observation->snapshot, i)).of; i++)
        for (int kind = 0; kind <= CRN_VERDICT_LATE; kind++)
            fprintf(out, "%s{lane=\"%s\",kind=\"%s\"} %" PRIu64 "\n", family->name, lane.label,
                    crn_verdict_kind_names[kind], lane.of->meters.verdicts[kind]);
}

void crn_samples_cut(const crn_family *family, const crn_observation *observation, FILE *out)
{
    static const char *const sockets[] = {"ingest", "publish"};
    const crn_metrics *metrics = &observation->snapshot->metrics;
    const crn_peers_stats *peers[] = {&metrics->ingest.peers, &metrics->publish.peers};
    for (size_t i = 0; i < sizeof sockets / sizeof sockets[0]; i++)
        for (int reason = 0; reason < CRN_CUTS; reason++)
            fprintf(out, "%s{socket=\"%s\",reason=\"%s\"} %" PRIu64 "\n", family->name, sockets[i],
                    crn_peers_cut_names[reason], peers[i]->cut[reason]);
}

void crn_samples_access(const crn_family *family, const crn_observation *observation, FILE *out)
{
    const crn_access_stats *access = &observation->snapshot->metrics.access;
    for (int use = 0; use < CRN_ACCESS_USES; use++)
        for (int reason = 0; reason < CRN_ACCESS_REFUSALS; reason++)
            fprintf(out, "%s{socket=\"%s\",reason=\"%s\"} %" PRIu64 "\n", family->name,
                    crn_access_use_names[use], crn_access_refusal_names[reason],
                    access->refused[use][reason]);
}

/* --- measures of fruits --- */

static void print_summary(const crn_family *family, double sum, uint64_t count, FILE *out)
{
    fprintf(out, "%s_sum %.9f\n%s_count %" PRIu64 "\n", family->name, sum, family->name, count);
}

static void print_sources(const crn_family *family, const uint64_t counts[CRN_POSE_SOURCES],
                          FILE *out)
{
    for (int source = 0; source < CRN_POSE_SOURCES; source++)
        fprintf(out, "%s{source=\"%s\"} %" PRIu64 "\n", family->name, crn_pose_source_names[source],
                counts[source]);
}

void crn_samples_coverage(const crn_family *family, const crn_observation *observation, FILE *out)
{
    const crn_surfaces_stats *surfaces = &observation->snapshot->metrics.surfaces;
    print_summary(family, surfaces->coverage, surfaces->measured, out);
}

void crn_samples_poses(const crn_family *family, const crn_observation *observation, FILE *out)
{
    print_sources(family, observation->snapshot->metrics.surfaces.poses, out);
}

void crn_samples_rolls(const crn_family *family, const crn_observation *observation, FILE *out)
{
    print_sources(family, observation->snapshot->metrics.surfaces.rolls, out);
}

void crn_samples_confidence(const crn_family *family, const crn_observation *observation, FILE *out)
{
    const crn_surfaces_stats *surfaces = &observation->snapshot->metrics.surfaces;
    print_summary(family, surfaces->confidence,
                  surfaces->poses[CRN_POSE_PHOTO] + surfaces->poses[CRN_POSE_CLASS], out);
}

void crn_samples_surface(const crn_family *family, const crn_observation *observation, FILE *out)
{
    const crn_surfaces_stats *surfaces = &observation->snapshot->metrics.surfaces;
    print_summary(family, crn_seconds((int64_t)surfaces->busy_ns),
                  surfaces->measured + surfaces->unmeasured, out);
}

/* --- the daemon and its machine --- */

void crn_samples_build(const crn_family *family, const crn_observation *observation, FILE *out)
{
    fprintf(out, "%s{version=\"" CRN_VERSION "\",backend=\"%s\"} 1\n", family->name,
            observation->snapshot->levels.devices > 0 ? "cuda" : observation->facts->processor);
}

void crn_samples_started(const crn_family *family, const crn_observation *observation, FILE *out)
{
    fprintf(out, "%s %.3f\n", family->name, crn_seconds(observation->facts->started_ns));
}

void crn_samples_state(const crn_family *family, const crn_observation *observation, FILE *out)
{
    for (int state = 0; state < CRN_STATES; state++)
        fprintf(out, "%s{state=\"%s\"} %d\n", family->name, crn_state_names[state],
                observation->snapshot->state == (crn_state)state);
}

void crn_samples_age(const crn_family *family, const crn_observation *observation, FILE *out)
{
    if (observation->snapshot->number > 0)
        fprintf(out, "%s %.3f\n", family->name,
                crn_seconds(observation->now_ns - observation->snapshot->taken_ns));
}

void crn_samples_budget(const crn_family *family, const crn_observation *observation, FILE *out)
{
    fprintf(out, "%s %.9g\n", family->name, (double)crn_observation_budget_ms(observation) / 1e3);
}

/* The hash of the settings is not a label: it would grow without end. */
void crn_samples_recipe(const crn_family *family, const crn_observation *observation, FILE *out)
{
    if (observation->snapshot->number == 0)
        return;
    fprintf(out, "%s{recipe=\"", family->name);
    crn_exposition_print_value(observation->snapshot->settings.recipe, out);
    fputs("\"} 1\n", out);
}

void crn_samples_changed(const crn_family *family, const crn_observation *observation, FILE *out)
{
    if (observation->snapshot->number > 0)
        fprintf(out, "%s %.3f\n", family->name,
                crn_seconds(observation->snapshot->settings.since_ns));
}

void crn_samples_limits(const crn_family *family, const crn_observation *observation, FILE *out)
{
    const crn_config *config = observation->facts->config;
    const struct {
        const char *key;
        int64_t value;
    } limits[] = {
        {"lanes", config->limits.lanes},
        {"peers", config->limits.peers},
        {"slots", config->limits.slots},
        {"open_fruits", config->limits.open_fruits},
        {"backlog", config->publish.grader.high_water_mark},
        {"workers", config->run.workers},
    };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        fprintf(out, "%s{key=\"%s\"} %" PRId64 "\n", family->name, limits[i].key, limits[i].value);
}

void crn_samples_memory(const crn_family *family, const crn_observation *observation, FILE *out)
{
    const crn_levels *levels = &observation->snapshot->levels;
    const crn_config *config = observation->facts->config;
    uint64_t taken = (uint64_t)config->limits.slots - levels->slots_free;
    fprintf(out, "%s{part=\"slots\"} %" PRIu64 "\n", family->name,
            taken * ((uint64_t)config->limits.view_mib << 20));
    fprintf(out, "%s{part=\"results\"} %" PRIu64 "\n", family->name, levels->result_bytes);
    fprintf(out, "%s{part=\"backlog\"} %" PRIu64 "\n", family->name, levels->backlog_bytes);
    fprintf(out, "%s{part=\"viewers\"} %" PRIu64 "\n", family->name,
            observation->snapshot->metrics.publish.viewers_unread_bytes);
}

static void print_disks(const crn_family *family, const crn_observation *observation,
                        double (*figure)(const crn_resource_disk *), FILE *out)
{
    for (int use = 0; use < CRN_RESOURCE_DISKS; use++) {
        const crn_resource_disk *disk = &observation->disks[use];
        if (disk->on && crn_resource_known(figure(disk)))
            fprintf(out, "%s{use=\"%s\"} %.15g\n", family->name, crn_resource_use_names[use],
                    figure(disk));
    }
}

static double free_of(const crn_resource_disk *disk)
{
    return disk->size_bytes > 0 ? (double)disk->free_bytes : CRN_RESOURCE_UNKNOWN;
}

static double size_of(const crn_resource_disk *disk)
{
    return disk->size_bytes > 0 ? (double)disk->size_bytes : CRN_RESOURCE_UNKNOWN;
}

static double silence_of(const crn_resource_disk *disk)
{
    return disk->silent_s;
}

void crn_samples_disk_free(const crn_family *family, const crn_observation *observation, FILE *out)
{
    print_disks(family, observation, free_of, out);
}

void crn_samples_disk_size(const crn_family *family, const crn_observation *observation, FILE *out)
{
    print_disks(family, observation, size_of, out);
}

void crn_samples_disk_silent(const crn_family *family, const crn_observation *observation,
                             FILE *out)
{
    print_disks(family, observation, silence_of, out);
}

void crn_samples_cpu(const crn_family *family, const crn_observation *observation, FILE *out)
{
    fprintf(out, "%s %.6f\n", family->name, observation->machine.cpu_s);
}

void crn_samples_http_responses(const crn_family *family, const crn_observation *observation,
                                FILE *out)
{
    for (int code = 0; code < CRN_HTTP_CODES; code++)
        fprintf(out, "%s{code=\"%s\"} %" PRIu64 "\n", family->name, crn_http_codes[code],
                observation->http.responses[code]);
}

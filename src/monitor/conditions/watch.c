#include "src/monitor/conditions/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/monitor/conditions/tracked.h"
#include "stages/base/clock.h"

/* Causes of views that were not judged in time. */
#define VIEW_CAUSES (~(unsigned)(CRN_RESOURCE_CAUSE_DISK | CRN_RESOURCE_CAUSE_WRITERS_DELAYED))

/* Snapshots kept, one a second: enough for the window. */
#define KEPT (CRN_CONDITIONS_WINDOW_NS / CRN_NS_PER_S + 1)

/* A clock that differs by so much from one look to the next was set. */
#define JUMP_NS (1 * CRN_NS_PER_S)

struct crn_condition_watch {
    const crn_config *config;
    int64_t began_ns;
    crn_condition_memory memory;
    crn_snapshot *kept[KEPT]; /* a ring */
    uint64_t looks;           /* snapshots put into it */
    crn_snapshot *none;       /* of before the start: all zero */
    crn_tracked_conditions tracked;
};

static crn_snapshot *create_snapshot(const crn_config *config)
{
    return calloc(1, crn_snapshot_bytes((int32_t)config->limits.lanes));
}

int crn_condition_watch_create(const crn_config *config, int64_t began_ns, crn_condition_told *tell,
                               void *context, crn_condition_watch **ret_watch)
{
    crn_condition_watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return -ENOMEM;
    watch->config = config;
    watch->began_ns = began_ns;
    watch->tracked.tell = tell;
    watch->tracked.context = context;
    bool has_memory = (watch->none = create_snapshot(config)) != NULL;
    if (has_memory)
        watch->none->taken_ns = began_ns; /* what shares of the time since then are made of */
    watch->memory.lanes = calloc((size_t)config->limits.lanes, sizeof *watch->memory.lanes);
    has_memory = has_memory && watch->memory.lanes;
    for (int64_t i = 0; i < KEPT; i++)
        has_memory = (watch->kept[i] = create_snapshot(config)) && has_memory;
    if (!has_memory) {
        crn_condition_watch_free(&watch);
        return -ENOMEM;
    }
    *ret_watch = watch;
    return 0;
}

void crn_condition_watch_free(crn_condition_watch **watch)
{
    if (!watch || !*watch)
        return;
    for (int64_t i = 0; i < KEPT; i++)
        free((*watch)->kept[i]);
    free((*watch)->none);
    free((*watch)->memory.lanes);
    free(*watch);
    *watch = NULL;
}

/* --- what a look compares with --- */

/* The latest snapshot that is as old as the window; the oldest one while none is. */
static const crn_snapshot *find_before(const crn_condition_watch *watch, int64_t taken_ns)
{
    uint64_t oldest = watch->looks > KEPT ? watch->looks - KEPT : 0, at = watch->looks;
    while (at > oldest) {
        const crn_snapshot *kept = watch->kept[--at % KEPT];
        if (taken_ns - kept->taken_ns >= CRN_CONDITIONS_WINDOW_NS)
            return kept;
    }
    return watch->looks > KEPT ? watch->kept[oldest % KEPT] : watch->none;
}

static void keep(crn_condition_watch *watch, const crn_snapshot *now)
{
    if (watch->looks > 0 && watch->kept[(watch->looks - 1) % KEPT]->number == now->number)
        return;
    memcpy(watch->kept[watch->looks++ % KEPT], now, crn_snapshot_bytes(now->lane_count));
}

/* --- memory --- */

static void remember_clocks(crn_condition_memory *memory, int64_t now_ns, int64_t realtime_ns)
{
    int64_t apart_ns = realtime_ns - now_ns, jump_ns = apart_ns - memory->clocks_apart_ns;
    if (memory->clocks_apart_ns != 0 && (jump_ns >= JUMP_NS || jump_ns <= -JUMP_NS)) {
        memory->clock_jump_s = crn_seconds(jump_ns);
        memory->clock_jump_ns = now_ns;
    }
    memory->clocks_apart_ns = apart_ns;
}

/* Of the workers' time, so much spent on views is all that they have: views come unevenly. */
#define WORKERS_BUSY 0.85

/* A worker of several threads rarely keeps all of them busy, so its views' own times tell. */
static bool workers_are_busy(const crn_condition_look *look)
{
    double ran_ns = 0;
    for (int side = 0; side < CRN_SIDES; side++)
        ran_ns +=
            (double)(look->now->views.run[side].sum_ns - look->before->views.run[side].sum_ns);
    double window_ns = (double)(look->now->taken_ns - look->before->taken_ns);
    return ran_ns >= WORKERS_BUSY * window_ns * (double)look->config->run.workers;
}

/* The causes of what was lost; overload also where no resource but the workers was used up. */
static unsigned causes_of(const crn_condition_look *look, crn_resource_demand *demand)
{
    if (crn_condition_deadlines_are_over(look))
        demand->views_discarded = demand->views_unfinished = 0; /* no resource would have helped */
    unsigned causes = crn_resources_causes(look->resources, demand);
    bool any_view = demand->views_discarded + demand->views_unfinished > 0;
    if (any_view && !(causes & VIEW_CAUSES) && workers_are_busy(look))
        causes |= CRN_RESOURCE_CAUSE_OVERLOAD;
    return causes;
}

/* What the line did since `earlier`, for the judgement which resource was short. */
static crn_resource_demand demand_of(const crn_snapshot *snapshot, const crn_snapshot *earlier)
{
    const crn_metrics *now = &snapshot->metrics, *before = &earlier->metrics;
    const crn_recorder_stats *recorder = &now->recorder;
    const crn_verdict_log_stats *log = &now->publish.log;
    return (crn_resource_demand){
        .seconds = crn_seconds(snapshot->taken_ns - earlier->taken_ns),
        .views_judged = now->fruits.judged - before->fruits.judged,
        .views_discarded = now->fruits.discarded + now->fruits.no_slot - before->fruits.discarded -
                           before->fruits.no_slot,
        .views_unfinished = now->fruits.unfinished - before->fruits.unfinished,
        .copies_dropped = recorder->dropped + log->dropped - before->recorder.dropped -
                          before->publish.log.dropped,
        .copies_refused =
            recorder->failed + log->failed - before->recorder.failed - before->publish.log.failed,
        .device_views = now->engine.device - before->engine.device,
        .device_batches_slow = now->engine.device_slow - before->engine.device_slow,
    };
}

void crn_condition_watch_look(crn_condition_watch *watch, const crn_snapshot *now,
                              const crn_resources *resources, const crn_drift_findings *drift,
                              int64_t now_ns, int64_t realtime_ns)
{
    remember_clocks(&watch->memory, now_ns, realtime_ns);
    const crn_snapshot *before = find_before(watch, now->taken_ns);
    crn_resource_demand demand = demand_of(now, before);
    crn_condition_look look = {.config = watch->config,
                               .now = now,
                               .before = before,
                               .resources = resources,
                               .drift = drift,
                               .memory = &watch->memory,
                               .began_ns = watch->began_ns,
                               .now_ns = now_ns};
    look.causes = causes_of(&look, &demand);
    if (look.causes & VIEW_CAUSES)
        watch->memory.views_caused_ns = now_ns;
    if (look.causes & CRN_RESOURCE_CAUSE_WRITERS_DELAYED)
        watch->memory.writers_delayed_ns = now_ns;
    crn_condition_follow_lanes(&look, &watch->memory);
    crn_condition_found found = {.tracked = &watch->tracked, .now_ns = now_ns};
    for (int32_t i = 0; now->number > 0 && i < crn_condition_row_count; i++) {
        found.row = crn_condition_rows[i];
        found.row->find(&look, &found);
    }
    crn_tracked_raise(&watch->tracked, now_ns);
    crn_tracked_end(&watch->tracked, now_ns);
    crn_tracked_list(&watch->tracked, now->state);
    keep(watch, now);
}

const crn_condition_list *crn_condition_watch_list(const crn_condition_watch *watch)
{
    return &watch->tracked.list;
}

#include "src/monitor/conditions/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"

/* Causes of views that were not judged in time. */
#define VIEW_CAUSES (~(unsigned)(CRN_RESOURCE_CAUSE_DISK | CRN_RESOURCE_CAUSE_WRITERS_DELAYED))

/* Snapshots kept, one a second: enough for the window. */
#define KEPT (CRN_CONDITIONS_WINDOW_NS / CRN_NS_PER_S + 1)

/* A clock that differs by so much from one look to the next was set. */
#define JUMP_NS (1 * CRN_NS_PER_S)

#define REMINDER_NS (60 * CRN_NS_PER_S)

/* A condition that holds, or held a moment ago. */
typedef struct tracked_condition {
    crn_condition_held held;
    int64_t seen_ns; /* last look that found it */
    int64_t told_ns; /* when it was raised, or told of again; 0: it is not raised */
} tracked_condition;

struct crn_condition_found {
    crn_condition_watch *watch;
    const crn_condition *row;
    int64_t now_ns;
};

struct crn_condition_watch {
    const crn_config *config;
    int64_t began_ns;
    crn_condition_told *tell;
    void *context;
    crn_condition_memory memory;
    crn_snapshot *kept[KEPT]; /* a ring */
    uint64_t looks;           /* snapshots put into it */
    crn_snapshot *none;       /* of before the start: all zero */
    tracked_condition tracked[CRN_CONDITIONS_MAX];
    int32_t tracked_count;
    crn_condition_list list;
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
    watch->tell = tell;
    watch->context = context;
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

const crn_lane_snapshot *crn_condition_lane_before(const crn_condition_look *look, int32_t index)
{
    static const crn_lane_snapshot none;
    const crn_lane_snapshot *before = &look->before->lanes[index];
    bool is_same = index < look->before->lane_count &&
                   before->meters.serial == look->now->lanes[index].meters.serial;
    return is_same ? before : &none;
}

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

static bool is_recent(const crn_condition_look *look, int64_t ns)
{
    return ns != 0 && look->now_ns - ns <= CRN_CONDITIONS_WINDOW_NS;
}

bool crn_condition_views_are_caused(const crn_condition_look *look)
{
    return is_recent(look, look->memory->views_caused_ns);
}

bool crn_condition_writers_are_delayed(const crn_condition_look *look)
{
    return is_recent(look, look->memory->writers_delayed_ns);
}

/* --- conditions that hold, or held a moment ago --- */

/* Whether there is room for one more of this row: for one of each row there always is. */
static bool has_room(const crn_condition_watch *watch, const crn_condition *row)
{
    int32_t of_row = 0;
    for (int32_t i = 0; i < watch->tracked_count; i++)
        of_row += watch->tracked[i].held.row == row;
    return of_row == 0 || (of_row < CRN_CONDITIONS_MAX / 2 &&
                           watch->tracked_count < CRN_CONDITIONS_MAX - crn_condition_row_count);
}

static tracked_condition *find_tracked(crn_condition_watch *watch, const crn_condition *row,
                                       int64_t lane)
{
    for (int32_t i = 0; i < watch->tracked_count; i++) {
        tracked_condition *one = &watch->tracked[i];
        if (one->held.row == row && one->held.values.lane == lane)
            return one;
    }
    return NULL;
}

bool crn_condition_is_raised(const crn_condition_found *found, int64_t lane)
{
    const tracked_condition *one = find_tracked(found->watch, found->row, lane);
    return one && one->told_ns != 0;
}

void crn_condition_add(crn_condition_found *found, const crn_condition_values *values)
{
    crn_condition_watch *watch = found->watch;
    tracked_condition *one = find_tracked(watch, found->row, values->lane);
    if (!one && has_room(watch, found->row)) {
        one = &watch->tracked[watch->tracked_count++];
        *one = (tracked_condition){.held = {.row = found->row, .since_ns = found->now_ns}};
    }
    if (!one)
        return;
    one->held.values = *values;
    one->seen_ns = found->now_ns;
}

void crn_condition_add_count(crn_condition_found *found, int64_t lane, uint64_t now,
                             uint64_t before)
{
    if (now > before)
        crn_condition_add(found,
                          &(crn_condition_values){.lane = lane, .count = (double)(now - before)});
}

/* Raises what held for long enough, and reminds of what was raised before. */
static void raise_tracked(crn_condition_watch *watch, int64_t now_ns)
{
    for (int32_t i = 0; i < watch->tracked_count; i++) {
        tracked_condition *one = &watch->tracked[i];
        bool raised = one->told_ns != 0;
        int64_t passed_ns = now_ns - (raised ? one->told_ns : one->held.since_ns);
        int64_t wait_ns = raised ? REMINDER_NS : one->held.row->raise_s * CRN_NS_PER_S;
        if (one->seen_ns != now_ns || passed_ns < wait_ns)
            continue;
        one->told_ns = now_ns;
        watch->tell(watch->context, &one->held,
                    raised ? CRN_CONDITION_HOLDS : CRN_CONDITION_RAISED);
    }
}

/* Ends what did not hold for long enough; what was never raised is forgotten at once. */
static void end_tracked(crn_condition_watch *watch, int64_t now_ns)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < watch->tracked_count; i++) {
        tracked_condition *one = &watch->tracked[i];
        int64_t absent_ns = now_ns - one->seen_ns;
        bool raised = one->told_ns != 0;
        bool stays =
            absent_ns == 0 || (raised && absent_ns < one->held.row->clear_s * CRN_NS_PER_S);
        if (stays)
            watch->tracked[kept++] = *one;
        else if (raised)
            watch->tell(watch->context, &one->held, CRN_CONDITION_ENDED);
    }
    watch->tracked_count = kept;
}

/* --- the list --- */

static int32_t weight_of(const crn_condition *row)
{
    int32_t at = 0;
    while (crn_condition_rows[at] != row)
        at++;
    return (CRN_SEVERITIES - 1 - (int32_t)row->severity) * crn_condition_row_count + at;
}

static bool is_before(const crn_condition_held *a, const crn_condition_held *b)
{
    int32_t of_a = weight_of(a->row), of_b = weight_of(b->row);
    return of_a != of_b ? of_a < of_b : a->values.lane < b->values.lane;
}

static void list_tracked(crn_condition_watch *watch, crn_state state)
{
    crn_condition_list *list = &watch->list;
    list->state = state;
    list->count = 0;
    for (int32_t i = 0; i < watch->tracked_count; i++) {
        const crn_condition_held *held = &watch->tracked[i].held;
        if (watch->tracked[i].told_ns == 0)
            continue;
        uint32_t at = list->count++;
        for (; at > 0 && is_before(held, &list->at[at - 1]); at--)
            list->at[at] = list->at[at - 1];
        list->at[at] = *held;
    }
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
    crn_condition_found found = {.watch = watch, .now_ns = now_ns};
    for (int32_t i = 0; now->number > 0 && i < crn_condition_row_count; i++) {
        found.row = crn_condition_rows[i];
        found.row->find(&look, &found);
    }
    raise_tracked(watch, now_ns);
    end_tracked(watch, now_ns);
    list_tracked(watch, now->state);
    keep(watch, now);
}

const crn_condition_list *crn_condition_watch_list(const crn_condition_watch *watch)
{
    return &watch->list;
}

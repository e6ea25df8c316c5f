#include "src/monitor/meters.h"

#include <errno.h>
#include <stdlib.h>

#include "stages/base/clock.h"

/* A lane is silent after as many of its usual pauses between fruits as this, and after so long. */
#define SILENT_PAUSES 10
#define SILENT_NS     (5 * CRN_NS_PER_S)

/* Fruits whose pauses are the usual ones. */
#define PAUSES_MAX 64

int crn_meters_init(const crn_config *config, crn_meters *ret_meters)
{
    crn_meters meters = {.config = config};
    for (crn_histogram_scale scale = 0; scale < CRN_SCALES; scale++)
        meters.edges[scale] =
            crn_histogram_edges_of(scale, config->latency.budget_ms * CRN_NS_PER_MS);
    meters.lanes = calloc((size_t)config->limits.lanes, sizeof *meters.lanes);
    if (!meters.lanes)
        return -ENOMEM;
    crn_meters_use(&meters, config);
    *ret_meters = meters;
    return 0;
}

/* Index of the step in views.step, where it is added if it is new; -1 if that is full. */
static int8_t step_index(crn_view_meters *views, crn_step_kind kind)
{
    int32_t at = 0;
    while (at < views->steps &&
           (views->step[at].stage != kind.stage || views->step[at].before != kind.before))
        at++;
    if (at == CRN_METER_STEPS)
        return -1;
    views->step[at] = kind;
    views->steps += at == views->steps;
    return (int8_t)at;
}

void crn_meters_use(crn_meters *meters, const crn_config *config)
{
    for (int32_t i = 0; i < config->steps; i++)
        meters->place[crn_config_slot(config)][i] =
            step_index(&meters->views, crn_config_step_kind(config, i));
}

void crn_meters_done(crn_meters *meters)
{
    free(meters->lanes);
    meters->lanes = NULL;
}

void crn_lane_meters_add(crn_lane_meters *sum, const crn_lane_meters *added)
{
    crn_histogram_merge(&sum->latency, &added->latency);
    crn_histogram_merge(&sum->lateness, &added->lateness);
    for (int path = 0; path < CRN_INGEST_PATHS; path++)
        sum->received[path] += added->received[path];
    for (int kind = 0; kind <= CRN_VERDICT_LATE; kind++)
        sum->verdicts[kind] += added->verdicts[kind];
    sum->missed += added->missed;
    CRN_LANE_METER_COUNTS(CRN_COUNT_ADD)
}

bool crn_lane_meters_is_silence(const crn_lane_meters *lane, int64_t ns)
{
    return ns > SILENT_NS && ns > SILENT_PAUSES * lane->pause_ns;
}

/* A mean that forgets: of the first pauses each counts alike. A belt that stood says nothing of the
 * pauses while it moves, so that of a long one a part counts. */
static void add_pause(crn_lane_meters *lane, int64_t pause_ns)
{
    int64_t most_ns = 2 * lane->pause_ns > SILENT_NS ? 2 * lane->pause_ns : SILENT_NS;
    pause_ns = pause_ns < most_ns ? pause_ns : most_ns;
    lane->pauses += lane->pauses < PAUSES_MAX;
    lane->pause_ns += (pause_ns - lane->pause_ns) / lane->pauses;
}

void crn_meters_arrival(crn_meters *meters, const crn_lane *lane, const crn_view_header *header,
                        crn_ingest_path path, int64_t now_ns, int64_t realtime_ns)
{
    crn_lane_meters *own = &meters->lanes[lane->index];
    if (own->serial != lane->serial) {
        crn_lane_meters_add(&meters->freed, own);
        *own = (crn_lane_meters){.serial = lane->serial};
    }
    own->received[path]++;
    own->last_view_ns = (uint64_t)realtime_ns;
    if (own->fruits != lane->fruits) {
        if (own->fruit_ns > 0)
            add_pause(own, now_ns - own->fruit_ns);
        own->fruits = lane->fruits;
        own->fruit_ns = now_ns;
    }
    own->arrived_ns = now_ns;
    if (header->captured_ns == 0)
        return;
    /* A capture time that does not even fit the clock's type is as wrong as one in the future. */
    bool later = header->captured_ns > (uint64_t)realtime_ns;
    own->captured_later += later;
    const crn_histogram_edges *edges = &meters->edges[CRN_SCALE_SENDER];
    int64_t late_ns = later ? 0 : realtime_ns - (int64_t)header->captured_ns;
    /* A clock that counts from the machine's start is decades off: ten views would overflow the
     * sum. Beyond all edges it says nothing more. */
    int64_t most_ns = 2 * edges->ns[CRN_HISTOGRAM_EDGES - 1];
    crn_histogram_add(&own->lateness, edges, late_ns < most_ns ? late_ns : most_ns);
}

void crn_meters_view(crn_meters *meters, const crn_config *config, const crn_judgement *judgement)
{
    if (!config)
        config = meters->config;
    const int8_t *place = meters->place[crn_config_slot(config)];
    crn_side side = judgement->on_device ? CRN_SIDE_DEVICE : CRN_SIDE_PROCESSOR;
    const crn_histogram_edges *edges = &meters->edges[CRN_SCALE_VIEW];
    crn_view_meters *views = &meters->views;
    crn_histogram_add(&views->queue, edges, judgement->queue_ns);
    crn_histogram_add(&views->run[side], edges, judgement->run_ns);
    for (int32_t step = 0; step < config->steps; step++)
        if (!(judgement->skipped >> step & 1) && place[step] >= 0)
            crn_histogram_add(&views->stage[side][place[step]], edges, judgement->stage_ns[step]);
    views->busy_ns[side] += judgement->cost_ns > 0 ? (uint64_t)judgement->cost_ns : 0;
}

void crn_meters_fruit(crn_meters *meters, const crn_fruit *fruit, int64_t now_ns)
{
    crn_lane_meters *own = &meters->lanes[fruit->lane->index];
    const crn_config *config = fruit->config ? fruit->config : meters->config;
    int64_t latency_ns = now_ns - fruit->closed_ns;
    own->verdicts[crn_fruit_verdict(fruit)]++;
    int32_t missing = fruit->expected - fruit->received - fruit->refused;
    own->missing += missing > 0 ? (uint64_t)missing : 0; /* `expected` is 0 where unknown */
    bool over = latency_ns > config->latency.budget_ms * CRN_NS_PER_MS;
    own->over_budget += over;
    own->missed += over || crn_fruit_verdict(fruit) == CRN_VERDICT_LATE;
    crn_histogram_add(&own->latency, &meters->edges[CRN_SCALE_FRUIT], latency_ns);
}

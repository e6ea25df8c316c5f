#include "tools/reprocess/judge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "src/formats/recording/recording.h"
#include "src/fruit/fruit.h"
#include "src/line/outputs.h"
#include "src/publish/verdict.h"
#include "src/surface/surfaces.h"
#include "stages/base/fnv.h"
#include "tools/reprocess/recorded_clock.h"

struct crn_reprocess_judge {
    const crn_config *config;
    crn_reprocess_meter *meter;
    crn_fruit_rules rules;
    crn_views_ahead *ahead;
    crn_result_store *store;
    crn_surfaces *surfaces; /* NULL: the settings measure nothing */
    int measured;           /* eventfd of it */
    crn_verdict *packer;
    crn_encoder *encoder;

    /* Of the segment at hand: */
    crn_recorded_clock clock;
    crn_values values;
    crn_lanes *lanes;
    crn_fruits *fruits;
    uint64_t own_open; /* fruits that began in it and have no verdict yet */
    char run[17];
    crn_reprocess_result *result;
    crn_reprocess_outcome *outcome;
    int failed; /* negative errno: a verdict is missing, and *error says why */
    crn_error *error;
};

/* --- settings --- */

void crn_reprocess_prepare(crn_config *config, int32_t workers, int32_t cores)
{
    config->run.workers = workers;
    config->run.threads = cores / workers > 1 ? cores / workers : 1;
    if (config->run.backend != CRN_BACKEND_SERIAL)
        config->run.backend = CRN_BACKEND_OPENMP;
    memset(&config->realtime, 0, sizeof config->realtime);
    /* No second format of each verdict for viewers or the live page. */
    config->publish.viewers.format = config->publish.grader.format;
    config->monitor.http[0] = '\0';
    crn_config_resolve(config, cores);
}

/* Views are in time where the line took them: they stand in the recording behind views that
 * arrived until their fruit's verdict. */
static crn_fruit_rules rules_of(const crn_config *config)
{
    crn_fruit_rules rules = crn_fruit_rules_of(config);
    rules.assemble_ns += rules.budget_ns;
    return rules;
}

/* How far apart in time views of neighbouring segments may be and have to do with each other. */
static int64_t horizon_ns(const crn_reprocess_judge *judge)
{
    return 2 * judge->rules.assemble_ns + CRN_RECORDED_DISORDER_NS;
}

/* --- verdicts --- */

/* True unless it began in another segment: its first views were lost to this one. */
static bool is_own(const crn_reprocess_judge *judge, const crn_fruit *fruit)
{
    for (int64_t v = 0; v < judge->config->limits.views; v++)
        if (fruit->views[v].state == CRN_VIEW_LOST && fruit->views[v].reason == CRN_REASON_NO_SLOT)
            return false;
    return true;
}

static void fail(crn_reprocess_judge *judge, int code, const char *what)
{
    if (judge->failed == 0)
        judge->failed = crn_error_set(judge->error, code, "%s: %s: %s", judge->result->path, what,
                                      strerror(-code));
}

/* Its measurement, until crn_surfaces_release; NULL: it is not measured. */
static crn_measurement *measure(crn_reprocess_judge *judge, const crn_fruit *fruit)
{
    crn_measurement *it = NULL;
    int64_t now_ns = judge->clock.now_ns;
    if (!judge->surfaces || fruit->judged == 0 ||
        !crn_surfaces_begin(judge->surfaces, fruit, CRN_NEVER_NS, now_ns))
        return NULL;
    while (!(it = crn_surfaces_collect(judge->surfaces, now_ns))) {
        uint64_t count;
        if (read(judge->measured, &count, sizeof count) < 0 && errno != EINTR)
            break;
    }
    if (it)
        crn_fruits_set_surface(judge->fruits, fruit, &it->packed, it->skipped);
    return it;
}

static void publish(crn_reprocess_judge *judge, const crn_fruit *fruit)
{
    crn_measurement *measurement = measure(judge, fruit);
    crn_verdict_bytes packed;
    crn_verdict_facts facts = {
        .run = judge->run,
        .lane = fruit->lane->number,
        .sequence = crn_lane_next_sequence(fruit->lane),
        .kind = crn_fruit_verdict(fruit),
        .published_ns = (uint64_t)judge->clock.now_ns,
        .now_ns = judge->clock.now_ns,
    };
    int r = crn_verdict_pack(judge->packer, judge->encoder, fruit, &facts, judge->store, &packed);
    if (r < 0)
        fail(judge, r, "a verdict cannot be packed");
    else if (judge->failed == 0)
        judge->failed = crn_reprocess_result_add(judge->result, facts.lane, packed.bytes,
                                                 packed.size, judge->error);
    if (measurement)
        crn_surfaces_release(judge->surfaces, measurement);
    judge->own_open--;
    judge->outcome->fruits++;
    atomic_fetch_add_explicit(&judge->meter->fruits, 1, memory_order_relaxed);
}

static void judge_due(crn_reprocess_judge *judge)
{
    const crn_fruit *fruit;
    while ((fruit = crn_fruits_due(judge->fruits, judge->clock.now_ns))) {
        if (is_own(judge, fruit))
            publish(judge, fruit);
        for (int64_t v = 0; v < judge->config->limits.views; v++)
            if (fruit->views[v].state == CRN_VIEW_JUDGED)
                crn_result_store_release(judge->store, fruit->views[v].judgement.result);
        crn_fruits_judge(judge->fruits, fruit);
    }
}

/* --- a view's arrival and end --- */

static void advance(crn_reprocess_judge *judge, uint64_t arrived_ns)
{
    crn_recorded_clock_advance(&judge->clock, arrived_ns);
    judge_due(judge);
}

/* True if the fruit table wants the view; *ret_is_new: it opened its fruit. */
static bool arrive(crn_reprocess_judge *judge, const crn_view_header *header,
                   crn_ticket *ret_ticket, bool *ret_is_new)
{
    const crn_fruit_stats *stats = crn_fruits_get_stats(judge->fruits);
    uint64_t opened = stats->opened;
    crn_arrival arrival =
        crn_fruits_arrive(judge->fruits, header, CRN_NEVER_NS, judge->clock.now_ns, ret_ticket);
    *ret_is_new = stats->opened > opened;
    return arrival == CRN_ARRIVAL_WANTED;
}

/* What depends on the machine and its load is no part of a result. */
static void remove_times(crn_judgement *judgement)
{
    judgement->queue_ns = judgement->run_ns = judgement->cost_ns = judgement->optional_ns = 0;
    judgement->finish_ns = judgement->pose_ns = 0;
    memset(judgement->stage_ns, 0, sizeof judgement->stage_ns);
    memset(judgement->stage_finish_ns, 0, sizeof judgement->stage_finish_ns);
    judgement->place = (crn_run_place){0};
}

/* Gives what the engine made of a view to its fruit, as the line does. */
static void credit(crn_reprocess_judge *judge, crn_ahead_view *it, crn_ticket ticket)
{
    crn_view *view = &it->view;
    int64_t now_ns = judge->clock.now_ns, ignored_ns;
    crn_ticket next;
    uint32_t slot;
    view->ticket = ticket;
    view->epoch = crn_fruits_epoch(judge->fruits, ticket);
    view->received_ns = now_ns;
    if (!crn_fruits_queue(judge->fruits, ticket, view->slot) ||
        crn_fruits_next(judge->fruits, now_ns, &next, &slot, &ignored_ns) != CRN_NEXT_RUN)
        return;
    if (it->output->status < 0) {
        judge->outcome->failed++;
        crn_fruits_done(judge->fruits, ticket, NULL, CRN_REASON_FAILED, now_ns);
        return;
    }
    crn_judgement judgement = crn_line_keep(judge->store, it->output);
    remove_times(&judgement);
    crn_lane *lane = crn_lanes_look_up(judge->lanes, view->header.lane);
    if (view->check && lane) {
        crn_values_check(&judge->values, &lane->values, view, &view->seen,
                         crn_line_sample(it->output));
        crn_fruits_set_values(judge->fruits, ticket, &view->values);
    }
    if (!crn_fruits_done(judge->fruits, ticket, &judgement, CRN_REASON_NONE, now_ns))
        crn_result_store_release(judge->store, judgement.result);
}

static void refuse(crn_reprocess_judge *judge, const crn_ahead_view *it)
{
    if (judge->outcome->refused++ == 0)
        judge->outcome->why_refused = it->fault;
    crn_fruits_refuse(judge->fruits, &it->view.header, (crn_refusal)it->fault);
}

/* --- the segment itself --- */

/* A view of the segment arrives and ends, on the recorded clock. */
static void take(crn_reprocess_judge *judge, crn_ahead_view *it)
{
    crn_ticket ticket;
    bool is_new;
    advance(judge, it->arrived_ns);
    if (it->fault) {
        refuse(judge, it);
    } else if (arrive(judge, &it->view.header, &ticket, &is_new)) {
        judge->own_open += is_new;
        credit(judge, it, ticket);
    }
    crn_views_ahead_release(judge->ahead);
    judge_due(judge);
}

static int judge_own(crn_reprocess_judge *judge, const crn_reprocess_segment *segment)
{
    crn_views_ahead *ahead = judge->ahead;
    crn_ahead_view *it;
    int r = crn_views_ahead_open(ahead, segment->path, judge->error);
    if (r < 0)
        return r;
    do {
        while (judge->failed == 0 && !crn_views_ahead_is_at_end(ahead) &&
               crn_views_ahead_has_room(ahead))
            judge->outcome->views += crn_views_ahead_read(ahead, &judge->outcome->damage);
        if ((it = crn_views_ahead_take(ahead)))
            take(judge, it);
    } while (it);
    return judge->failed;
}

/* --- its neighbours --- */

/* A view that began elsewhere: its fruit is known, and gets no verdict here. */
static void pass_over(crn_reprocess_judge *judge, const crn_recorded_view *recorded)
{
    crn_ticket ticket;
    bool is_new;
    advance(judge, recorded->arrived_ns);
    if (crn_views_ahead_check(judge->ahead, &recorded->header) == CRN_WIRE_OK &&
        arrive(judge, &recorded->header, &ticket, &is_new))
        crn_fruits_lose(judge->fruits, ticket);
    judge_due(judge);
}

/* Those before: what cannot be read is told by its own task. */
static void pass_over_all(crn_reprocess_judge *judge, const crn_reprocess_segment *segment)
{
    crn_recording_reader *reader = NULL;
    crn_recorded_view recorded;
    crn_error ignored;
    if (crn_recording_open(segment->path, &reader, &ignored) == 0)
        while (crn_recording_skip(reader, &recorded, &ignored) > 0)
            pass_over(judge, &recorded);
    crn_recording_end(&reader);
}

static bool is_near(const crn_reprocess_judge *judge, int64_t from_ns, uint64_t to_ns)
{
    int64_t apart_ns = crn_recorded_arrival_ns(to_ns) - from_ns;
    return apart_ns <= horizon_ns(judge) && apart_ns >= -horizon_ns(judge);
}

/* The first of the segments before it that matter: one begins earlier than whatever may have to do
 * with this one. */
static int32_t find_begin(const crn_reprocess_judge *judge, const crn_reprocess_segments *segments,
                          int32_t index)
{
    int64_t own_ns = crn_recorded_arrival_ns(segments->items[index].first_ns);
    int32_t begin = index;
    for (int32_t i = index - 1; i >= 0; i--) {
        const crn_reprocess_segment *segment = &segments->items[i];
        if (!crn_reprocess_segment_is_sound(segment) || segment->first_ns == 0)
            continue;
        begin = i;
        if (!is_near(judge, own_ns, segment->first_ns))
            break;
    }
    return begin;
}

static void drop_segment(crn_reprocess_judge *judge)
{
    crn_fruits_free(&judge->fruits);
    crn_lanes_free(&judge->lanes);
}

/* A fruit table as at a line's start. */
static int begin_segment(crn_reprocess_judge *judge, uint64_t first_ns)
{
    crn_lane_rules lanes = crn_lane_rules_of(judge->config);
    drop_segment(judge);
    crn_recorded_clock_start(&judge->clock, first_ns);
    crn_values_init(judge->config, &judge->values);
    int r = crn_lanes_create((int32_t)judge->config->limits.lanes, &judge->lanes);
    if (r == 0) {
        crn_lanes_set_rules(judge->lanes, &lanes);
        r = crn_fruits_create(&judge->rules, judge->lanes, &judge->fruits);
    }
    return r;
}

static int look_before(crn_reprocess_judge *judge, const crn_reprocess_segments *segments,
                       int32_t index)
{
    uint64_t own_ns = segments->items[index].first_ns;
    int32_t begin = find_begin(judge, segments, index);
    int r = begin_segment(judge, segments->items[begin].first_ns);
    for (int32_t i = begin; i < index && r == 0; i++)
        if (crn_reprocess_segment_is_sound(&segments->items[i]))
            pass_over_all(judge, &segments->items[i]);
    if (r == 0 && !is_near(judge, judge->clock.latest_ns, own_ns))
        r = begin_segment(judge, own_ns);
    return r < 0 ? crn_error_set(judge->error, r, "%s: no memory: lower limits.open_fruits",
                                 segments->items[index].path)
                 : 0;
}

/* A view of an own fruit that stands in a segment behind. */
static void judge_there(crn_reprocess_judge *judge, crn_recording_position position,
                        crn_ticket ticket)
{
    crn_error ignored;
    crn_views_ahead_go_to(judge->ahead, position);
    if (!crn_views_ahead_read(judge->ahead, &ignored)) {
        crn_fruits_lose(judge->fruits, ticket);
        return;
    }
    credit(judge, crn_views_ahead_take(judge->ahead), ticket);
    crn_views_ahead_release(judge->ahead);
}

static void look_into(crn_reprocess_judge *judge, const crn_reprocess_segment *segment)
{
    crn_recording_reader *reader = NULL;
    crn_recorded_view recorded;
    crn_error ignored;
    if (crn_recording_open(segment->path, &reader, &ignored) < 0 ||
        crn_views_ahead_open(judge->ahead, segment->path, &ignored) < 0) {
        crn_recording_end(&reader);
        return;
    }
    while (judge->own_open > 0) {
        crn_recording_position position = crn_recording_tell(reader);
        crn_ticket ticket;
        bool is_new;
        if (crn_recording_skip(reader, &recorded, &ignored) <= 0)
            break;
        advance(judge, recorded.arrived_ns);
        if (crn_views_ahead_check(judge->ahead, &recorded.header) == CRN_WIRE_OK &&
            arrive(judge, &recorded.header, &ticket, &is_new)) {
            if (is_new)
                crn_fruits_lose(judge->fruits, ticket);
            else
                judge_there(judge, position, ticket);
        }
        judge_due(judge);
    }
    crn_recording_end(&reader);
}

static void look_behind(crn_reprocess_judge *judge, const crn_reprocess_segments *segments,
                        int32_t index)
{
    for (int32_t i = index + 1; i < segments->count && judge->own_open > 0; i++) {
        const crn_reprocess_segment *segment = &segments->items[i];
        if (!crn_reprocess_segment_is_sound(segment) || segment->first_ns == 0)
            continue;
        if (!is_near(judge, judge->clock.latest_ns, segment->first_ns))
            break;
        look_into(judge, segment);
    }
    crn_fruits_end(judge->fruits, judge->clock.now_ns, judge->clock.now_ns);
    judge_due(judge);
}

/* --- all of it --- */

/* An id that every process finds alike: of the settings and the segment. */
static void name_run(crn_reprocess_judge *judge, const crn_reprocess_segment *segment)
{
    uint64_t hash = crn_fnv1a(CRN_FNV1A_START, &judge->config->hash, sizeof judge->config->hash);
    hash = crn_fnv1a(hash, &segment->identity, sizeof segment->identity);
    snprintf(judge->run, sizeof judge->run, "%016" PRIx64, hash);
}

int crn_reprocess_judge_run(crn_reprocess_judge *judge, const crn_reprocess_segments *segments,
                            int32_t index, crn_reprocess_result *result,
                            crn_reprocess_outcome *ret_outcome, crn_error *error)
{
    const crn_reprocess_segment *segment = &segments->items[index];
    *ret_outcome = (crn_reprocess_outcome){0};
    judge->result = result;
    judge->outcome = ret_outcome;
    judge->error = error;
    judge->failed = 0;
    judge->own_open = 0;
    name_run(judge, segment);
    int r = look_before(judge, segments, index);
    if (r == 0)
        r = judge_own(judge, segment);
    if (r == 0)
        look_behind(judge, segments, index);
    if (r == 0)
        r = judge->failed;
    if (r < 0 && judge->fruits) {
        /* Gives the results back to the store. */
        crn_fruits_end(judge->fruits, judge->clock.now_ns, judge->clock.now_ns);
        judge_due(judge);
    }
    drop_segment(judge);
    return r;
}

int crn_reprocess_judge_create(const crn_config *config, crn_reprocess_meter *meter,
                               crn_reprocess_judge **ret_judge, crn_error *error)
{
    crn_reprocess_judge *judge = calloc(1, sizeof *judge);
    if (!judge)
        return crn_error_set(error, -ENOMEM, "no memory to judge views");
    judge->config = config;
    judge->meter = meter;
    judge->rules = rules_of(config);
    judge->measured = eventfd(0, EFD_CLOEXEC);
    int r = judge->measured < 0 ? -errno : 0;
    if (r == 0)
        r = crn_result_store_create(crn_line_store_bytes(config), &judge->store);
    if (r == 0)
        r = crn_verdict_create(config, &judge->packer);
    if (r == 0)
        r = crn_encoder_create((crn_format)config->publish.grader.format, &judge->encoder);
    if (r == 0 && crn_config_measures(config))
        r = crn_surfaces_open(config, judge->store, judge->measured, &judge->surfaces);
    if (r < 0)
        crn_error_set(error, r, "cannot start: %s; lower limits.points, limits.defects or --jobs",
                      strerror(-r));
    else
        r = crn_views_ahead_create(config, meter, &judge->ahead, error);
    if (r < 0)
        crn_reprocess_judge_free(&judge);
    else
        *ret_judge = judge;
    return r;
}

void crn_reprocess_judge_free(crn_reprocess_judge **judge)
{
    crn_reprocess_judge *it = *judge;
    if (!it)
        return;
    crn_surfaces_close(&it->surfaces);
    crn_views_ahead_free(&it->ahead);
    drop_segment(it);
    crn_encoder_free(&it->encoder);
    crn_verdict_free(&it->packer);
    crn_result_store_free(&it->store);
    if (it->measured >= 0)
        close(it->measured);
    free(it);
    *judge = NULL;
}

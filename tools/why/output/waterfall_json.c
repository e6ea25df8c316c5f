#include "tools/why/output/waterfall.h"

#include <errno.h>
#include <math.h>

#include "src/formats/encoding/encoder.h"
#include "tools/why/output/sentence.h"

static void put_time(crn_encoder *encoder, const char *key, bool is_known, int64_t ns)
{
    if (is_known) {
        crn_encoder_pair_unsigned(encoder, key, ns > 0 ? (uint64_t)ns : 0);
        return;
    }
    crn_encoder_text(encoder, key);
    crn_encoder_null(encoder);
}

static void put_views(crn_encoder *encoder, const crn_timeline *timeline)
{
    crn_encoder_text(encoder, "views");
    crn_encoder_array(encoder, timeline->view_count);
    for (uint32_t i = 0; i < timeline->view_count; i++) {
        const crn_timeline_view *view = &timeline->views[i];
        crn_encoder_map(encoder, 7);
        crn_encoder_pair_unsigned(encoder, "view", view->said->view);
        crn_encoder_pair_text(encoder, "state", view->said->state);
        crn_encoder_pair_text(encoder, "reason", view->said->reason);
        crn_encoder_pair_text(encoder, "backend", view->said->backend);
        put_time(encoder, "received_ns", view->received, view->received_ns);
        put_time(encoder, "waited_ns", view->received, view->waited_ns);
        put_time(encoder, "ended_ns", view->began, view->ended_ns);
        crn_encoder_map_end(encoder);
    }
    crn_encoder_array_end(encoder);
}

static void put_parts(crn_encoder *encoder, const crn_parts *parts)
{
    crn_encoder_text(encoder, "parts_ms");
    crn_encoder_map(encoder, parts->count);
    for (uint32_t i = 0; i < parts->count; i++)
        crn_encoder_pair_real(encoder, parts->part[i].name, parts->part[i].ms);
    crn_encoder_map_end(encoder);
    crn_encoder_pair_real(encoder, "total_ms", parts->total_ms);
    crn_encoder_pair_real(encoder, "latency_ms", parts->latency_ms);
}

static void put_surroundings(crn_encoder *encoder, const crn_surroundings *around)
{
    bool any = around->longest_ms > 0;
    crn_encoder_text(encoder, "around");
    crn_encoder_map(encoder, any ? 8 : 6);
    put_time(encoder, "from_ns", true, around->from_ns);
    put_time(encoder, "to_ns", true, around->to_ns);
    crn_encoder_pair_unsigned(encoder, "waiting", around->waiting);
    crn_encoder_pair_unsigned(encoder, "running", around->running);
    crn_encoder_pair_unsigned(encoder, "open", around->open);
    crn_encoder_pair_real(encoder, "longest_ms", around->longest_ms);
    if (any) {
        crn_encoder_pair_unsigned(encoder, "longest_lane", around->longest_lane);
        crn_encoder_pair_unsigned(encoder, "longest_fruit", around->longest_fruit);
    }
    crn_encoder_map_end(encoder);
}

static void put_fruit(crn_encoder *encoder, const crn_chosen *fruit)
{
    const crn_decoded *verdict = fruit->verdict;
    char sentence[CRN_SENTENCE_BYTES];
    crn_sentence(&fruit->diagnosis, sentence);
    crn_encoder_map(encoder, 20);
    crn_encoder_pair_unsigned(encoder, "lane", verdict->lane);
    crn_encoder_pair_unsigned(encoder, "epoch", verdict->epoch);
    crn_encoder_pair_unsigned(encoder, "fruit", verdict->fruit);
    crn_encoder_pair_text(encoder, "run", verdict->run);
    crn_encoder_pair_unsigned(encoder, "sequence", verdict->sequence);
    crn_encoder_pair_text(encoder, "verdict", crn_verdict_kind_names[verdict->kind]);
    crn_encoder_pair_text(encoder, "cause", crn_cause_names[fruit->diagnosis.cause]);
    crn_encoder_pair_text(encoder, "why", sentence);
    crn_encoder_pair_bool(encoder, "exact", fruit->timeline.exact);
    put_time(encoder, "opened_ns", true, fruit->timeline.opened_ns);
    put_time(encoder, "closed_ns", true, fruit->timeline.closed_ns);
    crn_encoder_pair_text(encoder, "closed_by", verdict->closed_by);
    put_time(encoder, "published_ns", true, fruit->timeline.published_ns);
    put_time(encoder, "deadline_ns", true, fruit->timeline.deadline_ns);
    crn_encoder_pair_real(encoder, "budget_ms", verdict->budget_ms);
    put_parts(encoder, &fruit->parts);
    put_views(encoder, &fruit->timeline);
    put_surroundings(encoder, &fruit->diagnosis.around);
    crn_encoder_map_end(encoder);
}

int crn_waterfall_json(const crn_chosen *fruit, FILE *out)
{
    crn_encoder *encoder = NULL;
    int r = crn_encoder_create(CRN_FORMAT_JSON, &encoder);
    if (r < 0)
        return r;
    crn_encoder_begin(encoder);
    put_fruit(encoder, fruit);
    r = crn_encoder_print(encoder, out);
    crn_encoder_free(&encoder);
    return r;
}

#include "src/publish/verdict.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/verdict/fields.h"
#include "src/publish/packed_defects.h"
#include "src/publish/surface.h"
#include "src/publish/verdict_views.h"

#define STEP_NAME_BYTES 72

/* Totals over a fruit's results, which precede its defects in the message. */
typedef struct verdict_summary {
    uint64_t defects;
    uint32_t skipped; /* bit per step */
    bool truncated;
    crn_class_total totals[CRN_CLASSES_MAX];
} verdict_summary;

struct crn_verdict {
    const crn_config *start; /* for what no reload changes */
    /* Of the fruit that is packed: */
    const crn_config *config;
    char step_names[CRN_STAGES_MAX][STEP_NAME_BYTES];
    verdict_summary sum;
    bool is_packed;
    crn_packed_defects view; /* one view's defects, in the store */
};

/* Fruits on both sides of a reload may follow each other in any order. */
static void use_settings(crn_verdict *verdict, const crn_fruit *fruit)
{
    verdict->config = fruit->config ? fruit->config : verdict->start;
    for (int32_t i = 0; i < verdict->config->steps; i++)
        crn_config_step_name(verdict->config, i, verdict->step_names[i], STEP_NAME_BYTES);
}

int crn_verdict_create(const crn_config *config, crn_verdict **ret_verdict)
{
    crn_verdict *verdict = calloc(1, sizeof *verdict);
    if (!verdict)
        return -ENOMEM;
    verdict->start = config;
    *ret_verdict = verdict;
    return 0;
}

void crn_verdict_free(crn_verdict **verdict)
{
    if (!verdict || !*verdict)
        return;
    free(*verdict);
    *verdict = NULL;
}

static void add_view(const crn_packed_defects *view, verdict_summary *sum)
{
    sum->truncated |= view->truncated;
    sum->defects += view->count;
    for (uint32_t i = 0; i < view->total_count; i++) {
        crn_class_total *total = &sum->totals[view->totals[i].class_index];
        total->count += view->totals[i].count;
        total->area_px += view->totals[i].area_px;
    }
}

static void summarize(crn_verdict *verdict, const crn_fruit *fruit, const crn_verdict_facts *facts,
                      const crn_result_store *store)
{
    verdict_summary *sum = &verdict->sum;
    *sum = (verdict_summary){.truncated = facts->without_defects};
    for (int64_t v = 0; v < verdict->config->limits.views; v++) {
        const crn_fruit_view *view = &fruit->views[v];
        if (view->state != CRN_VIEW_JUDGED)
            continue;
        sum->skipped |= view->judgement.skipped;
        sum->truncated |= view->judgement.truncated;
        if (facts->without_defects)
            continue;
        crn_packed_defects_open(store, view->judgement.result, &verdict->view);
        add_view(&verdict->view, sum);
    }
}

const crn_class_total *crn_verdict_totals(const crn_verdict *verdict)
{
    return verdict->is_packed ? verdict->sum.totals : NULL;
}

crn_verdict_kind crn_verdict_facts_kind(const crn_verdict_facts *facts)
{
    bool cut = facts->without_defects && facts->kind == CRN_VERDICT_COMPLETE;
    return cut ? CRN_VERDICT_PARTIAL : facts->kind;
}

static void put_skipped(const crn_verdict *verdict, crn_encoder *encoder, uint32_t skipped,
                        bool surface)
{
    crn_encoder_text(encoder, CRN_KEY(verdict, skipped));
    crn_encoder_array(encoder, (uint32_t)__builtin_popcount(skipped) + surface);
    for (int32_t step = 0; step < verdict->config->steps; step++)
        if (skipped >> step & 1)
            crn_encoder_text(encoder, verdict->step_names[step]);
    if (surface)
        crn_encoder_text(encoder, CRN_KEY(verdict, surface));
    crn_encoder_array_end(encoder);
}

static void put_latency(const crn_verdict *verdict, crn_encoder *encoder, const crn_fruit *fruit,
                        const crn_verdict_facts *facts)
{
    int32_t steps = verdict->config->steps;
    crn_latency_parts parts;
    crn_latency_parts_of(verdict->config, fruit, facts->now_ns, &parts);
    crn_encoder_text(encoder, CRN_KEY(verdict, latency_ms));
    bool measures = crn_config_measures(verdict->config);
    crn_encoder_map(encoder, (uint32_t)steps + CRN_KEYS_time - (measures ? 0 : 2));
    crn_encoder_pair_ms(encoder, CRN_KEY(time, queue), parts.queue_ns);
    for (int32_t step = 0; step < steps; step++)
        crn_encoder_pair_ms(encoder, verdict->step_names[step], parts.stage_ns[step]);
    if (measures) {
        crn_encoder_pair_ms(encoder, CRN_KEY(time, pose), parts.pose_ns);
        crn_encoder_pair_ms(encoder, CRN_KEY(time, surface), parts.surface_ns);
    }
    crn_encoder_pair_ms(encoder, CRN_KEY(time, total), parts.total_ns);
    crn_encoder_map_end(encoder);
}

static void put_close(crn_encoder *encoder, const crn_fruit *fruit, int64_t now_ns)
{
    int64_t closed_ns = fruit->closed_ns < now_ns ? fruit->closed_ns : now_ns;
    crn_encoder_pair_ms(encoder, CRN_KEY(verdict, assembly_ms), closed_ns - fruit->opened_ns);
    crn_encoder_pair_text(encoder, CRN_KEY(verdict, closed_by),
                          crn_fruit_close_names[fruit->closed_by]);
}

/* Every class that was looked for has an entry: without one a class is unknown, not clean. */
static void put_totals(const crn_classes *classes, crn_encoder *encoder, const verdict_summary *sum)
{
    uint32_t outlined = 0;
    for (int32_t i = 0; i < classes->count; i++)
        outlined += !isnan(classes->level[i]);
    crn_encoder_text(encoder, CRN_KEY(verdict, totals));
    crn_encoder_map(encoder, outlined);
    for (int32_t i = 0; i < classes->count; i++) {
        if (isnan(classes->level[i]))
            continue;
        crn_encoder_text(encoder, classes->name[i]);
        crn_encoder_map(encoder, CRN_KEYS_total);
        crn_encoder_pair_unsigned(encoder, CRN_KEY(total, count), sum->totals[i].count);
        crn_encoder_pair_real(encoder, CRN_KEY(total, area_px), sum->totals[i].area_px);
        crn_encoder_pair_real(encoder, CRN_KEY(total, level), classes->level[i]);
        crn_encoder_map_end(encoder);
    }
    crn_encoder_map_end(encoder);
}

static void put_defects(crn_verdict *verdict, crn_encoder *encoder, const crn_fruit *fruit,
                        const crn_result_store *store, uint64_t count)
{
    uint64_t written = 0;
    crn_encoder_text(encoder, CRN_KEY(verdict, defects));
    crn_encoder_array(encoder, (uint32_t)count);
    for (uint32_t v = 0; written < count; v++) {
        if (fruit->views[v].state != CRN_VIEW_JUDGED)
            continue;
        crn_packed_defects_open(store, fruit->views[v].judgement.result, &verdict->view);
        crn_packed_defects_join(&verdict->view, written, encoder);
        written += verdict->view.count;
    }
    crn_encoder_array_end(encoder);
}

static void put_surface(crn_encoder *encoder, const crn_fruit_surface *surface)
{
    crn_format format = crn_encoder_format(encoder);
    crn_encoder_text(encoder, CRN_KEY(verdict, surface));
    if (!surface || !surface->bytes[format]) {
        crn_encoder_null(encoder);
        return;
    }
    (void)crn_encoder_gap(encoder);
    unsigned char *to = crn_encoder_piece(encoder, surface->sizes[format]);
    if (to)
        memcpy(to, surface->bytes[format], surface->sizes[format]);
}

/* By what it was judged, and the lot. */
static void put_names(const crn_verdict *verdict, crn_encoder *encoder, const crn_fruit *fruit,
                      const crn_verdict_facts *facts)
{
    char settings[17];
    snprintf(settings, sizeof settings, "%016" PRIx64, verdict->config->hash);
    crn_encoder_pair_unsigned(encoder, CRN_KEY(verdict, v), CRN_VERDICT_VERSION);
    crn_encoder_pair_text(encoder, CRN_KEY(verdict, run), facts->run);
    crn_encoder_pair_text(encoder, CRN_KEY(verdict, settings), settings);
    crn_encoder_pair_text(encoder, CRN_KEY(verdict, recipe), verdict->config->recipe);
    crn_encoder_pair_text(encoder, CRN_KEY(verdict, lot), fruit->lot);
}

int crn_verdict_pack(crn_verdict *verdict, crn_encoder *encoder, const crn_fruit *fruit,
                     const crn_verdict_facts *facts, const crn_result_store *store,
                     crn_verdict_bytes *ret_bytes)
{
    const verdict_summary *sum = &verdict->sum;
    use_settings(verdict, fruit);
    summarize(verdict, fruit, facts, store);
    crn_encoder_begin(encoder);
    bool measures = crn_config_measures(verdict->config);
    crn_encoder_map(encoder, CRN_KEYS_verdict_always + measures);
    put_names(verdict, encoder, fruit, facts);
    crn_encoder_pair_unsigned(encoder, CRN_KEY(verdict, lane), facts->lane);
    crn_encoder_pair_unsigned(encoder, CRN_KEY(verdict, epoch), fruit->epoch);
    crn_encoder_pair_unsigned(encoder, CRN_KEY(verdict, fruit), fruit->fruit);
    crn_encoder_pair_unsigned(encoder, CRN_KEY(verdict, sequence), facts->sequence);
    crn_encoder_text(encoder, CRN_KEY(verdict, stale));
    size_t stale_at = crn_encoder_later_bool(encoder);
    crn_encoder_pair_unsigned(encoder, CRN_KEY(verdict, encoder), fruit->encoder);
    crn_encoder_pair_unsigned(encoder, CRN_KEY(verdict, captured_ns), fruit->captured_ns);
    crn_encoder_pair_unsigned(encoder, CRN_KEY(verdict, published_ns), facts->published_ns);
    crn_encoder_pair_unsigned(encoder, CRN_KEY(verdict, deadline_ns),
                              facts->published_ns + (uint64_t)(fruit->deadline_ns - facts->now_ns));
    crn_encoder_pair_text(encoder, CRN_KEY(verdict, verdict),
                          crn_verdict_kind_names[crn_verdict_facts_kind(facts)]);
    crn_encoder_pair_unsigned(encoder, CRN_KEY(verdict, views_expected), fruit->expected);
    crn_encoder_pair_unsigned(encoder, CRN_KEY(verdict, views_received), fruit->received);
    crn_encoder_pair_unsigned(encoder, CRN_KEY(verdict, views_judged), fruit->judged);
    put_skipped(verdict, encoder, sum->skipped, fruit->surface_skipped);
    crn_encoder_pair_bool(encoder, CRN_KEY(verdict, truncated), sum->truncated);
    crn_encoder_pair_unsigned(encoder, CRN_KEY(verdict, budget_ms),
                              (uint64_t)verdict->config->latency.budget_ms);
    put_latency(verdict, encoder, fruit, facts);
    put_close(encoder, fruit, facts->now_ns);
    crn_view_states_emit(verdict->config, fruit, facts->now_ns, encoder);
    put_totals(&verdict->config->classes, encoder, sum);
    put_defects(verdict, encoder, fruit, store, facts->totals_only ? 0 : sum->defects);
    if (measures)
        put_surface(encoder, facts->without_defects ? NULL : fruit->surface);
    crn_encoder_map_end(encoder);
    int r = crn_encoder_end(encoder, &ret_bytes->bytes, &ret_bytes->size);
    verdict->is_packed = r == 0;
    if (r == 0)
        ret_bytes->stale_at = stale_at;
    return r;
}

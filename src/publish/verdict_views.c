#include "src/publish/verdict_views.h"

#include "src/formats/verdict/fields.h"
#include "src/publish/surface.h"
#include "stages/backend.h"

/* States as readers see them; a view that waits or runs when its fruit is judged is lost. */
static const char *const state_names[] = {
    [CRN_VIEW_ABSENT] = "missing",  [CRN_VIEW_ARRIVED] = "lost",  [CRN_VIEW_QUEUED] = "lost",
    [CRN_VIEW_RUNNING] = "lost",    [CRN_VIEW_JUDGED] = "judged", [CRN_VIEW_LOST] = "lost",
    [CRN_VIEW_REFUSED] = "refused",
};

static int64_t clamp(int64_t ns, int64_t max_ns)
{
    return ns < 0 ? 0 : ns < max_ns ? ns : max_ns;
}

static int64_t ended_ns(const crn_fruit_view *view)
{
    return view->received_ns + view->judgement.queue_ns + view->judgement.run_ns;
}

/* The judged view that ended last, or NULL. */
static const crn_fruit_view *last_judged(const crn_config *config, const crn_fruit *fruit)
{
    const crn_fruit_view *last = NULL;
    for (int64_t v = 0; v < config->limits.views; v++) {
        const crn_fruit_view *view = &fruit->views[v];
        if (view->state == CRN_VIEW_JUDGED && (!last || ended_ns(view) > ended_ns(last)))
            last = view;
    }
    return last;
}

void crn_latency_parts_of(const crn_config *config, const crn_fruit *fruit, int64_t now_ns,
                          crn_latency_parts *ret_parts)
{
    crn_latency_parts parts = {.total_ns = crn_fruit_latency_ns(fruit, now_ns)};
    const crn_fruit_view *last = last_judged(config, fruit);
    if (last) {
        const crn_judgement *judgement = &last->judgement;
        int64_t left_ns = clamp(ended_ns(last) - fruit->closed_ns, parts.total_ns);
        int64_t waits_ns = judgement->run_ns;
        if (fruit->surface)
            parts.surface_ns = clamp(fruit->surface->took_ns, parts.total_ns - left_ns);
        parts.pose_ns = clamp(judgement->pose_ns, left_ns);
        left_ns -= parts.pose_ns;
        waits_ns -= judgement->pose_ns;
        for (int32_t step = config->steps - 1; step >= 0; step--) {
            parts.stage_ns[step] = clamp(judgement->stage_ns[step], left_ns);
            left_ns -= parts.stage_ns[step];
            waits_ns -= judgement->stage_ns[step];
        }
        left_ns -= clamp(waits_ns, left_ns);
        parts.queue_ns = clamp(judgement->queue_ns, left_ns);
    }
    *ret_parts = parts;
}

static const char *reason_of(const crn_fruit_view *view)
{
    crn_view_reason reason = crn_fruit_view_reason(view);
    if (reason)
        return crn_view_reason_names[reason];
    if (view->state == CRN_VIEW_JUDGED)
        return view->judgement.truncated ? "truncated" : view->judgement.skipped ? "skipped" : "";
    return view->state == CRN_VIEW_REFUSED ? crn_refusal_name(view->refusal) : "";
}

static void emit_nothing(crn_encoder *encoder, const char *key)
{
    crn_encoder_text(encoder, key);
    crn_encoder_null(encoder);
}

/* Time until which a view that was not judged waited or ran. */
static int64_t given_up_ns(const crn_fruit_view *view, int64_t now_ns)
{
    return view->state == CRN_VIEW_LOST ? view->lost_ns : now_ns;
}

static void emit_times(const crn_fruit *fruit, const crn_fruit_view *view, int64_t now_ns,
                       crn_encoder *encoder)
{
    crn_encoder_pair_ms(encoder, CRN_KEY(view, received_ms), view->received_ns - fruit->opened_ns);
    if (view->state == CRN_VIEW_JUDGED) {
        crn_encoder_pair_ms(encoder, CRN_KEY(view, queue_ms), view->judgement.queue_ns);
        crn_encoder_pair_ms(encoder, CRN_KEY(view, run_ms), view->judgement.run_ns);
        return;
    }
    int64_t until_ns = given_up_ns(view, now_ns);
    crn_encoder_pair_ms(encoder, CRN_KEY(view, queue_ms),
                        (view->begun_ns ? view->begun_ns : until_ns) - view->received_ns);
    if (view->begun_ns)
        crn_encoder_pair_ms(encoder, CRN_KEY(view, run_ms), until_ns - view->begun_ns);
    else
        emit_nothing(encoder, CRN_KEY(view, run_ms));
}

static const char *backend_of(const crn_config *config, const crn_fruit_view *view)
{
    if (view->state != CRN_VIEW_JUDGED)
        return "";
    if (view->judgement.on_device)
        return crn_backend_names[CRN_BACKEND_CUDA];
    bool serial = config->run.backend == CRN_BACKEND_SERIAL;
    return crn_backend_names[serial ? CRN_BACKEND_SERIAL : CRN_BACKEND_OPENMP];
}

static void emit_values(const crn_config *config, const crn_value_fault *values,
                        crn_encoder *encoder)
{
    int32_t class = values->class_index;
    bool of_a_class = class >= 0 && class < config->classes.count;
    crn_encoder_pair_text(encoder, CRN_KEY(view, class),
                          of_a_class ? config->classes.name[class] : "");
    crn_encoder_pair_unsigned(encoder, CRN_KEY(view, count), values->count);
}

static void emit_view(const crn_config *config, const crn_fruit *fruit, int64_t number,
                      int64_t now_ns, crn_encoder *encoder)
{
    const crn_fruit_view *view = &fruit->views[number];
    bool values = view->state == CRN_VIEW_JUDGED && view->values.reason;
    crn_encoder_map(encoder, values ? CRN_KEYS_view : CRN_KEYS_view_always);
    crn_encoder_pair_unsigned(encoder, CRN_KEY(view, view), (uint64_t)number);
    crn_encoder_pair_text(encoder, CRN_KEY(view, state), state_names[view->state]);
    crn_encoder_pair_text(encoder, CRN_KEY(view, reason), reason_of(view));
    if (crn_fruit_view_is_received(view)) {
        crn_encoder_pair_unsigned(encoder, CRN_KEY(view, captured_ns), view->captured_ns);
        crn_encoder_pair_unsigned(encoder, CRN_KEY(view, encoder), view->encoder);
        emit_times(fruit, view, now_ns, encoder);
    } else {
        for (int key = CRN_KEY_view_captured_ns; key <= CRN_KEY_view_run_ms; key++)
            emit_nothing(encoder, crn_view_fields[key].key);
    }
    crn_encoder_pair_text(encoder, CRN_KEY(view, backend), backend_of(config, view));
    if (values)
        emit_values(config, &view->values, encoder);
    crn_encoder_map_end(encoder);
}

/* True if the view with that index has an entry. */
static bool is_listed(const crn_fruit *fruit, int64_t number)
{
    return number < fruit->expected || fruit->views[number].state != CRN_VIEW_ABSENT;
}

void crn_view_states_emit(const crn_config *config, const crn_fruit *fruit, int64_t now_ns,
                          crn_encoder *encoder)
{
    uint32_t listed = 0;
    for (int64_t v = 0; v < config->limits.views; v++)
        listed += is_listed(fruit, v);
    crn_encoder_text(encoder, CRN_KEY(verdict, view_states));
    crn_encoder_array(encoder, listed);
    for (int64_t v = 0; v < config->limits.views; v++)
        if (is_listed(fruit, v))
            emit_view(config, fruit, v, now_ns, encoder);
    crn_encoder_array_end(encoder);
}

/* The verdict's view states and reasons, and its latencies. */
#include "tests/unit/publish/verdict_bench.h"

#include "src/publish/verdict_views.h"
#include "tests/support/random.h"

#define MS     CRN_NS_PER_MS
#define OPENED (4 * CRN_NS_PER_S)        /* the fixture's fruit */
#define CLOSED (5 * CRN_NS_PER_S)        /* the same */
#define NOW    (CLOSED + 31250000)       /* when it is packed */
#define CLASS  f->config.classes.name[1] /* with a level */

/* Marks view `index` received so long after the fruit was opened. */
static crn_fruit_view *receive(verdict_fixture *f, uint32_t index, int64_t after_ns)
{
    crn_fruit_view *view = &f->views[index];
    *view = (crn_fruit_view){.state = CRN_VIEW_QUEUED,
                             .captured_ns = 77000 + index,
                             .encoder = UINT64_MAX - index,
                             .received_ns = OPENED + after_ns};
    f->fruit.received++;
    return view;
}

static const msgpack_object *state_of(const verdict_fixture *f, uint32_t place)
{
    return crn_decoded_item(crn_decoded_field(&f->unpacked.data, "view_states"), place);
}

static void expect_view(const verdict_fixture *f, uint32_t place, uint64_t view, const char *state,
                        const char *reason)
{
    static const char *const keys[] = {"view",        "state",   "reason",
                                       "captured_ns", "encoder", "received_ms",
                                       "queue_ms",    "run_ms",  "backend"};
    const msgpack_object *map = state_of(f, place);
    crn_expect_keys(map, keys, sizeof keys / sizeof *keys);
    crn_expect_unsigned(crn_decoded_field(map, "view"), view);
    crn_expect_text(crn_decoded_field(map, "state"), state);
    crn_expect_text(crn_decoded_field(map, "reason"), reason);
}

/* NAN stands for null. */
static void expect_ms(const msgpack_object *map, const char *key, double ms)
{
    if (isnan(ms))
        assert_int_equal(crn_decoded_field(map, key)->type, MSGPACK_OBJECT_NIL);
    else
        crn_expect_real(crn_decoded_field(map, key), ms);
}

static void expect_times(const verdict_fixture *f, uint32_t place, double received_ms,
                         double queue_ms, double run_ms, const char *backend)
{
    const msgpack_object *map = state_of(f, place);
    expect_ms(map, "received_ms", received_ms);
    expect_ms(map, "queue_ms", queue_ms);
    expect_ms(map, "run_ms", run_ms);
    crn_expect_text(crn_decoded_field(map, "backend"), backend);
}

static void test_judged_views(void **state)
{
    verdict_fixture *f = *state;
    f->config.run.backend = CRN_BACKEND_AUTO;
    for (uint32_t v = 0; v < CRN_VERDICT_VIEWS; v++) {
        crn_fruit_view *view = receive(f, v, v * 10 * MS);
        view->judgement = (crn_judgement){.queue_ns = 250000, .run_ns = 3 * MS + v, .cost_ns = 1};
        view->begun_ns = view->received_ns + 1; /* the time of submission does not count */
        judge(f, v, NULL, 0, 0);
    }
    f->fruit.received = CRN_VERDICT_VIEWS;
    f->views[1].judgement.skipped = 2;
    f->views[1].judgement.on_device = true;
    f->views[2].judgement.skipped = 2;
    f->views[2].judgement.truncated = true;
    pack(f);
    crn_expect_items(crn_decoded_field(&f->unpacked.data, "view_states"), CRN_VERDICT_VIEWS);
    static const char *const reasons[CRN_VERDICT_VIEWS] = {"", "skipped", "truncated", ""};
    for (uint32_t v = 0; v < CRN_VERDICT_VIEWS; v++) {
        expect_view(f, v, v, "judged", reasons[v]);
        crn_expect_unsigned(crn_decoded_field(state_of(f, v), "captured_ns"), 77000 + v);
        crn_expect_unsigned(crn_decoded_field(state_of(f, v), "encoder"), UINT64_MAX - v);
        expect_times(f, v, v * 10.0, 0.25, (double)(3 * MS + v) / MS, v == 1 ? "cuda" : "openmp");
    }
    crn_expect_same(&f->unpacked.data, f->tree);
    f->config.run.backend = CRN_BACKEND_SERIAL;
    pack(f);
    expect_times(f, 0, 0, 0.25, 3, "serial");
}

static void test_lost_and_missing_views(void **state)
{
    verdict_fixture *f = *state;
    crn_fruit_view *view = receive(f, 0, 0); /* still waits */
    view = receive(f, 1, 20 * MS);           /* still runs */
    view->state = CRN_VIEW_RUNNING;
    view->begun_ns = OPENED + 50 * MS;
    view = receive(f, 3, 30 * MS);
    view->state = CRN_VIEW_ARRIVED;
    pack(f);
    crn_expect_items(crn_decoded_field(&f->unpacked.data, "view_states"), CRN_VERDICT_VIEWS);
    expect_view(f, 0, 0, "lost", "discarded");
    expect_times(f, 0, 0, 1031.25, NAN, "");
    expect_view(f, 1, 1, "lost", "unfinished");
    expect_times(f, 1, 20, 30, 981.25, "");
    expect_view(f, 2, 2, "missing", "");
    expect_times(f, 2, NAN, NAN, NAN, "");
    assert_int_equal(crn_decoded_field(state_of(f, 2), "captured_ns")->type, MSGPACK_OBJECT_NIL);
    assert_int_equal(crn_decoded_field(state_of(f, 2), "encoder")->type, MSGPACK_OBJECT_NIL);
    expect_view(f, 3, 3, "lost", "no_slot");
    crn_expect_same(&f->unpacked.data, f->tree);
}

static void test_every_reason_of_a_loss(void **state)
{
    verdict_fixture *f = *state;
    static const char *const names[] = {[CRN_REASON_NO_SLOT] = "no_slot",
                                        [CRN_REASON_DISCARDED] = "discarded",
                                        [CRN_REASON_UNFINISHED] = "unfinished",
                                        [CRN_REASON_FAILED] = "failed",
                                        [CRN_REASON_DEVICE_LOST] = "device_lost"};
    for (int reason = CRN_REASON_NO_SLOT; reason <= CRN_REASON_DEVICE_LOST; reason++) {
        bool ran = reason >= CRN_REASON_UNFINISHED;
        crn_fruit_view *view = receive(f, 0, 5 * MS);
        view->state = CRN_VIEW_LOST;
        view->reason = (crn_view_reason)reason;
        view->begun_ns = ran ? OPENED + 7 * MS : 0;
        view->lost_ns = OPENED + 10 * MS;
        pack(f);
        expect_view(f, 0, 0, "lost", names[reason]);
        expect_times(f, 0, 5, ran ? 2 : 5, ran ? 3 : NAN, "");
    }
}

static void test_refused_views(void **state)
{
    verdict_fixture *f = *state;
    f->views[3].state = CRN_VIEW_REFUSED;
    f->views[3].refusal = CRN_REFUSAL_VIEWS_MISMATCH;
    f->views[1].state = CRN_VIEW_REFUSED;
    f->views[1].refusal = (crn_refusal)CRN_WIRE_CLASS_SET;
    pack(f);
    expect_view(f, 1, 1, "refused", "class_set");
    expect_times(f, 1, NAN, NAN, NAN, "");
    expect_view(f, 3, 3, "refused", "views_mismatch");
    f->fruit.expected = 0;
    pack(f);
    crn_expect_items(crn_decoded_field(&f->unpacked.data, "view_states"), 2);
    expect_view(f, 1, 3, "refused", "views_mismatch");
    crn_expect_same(&f->unpacked.data, f->tree);
}

static void test_where_the_number_of_views_is_unknown(void **state)
{
    verdict_fixture *f = *state;
    f->fruit.expected = 0;
    receive(f, 2, 0);
    pack(f);
    crn_expect_items(crn_decoded_field(&f->unpacked.data, "view_states"), 1);
    expect_view(f, 0, 2, "lost", "discarded");
    f->fruit.expected = 3; /* fewer than the line's maximum */
    pack(f);
    crn_expect_items(crn_decoded_field(&f->unpacked.data, "view_states"), 3);
    expect_view(f, 2, 2, "lost", "discarded");
}

static void expect_values(const verdict_fixture *f, const char *reason, const char *class,
                          uint64_t count)
{
    static const char *const keys[] = {"view",    "state",       "reason",   "captured_ns",
                                       "encoder", "received_ms", "queue_ms", "run_ms",
                                       "backend", "class",       "count"};
    const msgpack_object *map = state_of(f, 0);
    crn_expect_keys(map, keys, sizeof keys / sizeof *keys);
    crn_expect_text(crn_decoded_field(map, "reason"), reason);
    crn_expect_text(crn_decoded_field(map, "class"), class);
    crn_expect_unsigned(crn_decoded_field(map, "count"), count);
    crn_expect_same(&f->unpacked.data, f->tree);
}

/* They are listed first, because finding nothing then means little. */
static void test_faults_of_values(void **state)
{
    verdict_fixture *f = *state;
    receive(f, 0, 0);
    judge(f, 0, NULL, 0, 0);
    f->views[0].judgement.truncated = true;
    f->views[0].values = (crn_value_fault){CRN_REASON_NOT_FINITE, 1, 48545};
    pack(f);
    expect_values(f, "not_finite", CLASS, 48545);
    f->views[0].values = (crn_value_fault){CRN_REASON_OUT_OF_RANGE, 3, UINT64_MAX};
    pack(f);
    expect_values(f, "out_of_range", f->config.classes.name[3], UINT64_MAX);
    f->views[0].values = (crn_value_fault){CRN_REASON_MASK_VALUES, -1, 7};
    pack(f);
    expect_values(f, "mask_values", "", 7);
    f->views[0].values = (crn_value_fault){CRN_REASON_DIVIDED, -1, 64};
    pack(f);
    expect_values(f, "divided_by_255", "", 64);
    f->views[0].state = CRN_VIEW_LOST; /* diagnosed, but never judged */
    f->views[0].reason = CRN_REASON_FAILED;
    pack(f);
    expect_view(f, 0, 0, "lost", "failed");
}

/* --- latencies --- */

/* Marks a view judged that waited so long and ran through steps with these times. */
static void time_view(verdict_fixture *f, uint32_t index, int64_t received_ns, int64_t queue_ns,
                      int64_t waits_ns, const int64_t stage_ns[4])
{
    crn_judgement judgement = {.queue_ns = queue_ns, .run_ns = waits_ns};
    for (int i = 0; i < 4; i++)
        judgement.run_ns += judgement.stage_ns[i] = stage_ns[i];
    judgement.result = CRN_RESULT_NONE;
    f->views[index] = (crn_fruit_view){
        .state = CRN_VIEW_JUDGED, .received_ns = received_ns, .judgement = judgement};
}

static void expect_latency(verdict_fixture *f, const double ms[6])
{
    static const char *const keys[] = {"queue",        "morphology", "convolve",
                                       "morphology_2", "contours",   "total"};
    pack(f);
    const msgpack_object *latency = crn_decoded_field(&f->unpacked.data, "latency_ms");
    crn_expect_keys(latency, keys, 6);
    for (int i = 0; i < 6; i++)
        crn_expect_real(crn_decoded_field(latency, keys[i]), ms[i]);
    crn_expect_same(&f->unpacked.data, f->tree);
}

static void test_latencies_count_from_the_close(void **state)
{
    verdict_fixture *f = *state;
    static const int64_t steps[4] = {4 * MS, 1 * MS, 0, 8 * MS};
    time_view(f, 2, CLOSED, 1500000, 2 * MS, steps);
    expect_latency(f, (double[]){1.5, 4, 1, 0, 8, 31.25});
    /* It waited for 100 ms, all but the last 1.5 ms before the fruit closed. */
    time_view(f, 2, CLOSED - 100 * MS + 1500000, 100 * MS, 2 * MS, steps);
    expect_latency(f, (double[]){1.5, 4, 1, 0, 8, 31.25});
    /* The fruit closed during its first step, */
    time_view(f, 2, CLOSED - 4 * MS, 1 * MS, 2 * MS, steps);
    expect_latency(f, (double[]){0, 3, 1, 0, 8, 31.25});
    /* in its last one, after its end, */
    time_view(f, 2, CLOSED - 14 * MS, 1 * MS, 0, steps);
    expect_latency(f, (double[]){0, 0, 0, 0, 0, 31.25});
    time_view(f, 2, CLOSED - 10 * MS, 1 * MS, 0, steps);
    expect_latency(f, (double[]){0, 0, 0, 0, 4, 31.25});
    time_view(f, 2, CLOSED - CRN_NS_PER_S, 1 * MS, 0, steps);
    expect_latency(f, (double[]){0, 0, 0, 0, 0, 31.25});
    f->fruit.closed_ns = CRN_NEVER_NS; /* judged before it closed */
    expect_latency(f, (double[]){0, 0, 0, 0, 0, 0});
}

static void test_the_view_that_ended_last_counts(void **state)
{
    verdict_fixture *f = *state;
    static const int64_t first[4] = {1 * MS, 0, 0, 9 * MS}, last[4] = {2 * MS, 0, 0, 3 * MS};
    time_view(f, 0, CLOSED - 2 * MS, 3 * MS, 0, first);
    time_view(f, 3, CLOSED, 7 * MS, 0, last);
    time_view(f, 1, CLOSED, 9 * CRN_NS_PER_S, 0, last); /* not judged: does not count */
    f->views[1].state = CRN_VIEW_LOST;
    expect_latency(f, (double[]){7, 2, 0, 0, 3, 31.25});
    f->views[3].state = CRN_VIEW_LOST;
    expect_latency(f, (double[]){1, 1, 0, 0, 9, 31.25});
    f->views[0].state = CRN_VIEW_LOST;
    expect_latency(f, (double[]){0, 0, 0, 0, 0, 31.25});
}

/* Length of the intersection of [from, to] and [CLOSED, NOW]. */
static int64_t after_close(int64_t from_ns, int64_t to_ns)
{
    from_ns = from_ns < CLOSED ? CLOSED : from_ns;
    to_ns = to_ns > NOW ? NOW : to_ns;
    return to_ns > from_ns ? to_ns - from_ns : 0;
}

static int64_t end_of(const crn_fruit_view *view)
{
    return view->received_ns + view->judgement.queue_ns + view->judgement.run_ns;
}

/* Random timelines that end within 60 ms before the verdict; returns the one that must count. */
static const crn_fruit_view *draw_views(verdict_fixture *f, crn_random *random)
{
    const crn_fruit_view *last = NULL;
    for (uint32_t v = 0; v < CRN_VERDICT_VIEWS; v++) {
        uint32_t spread = 1 + crn_random_below(random, 60 * MS);
        int64_t stage_ns[4];
        for (int i = 0; i < 4; i++)
            stage_ns[i] = crn_random_once_in(random, 3) ? 0 : crn_random_below(random, spread);
        crn_fruit_view *view = &f->views[v];
        time_view(f, v, 0, crn_random_below(random, spread), crn_random_below(random, spread),
                  stage_ns);
        view->received_ns = NOW - crn_random_below(random, 60 * MS) - end_of(view);
        if (crn_random_once_in(random, 5))
            view->state = CRN_VIEW_LOST;
        else if (!last || end_of(view) > end_of(last))
            last = view;
    }
    return last;
}

/* For any timelines that ended before the verdict, the parts follow the definition, and their sum
 * never exceeds the total. */
static void test_parts_never_exceed_the_total(void **state)
{
    verdict_fixture *f = *state;
    crn_random random = {crn_random_seed()};
    uint32_t cases = crn_random_cases(5000);
    for (uint32_t i = 0; i < cases; i++) {
        const crn_fruit_view *last = draw_views(f, &random);
        crn_latency_parts parts;
        crn_latency_parts_of(&f->config, &f->fruit, NOW, &parts);
        int64_t sum_ns = parts.queue_ns, end_ns = last ? end_of(last) : 0;
        for (int step = 3; step >= 0; step--) {
            int64_t begin_ns = last ? end_ns - last->judgement.stage_ns[step] : 0;
            assert_int_equal(parts.stage_ns[step], last ? after_close(begin_ns, end_ns) : 0);
            sum_ns += parts.stage_ns[step];
            end_ns = begin_ns;
        }
        if (last)
            assert_int_equal(
                parts.queue_ns,
                after_close(last->received_ns, last->received_ns + last->judgement.queue_ns));
        assert_int_equal(parts.total_ns, NOW - CLOSED);
        assert_true(sum_ns <= parts.total_ns);
    }
}

/* A device's clock is not the CPU's: steps may seem longer than the run. */
static void test_parts_of_clocks_that_disagree(void **state)
{
    verdict_fixture *f = *state;
    static const int64_t steps[4] = {20 * MS, 1 * MS, 0, 40 * MS};
    time_view(f, 0, CLOSED, 30 * MS, 0, steps);
    f->views[0].judgement.run_ns = 5 * MS;
    f->views[0].received_ns = NOW + 1 - 35 * MS;
    crn_latency_parts parts;
    crn_latency_parts_of(&f->config, &f->fruit, NOW, &parts);
    assert_int_equal(parts.stage_ns[3], NOW - CLOSED);
    assert_int_equal(parts.stage_ns[0] + parts.stage_ns[1] + parts.queue_ns, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CRN_ON_VERDICT(test_judged_views),
        CRN_ON_VERDICT(test_lost_and_missing_views),
        CRN_ON_VERDICT(test_every_reason_of_a_loss),
        CRN_ON_VERDICT(test_refused_views),
        CRN_ON_VERDICT(test_where_the_number_of_views_is_unknown),
        CRN_ON_VERDICT(test_faults_of_values),
        CRN_ON_VERDICT(test_latencies_count_from_the_close),
        CRN_ON_VERDICT(test_the_view_that_ended_last_counts),
        CRN_ON_VERDICT(test_parts_never_exceed_the_total),
        CRN_ON_VERDICT(test_parts_of_clocks_that_disagree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

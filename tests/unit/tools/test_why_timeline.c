/* Views placed in time from a verdict alone, and the sums (tools/why/cause/timeline.h): compared
 * with the fruits that the verdicts were packed from. */
#include "tests/support/random.h"
#include "tests/unit/publish/verdict_bench.h"
#include "tools/why/cause/timeline.h"
#include "tools/why/output/waterfall.h"

#define MS  CRN_NS_PER_MS
#define NOW (20 * CRN_NS_PER_S)

static void draw_judgement(crn_random *random, int64_t spread_ns, crn_judgement *ret_judgement)
{
    crn_judgement judgement = {.queue_ns = crn_random_below(random, (uint32_t)spread_ns),
                               .run_ns = crn_random_below(random, (uint32_t)spread_ns),
                               .result = CRN_RESULT_NONE};
    for (int i = 0; i < 4; i++)
        judgement.run_ns += judgement.stage_ns[i] =
            crn_random_once_in(random, 3) ? 0 : crn_random_below(random, (uint32_t)spread_ns);
    *ret_judgement = judgement;
}

static void draw_view(crn_random *random, int64_t opened_ns, int64_t life_ns, crn_fruit_view *view)
{
    static const crn_view_state states[] = {CRN_VIEW_ABSENT, CRN_VIEW_QUEUED, CRN_VIEW_RUNNING,
                                            CRN_VIEW_JUDGED, CRN_VIEW_JUDGED, CRN_VIEW_LOST};
    int64_t after_ns = crn_random_below(random, (uint32_t)life_ns);
    int64_t left_ns = life_ns - after_ns;
    *view = (crn_fruit_view){.state = states[crn_random_below(random, 6)],
                             .reason = CRN_REASON_DISCARDED,
                             .received_ns = opened_ns + after_ns};
    if (view->state == CRN_VIEW_RUNNING)
        view->begun_ns = view->received_ns + crn_random_below(random, (uint32_t)left_ns);
    if (view->state == CRN_VIEW_LOST)
        view->lost_ns = view->received_ns + crn_random_below(random, (uint32_t)left_ns);
    if (view->state == CRN_VIEW_JUDGED)
        draw_judgement(random, left_ns / 8 + 1, &view->judgement);
}

/* A fruit of random views, all within its life. */
static void draw_fruit(verdict_fixture *f, crn_random *random)
{
    int64_t life_ns = 1 + crn_random_below(random, 1000 * MS);
    f->facts.now_ns = NOW;
    f->fruit.opened_ns = NOW - life_ns;
    f->fruit.closed_ns = NOW - crn_random_below(random, (uint32_t)life_ns);
    f->fruit.deadline_ns = f->fruit.closed_ns + crn_random_below(random, 200 * MS);
    f->fruit.received = f->fruit.judged = 0;
    for (uint32_t v = 0; v < CRN_VERDICT_VIEWS; v++) {
        draw_view(random, f->fruit.opened_ns, life_ns, &f->views[v]);
        f->fruit.received += f->views[v].state != CRN_VIEW_ABSENT;
        f->fruit.judged += f->views[v].state == CRN_VIEW_JUDGED;
    }
    f->facts.kind = crn_fruit_verdict(&f->fruit);
}

static crn_decoded *decode_as(verdict_fixture *f, crn_format format)
{
    crn_verdict_bytes packed;
    crn_messagepack_json tree;
    crn_decoded *decoded = NULL;
    crn_error error = {""};
    pack_as(f, format, &packed);
    assert_int_equal(crn_messagepack_json_init(&tree, packed.bytes, packed.size, &error), 0);
    assert_int_equal(crn_decode_head(&tree, &decoded, &error), 0);
    crn_messagepack_json_done(&tree);
    return decoded;
}

/* Asserts that a time on CLOCK_REALTIME is that one on CLOCK_MONOTONIC, to rounding. */
static void expect_time(const verdict_fixture *f, int64_t placed_ns, int64_t truth_ns)
{
    int64_t expected_ns = (int64_t)f->facts.published_ns + truth_ns - f->facts.now_ns;
    if (llabs(placed_ns - expected_ns) > 2)
        fail_msg("%" PRId64 " ns off", placed_ns - expected_ns);
}

static void expect_view_times(const verdict_fixture *f, const crn_timeline_view *placed,
                              const crn_fruit_view *view)
{
    assert_int_equal(placed->received, view->state != CRN_VIEW_ABSENT);
    if (!placed->received)
        return;
    const crn_judgement *judgement = &view->judgement;
    bool judged = view->state == CRN_VIEW_JUDGED, running = view->state == CRN_VIEW_RUNNING;
    int64_t waited_ns = judged                         ? view->received_ns + judgement->queue_ns
                        : running                      ? view->begun_ns
                        : view->state == CRN_VIEW_LOST ? view->lost_ns
                                                       : NOW;
    int64_t ended_ns = judged ? waited_ns + judgement->run_ns : running ? NOW : waited_ns;
    assert_int_equal(placed->began, judged || running);
    expect_time(f, placed->received_ns, view->received_ns);
    expect_time(f, placed->waited_ns, waited_ns);
    expect_time(f, placed->ended_ns, ended_ns);
}

static void expect_sums(const verdict_fixture *f, const crn_parts *parts)
{
    double sum_ms = 0, whole_ms = crn_timeline_ms(NOW - f->fruit.opened_ns);
    for (uint32_t i = 0; i < parts->count; i++) {
        assert_true(parts->part[i].ms >= 0);
        sum_ms += parts->part[i].ms;
    }
    assert_int_equal(parts->count, 8);
    assert_true(fabs(parts->total_ms - whole_ms) <= 1e-5);
    assert_true(fabs(parts->latency_ms - crn_timeline_ms(NOW - f->fruit.closed_ns)) <= 1e-5);
    if (fabs(sum_ms - whole_ms) > 0.01 * whole_ms)
        fail_msg("the parts sum up to %g of %g ms", sum_ms, whole_ms);
}

static void any_fruit_is_placed_and_adds_up(void **state)
{
    verdict_fixture *f = *state;
    crn_random random = {crn_random_seed()};
    uint32_t cases = crn_random_cases(2000);
    for (uint32_t i = 0; i < cases; i++) {
        draw_fruit(f, &random);
        crn_decoded *verdict = decode_as(f, i % 2 ? CRN_FORMAT_JSON : CRN_FORMAT_MSGPACK);
        crn_timeline timeline;
        crn_parts parts;
        crn_timeline_place(verdict, &timeline);
        crn_parts_of(verdict, &timeline, &parts);
        assert_true(timeline.exact);
        expect_time(f, timeline.opened_ns, f->fruit.opened_ns);
        expect_time(f, timeline.closed_ns, f->fruit.closed_ns);
        expect_time(f, timeline.deadline_ns, f->fruit.deadline_ns);
        assert_int_equal(timeline.view_count, CRN_VERDICT_VIEWS);
        for (uint32_t v = 0; v < CRN_VERDICT_VIEWS; v++)
            expect_view_times(f, &timeline.views[v], &f->views[v]);
        expect_sums(f, &parts);
        crn_decoded_free(&verdict);
    }
}

/* Without assembly_ms the first reception is the latest that its views allow. */
static void an_older_verdict_is_placed_roughly(void **state)
{
    verdict_fixture *f = *state;
    crn_random random = {crn_random_seed()};
    for (uint32_t i = 0; i < 100; i++) {
        draw_fruit(f, &random);
        crn_decoded *verdict = decode_as(f, CRN_FORMAT_MSGPACK);
        verdict->assembly_ms = NAN;
        crn_timeline timeline;
        crn_timeline_place(verdict, &timeline);
        assert_false(timeline.exact);
        assert_true(timeline.opened_ns <= timeline.closed_ns);
        for (uint32_t v = 0; v < CRN_VERDICT_VIEWS; v++)
            assert_true(timeline.views[v].ended_ns <= timeline.published_ns + 2);
        crn_decoded_free(&verdict);
    }
}

/* The union follows the end of the last view: it is no part of what came after it. */
static void a_measured_fruit_has_its_pose_and_its_union(void **state)
{
    (void)state;
    static const struct {
        crn_part_kind kind;
        double ms;
    } expected[] = {{CRN_PART_ASSEMBLY, 50}, {CRN_PART_QUEUE, 5},    {CRN_PART_STEP, 20},
                    {CRN_PART_POSE, 4},      {CRN_PART_SURFACE, 30}, {CRN_PART_WAITS, 6},
                    {CRN_PART_END, 35}};
    const crn_decoded verdict = {
        .published_ns = 10 * (uint64_t)CRN_NS_PER_S,
        .total_ms = 100,
        .assembly_ms = 50,
        .time_count = 5,
        .times = {{"queue", 5}, {"contours", 20}, {"pose", 4}, {"surface", 30}, {"total", 100}},
        .view_count = 1,
        .views = {{.state = "judged", .received_ms = 50, .queue_ms = 5, .run_ms = 30}}};
    crn_timeline timeline;
    crn_parts parts;
    crn_timeline_place(&verdict, &timeline);
    crn_parts_of(&verdict, &timeline, &parts);
    assert_int_equal(parts.count, 7);
    for (uint32_t i = 0; i < parts.count; i++) {
        assert_int_equal(parts.part[i].kind, expected[i].kind);
        assert_true(fabs(parts.part[i].ms - expected[i].ms) < 1e-6);
    }
}

static void expect_clamped(double assembly_ms)
{
    crn_decoded verdict = {
        .published_ns = UINT64_MAX,
        .deadline_ns = UINT64_MAX,
        .total_ms = 1e300,
        .assembly_ms = assembly_ms,
        .view_count = 1,
        .views = {{.state = "judged", .received_ms = 1e300, .queue_ms = -1e300, .run_ms = NAN}}};
    crn_timeline timeline;
    crn_parts parts;
    char bar[CRN_BAR_COLUMNS + 1];
    crn_timeline_place(&verdict, &timeline);
    crn_parts_of(&verdict, &timeline, &parts);
    crn_waterfall_bar(&timeline, &timeline.views[0], bar);
    assert_int_equal(strlen(bar), CRN_BAR_COLUMNS);
    assert_true(timeline.opened_ns <= timeline.published_ns);
    assert_true(parts.total_ms >= 0 && parts.total_ms <= 2e9);
}

static void nonsense_is_clamped(void **state)
{
    (void)state;
    static const double nonsense[] = {1e300, -1e300, -INFINITY, NAN};
    for (int i = 0; i < 4; i++)
        expect_clamped(nonsense[i]);
}

static void bars_show_what_a_view_did(void **state)
{
    (void)state;
    crn_decoded verdict = {
        .published_ns = 10 * (uint64_t)CRN_NS_PER_S,
        .total_ms = 140,
        .assembly_ms = 140,
        .view_count = 4,
        .views = {{.state = "judged", .received_ms = 0, .queue_ms = 50, .run_ms = 100},
                  {.state = "lost", .received_ms = 140, .queue_ms = 0, .run_ms = NAN},
                  {.state = "lost", .received_ms = 70, .queue_ms = 70, .run_ms = NAN},
                  {.state = "missing", .received_ms = NAN, .queue_ms = NAN, .run_ms = NAN}}};
    static const char *const bars[] = {
        "-----###########            ",
        "..............x             ",
        ".......--------             ",
        "............................",
    };
    crn_timeline timeline;
    crn_timeline_place(&verdict, &timeline);
    for (int v = 0; v < 4; v++) {
        char bar[CRN_BAR_COLUMNS + 1];
        crn_waterfall_bar(&timeline, &timeline.views[v], bar);
        assert_string_equal(bar, bars[v]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CRN_ON_VERDICT(any_fruit_is_placed_and_adds_up),
        CRN_ON_VERDICT(an_older_verdict_is_placed_roughly),
        cmocka_unit_test(a_measured_fruit_has_its_pose_and_its_union),
        cmocka_unit_test(nonsense_is_clamped),
        cmocka_unit_test(bars_show_what_a_view_did),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The trace of two fruits: which rows, spans and arrows it has, and when. */
#include "src/monitor/fruits/trace.h"

#include <math.h>

#include "src/engine/device/device.h"
#include "tests/unit/publish/verdict_bench.h"

#define US       1000 /* ns */
#define BEGIN_US ((double)CRN_TRACE_BEGIN_NS / US)

typedef struct trace_fixture {
    verdict_fixture *verdict;
    crn_flight *flight;
    crn_encoder *encoder;
    yajl_val events;
} trace_fixture;

static int open_trace(void **state)
{
    static trace_fixture f;
    set_up(state);
    f.verdict = *state;
    f.verdict->config.run.workers = 2;
    f.verdict->config.run.backend = CRN_BACKEND_CUDA;
    f.verdict->config.run.devices = (crn_numbers){.count = 1, .item = {1}};
    assert_int_equal(crn_flight_create(&f.verdict->config, &f.flight), 0);
    assert_int_equal(crn_encoder_create(CRN_FORMAT_JSON, &f.encoder), 0);
    *state = &f;
    return 0;
}

static int close_trace(void **state)
{
    trace_fixture *f = *state;
    crn_flight_free(&f->flight);
    crn_encoder_free(&f->encoder);
    *state = f->verdict;
    return tear_down(state);
}

static void offer(trace_fixture *f, uint64_t fruit, int64_t published_ns)
{
    f->verdict->fruit.fruit = fruit;
    f->verdict->facts.now_ns = published_ns;
    crn_published published = {.facts = f->verdict->facts, .grader_bytes = 1000};
    crn_flight_offer(f->flight, &f->verdict->fruit, &published, f->verdict->store);
    crn_flight_take(f->flight);
}

static void emit(trace_fixture *f)
{
    const char *path[] = {"traceEvents", NULL};
    const unsigned char *bytes;
    size_t size;
    crn_encoder_begin(f->encoder);
    crn_trace_emit(&f->verdict->config, f->flight, f->encoder);
    assert_int_equal(crn_encoder_end(f->encoder, &bytes, &size), 0);
    char *text = calloc(size + 1, 1);
    memcpy(text, bytes, size);
    yajl_tree_free(f->verdict->tree);
    f->verdict->tree = yajl_tree_parse(text, NULL, 0);
    free(text);
    assert_non_null(f->verdict->tree);
    f->events = yajl_tree_get(f->verdict->tree, path, yajl_t_array);
    assert_non_null(f->events);
}

static const char *text_of(yajl_val event, const char *key)
{
    const char *path[] = {key, NULL};
    return YAJL_GET_STRING(yajl_tree_get(event, path, yajl_t_string));
}

static double number_of(yajl_val event, const char *key)
{
    const char *path[] = {key, NULL};
    return YAJL_GET_DOUBLE(yajl_tree_get(event, path, yajl_t_number));
}

/* Events of that kind and name; the last of them in *ret_event. */
static int count(const trace_fixture *f, const char *kind, const char *name, yajl_val *ret_event)
{
    int found = 0;
    for (size_t i = 0; i < f->events->u.array.len; i++) {
        yajl_val event = f->events->u.array.values[i];
        if (strcmp(text_of(event, "ph"), kind) == 0 && strcmp(text_of(event, "name"), name) == 0) {
            found++;
            *ret_event = event;
        }
    }
    return found;
}

static void expect_span(const trace_fixture *f, const char *name, double row, double at_us,
                        double took_us)
{
    yajl_val event = NULL;
    assert_int_equal(count(f, "X", name, &event), 1);
    assert_true(number_of(event, "tid") == row);
    assert_true(number_of(event, "ts") == at_us);
    assert_true(number_of(event, "dur") == took_us);
}

/* A view that was judged; its steps take 10, 20, 30 and 40 us, of which the halves are the finish.
 */
static void judge_at(trace_fixture *f, uint32_t view, int64_t received_ns, crn_run_place place,
                     bool on_device)
{
    judge(f->verdict, view, NULL, 0, 0);
    crn_fruit_view *judged = &f->verdict->views[view];
    judged->received_ns = received_ns;
    judged->judgement.queue_ns = 5 * US;
    judged->judgement.run_ns = 120 * US;
    judged->judgement.finish_ns = 60 * US;
    for (int step = 0; step < 4; step++) {
        judged->judgement.stage_ns[step] = (step + 1) * 10 * US;
        judged->judgement.stage_finish_ns[step] = (step + 1) * 5 * US;
    }
    judged->judgement.place = place;
    judged->judgement.on_device = on_device;
}

static void views_and_steps_lie_where_they_ran(void **state)
{
    trace_fixture *f = *state;
    int64_t opened_ns = f->verdict->fruit.opened_ns;
    judge_at(f, 0, opened_ns, (crn_run_place){.worker = 1}, false);
    f->verdict->config.steps = 1;
    offer(f, 8, opened_ns + 500 * US);
    emit(f);
    expect_span(f, "lane 7 fruit 8 view 0", 101, BEGIN_US + 5, 120);
    yajl_val event = NULL;
    assert_int_equal(count(f, "X", "morphology", &event), 2); /* the halves */
    assert_true(number_of(event, "tid") == 101);
    assert_true(number_of(event, "ts") == BEGIN_US + 65);
    assert_true(number_of(event, "dur") == 5);
    expect_span(f, "lane 7 fruit 8 complete", 1, BEGIN_US + 500, 0);
}

/* A time in a trace as Perfetto reads it. */
static int64_t ns_of(double us)
{
    return llround(us * US);
}

/* The first step is followed by the second; to readers that add doubles, and to those that add
 * nanoseconds. */
static void check_steps_meet(const trace_fixture *f)
{
    double end_us = 0;
    int64_t end_ns = 0;
    bool was_first = false;
    for (size_t i = 0; i < f->events->u.array.len; i++) {
        yajl_val event = f->events->u.array.values[i];
        if (strcmp(text_of(event, "ph"), "X") != 0)
            continue;
        double at_us = number_of(event, "ts");
        if (was_first) {
            assert_string_equal(text_of(event, "name"), "convolve");
            assert_true(at_us == end_us);
            assert_int_equal(ns_of(at_us), end_ns);
        }
        was_first = strcmp(text_of(event, "name"), "morphology") == 0 && !was_first;
        end_us = at_us + number_of(event, "dur");
        end_ns = ns_of(at_us) + ns_of(number_of(event, "dur"));
    }
}

static void steps_end_where_the_next_begin(void **state)
{
    trace_fixture *f = *state;
    static const int64_t days[] = {0, 1, 90, 365, 3650}; /* that the machine is up */
    for (size_t run = 0; run < sizeof days / sizeof *days; run++) {
        for (int64_t odd_ns = 1; odd_ns < 200; odd_ns++) {
            int64_t opened_ns = (days[run] * 86400 + 6702) * CRN_NS_PER_S + odd_ns * 123456789;
            f->verdict->fruit.opened_ns = opened_ns;
            judge_at(f, 0, opened_ns, (crn_run_place){.worker = 1}, false);
            int64_t *stage_ns = f->verdict->views[0].judgement.stage_ns;
            stage_ns[0] = f->verdict->views[0].judgement.stage_finish_ns[0] + 10001 + odd_ns;
            offer(f, (uint64_t)odd_ns, opened_ns + 500 * US);
            f->verdict->fruit.received = 0;
        }
        emit(f);
        check_steps_meet(f);
    }
}

static void a_batch_lies_on_its_stream(void **state)
{
    trace_fixture *f = *state;
    int64_t opened_ns = f->verdict->fruit.opened_ns;
    crn_run_place place = {.worker = 0, .device = 1, .stream = 2, .batch = 2};
    judge_at(f, 0, opened_ns, place, true);
    place.worker = 1;
    judge_at(f, 1, opened_ns, place, true);
    offer(f, 8, opened_ns + 500 * US);
    emit(f);
    double row = 1000 + CRN_DEVICE_SLOTS + 2;
    expect_span(f, "batch of 2", row, BEGIN_US + 5, 50); /* the enqueue halves */
    expect_span(f, "lane 7 fruit 8 view 0", 100, BEGIN_US + 65, 60);
    expect_span(f, "lane 7 fruit 8 view 1", 101, BEGIN_US + 65, 60);
    yajl_val event = NULL;
    assert_int_equal(count(f, "X", "contours", &event), 3);
    assert_int_equal(count(f, "M", "thread_name", &event), 1 + 2 + CRN_DEVICE_SLOTS);
}

static void arrows_lead_from_views_to_their_verdict(void **state)
{
    trace_fixture *f = *state;
    int64_t opened_ns = f->verdict->fruit.opened_ns;
    judge_at(f, 0, opened_ns + 90 * US, (crn_run_place){.worker = 0}, false); /* the last to run */
    judge_at(f, 2, opened_ns + 50 * US, (crn_run_place){.worker = 1}, false);
    f->verdict->views[3] = (crn_fruit_view){
        .state = CRN_VIEW_LOST, .received_ns = opened_ns + 60 * US, .lost_ns = opened_ns + 70 * US};
    f->verdict->fruit.received++;
    offer(f, 8, opened_ns + 500 * US);
    offer(f, 9, opened_ns + 600 * US);
    emit(f);
    yajl_val event = NULL;
    assert_int_equal(count(f, "s", "fruit", &event), 6);
    assert_true(number_of(event, "ts") == BEGIN_US + 60);
    assert_string_equal(text_of(event, "id"), "66"); /* the second fruit's third view */
    assert_int_equal(count(f, "f", "fruit", &event), 6);
    assert_true(number_of(event, "ts") == BEGIN_US + 600);
    assert_string_equal(text_of(event, "id"), "66");
    assert_int_equal(count(f, "b", "lane 7 fruit 9 complete", &event), 1);
    assert_int_equal(count(f, "e", "lane 7 fruit 9 complete", &event), 1);
    expect_span(f, "lane 7 fruit 9 view 3: not judged", 1, BEGIN_US + 60, 0);
}

static void only_the_last_seconds_are_shown(void **state)
{
    trace_fixture *f = *state;
    int64_t opened_ns = f->verdict->fruit.opened_ns;
    yajl_val event = NULL;
    emit(f);
    assert_int_equal(count(f, "b", "lane 7 fruit 1 complete", &event), 0);
    offer(f, 1, opened_ns);
    offer(f, 2, opened_ns + 1);
    offer(f, 3, opened_ns + 1 + CRN_TRACE_NS);
    emit(f);
    assert_int_equal(count(f, "b", "lane 7 fruit 1 complete", &event), 0);
    assert_int_equal(count(f, "b", "lane 7 fruit 2 complete", &event), 1);
    assert_int_equal(count(f, "b", "lane 7 fruit 3 complete", &event), 1);
}

#define ON_TRACE(test) cmocka_unit_test_setup_teardown(test, open_trace, close_trace)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_TRACE(views_and_steps_lie_where_they_ran),
        ON_TRACE(steps_end_where_the_next_begin),
        ON_TRACE(a_batch_lies_on_its_stream),
        ON_TRACE(arrows_lead_from_views_to_their_verdict),
        ON_TRACE(only_the_last_seconds_are_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

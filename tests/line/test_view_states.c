/* The states of views in the verdicts of a whole line: judged, lost for a reason, missing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <msgpack.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/peers/decode.h"
#include "tests/support/gpu/fake_gpu.h"
#include "tests/support/line/decoded_verdict.h"
#include "tests/support/line/gate.h"

#define HEIGHT 48
#define WIDTH  64

#define LINE                                                                                       \
    "classes: [{name: ground}, {name: rot, level: 0.5}, {name: rust, level: 0.5}]\n"               \
    "chain: [contours: {border: closed}]\n"                                                        \
    "log: {level: error}\n"

/* No deadline expires while a test waits for something else. */
#define PATIENT "latency: {budget_ms: 60000, assemble_ms: 60000}\n"

typedef struct view_states_fixture {
    line_fixture line;
    float *maps;
    unsigned char *bytes; /* of the latest verdict */
    size_t size;
    msgpack_unpacked unpacked;
} view_states_fixture;

static view_states_fixture it;

/* --- the line --- */

static int set_up(void **state)
{
    (void)state;
    memset(&it, 0, sizeof it);
    crn_gate_close(0);
    msgpack_unpacked_init(&it.unpacked);
    it.maps = line_discs(HEIGHT, WIDTH, 3);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    crn_gate_let_through(64);
    line_stop(&it.line);
    msgpack_unpacked_destroy(&it.unpacked);
    free(it.bytes);
    free(it.maps);
    return 0;
}

static void start_held(const char *yaml)
{
    line_configure(&it.line, yaml);
    it.line.config.chain[0].stage = &crn_gated;
    line_run(&it.line, NULL);
}

static crn_view_header header_of(uint64_t fruit, uint16_t view, uint16_t views)
{
    crn_view_header header = line_header(&it.line, fruit, view, views, HEIGHT, WIDTH);
    header.captured_ns = 1000 + view;
    header.encoder = 2000 + view;
    return header;
}

static void send_view(uint64_t fruit, uint16_t view, uint16_t views)
{
    line_send(&it.line, header_of(fruit, view, views), it.maps, NULL);
}

/* Sends the last view of a fruit whose deadline has passed: it is judged at once. */
static void send_due(uint64_t fruit, uint16_t view, uint16_t views)
{
    crn_view_header header = header_of(fruit, view, views);
    header.deadline_ns = (uint64_t)crn_realtime_ns() - 1;
    line_send(&it.line, header, it.maps, NULL);
}

static const msgpack_object *receive_verdict(const char *kind)
{
    free(it.bytes);
    it.bytes = line_receive_bytes(&it.line, CRN_FIXTURE_PATIENCE_MS, &it.size);
    assert_non_null(it.bytes);
    assert_int_equal(msgpack_unpack_next(&it.unpacked, (const char *)it.bytes, it.size, NULL),
                     MSGPACK_UNPACK_SUCCESS);
    const msgpack_object *verdict = &it.unpacked.data;
    crn_expect_text(crn_decoded_field(verdict, "verdict"), kind);
    crn_expect_latency_parts(verdict);
    return verdict;
}

static void expect_states(const msgpack_object *verdict, uint32_t count,
                          const char *const states[][2])
{
    const msgpack_object *views = crn_decoded_field(verdict, "view_states");
    crn_decoded *read = verdict_decode(it.bytes, it.size);
    assert_int_equal(read->view_count, count);
    crn_expect_items(views, count);
    for (uint32_t v = 0; v < count; v++) {
        const msgpack_object *view = crn_decoded_item(views, v);
        crn_expect_unsigned(crn_decoded_field(view, "view"), v);
        crn_expect_text(crn_decoded_field(view, "state"), states[v][0]);
        crn_expect_text(crn_decoded_field(view, "reason"), states[v][1]);
        assert_int_equal(read->views[v].view, v);
        assert_string_equal(read->views[v].state, states[v][0]);
        assert_string_equal(read->views[v].reason, states[v][1]);
    }
    crn_decoded_free(&read);
}

static double ms_of(const msgpack_object *view, const char *key)
{
    const msgpack_object *ms = crn_decoded_field(view, key);
    assert_int_equal(ms->type, MSGPACK_OBJECT_FLOAT64);
    return ms->via.f64;
}

/* --- the tests --- */

static void expect_judged(const msgpack_object *verdict, uint32_t views, const char *backend)
{
    double before_ms = 0;
    for (uint32_t v = 0; v < views; v++) {
        const msgpack_object *view = crn_decoded_item(crn_decoded_field(verdict, "view_states"), v);
        crn_expect_text(crn_decoded_field(view, "state"), "judged");
        crn_expect_text(crn_decoded_field(view, "reason"), "");
        crn_expect_text(crn_decoded_field(view, "backend"), backend);
        crn_expect_unsigned(crn_decoded_field(view, "captured_ns"), 1000 + v);
        crn_expect_unsigned(crn_decoded_field(view, "encoder"), 2000 + v);
        assert_true(ms_of(view, "received_ms") >= before_ms);
        assert_true(ms_of(view, "queue_ms") >= 0);
        assert_true(ms_of(view, "run_ms") > 0);
        before_ms = ms_of(view, "received_ms");
    }
}

static void judged_views_say_where_and_how_long(void **state)
{
    (void)state;
    line_start(&it.line, LINE PATIENT
               "run: {backend: serial, workers: 2, threads: 1}\nlimits: {slots: 128}\n");
    for (uint64_t fruit = 0; fruit < 20; fruit++)
        for (uint16_t view = 0; view < 4; view++)
            send_view(fruit, view, 4);
    for (uint64_t fruit = 0; fruit < 20; fruit++) {
        const msgpack_object *verdict = receive_verdict("complete");
        expect_judged(verdict, 4, "serial");
        /* The budget starts at the close, which lies within the time since publication. */
        uint64_t deadline_ns = crn_decoded_field(verdict, "deadline_ns")->via.u64;
        uint64_t published_ns = crn_decoded_field(verdict, "published_ns")->via.u64;
        double total_ms = ms_of(crn_decoded_field(verdict, "latency_ms"), "total");
        assert_true(llabs((int64_t)(deadline_ns - published_ns) + (int64_t)(total_ms * 1e6) -
                          60 * CRN_NS_PER_S) <= 1);
        crn_expect_text(crn_decoded_field(verdict, "recipe"), "");
        char settings[17];
        snprintf(settings, sizeof settings, "%016llx", (unsigned long long)it.line.config.hash);
        crn_expect_text(crn_decoded_field(verdict, "settings"), settings);
        assert_true(it.line.config.hash != 0);
    }
}

/* The first views of a shape may run on the CPU while the device prepares for it. */
static void views_of_a_device_are_said_to_be_its(void **state)
{
    (void)state;
    line_start_on(&it.line, LINE PATIENT "run: {backend: cuda, workers: 1, threads: 1}\n",
                  crn_fake_gpu(1, false));
    bool on_device = false;
    for (uint64_t fruit = 0; !on_device; fruit++) {
        send_view(fruit, 0, 1);
        const msgpack_object *views = crn_decoded_field(receive_verdict("complete"), "view_states");
        const msgpack_object_str *backend =
            &crn_decoded_field(crn_decoded_item(views, 0), "backend")->via.str;
        on_device = backend->size == 4 && memcmp(backend->ptr, "cuda", 4) == 0;
        assert_true(on_device || (backend->size == 6 && memcmp(backend->ptr, "openmp", 6) == 0));
    }
    expect_judged(&it.unpacked.data, 1, "cuda");
}

/* One view runs, one waits at the worker, one in a slot;
 * for another there is no slot, and one never arrives. */
static void each_lost_view_has_its_reason(void **state)
{
    (void)state;
    start_held(LINE PATIENT "run: {backend: serial, workers: 1, threads: 1}\nlimits: {slots: 3}\n");
    for (uint16_t view = 0; view < 3; view++)
        send_view(1, view, 5);
    send_due(1, 3, 5);
    const msgpack_object *verdict = receive_verdict("late");
    static const char *const states[][2] = {
        {"lost", "unfinished"}, {"lost", "unfinished"}, {"lost", "discarded"},
        {"lost", "no_slot"},    {"missing", ""},
    };
    expect_states(verdict, 5, states);
    const msgpack_object *views = crn_decoded_field(verdict, "view_states");
    assert_true(ms_of(crn_decoded_item(views, 0), "run_ms") > 0);
    assert_int_equal(crn_decoded_field(crn_decoded_item(views, 2), "run_ms")->type,
                     MSGPACK_OBJECT_NIL);
    assert_true(ms_of(crn_decoded_item(views, 2), "queue_ms") > 0);
}

/* An older fruit's view takes the slot of a younger one's. */
static void an_evicted_view_had_no_slot(void **state)
{
    (void)state;
    start_held(LINE PATIENT "run: {backend: serial, workers: 1, threads: 1}\nlimits: {slots: 3}\n");
    send_view(1, 0, 3); /* runs */
    send_view(1, 1, 3); /* waits at the worker */
    send_view(2, 0, 2); /* holds the last slot, */
    send_view(1, 2, 3); /* which this one takes over */
    send_due(2, 1, 2);
    static const char *const states[][2] = {{"lost", "no_slot"}, {"lost", "no_slot"}};
    expect_states(receive_verdict("late"), 2, states);
    crn_gate_let_through(3);
    static const char *const judged[][2] = {{"judged", ""}, {"judged", ""}, {"judged", ""}};
    expect_states(receive_verdict("complete"), 3, judged);
}

static void what_never_came_is_missing(void **state)
{
    (void)state;
    line_start(&it.line, LINE "run: {backend: serial, workers: 1, threads: 1}\n"
                              "latency: {budget_ms: 60000, assemble_ms: 1}\n");
    send_view(1, 2, 4);
    static const char *const states[][2] = {
        {"missing", ""}, {"missing", ""}, {"judged", ""}, {"missing", ""}};
    expect_states(receive_verdict("partial"), 4, states);
}

static void a_refused_view_is_no_missing_one(void **state)
{
    (void)state;
    start_held(LINE PATIENT "run: {backend: serial, workers: 1, threads: 1}\n");
    send_view(1, 0, 3);
    crn_view_header header = header_of(1, 1, 3);
    header.class_set ^= 1;
    line_send(&it.line, header, it.maps, NULL);
    send_due(1, 2, 3);
    static const char *const states[][2] = {
        {"lost", "unfinished"}, {"refused", "class_set"}, {"lost", "discarded"}};
    expect_states(receive_verdict("late"), 3, states);
}

static void a_chain_that_fails_says_so(void **state)
{
    (void)state;
    crn_gate_close(-ENOMEM);
    start_held(LINE PATIENT "run: {backend: serial, workers: 1, threads: 1}\n");
    crn_gate_let_through(1);
    send_view(1, 0, 1);
    static const char *const states[][2] = {{"lost", "failed"}};
    expect_states(receive_verdict("late"), 1, states);
}

/* The chain itself noticed that the time was up. */
static void a_chain_that_gives_up_is_unfinished(void **state)
{
    (void)state;
    crn_gate_close(-ETIME);
    start_held(LINE PATIENT "run: {backend: serial, workers: 1, threads: 1}\n");
    crn_gate_let_through(1);
    send_view(1, 0, 1);
    static const char *const states[][2] = {{"lost", "unfinished"}};
    expect_states(receive_verdict("late"), 1, states);
}

/* All but the last view wait long before the fruit closes, which its latency must not include. */
static void a_wait_before_the_close_is_no_latency(void **state)
{
    (void)state;
    start_held(LINE PATIENT "run: {backend: serial, workers: 1, threads: 1}\n");
    send_view(1, 0, 3);
    send_view(1, 1, 3);
    /* Another fruit's verdict shows that both were
     * read and have waited since before it was sent. */
    send_due(2, 0, 2);
    receive_verdict("late");
    uint64_t other_ns = crn_decoded_field(&it.unpacked.data, "published_ns")->via.u64;
    while ((uint64_t)crn_realtime_ns() < other_ns + 20 * CRN_NS_PER_MS)
        continue;
    crn_gate_let_through(3);
    send_view(1, 2, 3);
    const msgpack_object *verdict = receive_verdict("complete");
    const msgpack_object *second = crn_decoded_item(crn_decoded_field(verdict, "view_states"), 1);
    assert_true(ms_of(second, "queue_ms") >= 20);
}

#define ON_LINE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_LINE(judged_views_say_where_and_how_long),
        ON_LINE(views_of_a_device_are_said_to_be_its),
        ON_LINE(each_lost_view_has_its_reason),
        ON_LINE(an_evicted_view_had_no_slot),
        ON_LINE(what_never_came_is_missing),
        ON_LINE(a_refused_view_is_no_missing_one),
        ON_LINE(a_chain_that_fails_says_so),
        ON_LINE(a_chain_that_gives_up_is_unfinished),
        ON_LINE(a_wait_before_the_close_is_no_latency),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

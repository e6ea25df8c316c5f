/* The topic `alive`: when the grader receives it, its content, and that it is never queued. */
#include <string.h>

#include <zmq.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/peers/decode.h"
#include "tests/support/peers/peer.h"
#include "tests/support/parts/publishing.h"

#define ALIVE_MS 100
#define ALIVE_NS (ALIVE_MS * CRN_NS_PER_MS)

/* Advances the clock and serves once. */
static void serve_after(crn_publishing *f, int64_t ns)
{
    f->now_ns += ns;
    crn_publish_service(f->publish, "running", f->now_ns);
}

/* Opens the publisher with `alive` every ALIVE_MS; the first one has no receiver. */
static void open_alive(crn_publishing *f)
{
    f->config.publish.grader.alive_ms = ALIVE_MS;
    crn_publishing_open(f);
    serve_after(f, 0);
}

/* Connects a grader; `little`: see crn_publishing_connect. */
static void *await_grader(crn_publishing *f, bool little)
{
    void *grader = crn_publishing_connect(f, ZMQ_PULL, CRN_OUTLET_GRADER, little);
    crn_publishing_serve_until(f, &crn_publishing_stats(f)->graders, 1);
    return grader;
}

static const msgpack_object *expect_alive(void *grader, crn_peer_message *m)
{
    const msgpack_object *alive = crn_peer_receive_map(grader, m);
    assert_string_equal(m->topic, "alive");
    return alive;
}

static void expect_verdict(void *grader, crn_peer_message *m, uint64_t sequence)
{
    const msgpack_object *verdict = crn_peer_receive_map(grader, m);
    assert_string_equal(m->topic, "fruit/7");
    crn_expect_unsigned(crn_decoded_field(verdict, "sequence"), sequence);
}

static void test_silence_is_filled_after_alive_ms(void **state)
{
    crn_publishing *f = *state;
    open_alive(f);
    void *grader = await_grader(f, false);
    crn_lanes_find(f->lanes, 3); /* a lane without a verdict yet */
    crn_publishing_give(f);
    assert_int_equal(crn_publish_wake_ns(f->publish), f->now_ns + ALIVE_NS);
    serve_after(f, ALIVE_NS - 1);
    crn_publishing_give(f); /* restarts the silence interval */
    serve_after(f, ALIVE_NS - 1);
    serve_after(f, 1);
    assert_int_equal(crn_publish_wake_ns(f->publish), f->now_ns + ALIVE_NS);
    serve_after(f, ALIVE_NS);
    crn_publishing_give(f);

    crn_peer_message *m = crn_peer_message_new();
    expect_verdict(grader, m, 0);
    expect_verdict(grader, m, 1);
    const msgpack_object *alive = expect_alive(grader, m);
    static const char *const keys[] = {"v", "run", "state", "published_ns", "alive_ms", "lanes"};
    crn_expect_keys(alive, keys, 6);
    crn_expect_unsigned(crn_decoded_field(alive, "v"), 1);
    crn_expect_text(crn_decoded_field(alive, "run"), crn_publish_run(f->publish));
    crn_expect_text(crn_decoded_field(alive, "state"), "running");
    crn_expect_unsigned(crn_decoded_field(alive, "alive_ms"), ALIVE_MS);
    const msgpack_object *lanes = crn_decoded_field(alive, "lanes");
    static const char *const lane_keys[] = {"lane", "sequence"};
    crn_expect_items(lanes, 2);
    crn_expect_keys(crn_decoded_item(lanes, 0), lane_keys, 2);
    crn_expect_unsigned(crn_decoded_field(crn_decoded_item(lanes, 0), "lane"), 3);
    assert_int_equal(crn_decoded_field(crn_decoded_item(lanes, 0), "sequence")->type,
                     MSGPACK_OBJECT_NIL);
    crn_expect_unsigned(crn_decoded_field(crn_decoded_item(lanes, 1), "lane"), CRN_PUBLISHING_LANE);
    crn_expect_unsigned(crn_decoded_field(crn_decoded_item(lanes, 1), "sequence"), 1);
    expect_alive(grader, m);
    expect_verdict(grader, m, 2); /* alive has no sequence number */
    assert_int_equal(crn_publishing_stats(f)->sent, 3);
    crn_peer_message_free(m);
}

static void test_it_is_off_by_default(void **state)
{
    crn_publishing *f = *state;
    crn_publishing_open(f);
    void *grader = await_grader(f, false);
    for (int i = 0; i < 100; i++)
        serve_after(f, CRN_NS_PER_S);
    assert_int_equal(crn_publish_wake_ns(f->publish), f->now_ns + CRN_NS_PER_S);
    crn_publishing_give(f);
    crn_peer_message *m = crn_peer_message_new();
    expect_verdict(grader, m, 0);
    crn_peer_message_free(m);
}

/* An `alive` sent without a listener is outdated for a later one. */
static void test_it_is_not_kept_for_an_absent_grader(void **state)
{
    crn_publishing *f = *state;
    open_alive(f);
    for (int i = 0; i < 20; i++)
        serve_after(f, ALIVE_NS);
    assert_int_equal(crn_publishing_stats(f)->waiting, 0);
    void *grader = await_grader(f, false);
    crn_publishing_give(f);
    crn_peer_message *m = crn_peer_message_new();
    expect_verdict(grader, m, 0);
    crn_peer_message_free(m);
}

/* A grader that paused and then read what libzmq held: waiting verdicts are sent first, although
 * alive could be sent. */
static void test_it_stays_away_while_verdicts_wait(void **state)
{
    crn_publishing *f = *state;
    enum { VERDICTS = 60 };
    f->points = CRN_PUBLISHING_POINTS;
    open_alive(f);
    void *grader = await_grader(f, true);
    while (crn_publishing_stats(f)->verdicts < VERDICTS)
        crn_publishing_give(f);
    for (int i = 0; i < 5; i++)
        serve_after(f, ALIVE_NS);
    uint64_t sent = crn_publishing_stats(f)->sent;
    assert_true(sent < VERDICTS);
    crn_peer_message *m = crn_peer_message_new();
    for (uint64_t sequence = 0; sequence < VERDICTS; sequence++) {
        if (sequence == sent)
            serve_after(f, ALIVE_NS);
        if (sequence >= sent)
            crn_publishing_serve_peer(f, grader);
        expect_verdict(grader, m, sequence);
    }
    serve_after(f, ALIVE_NS);
    expect_alive(grader, m);
    crn_peer_message_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_silence_is_filled_after_alive_ms,
                                        crn_publishing_set_up, crn_publishing_tear_down),
        cmocka_unit_test_setup_teardown(test_it_is_off_by_default, crn_publishing_set_up,
                                        crn_publishing_tear_down),
        cmocka_unit_test_setup_teardown(test_it_is_not_kept_for_an_absent_grader,
                                        crn_publishing_set_up, crn_publishing_tear_down),
        cmocka_unit_test_setup_teardown(test_it_stays_away_while_verdicts_wait,
                                        crn_publishing_set_up, crn_publishing_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

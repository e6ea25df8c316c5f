/* What is usual for a lane: the pauses between its fruits. */
#include <stdio.h>
#include <string.h>

#include "src/monitor/meters.h"
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"

static const char yaml[] = "classes: [{name: rot, level: 0.5}]\n"
                           "chain: [contours]\n"
                           "run: {workers: 1, threads: 1}\n";

typedef struct meters_fixture {
    crn_config config;
    crn_meters meters;
    crn_lane lane;
    int64_t now_ns;
} meters_fixture;

static meters_fixture fixture;

static int set_up(void **state)
{
    fixture = (meters_fixture){.lane.serial = 1, .now_ns = CRN_NS_PER_S};
    assert_int_equal(crn_config_parse("f", yaml, strlen(yaml), stderr, &fixture.config), 0);
    crn_config_resolve(&fixture.config, 2);
    assert_int_equal(crn_meters_init(&fixture.config, &fixture.meters), 0);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    meters_fixture *f = *state;
    crn_meters_done(&f->meters);
    crn_config_done(&f->config);
    return 0;
}

/* Of so many views, 10 ms apart. */
static void receive_fruits_of(meters_fixture *f, int views, int fruits, int64_t apart_ns)
{
    const crn_view_header header = {.lane = 0};
    for (int fruit = 0; fruit < fruits; fruit++) {
        f->lane.fruits++;
        for (int view = 0; view < views; view++) {
            crn_meters_arrival(&f->meters, &f->lane, &header, 0, f->now_ns, 0);
            f->now_ns += 10 * CRN_NS_PER_MS;
        }
        f->now_ns += apart_ns - views * 10 * CRN_NS_PER_MS;
    }
}

static void receive_fruits(meters_fixture *f, int fruits, int64_t apart_ns)
{
    receive_fruits_of(f, 4, fruits, apart_ns);
}

static bool is_silence(const meters_fixture *f, int64_t seconds)
{
    return crn_lane_meters_is_silence(&f->meters.lanes[0], seconds * CRN_NS_PER_S);
}

static void a_fast_lane_is_silent_after_five_seconds(void **state)
{
    meters_fixture *f = *state;
    receive_fruits(f, 3, CRN_NS_PER_S / 10);
    assert_false(is_silence(f, 5));
    assert_true(is_silence(f, 6));
}

static void a_slow_lane_is_silent_after_ten_pauses(void **state)
{
    meters_fixture *f = *state;
    for (int round = 0; round < 100; round++) {
        receive_fruits(f, round + 2, 10 * CRN_NS_PER_S);
        assert_false(is_silence(f, 50));
        assert_true(is_silence(f, 101));
    }
}

/* Two cups and more without a fruit, however many views each fruit has. */
static void empty_cups_of_a_sparse_lane_are_no_silence(void **state)
{
    meters_fixture *f = *state;
    receive_fruits_of(f, 8, 20, 3 * CRN_NS_PER_S);
    assert_false(is_silence(f, 9));
    assert_true(is_silence(f, 31));
    receive_fruits_of(f, 12, 100, 7 * CRN_NS_PER_S);
    assert_false(is_silence(f, 21));
}

/* Cameras along the belt: each sees another fruit at the same time. */
static void views_of_several_fruits_at_once_do_not_shorten_the_pause(void **state)
{
    meters_fixture *f = *state;
    for (uint64_t cup = 0; cup < 50; cup++) {
        f->lane.fruits++;
        for (uint64_t view = 0; view < 8 && view <= cup; view++) {
            const crn_view_header header = {.fruit = cup - view, .view = (uint16_t)view};
            crn_meters_arrival(&f->meters, &f->lane, &header, 0, f->now_ns, 0);
        }
        f->now_ns += 3 * CRN_NS_PER_S;
    }
    assert_false(is_silence(f, 25));
    assert_true(is_silence(f, 31));
}

static void pauses_of_the_belt_are_not_usual(void **state)
{
    meters_fixture *f = *state;
    receive_fruits(f, 2, 3600 * CRN_NS_PER_S);
    receive_fruits(f, 100, CRN_NS_PER_S / 10);
    assert_true(is_silence(f, 6));
    f->now_ns += 10 * 3600 * CRN_NS_PER_S;
    receive_fruits(f, 1, CRN_NS_PER_S / 10);
    assert_true(is_silence(f, 6));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_fast_lane_is_silent_after_five_seconds, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_slow_lane_is_silent_after_ten_pauses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(empty_cups_of_a_sparse_lane_are_no_silence, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(views_of_several_fruits_at_once_do_not_shorten_the_pause,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(pauses_of_the_belt_are_not_usual, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

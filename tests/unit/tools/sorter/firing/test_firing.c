/* What becomes of a fruit that is to be thrown off: each way in which it can end. */
#include <errno.h>
#include <string.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tools/sorter/firing/firing.h"

#define SPEED     4000 /* ticks per second: 4 a millisecond */
#define TOLERANCE 30
#define MS        CRN_NS_PER_MS

enum outlets { END, WASTE, SECOND };

static crn_ejectors ejectors;
static crn_firing *firing;
static int64_t now_ns, round_ns;
static int result; /* of writing a coil */
static struct {
    int32_t ejector;
    bool on;
    int64_t time_ns;
} written[16];
static int written_count;
static uint64_t added, ended[CRN_FIRING_RESULTS];
static bool has_ended[1024];

static void take_ending(void *context, const crn_firing_key *key, crn_firing_result how)
{
    (void)context;
    assert_string_equal(key->run, "a");
    assert_int_equal(key->lane, 3);
    assert_true(key->sequence < added);
    assert_false(has_ended[key->sequence]);
    has_ended[key->sequence] = true;
    ended[how]++;
}

static int write_coil(void *context, int32_t ejector, bool on, int64_t *ret_round_ns)
{
    (void)context;
    assert_true(written_count < 16);
    written[written_count].ejector = ejector;
    written[written_count].on = on;
    written[written_count++].time_ns = now_ns;
    *ret_round_ns = round_ns;
    return result;
}

static int set_up(void **state)
{
    (void)state;
    ejectors.count = 2;
    ejectors.item[0] = (crn_ejector){
        .outlet = WASTE, .lane = 3, .distance = 1000, .input = 0, .pulse_ms = 15, .confirm_ms = 80};
    ejectors.item[1] = (crn_ejector){
        .outlet = SECOND, .lane = 3, .distance = 1500, .input = CRN_NO_INPUT, .delay_ms = 10};
    const crn_firing_plan plan = {
        .ejectors = &ejectors,
        .belt = {.bits = 32, .speed_max = 2 * SPEED, .stop_ns = 50 * MS, .age_max_ns = 50 * MS},
        .tolerance = TOLERANCE,
        .write = write_coil,
        .use = take_ending};
    memset(has_ended, 0, sizeof has_ended);
    memset(ended, 0, sizeof ended);
    added = 0;
    now_ns = 1000 * CRN_NS_PER_S;
    round_ns = 0;
    result = written_count = 0;
    return crn_firing_create(&plan, &firing);
}

/* How it ended with fruits is told as it is counted: with those that were fired, once. */
static void expect_endings(void)
{
    crn_firing_counts sum = {.fired = 0};
    for (int32_t outlet = END; outlet <= SECOND; outlet++) {
        crn_firing_counts one = crn_firing_get_counts(firing, outlet);
        sum.fired += one.fired;
        sum.confirmed += one.confirmed;
        sum.missed += one.missed;
        sum.too_late += one.too_late;
        sum.lost += one.lost;
    }
    assert_int_equal(ended[CRN_FIRING_CONFIRMED], sum.confirmed);
    assert_int_equal(ended[CRN_FIRING_MISSED], sum.missed);
    assert_int_equal(ended[CRN_FIRING_TOO_LATE], sum.too_late);
    assert_int_equal(ended[CRN_FIRING_LOST], sum.lost);
    assert_int_equal(ended[CRN_FIRING_FIRED] + ended[CRN_FIRING_CONFIRMED] +
                         ended[CRN_FIRING_MISSED],
                     sum.fired);
}

static int tear_down(void **state)
{
    (void)state;
    crn_firing_end(firing);
    expect_endings();
    crn_firing_free(&firing);
    return 0;
}

static uint64_t tick(void)
{
    return (uint64_t)(now_ns / (CRN_NS_PER_S / SPEED));
}

/* So many milliseconds pass; the belt is read every five, and what is due is written. */
static void pass(int ms)
{
    for (int i = 0; i < ms; i++) {
        now_ns += MS;
        if (now_ns / MS % 5 == 0)
            crn_firing_read(firing, &(crn_belt_reading){tick(), now_ns, 0});
        while (crn_firing_run(firing, now_ns) <= now_ns)
            continue;
    }
}

static crn_firing_fruit fruit_at(int32_t outlet, uint64_t encoder, int64_t captured_ns)
{
    return (crn_firing_fruit){
        .key = {"a", 3, added++}, .outlet = outlet, .encoder = encoder, .captured_ns = captured_ns};
}

static void add_at(int32_t outlet, uint64_t encoder, int64_t captured_ns)
{
    crn_firing_fruit fruit = fruit_at(outlet, encoder, captured_ns);
    crn_firing_add(firing, &fruit);
}

static void add(int32_t outlet)
{
    add_at(outlet, tick(), now_ns);
}

static void expect_counts(int32_t outlet, const crn_firing_counts *wanted)
{
    crn_firing_counts counts = crn_firing_get_counts(firing, outlet);
    assert_memory_equal(&counts, wanted, sizeof counts);
}

static void coils_are_written_at_the_tick(void **state)
{
    (void)state;
    pass(100);
    int64_t captured_ns = now_ns;
    add(WASTE);
    add(SECOND);
    add(END);
    assert_int_equal(crn_firing_waiting(firing), 2);
    pass(500);
    assert_int_equal(written_count, 3);
    assert_int_equal(written[0].ejector, 0);
    assert_true(written[0].on);
    assert_int_equal(written[0].time_ns, captured_ns + 1000 / 4 * MS);
    assert_false(written[1].on);
    assert_int_equal(written[1].time_ns, written[0].time_ns + 15 * MS);
    assert_int_equal(written[2].ejector, 1); /* earlier by its ejector's delay, once */
    assert_int_equal(written[2].time_ns, captured_ns + (1500 / 4 - 10) * MS);
    expect_counts(SECOND, &(crn_firing_counts){.fired = 1});
    expect_counts(END, &(crn_firing_counts){.fired = 0});
    assert_int_equal(ended[CRN_FIRING_FIRED], 1); /* nothing confirms SECOND */
    assert_int_equal(ended[CRN_FIRING_MISSED], 1);
}

static void the_lead_is_learnt(void **state)
{
    (void)state;
    round_ns = 8 * MS;
    pass(100);
    add(WASTE);
    pass(300); /* on and off */
    assert_int_equal(crn_firing_lead_ns(firing), 4 * MS);
    int64_t captured_ns = now_ns;
    add(WASTE);
    pass(300);
    assert_int_equal(written[2].time_ns, captured_ns + (1000 / 4 - 4) * MS);
}

static void confirmed_or_missed(void **state)
{
    (void)state;
    pass(100);
    add(WASTE);
    pass(25);
    add(WASTE);
    pass(260);
    crn_firing_confirm(firing, 0, now_ns); /* of the first */
    pass(200);
    expect_counts(WASTE, &(crn_firing_counts){.fired = 2, .confirmed = 1, .missed = 1});
    crn_firing_confirm(firing, 0, now_ns);
    expect_counts(WASTE,
                  &(crn_firing_counts){.fired = 2, .confirmed = 1, .missed = 1, .unexpected = 1});
}

/* At 400 ticks apart, neighbours' pulses do not meet; at 40 one pulse serves both. */
static void pulses_that_meet_are_one(void **state)
{
    (void)state;
    pass(100);
    add(WASTE);
    pass(10);
    add(WASTE);
    pass(300);
    assert_int_equal(written_count, 3);
    assert_true(written[0].on && written[1].on && !written[2].on);
    assert_int_equal(written[2].time_ns, written[1].time_ns + 15 * MS);
}

static void no_coil_stays_on_at_the_end(void **state)
{
    (void)state;
    pass(100);
    add(WASTE);
    pass(255);
    assert_int_equal(written_count, 1);
    crn_firing_end(firing);
    crn_firing_end(firing);
    assert_int_equal(written_count, 2);
    assert_false(written[1].on);
    assert_int_equal(ended[CRN_FIRING_FIRED], 1); /* its confirmation is not awaited */
}

static void late_decisions_fire_nothing(void **state)
{
    (void)state;
    pass(100);
    crn_firing_fruit fruit = fruit_at(WASTE, tick(), now_ns);
    pass(1000 / 4 + TOLERANCE / 4 + 1);
    crn_firing_add(firing, &fruit);
    pass(300);
    assert_int_equal(written_count, 0);
    expect_counts(WASTE, &(crn_firing_counts){.too_late = 1});
}

static void what_cannot_be_located_is_lost(void **state)
{
    (void)state;
    add(WASTE); /* nothing was read so far */
    pass(100);
    add_at(WASTE, tick(), CRN_NEVER_NS);
    add_at(WASTE, tick() + 500, now_ns);
    add_at(WASTE, tick(), now_ns + CRN_NS_PER_S);
    pass(400);
    assert_int_equal(written_count, 0);
    expect_counts(WASTE, &(crn_firing_counts){.lost = 4});
    assert_int_equal(crn_firing_unplaced(firing), 3); /* not the one without a time */
}

static void fruits_before_a_silence_are_lost(void **state)
{
    (void)state;
    pass(100);
    add(WASTE);
    now_ns += 100 * MS; /* nothing is read */
    assert_int_equal(crn_firing_run(firing, now_ns), CRN_NEVER_NS);
    assert_int_equal(crn_firing_waiting(firing), 1);
    pass(400);
    assert_int_equal(written_count, 0);
    expect_counts(WASTE, &(crn_firing_counts){.lost = 1});
    assert_int_equal(crn_firing_unplaced(firing), 1);
}

/* They have passed long before the next reading. */
static void fruits_do_not_wait_for_a_belt_that_stays_silent(void **state)
{
    (void)state;
    pass(100);
    add(WASTE);
    now_ns += 50 * MS + 10 * CRN_NS_PER_S;
    crn_firing_run(firing, now_ns);
    assert_int_equal(crn_firing_waiting(firing), 1);
    now_ns += MS;
    crn_firing_run(firing, now_ns);
    assert_int_equal(crn_firing_waiting(firing), 0);
    expect_counts(WASTE, &(crn_firing_counts){.lost = 1});
    assert_int_equal(crn_firing_unplaced(firing), 1);
}

static void without_a_plc_fruits_are_lost(void **state)
{
    (void)state;
    pass(100);
    add(WASTE);
    result = -ENOTCONN;
    pass(500);
    assert_int_equal(written_count, 1);
    expect_counts(WASTE, &(crn_firing_counts){.lost = 1});
    assert_int_equal(crn_firing_unplaced(firing), 0);
    result = 0;
    crn_firing_reconnected(
        firing); /* a coil that may be on is written off, one without pulse not */
    pass(10);
    assert_int_equal(written_count, 2);
    assert_int_equal(written[1].ejector, 0);
    assert_false(written[1].on);
}

/* The connection ended before the answer: the light barrier tells whether the PLC did it. */
static void a_lost_answer_is_told_by_the_confirmation(void **state)
{
    (void)state;
    result = -EIO;
    pass(100);
    add(WASTE);
    pass(270);
    expect_counts(WASTE, &(crn_firing_counts){.fired = 0});
    crn_firing_confirm(firing, 0, now_ns);
    expect_counts(WASTE, &(crn_firing_counts){.fired = 1, .confirmed = 1});
    add(WASTE);
    pass(500);
    expect_counts(WASTE, &(crn_firing_counts){.fired = 1, .confirmed = 1, .lost = 1});
}

static void only_so_many_fruits_wait(void **state)
{
    (void)state;
    pass(100);
    for (int i = 0; i < 600; i++)
        add(WASTE);
    assert_int_equal(crn_firing_waiting(firing), 512);
    expect_counts(WASTE, &(crn_firing_counts){.lost = 88});
    assert_int_equal(crn_firing_unplaced(firing), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(coils_are_written_at_the_tick),
        TEST(the_lead_is_learnt),
        TEST(confirmed_or_missed),
        TEST(pulses_that_meet_are_one),
        TEST(no_coil_stays_on_at_the_end),
        TEST(late_decisions_fire_nothing),
        TEST(what_cannot_be_located_is_lost),
        TEST(fruits_before_a_silence_are_lost),
        TEST(fruits_do_not_wait_for_a_belt_that_stays_silent),
        TEST(without_a_plc_fruits_are_lost),
        TEST(a_lost_answer_is_told_by_the_confirmation),
        TEST(only_so_many_fruits_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

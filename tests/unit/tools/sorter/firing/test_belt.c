/* The belt's position from a counter's readings: against a belt whose position is known. */
#include <math.h>
#include <string.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/random.h"
#include "tools/sorter/belt/belt.h"

#define SPEED   4000.0
#define POLL_NS (5 * CRN_NS_PER_MS)

static crn_belt belt;
static int64_t now_ns;
static double position; /* at now_ns; the counter is its whole part */

static void init(int32_t bits)
{
    crn_belt_init(&belt, &(crn_belt_plan){.bits = bits,
                                          .speed_max = 2 * SPEED,
                                          .stop_ns = 50 * CRN_NS_PER_MS,
                                          .age_max_ns = 50 * CRN_NS_PER_MS});
    now_ns = 1000 * CRN_NS_PER_S;
    position = 0;
}

static int set_up(void **state)
{
    (void)state;
    init(32);
    return 0;
}

static void read_tick(double tick, int64_t time_ns)
{
    uint64_t mask = belt.plan.bits == 64 ? UINT64_MAX : (UINT64_C(1) << belt.plan.bits) - 1;
    crn_belt_read(&belt, &(crn_belt_reading){.tick = (uint64_t)(int64_t)floor(tick) & mask,
                                             .time_ns = time_ns,
                                             .uncertain_ns = 100 * CRN_NS_PER_US});
}

/* The belt moves on at that speed, and its counter is read. */
static void move(double speed)
{
    now_ns += POLL_NS;
    position += speed * (double)POLL_NS / CRN_NS_PER_S;
    read_tick(position, now_ns);
}

static void run(double speed, int readings)
{
    for (int i = 0; i < readings; i++)
        move(speed);
}

/* The position, which must be known, less the true one. */
static double error_at(double origin)
{
    crn_belt_motion motion;
    assert_true(crn_belt_get_motion(&belt, now_ns, &motion));
    return crn_belt_at(&motion, now_ns) - (position - origin);
}

static void expect_unknown(void)
{
    crn_belt_motion motion;
    assert_false(crn_belt_get_motion(&belt, now_ns, &motion));
}

static void steady_belts_are_known_to_a_tick(void **state)
{
    (void)state;
    expect_unknown();
    run(SPEED, 1);
    expect_unknown(); /* one reading has no speed */
    run(SPEED, 100);
    assert_true(fabs(error_at(0)) <= 1);
    crn_belt_motion motion;
    assert_true(crn_belt_get_motion(&belt, now_ns, &motion));
    assert_true(fabs(motion.speed - SPEED) < SPEED / 100);
}

/* Between 0.5 and 1.5 times the speed within half a second each. */
static void ramps_are_followed(void **state)
{
    (void)state;
    double largest = 0;
    run(SPEED, 20);
    for (int i = 0; i < 1000; i++) {
        move(SPEED * (1 + 0.5 * sin(i * 0.03)));
        largest = fmax(largest, fabs(error_at(0)));
    }
    assert_true(largest <= 3);
}

static void stops_and_reversals_are_movement(void **state)
{
    (void)state;
    run(SPEED, 20);
    for (int speed = (int)SPEED; speed >= -2000; speed -= 400)
        move(speed);
    run(-2000, 20);
    assert_true(fabs(error_at(0)) <= 1);
    for (int speed = -2000; speed <= 0; speed += 400)
        move(speed);
    run(0, 20);
    assert_true(fabs(error_at(0)) <= 1);
    assert_int_equal(belt.stats.refused, 0);
    assert_int_equal(belt.epoch, 0);
}

static void counters_of_any_width_wrap_around(void **state)
{
    (void)state;
    static const int32_t widths[] = {16, 24, 32, 63, 64};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        init(widths[i]);
        /* From 100 ticks before the wrap, written so that doubles have them. */
        uint64_t tick = UINT64_MAX - 100;
        uint64_t mask = widths[i] == 64 ? UINT64_MAX : (UINT64_C(1) << widths[i]) - 1;
        for (int k = 0; k < 100; k++, tick += 20, now_ns += POLL_NS)
            crn_belt_read(&belt, &(crn_belt_reading){tick & mask, now_ns, 0});
        crn_belt_motion motion;
        assert_true(crn_belt_get_motion(&belt, now_ns, &motion));
        assert_true(fabs(crn_belt_at(&motion, now_ns) - (20 * 100 - 101)) < 1.5);
        assert_int_equal(belt.stats.refused, 0);
    }
}

static void late_and_repeated_readings_change_nothing(void **state)
{
    (void)state;
    run(SPEED, 20);
    read_tick(position - 60, now_ns - 15 * CRN_NS_PER_MS);
    read_tick(position + 5000, now_ns);
    read_tick(0, now_ns - CRN_NS_PER_S);
    assert_int_equal(belt.stats.late, 3);
    assert_true(fabs(error_at(0)) <= 1);
}

static void one_false_reading_is_passed_over(void **state)
{
    (void)state;
    run(SPEED, 20);
    now_ns += CRN_NS_PER_MS;
    read_tick(position + 777, now_ns);
    expect_unknown();
    now_ns -= CRN_NS_PER_MS;
    move(SPEED);
    assert_true(fabs(error_at(0)) <= 1);
    assert_int_equal(belt.epoch, 0);
    assert_int_equal(belt.stats.refused, 1);
    assert_int_equal(belt.stats.jumps, 0);
}

static void jumps_begin_an_epoch(void **state)
{
    (void)state;
    int64_t located;
    run(SPEED, 20);
    int64_t before_ns = now_ns;
    double before = position;
    assert_true(crn_belt_locate(&belt, (uint64_t)before, before_ns, &located));
    position += 300;
    run(SPEED, 1);
    expect_unknown();
    run(SPEED, 20);
    assert_int_equal(belt.epoch, 1);
    assert_int_equal(belt.stats.jumps, 1);
    assert_false(crn_belt_locate(&belt, (uint64_t)before, before_ns, &located));
    assert_true(crn_belt_locate(&belt, (uint64_t)position, now_ns, &located));
}

static void silence_makes_the_position_unknown(void **state)
{
    (void)state;
    run(SPEED, 20);
    now_ns += 50 * CRN_NS_PER_MS;
    crn_belt_motion motion;
    assert_true(crn_belt_get_motion(&belt, now_ns, &motion));
    now_ns++;
    expect_unknown();
    run(SPEED, 1); /* the counter may have been reset meanwhile */
    expect_unknown();
    run(SPEED, 1);
    assert_int_equal(belt.epoch, 1);
    assert_int_equal(belt.stats.silences, 1);
    assert_true(crn_belt_get_motion(&belt, now_ns, &motion));
}

static void fruits_are_where_their_tick_was_read(void **state)
{
    (void)state;
    crn_random random = {crn_random_seed()};
    int64_t first_ns = now_ns + 100 * POLL_NS, located;
    run(SPEED, 600);
    for (int i = 0; i < 1000; i++) {
        int64_t time_ns = first_ns + (int64_t)crn_random_below(&random, 490) * POLL_NS;
        double there = SPEED * (double)(time_ns - 1000 * CRN_NS_PER_S) / CRN_NS_PER_S;
        /* The camera's clock differs by some ms: the tick counts. */
        int64_t off_ns = crn_random_between(&random, -10, 10) * CRN_NS_PER_MS;
        assert_true(crn_belt_locate(&belt, (uint64_t)there, time_ns + off_ns, &located));
        assert_int_equal(located, (int64_t)there);
        assert_false(crn_belt_locate(&belt, (uint64_t)there + 400, time_ns + off_ns, &located));
    }
    assert_false(crn_belt_locate(&belt, 20, 1000 * CRN_NS_PER_S, &located)); /* forgotten */
    assert_false(crn_belt_locate(&belt, (uint64_t)position, now_ns + CRN_NS_PER_S, &located));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, set_up)
    const struct CMUnitTest tests[] = {
        TEST(steady_belts_are_known_to_a_tick),
        TEST(ramps_are_followed),
        TEST(stops_and_reversals_are_movement),
        TEST(counters_of_any_width_wrap_around),
        TEST(late_and_repeated_readings_change_nothing),
        TEST(one_false_reading_is_passed_over),
        TEST(jumps_begin_an_epoch),
        TEST(silence_makes_the_position_unknown),
        TEST(fruits_are_where_their_tick_was_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

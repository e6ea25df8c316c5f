/* The window of registers that a PLC reads: what stands where, acknowledgements, overwriting. */
#include <string.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/random.h"
#include "tools/sorter/modbus/window.h"

#define CAPACITY 25

static const crn_window_state state_of_line = {.run = 77, .heartbeat = 5, .state = CRN_LINE_HEARD};

static crn_window *window;
static uint16_t registers[CRN_WINDOW_DISTANCE];

static int set_up(void **state)
{
    (void)state;
    return crn_window_create(CAPACITY, &window);
}

static int tear_down(void **state)
{
    (void)state;
    crn_window_free(&window);
    return 0;
}

static bool add(uint64_t fruit)
{
    const crn_decision decision = {.outlet = 1,
                                   .reason = CRN_DECIDED_RULE,
                                   .lane = 3,
                                   .fruit = fruit,
                                   .encoder = 0x123456789,
                                   .sequence = fruit};
    return crn_window_add(window, &decision, 0);
}

static void look(int64_t now_ns)
{
    crn_window_write(window, &state_of_line, now_ns, registers);
}

static uint32_t number_at(int at)
{
    return (uint32_t)registers[at] << 16 | registers[at + 1];
}

/* The number of the window's decision at that place; 0: none. */
static uint32_t shown(int place)
{
    return number_at(CRN_WINDOW_HEADER + place * CRN_WINDOW_DECISION + 1);
}

static void every_register_has_its_place(void **state)
{
    (void)state;
    add(0x1fffe1234);
    look(1234 * CRN_NS_PER_MS);
    static const uint16_t expected[] = {77,     5,      1, 1,      0,      /* header */
                                        3,      0,      1, 0xfffe, 0x1234, /* lane … fruit */
                                        0x2345, 0x6789, 2, 1,      1234,   0, 0};
    assert_memory_equal(registers, expected, sizeof expected);
    for (int i = (int)(sizeof expected / sizeof *expected); i < CRN_WINDOW_ACK; i++)
        assert_int_equal(registers[i], 0);
    assert_int_equal(registers[CRN_WINDOW_ACK], 77);
    assert_int_equal(number_at(CRN_WINDOW_ACK + 1), 0);
    const crn_decision lost = {.outlet = 15, .reason = CRN_DECIDED_LOST, .lost = 1000000};
    crn_window_add(window, &lost, 0);
    look(1000 * CRN_NS_PER_S);
    const uint16_t *second = registers + CRN_WINDOW_HEADER + CRN_WINDOW_DECISION;
    assert_int_equal(second[7], 16);
    assert_int_equal(second[8], CRN_DECIDED_LOST + 1);
    assert_int_equal(second[9], UINT16_MAX);
    assert_int_equal(second[10], UINT16_MAX);
}

static void what_is_acknowledged_makes_room(void **state)
{
    (void)state;
    for (uint64_t fruit = 1; fruit <= 12; fruit++)
        assert_true(add(fruit));
    look(0);
    assert_int_equal(registers[3], 12);
    assert_int_equal(shown(0), 1);
    assert_int_equal(shown(9), 10);
    assert_true(crn_window_acknowledge(window, 10));
    look(0);
    assert_int_equal(registers[3], 2);
    assert_int_equal(shown(0), 11);
    assert_int_equal(shown(1), 12);
    assert_int_equal(shown(2), 0);
    assert_int_equal(number_at(CRN_WINDOW_ACK + 1), 10);
    assert_true(crn_window_acknowledge(window, 10));
    assert_false(crn_window_acknowledge(window, 9));
    assert_false(crn_window_acknowledge(window, 13));
    assert_true(crn_window_acknowledge(window, 12));
    look(0);
    assert_int_equal(registers[3], 0);
    assert_int_equal(shown(0), 0);
}

static void what_is_overwritten_is_counted(void **state)
{
    (void)state;
    for (uint64_t fruit = 1; fruit <= CAPACITY; fruit++)
        assert_true(add(fruit));
    assert_false(add(CAPACITY + 1));
    assert_false(add(CAPACITY + 2));
    look(0);
    assert_int_equal(registers[3], CAPACITY);
    assert_int_equal(registers[4], 2);
    assert_int_equal(shown(0), 3);
    assert_false(crn_window_acknowledge(window, 2));
}

/* A PLC that polls and acknowledges as it likes: each decision comes once, in order, or is counted
 * as overwritten. */
static void every_decision_is_taken_once_or_overwritten(void **state)
{
    (void)state;
    crn_random random = {crn_random_seed()};
    uint64_t added = 0, taken = 0;
    uint32_t last = 0;
    for (uint32_t i = 0; i < crn_random_cases(20000); i++) {
        for (uint32_t left = crn_random_below(&random, 20); left; left--)
            add(++added);
        look(0);
        uint32_t count = 0;
        while (count < CRN_WINDOW_DECISIONS && shown((int)count))
            count++;
        uint32_t take = crn_random_below(&random, count + 1);
        for (uint32_t place = 0; place < take; place++) {
            assert_true(shown((int)place) > last);
            last = shown((int)place);
            taken++;
        }
        if (take)
            assert_true(crn_window_acknowledge(window, last));
    }
    crn_window_counts counts = crn_window_get_counts(window);
    assert_int_equal(counts.added, added);
    assert_int_equal(counts.acknowledged, taken);
    assert_int_equal(taken + counts.overwritten + counts.waiting, added);
    assert_true(counts.overwritten > 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(every_register_has_its_place),
        TEST(what_is_acknowledged_makes_room),
        TEST(what_is_overwritten_is_counted),
        TEST(every_decision_is_taken_once_or_overwritten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

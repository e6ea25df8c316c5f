/* Fruits of the last minute, from counts since the start. */
#include <string.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tools/sorter/page/minute.h"

static crn_outlet_minute minute;

static int set_up(void **state)
{
    static const uint64_t none[CRN_OUTLETS_MAX];
    uint64_t fruits[CRN_OUTLETS_MAX];
    (void)state;
    memset(&minute, 0, sizeof minute);
    crn_outlet_minute_add(&minute, 0, none, fruits);
    return 0;
}

/* Fruits of the last minute in outlet 3, where so many have come until then. */
static uint64_t add(double at_s, uint64_t count)
{
    uint64_t fruits[CRN_OUTLETS_MAX] = {[3] = count}, last[CRN_OUTLETS_MAX];
    crn_outlet_minute_add(&minute, (int64_t)(at_s * CRN_NS_PER_S), fruits, last);
    for (int32_t i = 0; i < CRN_OUTLETS_MAX; i++)
        if (i != 3)
            assert_int_equal(last[i], 0);
    return last[3];
}

static void all_count_within_the_first_minute(void **state)
{
    (void)state;
    assert_int_equal(add(1, 5), 5);
    assert_int_equal(add(2, 5), 5);
    assert_int_equal(add(59, 11), 11);
}

static void a_steady_flow_has_its_rate(void **state)
{
    (void)state;
    for (int second = 1; second <= 300; second++) {
        uint64_t last = add(second * 1.002, 10 * (uint64_t)second);
        assert_int_equal(last, second < 60 ? 10 * second : 600);
    }
}

static void fruits_are_forgotten_after_a_minute(void **state)
{
    (void)state;
    for (int second = 1; second <= 30; second++)
        add(second, 100);
    for (int second = 31; second <= 60; second++)
        assert_int_equal(add(second, 100), 100);
    for (int second = 61; second <= 130; second++)
        assert_int_equal(add(second, 100), 0);
}

static void a_long_pause_ends_the_minute(void **state)
{
    (void)state;
    add(1, 5);
    assert_int_equal(add(1000, 50), 0); /* it is not known when they came */
    assert_int_equal(add(1001, 57), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(all_count_within_the_first_minute, set_up),
        cmocka_unit_test_setup(a_steady_flow_has_its_rate, set_up),
        cmocka_unit_test_setup(fruits_are_forgotten_after_a_minute, set_up),
        cmocka_unit_test_setup(a_long_pause_ends_the_minute, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

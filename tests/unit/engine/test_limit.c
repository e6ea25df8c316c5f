/* The time after which a device counts as lost. */
#include "src/engine/limit.h"
#include "tests/support/cmocka_prelude.h"

#define MS(n) ((n)*CRN_NS_PER_MS)

static void a_call_has_a_quarter_of_the_budget(void **state)
{
    (void)state;
    assert_int_equal(crn_limit_of_call_ns(MS(100), false), MS(25));
    assert_int_equal(crn_limit_of_call_ns(MS(40), false), MS(20)); /* at least */
}

static void through_mps_it_is_half(void **state)
{
    (void)state;
    assert_int_equal(crn_limit_of_call_ns(MS(100), true), MS(50));
    assert_int_equal(crn_limit_of_call_ns(MS(10), true), MS(20));
    assert_int_equal(crn_limit_of_batch_ns(MS(1), MS(1), MS(100), true), MS(50));
}

static void a_batch_has_eight_times_its_recent_duration(void **state)
{
    (void)state;
    assert_int_equal(crn_limit_of_batch_ns(MS(1), 0, MS(100), false), MS(25));
    assert_int_equal(crn_limit_of_batch_ns(MS(4), 0, MS(100), false), MS(32));
    assert_int_equal(crn_limit_of_batch_ns(MS(9), 0, MS(100), false), MS(50));
}

static void or_twice_the_longest_recent_one(void **state)
{
    (void)state;
    assert_int_equal(crn_limit_of_batch_ns(MS(1), MS(20), MS(100), false), MS(40));
    assert_int_equal(crn_limit_of_batch_ns(MS(1), MS(30), MS(100), false), MS(50)); /* at most */
    assert_int_equal(crn_limit_of_batch_ns(MS(6), MS(20), MS(100), false), MS(48));
}

static void the_longest_is_forgotten_in_time(void **state)
{
    (void)state;
    int64_t longest_ns = crn_limit_longest_ns(0, MS(20));
    assert_int_equal(longest_ns, MS(20));
    assert_int_equal(crn_limit_longest_ns(longest_ns, MS(30)), MS(30));
    longest_ns = crn_limit_longest_ns(longest_ns, MS(1));
    assert_in_range(longest_ns, MS(19), MS(20) - 1);
    for (int i = 0; i < 10 * CRN_LIMIT_FORGET; i++)
        longest_ns = crn_limit_longest_ns(longest_ns, MS(1));
    assert_in_range(longest_ns, 1, MS(1) + MS(1) / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_has_a_quarter_of_the_budget),
        cmocka_unit_test(through_mps_it_is_half),
        cmocka_unit_test(a_batch_has_eight_times_its_recent_duration),
        cmocka_unit_test(or_twice_the_longest_recent_one),
        cmocka_unit_test(the_longest_is_forgotten_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

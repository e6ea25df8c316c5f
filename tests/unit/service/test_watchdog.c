/* Which threads the watchdog takes for stuck, told by pulses that the test moves itself. */
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "src/service/watchdog.h"
#include "stages/base/clock.h"

#define STEP_NS  (1 * CRN_NS_PER_S)
#define LIMIT_NS (10 * CRN_NS_PER_S)

static crn_pulse pulse;
static int64_t now_ns = 1000 * CRN_NS_PER_S;

static bool is_stuck(void)
{
    char name[CRN_PULSE_NAME_BYTES] = "";
    bool stuck = crn_watchdog_stuck(LIMIT_NS, name);
    if (stuck)
        assert_string_equal(name, "worker 3");
    return stuck;
}

/* Lets time pass, a look a second. */
static void pass(int seconds)
{
    for (int i = 0; i < seconds; i++) {
        now_ns += CRN_NS_PER_S;
        crn_watchdog_look(now_ns, STEP_NS);
    }
}

static void watch(crn_pulse_kind kind)
{
    memset(&pulse, 0, sizeof pulse);
    crn_watchdog_add(&pulse, kind, "worker 3");
    pass(1);
}

static int forget(void **state)
{
    (void)state;
    crn_watchdog_remove(&pulse);
    assert_false(is_stuck());
    return 0;
}

static void a_thread_without_work_is_never_stuck(void **state)
{
    (void)state;
    watch(CRN_PULSE_WORK);
    pass(100);
    assert_false(is_stuck());
}

static void a_thread_that_does_not_begin_its_work_is_stuck(void **state)
{
    (void)state;
    watch(CRN_PULSE_WORK);
    crn_pulse_given(&pulse);
    pass(9);
    assert_false(is_stuck());
    pass(1);
    assert_true(is_stuck());
    assert_int_equal(crn_pulse_quiet_ns(&pulse), LIMIT_NS);
    crn_pulse_done(&pulse);
    pass(1);
    assert_false(is_stuck());
}

static void a_thread_that_moves_has_time_again(void **state)
{
    (void)state;
    watch(CRN_PULSE_WORK);
    for (int i = 0; i < 3; i++)
        crn_pulse_given(&pulse);
    for (int i = 0; i < 2; i++) {
        pass(9);
        crn_pulse_done(&pulse);
        pass(1);
        assert_false(is_stuck());
    }
    pass(10);
    assert_true(is_stuck());
}

static void a_thread_of_rounds_is_stuck_without_work(void **state)
{
    (void)state;
    watch(CRN_PULSE_ROUNDS);
    crn_pulse_done(&pulse);
    pass(11);
    assert_true(is_stuck());
}

static void a_time_limit_that_runs_is_waited_for(void **state)
{
    (void)state;
    watch(CRN_PULSE_WORK);
    crn_pulse_given(&pulse);
    crn_pulse_limit(&pulse, now_ns + 20 * CRN_NS_PER_S);
    pass(28);
    assert_false(is_stuck());
    pass(2);
    assert_true(is_stuck());
    crn_pulse_limit(&pulse, CRN_NEVER_NS); /* none */
    pass(1);
    assert_true(is_stuck());
}

static void a_thread_that_the_line_does_without_is_reported_only(void **state)
{
    (void)state;
    watch(CRN_PULSE_APART);
    crn_pulse_given(&pulse);
    pass(100);
    assert_false(is_stuck());
    assert_int_equal(crn_pulse_quiet_ns(&pulse), 100 * CRN_NS_PER_S);
}

static void a_retired_thread_need_not_move(void **state)
{
    (void)state;
    watch(CRN_PULSE_WORK);
    crn_pulse_given(&pulse);
    crn_pulse_retire(&pulse);
    pass(100);
    assert_false(is_stuck());
}

static void time_without_looks_does_not_count(void **state)
{
    (void)state;
    watch(CRN_PULSE_ROUNDS);
    now_ns += 3600 * CRN_NS_PER_S; /* the process was stopped */
    pass(8);
    assert_false(is_stuck());
}

#define TEST(f) cmocka_unit_test_teardown(f, forget)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_thread_without_work_is_never_stuck),
        TEST(a_thread_that_does_not_begin_its_work_is_stuck),
        TEST(a_thread_that_moves_has_time_again),
        TEST(a_thread_of_rounds_is_stuck_without_work),
        TEST(a_time_limit_that_runs_is_waited_for),
        TEST(a_thread_that_the_line_does_without_is_reported_only),
        TEST(a_retired_thread_need_not_move),
        TEST(time_without_looks_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

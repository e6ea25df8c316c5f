/* The throughput search of cernita-bench line, on simulated lines with a clock of their own. */
#include <errno.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tools/bench/line/search.h"

#define RUN_S 5

/* A line that keeps up to a rate, in a world where a run takes RUN_S. */
typedef struct simulated {
    double capacity;
    int64_t now_ns;
    int runs, fails_at; /* the run that ends with an error; 0: none */
} simulated;

static int keeps_up(void *context, double rate)
{
    simulated *line = context;
    assert_true(rate >= CRN_SEARCH_RATE_MIN && rate <= CRN_SEARCH_RATE_MAX);
    line->now_ns += RUN_S * CRN_NS_PER_S;
    line->runs++;
    if (line->runs == line->fails_at)
        return -ECHILD;
    return rate <= line->capacity;
}

static int64_t now_ns(void *context)
{
    return ((simulated *)context)->now_ns;
}

static crn_search_result search(simulated *line, double guess, int64_t seconds)
{
    crn_search_trial trial = {keeps_up, now_ns, line};
    crn_search_result result;
    assert_int_equal(crn_search(&trial, guess, seconds * CRN_NS_PER_S, &result), 0);
    return result;
}

/* Whatever the line keeps up with, from a good or a bad guess. */
static void the_rate_is_found_in_few_runs(void **state)
{
    (void)state;
    for (double capacity = 5; capacity < 5e4; capacity *= 1.37)
        for (double share = 0.5; share < 20; share *= 1.5) {
            simulated line = {.capacity = capacity};
            crn_search_result result = search(&line, share * capacity, 1000);
            assert_true(result.timely);
            assert_true(result.rate <= capacity && result.above > capacity);
            assert_true(result.above <= CRN_SEARCH_PRECISION * result.rate);
            assert_in_range(line.runs, 2, 14);
        }
}

static void the_time_is_kept(void **state)
{
    (void)state;
    for (int64_t seconds = 0; seconds < 60; seconds += RUN_S) {
        simulated line = {.capacity = 333};
        crn_search_result result = search(&line, 8000, seconds);
        assert_true(line.now_ns <= (seconds + RUN_S) * CRN_NS_PER_S);
        assert_true(result.rate <= 333);
        if (line.now_ns >= seconds * CRN_NS_PER_S && seconds < 4 * RUN_S)
            assert_false(result.timely);
    }
}

static void a_line_beyond_both_ends_has_a_result(void **state)
{
    (void)state;
    simulated slow = {.capacity = 1}, fast = {.capacity = 1e9};
    crn_search_result result = search(&slow, 100, 1000);
    assert_true(result.timely && result.rate == 0 && result.above == CRN_SEARCH_RATE_MIN);
    result = search(&fast, 1000, 1000);
    assert_true(result.timely && result.rate == CRN_SEARCH_RATE_MAX && result.above == 0);
    simulated again = {.capacity = 1e9};
    result = search(&again, 0, 7); /* a guess that is none */
    assert_true(!result.timely && result.rate > 0 && result.above == 0);
}

static void a_run_that_fails_ends_it(void **state)
{
    (void)state;
    simulated line = {.capacity = 100, .fails_at = 3};
    crn_search_trial trial = {keeps_up, now_ns, &line};
    crn_search_result result;
    assert_int_equal(crn_search(&trial, 100, INT64_MAX, &result), -ECHILD);
    assert_int_equal(line.runs, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rate_is_found_in_few_runs),
        cmocka_unit_test(the_time_is_kept),
        cmocka_unit_test(a_line_beyond_both_ends_has_a_result),
        cmocka_unit_test(a_run_that_fails_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

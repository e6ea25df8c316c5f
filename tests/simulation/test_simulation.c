/*
 * The whole line in simulated time, by many seeds: README.md. `CRN_SEED=… CRN_CASES=1` repeats one;
 * CRN_FRUITS sets the fruits of each.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/simulation/scenario.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/random.h"

#define CASES  200
#define FRUITS 40

/* No run takes as long: it is in an endless loop. */
#define ALARM_S 60

static char now_running[128];

/* A crash, or an endless loop, of the line. */
static void tell_seed(int number)
{
    if (write(STDERR_FILENO, now_running, strlen(now_running)) < 0)
        _exit(1);
    signal(number, SIG_DFL);
    raise(number);
}

static void watch_signals(void)
{
    static unsigned char stack[65536];
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGALRM};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaction(numbers[i], &(struct sigaction){.sa_handler = tell_seed, .sa_flags = SA_ONSTACK},
                  NULL);
}

static uint32_t fruits(void)
{
    const char *text = getenv("CRN_FRUITS");
    uint32_t count = text ? (uint32_t)strtoul(text, NULL, 0) : FRUITS;
    return count < CRN_SIM_FRUITS_MAX ? count : CRN_SIM_FRUITS_MAX;
}

static sim_outcome run_seed(uint64_t seed)
{
    snprintf(now_running, sizeof now_running,
             "CRN_SEED=%" PRIu64 " CRN_CASES=1 CRN_FRUITS=%" PRIu32 " test_simulation: a signal\n",
             seed, fruits());
    watch_signals(); /* in the place of cmocka's */
    alarm(ALARM_S);
    sim_outcome outcome = sim_run_line(seed, test_folder, fruits());
    alarm(0);
    if (outcome.failure)
        fail_msg("after %.6f s: %s\nCRN_SEED=%" PRIu64 " CRN_CASES=1 CRN_FRUITS=%" PRIu32
                 " test_simulation repeats it",
                 (double)outcome.at_ns / 1e9, outcome.failure, seed, fruits());
    return outcome;
}

static void add(sim_counts *sum, const sim_counts *counts)
{
    const uint64_t *from = (const uint64_t *)counts;
    uint64_t *to = (uint64_t *)sum;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
        to[i] += from[i];
}

static void test_invariants_hold(void **state)
{
    (void)state;
    uint64_t seed = crn_random_seed();
    uint32_t cases = crn_random_cases(CASES);
    double simulated_s = 0;
    sim_counts sum = {0};
    clock_t began = clock();
    for (uint32_t i = 0; i < cases; i++) {
        sim_outcome outcome = run_seed(seed + i);
        simulated_s += (double)outcome.at_ns / 1e9;
        add(&sum, &outcome.counts);
    }
    double processor_s = (double)(clock() - began) / CLOCKS_PER_SEC;
    printf("%" PRIu32 " seeds, %" PRIu64 " fruits (%" PRIu64 " complete, %" PRIu64
           " partial, %" PRIu64 " late), %" PRIu64
           " views, %.0f simulated s in %.1f s of the processor\n",
           cases, sum.verdicts, sum.complete, sum.partial, sum.late, sum.wanted, simulated_s,
           processor_s);
    /* Else the simulation provokes nothing. */
    if (cases >= CASES) {
        assert_true(sum.complete && sum.partial && sum.late && sum.stale && sum.lost_in_transit);
        assert_true(sum.logged && sum.log_dropped && sum.log_failed);
        assert_true(sum.duplicates && sum.stragglers && sum.refused && sum.lost_before);
    }
}

static void test_a_seed_repeats_itself(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        sim_outcome first = run_seed(seed), second = run_seed(seed);
        assert_int_equal(first.traced, second.traced);
        assert_int_equal(first.at_ns, second.at_ns);
        assert_memory_equal(&first.counts, &second.counts, sizeof first.counts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_seed_repeats_itself),
        cmocka_unit_test(test_invariants_hold),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}

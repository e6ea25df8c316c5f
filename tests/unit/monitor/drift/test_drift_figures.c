/*
 * What the charts of src/monitor/drift find, and how soon, on made-up lines of eight classes. As a
 * test: that the figures of their README hold on a few lines. Else it prints the tables there:
 *
 *     test_drift_figures delays [RUNS]     fruits of the lane from the change to the alarm
 *     test_drift_figures alarms [LINES]    false alarms of a line in 30 days
 *     test_drift_figures cost [ROUNDS]     of the line's thread, for a verdict
 */
#include <math.h>

#include "src/monitor/drift/feed.h"
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/unit/monitor/drift/drift_simulation.h"

/* After so many fruits a change is given up, which counts as its delay. */
enum { CLASSES = 8, GIVE_UP = 100000, LOOK_EVERY = 64 };

static const uint64_t seed = 20261128;

typedef struct delay_case {
    int32_t lanes;
    int before; /* fruits of each lane until the change */
    double share, factor;
    double most; /* the delay that issue and README name; 0: none */
} delay_case;

static const delay_case delay_cases[] = {
    {12, 100000, 0.1, 1.5, 1500}, {12, 100000, 0.1, 2, 450},   {12, 100000, 0.02, 2, 2200},
    {12, 10000, 0.1, 1.5, 0},     {12, 10000, 0.1, 2, 0},      {12, 10000, 0.02, 2, 0},
    {1, 100000, 0.1, 1.25, 0},    {1, 100000, 0.1, 1.5, 1500}, {1, 100000, 0.1, 2, 450},
    {1, 100000, 0.1, 0.5, 0},     {1, 100000, 0.02, 2, 2200},
};

#define DELAY_CASES (sizeof delay_cases / sizeof *delay_cases)

/* Fruits of lane 1 from the change of its first class until it is raised. */
static int measure_delay(const delay_case *with, uint64_t run)
{
    simulated_line line;
    int fruits = 0;
    open_simulated(&line, seed + run * 7919, with->lanes, CLASSES, CRN_DRIFT_FRUITS);
    set_shares(&line, with->share);
    for (int i = 0; i < with->before; i++)
        pass_fruits(&line);
    if (finds(&line, -2))
        printf("raised before the change: run %llu\n", (unsigned long long)run);
    line.shares[0][0] *= with->factor;
    do
        pass_fruits(&line);
    while (++fruits < GIVE_UP && !finds(&line, with->lanes > 1 ? 1 : -1));
    close_simulated(&line);
    return fruits;
}

static double mean_delay(const delay_case *with, uint32_t runs, double *ret_error)
{
    double sum = 0, squares = 0;
    for (uint32_t run = 0; run < runs; run++) {
        double delay = measure_delay(with, run);
        sum += delay;
        squares += delay * delay;
    }
    double mean = sum / runs;
    *ret_error = sqrt(fmax(squares / runs - mean * mean, 0) / runs);
    return mean;
}

static void print_delays(uint32_t runs)
{
    printf("| lanes | fruits of a lane before | share | change | mean delay | standard error |\n");
    printf("|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < DELAY_CASES; i++) {
        const delay_case *with = &delay_cases[i];
        double error, mean = mean_delay(with, runs, &error);
        printf("| %d | %d | %g %% | %+.0f %% | %.0f | %.0f |\n", with->lanes, with->before,
               100 * with->share, 100 * with->factor - 100, mean, error);
        fflush(stdout);
    }
}

/* A line over some time, in lots of equal length whose shares are random, from 0.2 to 30 %. */
typedef struct alarm_case {
    int32_t lanes, lots;
    double apart;  /* lanes differ from the lot's share by up to so much, always */
    double fruits; /* of a lane: the time in which at most one alarm may be false */
} alarm_case;

static void begin_random_lot(simulated_line *line, const alarm_case *with, uint64_t number)
{
    begin_lot(line, number);
    for (int32_t class = 0; class < CLASSES; class ++) {
        double share = 0.002 * exp(crn_random_unit(&line->random) * log(150));
        for (int32_t lane = 0; lane < with->lanes; lane++)
            line->shares[lane][class] =
                share * (1 + with->apart * (2.0 * ((lane * 5 + class) % 12) / 11 - 1));
    }
}

/* Times that something is raised. */
static int count_alarms(const alarm_case *with, uint64_t run)
{
    simulated_line line;
    int alarms = 0;
    open_simulated(&line, seed + run * 104729, with->lanes, CLASSES, with->fruits);
    for (int32_t lot = 0; lot < with->lots; lot++) {
        bool was_raised = false;
        begin_random_lot(&line, with, (uint64_t)lot);
        for (int64_t fruit = 0; fruit < (int64_t)(with->fruits / with->lots); fruit++) {
            pass_fruits(&line);
            if (fruit % LOOK_EVERY)
                continue;
            bool is_raised = finds(&line, -2);
            alarms += is_raised && !was_raised;
            was_raised = is_raised;
        }
    }
    close_simulated(&line);
    return alarms;
}

static void print_alarms(const alarm_case *with, uint32_t runs)
{
    int sum = 0;
    for (uint32_t run = 0; run < runs; run++)
        sum += count_alarms(with, run);
    printf("| %d | %.0f | %d | %g %% | %u | %d |\n", with->lanes, with->fruits, with->lots,
           100 * with->apart, runs, sum);
    fflush(stdout);
}

static void print_all_alarms(uint32_t runs)
{
    printf("| lanes | fruits of a lane | lots | lanes differ by | lines | false alarms |\n");
    printf("|---|---|---|---|---|---|\n");
    print_alarms(&(alarm_case){1, 600, 0, CRN_DRIFT_FRUITS}, runs);
    print_alarms(&(alarm_case){12, 12, 0, CRN_DRIFT_FRUITS / 100}, 10 * runs);
    print_alarms(&(alarm_case){12, 12, 0.1, CRN_DRIFT_FRUITS / 100}, 10 * runs);
    print_alarms(&(alarm_case){12, 600, 0, CRN_DRIFT_FRUITS}, (runs + 9) / 10);
    print_alarms(&(alarm_case){12, 600, 0.1, CRN_DRIFT_FRUITS}, (runs + 9) / 10);
}

/* Of 4,000 verdicts, which the ring has room for, in each round; the shortest. */
static void print_cost(uint32_t rounds)
{
    enum { VERDICTS = 4000 };
    static crn_config config = {.classes.count = CLASSES};
    crn_class_total totals[CRN_CLASSES_MAX] = {{.count = 1}};
    crn_lane lane = {.number = 1};
    crn_fruit fruit = {.lane = &lane, .config = &config, .lot = "7"};
    crn_published published = {.totals = totals};
    crn_drift *drift;
    double least_ns = INFINITY;
    assert_int_equal(crn_drift_create(1, &drift), 0);
    for (uint32_t round = 0; round < rounds; round++) {
        int64_t began_ns = crn_now_ns();
        for (int i = 0; i < VERDICTS; i++)
            crn_drift_offer(drift, &fruit, &published);
        least_ns = fmin(least_ns, (double)(crn_now_ns() - began_ns) / VERDICTS);
        crn_drift_look(drift);
    }
    crn_drift_free(&drift);
    printf("%.0f ns\n", least_ns);
}

/* --- as a test --- */

static void changes_are_found_as_soon_as_the_readme_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < DELAY_CASES; i++) {
        const delay_case *with = &delay_cases[i];
        double error, mean;
        if (with->most == 0 || with->lanes > 1)
            continue;
        mean = mean_delay(with, 16, &error);
        if (mean > with->most + 2 * error)
            fail_msg("%g * %g: %g fruits", with->share, with->factor, mean);
    }
}

static void false_alarms_are_as_rare_as_the_readme_says(void **state)
{
    (void)state;
    int alarms = 0;
    for (uint64_t run = 0; run < 10; run++)
        alarms += count_alarms(&(alarm_case){3, 8, 0.05, 20000}, run);
    assert_in_range(alarms, 0, 10);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_found_as_soon_as_the_readme_says),
        cmocka_unit_test(false_alarms_are_as_rare_as_the_readme_says),
    };
    if (count < 2)
        return cmocka_run_group_tests(tests, NULL, NULL);
    uint32_t number = count > 2 ? (uint32_t)strtoul(arguments[2], NULL, 10) : 20;
    printf("seed %llu, %u runs\n", (unsigned long long)seed, number);
    if (strcmp(arguments[1], "delays") == 0)
        print_delays(number);
    else if (strcmp(arguments[1], "alarms") == 0)
        print_all_alarms(number);
    else
        print_cost(number);
    return 0;
}

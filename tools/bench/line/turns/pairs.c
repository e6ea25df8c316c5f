/*
 * cernita-bench line --pairs N: the floor (floor.c), the daemon by each of its paths, and where
 * there is iceoryx a reader of its memory, by turns, N times, so that whatever else the machine
 * does meets all of them; medians over the rounds, and of the ratios within a round. Each turn is a
 * run with a bounded number of fruits on their way, which none can lose and which a slow consumer
 * slows down, and a steady one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/bench/line/senders/iceoryx.h"
#include "tools/bench/line/line.h"
#include "tools/bench/time.h"

/* Fruits on their way of a run at full speed: with 4 views as many views as slots. */
#define FRUITS_AT_ONCE 4

/* Of the first run at full speed, which tells the number for the others. */
#define FIRST_FRUITS 40

static const crn_bench_subject subjects[] = {
    {CRN_PEER_FLOOR, CRN_PEER_SLOTS, "floor"},
    {CRN_PEER_DAEMON, CRN_PEER_TCP, "tcp"},
    {CRN_PEER_DAEMON, CRN_PEER_IPC, "ipc"},
    {CRN_PEER_DAEMON, CRN_PEER_SLOTS, "slots"},
    {CRN_PEER_DAEMON, CRN_PEER_SLOTS_ZMQ, "slots+zmq"},
    {CRN_PEER_FLOOR, CRN_PEER_ICEORYX, "iceoryx"}, /* the last one, as it may be missing */
};
#define SUBJECTS ((int)(sizeof subjects / sizeof *subjects))
enum { OF_FLOOR, OF_TCP, OF_IPC, OF_SLOTS, OF_SLOTS_ZMQ, OF_ICEORYX };

/* The figures of a turn. */
enum { FULL_PER_S, FULL_CPU_MS, STEADY_P50_MS, STEADY_P99_MS, STEADY_CPU_MS, FIGURES };
static const char *const figure_names[FIGURES] = {
    [FULL_PER_S] = "full_per_s",       [FULL_CPU_MS] = "full_cpu_ms",
    [STEADY_P50_MS] = "steady_p50_ms", [STEADY_P99_MS] = "steady_p99_ms",
    [STEADY_CPU_MS] = "steady_cpu_ms",
};

typedef struct bench_pairs {
    const crn_bench_line *given;
    int subjects;              /* the first ones */
    uint64_t fruits[SUBJECTS]; /* of a run at full speed */
    double *figure;            /* [SUBJECTS][FIGURES][given->pairs] */
    uint64_t unfinished;       /* fruits that were not complete, of all runs */
} bench_pairs;

static double *figures(const bench_pairs *pairs, int subject, int figure)
{
    return pairs->figure + (subject * FIGURES + figure) * pairs->given->pairs;
}

static double complete_per_s(const crn_drive_result *result)
{
    return result->fruits_per_s * (double)result->complete / (double)result->sent;
}

static int run(bench_pairs *pairs, int subject, const crn_drive_load *load,
               crn_drive_result *ret_result)
{
    int r = crn_bench_line_run(pairs->given, &subjects[subject], load, ret_result);
    if (r == 0)
        pairs->unfinished += ret_result->sent - ret_result->complete;
    return r;
}

/* One subject's turn of a round. */
static int take_turn(bench_pairs *pairs, int subject, int round)
{
    const crn_bench_line *given = pairs->given;
    crn_drive_result full, steady;
    crn_drive_load load = {.fruits = pairs->fruits[subject], .at_once = FRUITS_AT_ONCE};
    int r = run(pairs, subject, &load, &full);
    load = (crn_drive_load){.fruits = (uint64_t)(given->rate * given->probe_seconds) + 1,
                            .rate = given->rate};
    if (r == 0)
        r = run(pairs, subject, &load, &steady);
    if (r < 0)
        return r;
    figures(pairs, subject, FULL_PER_S)[round] = complete_per_s(&full);
    figures(pairs, subject, FULL_CPU_MS)[round] = full.cpu_ms_per_fruit;
    figures(pairs, subject, STEADY_P50_MS)[round] = steady.p50_ms;
    figures(pairs, subject, STEADY_P99_MS)[round] = steady.p99_ms;
    figures(pairs, subject, STEADY_CPU_MS)[round] = steady.cpu_ms_per_fruit;
    crn_tool_note(&crn_bench_line_tool, "round %d, %s: %.1f fruits/s, %.3f ms of CPU; p50 %.3f ms",
                  round + 1, subjects[subject].name, complete_per_s(&full), full.cpu_ms_per_fruit,
                  steady.p50_ms);
    return 0;
}

/* How many fruits each subject judges in given->probe_seconds. */
static int choose_fruits(bench_pairs *pairs)
{
    for (int i = 0; i < pairs->subjects; i++) {
        crn_drive_load load = {.fruits = FIRST_FRUITS, .at_once = FRUITS_AT_ONCE};
        crn_drive_result result;
        int r = crn_bench_line_run(pairs->given, &subjects[i], &load, &result);
        if (r < 0)
            return r;
        pairs->fruits[i] =
            FIRST_FRUITS + (uint64_t)(result.fruits_per_s * pairs->given->probe_seconds);
    }
    return 0;
}

/* Every second round goes the other way, so that none always follows the same one. */
static int take_turns(bench_pairs *pairs)
{
    int r = choose_fruits(pairs);
    for (int round = 0; round < pairs->given->pairs; round++)
        for (int i = 0; i < pairs->subjects && r == 0; i++)
            r = take_turn(pairs, round % 2 ? pairs->subjects - 1 - i : i, round);
    return r;
}

/* --- output --- */

crn_bench_spread crn_bench_spread_of(double *values, int count)
{
    crn_bench_sort(values, (size_t)count);
    return (crn_bench_spread){crn_bench_median(values, (size_t)count), values[0],
                              values[count - 1]};
}

/* The medians of the ratios within a round, at full speed; before the figures are sorted. */
static const struct {
    int of, to;
} ratios[] = {{OF_SLOTS, OF_FLOOR},
              {OF_SLOTS, OF_TCP},
              {OF_SLOTS, OF_IPC},
              {OF_FLOOR, OF_IPC},
              {OF_SLOTS, OF_ICEORYX}};
#define RATIOS ((int)(sizeof ratios / sizeof *ratios))

/* Those of subjects that are there. */
static int ratios_of(const bench_pairs *pairs)
{
    return pairs->subjects == SUBJECTS ? RATIOS : RATIOS - 1;
}

static crn_bench_spread ratio_of(const bench_pairs *pairs, int ratio, double *scratch)
{
    int count = pairs->given->pairs;
    for (int round = 0; round < count; round++)
        scratch[round] = figures(pairs, ratios[ratio].of, FULL_PER_S)[round] /
                         figures(pairs, ratios[ratio].to, FULL_PER_S)[round];
    return crn_bench_spread_of(scratch, count);
}

static void print_json(const bench_pairs *pairs, const crn_bench_spread of_ratio[RATIOS])
{
    printf("{\"pairs\":%d,\"rate\":%.6g,\"unfinished\":%llu", pairs->given->pairs,
           pairs->given->rate, (unsigned long long)pairs->unfinished);
    for (int i = 0; i < pairs->subjects; i++) {
        printf(",\"%s\":{", subjects[i].name);
        for (int k = 0; k < FIGURES; k++) {
            crn_bench_spread one = crn_bench_spread_of(figures(pairs, i, k), pairs->given->pairs);
            printf("%s\"%s\":[%.4f,%.4f,%.4f]", k ? "," : "", figure_names[k], one.median, one.min,
                   one.max);
        }
        printf("}");
    }
    for (int i = 0; i < ratios_of(pairs); i++)
        printf(",\"%s/%s\":[%.4f,%.4f,%.4f]", subjects[ratios[i].of].name,
               subjects[ratios[i].to].name, of_ratio[i].median, of_ratio[i].min, of_ratio[i].max);
    printf("}\n");
}

static void print_table(const bench_pairs *pairs, const crn_bench_spread of_ratio[RATIOS])
{
    const crn_bench_line *given = pairs->given;
    const crn_view_header *header = &given->frames.view[0].header;
    printf("%u views of %ux%ux%u a fruit, %ld cores; medians [min..max] of %d rounds; steady: %.4g "
           "fruits/s\n",
           given->frames.views, header->width, header->height, header->channels,
           sysconf(_SC_NPROCESSORS_ONLN), given->pairs, given->rate);
    printf("%-10s %-28s %-24s %-24s %10s %12s\n", "", "fruits/s at full speed", "CPU ms/fruit",
           "steady: p50 ms", "p99 ms", "CPU ms/fruit");
    for (int i = 0; i < pairs->subjects; i++) {
        crn_bench_spread of[FIGURES];
        for (int k = 0; k < FIGURES; k++)
            of[k] = crn_bench_spread_of(figures(pairs, i, k), given->pairs);
        printf("%-10s %8.1f [%.1f..%.1f]\t%8.3f [%.3f..%.3f]\t%8.3f [%.3f..%.3f]\t%8.3f %12.3f\n",
               subjects[i].name, of[FULL_PER_S].median, of[FULL_PER_S].min, of[FULL_PER_S].max,
               of[FULL_CPU_MS].median, of[FULL_CPU_MS].min, of[FULL_CPU_MS].max,
               of[STEADY_P50_MS].median, of[STEADY_P50_MS].min, of[STEADY_P50_MS].max,
               of[STEADY_P99_MS].median, of[STEADY_CPU_MS].median);
    }
    for (int i = 0; i < ratios_of(pairs); i++)
        printf("%s / %s at full speed: %.2f [%.2f..%.2f]\n", subjects[ratios[i].of].name,
               subjects[ratios[i].to].name, of_ratio[i].median, of_ratio[i].min, of_ratio[i].max);
    if (pairs->unfinished)
        printf("not complete: %llu fruits of all runs\n", (unsigned long long)pairs->unfinished);
}

int crn_bench_line_pairs(const crn_bench_line *given)
{
    bench_pairs pairs = {.given = given, .subjects = crn_iceoryx_begin() ? SUBJECTS : SUBJECTS - 1};
    size_t rounds = (size_t)given->pairs;
    pairs.figure = calloc((SUBJECTS * FIGURES + 1) * rounds, sizeof *pairs.figure);
    int r = pairs.figure ? take_turns(&pairs) : -ENOMEM;
    if (r == 0) {
        crn_bench_spread of_ratio[RATIOS];
        for (int i = 0; i < ratios_of(&pairs); i++)
            of_ratio[i] = ratio_of(&pairs, i, pairs.figure + SUBJECTS * FIGURES * rounds);
        if (given->json)
            print_json(&pairs, of_ratio);
        else
            print_table(&pairs, of_ratio);
    }
    free(pairs.figure);
    return r;
}

/*
 * cernita-bench line --pairs N --beside FILE: two daemons, one with the settings of --config and
 * one with those of FILE, by turns at the steady rate, N times, so that whatever else the machine
 * does meets both; medians over the rounds, and of the differences within a round. What a setting
 * costs: FILE has it, and nothing else that differs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/bench/line/line.h"

enum { OF_CONFIG, OF_BESIDE, SIDES };
enum { P50_MS, P99_MS, CPU_MS, LINE_US, FIGURES };
static const char *const side_names[SIDES] = {"config", "beside"};
static const char *const figure_names[FIGURES] = {"p50_ms", "p99_ms", "cpu_ms_per_fruit",
                                                  "line_us_per_view"};

typedef struct bench_beside {
    const crn_bench_line *given[SIDES];
    int rounds;
    double *figure;            /* [SIDES][FIGURES][rounds] */
    uint64_t sent, unfinished; /* fruits of all runs; those that were not complete */
} bench_beside;

static double *figures(const bench_beside *beside, int side, int figure)
{
    return beside->figure + (side * FIGURES + figure) * beside->rounds;
}

static int take_turn(bench_beside *beside, int side, int round)
{
    const crn_bench_line *given = beside->given[side];
    const crn_bench_subject daemon = {CRN_PEER_DAEMON, CRN_PEER_IPC, side_names[side]};
    const crn_drive_load load = {.fruits = (uint64_t)(given->rate * given->probe_seconds) + 1,
                                 .rate = given->rate};
    crn_drive_result result;
    int r = crn_bench_line_run(given, &daemon, &load, &result);
    if (r < 0)
        return r;
    beside->sent += result.sent;
    beside->unfinished += result.sent - result.complete;
    figures(beside, side, P50_MS)[round] = result.p50_ms;
    figures(beside, side, P99_MS)[round] = result.p99_ms;
    figures(beside, side, CPU_MS)[round] = result.cpu_ms_per_fruit;
    figures(beside, side, LINE_US)[round] = result.line_us_per_view;
    crn_tool_note(&crn_bench_line_tool, "round %d, %s: p50 %.3f ms, p99 %.3f ms, %.3f ms of CPU",
                  round + 1, daemon.name, result.p50_ms, result.p99_ms, result.cpu_ms_per_fruit);
    return 0;
}

/* Every second round goes the other way. */
static int take_turns(bench_beside *beside)
{
    int r = 0;
    for (int round = 0; round < beside->rounds; round++)
        for (int i = 0; i < SIDES && r == 0; i++)
            r = take_turn(beside, round % 2 ? SIDES - 1 - i : i, round);
    return r;
}

/* What is printed of a figure: of both sides, and of what the second has more in the same round. */
typedef struct bench_figure {
    crn_bench_spread of[SIDES], more;
} bench_figure;

static void summarize(const bench_beside *beside, double *scratch, bench_figure of[FIGURES])
{
    for (int k = 0; k < FIGURES; k++) {
        double *config = figures(beside, OF_CONFIG, k), *other = figures(beside, OF_BESIDE, k);
        for (int round = 0; round < beside->rounds; round++)
            scratch[round] = other[round] - config[round];
        of[k].more = crn_bench_spread_of(scratch, beside->rounds);
        of[k].of[OF_CONFIG] = crn_bench_spread_of(config, beside->rounds);
        of[k].of[OF_BESIDE] = crn_bench_spread_of(other, beside->rounds);
    }
}

static void print_json(const bench_beside *beside, const bench_figure of[FIGURES])
{
    printf("{\"pairs\":%d,\"rate\":%.6g,\"sent\":%llu,\"unfinished\":%llu", beside->rounds,
           beside->given[0]->rate, (unsigned long long)beside->sent,
           (unsigned long long)beside->unfinished);
    for (int k = 0; k < FIGURES; k++) {
        const crn_bench_spread *spreads[] = {&of[k].of[OF_CONFIG], &of[k].of[OF_BESIDE],
                                             &of[k].more};
        static const char *const names[] = {"config", "beside", "more"};
        printf(",\"%s\":{", figure_names[k]);
        for (int i = 0; i < 3; i++)
            printf("%s\"%s\":[%.4f,%.4f,%.4f]", i ? "," : "", names[i], spreads[i]->median,
                   spreads[i]->min, spreads[i]->max);
        printf("}");
    }
    printf("}\n");
}

static void print_table(const bench_beside *beside, const bench_figure of[FIGURES])
{
    const crn_bench_line *given = beside->given[0];
    const crn_view_header *header = &given->frames.view[0].header;
    printf("%u views of %ux%ux%u a fruit, %ld cores; medians [min..max] of %d rounds of %llu "
           "fruits at %.4g fruits/s\n",
           given->frames.views, header->width, header->height, header->channels,
           sysconf(_SC_NPROCESSORS_ONLN), beside->rounds,
           (unsigned long long)(beside->sent / (uint64_t)beside->rounds / SIDES), given->rate);
    printf("%-18s %-28s %-28s %s\n", "", "--config", "--beside", "more, within a round");
    for (int k = 0; k < FIGURES; k++) {
        const crn_bench_spread *one = &of[k].of[OF_CONFIG], *other = &of[k].of[OF_BESIDE];
        printf("%-18s %8.3f [%.3f..%.3f]\t%8.3f [%.3f..%.3f]\t%+8.3f [%+.3f..%+.3f]\n",
               figure_names[k], one->median, one->min, one->max, other->median, other->min,
               other->max, of[k].more.median, of[k].more.min, of[k].more.max);
    }
    if (beside->unfinished)
        printf("not complete: %llu of %llu fruits of all runs\n",
               (unsigned long long)beside->unfinished, (unsigned long long)beside->sent);
}

int crn_bench_line_beside(const crn_bench_line *given, const crn_bench_line *other)
{
    bench_beside beside = {.given = {given, other}, .rounds = given->pairs};
    size_t rounds = (size_t)given->pairs;
    beside.figure = calloc((SIDES * FIGURES + 1) * rounds, sizeof *beside.figure);
    int r = beside.figure ? take_turns(&beside) : -ENOMEM;
    if (r == 0) {
        bench_figure of[FIGURES];
        summarize(&beside, beside.figure + SIDES * FIGURES * rounds, of);
        if (given->json)
            print_json(&beside, of);
        else
            print_table(&beside, of);
    }
    free(beside.figure);
    return r;
}

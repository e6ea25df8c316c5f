/*
 * cernita-bench outlets: from the camera to a PLC's register and coil, through cernitad and
 * cernita-sorter, beside the least program that does so (reader_writer.c). Both get the same views,
 * by turns within each fruit's time, so that they have the same machine.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stages/backend.h"
#include "tools/bench/bench.h"
#include "tools/bench/line/line.h"
#include "tools/bench/line/outlets/trial.h"
#include "tools/bench/print.h"
#include "tools/bench/time.h"

typedef struct outlets_settings {
    const char *recording, *daemon_config;
    uint64_t fruits;
    double rate, cnn_ms;
    bool json;
} outlets_settings;

static const crn_tool tool = {
    .name = "cernita-bench outlets",
    .operands = "",
    .about =
        "Times the way of a fruit from the camera to a register that a PLC reads, and to a coil\n"
        "that is written in it: views to cernitad, verdicts to cernita-sorter, decisions by\n"
        "Modbus, polled by this program once the last view is sent; the coil is due at once.\n"
        "Beside it, by turns, the floor: one thread that only receives the views, copies them,\n"
        "and writes register and coil. A CNN is stood in for by sleeping between the camera and\n"
        "the sending of the last view. With the defaults it takes 5 minutes.",
    .options =
        (const crn_option[]){
            CRN_OPTION_AT("recording", "REC.tif|DIR", outlets_settings, recording,
                          .help = "the views to send, or a folder of recordings (cernita-synth "
                                  "makes one)",
                          .required = true),
            CRN_OPTION_AT("config", "FILE", outlets_settings, daemon_config,
                          .help = "the daemon's, except for its sockets; default: the installed "
                                  "line.yaml"),
            CRN_OPTION_AT("fruits", "N", outlets_settings, fruits, .help = "default 3000", .min = 1,
                          .max = 1e7),
            CRN_OPTION_AT("rate", "N", outlets_settings, rate,
                          .help = "fruits per second, default 10", .min = 0.1, .max = 100),
            CRN_OPTION_AT("cnn-ms", "MS", outlets_settings, cnn_ms,
                          .help = "time of the CNN that is stood in for, default 6", .min = 0,
                          .max = 1000),
            CRN_BENCH_JSON(outlets_settings),
            {0}},
    .operands_min = 0,
    .operands_max = 0,
};

/* One row of the output. */
typedef struct outlets_row {
    const char *name;
    double p50_ms, p99_ms, max_ms, limit_ms; /* the limit of p99; NAN: none */
    const char *met;
    uint32_t fruits;
} outlets_row;

static const crn_bench_column columns[] = {
    {"name", "way", CRN_CELL(outlets_row, name), -50},
    {"fruits", "fruits", CRN_CELL(outlets_row, fruits), 7},
    {"p50_ms", "p50 ms", CRN_CELL(outlets_row, p50_ms), 9, 3, 4},
    {"p99_ms", "p99 ms", CRN_CELL(outlets_row, p99_ms), 9, 3, 4},
    {"max_ms", "max ms", CRN_CELL(outlets_row, max_ms), 9, 3, 4},
    {"p99_limit_ms", "p99 limit", CRN_CELL(outlets_row, limit_ms), 9, 1, 1},
    {"met", "", CRN_CELL(outlets_row, met), 8},
    {0},
};

static double median_of(const crn_outlets_times *times)
{
    return times->count ? crn_bench_median(times->ms, times->count) : NAN;
}

static void print_times(const char *name, const crn_outlets_times *times, double limit_ms,
                        bool json)
{
    outlets_row row = {.name = name,
                       .fruits = (uint32_t)times->count,
                       .p50_ms = median_of(times),
                       .p99_ms = times->count ? crn_bench_p99(times->ms, times->count) : NAN,
                       .max_ms = times->count ? times->ms[times->count - 1] : NAN,
                       .limit_ms = limit_ms};
    if (!isnan(limit_ms))
        row.met = row.p99_ms <= limit_ms ? "met" : "not met";
    crn_bench_print_row(columns, &row, json);
}

static void print_load(const char *when)
{
    double load[1];
    if (getloadavg(load, 1) == 1)
        printf("load average %s: %.2f\n", when, load[0]);
}

static void print_way(const crn_outlets_result *result, crn_outlets_end end, bool json)
{
    static const struct {
        const char *name[5];
        double limit_ms[3];
    } ways[CRN_OUTLETS_ENDS] = {
        [CRN_OUTLETS_REGISTER] = {{"verdict published to register read",
                                   "last view sent to register read",
                                   "camera to register read, CNN included",
                                   "floor: last view sent to register read",
                                   "floor: camera to register read, CNN included"},
                                  {1, NAN, NAN}},
        [CRN_OUTLETS_COIL] = {{"verdict published to coil written",
                               "last view sent to coil written",
                               "camera to coil written, CNN included",
                               "floor: last view sent to coil written",
                               "floor: camera to coil written, CNN included"},
                              {NAN, 3, 9}},
    };
    const crn_outlets_way *line = &result->line[end], *floor = &result->floor[end];
    const char *const *name = ways[end].name;
    const double *limit_ms = ways[end].limit_ms;
    print_times(name[0], &line->from_verdict, limit_ms[0], json);
    print_times(name[1], &line->from_view, limit_ms[1], json);
    print_times(name[2], &line->from_camera, limit_ms[2], json);
    print_times(name[3], &floor->from_view, NAN, json);
    print_times(name[4], &floor->from_camera, NAN, json);
}

static void print_results(const outlets_settings *given, const crn_outlets_result *result)
{
    if (!given->json)
        crn_bench_print_headings(columns);
    for (int end = 0; end < CRN_OUTLETS_ENDS; end++)
        print_way(result, end, given->json);
}

static int run(const outlets_settings *given, const crn_outlets_plan *plan)
{
    crn_outlets_result result;
    const crn_view_header *view = &plan->frames->view[0].header;
    if (!given->json) {
        printf("%u views of %ux%ux%u a fruit, %llu fruits at %g/s, a CNN of %g ms, %ld cores\n",
               plan->frames->views, view->width, view->height, view->channels,
               (unsigned long long)plan->fruits, plan->rate, plan->cnn_ms,
               sysconf(_SC_NPROCESSORS_ONLN));
        print_load("before");
        fflush(stdout);
    }
    int r = crn_outlets_run(plan, &result);
    if (r < 0)
        return r;
    if (!given->json)
        print_load("after");
    print_results(given, &result);
    if (result.missing)
        crn_tool_note(&tool, "%llu decisions were not read, or their coils not written, within 1 s",
                      (unsigned long long)result.missing);
    crn_outlets_result_free(&result);
    return result.missing ? -ETIMEDOUT : 0;
}

int crn_bench_outlets(int argc, char **argv)
{
    static outlets_settings given = {.fruits = 3000, .rate = 10, .cnn_ms = 6};
    static crn_config config;
    crn_bench_frames frames;
    crn_error error;
    crn_options_read(&tool, argc, argv, &given);
    if (crn_bench_line_config(given.daemon_config, &error, &config) < 0)
        return crn_tool_fail(&tool, "%s", error.text);
    config.run.backend = CRN_BACKEND_OPENMP;
    crn_peer_stop_on_signal();
    if (crn_bench_line_frames(given.recording, false, &error, &frames) < 0)
        return crn_tool_fail(&tool, "%s", error.text);
    crn_outlets_plan plan = {.config = &config,
                             .frames = &frames,
                             .fruits = given.fruits,
                             .rate = given.rate,
                             .cnn_ms = given.cnn_ms};
    int r = run(&given, &plan);
    crn_frames_free(&frames);
    crn_config_done(&config);
    if (r == -ENOTSUP)
        return crn_tool_fail(&tool, "this program was built without libmodbus; build it where "
                                    "libmodbus-dev is installed");
    return r < 0 ? crn_tool_fail(&tool, "%s", strerror(-r)) : 0;
}

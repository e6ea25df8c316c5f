/*
 * cernita-bench phases: where two operators spend their time, on one thread. Contours: finding
 * segments (scan) against joining them into polylines. Ranklets, by incremental distribution
 * counting: maintaining the window's histograms against the passes over them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "stages/base/clock.h"
#include "stages/backend.h"
#include "stages/openmp/contours/contours.h"
#include "tools/bench/bench.h"
#include "tools/bench/idc.h"
#include "tools/bench/print.h"
#include "tools/bench/work.h"

typedef struct phases_settings {
    double seconds;
    bool json;
} phases_settings;

static const crn_tool tool = {
    .name = "cernita-bench phases",
    .operands = "",
    .about =
        "Times the parts of two operators on one thread: contours (scan, joining) and ranklets by\n"
        "incremental distribution counting (window, counting).",
    .options = (const crn_option[]){CRN_BENCH_SECONDS_OPTION(phases_settings, "0.4"),
                                    CRN_BENCH_JSON(phases_settings),
                                    {0}},
    .operands_min = 0,
    .operands_max = 0,
};

typedef struct phases_row {
    const char *name, *what;
    double first_ms, second_ms, all_ms, share;
} phases_row;

static const crn_bench_column columns[] = {
    {"operator", "operator", CRN_CELL(phases_row, name), -10},
    {"what", "what", CRN_CELL(phases_row, what), -24},
    {"first_ms", "scan/window", CRN_CELL(phases_row, first_ms), 12, 3, 4},
    {"second_ms", "join/count", CRN_CELL(phases_row, second_ms), 12, 3, 4},
    {"all_ms", "all ms", CRN_CELL(phases_row, all_ms), 12, 3, 4},
    {NULL, "second", CRN_CELL(phases_row, share), 6, .after = " %"},
    {0},
};

static void print_row(const char *name, const char *what, double first_ms, double all_ms, bool json)
{
    double second_ms = all_ms > first_ms ? all_ms - first_ms : 0;
    phases_row row = {name, what, first_ms, second_ms, all_ms, 100 * second_ms / all_ms};
    crn_bench_print_row(columns, &row, json);
}

/* The scan in use, and its time since the last reset; static, because there is one thread. */
static crn_contours_scan_fn *timed_scan;
static int64_t scan_ns;

static void timed_contours_scan(const crn_contours_job *job, crn_contours_strip *strip)
{
    int64_t start_ns = crn_now_ns();
    timed_scan(job, strip);
    scan_ns += crn_now_ns() - start_ns;
}

static int timed_contours(crn_context *context, const crn_contours_params *params,
                          const crn_image *in, crn_contours *out)
{
    crn_contours_variant variant = crn_contours_variant_for(in, 1);
    timed_scan = variant.scan;
    variant.scan = timed_contours_scan;
    return crn_contours_openmp_with(&variant, context, params, in, out);
}

static int bench_contours(const crn_bench_case *of, const phases_settings *given)
{
    static const crn_ops ops = {.name = "timed", .contours = timed_contours};
    crn_bench_work *work = NULL;
    crn_timing t;
    int r = crn_bench_work_create(of, NULL, true, &work);
    scan_ns = 0;
    if (r == 0)
        r = crn_bench_work_time(work, &ops, 1, given->seconds, &t);
    if (r == 0) {
        char name[64];
        snprintf(name, sizeof name, "%s %dx%dx%d", of->what, of->picture.planes, of->picture.height,
                 of->picture.width);
        double mean_ms = (double)scan_ns / work->runs / 1e6;
        print_row("contours", name, mean_ms < t.median_ms ? mean_ms : t.median_ms, t.median_ms,
                  given->json);
    }
    crn_bench_work_free(&work);
    return r;
}

typedef struct ranklet_trial {
    crn_image in, out;
    int32_t side;
    bool counting;
} ranklet_trial;

static int run_ranklet(void *of)
{
    ranklet_trial *trial = of;
    crn_bench_idc_part(&trial->in, trial->side, trial->side, trial->counting, &trial->out);
    return 0;
}

static int bench_ranklets(const phases_settings *given)
{
    enum { HEIGHT = 256, WIDTH = 512 };
    uint8_t *pixels = malloc(HEIGHT * WIDTH);
    float *results = malloc(3 * HEIGHT * WIDTH * sizeof *results);
    int r = pixels && results ? 0 : -1;
    uint32_t word = 1;
    for (int32_t i = 0; r == 0 && i < HEIGHT * WIDTH; i++) {
        word = word * 1664525u + 1013904223u;
        pixels[i] = (uint8_t)(word >> 24);
    }
    for (int32_t side = 2; r == 0 && side <= HEIGHT; side *= 2) {
        ranklet_trial trial = {
            crn_image_dense(pixels, CRN_U8, CRN_CHW, 1, HEIGHT, WIDTH),
            crn_image_dense(results, CRN_F32, CRN_CHW, 3, HEIGHT - side + 1, WIDTH - side + 1),
            side, false};
        crn_timing window, all;
        crn_bench_time(run_ranklet, &trial, given->seconds, &window);
        trial.counting = true;
        crn_bench_time(run_ranklet, &trial, given->seconds, &all);
        char name[16];
        snprintf(name, sizeof name, "%d", side);
        print_row("ranklet", name, window.median_ms, all.median_ms, given->json);
    }
    free(pixels);
    free(results);
    return r;
}

int crn_bench_phases(int argc, char **argv)
{
    phases_settings given = {.seconds = CRN_BENCH_SECONDS};
    crn_options_read(&tool, argc, argv, &given);
    if (!given.json)
        crn_bench_print_headings(columns);
    int r = 0;
    for (int32_t i = 0; r == 0 && i < crn_bench_case_count; i++)
        if (crn_bench_cases[i].op == CRN_BENCH_CONTOURS && crn_bench_cases[i].what)
            r = bench_contours(&crn_bench_cases[i], &given);
    if (r == 0)
        r = bench_ranklets(&given);
    return r == 0 ? 0 : crn_tool_fail(&tool, "out of memory");
}

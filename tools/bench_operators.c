/* cernita-bench operators: each operator by size, backend and threads, on fields it makes itself.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "stages/backend.h"
#include "tools/bench.h"

/* Runs of one case: as many as fit, and no fewer than three. */
#define CASE_NS  (400 * CRN_NS_PER_MS)
#define RUNS_MAX 200

enum { OPTION_BACKEND, OPTION_JSON };

static const crn_tool tool = {
    .name = "cernita-bench operators",
    .operands = "",
    .about = "Times the operators on fields made here: medians, megapixels and bytes a second,\n"
             "against a copy of the same bytes.",
    .options = (const crn_option[]){{"backend", "B", "serial or openmp; default both"},
                                    {"json", NULL, "one JSON object a line instead of the table"},
                                    {NULL, NULL, NULL}},
    .operands_min = 0,
    .operands_max = 0,
};

typedef struct field {
    const char *name;
    int32_t planes, height, width;
    crn_layout layout;
    double period_px; /* of the waves it is made of; 0: noise */
} field;

static const field fields[] = {
    {"waves", 12, 95, 511, CRN_HWC, 60},   {"noise", 12, 95, 511, CRN_HWC, 0},
    {"waves", 1, 1024, 1024, CRN_CHW, 40}, {"noise", 1, 1024, 1024, CRN_CHW, 0},
    {"waves", 1, 2048, 2048, CRN_CHW, 40}, {"waves", 1, 4096, 4096, CRN_CHW, 40},
};

static float *make_field(const field *what)
{
    size_t count = (size_t)what->planes * (size_t)what->height * (size_t)what->width;
    float *values = malloc(count * sizeof *values);
    if (!values)
        return NULL;
    crn_image image =
        crn_image_dense(values, CRN_F32, what->layout, what->planes, what->height, what->width);
    uint32_t random = 1;
    for (int32_t plane = 0; plane < what->planes; plane++) {
        for (int32_t y = 0; y < what->height; y++) {
            for (int32_t x = 0; x < what->width; x++) {
                random = random * 1664525u + 1013904223u;
                double value = (double)(random >> 8) / (1 << 24);
                if (what->period_px > 0) {
                    double turn = 2 * 3.14159265358979 / what->period_px;
                    value = 0.5 + 0.25 * sin(turn * (x + 0.3 * y) + plane) +
                            0.25 * sin(turn * 1.3 * y) + 1e-3 * value;
                }
                values[crn_image_index(&image, plane, y, x)] = (float)value;
            }
        }
    }
    return values;
}

static int by_time(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

static double median_ms(int64_t *ns, int count)
{
    qsort(ns, (size_t)count, sizeof *ns, by_time);
    return (double)ns[count / 2] / 1e6;
}

static double time_copy_ms(const void *from, void *to, size_t bytes)
{
    int64_t ns[RUNS_MAX], spent_ns = 0;
    int runs = 0;
    while (runs < RUNS_MAX && (runs < 3 || spent_ns < CASE_NS)) {
        int64_t start_ns = crn_now_ns();
        memcpy(to, from, bytes);
        __asm__ volatile("" : : "r"(to) : "memory");
        ns[runs] = crn_now_ns() - start_ns;
        spent_ns += ns[runs++];
    }
    return median_ms(ns, runs);
}

static int time_contours(const crn_ops *ops, int32_t threads, const crn_image *image,
                         crn_contours *contours, double *ret_ms)
{
    double levels[64];
    for (int32_t i = 0; i < image->planes; i++)
        levels[i] = 0.5;
    crn_contours_params params = {.levels = levels};
    crn_context *context = NULL;
    int r = crn_context_create(threads, &context);
    int64_t ns[RUNS_MAX], spent_ns = 0;
    int runs = 0;
    if (r == 0)
        r = ops->contours(context, &params, image,
                          contours); /* warm-up: reserves its scratch memory */
    while (r == 0 && runs < RUNS_MAX && (runs < 3 || spent_ns < CASE_NS)) {
        int64_t start_ns = crn_now_ns();
        r = ops->contours(context, &params, image, contours);
        ns[runs] = crn_now_ns() - start_ns;
        spent_ns += ns[runs++];
    }
    crn_context_free(&context);
    if (r == 0)
        *ret_ms = median_ms(ns, runs);
    return r;
}

static void print_case(const field *what, const char *backend, int32_t threads, double ms,
                       double copy_ms, const crn_contours *contours, bool json)
{
    double pixels = (double)what->planes * what->height * what->width;
    double mpx = pixels / ms / 1e3, gb = pixels * 4 / ms / 1e6, copies = ms / copy_ms;
    if (json)
        printf(
            "{\"operator\":\"contours\",\"field\":\"%s\",\"planes\":%d,\"height\":%d,\"width\":%d,"
            "\"backend\":\"%s\",\"threads\":%d,\"median_ms\":%.4f,\"mpx_per_s\":%.1f,"
            "\"gb_per_s\":%.3f,\"copies\":%.2f,\"contours\":%u,\"points\":%u}\n",
            what->name, what->planes, what->height, what->width, backend, threads, ms, mpx, gb,
            copies, contours->contour_count, contours->point_count);
    else
        printf("contours  %-6s %2d x %4d x %4d  %-7s %2d %10.3f %9.1f %8.3f %8.2f %9u %9u\n",
               what->name, what->planes, what->height, what->width, backend, threads, ms, mpx, gb,
               copies, contours->contour_count, contours->point_count);
    fflush(stdout);
}

static int bench_field(const field *what, const char *only, bool json)
{
    size_t count = (size_t)what->planes * (size_t)what->height * (size_t)what->width;
    uint32_t points = (uint32_t)(4 * count + 64);
    float *values = make_field(what), *copy = malloc(count * sizeof *copy);
    crn_contours contours = {
        .points = malloc(points * sizeof(crn_point)),
        .contours = malloc(count * sizeof(crn_contour)),
        .point_capacity = points,
        .contour_capacity = (uint32_t)count,
    };
    int r = values && copy && contours.points && contours.contours ? 0 : -1;
    crn_image image =
        crn_image_dense(values, CRN_F32, what->layout, what->planes, what->height, what->width);
    double copy_ms = r == 0 ? time_copy_ms(values, copy, count * sizeof *values) : 1;
    int32_t cores = (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
    static const crn_backend backends[] = {CRN_BACKEND_SERIAL, CRN_BACKEND_OPENMP};
    for (size_t b = 0; b < 2; b++) {
        const char *why, *name = crn_backend_names[backends[b]];
        if (only && strcmp(only, name) != 0)
            continue;
        int32_t most = backends[b] == CRN_BACKEND_SERIAL ? 1 : cores;
        for (int32_t threads = 1; r == 0 && threads <= most; threads *= 2) {
            double ms;
            r = time_contours(crn_backend_ops(backends[b], &why), threads, &image, &contours, &ms);
            if (r == 0)
                print_case(what, name, threads, ms, copy_ms, &contours, json);
        }
    }
    free(values);
    free(copy);
    free(contours.points);
    free(contours.contours);
    return r;
}

int crn_bench_operators(int argc, char **argv)
{
    static const char *const choices[] = {"serial", "openmp", NULL};
    const char *only = NULL, *value;
    bool json = false;
    for (int option; (option = crn_options_next(&tool, argc, argv, &value)) != CRN_OPTIONS_END;) {
        if (option == OPTION_BACKEND)
            only = choices[crn_option_choice(&tool, "backend", value, choices)];
        else
            json = true;
    }
    if (!json)
        printf("%-9s %-6s %15s  %-7s %2s %10s %9s %8s %8s %9s %9s\n", "operator", "field",
               "planes x h x w", "backend", "th", "median ms", "Mpx/s", "GB/s", "copies",
               "contours", "points");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (bench_field(&fields[i], only, json) < 0)
            return crn_tool_fail(&tool, "%s %dx%d: out of memory", fields[i].name, fields[i].width,
                                 fields[i].height);
    return 0;
}

/* cernita-bench operators: each operator by size, backend and threads, on synthetic pictures. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "stages/backend.h"
#include "tools/bench/bench.h"
#include "tools/bench/cases.h"
#include "tools/bench/gpu.h"
#include "tools/bench/time.h"

/* The serial operator takes some nanoseconds per step: above this many, minutes. */
#define SERIAL_STEPS_MAX 4e8

enum { OPTION_OPERATOR, OPTION_BACKEND, OPTION_THREADS, OPTION_SECONDS, OPTION_ALL, OPTION_JSON };

static const crn_tool tool = {
    .name = "cernita-bench operators",
    .operands = "",
    .about =
        "Times the operators on pictures made here: medians, megapixels and bytes a second, and\n"
        "how many copies of the same bytes it takes as long as (copies). cuda: from host memory\n"
        "to host memory, and what that is made of.",
    .options =
        (const crn_option[]){
            {"operator", "NAME",
             "only contours, morphology, convolve, haar, ranklet or diamond-square"},
            {"backend", "B", "serial, openmp or cuda; default all that there are"},
            {"threads", "N", "only with that many; default 1, 2, 4, … up to the processors"},
            {"seconds", "S", "time spent on a row; default 0.4"},
            {"all", NULL, "serial also where it takes minutes"},
            {"json", NULL, "one JSON object a line instead of the table"},
            {NULL, NULL, NULL}},
    .operands_min = 0,
    .operands_max = 0,
};

typedef struct operators_request {
    const char *operator, * backend;
    int32_t threads; /* 0: all */
    double seconds;
    bool all, json;
} operators_request;

/* Capacity for the times of runs; further runs are ignored. */
#define PARTS_MAX 256

/* Device times of each run, in ms. */
typedef struct run_parts {
    double kernel[PARTS_MAX], upload[PARTS_MAX], download[PARTS_MAX];
    int32_t count;
} run_parts;

/* One case on one backend with a number of threads. */
typedef struct operators_trial {
    crn_bench_work *work;
    const crn_ops *ops;
    crn_context *context;
    run_parts *parts;
} operators_trial;

static int run_trial(void *of)
{
    const operators_trial *t = of;
    int r = crn_bench_work_run(t->work, t->ops, t->context);
    if (r < 0 || t->parts->count == PARTS_MAX)
        return r;
    crn_gpu_times times = crn_bench_work_times(t->work);
    int32_t i = t->parts->count++;
    t->parts->kernel[i] = (double)times.kernel_ns / 1e6;
    t->parts->upload[i] = (double)times.upload_ns / 1e6;
    t->parts->download[i] = (double)times.download_ns / 1e6;
    return 0;
}

static int run_copy(void *work)
{
    crn_bench_work_copy(work);
    return 0;
}

static int time_work(crn_bench_work *work, const crn_ops *ops, int32_t threads, double seconds,
                     run_parts *parts, crn_timing *ret_timing)
{
    operators_trial t = {work, ops, NULL, parts};
    parts->count = 0;
    int r = crn_context_create(threads, &t.context);
    if (r == 0)
        r = crn_bench_time(run_trial, &t, seconds, ret_timing);
    crn_context_free(&t.context);
    return r;
}

static const char *type_name(crn_type type)
{
    return type == CRN_U8 ? "u8" : type == CRN_F32 ? "f32" : "u16";
}

/* A row of the table, without its newline. */
typedef struct table_row {
    const crn_bench_case *what;
    const char *backend;
    int32_t threads;
    double mpx, gb, copies; /* per second; and the number of memory copies that take as long */
} table_row;

static void print_json(const table_row *row, const crn_timing *t)
{
    const crn_bench_case *what = row->what;
    printf("{\"operator\":\"%s\",\"what\":\"%s\",\"type\":\"%s\",\"planes\":%d,\"height\":%d,"
           "\"width\":%d,\"backend\":\"%s\",\"threads\":%d,\"median_ms\":%.4f,\"min_ms\":%.4f,"
           "\"max_ms\":%.4f,\"runs\":%d,\"mpx_per_s\":%.1f,\"gb_per_s\":%.3f,\"copies\":%.2f",
           what->operator, what->what, type_name(what->type), what->planes, what->height,
           what->width, row->backend, row->threads, t->median_ms, t->min_ms, t->max_ms, t->runs,
           row->mpx, row->gb, row->copies);
}

static void print_text(const table_row *row, const crn_timing *t)
{
    const crn_bench_case *what = row->what;
    printf("%-15s %-13s %-4s %2d x %4d x %4d  %-7s %2d %11.3f %9.1f %8.3f %9.2f", what->operator,
           what->what, type_name(what->type), what->planes, what->height, what->width, row->backend,
           row->threads, t->median_ms, row->mpx, row->gb, row->copies);
}

/* Prints a part of a device's run; the run's median is from host to host. */
static void print_parts(run_parts *parts, bool json)
{
    double kernel = crn_gpu_median(parts->kernel, parts->count);
    double upload = crn_gpu_median(parts->upload, parts->count);
    double download = crn_gpu_median(parts->download, parts->count);
    printf(json ? ",\"kernel_ms\":%.4f,\"upload_ms\":%.4f,\"download_ms\":%.4f"
                : "  kernel %.4f, upload %.4f, download %.4f",
           kernel, upload, download);
}

static void print_row(const table_row *row, const crn_timing *t, run_parts *parts, bool json)
{
    json ? print_json(row, t) : print_text(row, t);
    if (strcmp(row->backend, "cuda") == 0)
        print_parts(parts, json);
    puts(json ? "}" : "");
    fflush(stdout);
}

/* Reports an operator that the backend lacks; the benchmark continues. */
static void print_missing(const crn_bench_case *what, const char *backend, bool json)
{
    if (json)
        printf("{\"operator\":\"%s\",\"what\":\"%s\",\"backend\":\"%s\",\"error\":\"not there "
               "yet\"}\n",
               what->operator, what->what, backend);
    else
        printf("%-15s %-13s %-4s %2d x %4d x %4d  %-7s not there yet\n", what->operator, what->what,
               type_name(what->type), what->planes, what->height, what->width, backend);
    fflush(stdout);
}

static bool takes_minutes(const crn_bench_case *what, crn_backend backend)
{
    double pixels = (double)what->planes * what->height * what->width;
    return backend == CRN_BACKEND_SERIAL && pixels * what->serial_steps > SERIAL_STEPS_MAX;
}

static int bench_backend(const operators_request *asked, const crn_bench_case *what,
                         crn_backend backend, crn_bench_work *work)
{
    const char *why, *name = crn_backend_names[backend];
    const crn_ops *ops = crn_backend_ops(backend, &why);
    if (!ops || (asked->backend && strcmp(asked->backend, name) != 0) ||
        (takes_minutes(what, backend) && !asked->all))
        return 0;
    int32_t cores = (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
    int32_t most = backend == CRN_BACKEND_OPENMP ? cores : 1, least = 1;
    if (asked->threads && backend == CRN_BACKEND_OPENMP)
        least = most = asked->threads;
    double pixels = (double)what->planes * what->height * what->width;
    static run_parts parts;
    for (int32_t threads = least; threads <= most; threads *= 2) {
        crn_timing t, copy;
        int r = time_work(work, ops, threads, asked->seconds, &parts, &t);
        if (r == -ENOSYS) {
            print_missing(what, name, asked->json);
            return 0;
        }
        if (r == 0)
            r = crn_bench_time(run_copy, work, asked->seconds, &copy);
        if (r < 0)
            return r;
        double bytes = (double)crn_bench_work_bytes(work);
        table_row row = {what,
                         name,
                         threads,
                         pixels / t.median_ms / 1e3,
                         bytes / t.median_ms / 1e6,
                         t.median_ms / copy.median_ms};
        print_row(&row, &t, &parts, asked->json);
    }
    return 0;
}

static int bench_case(const operators_request *asked, const crn_bench_case *what)
{
    crn_bench_work *work = NULL;
    int r = crn_bench_work_create(what, &work);
    for (crn_backend backend = CRN_BACKEND_SERIAL; r == 0 && backend <= CRN_BACKEND_CUDA; backend++)
        r = bench_backend(asked, what, backend, work);
    crn_bench_work_free(&work);
    return r;
}

static operators_request read_request(int argc, char **argv)
{
    static const char *const names[] = {"contours", "morphology",     "convolve", "haar",
                                        "ranklet",  "diamond-square", NULL};
    operators_request asked = {.seconds = CRN_BENCH_SECONDS};
    const char *value;
    for (int option; (option = crn_options_next(&tool, argc, argv, &value)) != CRN_OPTIONS_END;) {
        if (option == OPTION_OPERATOR)
            asked.operator= names[crn_option_choice(&tool, "operator", value, names)];
        else if (option == OPTION_BACKEND)
            asked.backend = crn_backend_names[1 + crn_option_choice(&tool, "backend", value,
                                                                    crn_backend_names + 1)];
        else if (option == OPTION_THREADS)
            asked.threads = (int32_t)crn_option_integer(&tool, "threads", value, 1, 1024);
        else if (option == OPTION_SECONDS)
            asked.seconds = crn_option_real(&tool, "seconds", value, 1e-6, 3600);
        else if (option == OPTION_ALL)
            asked.all = true;
        else
            asked.json = true;
    }
    return asked;
}

int crn_bench_operators(int argc, char **argv)
{
    operators_request asked = read_request(argc, argv);
    const char *why = "";
    if (asked.backend && strcmp(asked.backend, "cuda") == 0 &&
        !crn_backend_ops(CRN_BACKEND_CUDA, &why))
        return crn_tool_fail(&tool, "--backend cuda: %s", why);
    if (!asked.json)
        printf("%-15s %-13s %-4s %16s %-7s %2s %11s %9s %8s %9s\n", "operator", "what", "type",
               "planes x h x w", " backend", "th", "median ms", "Mpx/s", "GB/s", "copies");
    for (int32_t i = 0; i < crn_bench_case_count; i++) {
        const crn_bench_case *what = &crn_bench_cases[i];
        if (asked.operator&& strcmp(asked.operator, what->operator) != 0)
            continue;
        int r = bench_case(&asked, what);
        if (r < 0)
            return crn_tool_fail(&tool, "%s %s, %d x %d x %d: %s", what->operator, what->what,
                                 what->planes, what->height, what->width, strerror(-r));
    }
    return 0;
}

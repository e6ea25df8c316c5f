/* cernita-bench operators: each operator by size, backend and threads, on synthetic pictures. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "stages/backend.h"
#include "tools/bench/bench.h"
#include "tools/bench/operators/work.h"
#include "tools/bench/time.h"

/* The serial operator takes some nanoseconds per step: above this many, minutes. */
#define SERIAL_STEPS_MAX 4e8

enum { OPTION_OPERATOR, OPTION_BACKEND, OPTION_THREADS, OPTION_SECONDS, OPTION_ALL, OPTION_JSON };

static const crn_tool tool = {
    .name = "cernita-bench operators",
    .operands = "",
    .about =
        "Times the operators on synthetic pictures: medians, megapixels and gigabytes per second,\n"
        "and the time as a multiple of a memcpy of the same bytes (copies). cuda: from host "
        "memory\n"
        "to host memory, with the shares of kernels and transfers.",
    .options =
        (const crn_option[]){
            CRN_OPTION("operator", "NAME",
                       "only contours, morphology, convolve, haar, ranklet or diamond-square"),
            CRN_OPTION("backend", "B", "serial, openmp or cuda; default: all available"),
            CRN_OPTION("threads", "N",
                       "only with so many; default 1, 2, 4, … up to the number of processors"),
            CRN_OPTION("seconds", "S", "measuring time per row; default 0.4"),
            CRN_OPTION("all", NULL, "serial also where it takes minutes"),
            CRN_OPTION("json", NULL, "one JSON object per line instead of the table"),
            {0}},
    .operands_min = 0,
    .operands_max = 0,
};

typedef struct operators_request {
    int32_t only; /* operator; -1: all */
    const char *backend;
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

static const char *operator_name(const crn_bench_case *of)
{
    return crn_bench_operator_names[of->op];
}

/* A row of the table, without its newline. */
typedef struct table_row {
    const crn_bench_case *of;
    const char *backend;
    int32_t threads;
    double mpx, gb, copies; /* per second; and the number of memory copies that take as long */
} table_row;

static void print_json(const table_row *row, const crn_timing *t)
{
    const crn_bench_picture *p = &row->of->picture;
    printf("{\"operator\":\"%s\",\"what\":\"%s\",\"type\":\"%s\",\"planes\":%d,\"height\":%d,"
           "\"width\":%d,\"backend\":\"%s\",\"threads\":%d,\"median_ms\":%.4f,\"min_ms\":%.4f,"
           "\"max_ms\":%.4f,\"runs\":%d,\"mpx_per_s\":%.1f,\"gb_per_s\":%.3f,\"copies\":%.2f",
           operator_name(row->of), row->of->what, crn_type_name(p->type), p->planes, p->height,
           p->width, row->backend, row->threads, t->median_ms, t->min_ms, t->max_ms, t->runs,
           row->mpx, row->gb, row->copies);
}

static void print_case(const crn_bench_case *of, const char *backend)
{
    const crn_bench_picture *p = &of->picture;
    printf("%-15s %-13s %-4s %2d x %4d x %4d  %-7s ", operator_name(of), of->what,
           crn_type_name(p->type), p->planes, p->height, p->width, backend);
}

static void print_text(const table_row *row, const crn_timing *t)
{
    print_case(row->of, row->backend);
    printf("%2d %11.3f %9.1f %8.3f %9.2f", row->threads, t->median_ms, row->mpx, row->gb,
           row->copies);
}

/* Prints a part of a device's run; the run's median is from host to host. */
static void print_parts(run_parts *parts, bool json)
{
    size_t count = (size_t)parts->count;
    double kernel = crn_bench_median(parts->kernel, count);
    double upload = crn_bench_median(parts->upload, count);
    double download = crn_bench_median(parts->download, count);
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
static void print_missing(const crn_bench_case *of, const char *backend, bool json)
{
    if (json) {
        printf("{\"operator\":\"%s\",\"what\":\"%s\",\"backend\":\"%s\",\"error\":\"not "
               "implemented\"}\n",
               operator_name(of), of->what, backend);
    } else {
        print_case(of, backend);
        puts("not implemented");
    }
    fflush(stdout);
}

static double elements(const crn_bench_case *of)
{
    return (double)of->picture.planes * of->picture.height * of->picture.width;
}

static bool takes_minutes(const crn_bench_case *of, crn_backend backend)
{
    return backend == CRN_BACKEND_SERIAL && elements(of) * of->serial_steps > SERIAL_STEPS_MAX;
}

static int bench_backend(const operators_request *request, const crn_bench_case *of,
                         crn_backend backend, crn_bench_work *work)
{
    const char *why, *name = crn_backend_names[backend];
    const crn_ops *ops = crn_backend_ops(backend, &why);
    if (!ops || (request->backend && strcmp(request->backend, name) != 0) ||
        (takes_minutes(of, backend) && !request->all))
        return 0;
    int32_t cores = (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
    int32_t last = backend == CRN_BACKEND_OPENMP ? cores : 1, first = 1;
    if (request->threads && backend == CRN_BACKEND_OPENMP)
        first = last = request->threads;
    static run_parts parts;
    for (int32_t threads = first; threads <= last; threads *= 2) {
        crn_timing t, copy;
        int r = time_work(work, ops, threads, request->seconds, &parts, &t);
        if (r == -ENOSYS) {
            print_missing(of, name, request->json);
            return 0;
        }
        if (r == 0)
            r = crn_bench_time(run_copy, work, request->seconds, &copy);
        if (r < 0)
            return r;
        double bytes = (double)crn_bench_work_bytes(work);
        table_row row = {of,
                         name,
                         threads,
                         elements(of) / t.median_ms / 1e3,
                         bytes / t.median_ms / 1e6,
                         t.median_ms / copy.median_ms};
        print_row(&row, &t, &parts, request->json);
    }
    return 0;
}

static int bench_case(const operators_request *request, const crn_bench_case *of)
{
    crn_bench_work *work = NULL;
    int r = crn_bench_work_create(of, &work);
    for (crn_backend backend = CRN_BACKEND_SERIAL; r == 0 && backend <= CRN_BACKEND_CUDA; backend++)
        r = bench_backend(request, of, backend, work);
    crn_bench_work_free(&work);
    return r;
}

static operators_request read_request(int argc, char **argv)
{
    operators_request request = {.only = -1, .seconds = CRN_BENCH_SECONDS};
    const char *value;
    for (int option; (option = crn_options_next(&tool, argc, argv, &value)) != CRN_OPTIONS_END;) {
        if (option == OPTION_OPERATOR)
            request.only = crn_option_choice(&tool, "operator", value, crn_bench_operator_names);
        else if (option == OPTION_BACKEND)
            request.backend = crn_backend_names[1 + crn_option_choice(&tool, "backend", value,
                                                                      crn_backend_names + 1)];
        else if (option == OPTION_THREADS)
            request.threads = (int32_t)crn_option_integer(&tool, "threads", value, 1, 1024);
        else if (option == OPTION_SECONDS)
            request.seconds = crn_option_real(&tool, "seconds", value, 1e-6, 3600);
        else if (option == OPTION_ALL)
            request.all = true;
        else
            request.json = true;
    }
    return request;
}

int crn_bench_operators(int argc, char **argv)
{
    operators_request request = read_request(argc, argv);
    const char *why = "";
    if (request.backend && strcmp(request.backend, "cuda") == 0 &&
        !crn_backend_ops(CRN_BACKEND_CUDA, &why))
        return crn_tool_fail(&tool, "--backend cuda: %s", why);
    if (!request.json)
        printf("%-15s %-13s %-4s %16s %-7s %2s %11s %9s %8s %9s\n", "operator", "what", "type",
               "planes x h x w", " backend", "th", "median ms", "Mpx/s", "GB/s", "copies");
    for (int32_t i = 0; i < crn_bench_case_count; i++) {
        const crn_bench_case *of = &crn_bench_cases[i];
        if (!of->what || (request.only >= 0 && request.only != (int32_t)of->op))
            continue;
        int r = bench_case(&request, of);
        if (r < 0)
            return crn_tool_fail(&tool, "%s %s, %d x %d x %d: %s", operator_name(of), of->what,
                                 of->picture.planes, of->picture.height, of->picture.width,
                                 strerror(-r));
    }
    return 0;
}

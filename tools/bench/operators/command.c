/* cernita-bench operators: each operator by size, backend and threads, on synthetic pictures. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "stages/backend.h"
#include "tools/bench/bench.h"
#include "tools/bench/print.h"
#include "tools/bench/work.h"

/* The serial operator takes some nanoseconds per step: above this many, minutes. */
#define SERIAL_STEPS_MAX 4e8

typedef struct operators_request {
    int32_t only;    /* operator; -1: all */
    int32_t backend; /* CRN_BACKEND_AUTO: all */
    int32_t threads; /* 0: all */
    double seconds;
    bool all, json;
} operators_request;

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
            CRN_OPTION_AT("operator", "NAME", operators_request, only,
                          .help = "only this one; default: all",
                          .choices = crn_bench_operator_names),
            CRN_OPTION_AT("backend", "B", operators_request, backend,
                          .help = "default: all available", .choices = crn_backend_names + 1,
                          .first = CRN_BACKEND_SERIAL),
            CRN_OPTION_AT("threads", "N", operators_request, threads,
                          .help = "only with so many; default 1, 2, 4, … up to the number of "
                                  "processors",
                          .min = 1, .max = 1024),
            CRN_BENCH_SECONDS_OPTION(operators_request, "0.4"),
            CRN_OPTION_AT("all", NULL, operators_request, all,
                          .help = "serial also where it takes minutes"),
            CRN_BENCH_JSON(operators_request),
            {0}},
    .operands_min = 0,
    .operands_max = 0,
};

/* One case on one backend with a number of threads. */
typedef struct operators_row {
    const char *name, *what, *type, *size, *backend, *error;
    int32_t planes, height, width, threads;
    crn_timing time;
    double mpx, gb, copies; /* per second; and the number of memory copies that take as long */
    double part_ms[CRN_PARTS];
} operators_row;

static const crn_bench_column columns[] = {
    {"operator", "operator", CRN_CELL(operators_row, name), -15},
    {"what", "what", CRN_CELL(operators_row, what), -13},
    {"type", "type", CRN_CELL(operators_row, type), -4},
    {NULL, "planes x h x w", CRN_CELL(operators_row, size), 16},
    {"planes", NULL, CRN_CELL(operators_row, planes)},
    {"height", NULL, CRN_CELL(operators_row, height)},
    {"width", NULL, CRN_CELL(operators_row, width)},
    {"backend", " backend", CRN_CELL(operators_row, backend), -7, .before = "  "},
    {"threads", "th", CRN_CELL(operators_row, threads), 2},
    {"median_ms", "median ms", CRN_CELL(operators_row, time.median_ms), 11, 3, 4},
    {"min_ms", NULL, CRN_CELL(operators_row, time.min_ms), .json_digits = 4},
    {"max_ms", NULL, CRN_CELL(operators_row, time.max_ms), .json_digits = 4},
    {"runs", NULL, CRN_CELL(operators_row, time.runs)},
    {"mpx_per_s", "Mpx/s", CRN_CELL(operators_row, mpx), 9, 1, 1},
    {"gb_per_s", "GB/s", CRN_CELL(operators_row, gb), 8, 3, 3},
    {"copies", "copies", CRN_CELL(operators_row, copies), 9, 2, 2},
    {"kernel_ms", "", CRN_CELL(operators_row, part_ms[CRN_PART_KERNEL]), 0, 4, 4,
     .before = "  kernel "},
    {"upload_ms", "", CRN_CELL(operators_row, part_ms[CRN_PART_UPLOAD]), 0, 4, 4,
     .before = ", upload "},
    {"download_ms", "", CRN_CELL(operators_row, part_ms[CRN_PART_DOWNLOAD]), 0, 4, 4,
     .before = ", download "},
    {0},
};

static const crn_bench_column error_columns[] = {
    {"operator", "", CRN_CELL(operators_row, name), -15},
    {"what", "", CRN_CELL(operators_row, what), -13},
    {NULL, "", CRN_CELL(operators_row, type), -4},
    {NULL, "", CRN_CELL(operators_row, size), 16},
    {"backend", "", CRN_CELL(operators_row, backend), -7, .before = "  "},
    {"error", "", CRN_CELL(operators_row, error)},
    {0},
};

static int run_copy(void *work)
{
    crn_bench_work_copy(work);
    return 0;
}

static const char *operator_name(const crn_bench_case *of)
{
    return crn_bench_operator_names[of->op];
}

static double elements(const crn_bench_case *of)
{
    return (double)of->picture.planes * of->picture.height * of->picture.width;
}

static bool takes_minutes(const crn_bench_case *of, crn_backend backend)
{
    return backend == CRN_BACKEND_SERIAL && elements(of) * of->serial_steps > SERIAL_STEPS_MAX;
}

/* Times what a row of this case, backend and number of threads has. 0 or negative errno. */
static int time_row(crn_bench_work *work, crn_backend backend, double seconds, operators_row *row)
{
    const char *why;
    crn_timing copy;
    int r = crn_bench_work_time(work, crn_backend_ops(backend, &why), row->threads, seconds,
                                &row->time);
    if (r == 0)
        r = crn_bench_time(run_copy, work, seconds, &copy);
    if (r < 0)
        return r;
    double median_ms = row->time.median_ms;
    row->mpx = elements(work->inputs.of) / median_ms / 1e3;
    row->gb = (double)crn_bench_work_bytes(work) / median_ms / 1e6;
    row->copies = median_ms / copy.median_ms;
    size_t runs = (size_t)(work->runs < CRN_BENCH_PARTS_MAX ? work->runs : CRN_BENCH_PARTS_MAX);
    for (int part = 0; part < CRN_PARTS; part++) {
        crn_bench_sort(work->part_ms[part], runs);
        row->part_ms[part] =
            backend == CRN_BACKEND_CUDA ? crn_bench_median(work->part_ms[part], runs) : NAN;
    }
    return 0;
}

/* An operator that the backend lacks is reported; the benchmark continues. */
static int bench_row(const operators_request *request, crn_bench_work *work, crn_backend backend,
                     int32_t threads)
{
    const crn_bench_case *of = work->inputs.of;
    const crn_bench_picture *p = &of->picture;
    char size[32];
    snprintf(size, sizeof size, "%2d x %4d x %4d", p->planes, p->height, p->width);
    operators_row row = {.name = operator_name(of),
                         .what = of->what,
                         .type = crn_type_name(p->type),
                         .size = size,
                         .planes = p->planes,
                         .height = p->height,
                         .width = p->width,
                         .backend = crn_backend_names[backend],
                         .threads = threads};
    int r = time_row(work, backend, request->seconds, &row);
    if (r == -ENOSYS)
        row.error = "not implemented";
    if (r == 0 || r == -ENOSYS)
        crn_bench_print_row(row.error ? error_columns : columns, &row, request->json);
    return r;
}

static int bench_backend(const operators_request *request, const crn_bench_case *of,
                         crn_backend backend, crn_bench_work *work)
{
    const char *why;
    if (!crn_backend_ops(backend, &why) ||
        (request->backend != CRN_BACKEND_AUTO && request->backend != (int32_t)backend) ||
        (takes_minutes(of, backend) && !request->all))
        return 0;
    int32_t cores = (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
    int32_t last = backend == CRN_BACKEND_OPENMP ? cores : 1, first = 1;
    if (request->threads && backend == CRN_BACKEND_OPENMP)
        first = last = request->threads;
    int r = 0;
    for (int32_t threads = first; r == 0 && threads <= last; threads *= 2)
        r = bench_row(request, work, backend, threads);
    return r == -ENOSYS ? 0 : r;
}

static int bench_case(const operators_request *request, const crn_bench_case *of)
{
    crn_bench_work *work = NULL;
    int r = crn_bench_work_create(of, NULL, true, &work);
    for (crn_backend backend = CRN_BACKEND_SERIAL; r == 0 && backend <= CRN_BACKEND_CUDA; backend++)
        r = bench_backend(request, of, backend, work);
    crn_bench_work_free(&work);
    return r;
}

int crn_bench_operators(int argc, char **argv)
{
    operators_request request = {
        .only = -1, .backend = CRN_BACKEND_AUTO, .seconds = CRN_BENCH_SECONDS};
    crn_options_read(&tool, argc, argv, &request);
    const char *why = "";
    if (request.backend == CRN_BACKEND_CUDA && !crn_backend_ops(CRN_BACKEND_CUDA, &why))
        return crn_tool_fail(&tool, "--backend cuda: %s", why);
    if (!request.json)
        crn_bench_print_headings(columns);
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

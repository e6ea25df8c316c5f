/* cernita-bench gpu: times on a device, each row against its target. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/bench/bench.h"
#include "tools/bench/gpu/gpu.h"
#include "tools/bench/frame.h"
#include "tools/bench/time.h"

/* A sustained flow should reach this share of the upload bandwidth. */
#define FLOW_SHARE 0.8

#define SECONDS 0.2

enum { OPTION_FRAME, OPTION_ONLY, OPTION_SECONDS, OPTION_CHECK, OPTION_JSON };

static const crn_tool tool = {
    .name = "cernita-bench gpu",
    .operands = "",
    .about =
        "Times the CUDA operators on the first device, pictures and results in several copies in\n"
        "rotation, against each row's target and the lower bound that its bytes need (floor).\n"
        "By: graph, the captured work by the device's clock; stream, the same enqueued directly;\n"
        "clock, the host's clock from enqueuing to the result.",
    .options =
        (const crn_option[]){
            CRN_OPTION("frame", "FILE.npy",
                       "float32 maps, H x W x C, for the contours; default: waves"),
            CRN_OPTION("only", "NAME", "rows whose name begins so"),
            CRN_OPTION("seconds", "S", "measuring time per row; default 0.2"),
            CRN_OPTION("check", NULL,
                       "compare the results with openmp's; a row that differs fails"),
            CRN_OPTION("json", NULL, "one JSON object per line instead of the table"),
            {0}},
    .operands_min = 0,
    .operands_max = 0,
};

typedef struct gpu_request {
    const crn_gpu *gpu;
    const char *frame_path, *only;
    crn_image frame; /* data NULL: none given */
    double seconds;
    bool check, json;
    crn_gpu_speeds speeds;
} gpu_request;

/* Result of a row. */
typedef struct outcome {
    const crn_gpu_row *row;
    const crn_gpu_work *work;
    crn_gpu_figures figures;
    double ms, floor_ms;
    const char *by;
    uint32_t points, contours; /* of all views in the last run */
} outcome;

static const char *verdict_on(double value, double target)
{
    return target <= 0 ? "" : value <= target ? "met" : "missed";
}

/* JSON has no NaN. */
static void print_number(const char *key, double value)
{
    if (isfinite(value))
        printf(",\"%s\":%.5f", key, value);
}

static void print_json(const outcome *o)
{
    printf("{\"row\":\"%s\",\"ms\":%.5f,\"by\":\"%s\"", o->row->name, o->ms, o->by);
    print_number("floor_ms", o->floor_ms);
    print_number("share", o->floor_ms / o->ms);
    if (o->row->target_ms > 0) {
        print_number("at_most_ms", o->row->target_ms);
        printf(",\"met\":%s", o->ms <= o->row->target_ms ? "true" : "false");
    }
    print_number("graph_ms", o->figures.graph_ms);
    print_number("stream_ms", o->figures.stream_ms);
    print_number("clock_ms", o->figures.clock_ms);
    print_number("clock_p99_ms", o->figures.p99_ms);
    print_number("upload_recorded_ms", o->figures.upload_captured_ms);
    printf(",\"copies\":%d,\"in_bytes\":%zu,\"out_bytes\":%zu,\"points\":%u,\"contours\":%u}\n",
           o->work->copies, o->work->in_bytes, o->work->out_bytes, o->points, o->contours);
}

/* Appends a time to its line; nothing if it was not measured. */
static void print_time(const char *name, double ms)
{
    if (isfinite(ms))
        printf(", %s %.4f", name, ms);
}

static void print_row(const outcome *o)
{
    char target[16] = "";
    if (o->row->target_ms > 0)
        snprintf(target, sizeof target, "%.3f", o->row->target_ms);
    printf("%-38s %8s %9.4f %-6s %9.4f %5.0f %% %-6s", o->row->name, target, o->ms, o->by,
           o->floor_ms, 100 * o->floor_ms / o->ms, verdict_on(o->ms, o->row->target_ms));
    printf(" %d x %.1f MB", o->work->copies,
           (double)(o->work->in_bytes + o->work->out_bytes) / 1e6);
    print_time("graph", o->figures.graph_ms);
    print_time("stream", o->figures.stream_ms);
    print_time("clock", o->figures.clock_ms);
    print_time("p99", o->figures.p99_ms);
    print_time("upload captured", o->figures.upload_captured_ms);
    if (o->contours)
        printf(", %u segments in %u contours", o->points - o->contours, o->contours);
    putchar('\n');
}

/* The figure that counts: latency if the result ends in host memory, else the device time. */
static void choose_figure(outcome *o)
{
    const crn_gpu_figures *f = &o->figures;
    bool by_clock = isfinite(f->clock_ms), by_graph = isfinite(f->graph_ms);
    o->ms = by_clock ? f->clock_ms : by_graph ? f->graph_ms : f->stream_ms;
    o->by = by_clock ? "clock" : by_graph ? "graph" : "stream";
}

static void print_error(const gpu_request *request, const crn_gpu_row *row, int r)
{
    const char *why = r == -ENOSYS    ? "not implemented"
                      : r == -ENOSPC  ? "the results exceed their buffer"
                      : r == -EBADMSG ? "differs from openmp's result"
                                      : crn_gpu_strerror(r);
    if (request->json)
        printf("{\"row\":\"%s\",\"error\":\"%s\"}\n", row->name, why);
    else
        printf("%-38s %s\n", row->name, why);
    fflush(stdout);
}

static int bench_span(const gpu_request *request, const crn_gpu_task *task)
{
    outcome o = {.row = task->row};
    crn_gpu_work *work = NULL;
    int r = crn_gpu_work_create(task, 1, 0, &work);
    if (r == 0)
        r = crn_gpu_time(work, request->seconds, &o.figures);
    if (r == 0 && request->check)
        r = crn_gpu_work_compare(work);
    if (r == 0) {
        o.work = work;
        o.floor_ms = crn_gpu_work_floor_ms(work, &request->speeds);
        o.points = work->contours ? work->contours->point_count : 0;
        o.contours = work->contours ? work->contours->contour_count : 0;
        choose_figure(&o);
        request->json ? print_json(&o) : print_row(&o);
    }
    crn_gpu_work_free(&work);
    return r;
}

static void print_flow(const gpu_request *request, const crn_gpu_row *row, const crn_gpu_flow *flow,
                       bool is_best)
{
    double share = flow->gb_per_s / request->speeds.upload;
    if (request->json)
        printf("{\"row\":\"%s\",\"contexts\":%d,\"views\":%d,\"views_per_s\":%.1f,"
               "\"gb_per_s\":%.3f,\"share\":%.4f,\"best\":%s,\"met\":%s}\n",
               row->name, flow->contexts, flow->views, flow->views_per_s, flow->gb_per_s, share,
               is_best ? "true" : "false", share >= FLOW_SHARE ? "true" : "false");
    else
        printf("%-38s %d contexts x %2d views: %8.0f views/s, %6.2f GB/s uploaded, %3.0f %% of "
               "the bandwidth%s\n",
               is_best ? row->name : "", flow->contexts, flow->views, flow->views_per_s,
               flow->gb_per_s, 100 * share,
               !is_best              ? ""
               : share >= FLOW_SHARE ? "; 80 % met"
                                     : "; 80 % missed");
}

/* Prints all combinations measured, the best last. */
static int bench_flow(const gpu_request *request, const crn_gpu_task *task)
{
    crn_gpu_flow flows[CRN_GPU_FLOWS_MAX];
    int count = crn_gpu_flow_measure(task, request->seconds, request->check, flows);
    if (count < 0)
        return count;
    int best = 0;
    for (int i = 0; i < count; i++) {
        best = flows[i].views_per_s > flows[best].views_per_s ? i : best;
        print_flow(request, task->row, &flows[i], false);
    }
    print_flow(request, task->row, &flows[best], true);
    return 0;
}

typedef struct field_run {
    crn_context *context;
    crn_diamond_square_params params;
    crn_image out;
} field_run;

static int make_field(void *of)
{
    field_run *run = of;
    return crn_diamond_square_openmp(run->context, &run->params, &run->out);
}

/* For comparison with the device's field: the time on all processors of this machine. */
static int bench_field_openmp(const gpu_request *request, const crn_gpu_task *task)
{
    const crn_bench_picture *p = &task->of->picture;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint8_t *memory = malloc((size_t)p->height * (size_t)p->width);
    field_run run = {.params = {.exponent = task->of->exponent, .seed = 1, .roughness = 0.5},
                     .out = crn_image_dense(memory, CRN_U8, CRN_CHW, 1, p->height, p->width)};
    crn_timing t;
    int r = memory ? crn_context_create((int32_t)cores, &run.context) : -ENOMEM;
    if (r == 0)
        r = crn_bench_time(make_field, &run, request->seconds, &t);
    crn_context_free(&run.context);
    free(memory);
    if (r < 0)
        return r;
    if (request->json)
        printf("{\"row\":\"%s\",\"by\":\"openmp\",\"threads\":%ld,\"ms\":%.5f}\n", task->row->name,
               cores, t.median_ms);
    else
        printf("%-38s %8s %9.4f openmp, %ld threads\n", "", "", t.median_ms, cores);
    return 0;
}

static gpu_request read_request(int argc, char **argv)
{
    gpu_request request = {.seconds = SECONDS};
    const char *value;
    for (int option; (option = crn_options_next(&tool, argc, argv, &value)) != CRN_OPTIONS_END;) {
        if (option == OPTION_FRAME)
            request.frame_path = value;
        else if (option == OPTION_ONLY)
            request.only = value;
        else if (option == OPTION_SECONDS)
            request.seconds = crn_option_real(&tool, "seconds", value, 1e-6, 3600);
        else if (option == OPTION_CHECK)
            request.check = true;
        else
            request.json = true;
    }
    return request;
}

static bool is_wanted(const gpu_request *request, const crn_gpu_row *row)
{
    return !request->only || strncmp(row->name, request->only, strlen(request->only)) == 0;
}

/* Row `index` of the table, its case in *ret_of; NULL after the last. */
static const crn_gpu_row *find_row(int32_t index, const crn_bench_case **ret_of)
{
    for (int32_t i = 0; i < crn_bench_case_count; i++) {
        const crn_bench_case *of = &crn_bench_cases[i];
        for (int32_t k = 0; k < CRN_BENCH_GPU_ROWS_MAX && of->gpu[k].name; k++) {
            if (index-- == 0) {
                *ret_of = of;
                return &of->gpu[k];
            }
        }
    }
    return NULL;
}

static void check_only(const gpu_request *request)
{
    const crn_gpu_row *row;
    const crn_bench_case *of;
    for (int32_t i = 0; (row = find_row(i, &of)); i++)
        if (is_wanted(request, row))
            return;
    crn_usage_error(&tool, "--only '%s': no row's name begins so; the first is '%s'", request->only,
                    find_row(0, &of)->name);
}

/* Prints the bandwidths that all figures relate to. */
static int print_header(gpu_request *request)
{
    crn_gpu_device device = {0};
    int r = request->gpu->describe(0, &device);
    if (r == 0)
        r = crn_gpu_speeds_measure(request->gpu, &request->speeds);
    if (r < 0)
        return r;
    const crn_gpu_speeds *s = &request->speeds;
    if (request->json) {
        printf("{\"device\":\"%s\",\"capability\":%d,\"multiprocessors\":%d,\"l2_bytes\":%zu,"
               "\"copy_gb_per_s\":%.1f,\"upload_gb_per_s\":%.2f,\"download_gb_per_s\":%.2f}\n",
               device.name, device.capability, device.multiprocessors, device.l2_bytes, s->copy,
               s->upload, s->download);
        return 0;
    }
    printf("%s, %d.%d, %d multiprocessors, %.0f MB of L2\n"
           "copy on the device %.0f GB/s read and written, upload %.1f GB/s, download %.1f GB/s "
           "(pinned)\n\n",
           device.name, device.capability / 10, device.capability % 10, device.multiprocessors,
           (double)device.l2_bytes / 1e6, s->copy, s->upload, s->download);
    printf("%-38s %8s %9s %-6s %9s %7s %-6s copies in rotation\n", "work", "target", "ms", "by",
           "floor ms", "share", "");
    return 0;
}

static int bench_rows(const gpu_request *request)
{
    int status = 0;
    crn_gpu_task task = {.gpu = request->gpu,
                         .frame = request->frame.data ? &request->frame : NULL};
    for (int32_t i = 0; (task.row = find_row(i, &task.of)); i++) {
        if (!is_wanted(request, task.row))
            continue;
        int r = task.row->span == CRN_GPU_SUSTAINED ? bench_flow(request, &task)
                                                    : bench_span(request, &task);
        if (r < 0)
            print_error(request, task.row, r);
        if (task.of->op == CRN_BENCH_DIAMOND_SQUARE && bench_field_openmp(request, &task) < 0)
            status = CRN_EXIT_FAILED;
        status = r < 0 ? CRN_EXIT_FAILED : status;
        fflush(stdout);
    }
    return status;
}

int crn_bench_gpu(int argc, char **argv)
{
    gpu_request request = read_request(argc, argv);
    if (request.only)
        check_only(&request);
    const char *why = "";
    crn_error error = {0};
    if (request.frame_path && crn_frame_read(request.frame_path, &request.frame, &error) < 0)
        return crn_tool_fail(&tool, "%s", error.text);
    request.gpu = crn_gpu_get(&why);
    if (!request.gpu) {
        free(request.frame.data);
        return crn_tool_fail(&tool, "%s", why);
    }
    int r = print_header(&request);
    int status = r < 0 ? crn_tool_fail(&tool, "the device failed: %s", crn_gpu_strerror(r))
                       : bench_rows(&request);
    free(request.frame.data);
    return status;
}

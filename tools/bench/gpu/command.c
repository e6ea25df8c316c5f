/* cernita-bench gpu: times on a device, each row against its target. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stages/backend.h"
#include "tools/bench/bench.h"
#include "tools/bench/frame.h"
#include "tools/bench/gpu/gpu.h"
#include "tools/bench/print.h"
#include "tools/bench/work.h"

/* A sustained flow should reach this share of the upload bandwidth. */
#define FLOW_SHARE 0.8

#define SECONDS 0.2

typedef struct gpu_request {
    const crn_gpu *gpu;
    const char *frame_path, *only;
    crn_image frame; /* data NULL: none given */
    double seconds;
    bool check, json;
    crn_gpu_speeds speeds;
} gpu_request;

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
            CRN_OPTION_AT("frame", "FILE.npy", gpu_request, frame_path,
                          .help = "float32 maps, H x W x C, for the contours; default: waves"),
            CRN_OPTION_AT("only", "NAME", gpu_request, only, .help = "rows whose name begins so"),
            CRN_BENCH_SECONDS_OPTION(gpu_request, "0.2"),
            CRN_OPTION_AT("check", NULL, gpu_request, check,
                          .help = "compare the results with openmp's; a row that differs fails"),
            CRN_BENCH_JSON(gpu_request),
            {0}},
    .operands_min = 0,
    .operands_max = 0,
};

/* What is printed of a row. */
typedef struct gpu_row {
    const char *name, *error;
    double target_ms; /* NAN: none */
    double ms;        /* the figure that counts, */
    const char *by;   /* and its clock */
    double floor_ms, share, percent;
    const char *verdict, *met;
    int32_t copies;
    crn_gpu_figures figures;
    size_t in_bytes, out_bytes;
    double megabytes;          /* in and out */
    uint32_t points, contours; /* of all views in the last run */
    double segments;           /* NAN: no contours */
    double contours_found;
} gpu_row;

#define TIME(key, name, place)                                                                     \
    {                                                                                              \
        key, "", CRN_CELL(gpu_row, place), 0, 4, 5, .before = ", " name " "                        \
    }

static const crn_bench_column columns[] = {
    {"row", "work", CRN_CELL(gpu_row, name), -38},
    {NULL, "target", CRN_CELL(gpu_row, target_ms), 8, 3},
    {"ms", "ms", CRN_CELL(gpu_row, ms), 9, 4, 5},
    {"by", "by", CRN_CELL(gpu_row, by), -6},
    {"floor_ms", "floor ms", CRN_CELL(gpu_row, floor_ms), 9, 4, 5},
    {"share", NULL, CRN_CELL(gpu_row, share), .json_digits = 5},
    {NULL, "share", CRN_CELL(gpu_row, percent), 5, .after = " %"},
    {"at_most_ms", NULL, CRN_CELL(gpu_row, target_ms), .json_digits = 5},
    {"met", NULL, .kind = CRN_CELL_LITERAL, .offset = offsetof(gpu_row, met)},
    {NULL, " ", CRN_CELL(gpu_row, verdict), -6},
    {"copies", "copies in rotation", CRN_CELL(gpu_row, copies)},
    {NULL, "", CRN_CELL(gpu_row, megabytes), 0, 1, .before = " x ", .after = " MB"},
    TIME("graph_ms", "graph", figures.graph_ms),
    TIME("stream_ms", "stream", figures.stream_ms),
    TIME("clock_ms", "clock", figures.clock_ms),
    TIME("clock_p99_ms", "p99", figures.p99_ms),
    TIME("upload_recorded_ms", "upload captured", figures.upload_captured_ms),
    {"in_bytes", NULL, CRN_CELL(gpu_row, in_bytes)},
    {"out_bytes", NULL, CRN_CELL(gpu_row, out_bytes)},
    {"points", NULL, CRN_CELL(gpu_row, points)},
    {"contours", NULL, CRN_CELL(gpu_row, contours)},
    {NULL, "", CRN_CELL(gpu_row, segments), .before = ", "},
    {NULL, "", CRN_CELL(gpu_row, contours_found), .before = " segments in ", .after = " contours"},
    {0},
};

static const crn_bench_column error_columns[] = {
    {"row", "", CRN_CELL(gpu_row, name), -38},
    {"error", "", CRN_CELL(gpu_row, error)},
    {0},
};

/* The figure that counts: latency if the result ends in host memory, else the device time. */
static void choose_figure(const crn_gpu_figures *f, gpu_row *row)
{
    bool by_clock = isfinite(f->clock_ms), by_graph = isfinite(f->graph_ms);
    row->ms = by_clock ? f->clock_ms : by_graph ? f->graph_ms : f->stream_ms;
    row->by = by_clock ? "clock" : by_graph ? "graph" : "stream";
}

static void print_figures(const gpu_request *request, const crn_gpu_work *work,
                          const crn_gpu_figures *figures)
{
    double target_ms = work->task.row->target_ms;
    const crn_contours *found = work->contours;
    gpu_row row = {.name = work->task.row->name,
                   .target_ms = target_ms > 0 ? target_ms : NAN,
                   .floor_ms = crn_gpu_work_floor_ms(work, &request->speeds),
                   .copies = work->copies,
                   .figures = *figures,
                   .in_bytes = work->in_bytes,
                   .out_bytes = work->out_bytes,
                   .megabytes = (double)(work->in_bytes + work->out_bytes) / 1e6,
                   .points = found ? found->point_count : 0,
                   .contours = found ? found->contour_count : 0,
                   .segments = NAN,
                   .contours_found = NAN};
    choose_figure(figures, &row);
    row.share = row.floor_ms / row.ms;
    row.percent = 100 * row.share;
    if (target_ms > 0) {
        row.met = row.ms <= target_ms ? "true" : "false";
        row.verdict = row.ms <= target_ms ? "met" : "missed";
    }
    if (row.contours) {
        row.segments = row.points - row.contours;
        row.contours_found = row.contours;
    }
    crn_bench_print_row(columns, &row, request->json);
}

static void print_error(const gpu_request *request, const crn_gpu_row *row, int r)
{
    const char *why = r == -ENOSYS    ? "not implemented"
                      : r == -ENOSPC  ? "the results exceed their buffer"
                      : r == -EBADMSG ? "differs from openmp's result"
                                      : crn_gpu_strerror(r);
    crn_bench_print_row(error_columns, &(gpu_row){.name = row->name, .error = why}, request->json);
}

static int bench_span(const gpu_request *request, const crn_gpu_task *task)
{
    crn_gpu_figures figures;
    crn_gpu_work *work = NULL;
    int r = crn_gpu_work_create(task, 1, 0, &work);
    if (r == 0)
        r = crn_gpu_time(work, request->seconds, &figures);
    if (r == 0 && request->check)
        r = crn_gpu_work_compare(work);
    if (r == 0)
        print_figures(request, work, &figures);
    crn_gpu_work_free(&work);
    return r;
}

typedef struct flow_row {
    const char *name, *heading; /* the heading only of the best */
    crn_gpu_flow flow;
    double share, percent;
    const char *best, *met, *verdict;
} flow_row;

static const crn_bench_column flow_columns[] = {
    {"row", NULL, CRN_CELL(flow_row, name)},
    {NULL, "", CRN_CELL(flow_row, heading), -38, .before = ""},
    {"contexts", "", CRN_CELL(flow_row, flow.contexts), .before = " "},
    {"views", "", CRN_CELL(flow_row, flow.views), 2, .before = " contexts x "},
    {"views_per_s", "", CRN_CELL(flow_row, flow.views_per_s), 8, 0, 1, .before = " views: "},
    {"gb_per_s", "", CRN_CELL(flow_row, flow.gb_per_s), 6, 2, 3, .before = " views/s, "},
    {"share", NULL, CRN_CELL(flow_row, share), .json_digits = 4},
    {NULL, "", CRN_CELL(flow_row, percent), 3, .before = " GB/s uploaded, ",
     .after = " % of the bandwidth"},
    {"best", NULL, .kind = CRN_CELL_LITERAL, .offset = offsetof(flow_row, best)},
    {"met", NULL, .kind = CRN_CELL_LITERAL, .offset = offsetof(flow_row, met)},
    {NULL, "", CRN_CELL(flow_row, verdict), .before = "; 80 % "},
    {0},
};

static void print_flow(const gpu_request *request, const crn_gpu_row *row, const crn_gpu_flow *flow,
                       bool is_best)
{
    double share = flow->gb_per_s / request->speeds.upload;
    bool met = share >= FLOW_SHARE;
    flow_row it = {.name = row->name,
                   .heading = is_best ? row->name : "",
                   .flow = *flow,
                   .share = share,
                   .percent = 100 * share,
                   .best = is_best ? "true" : "false",
                   .met = met ? "true" : "false",
                   .verdict = !is_best ? NULL
                              : met    ? "met"
                                       : "missed"};
    crn_bench_print_row(flow_columns, &it, request->json);
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

/* For comparison with the device's field: the time on all processors of this machine. */
static int bench_field_openmp(const gpu_request *request, const crn_gpu_task *task)
{
    const char *why;
    int32_t cores = (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
    crn_bench_work *work = NULL;
    crn_timing t;
    int r = crn_bench_work_create(task->of, NULL, true, &work);
    if (r == 0)
        r = crn_bench_work_time(work, crn_backend_ops(CRN_BACKEND_OPENMP, &why), cores,
                                request->seconds, &t);
    crn_bench_work_free(&work);
    if (r < 0)
        return r;
    if (request->json)
        printf("{\"row\":\"%s\",\"by\":\"openmp\",\"threads\":%d,\"ms\":%.5f}\n", task->row->name,
               cores, t.median_ms);
    else
        printf("%-38s %8s %9.4f openmp, %d threads\n", "", "", t.median_ms, cores);
    return 0;
}

static bool is_wanted(const gpu_request *request, const crn_gpu_row *row)
{
    return !request->only || strncmp(row->name, request->only, strlen(request->only)) == 0;
}

static void check_only(const gpu_request *request)
{
    const crn_gpu_row *row;
    const crn_bench_case *of;
    for (int32_t i = 0; (row = crn_bench_row(i, &of)); i++)
        if (is_wanted(request, row) && row->span != CRN_GPU_NOT_TIMED)
            return;
    crn_usage_error(&tool, "--only '%s': no row's name begins so; the first is '%s'", request->only,
                    crn_bench_row(0, &of)->name);
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
    printf("%s, compute capability %d.%d, %d multiprocessors, %.0f MB of L2\n"
           "copy on the device %.0f GB/s read and written, upload %.1f GB/s, download %.1f GB/s "
           "(pinned)\n\n",
           device.name, device.capability / 10, device.capability % 10, device.multiprocessors,
           (double)device.l2_bytes / 1e6, s->copy, s->upload, s->download);
    crn_bench_print_headings(columns);
    return 0;
}

static int bench_rows(const gpu_request *request)
{
    int status = 0;
    crn_gpu_task task = {.gpu = request->gpu,
                         .frame = request->frame.data ? &request->frame : NULL};
    for (int32_t i = 0; (task.row = crn_bench_row(i, &task.of)); i++) {
        if (!is_wanted(request, task.row) || task.row->span == CRN_GPU_NOT_TIMED)
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
    gpu_request request = {.seconds = SECONDS};
    crn_options_read(&tool, argc, argv, &request);
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

/* cernita-bench gpu: device times of the tasks by which the line and its peers are measured. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/bench/bench.h"
#include "tools/bench/gpu.h"
#include "tools/bench/npy.h"
#include "tools/bench/time.h"

/* A sustained flow should reach this share of the upload bandwidth. */
#define FLOW_SHARE 0.8

#define SECONDS 0.2

enum { OPTION_FRAME, OPTION_ONLY, OPTION_SECONDS, OPTION_CHECK, OPTION_JSON };

static const crn_tool tool = {
    .name = "cernita-bench gpu",
    .operands = "",
    .about =
        "Times the CUDA operators on the first device, pictures and results there in several\n"
        "copies taken in turns, against the time that each may take (at most) and the one that\n"
        "its bytes take by themselves (floor). By: graph, a stream of the work recorded;\n"
        "stream, asked for again and again; clock, the host's, from asking to the answer.",
    .options =
        (const crn_option[]){
            {"frame", "FILE.npy", "float32 maps, H x W x C, to draw the outlines of; else waves"},
            {"only", "NAME", "rows whose name begins so"},
            {"seconds", "S", "time spent on a row; default 0.2"},
            {"check", NULL, "compare the results with openmp's; a row that differs fails"},
            {"json", NULL, "one JSON object a line instead of the table"},
            {NULL, NULL, NULL}},
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
    crn_gpu_figures figures;
    double ms, floor_ms;
    const char *by;
    int32_t copies;
    size_t in_bytes, out_bytes;
    uint32_t points, contours;
} outcome;

static const char *verdict_on(double value, double at_most)
{
    return at_most <= 0 ? "" : value <= at_most ? "met" : "missed";
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
    if (o->row->at_most_ms > 0) {
        print_number("at_most_ms", o->row->at_most_ms);
        printf(",\"met\":%s", o->ms <= o->row->at_most_ms ? "true" : "false");
    }
    print_number("graph_ms", o->figures.graph_ms);
    print_number("stream_ms", o->figures.stream_ms);
    print_number("clock_ms", o->figures.clock_ms);
    print_number("clock_p99_ms", o->figures.p99_ms);
    print_number("upload_recorded_ms", o->figures.whole_ms);
    printf(",\"copies\":%d,\"in_bytes\":%zu,\"out_bytes\":%zu,\"points\":%u,\"contours\":%u}\n",
           o->copies, o->in_bytes, o->out_bytes, o->points, o->contours);
}

/* Prints a figure beside the others of its line; nothing if it was not measured. */
static void print_beside(const char *name, double ms)
{
    if (isfinite(ms))
        printf(", %s %.4f", name, ms);
}

static void print_row(const outcome *o)
{
    char at_most[16] = "";
    if (o->row->at_most_ms > 0)
        snprintf(at_most, sizeof at_most, "%.3f", o->row->at_most_ms);
    printf("%-38s %8s %9.4f %-6s %9.4f %5.0f %% %-6s", o->row->name, at_most, o->ms, o->by,
           o->floor_ms, 100 * o->floor_ms / o->ms, verdict_on(o->ms, o->row->at_most_ms));
    printf(" %d x %.1f MB", o->copies, (double)(o->in_bytes + o->out_bytes) / 1e6);
    print_beside("graph", o->figures.graph_ms);
    print_beside("stream", o->figures.stream_ms);
    print_beside("clock", o->figures.clock_ms);
    print_beside("p99", o->figures.p99_ms);
    print_beside("upload recorded", o->figures.whole_ms);
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

static void say_fault(const gpu_request *asked, const crn_gpu_row *row, int r)
{
    const char *why = r == -ENOSYS    ? "not there yet"
                      : r == -ENOSPC  ? "the results had no room"
                      : r == -EBADMSG ? "differs from openmp's result"
                                      : crn_gpu_strerror(r);
    if (asked->json)
        printf("{\"row\":\"%s\",\"error\":\"%s\"}\n", row->name, why);
    else
        printf("%-38s %s\n", row->name, why);
    fflush(stdout);
}

static int bench_span(const gpu_request *asked, const crn_gpu_row *row)
{
    outcome o = {.row = row};
    crn_gpu_work *work = NULL;
    const crn_image *frame = asked->frame.data ? &asked->frame : NULL;
    int r = crn_gpu_work_create(asked->gpu, row, frame, 1, 0, &work);
    if (r == 0)
        r = crn_gpu_time(asked->gpu, work, row->span, asked->seconds, &o.figures);
    if (r == 0 && asked->check)
        r = crn_gpu_work_compare(asked->gpu, work);
    if (r == 0) {
        choose_figure(&o);
        o.floor_ms = crn_gpu_work_floor_ms(work, &asked->speeds);
        o.copies = crn_gpu_work_copies(work);
        o.in_bytes = crn_gpu_work_in_bytes(work);
        o.out_bytes = crn_gpu_work_out_bytes(work);
        o.points = crn_gpu_work_points(work);
        o.contours = crn_gpu_work_contours(work);
        asked->json ? print_json(&o) : print_row(&o);
    }
    crn_gpu_work_free(&work);
    return r;
}

static void print_flow(const gpu_request *asked, const crn_gpu_row *row, const crn_gpu_flow *flow,
                       bool is_best)
{
    double share = flow->gb_per_s / asked->speeds.upload;
    if (asked->json)
        printf("{\"row\":\"%s\",\"contexts\":%d,\"views\":%d,\"views_per_s\":%.1f,"
               "\"gb_per_s\":%.3f,\"share\":%.4f,\"best\":%s,\"met\":%s}\n",
               row->name, flow->contexts, flow->views, flow->views_per_s, flow->gb_per_s, share,
               is_best ? "true" : "false", share >= FLOW_SHARE ? "true" : "false");
    else
        printf("%-38s %d contexts x %2d views: %8.0f views/s, %6.2f GB/s uploaded, %3.0f %% of "
               "what can be%s\n",
               is_best ? row->name : "", flow->contexts, flow->views, flow->views_per_s,
               flow->gb_per_s, 100 * share,
               !is_best              ? ""
               : share >= FLOW_SHARE ? "; 80 % met"
                                     : "; 80 % missed");
}

/* Prints all combinations tried, the best last. */
static int bench_flow(const gpu_request *asked, const crn_gpu_row *row)
{
    crn_gpu_flow flows[CRN_GPU_FLOWS_MAX];
    const crn_image *frame = asked->frame.data ? &asked->frame : NULL;
    int count = crn_gpu_flow_measure(asked->gpu, row, frame, asked->seconds, asked->check, flows);
    if (count < 0)
        return count;
    int best = 0;
    for (int i = 0; i < count; i++) {
        best = flows[i].views_per_s > flows[best].views_per_s ? i : best;
        print_flow(asked, row, &flows[i], false);
    }
    print_flow(asked, row, &flows[best], true);
    return 0;
}

static int make_field(void *out)
{
    static crn_context *context;
    int32_t cores = (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
    int r = context ? 0 : crn_context_create(cores, &context);
    crn_diamond_square_params field = {.exponent = 13, .seed = 1, .roughness = 0.5};
    return r == 0 ? crn_diamond_square_openmp(context, &field, out) : r;
}

/* For comparison with the device's field: the time on all processors of this machine. */
static int bench_field_by_processors(const gpu_request *asked, const crn_gpu_row *row)
{
    uint8_t *memory = malloc((size_t)row->height * (size_t)row->width);
    if (!memory)
        return -ENOMEM;
    crn_image out = crn_image_dense(memory, CRN_U8, CRN_CHW, 1, row->height, row->width);
    crn_timing t;
    int r = crn_bench_time(make_field, &out, asked->seconds, &t);
    free(memory);
    if (r < 0)
        return r;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (asked->json)
        printf("{\"row\":\"%s\",\"by\":\"openmp\",\"threads\":%ld,\"ms\":%.5f}\n", row->name, cores,
               t.median_ms);
    else
        printf("%-38s %8s %9.4f openmp, %ld threads\n", "", "", t.median_ms, cores);
    return 0;
}

static gpu_request read_request(int argc, char **argv)
{
    gpu_request asked = {.seconds = SECONDS};
    const char *value;
    for (int option; (option = crn_options_next(&tool, argc, argv, &value)) != CRN_OPTIONS_END;) {
        if (option == OPTION_FRAME)
            asked.frame_path = value;
        else if (option == OPTION_ONLY)
            asked.only = value;
        else if (option == OPTION_SECONDS)
            asked.seconds = crn_option_real(&tool, "seconds", value, 1e-6, 3600);
        else if (option == OPTION_CHECK)
            asked.check = true;
        else
            asked.json = true;
    }
    return asked;
}

static bool is_wanted(const gpu_request *asked, const crn_gpu_row *row)
{
    return !asked->only || strncmp(row->name, asked->only, strlen(asked->only)) == 0;
}

static void check_only(const gpu_request *asked)
{
    for (int32_t i = 0; i < crn_gpu_row_count; i++)
        if (is_wanted(asked, &crn_gpu_rows[i]))
            return;
    crn_usage_error(&tool, "--only '%s' begins no row's name; the first is '%s'", asked->only,
                    crn_gpu_rows[0].name);
}

/* Prints the bandwidths that all figures relate to. */
static int print_head(gpu_request *asked)
{
    crn_gpu_device device = {0};
    int r = asked->gpu->describe(0, &device);
    if (r == 0)
        r = crn_gpu_speeds_measure(asked->gpu, &asked->speeds);
    if (r < 0)
        return r;
    const crn_gpu_speeds *s = &asked->speeds;
    if (asked->json) {
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
    printf("%-38s %8s %9s %-6s %9s %7s %-6s copies in turn\n", "work", "at most", "ms", "by",
           "floor ms", "share", "");
    return 0;
}

static int bench_rows(const gpu_request *asked)
{
    int status = 0;
    for (int32_t i = 0; i < crn_gpu_row_count; i++) {
        const crn_gpu_row *row = &crn_gpu_rows[i];
        if (!is_wanted(asked, row))
            continue;
        int r = row->span == CRN_GPU_SUSTAINED ? bench_flow(asked, row) : bench_span(asked, row);
        if (r < 0)
            say_fault(asked, row, r);
        if (row->task == CRN_GPU_DIAMOND_SQUARE && bench_field_by_processors(asked, row) < 0)
            status = CRN_EXIT_FAILED;
        status = r < 0 ? CRN_EXIT_FAILED : status;
        fflush(stdout);
    }
    return status;
}

int crn_bench_gpu(int argc, char **argv)
{
    gpu_request asked = read_request(argc, argv);
    if (asked.only)
        check_only(&asked);
    const char *why = "";
    crn_error error = {0};
    if (asked.frame_path && crn_npy_read(asked.frame_path, &asked.frame, &error) < 0)
        return crn_tool_fail(&tool, "%s", error.text);
    asked.gpu = crn_gpu_get(&why);
    if (!asked.gpu) {
        free(asked.frame.data);
        return crn_tool_fail(&tool, "%s", why);
    }
    int r = print_head(&asked);
    int status = r < 0 ? crn_tool_fail(&tool, "the device fails: %s", crn_gpu_strerror(r))
                       : bench_rows(&asked);
    free(asked.frame.data);
    return status;
}

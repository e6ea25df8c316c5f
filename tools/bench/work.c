#include "tools/bench/work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int make_contours(crn_bench_work *work)
{
    size_t count = crn_image_elements(&work->inputs.picture);
    uint32_t points = (uint32_t)(4 * count + 64);
    work->contours = (crn_contours){.points = malloc(points * sizeof(crn_point)),
                                    .contours = malloc(count * sizeof(crn_contour)),
                                    .point_capacity = points,
                                    .contour_capacity = (uint32_t)count};
    return work->contours.points && work->contours.contours ? 0 : -ENOMEM;
}

/* Of the windows' results only the largest has room if they overwrite each other. */
static size_t out_bytes_of(const crn_bench_work *work)
{
    const crn_bench_inputs *inputs = &work->inputs;
    if (work->reuse_out && inputs->of->op == CRN_BENCH_RANKLET)
        return 3 * crn_image_elements(&inputs->picture) * sizeof(float);
    return crn_bench_out_bytes(inputs);
}

/* The results, and as many bytes as picture and result together to copy. */
static int make_memory(crn_bench_work *work)
{
    const crn_bench_inputs *inputs = &work->inputs;
    size_t in_bytes = crn_image_elements(&inputs->picture) * crn_type_bytes(inputs->picture.type);
    size_t out_bytes = crn_bench_has_contours(inputs->of) ? in_bytes : out_bytes_of(work);
    work->copy_bytes = work->reuse_out ? (in_bytes + out_bytes) / 2 : 0;
    work->out = malloc(out_bytes);
    work->copy = malloc(2 * work->copy_bytes);
    if (!work->out || !work->copy)
        return -ENOMEM;
    /* Written, so that no run is the first to touch them. */
    memset(work->out, 0, out_bytes);
    memset(work->copy, 0, 2 * work->copy_bytes);
    if (inputs->of->op != CRN_BENCH_CHAIN)
        return 0;
    work->smoothed = malloc(in_bytes);
    work->opened = malloc(in_bytes);
    return work->smoothed && work->opened ? 0 : -ENOMEM;
}

int crn_bench_work_create(const crn_bench_case *of, const crn_image *frame, bool reuse_out,
                          crn_bench_work **ret_work)
{
    crn_bench_work *work = calloc(1, sizeof *work);
    if (!work)
        return -ENOMEM;
    work->reuse_out = reuse_out;
    int r = crn_bench_inputs_create(of, frame, &work->inputs);
    if (r == 0)
        r = make_memory(work);
    if (r == 0 && crn_bench_has_contours(of))
        r = make_contours(work);
    if (r < 0) {
        crn_bench_work_free(&work);
        return r;
    }
    *ret_work = work;
    return 0;
}

void crn_bench_work_free(crn_bench_work **work)
{
    crn_bench_work *it = *work;
    if (!it)
        return;
    crn_bench_inputs_free(&it->inputs);
    free(it->out);
    free(it->smoothed);
    free(it->opened);
    free(it->copy);
    free(it->contours.points);
    free(it->contours.contours);
    free(it);
    *work = NULL;
}

/* Adds the device times of the last call, if it ran on a device. */
static void add_times(const crn_context *context, double part_ms[CRN_PARTS])
{
    crn_gpu_times times;
    if (crn_gpu_times_of(context, &times) < 0)
        return;
    part_ms[CRN_PART_KERNEL] += (double)times.kernel_ns / 1e6;
    part_ms[CRN_PART_UPLOAD] += (double)times.upload_ns / 1e6;
    part_ms[CRN_PART_DOWNLOAD] += (double)times.download_ns / 1e6;
}

int crn_bench_work_run(crn_bench_work *work, const crn_ops *ops, crn_context *context)
{
    crn_bench_target target = {.ops = ops,
                               .context = context,
                               .in = work->inputs.picture.data,
                               .out = work->out,
                               .smoothed = work->smoothed,
                               .opened = work->opened,
                               .contours = &work->contours,
                               .reuse_out = work->reuse_out};
    double part_ms[CRN_PARTS] = {0};
    int r = 0;
    for (int32_t i = 0; r == 0 && i < crn_bench_call_count(work->inputs.of); i++) {
        r = crn_bench_call(&work->inputs, &target, i);
        if (r == 0)
            add_times(context, part_ms);
    }
    if (r == 0 && work->runs < CRN_BENCH_PARTS_MAX)
        for (int part = 0; part < CRN_PARTS; part++)
            work->part_ms[part][work->runs] = part_ms[part];
    work->runs++;
    return r;
}

typedef struct trial {
    crn_bench_work *work;
    const crn_ops *ops;
    crn_context *context;
} trial;

static int run_trial(void *of)
{
    const trial *t = of;
    return crn_bench_work_run(t->work, t->ops, t->context);
}

int crn_bench_work_time(crn_bench_work *work, const crn_ops *ops, int32_t threads, double seconds,
                        crn_timing *ret_timing)
{
    trial t = {work, ops, NULL};
    work->runs = 0;
    int r = crn_context_create(threads, &t.context);
    if (r == 0)
        r = crn_bench_time(run_trial, &t, seconds, ret_timing);
    crn_context_free(&t.context);
    return r;
}

size_t crn_bench_work_bytes(const crn_bench_work *work)
{
    const crn_bench_inputs *inputs = &work->inputs;
    size_t elements = crn_image_elements(&inputs->picture), bytes = 0;
    switch (inputs->of->op) {
    case CRN_BENCH_CONTOURS:
        return elements * sizeof(float) + work->contours.point_count * sizeof(crn_point);
    case CRN_BENCH_DIAMOND_SQUARE:
        return elements;
    case CRN_BENCH_RANKLET:
        for (int32_t i = 0; i < crn_bench_call_count(inputs->of); i++)
            bytes += elements + crn_bench_window_bytes(inputs, i);
        return bytes;
    default:
        return 2 * work->copy_bytes;
    }
}

void crn_bench_work_copy(crn_bench_work *work)
{
    size_t left = crn_bench_work_bytes(work) / 2;
    while (left) {
        size_t chunk = left < work->copy_bytes ? left : work->copy_bytes;
        memcpy(work->copy, (uint8_t *)work->copy + work->copy_bytes, chunk);
        __asm__ volatile("" : : "r"(work->copy) : "memory");
        left -= chunk;
    }
}

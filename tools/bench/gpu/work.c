/* Pictures and memory for one row of `cernita-bench gpu`, and the work on them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/gpu/gpu.h"

#define ALIGNMENT 256

/* Minimum size of all copies together, larger than any cache; at least twice the device's. */
#define ROTATED_BYTES ((size_t)128 << 20)
#define COPIES_MAX    256

/* Slots of the device memory that the stages use. */
enum { SLOT_IN = 16, SLOT_OUT, SLOT_SMOOTHED, SLOT_OPENED };

static size_t rounded(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* One buffer for all views; plane numbers count across them. */
static int make_contours(crn_gpu_work *work)
{
    const crn_gpu *gpu = work->task.gpu;
    bool is_large = work->inputs.picture.planes == 1;
    uint32_t points = (is_large ? 1u << 22 : 1u << 17) * (uint32_t)work->views;
    uint32_t contours = (is_large ? 1u << 18 : 1u << 14) * (uint32_t)work->views;
    crn_contours *it = gpu->pinned_create(sizeof *it);
    work->contours = it;
    if (!it)
        return -ENOMEM;
    *it = (crn_contours){.points = gpu->pinned_create(points * sizeof *it->points),
                         .contours = gpu->pinned_create(contours * sizeof *it->contours),
                         .point_capacity = points,
                         .contour_capacity = contours};
    return it->points && it->contours ? 0 : -ENOMEM;
}

/* Allocates the pictures, pinned and on the device, and the results there. */
static int make_memory(crn_gpu_work *work)
{
    /* Scratch memory is per view, so one view's share of all copies is requested. */
    size_t views = (size_t)work->views, copies = (size_t)work->copies;
    size_t in_share = copies * work->in_step / views, out_share = copies * work->out_step / views;
    size_t one = work->in_bytes / views;
    work->host = work->task.gpu->pinned_create((size_t)work->host_copies * work->in_step);
    work->in = crn_context_scratch(work->context, SLOT_IN, in_share + ALIGNMENT);
    work->out = crn_context_scratch(work->context, SLOT_OUT, out_share + ALIGNMENT);
    work->smoothed = crn_context_scratch(work->context, SLOT_SMOOTHED, one);
    work->opened = crn_context_scratch(work->context, SLOT_OPENED, one);
    if (!work->host || !work->in || !work->out || !work->smoothed || !work->opened)
        return -ENOMEM;
    for (size_t copy = 0; copy < (size_t)work->host_copies; copy++)
        for (size_t view = 0; view < views; view++)
            memcpy(work->host + copy * work->in_step + view * one, work->inputs.picture.data, one);
    int r = 0;
    for (int32_t i = 0; r == 0 && i < work->copies; i++)
        r = crn_gpu_work_upload(work, i);
    return r == 0 ? crn_gpu_work_wait(work) : r;
}

static int32_t copies_for(const crn_gpu *gpu, size_t bytes)
{
    crn_gpu_device device = {0};
    gpu->describe(0, &device);
    size_t wanted = 2 * device.l2_bytes > ROTATED_BYTES ? 2 * device.l2_bytes : ROTATED_BYTES;
    size_t copies = (wanted + bytes - 1) / bytes;
    return copies < COPIES_MAX ? (int32_t)copies : COPIES_MAX;
}

int crn_gpu_work_create(const crn_gpu_task *task, int32_t views, int32_t copies,
                        crn_gpu_work **ret_work)
{
    crn_gpu_work *work = calloc(1, sizeof *work);
    if (!work)
        return -ENOMEM;
    work->task = *task;
    work->views = views;
    int r = crn_bench_inputs_create(task->of, task->frame, &work->inputs);
    if (r == 0) {
        const crn_image *picture = &work->inputs.picture;
        work->in_bytes = crn_image_elements(picture) * crn_type_bytes(picture->type);
        if (task->of->op == CRN_BENCH_DIAMOND_SQUARE)
            work->in_bytes = 1; /* a generator: nothing to upload */
        work->in_bytes *= (size_t)views;
        work->out_bytes = crn_bench_out_bytes(&work->inputs) * (size_t)views;
        work->in_step = rounded(work->in_bytes);
        work->out_step = rounded(work->out_bytes);
        work->copies = copies ? copies : copies_for(task->gpu, work->in_step + work->out_step);
        work->host_copies = task->row->span == CRN_GPU_FROM_HOST ? work->copies : 1;
        r = task->gpu->context_create(0, views, &work->context);
    }
    if (r == 0 && crn_bench_has_contours(task->of))
        r = make_contours(work);
    if (r == 0)
        r = make_memory(work);
    if (r < 0) {
        crn_gpu_work_free(&work);
        return r;
    }
    *ret_work = work;
    return 0;
}

void crn_gpu_work_free(crn_gpu_work **work)
{
    crn_gpu_work *it = *work;
    if (!it)
        return;
    const crn_gpu *gpu = it->task.gpu;
    if (it->context)
        crn_gpu_work_wait(it);
    if (it->contours) {
        gpu->pinned_free(it->contours->points);
        gpu->pinned_free(it->contours->contours);
    }
    gpu->pinned_free(it->contours);
    gpu->pinned_free(it->host);
    crn_context_free(&it->context);
    crn_bench_inputs_free(&it->inputs);
    free(it);
    *work = NULL;
}

int crn_gpu_work_wait(const crn_gpu_work *work)
{
    return crn_gpu_wait(work->task.gpu, work->context, CRN_BENCH_GPU_LIMIT_NS);
}

int crn_gpu_work_check(const crn_gpu_work *work)
{
    return work->contours && work->contours->truncated ? -ENOSPC : 0;
}

double crn_gpu_work_floor_ms(const crn_gpu_work *work, const crn_gpu_speeds *speeds)
{
    double in = (double)work->in_bytes, back = 0;
    if (work->contours)
        back = (double)work->contours->point_count * sizeof(crn_point) +
               (double)work->contours->contour_count * sizeof(crn_contour);
    /* Transfers in different directions can overlap. */
    double floor_ms = (in + (double)work->out_bytes) / speeds->copy / 1e6;
    floor_ms = fmax(floor_ms, back / speeds->download / 1e6);
    if (work->task.row->span == CRN_GPU_FROM_HOST)
        floor_ms = fmax(floor_ms, in / speeds->upload / 1e6);
    return floor_ms;
}

int crn_gpu_work_upload(crn_gpu_work *work, int32_t i)
{
    size_t to = (size_t)(i % work->copies) * work->in_step;
    size_t from = (size_t)(i % work->host_copies) * work->in_step;
    return work->task.gpu->upload(work->context, work->in + to, work->host + from, work->in_bytes);
}

int crn_gpu_work_enqueue(crn_gpu_work *work, int32_t i)
{
    size_t copy = (size_t)(i % work->copies);
    crn_bench_target target = {.ops = work->task.gpu->ops,
                               .context = work->context,
                               .in = work->in + copy * work->in_step,
                               .out = work->out + copy * work->out_step,
                               .smoothed = work->smoothed,
                               .opened = work->opened,
                               .contours = work->contours};
    return crn_bench_run(&work->inputs, &target);
}

int crn_gpu_work_capture(crn_gpu_work *work, int32_t i, int32_t count, bool uploads,
                         crn_gpu_graph **ret_graph)
{
    const crn_gpu *gpu = work->task.gpu;
    int r = gpu->begin_capture(work->context);
    if (r < 0)
        return r;
    for (int32_t k = i; r == 0 && k < i + count; k++) {
        r = uploads ? crn_gpu_work_upload(work, k) : 0;
        if (r == 0)
            r = crn_gpu_work_enqueue(work, k);
    }
    int captured = gpu->end_capture(work->context, ret_graph);
    return r < 0 ? r : captured;
}

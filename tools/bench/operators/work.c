#include "tools/bench/operators/work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct crn_bench_work {
    crn_bench_inputs inputs;
    void *out, *copy;
    size_t copy_bytes;
    crn_contours contours;
    crn_gpu_times times;
};

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

/* The result, and as many bytes as picture and result together to copy. */
static int make_memory(crn_bench_work *work)
{
    const crn_bench_inputs *inputs = &work->inputs;
    size_t count = crn_image_elements(&inputs->picture);
    size_t in_bytes = count * crn_type_bytes(inputs->picture.type);
    size_t out_bytes = in_bytes;
    if (inputs->of->op == CRN_BENCH_HAAR)
        out_bytes = count * sizeof(float);
    if (inputs->of->op == CRN_BENCH_RANKLET)
        out_bytes = 3 * count * sizeof(float);
    work->copy_bytes = (in_bytes + out_bytes) / 2;
    work->out = malloc(out_bytes);
    work->copy = malloc(2 * work->copy_bytes);
    if (!work->out || !work->copy)
        return -ENOMEM;
    memset(work->out, 0, out_bytes);
    memset(work->copy, 0, 2 * work->copy_bytes);
    return 0;
}

int crn_bench_work_create(const crn_bench_case *of, crn_bench_work **ret_work)
{
    crn_bench_work *work = calloc(1, sizeof *work);
    if (!work)
        return -ENOMEM;
    int r = crn_bench_inputs_create(of, NULL, &work->inputs);
    if (r == 0)
        r = make_memory(work);
    if (r == 0 && of->op == CRN_BENCH_CONTOURS)
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
    if (!*work)
        return;
    crn_bench_inputs_free(&(*work)->inputs);
    free((*work)->out);
    free((*work)->copy);
    free((*work)->contours.points);
    free((*work)->contours.contours);
    free(*work);
    *work = NULL;
}

/* Adds the device times of the last call, if it ran on a device. */
static void add_times(crn_bench_work *work, const crn_context *context)
{
    crn_gpu_times times;
    if (crn_gpu_times_of(context, &times) < 0)
        return;
    work->times.upload_ns += times.upload_ns;
    work->times.kernel_ns += times.kernel_ns;
    work->times.download_ns += times.download_ns;
}

int crn_bench_work_run(crn_bench_work *work, const crn_ops *ops, crn_context *context)
{
    crn_bench_target target = {.ops = ops,
                               .context = context,
                               .in = work->inputs.picture.data,
                               .out = work->out,
                               .contours = &work->contours,
                               .reuse_out = true};
    work->times = (crn_gpu_times){0};
    int r = 0;
    for (int32_t i = 0; r == 0 && i < crn_bench_call_count(work->inputs.of); i++) {
        r = crn_bench_call(&work->inputs, &target, i);
        if (r == 0)
            add_times(work, context);
    }
    return r;
}

crn_gpu_times crn_bench_work_times(const crn_bench_work *work)
{
    return work->times;
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

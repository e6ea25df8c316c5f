/* Pictures, parameters and memory for one row of `cernita-bench gpu`. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/kernel.h"
#include "tools/bench/gpu_internal.h"

#define PI 3.14159265358979

/* Minimum size of all copies together, larger than any cache; at least twice the device's. */
#define ROTATED_BYTES ((size_t)128 << 20)
#define COPIES_MAX    256

/* Slots of the device memory that the stages use. */
enum { SLOT_IN = 16, SLOT_OUT, SLOT_SMOOTHED, SLOT_OPENED };

static double wave(int32_t length_px, int32_t plane, int32_t y, int32_t x)
{
    double turn = 2 * PI / length_px;
    return 0.5 + 0.25 * sin(turn * (x + 0.3 * y) + plane) + 0.25 * sin(turn * 1.3 * y);
}

static void put(const crn_image *image, ptrdiff_t at, double value)
{
    if (image->type == CRN_U8)
        ((uint8_t *)image->data)[at] = (uint8_t)(value * 255 + 0.5);
    else
        ((float *)image->data)[at] = (float)value;
}

static bool has_contours(const crn_gpu_row *row)
{
    return row->task == CRN_GPU_CONTOURS || row->task == CRN_GPU_CHAIN;
}

/* The given frame, waves for contours, noise for all others. */
static int make_picture(crn_gpu_work *work, const crn_image *frame)
{
    const crn_gpu_row *row = work->row;
    bool is_frame = has_contours(row) && row->planes > 1;
    crn_image shape = crn_image_dense(NULL, row->type, row->planes > 1 ? CRN_HWC : CRN_CHW,
                                      row->planes, row->height, row->width);
    if (is_frame && frame && frame->planes > CRN_GPU_PLANES_MAX)
        return -EINVAL;
    if (is_frame && frame)
        shape =
            crn_image_dense(NULL, row->type, CRN_HWC, frame->planes, frame->height, frame->width);
    shape.data = malloc(crn_image_elements(&shape) * crn_type_bytes(shape.type));
    work->picture = shape;
    if (!shape.data)
        return -ENOMEM;
    uint32_t word = 1;
    for (int32_t y = 0; y < shape.height; y++) {
        for (int32_t x = 0; x < shape.width; x++) {
            for (int32_t plane = 0; plane < shape.planes; plane++) {
                word = word * 1664525u + 1013904223u;
                double value = (double)(word >> 8) / (1 << 24);
                if (has_contours(row))
                    value = is_frame && frame ? (double)crn_image_at(frame, plane, y, x)
                                              : wave(row->a, plane, y, x);
                put(&shape, crn_image_index(&shape, plane, y, x), value);
            }
        }
    }
    return 0;
}

static size_t result_bytes(const crn_gpu_work *work)
{
    const crn_gpu_row *row = work->row;
    size_t count = crn_image_elements(&work->picture), bytes = 0;
    switch (row->task) {
    case CRN_GPU_CONTOURS:
    case CRN_GPU_CHAIN:
        return 0;
    case CRN_GPU_HAAR:
        return count * sizeof(float);
    case CRN_GPU_RANKLET: /* the results of every window are kept */
        for (int32_t side = row->a; side <= row->b; side *= 2)
            bytes += crn_gpu_window_bytes(&work->picture, side);
        return bytes;
    default:
        return count * crn_type_bytes(row->type);
    }
}

/* The chain's usual kernel (a is 1); otherwise weights without structure. */
static int make_weights(crn_gpu_work *work)
{
    bool is_chain = work->row->task == CRN_GPU_CHAIN;
    int32_t side = is_chain ? 3 : work->row->b;
    size_t count = (size_t)side * (size_t)side;
    work->weights = malloc(count * sizeof *work->weights);
    if (!work->weights)
        return -ENOMEM;
    if (is_chain || work->row->a == 1) {
        static crn_kernel kernel;
        int r = crn_kernel_make("gaussian", (crn_size){side, side}, &kernel, NULL);
        memcpy(work->weights, kernel.weights, count * sizeof *work->weights);
        return r;
    }
    uint32_t word = 7;
    for (size_t i = 0; i < count; i++) {
        word = word * 1664525u + 1013904223u;
        work->weights[i] = (float)(((double)(word >> 8) / (1 << 24) - 0.4) / side);
    }
    return 0;
}

/* One buffer for all views; plane numbers count across them. */
static int make_contours(crn_gpu_work *work)
{
    bool is_large = work->picture.planes == 1;
    uint32_t points = (is_large ? 1u << 22 : 1u << 17) * (uint32_t)work->views;
    uint32_t contours = (is_large ? 1u << 18 : 1u << 14) * (uint32_t)work->views;
    crn_contours *it = work->gpu->pinned_create(sizeof *it);
    work->contours = it;
    if (!it)
        return -ENOMEM;
    *it = (crn_contours){.points = work->gpu->pinned_create(points * sizeof *it->points),
                         .contours = work->gpu->pinned_create(contours * sizeof *it->contours),
                         .point_capacity = points,
                         .contour_capacity = contours};
    for (int32_t plane = 0; plane < work->picture.planes && plane < CRN_GPU_PLANES_MAX; plane++)
        work->levels[plane] = work->row->type == CRN_U8 ? 127.5 : 0.5;
    return it->points && it->contours ? 0 : -ENOMEM;
}

/* Allocates the pictures, pinned and on the device, and the results there. */
static int take_memory(crn_gpu_work *work)
{
    /* Scratch memory is per view, so one view's share of all copies is requested. */
    size_t views = (size_t)work->views, copies = (size_t)work->copies;
    size_t in_share = copies * work->in_step / views, out_share = copies * work->out_step / views;
    size_t one = work->in_bytes / views;
    work->host = work->gpu->pinned_create((size_t)work->host_copies * work->in_step);
    work->in = crn_context_scratch(work->context, SLOT_IN, in_share + CRN_GPU_ALIGNMENT);
    work->out = crn_context_scratch(work->context, SLOT_OUT, out_share + CRN_GPU_ALIGNMENT);
    work->smoothed = crn_context_scratch(work->context, SLOT_SMOOTHED, one);
    work->opened = crn_context_scratch(work->context, SLOT_OPENED, one);
    if (!work->host || !work->in || !work->out || !work->smoothed || !work->opened)
        return -ENOMEM;
    for (size_t copy = 0; copy < (size_t)work->host_copies; copy++)
        for (size_t view = 0; view < views; view++)
            memcpy(work->host + copy * work->in_step + view * one, work->picture.data, one);
    int r = 0;
    for (int32_t i = 0; r == 0 && i < work->copies; i++)
        r = crn_gpu_work_upload(work, i);
    return r == 0 ? crn_gpu_wait(work->gpu, work->context, CRN_BENCH_GPU_LIMIT_NS) : r;
}

static int32_t copies_for(const crn_gpu *gpu, size_t bytes)
{
    crn_gpu_device device = {0};
    gpu->describe(0, &device);
    size_t wanted = 2 * device.l2_bytes > ROTATED_BYTES ? 2 * device.l2_bytes : ROTATED_BYTES;
    size_t copies = (wanted + bytes - 1) / bytes;
    return copies < COPIES_MAX ? (int32_t)copies : COPIES_MAX;
}

int crn_gpu_work_create(const crn_gpu *gpu, const crn_gpu_row *row, const crn_image *frame,
                        int32_t views, int32_t copies, crn_gpu_work **ret_work)
{
    crn_gpu_work *work = calloc(1, sizeof *work);
    if (!work)
        return -ENOMEM;
    work->gpu = gpu;
    work->row = row;
    work->views = views;
    int r = make_picture(work, frame);
    if (r == 0) {
        work->in_bytes = crn_image_elements(&work->picture) * crn_type_bytes(row->type);
        if (row->task == CRN_GPU_DIAMOND_SQUARE)
            work->in_bytes = 1; /* a generator: nothing to upload */
        work->in_bytes *= (size_t)views;
        work->out_bytes = result_bytes(work) * (size_t)views;
        work->in_step = crn_gpu_rounded(work->in_bytes);
        work->out_step = crn_gpu_rounded(work->out_bytes);
        work->copies = copies ? copies : copies_for(gpu, work->in_step + work->out_step);
        work->host_copies = row->span == CRN_GPU_FROM_HOST ? work->copies : 1;
        r = gpu->context_create(0, views, &work->context);
    }
    if (r == 0 && has_contours(row))
        r = make_contours(work);
    if (r == 0 && (row->task == CRN_GPU_CONVOLVE || row->task == CRN_GPU_CHAIN))
        r = make_weights(work);
    if (r == 0)
        r = take_memory(work);
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
    if (it->context)
        crn_gpu_wait(it->gpu, it->context, CRN_BENCH_GPU_LIMIT_NS);
    if (it->contours) {
        it->gpu->pinned_free(it->contours->points);
        it->gpu->pinned_free(it->contours->contours);
    }
    it->gpu->pinned_free(it->contours);
    it->gpu->pinned_free(it->host);
    crn_context_free(&it->context);
    free(it->picture.data);
    free(it->weights);
    free(it);
    *work = NULL;
}

crn_context *crn_gpu_work_context(const crn_gpu_work *work)
{
    return work->context;
}

int32_t crn_gpu_work_copies(const crn_gpu_work *work)
{
    return work->copies;
}

size_t crn_gpu_work_in_bytes(const crn_gpu_work *work)
{
    return work->in_bytes;
}

size_t crn_gpu_work_out_bytes(const crn_gpu_work *work)
{
    return work->out_bytes;
}

uint32_t crn_gpu_work_points(const crn_gpu_work *work)
{
    return work->contours ? work->contours->point_count : 0;
}

uint32_t crn_gpu_work_contours(const crn_gpu_work *work)
{
    return work->contours ? work->contours->contour_count : 0;
}

int crn_gpu_work_check(const crn_gpu_work *work)
{
    return work->contours && work->contours->truncated ? -ENOSPC : 0;
}

double crn_gpu_work_floor_ms(const crn_gpu_work *work, const crn_gpu_speeds *speeds)
{
    const crn_gpu_row *row = work->row;
    double in = (double)work->in_bytes;
    double back = (double)crn_gpu_work_points(work) * sizeof(crn_point) +
                  (double)crn_gpu_work_contours(work) * sizeof(crn_contour);
    /* Transfers in different directions can overlap. */
    double floor_ms = (in + (double)work->out_bytes) / speeds->copy / 1e6;
    floor_ms = fmax(floor_ms, back / speeds->download / 1e6);
    if (row->span == CRN_GPU_FROM_HOST)
        floor_ms = fmax(floor_ms, in / speeds->upload / 1e6);
    return floor_ms;
}

int crn_gpu_work_upload(crn_gpu_work *work, int32_t i)
{
    size_t to = (size_t)(i % work->copies) * work->in_step;
    size_t from = (size_t)(i % work->host_copies) * work->in_step;
    return work->gpu->upload(work->context, work->in + to, work->host + from, work->in_bytes);
}

int crn_gpu_work_ask(crn_gpu_work *work, int32_t i)
{
    size_t copy = (size_t)(i % work->copies);
    crn_gpu_place place = {.ops = work->gpu->ops,
                           .context = work->context,
                           .in = work->in + copy * work->in_step,
                           .out = work->out + copy * work->out_step,
                           .smoothed = work->smoothed,
                           .opened = work->opened,
                           .contours = work->contours};
    return crn_gpu_enqueue(work, &place);
}

/* Pictures and parameters of the benchmark cases, and the operator calls that each makes. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/kernel/kernel.h"
#include "tools/bench/cases.h"

#define PI 3.14159265358979

/* Alignment of the results of different window sizes. */
#define ALIGNMENT 256

#define LEVEL 0.5

bool crn_bench_has_contours(const crn_bench_case *of)
{
    return of->op == CRN_BENCH_CONTOURS || of->op == CRN_BENCH_CHAIN;
}

/* Uniform in [0, 1). */
static double unit_random(uint32_t *word)
{
    *word = *word * 1664525u + 1013904223u;
    return (double)(*word >> 8) / (1 << 24);
}

static double wave(int32_t length_px, int32_t plane, int32_t y, int32_t x)
{
    if (!length_px)
        return 0;
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

static int make_picture(const crn_bench_case *of, const crn_image *frame, crn_image *picture)
{
    const crn_bench_picture *p = &of->picture;
    bool is_frame = frame && p->wavelength_px && p->planes > 1;
    if (is_frame && frame->planes > CRN_BENCH_PLANES_MAX)
        return -EINVAL;
    crn_layout layout = p->planes > 1 ? CRN_HWC : CRN_CHW;
    *picture = is_frame ? crn_image_dense(NULL, p->type, CRN_HWC, frame->planes, frame->height,
                                          frame->width)
                        : crn_image_dense(NULL, p->type, layout, p->planes, p->height, p->width);
    picture->data = malloc(crn_image_elements(picture) * crn_type_bytes(p->type));
    if (!picture->data)
        return -ENOMEM;
    uint32_t word = 1;
    for (int32_t y = 0; y < picture->height; y++) {
        for (int32_t x = 0; x < picture->width; x++) {
            for (int32_t plane = 0; plane < picture->planes; plane++) {
                double value =
                    is_frame ? (double)crn_image_at(frame, plane, y, x)
                             : wave(p->wavelength_px, plane, y, x) + p->noise * unit_random(&word);
                put(picture, crn_image_index(picture, plane, y, x), value);
            }
        }
    }
    return 0;
}

static int make_weights(const char *name, int32_t side, float **ret_weights)
{
    size_t count = (size_t)side * (size_t)side;
    float *weights = malloc(count * sizeof *weights);
    *ret_weights = weights;
    if (!weights)
        return -ENOMEM;
    if (strcmp(name, "dense") != 0) {
        static crn_kernel kernel;
        int r = crn_kernel_make(name, (crn_size){side, side}, &kernel, NULL);
        memcpy(weights, kernel.weights, count * sizeof *weights);
        return r;
    }
    uint32_t word = 7;
    for (size_t i = 0; i < count; i++)
        weights[i] = (float)((unit_random(&word) - 0.4) / side);
    return 0;
}

int crn_bench_inputs_create(const crn_bench_case *of, const crn_image *frame,
                            crn_bench_inputs *ret_inputs)
{
    *ret_inputs = (crn_bench_inputs){.of = of};
    for (int32_t plane = 0; plane < CRN_BENCH_PLANES_MAX; plane++)
        ret_inputs->levels[plane] = of->picture.type == CRN_U8 ? 255 * LEVEL : LEVEL;
    int r = make_picture(of, frame, &ret_inputs->picture);
    if (r == 0 && of->op == CRN_BENCH_CONVOLVE)
        r = make_weights(of->kernel.name, of->kernel.size, &ret_inputs->weights);
    if (r == 0 && of->op == CRN_BENCH_CHAIN)
        r = make_weights("gaussian", 3, &ret_inputs->weights);
    return r;
}

void crn_bench_inputs_free(crn_bench_inputs *inputs)
{
    free(inputs->picture.data);
    free(inputs->weights);
    *inputs = (crn_bench_inputs){0};
}

int32_t crn_bench_call_count(const crn_bench_case *of)
{
    int32_t count = of->op == CRN_BENCH_CHAIN ? 3 : 1;
    if (of->op == CRN_BENCH_RANKLET)
        while (of->windows.first << count <= of->windows.last)
            count++;
    return count;
}

/* The ranklets of call i: three planes with one element per window position. */
static crn_image ranklets(const crn_bench_inputs *inputs, void *data, int32_t i)
{
    const crn_image *in = &inputs->picture;
    int32_t side = inputs->of->windows.first << i;
    return crn_image_dense(data, CRN_F32, CRN_CHW, 3 * in->planes, in->height - side + 1,
                           in->width - side + 1);
}

size_t crn_bench_window_bytes(const crn_bench_inputs *inputs, int32_t i)
{
    crn_image result = ranklets(inputs, NULL, i);
    return crn_image_elements(&result) * sizeof(float);
}

size_t crn_bench_window_offset(const crn_bench_inputs *inputs, int32_t i)
{
    size_t offset = 0;
    for (int32_t k = 0; k < i; k++)
        offset += (crn_bench_window_bytes(inputs, k) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return offset;
}

size_t crn_bench_out_bytes(const crn_bench_inputs *inputs)
{
    const crn_bench_case *of = inputs->of;
    if (crn_bench_has_contours(of))
        return 0;
    if (of->op == CRN_BENCH_RANKLET)
        return crn_bench_window_offset(inputs, crn_bench_call_count(of));
    crn_type type = of->op == CRN_BENCH_HAAR ? CRN_F32 : of->picture.type;
    return crn_image_elements(&inputs->picture) * crn_type_bytes(type);
}

static int call_contours(const crn_bench_inputs *inputs, const crn_bench_target *t,
                         crn_border border, const crn_image *in)
{
    crn_contours_params params = {.levels = inputs->levels, .border = border};
    return t->ops->contours(t->context, &params, in, t->contours);
}

static int call_opening(const crn_bench_target *t, crn_element_shape shape, int32_t size,
                        const crn_image *in, crn_image *out)
{
    crn_morphology_params params = {.operation = CRN_OPEN,
                                    .element = {.shape = shape, .width = size, .height = size}};
    return t->ops->morphology(t->context, &params, in, out);
}

static int call_convolve(const crn_bench_inputs *inputs, const crn_bench_target *t, int32_t size,
                         const crn_image *in, crn_image *out)
{
    crn_convolve_params params = {inputs->weights, size, size, CRN_CONVOLVE_REPLICATE};
    return t->ops->convolve(t->context, &params, in, out);
}

static int call_ranklet(const crn_bench_inputs *inputs, const crn_bench_target *t, int32_t i,
                        const crn_image *in)
{
    int32_t side = inputs->of->windows.first << i;
    crn_ranklet_params params = {side, side};
    size_t offset = t->reuse_out ? 0 : crn_bench_window_offset(inputs, i);
    crn_image out = ranklets(inputs, (uint8_t *)t->out + offset, i);
    return t->ops->ranklet(t->context, &params, in, &out);
}

static int call_chain(const crn_bench_inputs *inputs, const crn_bench_target *t, int32_t i,
                      const crn_image *in)
{
    crn_image smoothed = *in, opened = *in;
    smoothed.data = t->smoothed;
    opened.data = t->opened;
    if (i == 0)
        return call_convolve(inputs, t, 3, in, &smoothed);
    if (i == 1)
        return call_opening(t, CRN_ELEMENT_DISK, 5, &smoothed, &opened);
    return call_contours(inputs, t, CRN_BORDER_CLOSED, &opened);
}

int crn_bench_call(const crn_bench_inputs *inputs, const crn_bench_target *target, int32_t i)
{
    const crn_bench_case *of = inputs->of;
    crn_image in = inputs->picture, out = inputs->picture;
    in.data = target->in;
    out.data = target->out;
    out.type = of->op == CRN_BENCH_HAAR ? CRN_F32 : of->picture.type;
    crn_diamond_square_params field = {.exponent = of->exponent, .seed = 1, .roughness = 0.5};
    switch (of->op) {
    case CRN_BENCH_CONTOURS:
        return call_contours(inputs, target, of->border, &in);
    case CRN_BENCH_MORPHOLOGY:
        return call_opening(target, of->opening.shape, of->opening.size, &in, &out);
    case CRN_BENCH_CONVOLVE:
        return call_convolve(inputs, target, of->kernel.size, &in, &out);
    case CRN_BENCH_HAAR:
        return target->ops->haar(target->context, &of->haar, &in, &out);
    case CRN_BENCH_RANKLET:
        return call_ranklet(inputs, target, i, &in);
    case CRN_BENCH_DIAMOND_SQUARE:
        return target->ops->diamond_square(target->context, &field, &out);
    case CRN_BENCH_CHAIN:
        return call_chain(inputs, target, i, &in);
    }
    return -EINVAL;
}

int crn_bench_run(const crn_bench_inputs *inputs, const crn_bench_target *target)
{
    int r = 0;
    for (int32_t i = 0; r == 0 && i < crn_bench_call_count(inputs->of); i++)
        r = crn_bench_call(inputs, target, i);
    return r;
}

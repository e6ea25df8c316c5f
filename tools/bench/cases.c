#include "tools/bench/cases.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979

/* Sizes of the line's own frame and of the pictures in the operators' original publications. */
#define FRAME  12, 95, 511
#define PHOTO  3, 1920, 2560
#define UHD    3, 2160, 3840
#define SCALED 1, 1800, 2880

const crn_bench_case crn_bench_cases[] = {
    {"contours", "waves", CRN_FIELD_WAVES, CRN_F32, FRAME, 60, 0, 4},
    {"contours", "noise", CRN_FIELD_NOISE, CRN_F32, FRAME, 0, 0, 4},
    {"contours", "waves", CRN_FIELD_WAVES, CRN_F32, 1, 1024, 1024, 40, 0, 4},
    {"contours", "noise", CRN_FIELD_NOISE, CRN_F32, 1, 1024, 1024, 0, 0, 4},
    {"contours", "waves", CRN_FIELD_WAVES, CRN_F32, 1, 2048, 2048, 40, 0, 4},
    {"contours", "waves", CRN_FIELD_WAVES, CRN_F32, 1, 4096, 4096, 40, 0, 4},
    {"morphology", "open disk 5", CRN_FIELD_NOISE, CRN_F32, FRAME, CRN_ELEMENT_DISK, 5, 26},
    {"morphology", "open disk 5", CRN_FIELD_NOISE, CRN_U8, FRAME, CRN_ELEMENT_DISK, 5, 26},
    {"morphology", "open rect 11", CRN_FIELD_NOISE, CRN_U8, 3, 480, 640, CRN_ELEMENT_RECT, 11, 242},
    {"morphology", "open rect 3", CRN_FIELD_NOISE, CRN_U8, PHOTO, CRN_ELEMENT_RECT, 3, 18},
    {"morphology", "open rect 11", CRN_FIELD_NOISE, CRN_U8, PHOTO, CRN_ELEMENT_RECT, 11, 242},
    {"morphology", "open rect 21", CRN_FIELD_NOISE, CRN_U8, PHOTO, CRN_ELEMENT_RECT, 21, 882},
    {"morphology", "open disk 11", CRN_FIELD_NOISE, CRN_U8, PHOTO, CRN_ELEMENT_DISK, 11, 178},
    {"morphology", "open disk 21", CRN_FIELD_NOISE, CRN_U8, PHOTO, CRN_ELEMENT_DISK, 21, 634},
    {"convolve", "gaussian 3", CRN_FIELD_NOISE, CRN_F32, FRAME, 0, 3, 9},
    {"convolve", "dense 3", CRN_FIELD_NOISE, CRN_F32, FRAME, 1, 3, 9},
    {"convolve", "dense 3", CRN_FIELD_NOISE, CRN_U8, UHD, 1, 3, 9},
    {"convolve", "dense 7", CRN_FIELD_NOISE, CRN_U8, UHD, 1, 7, 49},
    {"convolve", "dense 15", CRN_FIELD_NOISE, CRN_U8, UHD, 1, 15, 225},
    {"convolve", "gaussian 15", CRN_FIELD_NOISE, CRN_U8, UHD, 0, 15, 225},
    {"haar", "denoise 2", CRN_FIELD_NOISE, CRN_F32, FRAME, CRN_HAAR_DENOISE, 2, 6},
    {"haar", "forward 3", CRN_FIELD_NOISE, CRN_F32, SCALED, CRN_HAAR_FORWARD, 3, 3},
    {"haar", "inverse 3", CRN_FIELD_NOISE, CRN_F32, SCALED, CRN_HAAR_INVERSE, 3, 3},
    {"haar", "forward 3", CRN_FIELD_NOISE, CRN_U8, SCALED, CRN_HAAR_FORWARD, 3, 3},
    {"ranklet", "4, 8, 16", CRN_FIELD_NOISE, CRN_U8, 1, 95, 511, 4, 16, 1e4},
    {"ranklet", "8", CRN_FIELD_NOISE, CRN_U8, 1, 1024, 1024, 8, 8, 3e3},
    {"ranklet", "64", CRN_FIELD_NOISE, CRN_U8, 1, 1024, 1024, 64, 64, 2e5},
    {"ranklet", "pyramid", CRN_FIELD_NOISE, CRN_U8, 1, 1024, 1024, 2, 1024, 1e7},
    {"diamond-square", "exponent 10", CRN_FIELD_NOISE, CRN_U8, 1, 1025, 1025, 10, 0, 20},
    {"diamond-square", "exponent 13", CRN_FIELD_NOISE, CRN_U8, 1, 8193, 8193, 13, 0, 20},
};

const int32_t crn_bench_case_count = sizeof crn_bench_cases / sizeof *crn_bench_cases;

struct crn_bench_work {
    const crn_bench_case *what;
    crn_image in, out;
    void *copy;
    size_t copy_bytes;
    float *weights;
    double levels[64];
    crn_contours contours;
    crn_gpu_times times;
    int (*run)(crn_bench_work *work, const crn_ops *ops, crn_context *context);
};

static double value_at(const crn_bench_case *what, int32_t plane, int32_t y, int32_t x,
                       uint32_t word)
{
    double noise = (double)(word >> 8) / (1 << 24);
    if (what->field == CRN_FIELD_NOISE)
        return noise;
    double turn = 2 * PI / what->a;
    return 0.5 + 0.25 * sin(turn * (x + 0.3 * y) + plane) + 0.25 * sin(turn * 1.3 * y) +
           1e-3 * noise;
}

static void fill(crn_bench_work *work)
{
    const crn_image *in = &work->in;
    uint32_t word = 1;
    for (int32_t y = 0; y < in->height; y++) {
        for (int32_t x = 0; x < in->width; x++) {
            for (int32_t plane = 0; plane < in->planes; plane++) {
                word = word * 1664525u + 1013904223u;
                double value = value_at(work->what, plane, y, x, word);
                ptrdiff_t at = crn_image_index(in, plane, y, x);
                if (in->type == CRN_U8)
                    ((uint8_t *)in->data)[at] = (uint8_t)(value * 255.999);
                else
                    ((float *)in->data)[at] = (float)value;
            }
        }
    }
}

static int run_contours(crn_bench_work *work, const crn_ops *ops, crn_context *context)
{
    crn_contours_params params = {.levels = work->levels};
    return ops->contours(context, &params, &work->in, &work->contours);
}

static int run_morphology(crn_bench_work *work, const crn_ops *ops, crn_context *context)
{
    const crn_bench_case *what = work->what;
    crn_morphology_params params = {
        .operation = CRN_OPEN,
        .element = {.shape = (crn_element_shape)what->a, .width = what->b, .height = what->b}};
    return ops->morphology(context, &params, &work->in, &work->out);
}

static int run_convolve(crn_bench_work *work, const crn_ops *ops, crn_context *context)
{
    const crn_bench_case *what = work->what;
    crn_convolve_params params = {work->weights, what->b, what->b, CRN_CONVOLVE_REPLICATE};
    return ops->convolve(context, &params, &work->in, &work->out);
}

static int run_haar(crn_bench_work *work, const crn_ops *ops, crn_context *context)
{
    const crn_bench_case *what = work->what;
    crn_haar_params params = {
        .direction = (crn_haar_direction)what->a, .levels = what->b, .threshold = 0.05f};
    return ops->haar(context, &params, &work->in, &work->out);
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

/* Runs every window size from a to b, doubling. The caller adds the last one's times. */
static int run_ranklet(crn_bench_work *work, const crn_ops *ops, crn_context *context)
{
    int r = 0;
    for (int32_t side = work->what->a; r == 0 && side <= work->what->b; side *= 2) {
        crn_ranklet_params params = {side, side};
        crn_image out = crn_image_dense(work->out.data, CRN_F32, CRN_CHW, 3 * work->in.planes,
                                        work->in.height - side + 1, work->in.width - side + 1);
        r = ops->ranklet(context, &params, &work->in, &out);
        if (r == 0 && 2 * side <= work->what->b)
            add_times(work, context);
    }
    return r;
}

static int run_diamond_square(crn_bench_work *work, const crn_ops *ops, crn_context *context)
{
    crn_diamond_square_params params = {.exponent = work->what->a, .seed = 1, .roughness = 0.5};
    return ops->diamond_square(context, &params, &work->out);
}

/* a 0: a product of two binomial-like rows; else weights without structure. */
static int make_weights(crn_bench_work *work)
{
    int32_t side = work->what->b;
    work->weights = malloc((size_t)side * (size_t)side * sizeof *work->weights);
    if (!work->weights)
        return -ENOMEM;
    uint32_t word = 7;
    for (int32_t i = 0; i < side * side; i++) {
        word = word * 1664525u + 1013904223u;
        double y = i / side - side / 2, x = i % side - side / 2;
        double smooth = exp(-(x * x + y * y) / (side * 0.5)) / (1.5 * side);
        double dense = ((double)(word >> 8) / (1 << 24) - 0.4) / side;
        work->weights[i] = (float)(work->what->a == 0 ? smooth : dense);
    }
    return 0;
}

static int make_contours(crn_bench_work *work)
{
    size_t count = (size_t)work->what->planes * (size_t)work->what->height;
    count *= (size_t)work->what->width;
    uint32_t points = (uint32_t)(4 * count + 64);
    work->contours = (crn_contours){.points = malloc(points * sizeof(crn_point)),
                                    .contours = malloc(count * sizeof(crn_contour)),
                                    .point_capacity = points,
                                    .contour_capacity = (uint32_t)count};
    for (int32_t i = 0; i < work->what->planes; i++)
        work->levels[i] = 0.5;
    return work->contours.points && work->contours.contours ? 0 : -ENOMEM;
}

static const struct {
    const char *operator;
    int (*prepare)(crn_bench_work *work);
    int (*run)(crn_bench_work *work, const crn_ops *ops, crn_context *context);
    crn_type out; /* 0: type of the input */
    int32_t out_planes;
} operators[] = {
    {"contours", make_contours, run_contours, 0, 1},
    {"morphology", NULL, run_morphology, 0, 1},
    {"convolve", make_weights, run_convolve, 0, 1},
    {"haar", NULL, run_haar, CRN_F32, 1},
    {"ranklet", NULL, run_ranklet, CRN_F32, 3},
    {"diamond-square", NULL, run_diamond_square, 0, 1},
};

static int make_pictures(crn_bench_work *work, crn_type out_type, int32_t out_planes)
{
    const crn_bench_case *what = work->what;
    crn_layout layout = what->planes > 1 ? CRN_HWC : CRN_CHW;
    size_t count = (size_t)what->planes * (size_t)what->height * (size_t)what->width;
    out_type = out_type ? out_type : what->type;
    size_t in_bytes = count * crn_type_bytes(what->type);
    size_t out_bytes = count * (size_t)out_planes * crn_type_bytes(out_type);
    void *in = malloc(in_bytes), *out = malloc(out_bytes);
    work->in = crn_image_dense(in, what->type, layout, what->planes, what->height, what->width);
    work->out = crn_image_dense(out, out_type, layout, what->planes, what->height, what->width);
    work->copy_bytes = (in_bytes + out_bytes) / 2;
    work->copy = malloc(2 * work->copy_bytes);
    if (!in || !out || !work->copy)
        return -ENOMEM;
    memset(out, 0, out_bytes);
    memset(work->copy, 0, 2 * work->copy_bytes);
    fill(work);
    return 0;
}

int crn_bench_work_create(const crn_bench_case *what, crn_bench_work **ret_work)
{
    crn_bench_work *work = calloc(1, sizeof *work);
    if (!work)
        return -ENOMEM;
    work->what = what;
    int r = 0;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (strcmp(operators[i].operator, what->operator) != 0)
            continue;
        work->run = operators[i].run;
        r = make_pictures(work, operators[i].out, operators[i].out_planes);
        if (r == 0 && operators[i].prepare)
            r = operators[i].prepare(work);
    }
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
    free((*work)->in.data);
    free((*work)->out.data);
    free((*work)->copy);
    free((*work)->weights);
    free((*work)->contours.points);
    free((*work)->contours.contours);
    free(*work);
    *work = NULL;
}

int crn_bench_work_run(crn_bench_work *work, const crn_ops *ops, crn_context *context)
{
    work->times = (crn_gpu_times){0};
    int r = work->run(work, ops, context);
    if (r == 0)
        add_times(work, context);
    return r;
}

crn_gpu_times crn_bench_work_times(const crn_bench_work *work)
{
    return work->times;
}

size_t crn_bench_work_bytes(const crn_bench_work *work)
{
    const crn_image *in = &work->in;
    size_t elements = (size_t)in->planes * (size_t)in->height * (size_t)in->width;
    size_t bytes = 2 * work->copy_bytes;
    if (work->run == run_contours)
        bytes = elements * sizeof(float) + work->contours.point_count * sizeof(crn_point);
    if (work->run == run_diamond_square)
        bytes = elements;
    if (work->run == run_ranklet) {
        bytes = 0;
        for (int32_t side = work->what->a; side <= work->what->b; side *= 2)
            bytes += elements + 3 * sizeof(float) * (size_t)(in->height - side + 1) *
                                    (size_t)(in->width - side + 1);
    }
    return bytes;
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

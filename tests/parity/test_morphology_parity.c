/* The fast morphology, in every variant, against the serial operator: identical bytes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu.h"
#include "stages/element.h"
#include "stages/openmp/morphology/morphology.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/compare.h"
#include "tests/support/cuda.h"
#include "tests/support/guarded.h"
#include "tests/support/images.h"
#include "tests/support/operator_tests.h"

#define ELEMENT_MOST 64

typedef struct morphology_case {
    crn_image in, out;
    crn_guarded in_memory, out_memory, members_memory, heights_memory;
    crn_morphology_params params;
    crn_image wanted; /* expected `out`; owns its memory */
    char what[OPERATOR_CASE_BYTES];
} morphology_case;

static void pick_shape(crn_random *random, int32_t *ret_planes, int32_t *ret_height,
                       int32_t *ret_width)
{
    *ret_planes = crn_random_once_in(random, 2) ? 1 : crn_random_between(random, 2, 4);
    *ret_height = crn_random_between(random, 1, 16);
    *ret_width = crn_random_between(random, 1, 24);
    switch (crn_random_below(random, 8)) {
    case 0:
        *ret_width = crn_random_between(random, 60, 300);
        *ret_height = crn_random_between(random, 1, 5);
        break;
    case 1:
        *ret_height = crn_random_between(random, 20, 60);
        break;
    case 2:
        *ret_planes = crn_random_between(random, 9, 70);
        *ret_width = crn_random_between(random, 1, 6);
        *ret_height = crn_random_between(random, 1, 6);
        break;
    case 3:
        *ret_width = 1;
        break;
    case 4:
        *ret_height = 1;
        break;
    default:
        break;
    }
}

static int32_t pick_side(crn_random *random)
{
    if (crn_random_once_in(random, 8))
        return crn_random_between(random, 10, ELEMENT_MOST);
    return crn_random_between(random, 1, 9);
}

static float pick_height(crn_random *random, crn_type type)
{
    static const float odd[] = {0.0f, -0.0f, 0x1p-149f, -3e38f, 3e38f, 1e-3f};
    if (type == CRN_U8)
        return (float)crn_random_between(random, -255, 255) /
               (crn_random_once_in(random, 2) ? 1 : 255);
    if (crn_random_once_in(random, 6))
        return odd[crn_random_below(random, 6)];
    return (float)crn_random_unit(random) - 0.5f;
}

static void make_element(crn_random *random, crn_type type, morphology_case *c)
{
    crn_element *element = &c->params.element;
    element->shape = (crn_element_shape)crn_random_below(random, 4);
    element->width = pick_side(random);
    element->height = crn_random_once_in(random, 2) ? element->width : pick_side(random);
    size_t pixels = (size_t)element->width * (size_t)element->height;
    if (element->shape == CRN_ELEMENT_PICTURE) {
        c->members_memory = crn_guarded_create(pixels, true);
        uint8_t *members = c->members_memory.data;
        uint32_t once_in = (uint32_t)crn_random_between(random, 1, 9);
        bool mostly = crn_random_once_in(random, 3);
        for (size_t i = 0; i < pixels; i++)
            members[i] = crn_random_once_in(random, once_in) != mostly ? 1 + (uint8_t)i % 255 : 0;
        members[crn_random_below(random, (uint32_t)pixels)] = 7;
        element->members = members;
    }
    if (crn_random_once_in(random, 4)) {
        c->heights_memory = crn_guarded_create(pixels * sizeof(float), true);
        float *heights = c->heights_memory.data;
        for (int32_t y = 0; y < element->height; y++)
            for (int32_t x = 0; x < element->width; x++) {
                float height = pick_height(random, type);
                height = type == CRN_U8 ? rintf(height) : height;
                if (!crn_element_has(element, x, y))
                    height = NAN;
                heights[y * element->width + x] = height;
            }
        element->heights = heights;
    }
}

static void fill(crn_random *random, const crn_image *image)
{
    static const float odd[] = {NAN, -NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 0x1p-149f, 3e38f};
    uint32_t odd_once_in = (uint32_t)crn_random_between(random, 1, 40);
    for (int32_t plane = 0; plane < image->planes; plane++)
        for (int32_t y = 0; y < image->height; y++)
            for (int32_t x = 0; x < image->width; x++) {
                ptrdiff_t index = crn_image_index(image, plane, y, x);
                bool is_odd = crn_random_once_in(random, odd_once_in);
                uint32_t value = crn_random_below(random, 256);
                if (image->type == CRN_U8)
                    ((uint8_t *)image->data)[index] =
                        (uint8_t)(is_odd ? value & 1 ? 255 : 0 : value);
                else
                    ((float *)image->data)[index] = is_odd ? odd[value & 7] : (float)value / 64 - 2;
            }
}

static bool same_layout(const crn_image *a, const crn_image *b)
{
    return a->plane_stride == b->plane_stride && a->row_stride == b->row_stride &&
           a->step == b->step;
}

static void make_case(uint64_t seed, morphology_case *c)
{
    crn_random random = {seed};
    memset(c, 0, sizeof *c);
    int32_t planes, height, width;
    pick_shape(&random, &planes, &height, &width);
    crn_type type = crn_random_once_in(&random, 2) ? CRN_U8 : CRN_F32;
    c->params.operation = (crn_morphology_operation)crn_random_below(&random, 7);
    make_element(&random, type, c);
    c->in = crn_guarded_image(&random, type, planes, height, width, &c->in_memory);
    c->out = crn_guarded_image(&random, type, planes, height, width, &c->out_memory);
    /* Prefers equal layouts of input and output, which use other code paths. */
    for (int i = 0; i < 2 && !same_layout(&c->in, &c->out); i++) {
        crn_guarded_free(&c->out_memory);
        c->out = crn_guarded_image(&random, type, planes, height, width, &c->out_memory);
    }
    fill(&random, &c->in);
    const crn_element *e = &c->params.element;
    operators_describe(c->what, seed, &c->in,
                       "to %td %td %td, operation %d element %d of %d x %d%s", c->out.plane_stride,
                       c->out.row_stride, c->out.step, c->params.operation, e->shape, e->width,
                       e->height, e->heights ? " non-flat" : "");
}

static void free_case(morphology_case *c)
{
    crn_guarded_free(&c->in_memory);
    crn_guarded_free(&c->out_memory);
    crn_guarded_free(&c->members_memory);
    crn_guarded_free(&c->heights_memory);
    free(c->wanted.data);
}

/* Runs one variant of the fast operator; by == NULL: the public one. */
static void try_way(morphology_case *c, const crn_morphology_variant *by, int32_t threads)
{
    char what[OPERATOR_CASE_BYTES + 100];
    snprintf(what, sizeof what, "%s | %d threads", c->what, threads);
    if (by)
        snprintf(what, sizeof what, "%s | %s, %d strips, %d columns, %d threads%s", c->what,
                 by->kernels->name, by->strips, by->columns, by->threads,
                 by->saves_memory ? ", little memory" : "");
    crn_guarded_fill(&c->out_memory);
    crn_context *context = operator_contexts[threads];
    int r = by ? crn_morphology_openmp_with(by, context, &c->params, &c->in, &c->out)
               : crn_morphology_openmp(context, &c->params, &c->in, &c->out);
    operators_check_result(r, what);
    crn_assert_images_equal(&c->out, &c->wanted, what);
    crn_guarded_check_gaps(&c->out_memory, &c->out, what);
    crn_guarded_check(&c->in_memory, what);
    crn_guarded_check(&c->out_memory, what);
}

/* Small disks, which have kernels of their own, on rows of several vectors. */
static void make_small_disk_case(uint64_t seed, morphology_case *c)
{
    crn_random random = {seed};
    memset(c, 0, sizeof *c);
    static const int32_t planes_of[] = {1, 3, 12, 2};
    int32_t planes = planes_of[crn_random_below(&random, 4)];
    int32_t height = crn_random_between(&random, 1, 40);
    int32_t width = crn_random_between(&random, 1, 400 / planes);
    int32_t side = crn_random_once_in(&random, 3) ? 3 : 5;
    crn_type type = crn_random_once_in(&random, 2) ? CRN_U8 : CRN_F32;
    crn_layout layout = crn_random_once_in(&random, 4) ? CRN_CHW : CRN_HWC;
    c->params.operation = (crn_morphology_operation)crn_random_below(&random, 7);
    c->params.element = (crn_element){CRN_ELEMENT_DISK, side, side, NULL, NULL};
    size_t bytes = (size_t)planes * (size_t)height * (size_t)width * crn_type_bytes(type);
    c->in_memory = crn_guarded_create(bytes, crn_random_once_in(&random, 2));
    c->out_memory = crn_guarded_create(bytes, crn_random_once_in(&random, 2));
    c->in = crn_image_dense(c->in_memory.data, type, layout, planes, height, width);
    c->out = crn_image_dense(c->out_memory.data, type, layout, planes, height, width);
    fill(&random, &c->in);
    snprintf(c->what, sizeof c->what,
             "CRN_SEED=%llu CRN_CASES=1: %d x %d x %d type %d layout %d operation %d disk %d",
             (unsigned long long)seed, planes, height, width, type, layout, c->params.operation,
             side);
}

static void try_case(uint64_t seed, void make(uint64_t seed, morphology_case *c))
{
    static morphology_case c;
    make(seed, &c);
    void *before = crn_guarded_copy(&c.in_memory);
    assert_int_equal(crn_morphology_serial(operator_contexts[1], &c.params, &c.in, &c.out), 0);
    crn_guarded_check(&c.out_memory, c.what);
    c.wanted = crn_image_copy(&c.out);

    crn_random random = {~seed};
    try_way(&c, NULL, crn_random_between(&random, 1, OPERATOR_THREADS_MAX));
    for (int target = CRN_BASELINE; target <= (int)crn_target_best(); target++) {
        crn_morphology_variant whole = {crn_morphology_kernels_of(target), 1, 1, 0, false};
        try_way(&c, &whole, 1);
        crn_morphology_variant pieces = {
            crn_morphology_kernels_of(target), crn_random_between(&random, 1, 5),
            crn_random_between(&random, 1, 9), crn_random_between(&random, 0, 40),
            crn_random_once_in(&random, 3)};
        try_way(&c, &pieces, 1);
    }
    crn_guarded_check_same(&c.in_memory, before, c.what);
    free(before);
    free_case(&c);
}

static void try_random_case(uint64_t seed)
{
    try_case(seed, make_case);
}

static void try_small_disk(uint64_t seed)
{
    try_case(seed, make_small_disk_case);
}

static void test_fast_is_the_definition(void **state)
{
    (void)state;
    operators_try_cases(800, try_random_case);
}

static void test_small_disk_is_the_definition(void **state)
{
    (void)state;
    operators_try_cases(300, try_small_disk);
}

/* Allocates dense images of equal layout for a case. */
static void make_dense_images(morphology_case *c, crn_type type, crn_layout layout, int32_t planes,
                              int32_t height, int32_t width)
{
    size_t bytes = (size_t)planes * (size_t)height * (size_t)width * crn_type_bytes(type);
    c->in_memory = crn_guarded_create(bytes, true);
    c->out_memory = crn_guarded_create(bytes, false);
    c->in = crn_image_dense(c->in_memory.data, type, layout, planes, height, width);
    c->out = crn_image_dense(c->out_memory.data, type, layout, planes, height, width);
}

/* Large enough for the public operator to split it and to use threads. */
static void test_large_picture_is_the_definition(void **state)
{
    (void)state;
    static morphology_case c;
    crn_random random = {crn_random_seed()};
    for (uint32_t i = 0; i < 4; i++) {
        memset(&c, 0, sizeof c);
        static const crn_element elements[] = {
            {CRN_ELEMENT_RECT, 3, 2, NULL, NULL},
            {CRN_ELEMENT_DISK, 5, 5, NULL, NULL},
            {CRN_ELEMENT_CROSS, 4, 6, NULL, NULL},
            {CRN_ELEMENT_DISK, 7, 6, NULL, NULL},
        };
        c.params = (crn_morphology_params){i < 2 ? CRN_OPEN : CRN_GRADIENT, elements[i]};
        crn_type type = i & 1 ? CRN_F32 : CRN_U8;
        make_dense_images(&c, type, CRN_HWC, 3, 260, 1100);
        fill(&random, &c.in);
        snprintf(c.what, sizeof c.what, "large %u", i);
        assert_int_equal(crn_morphology_serial(operator_contexts[1], &c.params, &c.in, &c.out), 0);
        c.wanted = crn_image_copy(&c.out);
        for (int32_t threads = 1; threads <= 3; threads++)
            try_way(&c, NULL, threads);
        free_case(&c);
    }
}

/* Runs the device's operator and compares with `wanted`. */
static void try_cuda(morphology_case *c, const crn_ops *cuda)
{
    crn_guarded_fill(&c->out_memory);
    operators_check_result(cuda->morphology(operator_contexts[1], &c->params, &c->in, &c->out),
                           c->what);
    crn_assert_images_equal(&c->out, &c->wanted, c->what);
    crn_guarded_check_gaps(&c->out_memory, &c->out, c->what);
    crn_guarded_check(&c->in_memory, c->what);
    crn_guarded_check(&c->out_memory, c->what);
}

static void try_cuda_case(uint64_t seed, void make(uint64_t seed, morphology_case *c))
{
    static morphology_case c;
    make(seed, &c);
    assert_int_equal(crn_morphology_serial(operator_contexts[1], &c.params, &c.in, &c.out), 0);
    c.wanted = crn_image_copy(&c.out);
    try_cuda(&c, crn_test_cuda_ops());
    free_case(&c);
}

static void try_random_cuda_case(uint64_t seed)
{
    try_cuda_case(seed, make_case);
}

static void try_small_cuda_disk(uint64_t seed)
{
    try_cuda_case(seed, make_small_disk_case);
}

static void test_cuda_is_the_definition(void **state)
{
    (void)state;
    crn_test_cuda_ops();
    operators_try_cases(1500, try_random_cuda_case);
    operators_try_cases(300, try_small_cuda_disk);
}

/* Dense pictures larger than one tile, with elements of all the sizes that tiles support. */
static void make_tiled_case(uint64_t seed, morphology_case *c)
{
    static const int32_t planes_of[] = {1, 3, 12, 2, 4, 5};
    crn_random random = {seed};
    memset(c, 0, sizeof *c);
    int32_t planes = planes_of[crn_random_below(&random, 6)];
    int32_t height = crn_random_between(&random, 40, 200);
    int32_t width = crn_random_between(&random, 40, 600 / planes + 40);
    /* Half of them have rows aligned to 16 bytes. */
    width = crn_random_once_in(&random, 2) ? width & ~15 : width;
    crn_type type = crn_random_once_in(&random, 2) ? CRN_U8 : CRN_F32;
    crn_layout layout = crn_random_once_in(&random, 3) ? CRN_CHW : CRN_HWC;
    make_dense_images(c, type, layout, planes, height, width);
    c->params.operation = (crn_morphology_operation)crn_random_below(&random, 7);
    crn_element *e = &c->params.element;
    e->shape = (crn_element_shape)crn_random_below(&random, 3);
    e->width = crn_random_between(&random, 1, 25);
    e->height = crn_random_once_in(&random, 2) ? e->width : crn_random_between(&random, 1, 40);
    fill(&random, &c->in);
    snprintf(c->what, sizeof c->what,
             "CRN_SEED=%llu CRN_CASES=1: %d x %d x %d type %d layout %d operation %d element %d of "
             "%d x %d",
             (unsigned long long)seed, planes, height, width, type, layout, c->params.operation,
             e->shape, e->width, e->height);
}

/* Too slow for serial. The last one has so many
 * channels that its words number a little over 2^32. */
static void compare_with_openmp(morphology_case *c)
{
    crn_morphology_openmp(operator_contexts[2], &c->params, &c->in, &c->out);
    c->wanted = crn_image_copy(&c->out);
    try_cuda(c, crn_test_cuda_ops());
    free_case(c);
}

static void try_tiled_cuda_case(uint64_t seed)
{
    static morphology_case c;
    make_tiled_case(seed, &c);
    compare_with_openmp(&c);
}

static void test_cuda_of_many_tiles_is_the_definition(void **state)
{
    (void)state;
    crn_test_cuda_ops();
    operators_try_cases(300, try_tiled_cuda_case);
}

static void test_large_cuda_picture_is_the_definition(void **state)
{
    (void)state;
    static const struct {
        crn_type type;
        crn_layout layout;
        int32_t planes, height, width;
        crn_morphology_operation operation;
        crn_element element;
    } tried[] = {
        {CRN_U8, CRN_HWC, 3, 1920, 2560, CRN_OPEN, {CRN_ELEMENT_RECT, 3, 3, NULL, NULL}},
        {CRN_U8, CRN_HWC, 3, 1920, 2560, CRN_OPEN, {CRN_ELEMENT_RECT, 21, 21, NULL, NULL}},
        {CRN_U8, CRN_CHW, 1, 1920, 2560, CRN_CLOSE, {CRN_ELEMENT_DISK, 11, 11, NULL, NULL}},
        {CRN_U8, CRN_CHW, 1, 4097, 4095, CRN_GRADIENT, {CRN_ELEMENT_DISK, 301, 299, NULL, NULL}},
        {CRN_F32, CRN_HWC, 2, 700, 4097, CRN_TOPHAT, {CRN_ELEMENT_RECT, 1001, 4095, NULL, NULL}},
        {CRN_U8, CRN_HWC, 12, 95, 511, CRN_BLACKHAT, {CRN_ELEMENT_CROSS, 31, 40, NULL, NULL}},
        {CRN_F32, CRN_HWC, 1 << 19, 1, 1, CRN_OPEN, {CRN_ELEMENT_CROSS, 33, 33, NULL, NULL}},
    };
    crn_test_cuda_ops();
    crn_random random = {crn_random_seed()};
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        static morphology_case c;
        memset(&c, 0, sizeof c);
        make_dense_images(&c, tried[i].type, tried[i].layout, tried[i].planes, tried[i].height,
                          tried[i].width);
        c.params = (crn_morphology_params){tried[i].operation, tried[i].element};
        fill(&random, &c.in);
        snprintf(c.what, sizeof c.what, "large %zu", i);
        compare_with_openmp(&c);
    }
}

enum { VIEWS = 3, LAUNCHES = 3, SLOT_IN = 16, SLOT_OUT };

/* Several views, captured once, then launched with new pictures each time. */
static void try_views(const crn_gpu *gpu, crn_context *device, morphology_case *c,
                      crn_random *random)
{
    crn_image in = c->in, out = c->out, one = c->in;
    size_t elements = crn_image_elements(&in), bytes = elements * crn_type_bytes(in.type);
    uint8_t *pictures = calloc(VIEWS, bytes), *got = malloc(VIEWS * bytes);
    assert_true(pictures && got);
    /* Not always aligned for 16-byte rows. */
    size_t shift = crn_random_below(random, 3) * crn_type_bytes(in.type);
    uint8_t *from = crn_context_scratch(device, SLOT_IN, bytes + shift);
    uint8_t *to = crn_context_scratch(device, SLOT_OUT, bytes + shift);
    assert_true(from && to);
    in.data = from + shift;
    out.data = to + shift;
    crn_gpu_graph *graph = NULL;
    operators_check_result(gpu->upload(device, in.data, pictures, VIEWS * bytes), c->what);
    operators_check_result(gpu->ops->morphology(device, &c->params, &in, &out), c->what);
    operators_check_result(gpu->record(device), c->what);
    int asked = gpu->ops->morphology(device, &c->params, &in, &out);
    operators_check_result(gpu->recorded(device, &graph), c->what);
    operators_check_result(asked, c->what);
    for (int32_t i = 0; i < LAUNCHES; i++) {
        for (int32_t view = 0; view < VIEWS; view++) {
            one.data = pictures + (size_t)view * bytes;
            fill(random, &one);
        }
        operators_check_result(gpu->upload(device, in.data, pictures, VIEWS * bytes), c->what);
        operators_check_result(gpu->launch(device, graph), c->what);
        operators_check_result(gpu->download(device, got, out.data, VIEWS * bytes), c->what);
        operators_check_result(crn_test_gpu_wait(gpu, device), c->what);
        for (int32_t view = 0; view < VIEWS; view++) {
            one.data = pictures + (size_t)view * bytes;
            crn_morphology_openmp(operator_contexts[1], &c->params, &one, &c->out);
            crn_image result = c->out;
            result.data = got + (size_t)view * bytes;
            crn_assert_images_equal(&result, &c->out, c->what);
        }
    }
    gpu->graph_free(&graph);
    free(pictures), free(got);
}

static void test_recorded_cuda_views_are_the_definition(void **state)
{
    (void)state;
    const crn_gpu *gpu = crn_test_cuda();
    crn_context *device = NULL;
    operators_check_result(gpu->context_create(0, VIEWS, &device), "context");
    crn_random random = {crn_random_seed()};
    for (uint64_t i = 0; i < 40; i++) {
        static morphology_case c;
        make_tiled_case(crn_random_next(&random), &c);
        try_views(gpu, device, &c, &random);
        free_case(&c);
    }
    crn_context_free(&device);
}

int main(int argc, char **argv)
{
    operators_wait_passively(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fast_is_the_definition),
        cmocka_unit_test(test_small_disk_is_the_definition),
        cmocka_unit_test(test_large_picture_is_the_definition),
        cmocka_unit_test(test_cuda_is_the_definition),
        cmocka_unit_test(test_cuda_of_many_tiles_is_the_definition),
        cmocka_unit_test(test_large_cuda_picture_is_the_definition),
        cmocka_unit_test(test_recorded_cuda_views_are_the_definition),
    };
    return cmocka_run_group_tests(tests, operators_set_up, operators_tear_down);
}

/* The fast Haar transforms, in every variant, against the serial operator: identical bytes, except
 * which NaN a sum of two NaNs gives, because the compiler may swap the operands. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "stages/openmp/haar/haar.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/compare.h"
#include "tests/support/cuda.h"
#include "tests/support/guarded.h"
#include "tests/support/images.h"
#include "tests/support/operator_tests.h"

static const crn_haar_kernels *const kernels[CRN_TARGETS] = {
    &crn_haar_kernels_baseline, &crn_haar_kernels_avx2, &crn_haar_kernels_avx512};

typedef struct haar_case {
    crn_haar_params params;
    crn_image in, out;
    crn_guarded in_memory, out_memory;
    crn_image wanted; /* expected `out`; owns its memory */
    char what[OPERATOR_CASE_BYTES];
} haar_case;

static void pick_shape(crn_random *random, int32_t *ret_planes, int32_t *ret_height,
                       int32_t *ret_width)
{
    static const int32_t lanes[] = {2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 31, 33, 40};
    *ret_planes = crn_random_once_in(random, 3) ? 1 : lanes[crn_random_below(random, 15)];
    *ret_height = crn_random_between(random, 1, 13);
    *ret_width = crn_random_between(random, 1, 20);
    switch (crn_random_below(random, 8)) {
    case 0:
        *ret_width = crn_random_between(random, 1, 140);
        *ret_planes = 1;
        break;
    case 1:
        *ret_height = crn_random_between(random, 1, 70);
        *ret_width = crn_random_between(random, 1, 70);
        break;
    case 2:
        *ret_width = 1;
        break;
    case 3:
        *ret_height = 1;
        break;
    default:
        break;
    }
}

static float pick_value(crn_random *random, bool whole, bool odd)
{
    static const float odd_values[] = {INFINITY,    -INFINITY, NAN,  -NAN,  0x1p-149f, -0x1p-140f,
                                       0x1.8p-126f, -0.0f,     0.0f, 3e38f, -3e38f,    0x1p-126f};
    if (odd && crn_random_once_in(random, 20))
        return odd_values[crn_random_below(random, 12)];
    double value = crn_random_unit(random) * 2 - 1;
    return (float)(whole ? floor(value * 10) : value);
}

static void fill(crn_random *random, crn_image *image)
{
    bool whole = crn_random_once_in(random, 3), odd = crn_random_once_in(random, 3);
    for (int32_t plane = 0; plane < image->planes; plane++)
        for (int32_t y = 0; y < image->height; y++)
            for (int32_t x = 0; x < image->width; x++) {
                ptrdiff_t index = crn_image_index(image, plane, y, x);
                if (image->type == CRN_U8)
                    ((uint8_t *)image->data)[index] = (uint8_t)crn_random_below(random, 256);
                else
                    ((float *)image->data)[index] = pick_value(random, whole, odd);
            }
}

static void make_case_of(uint64_t seed, crn_random *random, int32_t planes, int32_t height,
                         int32_t width, haar_case *c)
{
    crn_type type = crn_random_once_in(random, 3) ? CRN_U8 : CRN_F32;
    c->in = crn_guarded_image(random, type, planes, height, width, &c->in_memory);
    c->out = crn_guarded_image(random, CRN_F32, planes, height, width, &c->out_memory);
    fill(random, &c->in);
    int32_t levels = crn_haar_levels_max(height, width);
    c->params.direction = (crn_haar_direction)crn_random_below(random, 3);
    c->params.levels = crn_random_between(random, 0, levels);
    c->params.unit = crn_random_once_in(random, 2);
    static const float thresholds[] = {0, 0.01f, 0.3f, 2, 100, INFINITY};
    c->params.threshold = thresholds[crn_random_below(random, 6)];
    c->wanted = crn_image_dense(NULL, CRN_F32, CRN_CHW, planes, height, width);
    c->wanted.data = malloc(crn_image_elements(&c->wanted) * sizeof(float));
    assert_non_null(c->wanted.data);
    assert_int_equal(crn_haar_serial(operator_contexts[1], &c->params, &c->in, &c->wanted), 0);
    static const char *const directions[] = {"forward", "inverse", "denoise"};
    operators_describe(c->what, seed, &c->in, "to %td %td %td, %s %d levels, threshold %g%s",
                       c->out.plane_stride, c->out.row_stride, c->out.step,
                       directions[c->params.direction], c->params.levels,
                       (double)c->params.threshold, c->params.unit ? " unit" : "");
}

static void free_case(haar_case *c)
{
    crn_guarded_free(&c->in_memory);
    crn_guarded_free(&c->out_memory);
    free(c->wanted.data);
}

/* Runs one variant, or with NULL the public operator with that many threads. */
static void try_way(haar_case *c, const crn_haar_variant *by, const char *target, int32_t threads)
{
    char what[OPERATOR_CASE_BYTES + 100];
    if (by)
        snprintf(what, sizeof what, "%s | %s, %d fused, %d strips, %d threads%s", c->what, target,
                 by->fused, by->strips, by->threads, by->stream ? ", streamed" : "");
    else
        snprintf(what, sizeof what, "%s | %d threads", c->what, threads);
    crn_guarded_fill(&c->out_memory);
    crn_context *context = operator_contexts[threads];
    int r = by ? crn_haar_openmp_with(by, context, &c->params, &c->in, &c->out)
               : crn_haar_openmp(context, &c->params, &c->in, &c->out);
    operators_check_result(r, what);
    crn_assert_images_equal_but_nans(&c->out, &c->wanted, what);
    crn_guarded_check_gaps(&c->out_memory, &c->out, what);
    crn_guarded_check(&c->out_memory, what);
}

static void try_case(uint64_t seed)
{
    haar_case c = {.params = {0}};
    crn_random random = {seed};
    int32_t planes, height, width;
    pick_shape(&random, &planes, &height, &width);
    make_case_of(seed, &random, planes, height, width, &c);
    void *before = crn_guarded_copy(&c.in_memory);

    try_way(&c, NULL, NULL, 1);
    for (crn_target target = CRN_BASELINE; target <= crn_target_best(); target++) {
        crn_haar_variant one = {kernels[target], CRN_HAAR_FUSED_MAX, 1, 1,
                                crn_random_once_in(&random, 2)};
        if (c.params.direction == CRN_HAAR_DENOISE)
            one.fused = crn_random_between(&random, 1, 7);
        try_way(&c, &one, operator_target_names[target], 1);
        crn_haar_variant several = one;
        several.fused = crn_random_between(&random, 1, 4);
        several.strips = crn_random_between(&random, 1, 9);
        several.threads = crn_random_once_in(&random, 4) ? crn_random_between(&random, 2, 5) : 1;
        try_way(&c, &several, operator_target_names[target], 1);
    }
    crn_guarded_check_same(&c.in_memory, before, c.what);
    crn_guarded_check(&c.in_memory, c.what);
    free(before);
    free_case(&c);
}

static void test_fast_is_the_definition(void **state)
{
    (void)state;
    operators_try_cases(3000, try_case);
}

/* Large enough for the public operator to split it,
 * to use threads, and to use non-temporal stores. */
static void test_large_picture_is_the_definition(void **state)
{
    (void)state;
    uint64_t seed = crn_random_seed();
    crn_random random = {seed};
    for (int32_t i = 0; i < 6; i++) {
        haar_case c = {.params = {0}};
        make_case_of(seed, &random, i % 2 ? 12 : 1, i % 2 ? 95 : 1101, i % 2 ? 511 : 2203, &c);
        for (int32_t threads = 1; threads <= OPERATOR_THREADS_MAX; threads += 2)
            try_way(&c, NULL, NULL, threads);
        free_case(&c);
    }
}

/* Rows aligned to cache lines are written by the kernels themselves
 * with non-temporal stores, except for the remainder of a range;
 * widths around those of tiles and parts put range ends everywhere. */
static void test_lines_of_the_cache_are_the_definition(void **state)
{
    (void)state;
    static const int32_t widths[] = {64, 80, 96, 1504, 1539, 2112, 4128};
    crn_random random = {crn_random_seed()};
    for (int32_t i = 0; i < 21; i++) {
        int32_t width = widths[i / 3], stride = (width + 15) / 16 * 16;
        int32_t height = crn_random_between(&random, 1, 37);
        size_t floats = (size_t)stride * (size_t)height;
        crn_guarded in = crn_guarded_create(floats * sizeof(float), true);
        crn_guarded out = crn_guarded_create(floats * sizeof(float), true);
        haar_case c = {.params = {(crn_haar_direction)(i % 3), 0, 0.3f, false}};
        c.params.levels = crn_random_between(&random, 1, 4);
        c.in = (crn_image){in.data, CRN_F32, 1, height, width, (ptrdiff_t)floats, stride, 1};
        c.out = c.in;
        c.out.data = out.data;
        c.in_memory = in;
        c.out_memory = out;
        assert_int_equal((uintptr_t)out.data % CRN_HAAR_LINE_BYTES, 0);
        fill(&random, &c.in);
        float *wanted = malloc((size_t)width * (size_t)height * sizeof *wanted);
        assert_non_null(wanted);
        c.wanted = crn_image_dense(wanted, CRN_F32, CRN_CHW, 1, height, width);
        assert_int_equal(crn_haar_serial(operator_contexts[1], &c.params, &c.in, &c.wanted), 0);
        snprintf(c.what, sizeof c.what, "direction %d, %d levels, %d x %d", c.params.direction,
                 c.params.levels, height, width);
        for (int32_t target = 0; target <= (int32_t)crn_target_best(); target++) {
            crn_haar_variant by = {kernels[target], 3, 1 + i % 4, 1 + i % 3, true};
            try_way(&c, &by, operator_target_names[target], 3);
        }
        crn_guarded_check(&c.in_memory, c.what);
        free_case(&c);
    }
}

/* The quotient is computed as two products; a test of a few pixels would not cover every byte. */
static void test_every_byte_widens_to_its_quotient(void **state)
{
    (void)state;
    uint8_t bytes[256];
    for (int i = 0; i < 256; i++)
        bytes[i] = (uint8_t)i;
    for (crn_target target = CRN_BASELINE; target <= crn_target_best(); target++) {
        float got[2][256];
        kernels[target]->widen(bytes, got[0], 256, false);
        kernels[target]->widen(bytes, got[1], 256, true);
        for (int i = 0; i < 256; i++)
            if (got[0][i] != (float)i || got[1][i] != (float)i / 255)
                fail_msg("%s: %d widens to %a and %a", operator_target_names[target], i,
                         (double)got[0][i], (double)got[1][i]);
    }
}

/* --- cuda --- */

static void try_cuda(const crn_ops *ops, haar_case *c)
{
    crn_guarded_fill(&c->out_memory);
    operators_check_result(ops->haar(operator_contexts[1], &c->params, &c->in, &c->out), c->what);
    crn_assert_images_equal_but_nans(&c->out, &c->wanted, c->what);
    crn_guarded_check_gaps(&c->out_memory, &c->out, c->what);
    crn_guarded_check(&c->out_memory, c->what);
}

static void try_cuda_case(uint64_t seed)
{
    haar_case c = {.params = {0}};
    crn_random random = {seed};
    int32_t planes, height, width;
    pick_shape(&random, &planes, &height, &width);
    if (crn_random_once_in(&random, 4))
        height = crn_random_between(&random, 1, 200);
    make_case_of(seed, &random, planes, height, width, &c);
    try_cuda(crn_test_cuda_ops(), &c);
    free_case(&c);
}

static void test_cuda_is_the_definition(void **state)
{
    (void)state;
    crn_test_cuda_ops();
    operators_try_cases(3000, try_cuda_case);
}

typedef struct large_shape {
    crn_type type;
    crn_layout layout;
    int32_t planes, height, width;
} large_shape;

/* A dense image of random values; the caller frees its data. */
static crn_image make_image(crn_random *random, const large_shape *shape, int32_t views)
{
    crn_image image = crn_image_dense(NULL, shape->type, shape->layout, shape->planes,
                                      shape->height, shape->width);
    size_t count = crn_image_elements(&image) * (size_t)views;
    image.data = malloc(count * crn_type_bytes(shape->type));
    assert_non_null(image.data);
    for (size_t i = 0; i < count; i++)
        if (shape->type == CRN_U8)
            ((uint8_t *)image.data)[i] = (uint8_t)crn_random_next(random);
        else
            ((float *)image.data)[i] = (float)(crn_random_unit(random) - 0.25);
    return image;
}

/* Too large for serial: compared with openmp, which gives the same bytes. */
static void test_cuda_is_openmp_on_large_pictures(void **state)
{
    (void)state;
    const crn_ops *ops = crn_test_cuda_ops();
    static const large_shape shapes[] = {
        {CRN_F32, CRN_CHW, 1, 4097, 4097}, {CRN_U8, CRN_CHW, 1, 1800, 2880},
        {CRN_F32, CRN_HWC, 12, 95, 511},   {CRN_U8, CRN_HWC, 3, 700, 1001},
        {CRN_U8, CRN_HWC, 8, 193, 1030},   {CRN_F32, CRN_CHW, 5, 257, 1028},
        {CRN_F32, CRN_CHW, 1, 1, 300001},  {CRN_F32, CRN_HWC, 4, 20001, 3},
        {CRN_F32, CRN_CHW, 70000, 2, 3},   {CRN_F32, CRN_CHW, 1, 1024, 2048},
    };
    crn_random random = {crn_random_seed()};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const large_shape *shape = &shapes[i];
        large_shape floats = *shape;
        floats.type = CRN_F32;
        crn_image in = make_image(&random, shape, 1), wanted = make_image(&random, &floats, 1);
        crn_image got = make_image(&random, &floats, 1);
        int32_t most = crn_haar_levels_max(shape->height, shape->width);
        for (int32_t run = 0; run < 12; run++) {
            crn_haar_params params = {(crn_haar_direction)(run % 3), most, 0.125f, run & 1};
            params.levels = run < 3 ? most : crn_random_between(&random, 0, most);
            char what[200];
            snprintf(what, sizeof what, "%d x %d x %d type %d layout %d, direction %d, %d levels",
                     shape->planes, shape->height, shape->width, shape->type, shape->layout,
                     params.direction, params.levels);
            operators_check_result(
                crn_haar_openmp(operator_contexts[OPERATOR_THREADS_MAX], &params, &in, &wanted),
                what);
            operators_check_result(ops->haar(operator_contexts[1], &params, &in, &got), what);
            crn_assert_images_equal_but_nans(&got, &wanted, what);
        }
        free(in.data);
        free(wanted.data);
        free(got.data);
    }
}

/* Several pictures at once on the device, and the graph captured from that. */
typedef struct cuda_views {
    const crn_gpu *gpu;
    crn_context *context;
    crn_image in, out; /* on the device; the first view */
    int32_t views;
    crn_haar_params params;
    const char *what;
} cuda_views;

/* Runs with fresh values: by launching the graph, or with NULL by calling the operator. */
static void run_views(cuda_views *v, crn_random *random, crn_gpu_graph *graph)
{
    large_shape shape = {v->in.type, v->in.step == 1 ? CRN_CHW : CRN_HWC, v->in.planes,
                         v->in.height, v->in.width};
    large_shape floats = shape;
    floats.type = CRN_F32;
    crn_image in = make_image(random, &shape, v->views),
              got = make_image(random, &floats, v->views);
    crn_image wanted = make_image(random, &floats, 1);
    size_t elements = crn_image_elements(&in), size = crn_type_bytes(in.type);
    size_t bytes = elements * (size_t)v->views;
    assert_int_equal(v->gpu->upload(v->context, v->in.data, in.data, bytes * size), 0);
    int r = graph ? v->gpu->launch(v->context, graph)
                  : v->gpu->ops->haar(v->context, &v->params, &v->in, &v->out);
    operators_check_result(r, v->what);
    assert_int_equal(v->gpu->download(v->context, got.data, v->out.data, bytes * sizeof(float)), 0);
    operators_check_result(crn_test_gpu_wait(v->gpu, v->context), v->what);
    for (int32_t view = 0; view < v->views; view++) {
        crn_image one = in, of = got;
        one.data = (char *)in.data + (size_t)view * elements * size;
        of.data = (float *)got.data + (size_t)view * elements;
        operators_check_result(crn_haar_openmp(operator_contexts[1], &v->params, &one, &wanted),
                               v->what);
        crn_assert_images_equal_but_nans(&of, &wanted, v->what);
    }
    free(in.data);
    free(got.data);
    free(wanted.data);
}

static void try_views(const crn_gpu *gpu, crn_random *random, const large_shape *shape,
                      crn_haar_direction direction, int32_t levels)
{
    cuda_views v = {.gpu = gpu, .views = 3, .params = {direction, levels, 0.125f, true}};
    char what[200];
    snprintf(what, sizeof what,
             "3 views of %d x %d x %d type %d layout %d, direction %d, %d levels", shape->planes,
             shape->height, shape->width, shape->type, shape->layout, direction, levels);
    v.what = what;
    assert_int_equal(gpu->context_create(0, v.views, &v.context), 0);
    v.in = crn_image_dense(NULL, shape->type, shape->layout, shape->planes, shape->height,
                           shape->width);
    v.out =
        crn_image_dense(NULL, CRN_F32, shape->layout, shape->planes, shape->height, shape->width);
    size_t bytes = crn_image_elements(&v.in) * sizeof(float);
    v.in.data = crn_context_scratch(v.context, 16, bytes);
    v.out.data = crn_context_scratch(v.context, 17, bytes);
    assert_true(v.in.data && v.out.data);
    run_views(&v, random, NULL);
    assert_int_equal(gpu->record(v.context), 0);
    operators_check_result(gpu->ops->haar(v.context, &v.params, &v.in, &v.out), what);
    crn_gpu_graph *graph = NULL;
    assert_int_equal(gpu->recorded(v.context, &graph), 0);
    for (int32_t i = 0; i < 3; i++)
        run_views(&v, random, graph);
    gpu->graph_free(&graph);
    crn_image gaps = v.in;
    gaps.step++;
    assert_int_equal(gpu->ops->haar(v.context, &v.params, &gaps, &v.out), -EINVAL);
    crn_context_free(&v.context);
}

static void test_cuda_does_several_pictures_at_once_and_recorded(void **state)
{
    (void)state;
    const crn_gpu *gpu = crn_test_cuda();
    static const large_shape shapes[] = {{CRN_F32, CRN_HWC, 12, 37, 51},
                                         {CRN_U8, CRN_CHW, 3, 66, 40},
                                         {CRN_F32, CRN_CHW, 1, 300, 500},
                                         {CRN_U8, CRN_HWC, 4, 130, 67}};
    crn_random random = {crn_random_seed()};
    for (int32_t i = 0; i < 4; i++)
        for (int32_t direction = 0; direction < 3; direction++) {
            int32_t most = crn_haar_levels_max(shapes[i].height, shapes[i].width);
            try_views(gpu, &random, &shapes[i], (crn_haar_direction)direction, 2);
            try_views(gpu, &random, &shapes[i], (crn_haar_direction)direction, most);
        }
}

int main(int argc, char **argv)
{
    operators_wait_passively(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fast_is_the_definition),
        cmocka_unit_test(test_large_picture_is_the_definition),
        cmocka_unit_test(test_lines_of_the_cache_are_the_definition),
        cmocka_unit_test(test_every_byte_widens_to_its_quotient),
        cmocka_unit_test(test_cuda_is_the_definition),
        cmocka_unit_test(test_cuda_is_openmp_on_large_pictures),
        cmocka_unit_test(test_cuda_does_several_pictures_at_once_and_recorded),
    };
    return cmocka_run_group_tests(tests, operators_set_up, operators_tear_down);
}

/*
 * The convolutions against sums in double computed by the test: serial to the last bit; every
 * variant of openmp within the tolerance of ops.h and with identical bytes however the work is
 * split.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/openmp/convolve/convolve.h"
#include "stages/serial/convolve.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/compare.h"
#include "tests/support/convolve_cases.h"
#include "tests/support/cuda.h"
#include "tests/support/images.h"

static const crn_convolve_filters *const filters[CRN_TARGETS] = {
    &crn_convolve_filters_baseline, &crn_convolve_filters_avx2, &crn_convolve_filters_avx512};

/* The serial result must be the sum, rounded once. */
static void check_serial(const crn_convolve_case *c, const crn_image *out,
                         const crn_convolve_wanted *all)
{
    for (int32_t plane = 0; plane < out->planes; plane++)
        for (int32_t y = 0; y < out->height; y++)
            for (int32_t x = 0; x < out->width; x++, all++) {
                float got = crn_image_at(out, plane, y, x);
                float sum = out->type == CRN_U8 ? (float)fmin(fmax(rint(all->sum), 0), 255)
                                                : (float)all->sum;
                if (got != sum && !(isnan(got) && isnan(sum)))
                    fail_msg("%s | serial: plane %d (%d, %d) is %.9g, wanted %.17g", c->what, plane,
                             x, y, (double)got, all->sum);
            }
}

/* Runs one variant (NULL: the public operator; filters NULL: serial) into fresh memory. Returns the
 * result, whose memory the caller frees. */
static crn_image run(crn_random *random, const crn_convolve_case *c,
                     const crn_convolve_variant *way, int32_t threads,
                     const crn_convolve_wanted *all, const char *name)
{
    char what[OPERATOR_CASE_BYTES + 100];
    snprintf(what, sizeof what, "%s | %s, %d threads, passes %d, %d strips, tile %d", c->what, name,
             threads, way ? (int)way->passes : -1, way ? way->strips : 0,
             way ? way->tile_width : 0);
    crn_guarded memory;
    crn_image out = crn_guarded_image(random, c->image.type, c->image.planes, c->image.height,
                                      c->image.width, &memory);
    crn_guarded_fill(&memory);
    crn_context *context = operator_contexts[threads];
    int r = !way           ? crn_convolve_openmp(context, &c->params, &c->image, &out)
            : way->filters ? crn_convolve_openmp_with(way, context, &c->params, &c->image, &out)
                           : crn_convolve_serial(context, &c->params, &c->image, &out);
    operators_check_result(r, what);
    crn_convolve_check_result(&out, all, what);
    if (way && !way->filters)
        check_serial(c, &out, all);
    crn_guarded_check(&memory, what);
    crn_guarded_check(&c->memory, what);
    crn_image copy = crn_image_copy(&out);
    crn_guarded_check_gaps(&memory, &out, what);
    crn_guarded_free(&memory);
    return copy;
}

/* The bytes do not depend on how the work is split. */
static void try_target(crn_random *random, const crn_convolve_case *c, crn_target target,
                       const crn_convolve_wanted *all)
{
    const char *name = operator_target_names[target];
    for (int passes = CRN_CONVOLVE_WHOLE; passes <= CRN_CONVOLVE_FACTORED; passes++) {
        crn_convolve_variant way = {filters[target], 1, 1, 0, passes};
        crn_image first = run(random, c, &way, 1, all, name);
        way.strips = crn_random_between(random, 1, 7);
        way.threads = crn_random_once_in(random, 3) ? crn_random_between(random, 2, 5) : 1;
        way.tile_width = crn_random_between(random, 0, 40);
        crn_image other = run(random, c, &way, way.threads, all, name);
        char what[OPERATOR_CASE_BYTES + 100];
        snprintf(what, sizeof what, "%s | %s: %d strips, tiles of %d against one", c->what, name,
                 way.strips, way.tile_width);
        crn_assert_images_equal_but_nans(&other, &first, what);
        free(first.data);
        free(other.data);
    }
}

static void try_case(uint64_t seed)
{
    static crn_convolve_case c;
    crn_convolve_make_case(seed, &c);
    void *before = crn_guarded_copy(&c.memory);
    crn_convolve_wanted *all = crn_convolve_compute_all(&c);
    crn_random random = {~seed};
    static const crn_convolve_variant serial = {.filters = NULL};
    free(run(&random, &c, &serial, 1, all, "serial").data);
    int32_t threads = crn_random_between(&random, 1, OPERATOR_THREADS_MAX);
    free(run(&random, &c, NULL, threads, all, "public").data);
    for (crn_target target = CRN_BASELINE; target <= crn_target_best(); target++)
        try_target(&random, &c, target, all);
    crn_guarded_check_same(&c.memory, before, c.what);
    free(before);
    free(all);
    crn_guarded_free(&c.memory);
}

static void test_fast_is_within_the_bound(void **state)
{
    (void)state;
    operators_try_cases(500, try_case);
}

/* Large enough for the public operator to use threads, with its own split. */
static void test_large_picture_has_the_same_bytes(void **state)
{
    (void)state;
    enum { HEIGHT = 300, WIDTH = 700, PLANES = 3, COUNT = HEIGHT * WIDTH * PLANES };
    static float in[COUNT], alone[COUNT], several[COUNT];
    static float weights[121];
    crn_random random = {crn_random_seed()};
    for (int32_t i = 0; i < COUNT; i++)
        in[i] = (float)crn_random_unit(&random);
    for (int32_t i = 0; i < 121; i++)
        weights[i] = (float)crn_random_unit(&random);
    static const int32_t widths[] = {3, 11, 1}, heights[] = {5, 11, 9};
    for (int k = 0; k < 12; k++) {
        crn_type type = k & 1 ? CRN_U8 : CRN_F32;
        crn_layout layout = k & 2 ? CRN_HWC : CRN_CHW;
        crn_convolve_params params = {weights, widths[k / 4], heights[k / 4], k % 4};
        crn_image image = crn_image_dense(in, type, layout, PLANES, HEIGHT, WIDTH);
        crn_image one = crn_image_dense(alone, type, layout, PLANES, HEIGHT, WIDTH), more = one;
        more.data = several;
        assert_int_equal(crn_convolve_openmp(operator_contexts[1], &params, &image, &one), 0);
        for (int32_t threads = 2; threads <= OPERATOR_THREADS_MAX; threads++) {
            memset(several, 0, sizeof several);
            assert_int_equal(
                crn_convolve_openmp(operator_contexts[threads], &params, &image, &more), 0);
            assert_memory_equal(alone, several, COUNT * crn_type_bytes(type));
        }
    }
}

static void test_largest_kernels(void **state)
{
    (void)state;
    static const int32_t widths[] = {16384, 1, 128, 127}, heights[] = {1, 16384, 128, 129};
    static crn_convolve_case c;
    crn_random random = {crn_random_seed()};
    for (int k = 0; k < 4; k++) {
        for (int32_t i = 0; i < CRN_KERNEL_TAPS_MAX; i++)
            c.weights[i] = (float)(crn_random_unit(&random) - 0.5) * 0x1p-10f;
        c.params = (crn_convolve_params){c.weights, widths[k], heights[k], k};
        c.exact = false;
        c.image = crn_guarded_image(&random, k & 1 ? CRN_U8 : CRN_F32, 1, 3, 7, &c.memory);
        bool whole;
        crn_convolve_fill(&random, &c.image, &whole);
        snprintf(c.what, sizeof c.what, "kernel of %d x %d", heights[k], widths[k]);
        crn_convolve_wanted all[21];
        for (int i = 0; i < 21; i++)
            all[i] = crn_convolve_compute(&c, 0, i / 7, i % 7);
        free(run(&random, &c, NULL, 2, all, "public").data);
        crn_guarded_free(&c.memory);
    }
}

/* --- CUDA --- */

static void try_cuda(uint64_t seed, const crn_convolve_case *c)
{
    crn_random random = {~seed};
    crn_convolve_wanted *all = crn_convolve_compute_all(c);
    char what[OPERATOR_CASE_BYTES + 100];
    snprintf(what, sizeof what, "%s | cuda", c->what);
    crn_guarded memory;
    crn_image out = crn_guarded_image(&random, c->image.type, c->image.planes, c->image.height,
                                      c->image.width, &memory);
    crn_guarded_fill(&memory);
    const crn_ops *ops = crn_test_cuda_ops();
    operators_check_result(ops->convolve(operator_contexts[1], &c->params, &c->image, &out), what);
    crn_convolve_check_result(&out, all, what);
    crn_guarded_check(&memory, what);
    crn_guarded_check_gaps(&memory, &out, what);
    crn_guarded_free(&memory);
    free(all);
}

static void try_cuda_case(uint64_t seed)
{
    static crn_convolve_case c;
    crn_convolve_make_case(seed, &c);
    try_cuda(seed, &c);
    crn_guarded_free(&c.memory);
}

static void try_wide_cuda_case(uint64_t seed)
{
    static crn_convolve_case c;
    crn_convolve_make_wide_case(seed, &c);
    try_cuda(seed, &c);
    crn_guarded_free(&c.memory);
}

static void test_cuda_is_the_definition(void **state)
{
    (void)state;
    crn_test_cuda_ops();
    operators_try_cases(1500, try_cuda_case);
}

static void test_cuda_is_the_definition_on_wide_rows(void **state)
{
    (void)state;
    crn_test_cuda_ops();
    operators_try_cases(400, try_wide_cuda_case);
}

static void test_cuda_with_the_largest_kernels(void **state)
{
    (void)state;
    static const int32_t widths[] = {16384, 1, 128, 127, 40, 3},
                         heights[] = {1, 16384, 128, 129, 9, 200};
    static crn_convolve_case c;
    crn_random random = {crn_random_seed()};
    crn_test_cuda_ops();
    for (int k = 0; k < 6; k++) {
        for (int32_t i = 0; i < CRN_KERNEL_TAPS_MAX; i++)
            c.weights[i] = (float)(crn_random_unit(&random) - 0.5) * 0x1p-10f;
        c.params = (crn_convolve_params){c.weights, widths[k], heights[k], k % 4};
        c.exact = false;
        c.image =
            crn_guarded_image(&random, k & 1 ? CRN_U8 : CRN_F32, 1 + k / 3, 30, 70, &c.memory);
        bool whole;
        crn_convolve_fill(&random, &c.image, &whole);
        snprintf(c.what, sizeof c.what, "kernel of %d x %d", heights[k], widths[k]);
        try_cuda(7, &c);
        crn_guarded_free(&c.memory);
    }
}

/* For pixels below 1 (255 in u8): close to openmp, or else correct against the exact sum. */
static void check_large(const crn_convolve_case *c, const crn_image *got, const crn_image *fast)
{
    double size = 0;
    for (int32_t i = 0; i < c->params.width * c->params.height; i++)
        size += fabs((double)c->params.weights[i]);
    double near = 4 * 0x1p-24 * size * c->params.width * c->params.height;
    for (int32_t plane = 0; plane < got->planes; plane++)
        for (int32_t y = 0; y < got->height; y++)
            for (int32_t x = 0; x < got->width; x++) {
                float a = crn_image_at(got, plane, y, x), b = crn_image_at(fast, plane, y, x);
                if (a == b || (got->type == CRN_F32 && fabs((double)a - (double)b) <= near))
                    continue;
                crn_convolve_wanted w = crn_convolve_compute(c, plane, y, x);
                if (got->type == CRN_F32 || !crn_convolve_is_right_u8(&w, (int)a))
                    fail_msg("%s: plane %d (%d, %d) is %.9g, openmp's %.9g, wanted %.17g", c->what,
                             plane, x, y, (double)a, (double)b, w.sum);
            }
}

static void test_cuda_on_large_pictures(void **state)
{
    (void)state;
    static const struct {
        int32_t planes, height, width, side, layout;
    } cases[] = {
        {3, 1500, 2161, 3, CRN_HWC}, {3, 720, 1280, 5, CRN_HWC}, {3, 720, 1280, 7, CRN_HWC},
        {1, 4097, 1023, 7, CRN_CHW}, {1, 33, 4097, 15, CRN_CHW}, {2, 700, 513, 5, CRN_CHW},
        {12, 95, 511, 3, CRN_HWC},   {12, 95, 511, 3, CRN_CHW},  {3, 400, 600, 15, CRN_HWC}};
    static crn_convolve_case c;
    crn_random random = {crn_random_seed()};
    const crn_ops *ops = crn_test_cuda_ops();
    for (size_t k = 0; k < 2 * sizeof cases / sizeof cases[0]; k++) {
        int32_t side = cases[k / 2].side;
        crn_type type = k & 1 ? CRN_U8 : CRN_F32;
        crn_convolve_pick_kernel(&random, side, side, &c);
        crn_image image =
            crn_image_dense(NULL, type, (crn_layout)cases[k / 2].layout, cases[k / 2].planes,
                            cases[k / 2].height, cases[k / 2].width);
        crn_image got = image, fast = image;
        size_t bytes = crn_image_elements(&image) * crn_type_bytes(type);
        image.data = malloc(bytes), got.data = malloc(bytes), fast.data = malloc(bytes);
        assert_true(image.data && got.data && fast.data);
        crn_image_randomise(&image, &random);
        c.image = image;
        snprintf(c.what, sizeof c.what, "large case %zu, kernel %d, border %d", k, side,
                 c.params.border);
        operators_check_result(crn_convolve_openmp(operator_contexts[2], &c.params, &image, &fast),
                               c.what);
        operators_check_result(ops->convolve(operator_contexts[1], &c.params, &image, &got),
                               c.what);
        check_large(&c, &got, &fast);
        free(image.data), free(got.data), free(fast.data);
    }
}

/* Several views at once, captured and launched with
 * different inputs: the same bytes as for each view alone. */
static void try_views(const crn_gpu *gpu, crn_random *random, crn_type type, crn_layout layout,
                      int32_t side)
{
    enum { VIEWS = 3, PLANES = 3, HEIGHT = 21, WIDTH = 150, COUNT = PLANES * HEIGHT * WIDTH };
    static crn_convolve_case c;
    static float in[VIEWS * COUNT], got[VIEWS * COUNT], alone[COUNT];
    size_t bytes = COUNT * crn_type_bytes(type);
    crn_convolve_pick_kernel(random, side, side, &c);
    crn_context *context;
    assert_int_equal(gpu->context_create(0, VIEWS, &context), 0);
    crn_image from = crn_image_dense(crn_context_scratch(context, 16, bytes), type, layout, PLANES,
                                     HEIGHT, WIDTH);
    crn_image to = from;
    to.data = crn_context_scratch(context, 17, bytes);
    assert_true(from.data && to.data);
    assert_int_equal(gpu->upload(context, from.data, in, VIEWS * bytes), 0);
    assert_int_equal(gpu->ops->convolve(context, &c.params, &from, &to), 0);
    assert_int_equal(crn_test_gpu_wait(gpu, context), 0);
    crn_gpu_graph *graph;
    assert_int_equal(gpu->record(context), 0);
    int r = gpu->ops->convolve(context, &c.params, &from, &to);
    assert_int_equal(gpu->recorded(context, &graph), 0);
    assert_int_equal(r, 0);
    for (int run = 0; run < 3; run++) {
        crn_image all = crn_image_dense(in, type, layout, PLANES, VIEWS * HEIGHT, WIDTH);
        crn_image_randomise(&all, random);
        assert_int_equal(gpu->upload(context, from.data, in, VIEWS * bytes), 0);
        assert_int_equal(gpu->launch(context, graph), 0);
        assert_int_equal(gpu->download(context, got, to.data, VIEWS * bytes), 0);
        assert_int_equal(crn_test_gpu_wait(gpu, context), 0);
        for (size_t v = 0; v < VIEWS; v++) {
            crn_image one =
                crn_image_dense((uint8_t *)in + v * bytes, type, layout, PLANES, HEIGHT, WIDTH);
            crn_image result = one, several = one;
            result.data = alone;
            several.data = (uint8_t *)got + v * bytes;
            assert_int_equal(
                crn_test_cuda_ops()->convolve(operator_contexts[1], &c.params, &one, &result), 0);
            char what[100];
            snprintf(what, sizeof what, "type %d layout %d side %d view %zu run %d", type, layout,
                     side, v, run);
            crn_assert_images_equal(&several, &result, what);
        }
    }
    gpu->graph_free(&graph);
    crn_context_free(&context);
}

static void test_cuda_does_views_together(void **state)
{
    (void)state;
    const crn_gpu *gpu = crn_test_cuda();
    crn_random random = {crn_random_seed()};
    static const int32_t sides[] = {3, 5, 7, 9, 4};
    for (int k = 0; k < 20; k++)
        try_views(gpu, &random, k & 1 ? CRN_U8 : CRN_F32, k & 2 ? CRN_HWC : CRN_CHW, sides[k / 4]);
}

int main(int argc, char **argv)
{
    operators_wait_passively(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fast_is_within_the_bound),
        cmocka_unit_test(test_large_picture_has_the_same_bytes),
        cmocka_unit_test(test_largest_kernels),
        cmocka_unit_test(test_cuda_is_the_definition),
        cmocka_unit_test(test_cuda_is_the_definition_on_wide_rows),
        cmocka_unit_test(test_cuda_with_the_largest_kernels),
        cmocka_unit_test(test_cuda_on_large_pictures),
        cmocka_unit_test(test_cuda_does_views_together),
    };
    return cmocka_run_group_tests(tests, operators_set_up, operators_tear_down);
}

/* The Haar transforms of openmp, in every variant, and of CUDA against serial: identical bytes,
 * except which NaN a sum of two NaNs gives, because the compiler may swap the operands. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "stages/context.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/cuda.h"
#include "tests/support/parity/parity.h"

static const crn_haar_kernels *const kernels[CRN_TARGETS] = {
    &crn_haar_kernels_baseline, &crn_haar_kernels_avx2, &crn_haar_kernels_avx512};

static void make_images(crn_parity_case *c, crn_type type, crn_parity_shape shape)
{
    static const char *const directions[] = {"forward", "inverse", "denoise"};
    const crn_haar_params *p = &c->params.haar;
    crn_parity_make_in(c, type, shape);
    crn_parity_set_out(c, CRN_F32, shape);
    crn_parity_describe(c, "%s %d levels, threshold %g%s", directions[p->direction], p->levels,
                        (double)p->threshold, p->unit ? " unit" : "");
}

static void make_of(crn_parity_case *c, crn_parity_shape shape)
{
    static const float thresholds[] = {0, 0.01f, 0.05f, 0.3f, 2, 100, INFINITY};
    crn_random *random = &c->random;
    crn_type type = crn_random_once_in(random, 3) ? CRN_U8 : CRN_F32;
    if (type == CRN_F32 && crn_random_once_in(random, 3))
        c->values = (crn_parity_values){.low = -10, .high = 10, .steps = 20};
    else if (type == CRN_F32)
        c->values = (crn_parity_values){.low = -1, .high = 1};
    c->values.special_once_in = crn_random_once_in(random, 3) ? 20 : 0;
    c->params.haar = (crn_haar_params){
        .direction = (crn_haar_direction)crn_random_below(random, 3),
        .levels = crn_random_between(random, 0, crn_haar_levels_max(shape.height, shape.width)),
        .threshold = thresholds[crn_random_below(random, 7)],
        .unit = crn_random_once_in(random, 2)};
    make_images(c, type, shape);
}

static void make(crn_parity_case *c)
{
    make_of(c, crn_parity_pick_shape(c, 1));
}

static void pick_variant(crn_parity_case *c, crn_target target, int32_t number,
                         crn_parity_variant *ret_variant)
{
    crn_random *random = &c->random;
    crn_haar_variant *v = &ret_variant->haar;
    *v = (crn_haar_variant){kernels[target], CRN_HAAR_FUSED_MAX, 1, 1,
                            crn_random_once_in(random, 2)};
    if (c->params.haar.direction == CRN_HAAR_DENOISE)
        v->fused = crn_random_between(random, 1, 7);
    if (number % 2) {
        v->fused = crn_random_between(random, 1, 4);
        v->strips = crn_random_between(random, 1, 9);
        v->threads = crn_random_once_in(random, 4) ? crn_random_between(random, 2, 5) : 1;
    }
    snprintf(ret_variant->text, sizeof ret_variant->text, "%d fused, %d strips, %d threads%s",
             v->fused, v->strips, v->threads, v->stream ? ", streamed" : "");
}

/* Large enough for the public operator to split it, to use threads and non-temporal stores. */
static bool make_large(crn_parity_case *c, uint32_t i)
{
    if (i == 6)
        return false;
    make_of(c, i % 2 ? (crn_parity_shape){12, 95, 511} : (crn_parity_shape){1, 1101, 2203});
    return true;
}

typedef struct dense_shape {
    crn_type type;
    crn_layout layout;
    crn_parity_shape shape;
} dense_shape;

static bool make_cuda_large(crn_parity_case *c, uint32_t i)
{
    static const dense_shape cases[] = {
        {CRN_F32, CRN_CHW, {1, 4097, 4097}}, {CRN_U8, CRN_CHW, {1, 1800, 2880}},
        {CRN_F32, CRN_HWC, {12, 95, 511}},   {CRN_U8, CRN_HWC, {3, 700, 1001}},
        {CRN_U8, CRN_HWC, {8, 193, 1030}},   {CRN_F32, CRN_CHW, {5, 257, 1028}},
        {CRN_F32, CRN_CHW, {1, 1, 300001}},  {CRN_F32, CRN_HWC, {4, 20001, 3}},
        {CRN_F32, CRN_CHW, {70000, 2, 3}},   {CRN_F32, CRN_CHW, {1, 1024, 2048}},
    };
    const uint32_t runs = 12, shape = i / runs, run = i % runs;
    if (shape == sizeof cases / sizeof *cases)
        return false;
    int32_t most = crn_haar_levels_max(cases[shape].shape.height, cases[shape].shape.width);
    c->layout = cases[shape].layout;
    c->values = (crn_parity_values){.low = cases[shape].type == CRN_F32 ? -0.25 : 0, .high = 0.75};
    if (cases[shape].type == CRN_U8)
        c->values.high = 256;
    c->params.haar = (crn_haar_params){(crn_haar_direction)(run % 3), most, 0.125f, run & 1};
    if (run >= 3)
        c->params.haar.levels = crn_random_between(&c->random, 0, most);
    make_images(c, cases[shape].type, cases[shape].shape);
    return true;
}

static bool make_views(crn_parity_case *c, uint32_t i)
{
    static const dense_shape cases[] = {{CRN_F32, CRN_HWC, {12, 37, 51}},
                                        {CRN_U8, CRN_CHW, {3, 66, 40}},
                                        {CRN_F32, CRN_CHW, {1, 300, 500}},
                                        {CRN_U8, CRN_HWC, {4, 130, 67}}};
    if (i == 4 * 3 * 2)
        return false;
    crn_parity_shape shape = cases[i / 6].shape;
    c->layout = cases[i / 6].layout;
    c->params.haar = (crn_haar_params){(crn_haar_direction)(i / 2 % 3), 2, 0.125f, true};
    if (i % 2)
        c->params.haar.levels = crn_haar_levels_max(shape.height, shape.width);
    make_images(c, cases[i / 6].type, shape);
    return true;
}

static crn_parity_operator haar = {.kind = CRN_PARITY_HAAR,
                                   .cases = 3000,
                                   .cuda_cases = 3000,
                                   .scratch_cases = 100,
                                   .make = make,
                                   .variants = 2,
                                   .pick_variant = pick_variant,
                                   .any_nan = true,
                                   .make_large = make_large,
                                   .make_cuda_large = make_cuda_large,
                                   .make_views = make_views};

/* Rows aligned to cache lines are written by the kernels themselves with non-temporal stores,
 * except for the remainder of a range; widths around those of tiles put range ends everywhere. */
static void make_aligned(crn_parity_case *c)
{
    static const int32_t widths[] = {64, 80, 96, 1504, 1539, 2112, 4128};
    int32_t width = widths[c->seed % 7];
    c->layout = CRN_CHW;
    c->row_multiple = CRN_HAAR_LINE_BYTES / sizeof(float);
    c->values = (crn_parity_values){.low = -1, .high = 1};
    c->params.haar = (crn_haar_params){(crn_haar_direction)(c->seed / 7 % 3),
                                       crn_random_between(&c->random, 1, 4), 0.3f, false};
    crn_parity_shape shape = {1, crn_random_between(&c->random, 1, 37), width};
    make_images(c, CRN_F32, shape);
}

static void pick_streamed_variant(crn_parity_case *c, crn_target target, int32_t number,
                                  crn_parity_variant *ret_variant)
{
    ret_variant->haar = (crn_haar_variant){kernels[target], 3, crn_random_between(&c->random, 1, 4),
                                           crn_random_between(&c->random, 1, 3), true};
    snprintf(ret_variant->text, sizeof ret_variant->text, "streamed, variant %d", number);
}

static crn_parity_operator haar_aligned = {.kind = CRN_PARITY_HAAR,
                                           .cases = 42,
                                           .make = make_aligned,
                                           .variants = 1,
                                           .pick_variant = pick_streamed_variant,
                                           .any_nan = true};

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

static void test_cuda_refuses_gaps_between_elements(void **state)
{
    (void)state;
    const crn_gpu *gpu = crn_test_cuda();
    crn_context *context;
    assert_int_equal(gpu->context_create(0, 3, &context), 0);
    crn_image in =
        crn_image_dense(crn_context_scratch(context, 16, 1 << 16), CRN_F32, CRN_CHW, 1, 30, 40);
    crn_image out = in;
    out.data = crn_context_scratch(context, 17, 1 << 16);
    in.step++;
    const crn_haar_params params = {CRN_HAAR_FORWARD, 1, 0, false};
    assert_int_equal(gpu->ops->haar(context, &params, &in, &out), -EINVAL);
    crn_context_free(&context);
}

int main(int argc, char **argv)
{
    operators_wait_passively(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_openmp_is_serial, &haar),
        cmocka_unit_test_prestate(test_large_images_are_serial, &haar),
        cmocka_unit_test_prestate(test_openmp_is_serial, &haar_aligned),
        cmocka_unit_test(test_every_byte_widens_to_its_quotient),
        cmocka_unit_test_prestate(test_scratch_contents_do_not_matter, &haar),
        cmocka_unit_test_prestate(test_cuda_is_serial, &haar),
        cmocka_unit_test_prestate(test_cuda_is_openmp_on_large_images, &haar),
        cmocka_unit_test_prestate(test_cuda_views_in_a_graph, &haar),
        cmocka_unit_test(test_cuda_refuses_gaps_between_elements),
    };
    return cmocka_run_group_tests(tests, operators_set_up, operators_tear_down);
}

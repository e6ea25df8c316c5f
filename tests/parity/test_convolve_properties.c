/* Properties of convolution that hold for every backend, tested on serial and openmp. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/kernel/kernel.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parity/parity.h"

#define SIDE_MAX   60
#define PIXELS_MAX (SIDE_MAX * SIDE_MAX)

static crn_kernel kernel;

static crn_convolve_fn *const operators[] = {crn_convolve_serial, crn_convolve_openmp};

/* A plane of f32 with its memory. */
typedef struct plane {
    float values[PIXELS_MAX];
    crn_image image;
} plane;

static plane picture, other, mixed, result, result_of_other, result_of_mixed;

static crn_image over(plane *p, int32_t height, int32_t width)
{
    p->image = crn_image_dense(p->values, CRN_F32, CRN_CHW, 1, height, width);
    return p->image;
}

static void pick_size(int32_t least, int32_t *ret_height, int32_t *ret_width)
{
    *ret_height = crn_random_between(&operator_random, least, SIDE_MAX);
    *ret_width = crn_random_between(&operator_random, least, SIDE_MAX);
}

static void fill(plane *p, int32_t height, int32_t width)
{
    over(p, height, width);
    for (int32_t i = 0; i < height * width; i++)
        p->values[i] = (float)(crn_random_unit(&operator_random) - 0.5);
}

static crn_convolve_params pick_kernel(int32_t most)
{
    kernel.size.width = crn_random_between(&operator_random, 1, most);
    kernel.size.height = crn_random_between(&operator_random, 1, most);
    for (int32_t i = 0; i < kernel.size.width * kernel.size.height; i++)
        kernel.weights[i] = (float)(crn_random_unit(&operator_random) - 0.4);
    return (crn_convolve_params){kernel.weights, kernel.size.width, kernel.size.height,
                                 (crn_convolve_border)crn_random_below(&operator_random, 4)};
}

static void convolve(crn_convolve_fn *operator, const crn_convolve_params * params, plane *in,
                     plane *out)
{
    over(out, in->image.height, in->image.width);
    assert_int_equal(operator(operator_contexts[1], params, &in->image, &out->image), 0);
}

/* Correlation does not flip the kernel, so a single pixel gives it rotated by 180 degrees. */
static void test_impulse_gives_the_rotated_kernel(void **state)
{
    (void)state;
    for (uint32_t n = 0; n < 200; n++) {
        crn_convolve_params params = pick_kernel(9);
        int32_t height, width;
        pick_size(20, &height, &width);
        over(&picture, height, width);
        memset(picture.values, 0, sizeof picture.values);
        int32_t y = crn_random_between(&operator_random, 9, height - 10);
        int32_t x = crn_random_between(&operator_random, 9, width - 10);
        picture.values[y * width + x] = 1;
        convolve(operators[n & 1], &params, &picture, &result);
        for (int32_t v = 0; v < height; v++)
            for (int32_t u = 0; u < width; u++) {
                int32_t j = y - v + params.height / 2, i = x - u + params.width / 2;
                bool under = j >= 0 && j < params.height && i >= 0 && i < params.width;
                float wanted = under ? params.weights[j * params.width + i] : 0;
                assert_true(fabsf(result.values[v * width + u] - wanted) <= 0x1p-20f);
            }
    }
}

static void test_linear(void **state)
{
    (void)state;
    for (uint32_t n = 0; n < 100; n++) {
        crn_convolve_params params = pick_kernel(8);
        int32_t height, width;
        pick_size(1, &height, &width);
        fill(&picture, height, width);
        fill(&other, height, width);
        over(&mixed, height, width);
        for (int32_t i = 0; i < height * width; i++)
            mixed.values[i] = 2 * picture.values[i] + other.values[i];
        convolve(operators[n & 1], &params, &picture, &result);
        convolve(operators[n & 1], &params, &other, &result_of_other);
        convolve(operators[n & 1], &params, &mixed, &result_of_mixed);
        /* The tolerance of cernita.h for all three, with the largest pixel and weight. */
        double taps = params.width * params.height, bound = 6 * taps * 0x1p-24 * taps * 1.5;
        for (int32_t i = 0; i < height * width; i++) {
            double sum = 2 * (double)result.values[i] + (double)result_of_other.values[i];
            assert_true(fabs(sum - (double)result_of_mixed.values[i]) <= bound);
        }
    }
}

/* A separable kernel gives the same as its row and its column applied in sequence. */
static void test_product_is_row_then_column(void **state)
{
    (void)state;
    static const char *const names[] = {"gaussian", "blur", "gaussian"};
    for (uint32_t n = 0; n < 60; n++) {
        int32_t side = 3 + 2 * crn_random_between(&operator_random, 0, 5), height, width;
        assert_int_equal(crn_kernel_make(names[n % 3], (crn_size){side, side}, &kernel, NULL), 0);
        float row[13], column[13];
        for (int32_t i = 0; i < side; i++) {
            row[i] = kernel.weights[side / 2 * side + i] / kernel.weights[side * side / 2];
            column[i] = kernel.weights[i * side + side / 2];
        }
        pick_size(1, &height, &width);
        fill(&picture, height, width);
        crn_convolve_border border = (crn_convolve_border)(n % 4);
        crn_convolve_params whole = {kernel.weights, side, side, border};
        crn_convolve_params along = {row, side, 1, border}, down = {column, 1, side, border};
        convolve(operators[n & 1], &whole, &picture, &result);
        convolve(operators[n & 1], &along, &picture, &other);
        convolve(operators[n & 1], &down, &other, &result_of_other);
        for (int32_t i = 0; i < height * width; i++)
            assert_true(fabsf(result.values[i] - result_of_other.values[i]) <= 0x1p-20f);
    }
}

/* A constant picture stays constant, scaled by the sum of weights, where no zero padding enters. */
static void test_constant_stays_constant(void **state)
{
    (void)state;
    for (const char *const *name = crn_kernel_names; *name; name++)
        for (uint32_t n = 0; n < 12; n++) {
            assert_int_equal(crn_kernel_make(*name, (crn_size){3, 3}, &kernel, NULL), 0);
            double sum = 0;
            for (int i = 0; i < 9; i++)
                sum += (double)kernel.weights[i];
            int32_t height, width;
            pick_size(1, &height, &width);
            crn_convolve_params params = {kernel.weights, 3, 3, (crn_convolve_border)(n % 3)};
            uint8_t in[PIXELS_MAX], out[PIXELS_MAX];
            memset(in, 77, sizeof in);
            crn_image from = crn_image_dense(in, CRN_U8, CRN_CHW, 1, height, width), to = from;
            to.data = out;
            assert_int_equal(operators[n & 1](operator_contexts[1], &params, &from, &to), 0);
            for (int32_t i = 0; i < height * width; i++)
                assert_int_equal(out[i], (int)fmin(fmax(rint(sum * 77), 0), 255));
        }
}

static void test_halves_go_to_even_and_ends_are_kept(void **state)
{
    (void)state;
    static const float half[1] = {0.5f}, much[1] = {3}, minus[1] = {-1};
    for (uint32_t n = 0; n < 2; n++) {
        uint8_t in[64], out[64];
        for (int i = 0; i < 64; i++)
            in[i] = (uint8_t)(2 * i + 1);
        crn_image from = crn_image_dense(in, CRN_U8, CRN_CHW, 1, 1, 64), to = from;
        to.data = out;
        crn_convolve_params params = {half, 1, 1, CRN_CONVOLVE_REPLICATE};
        assert_int_equal(operators[n](operator_contexts[1], &params, &from, &to), 0);
        for (int i = 0; i < 64; i++)
            assert_int_equal(out[i], (i + 1) / 2 * 2);
        params.weights = much;
        assert_int_equal(operators[n](operator_contexts[1], &params, &from, &to), 0);
        for (int i = 0; i < 64; i++)
            assert_int_equal(out[i], 3 * in[i] < 255 ? 3 * in[i] : 255);
        params.weights = minus;
        assert_int_equal(operators[n](operator_contexts[1], &params, &from, &to), 0);
        for (int i = 0; i < 64; i++)
            assert_int_equal(out[i], 0);
    }
}

static void test_invalid_arguments_are_refused(void **state)
{
    (void)state;
    static const float weights[2] = {1, 1}, with_nan[2] = {1, NAN}, infinite[2] = {1, INFINITY};
    static const crn_parity_params invalid[] = {
        {.convolve = {with_nan, 2, 1, CRN_CONVOLVE_ZERO}},
        {.convolve = {infinite, 2, 1, CRN_CONVOLVE_ZERO}},
        {.convolve = {NULL, 2, 1, CRN_CONVOLVE_ZERO}},
        {.convolve = {weights, 0, 1, CRN_CONVOLVE_ZERO}},
        {.convolve = {weights, CRN_KERNEL_TAPS_MAX + 1, 1, CRN_CONVOLVE_ZERO}},
        {.convolve = {weights, 2, -1, CRN_CONVOLVE_ZERO}},
        {.convolve = {weights, 2, 1, (crn_convolve_border)4}},
    };
    crn_parity_check_refusals(
        &(crn_parity_refusals){.kind = CRN_PARITY_CONVOLVE,
                               .in_type = CRN_F32,
                               .out_type = CRN_F32,
                               .unsupported = CRN_U16,
                               .in_shape = {1, 4, 5},
                               .out_shape = {1, 4, 5},
                               .valid.convolve = {weights, 2, 1, CRN_CONVOLVE_ZERO},
                               .invalid = invalid,
                               .count = sizeof invalid / sizeof *invalid});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_impulse_gives_the_rotated_kernel),
        cmocka_unit_test(test_linear),
        cmocka_unit_test(test_product_is_row_then_column),
        cmocka_unit_test(test_constant_stays_constant),
        cmocka_unit_test(test_halves_go_to_even_and_ends_are_kept),
        cmocka_unit_test(test_invalid_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, operators_set_up_random, operators_tear_down);
}

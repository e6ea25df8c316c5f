/* Properties of the Haar transform that hold for every backend, on pictures of any size. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/parity/parity.h"

#define SIDE_MAX 70

typedef struct haar_image {
    int32_t height, width;
    float at[SIDE_MAX * SIDE_MAX];
} haar_image;

static crn_haar_fn *const backends[] = {crn_haar_serial, crn_haar_openmp};
static const char *const names[] = {"serial", "openmp"};

static haar_image transform_by(int backend, crn_haar_direction direction, int32_t levels,
                               float threshold, const haar_image *from)
{
    haar_image in = *from, to = {.height = from->height, .width = from->width};
    crn_image source = crn_image_dense(in.at, CRN_F32, CRN_CHW, 1, in.height, in.width);
    crn_image target = crn_image_dense(to.at, CRN_F32, CRN_CHW, 1, in.height, in.width);
    crn_haar_params params = {direction, levels, threshold, false};
    assert_int_equal(backends[backend](operator_contexts[1], &params, &source, &target), 0);
    return to;
}

static haar_image noise(crn_random *random, int32_t height, int32_t width, bool whole)
{
    haar_image p = {.height = height, .width = width};
    for (int32_t i = 0; i < height * width; i++)
        p.at[i] = whole ? (float)crn_random_between(random, -50, 50)
                        : (float)(crn_random_unit(random) * 2 - 1);
    return p;
}

static double max_abs(const haar_image *p)
{
    double most = 0;
    for (int32_t i = 0; i < p->height * p->width; i++)
        most = fmax(most, fabs((double)p->at[i]));
    return most;
}

/* Equal as numbers: -0 equals 0. */
static void assert_same(const haar_image *a, const haar_image *b, int backend, const char *what)
{
    for (int32_t i = 0; i < a->height * a->width; i++)
        if (a->at[i] != b->at[i])
            fail_msg("%s, %s, %d x %d: element %d is %a, not %a", names[backend], what, a->height,
                     a->width, i, (double)a->at[i], (double)b->at[i]);
}

typedef void property(crn_random *random, int backend, int32_t levels, int32_t height,
                      int32_t width);

static void of_any_picture(property *holds)
{
    crn_random random = {crn_random_seed()};
    for (int32_t i = 0; i < 200; i++) {
        int32_t height = crn_random_between(&random, 1, SIDE_MAX);
        int32_t width = crn_random_between(&random, 1, i % 4 ? SIDE_MAX : 3);
        int32_t levels = crn_random_between(&random, 0, crn_haar_levels_max(height, width));
        for (int backend = 0; backend < 2; backend++)
            holds(&random, backend, levels, height, width);
    }
}

static void comes_back(crn_random *random, int backend, int32_t levels, int32_t height,
                       int32_t width)
{
    haar_image x = noise(random, height, width, false);
    haar_image y = transform_by(backend, CRN_HAAR_FORWARD, levels, 0, &x);
    y = transform_by(backend, CRN_HAAR_INVERSE, levels, 0, &y);
    double bound = 4 * levels * 0x1p-24 * max_abs(&x);
    for (int32_t i = 0; i < height * width; i++)
        if (!(fabs((double)y.at[i] - (double)x.at[i]) <= bound))
            fail_msg("%s, %d levels of %d x %d: element %d came back as %a, was %a", names[backend],
                     levels, height, width, i, (double)y.at[i], (double)x.at[i]);
}

static void test_inverse_of_forward_is_the_picture(void **state)
{
    (void)state;
    of_any_picture(comes_back);
}

/* Where no border value is paired with itself the transform
 * is orthonormal, so it preserves the sum of squares. */
static void test_energy_is_kept(void **state)
{
    (void)state;
    crn_random random = {crn_random_seed()};
    for (int32_t levels = 0; levels <= 5; levels++)
        for (int backend = 0; backend < 2; backend++) {
            haar_image x = noise(&random, 64, 32, false);
            haar_image y = transform_by(backend, CRN_HAAR_FORWARD, levels, 0, &x);
            double before = 0, after = 0;
            for (int32_t i = 0; i < 64 * 32; i++) {
                before += (double)x.at[i] * (double)x.at[i];
                after += (double)y.at[i] * (double)y.at[i];
            }
            /* Each coefficient's relative error is at most a few 2^-24. */
            assert_true(fabs(after - before) <= before * 0x1p-20);
        }
}

/* Integers this small are halved exactly. */
static void is_linear(crn_random *random, int backend, int32_t levels, int32_t height,
                      int32_t width)
{
    levels = levels < 4 ? levels : 4;
    haar_image x = noise(random, height, width, true), y = noise(random, height, width, true);
    haar_image sum = x;
    for (int32_t i = 0; i < height * width; i++)
        sum.at[i] = 3 * x.at[i] - 5 * y.at[i];
    for (int direction = CRN_HAAR_FORWARD; direction <= CRN_HAAR_INVERSE; direction++) {
        haar_image a = transform_by(backend, (crn_haar_direction)direction, levels, 0, &x);
        haar_image b = transform_by(backend, (crn_haar_direction)direction, levels, 0, &y);
        haar_image c = transform_by(backend, (crn_haar_direction)direction, levels, 0, &sum);
        for (int32_t i = 0; i < height * width; i++)
            a.at[i] = 3 * a.at[i] - 5 * b.at[i];
        assert_same(&c, &a, backend, "linear");
    }
}

static void test_it_is_linear(void **state)
{
    (void)state;
    of_any_picture(is_linear);
}

static haar_image transposed(const haar_image *x)
{
    haar_image t = {.height = x->width, .width = x->height};
    for (int32_t row = 0; row < x->height; row++)
        for (int32_t column = 0; column < x->width; column++)
            t.at[column * x->height + row] = x->at[row * x->width + column];
    return t;
}

/* Exact where the order of additions does not matter, as for small integers; otherwise a + b is
 * computed before a + c. */
static void transposes(crn_random *random, int backend, int32_t levels, int32_t height,
                       int32_t width)
{
    levels = levels < 4 ? levels : 4;
    haar_image x = noise(random, height, width, true), t = transposed(&x);
    haar_image y = transform_by(backend, CRN_HAAR_FORWARD, levels, 0, &x);
    haar_image u = transform_by(backend, CRN_HAAR_FORWARD, levels, 0, &t);
    y = transposed(&y);
    assert_same(&u, &y, backend, "transposed");
}

static void test_transposing_swaps_rows_and_columns(void **state)
{
    (void)state;
    of_any_picture(transposes);
}

/* Bit-exact for any floats: additions within a pair and between two pairs commute. */
static void test_mirroring_turns_signs(void **state)
{
    (void)state;
    crn_random random = {crn_random_seed()};
    for (int32_t i = 0; i < 100; i++)
        for (int backend = 0; backend < 2; backend++) {
            int32_t h = crn_random_between(&random, 1, 35), w = crn_random_between(&random, 1, 35);
            haar_image x = noise(&random, 2 * h, 2 * w, false), mirrored = x;
            for (int32_t y = 0; y < 2 * h; y++)
                for (int32_t k = 0; k < 2 * w; k++)
                    mirrored.at[y * 2 * w + k] = x.at[y * 2 * w + 2 * w - 1 - k];
            haar_image a = transform_by(backend, CRN_HAAR_FORWARD, 1, 0, &x), wanted = a;
            haar_image b = transform_by(backend, CRN_HAAR_FORWARD, 1, 0, &mirrored);
            for (int32_t y = 0; y < 2 * h; y++)
                for (int32_t k = 0; k < w; k++) {
                    wanted.at[y * 2 * w + k] = a.at[y * 2 * w + w - 1 - k];
                    wanted.at[y * 2 * w + w + k] = -a.at[y * 2 * w + 2 * w - 1 - k];
                }
            assert_same(&b, &wanted, backend, "mirrored");
        }
}

static void denoises_by_0(crn_random *random, int backend, int32_t levels, int32_t height,
                          int32_t width)
{
    haar_image x = noise(random, height, width, false);
    haar_image y = transform_by(backend, CRN_HAAR_FORWARD, levels, 0, &x);
    y = transform_by(backend, CRN_HAAR_INVERSE, levels, 0, &y);
    haar_image denoised = transform_by(backend, CRN_HAAR_DENOISE, levels, 0, &x);
    assert_memory_equal(denoised.at, y.at, (size_t)(height * width) * sizeof *y.at);
}

static void test_a_threshold_of_0_changes_nothing(void **state)
{
    (void)state;
    of_any_picture(denoises_by_0);
}

/* The averages are the means of the blocks. */
static void leaves_averages(crn_random *random, int backend, int32_t levels, int32_t height,
                            int32_t width)
{
    haar_image x = noise(random, height, width, false);
    haar_image y = transform_by(backend, CRN_HAAR_FORWARD, levels, 0, &x);
    haar_image denoised = transform_by(backend, CRN_HAAR_DENOISE, levels, INFINITY, &x);
    for (int32_t row = 0; row < height; row++)
        for (int32_t column = 0; column < width; column++) {
            float average = y.at[(row >> levels) * width + (column >> levels)];
            float wanted = average * (float)ldexp(1, -levels);
            if (denoised.at[row * width + column] != wanted)
                fail_msg("%s, %d levels of %d x %d: (%d, %d) is %a, wanted %a", names[backend],
                         levels, height, width, row, column,
                         (double)denoised.at[row * width + column], (double)wanted);
        }
}

static void test_a_huge_threshold_leaves_averages(void **state)
{
    (void)state;
    of_any_picture(leaves_averages);
}

static void test_signs_and_positions(void **state)
{
    (void)state;
    static const haar_image x = {2, 2, {1, 2, 4, 16}};
    static const float wanted[4] = {11.5f, -6.5f, -8.5f, 5.5f};
    for (int backend = 0; backend < 2; backend++) {
        haar_image y = transform_by(backend, CRN_HAAR_FORWARD, 1, 0, &x);
        assert_memory_equal(y.at, wanted, sizeof wanted);
    }
}

/* What the strides repeat is what a dense copy of it gives; larger pictures go through several
 * tiles and are streamed. */
static void give_what_a_copy_gives(int backend, const crn_image *in, const crn_haar_params *params)
{
    size_t bytes = (size_t)in->planes * (size_t)in->height * (size_t)in->width * sizeof(float);
    float *copy = malloc(bytes), *got = malloc(bytes), *expected = malloc(bytes);
    assert_true(copy && got && expected);
    memset(got, 0x7f, bytes);
    crn_layout layout = in->plane_stride == 1 ? CRN_HWC : CRN_CHW;
    crn_image dense = crn_image_dense(copy, CRN_F32, layout, in->planes, in->height, in->width);
    for (int32_t p = 0; p < in->planes; p++)
        for (int32_t y = 0; y < in->height; y++)
            for (int32_t x = 0; x < in->width; x++)
                copy[crn_image_index(&dense, p, y, x)] = crn_image_at(in, p, y, x);
    crn_image to = dense, target = dense;
    to.data = got;
    target.data = expected;
    assert_int_equal(crn_haar_serial(operator_contexts[1], params, &dense, &target), 0);
    assert_int_equal(backends[backend](operator_contexts[2], params, in, &to), 0);
    if (memcmp(got, expected, bytes) != 0)
        fail_msg("%s, direction %d, %d levels of %d x %d x %d with strides %td, %td, %td",
                 names[backend], params->direction, params->levels, in->planes, in->height,
                 in->width, in->plane_stride, in->row_stride, in->step);
    free(copy);
    free(got);
    free(expected);
}

static void test_strides_of_0_repeat_pixels(void **state)
{
    (void)state;
    static float pixels[3 * 2000];
    static const int32_t sizes[][2] = {{2, 8}, {3, 5}, {9, 1}, {70, 40}, {37, 1539}, {1100, 2000}};
    crn_random random = {crn_random_seed()};
    for (size_t i = 0; i < sizeof pixels / sizeof *pixels; i++)
        pixels[i] = (float)crn_random_unit(&random);
    for (int run = 0; run < 6 * 3 * 2 * 4; run++) {
        int32_t height = sizes[run / 24][0], width = sizes[run / 24][1], strides = run % 4;
        int32_t most = crn_haar_levels_max(height, width), planes = strides == 3 ? 3 : 1;
        crn_image in = crn_image_dense(pixels, CRN_F32, CRN_HWC, planes, height, width);
        if (strides != 1)
            in.row_stride = 0;
        if (strides == 1 || strides == 2)
            in.step = 0;
        if (strides == 1)
            in.row_stride = 1;
        crn_haar_params params = {(crn_haar_direction)(run / 8 % 3), run / 4 % 2 ? most : 1, 0.1f,
                                  false};
        for (int backend = 0; backend < 2; backend++)
            give_what_a_copy_gives(backend, &in, &params);
    }
}

static void test_levels_max(void **state)
{
    (void)state;
    static const int32_t wanted[][3] = {{1, 1, 0},     {1, 2, 1},         {2, 2, 1}, {3, 1, 2},
                                        {4, 4, 2},     {5, 4, 3},         {8, 9, 4}, {95, 511, 9},
                                        {95, 513, 10}, {INT32_MAX, 1, 31}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        assert_int_equal(crn_haar_levels_max(wanted[i][0], wanted[i][1]), wanted[i][2]);
}

static void test_invalid_arguments_are_refused(void **state)
{
    (void)state;
    static const crn_parity_params invalid[] = {
        {.haar = {CRN_HAAR_FORWARD, -1, NAN, false}},
        {.haar = {CRN_HAAR_FORWARD, 3, NAN, false}},
        {.haar = {(crn_haar_direction)3, 1, NAN, false}},
        {.haar = {CRN_HAAR_DENOISE, 1, NAN, false}},
        {.haar = {CRN_HAAR_DENOISE, 1, -0x1p-149f, false}},
    };
    crn_parity_check_refusals(
        &(crn_parity_refusals){.kind = CRN_PARITY_HAAR,
                               .in_type = CRN_F32,
                               .out_type = CRN_F32,
                               .unsupported = CRN_F16,
                               .in_shape = {1, 2, 3},
                               .out_shape = {1, 2, 3},
                               .valid.haar = {CRN_HAAR_FORWARD, 1, NAN, false},
                               .invalid = invalid,
                               .count = sizeof invalid / sizeof *invalid});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inverse_of_forward_is_the_picture),
        cmocka_unit_test(test_energy_is_kept),
        cmocka_unit_test(test_it_is_linear),
        cmocka_unit_test(test_transposing_swaps_rows_and_columns),
        cmocka_unit_test(test_mirroring_turns_signs),
        cmocka_unit_test(test_a_threshold_of_0_changes_nothing),
        cmocka_unit_test(test_a_huge_threshold_leaves_averages),
        cmocka_unit_test(test_signs_and_positions),
        cmocka_unit_test(test_strides_of_0_repeat_pixels),
        cmocka_unit_test(test_levels_max),
        cmocka_unit_test(test_invalid_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, operators_set_up, operators_tear_down);
}

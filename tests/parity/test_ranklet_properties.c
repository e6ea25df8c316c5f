/* Properties of ranklets that hold for every backend, tested on serial and openmp. */
#include <errno.h>

#include "stages/serial/ranklet.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parity/parity.h"

#define SIDE_MAX 64
#define OUT_MAX  (3 * SIDE_MAX * SIDE_MAX)

static crn_ranklet_fn *const operators[] = {crn_ranklet_serial, crn_ranklet_openmp};

enum { VERTICAL, HORIZONTAL, DIAGONAL };

/* A u16 picture and its ranklets. */
typedef struct ranklet_image {
    uint16_t values[SIDE_MAX * SIDE_MAX];
    float out[OUT_MAX];
    crn_image in, result;
    crn_ranklet_params params;
} ranklet_image;

static ranklet_image one, other;

/* Values below `levels`; small windows suit counting by pairs, large ones by columns. */
static void make_field(ranklet_image *f, uint32_t levels, bool large)
{
    f->params.width = 2 * crn_random_between(&operator_random, large ? 10 : 1, large ? 18 : 6);
    f->params.height = 2 * crn_random_between(&operator_random, large ? 10 : 1, large ? 18 : 6);
    int32_t height = crn_random_between(&operator_random, f->params.height, f->params.height + 9);
    int32_t width = crn_random_between(&operator_random, f->params.width, f->params.width + 20);
    for (int32_t i = 0; i < height * width; i++)
        f->values[i] = (uint16_t)crn_random_below(&operator_random, levels);
    f->in = crn_image_dense(f->values, CRN_U16, CRN_CHW, 1, height, width);
}

static void run(crn_ranklet_fn *operator, ranklet_image * f)
{
    f->result = crn_image_dense(f->out, CRN_F32, CRN_CHW, 3, f->in.height - f->params.height + 1,
                                f->in.width - f->params.width + 1);
    assert_int_equal(operator(operator_contexts[2], &f->params, &f->in, &f->result), 0);
}

static float at(const ranklet_image *f, int plane, int32_t y, int32_t x)
{
    return f->out[crn_image_index(&f->result, plane, y, x)];
}

/* Computes the ranklets of `one`; `other` becomes a copy of its picture. */
static void start(size_t i)
{
    make_field(&one, i % 3 == 0 ? 4 : i % 3 == 1 ? 250 : 60000, i % 8 > 4);
    run(operators[i % 2], &one);
    other = one;
    other.in.data = other.values;
}

/* Each plane of `one`, at the position mapped by `position`,
 * equals the given plane of `other` times a sign. */
static void compare(const int planes[3], const float signs[3],
                    void (*position)(int32_t *y, int32_t *x))
{
    for (int plane = 0; plane < 3; plane++)
        for (int32_t y = 0; y < one.result.height; y++)
            for (int32_t x = 0; x < one.result.width; x++) {
                int32_t v = y, u = x;
                if (position)
                    position(&v, &u);
                assert_true(at(&other, planes[plane], v, u) ==
                            signs[plane] * at(&one, plane, y, x));
            }
}

static const int same_planes[3] = {VERTICAL, HORIZONTAL, DIAGONAL};

/* Applies `change` to `other` and compares the ranklets as `compare` does. */
static void try_change(void (*change)(void), const int planes[3], const float signs[3],
                       void (*position)(int32_t *y, int32_t *x))
{
    for (size_t i = 0; i < 100; i++) {
        start(i);
        change();
        run(operators[i % 2], &other);
        compare(planes, signs, position);
    }
}

static void spread_values(void)
{
    for (int32_t k = 0; k < one.in.height * one.in.width; k++)
        other.values[k] = (uint16_t)(one.values[k] + one.values[k] / 16 + 7);
}

static void test_only_the_order_of_values_counts(void **state)
{
    (void)state;
    try_change(spread_values, same_planes, (const float[]){1, 1, 1}, NULL);
}

static void invert_values(void)
{
    for (int32_t k = 0; k < one.in.height * one.in.width; k++)
        other.values[k] = (uint16_t)(UINT16_MAX - one.values[k]);
}

static void test_inverted_values_change_the_sign(void **state)
{
    (void)state;
    try_change(invert_values, same_planes, (const float[]){-1, -1, -1}, NULL);
}

static void transpose(void)
{
    other.in =
        (crn_image){other.values, CRN_U16, 1, one.in.width, one.in.height, 0, 1, one.in.width};
    other.params = (crn_ranklet_params){one.params.height, one.params.width};
}

static void transposed_position(int32_t *y, int32_t *x)
{
    int32_t swap = *y;
    *y = *x;
    *x = swap;
}

static void test_transposing_swaps_vertical_and_horizontal(void **state)
{
    (void)state;
    try_change(transpose, (const int[]){HORIZONTAL, VERTICAL, DIAGONAL}, (const float[]){1, 1, 1},
               transposed_position);
}

static void mirror(void)
{
    other.in.data = other.values + one.in.width - 1;
    other.in.step = -1;
}

static void mirrored_position(int32_t *y, int32_t *x)
{
    (void)y;
    *x = one.result.width - 1 - *x;
}

static void test_mirroring_changes_vertical_and_diagonal(void **state)
{
    (void)state;
    try_change(mirror, same_planes, (const float[]){-1, 1, -1}, mirrored_position);
}

static void flip(void)
{
    other.in.data = other.values + (one.in.height - 1) * one.in.width;
    other.in.row_stride = -one.in.width;
}

static void flipped_position(int32_t *y, int32_t *x)
{
    (void)x;
    *y = one.result.height - 1 - *y;
}

static void test_flipping_changes_horizontal_and_diagonal(void **state)
{
    (void)state;
    try_change(flip, same_planes, (const float[]){1, -1, -1}, flipped_position);
}

static void test_none_exceeds_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < 100; i++) {
        start(i);
        for (int32_t k = 0; k < 3 * one.result.height * one.result.width; k++)
            assert_true(one.out[k] >= -1 && one.out[k] <= 1);
    }
}

/* An example from the literature, 4 of 10 pairs more below than above, as a window's two rows. */
static void test_known_windows(void **state)
{
    (void)state;
    static const uint8_t rows[2][6] = {{5, 9, 1, 10, 15, 5}, {20, 4, 7, 13, 19, 11}};
    static const uint8_t flat[2][6];
    for (size_t i = 0; i < 2; i++) {
        float r[3] = {9, 9, 9};
        const crn_ranklet_params params = {6, 2};
        crn_image in = crn_image_dense((void *)(uintptr_t)rows, CRN_U8, CRN_CHW, 1, 2, 6);
        crn_image out = crn_image_dense(r, CRN_F32, CRN_CHW, 3, 1, 1);
        assert_int_equal(operators[i](operator_contexts[2], &params, &in, &out), 0);
        /* 5 9 1 20 4 7 against 10 15 5 13 19 11: 8 pairs above, 27 below, 1 equal. Top: the
         * example's 9 above and 21 below, and 5 again, 1 above and 5 below. */
        assert_true(r[VERTICAL] == (float)(-19 / 36.0));
        assert_true(r[HORIZONTAL] == (float)(-16 / 36.0));
        in.data = (void *)(uintptr_t)flat;
        assert_int_equal(operators[i](operator_contexts[2], &params, &in, &out), 0);
        assert_true(r[VERTICAL] == 0 && r[HORIZONTAL] == 0 && r[DIAGONAL] == 0);
    }
}

static void test_invalid_arguments_are_refused(void **state)
{
    (void)state;
    static const crn_parity_params invalid[] = {
        {.ranklet = {5, 4}},  {.ranklet = {6, 3}},  {.ranklet = {0, 4}},  {.ranklet = {6, 0}},
        {.ranklet = {-2, 4}}, {.ranklet = {6, -2}}, {.ranklet = {10, 4}}, {.ranklet = {6, 10}}};
    crn_parity_check_refusals(&(crn_parity_refusals){.kind = CRN_PARITY_RANKLET,
                                                     .in_type = CRN_U8,
                                                     .out_type = CRN_F32,
                                                     .unsupported = CRN_F32,
                                                     .in_shape = {1, 8, 9},
                                                     .out_shape = {3, 5, 4},
                                                     .valid.ranklet = {6, 4},
                                                     .invalid = invalid,
                                                     .count = sizeof invalid / sizeof *invalid});
}

/* The sizes alone show that the window's pairs cannot be counted in 63 bits; nothing is read. */
static void test_a_window_of_too_many_pairs_is_refused(void **state)
{
    (void)state;
    static const struct {
        crn_ranklet_params params;
        int result;
    } cases[] = {{{77000, 78000}, 0},
                 {{77936, 77934}, 0},
                 {{77936, 77936}, -EINVAL},
                 {{80000, 80000}, -EINVAL},
                 {{1 << 20, 1 << 20}, -EINVAL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const crn_ranklet_params *p = &cases[i].params;
        crn_image in = crn_image_dense(one.values, CRN_U8, CRN_CHW, 1, p->height, p->width);
        crn_image out = crn_image_dense(one.out, CRN_F32, CRN_CHW, 3, 1, 1);
        assert_int_equal(crn_ranklet_check(p, &in, &out), cases[i].result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_the_order_of_values_counts),
        cmocka_unit_test(test_inverted_values_change_the_sign),
        cmocka_unit_test(test_transposing_swaps_vertical_and_horizontal),
        cmocka_unit_test(test_mirroring_changes_vertical_and_diagonal),
        cmocka_unit_test(test_flipping_changes_horizontal_and_diagonal),
        cmocka_unit_test(test_none_exceeds_one),
        cmocka_unit_test(test_known_windows),
        cmocka_unit_test(test_invalid_arguments_are_refused),
        cmocka_unit_test(test_a_window_of_too_many_pairs_is_refused),
    };
    return cmocka_run_group_tests(tests, operators_set_up_random, operators_tear_down);
}

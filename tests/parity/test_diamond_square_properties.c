/* Properties of the generated fields that hold for every backend. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/philox.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/operator_tests.h"

static crn_diamond_square_fn *const operators[] = {crn_diamond_square_serial,
                                                   crn_diamond_square_openmp};

/* Generates a dense rectangle; the caller frees the memory. */
static void *make(crn_diamond_square_fn *operator, int32_t threads,
                  const crn_diamond_square_params *params, crn_type type, int32_t height,
                  int32_t width)
{
    void *data = malloc((size_t)height * (size_t)width * crn_type_bytes(type));
    assert_non_null(data);
    crn_image out = crn_image_dense(data, type, CRN_CHW, 1, height, width);
    assert_int_equal(operator(operator_contexts[threads], params, &out), 0);
    return data;
}

static float *make_field(crn_diamond_square_fn *operator, const crn_diamond_square_params * params)
{
    int32_t side = (1 << params->exponent) + 1;
    return make(operator, 1, params, CRN_F32, side, side);
}

/* Every rectangle equals that part of the whole field, for any number of threads. */
static void test_rectangles_are_parts_of_one_field(void **state)
{
    (void)state;
    enum { SIDE = 2049 };
    crn_random random = {crn_random_seed()};
    crn_diamond_square_params params = {
        .exponent = 11, .seed = crn_random_next(&random), .roughness = 0.7};
    for (int as_u8 = 0; as_u8 < 2; as_u8++) {
        crn_type type = as_u8 ? CRN_U8 : CRN_F32;
        size_t size = crn_type_bytes(type);
        params.x = params.y = 0;
        uint8_t *whole = make(crn_diamond_square_openmp, 1, &params, type, SIDE, SIDE);
        for (int i = 0; i < 60; i++) {
            params.x = (int32_t)crn_random_below(&random, SIDE);
            params.y = (int32_t)crn_random_below(&random, SIDE);
            int32_t width = crn_random_between(&random, 1, SIDE - params.x);
            int32_t height = crn_random_between(&random, 1, i % 4 ? 40 : 700);
            height = height < SIDE - params.y ? height : SIDE - params.y;
            uint8_t *part = make(crn_diamond_square_openmp, crn_random_between(&random, 1, 3),
                                 &params, type, height, width);
            for (int32_t y = 0; y < height; y++) {
                size_t at = ((size_t)(y + params.y) * SIDE + (size_t)params.x) * size;
                assert_memory_equal(part + (size_t)y * (size_t)width * size, whole + at,
                                    (size_t)width * size);
            }
            free(part);
        }
        free(whole);
    }
}

/* The noise of phase 2, added to 128; independent of the roughness and the side. */
static void test_corners_are_128_and_noise(void **state)
{
    (void)state;
    uint64_t seed = crn_random_seed();
    for (int which = 0; which < 2; which++)
        for (int32_t exponent = 0; exponent < 8; exponent++) {
            crn_diamond_square_params params = {exponent, seed, exponent / 8.0, 0, 0};
            float *v = make_field(operators[which], &params);
            size_t last = (size_t)1 << exponent;
            for (uint32_t j = 0; j < 2; j++) {
                uint32_t words[4];
                crn_philox((const uint32_t[]){0, j, 0, 2}, seed, words);
                for (uint32_t i = 0; i < 2; i++)
                    assert_true(v[j * last * (last + 1) + i * last] ==
                                128 + 128 * ((float)(int32_t)words[i] * 0x1p-31f));
            }
            free(v);
        }
}

/* Another level adds points and keeps the existing ones. */
static void test_every_second_point_is_the_field_before(void **state)
{
    (void)state;
    uint64_t seed = crn_random_seed();
    for (int which = 0; which < 2; which++)
        for (int32_t exponent = 0; exponent < 8; exponent++) {
            crn_diamond_square_params params = {exponent, seed, 0.8, 0, 0};
            float *coarse = make_field(operators[which], &params);
            params.exponent++;
            float *fine = make_field(operators[which], &params);
            size_t side = ((size_t)1 << exponent) + 1;
            for (size_t y = 0; y < side; y++)
                for (size_t x = 0; x < side; x++)
                    assert_true(coarse[y * side + x] == fine[2 * y * (2 * side - 1) + 2 * x]);
            free(coarse);
            free(fine);
        }
}

/* Hence points of the largest field are known, and a small part of it needs little memory. */
static void test_largest_field_in_small_parts(void **state)
{
    (void)state;
    enum { EXPONENT = 6, SIDE = 65, APART = CRN_DIAMOND_SQUARE_EXPONENT_MAX - EXPONENT };
    crn_diamond_square_params params = {EXPONENT, crn_random_seed(), 0.9, 0, 0};
    float *coarse = make_field(crn_diamond_square_serial, &params);
    params.exponent = CRN_DIAMOND_SQUARE_EXPONENT_MAX;
    for (int32_t y = 0; y < SIDE; y += 4)
        for (int32_t x = 0; x < SIDE; x += 4) {
            params.x = x << APART;
            params.y = y << APART;
            float *point = make(crn_diamond_square_openmp, 1, &params, CRN_F32, 1, 1);
            assert_true(*point == coarse[y * SIDE + x]);
            free(point);
        }
    free(coarse);
}

/* The mean for point (y, x) of the last level; neighbours in the documented order. */
static float mean_around(const float *v, size_t side, size_t y, size_t x)
{
    const float *at = v + y * side + x;
    ptrdiff_t row = (ptrdiff_t)side;
    if (y & 1 && x & 1)
        return (((at[-row - 1] + at[-row + 1]) + at[row - 1]) + at[row + 1]) * 0.25f;
    float near[4] = {0};
    int count = 0;
    if (y > 0)
        near[count++] = at[-row];
    if (x > 0)
        near[count++] = at[-1];
    if (x < side - 1)
        near[count++] = at[1];
    if (y < side - 1)
        near[count++] = at[row];
    float sum = (near[0] + near[1]) + near[2];
    return count == 4 ? (sum + near[3]) * 0.25f : sum * (1.0f / 3.0f);
}

/* Without roughness only corners and level 0 have noise: from level 1 on every point is exactly the
 * mean of its neighbours. */
static void test_without_roughness_points_are_means(void **state)
{
    (void)state;
    uint64_t seed = crn_random_seed();
    for (int which = 0; which < 2; which++)
        for (int32_t exponent = 2; exponent < 8; exponent++) {
            crn_diamond_square_params params = {exponent, seed, 0, 0, 0};
            float *v = make_field(operators[which], &params);
            size_t side = ((size_t)1 << exponent) + 1;
            for (size_t y = 0; y < side; y++)
                for (size_t x = 1 - (y & 1); x < side; x += 2 - (y & 1))
                    assert_true(v[y * side + x] == mean_around(v, side, y, x));
            free(v);
        }
}

/* With roughness 1, u8 is f32 rounded half to even and clamped to 0…255. */
static void test_u8_is_f32_rounded(void **state)
{
    (void)state;
    crn_diamond_square_params params = {8, crn_random_seed(), 1, 0, 0};
    enum { SIDE = 257, COUNT = SIDE * SIDE };
    for (int which = 0; which < 2; which++) {
        float *v = make_field(operators[which], &params);
        uint8_t *bytes = make(operators[which], 1, &params, CRN_U8, SIDE, SIDE);
        int low = 0, high = 0;
        for (size_t i = 0; i < COUNT; i++) {
            float whole = rintf(v[i]);
            low += whole < 0;
            high += whole > 255;
            assert_int_equal(bytes[i], whole < 0 ? 0 : whole > 255 ? 255 : (int)whole);
        }
        assert_true(low > 0 && high > 0);
        free(v);
        free(bytes);
    }
}

/* Sums over the noise of a phase, each expected within 5 standard deviations. */
typedef struct noise_sums {
    double count, sum, squares, positive, beside;
} noise_sums;

static void judge(const noise_sums *s)
{
    double root = sqrt(s->count);
    assert_true(fabs(s->sum) < 5 * root * sqrt(1 / 3.0));
    assert_true(fabs(s->squares - s->count / 3) < 5 * root * sqrt(4 / 45.0));
    assert_true(fabs(s->positive - s->count / 2) < 5 * root / 2);
    assert_true(fabs(s->beside) < 5 * root / 3); /* not correlated with its neighbour */
}

/* The noise is uniform between -1 and 1: symmetric, and neighbours are uncorrelated. One fixed
 * seed, so that the test is deterministic. */
static void test_noise_is_symmetric(void **state)
{
    (void)state;
    enum { SIDE = 1025 };
    crn_diamond_square_params params = {10, 20240607, 1, 0, 0};
    float *v = make_field(crn_diamond_square_openmp, &params);
    for (size_t kind = 1; kind < 4; kind++) { /* odd coordinates: x, y, both */
        noise_sums s = {.count = 0};
        for (size_t y = kind >> 1; y < SIDE; y += 2) {
            double before = 0;
            for (size_t x = kind & 1; x < SIDE; x += 2) {
                double noise = ((double)v[y * SIDE + x] - (double)mean_around(v, SIDE, y, x)) / 128;
                assert_true(fabs(noise) <= 1 + 1e-6);
                s.count++;
                s.sum += noise;
                s.squares += noise * noise;
                s.positive += noise > 0;
                s.beside += noise * before;
                before = noise;
            }
        }
        judge(&s);
    }
    free(v);
}

/* Both halves of the seed and the roughness affect the field. */
static void test_seeds_and_roughness_make_other_fields(void **state)
{
    (void)state;
    enum { SIDE = 17 };
    const crn_diamond_square_params all[] = {
        {4, 1, 0.5, 0, 0}, {4, 2, 0.5, 0, 0}, {4, UINT64_C(1) << 32, 0.5, 0, 0}, {4, 1, 0.6, 0, 0}};
    float *v[4];
    for (int i = 0; i < 4; i++)
        v[i] = make_field(crn_diamond_square_openmp, &all[i]);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < i; k++) {
            int same = 0;
            for (int at = 0; at < SIDE * SIDE; at++)
                same += v[i][at] == v[k][at];
            assert_in_range(same, 0, 13); /* corners and level 0 do not depend on the roughness */
        }
    for (int i = 0; i < 4; i++)
        free(v[i]);
}

int main(int argc, char **argv)
{
    operators_wait_passively(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rectangles_are_parts_of_one_field),
        cmocka_unit_test(test_corners_are_128_and_noise),
        cmocka_unit_test(test_every_second_point_is_the_field_before),
        cmocka_unit_test(test_largest_field_in_small_parts),
        cmocka_unit_test(test_without_roughness_points_are_means),
        cmocka_unit_test(test_u8_is_f32_rounded),
        cmocka_unit_test(test_noise_is_symmetric),
        cmocka_unit_test(test_seeds_and_roughness_make_other_fields),
    };
    return cmocka_run_group_tests(tests, operators_set_up, operators_tear_down);
}

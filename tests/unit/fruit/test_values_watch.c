/* Contours validate the values that they read as the copy of a view does. */
#include <math.h>
#include <string.h>

#include "stages/context.h"
#include "stages/openmp/contours/contours.h"
#include "stages/openmp/values.h"
#include "tests/support/cmocka_prelude.h"

enum { PLANES = 5, ROWS = 41, COLUMNS = 37, ELEMENTS = PLANES * ROWS * COLUMNS };

static _Alignas(64) unsigned char bytes[ELEMENTS * 4 + 4096];
static crn_point points[20];
static crn_contour contours[20];

static void set(crn_type type, size_t at, float value)
{
    static const uint16_t halves[] = {0, 0x3800, 0x7e00, 0xc000}; /* 0, 0.5, NaN, -2 */
    uint16_t half = halves[isnan(value) ? 2 : value < 0 ? 3 : value > 0 ? 1 : 0];
    if (type == CRN_U8)
        bytes[at] = isnan(value) ? 200 : value > 0 ? 1 : 0;
    else if (type == CRN_F16)
        memcpy(bytes + 2 * at, &half, sizeof half);
    else
        memcpy(bytes + 4 * at, &value, sizeof value);
}

static crn_values_copy_fn *copier(crn_type type)
{
    return crn_values_copy_of(crn_values_kernels_best(), type);
}

/* Whatever the layout, the strips, the threads and the border; also with planes without a level,
 * and where the result is full before the last plane. */
static void expect_same(crn_context *context, crn_type type)
{
    crn_values_seen expected = copier(type)(NULL, bytes, ELEMENTS * (size_t)crn_type_bytes(type));
    for (int way = 0; way < 48; way++) {
        crn_layout layout = way % 2 ? CRN_HWC : CRN_CHW;
        crn_image image = crn_image_dense(bytes, type, layout, PLANES, ROWS, COLUMNS);
        double levels[PLANES] = {0.2, NAN, way / 2 % 2 ? NAN : 0.2, 0.2, NAN};
        crn_contours_params params = {.levels = levels,
                                      .border = way / 4 % 2 ? CRN_BORDER_OPEN : CRN_BORDER_CLOSED};
        crn_contours_variant variant = crn_contours_variant_for(&image, 1);
        static const int32_t strips[] = {1, 3, 60};
        variant.strips = strips[way / 8 % 3];
        variant.threads = way / 24 + 1;
        crn_contours found = {
            .points = points, .contours = contours, .point_capacity = 20, .contour_capacity = 20};
        crn_values_watch watch = {.data = bytes};
        crn_context_watch(context, &watch);
        assert_int_equal(crn_contours_openmp_with(&variant, context, &params, &image, &found), 0);
        assert_true(watch.is_seen);
        assert_int_equal(watch.seen.suspect, expected.suspect);
        if (!expected.suspect)
            assert_true(watch.seen.max == expected.max);
    }
    crn_context_watch(context, NULL);
}

static void contours_see_what_a_copy_sees(void **state)
{
    (void)state;
    static const crn_type types[] = {CRN_U8, CRN_F16, CRN_F32};
    crn_context *context;
    assert_int_equal(crn_context_create(2, &context), 0);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        memset(bytes, 0, sizeof bytes);
        expect_same(context, types[t]);
        /* One value at a time: at either end, and in the middle. */
        static const size_t places[] = {0, COLUMNS - 1, ELEMENTS / 2, ELEMENTS - COLUMNS,
                                        ELEMENTS - 1};
        static const float values[] = {0.5f, NAN, -2};
        for (size_t p = 0; p < sizeof places / sizeof *places; p++)
            for (size_t v = 0; v < 3; v++) {
                set(types[t], places[p], values[v]);
                expect_same(context, types[t]);
                set(types[t], places[p], 0);
            }
    }
    crn_context_free(&context);
}

static void another_image_is_not_watched(void **state)
{
    (void)state;
    crn_context *context;
    assert_int_equal(crn_context_create(1, &context), 0);
    crn_image image = crn_image_dense(bytes, CRN_F32, CRN_HWC, PLANES, ROWS, COLUMNS);
    double levels[PLANES] = {0.2, 0.2, 0.2, 0.2, 0.2};
    crn_contours_params params = {.levels = levels};
    crn_contours found = {
        .points = points, .contours = contours, .point_capacity = 20, .contour_capacity = 20};
    crn_values_watch watch = {.data = bytes + 4};
    crn_context_watch(context, &watch);
    assert_int_equal(crn_contours_openmp(context, &params, &image, &found), 0);
    assert_false(watch.is_seen);
    crn_context_free(&context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contours_see_what_a_copy_sees),
        cmocka_unit_test(another_image_is_not_watched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Images that no operator of cernita.h may be given: each is refused with a text. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "stages/cernita.h"
#include "tests/support/cmocka_prelude.h"

enum { SIDE = 16, PIXELS = SIDE * SIDE };

static float picture[PIXELS + 1], result[3 * PIXELS + 1];
static uint8_t bytes[PIXELS];
static crn_context *context;

static int set_up(void **state)
{
    (void)state;
    for (int i = 0; i < PIXELS; i++) {
        picture[i] = (float)(i % 7);
        bytes[i] = (uint8_t)(i % 11);
    }
    return crn_context_open(NULL, &context);
}

static int tear_down(void **state)
{
    (void)state;
    crn_context_free(&context);
    return 0;
}

static crn_image image_of(void *data, int32_t planes, int32_t height, int32_t width)
{
    return crn_image_dense(data, CRN_F32, CRN_CHW, planes, height, width);
}

/* Four operators from `in` to `out`, whose sizes are the same. */
static void expect_all(const crn_image *in, crn_image *out, int code, const char *said)
{
    static const float weights[9] = {1, 2, 1, 2, 4, 2, 1, 2, 1};
    static const crn_morphology_params element = {CRN_OPEN, {CRN_ELEMENT_RECT, 3, 3, NULL, NULL}};
    static const crn_convolve_params kernel = {weights, 3, 3, CRN_CONVOLVE_WRAP};
    static const crn_haar_params haar = {.levels = 0};
    static const double levels[3] = {2, 2, 2};
    static crn_point points[PIXELS];
    static crn_contour contours[PIXELS];
    for (int which = 0; which < 4; which++) {
        crn_contours found = {points, contours, PIXELS, PIXELS, 0, 0, false};
        int r = which == 0   ? crn_morphology(context, &element, in, out)
                : which == 1 ? crn_convolve(context, &kernel, in, out)
                : which == 2 ? crn_haar(context, &haar, in, out)
                             : crn_find_contours(context, &(crn_contours_params){.levels = levels},
                                                 in, &found);
        if (which == 3 && strncmp(said, "out", 3) == 0)
            continue; /* has no such result */
        assert_int_equal(r, code);
        if (!strstr(crn_context_error(context), said))
            fail_msg("%d: '%s' is not in '%s'", which, said, crn_context_error(context));
    }
}

static void sizes_whose_products_overflow(void **state)
{
    (void)state;
    static const int32_t sizes[][3] = {
        {1, 1, INT32_MAX},          {1, INT32_MAX, 2},
        {INT32_MAX, 2, 2},          {INT32_MAX, INT32_MAX, INT32_MAX},
        {1, 1 << 29, 1 << 29},      {1 << 20, 1 << 20, 1 << 20},
        {1 << 29, 1 << 29, 1 << 6},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        crn_image in = {picture, CRN_F32, sizes[i][0], sizes[i][1], sizes[i][2], 0, 0, 0};
        crn_image out = in;
        out.data = result;
        expect_all(&in, &out, -EINVAL, "at most 2^42");
    }
}

static void strides_beyond_any_memory(void **state)
{
    (void)state;
    static const ptrdiff_t far[] = {PTRDIFF_MAX, PTRDIFF_MIN, PTRDIFF_MAX / 15, (ptrdiff_t)1 << 57};
    crn_image out = image_of(result, 3, 4, 4);
    for (int which = 0; which < 3; which++)
        for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
            crn_image in = image_of(picture, 3, 4, 4);
            *(which == 0 ? &in.plane_stride : which == 1 ? &in.row_stride : &in.step) = far[i];
            if (far[i] == (ptrdiff_t)1 << 57)
                in.plane_stride = in.row_stride = far[i]; /* each is near enough, the sum is not */
            expect_all(&in, &out, -EINVAL, "in has the strides");
        }
}

static void elements_that_are_not_aligned(void **state)
{
    (void)state;
    crn_image in = image_of((char *)picture + 1, 1, SIDE, SIDE);
    crn_image out = image_of(result, 1, SIDE, SIDE);
    expect_all(&in, &out, -EINVAL, "in.data is ");
    in.data = picture;
    out.data = (char *)result + 2;
    expect_all(&in, &out, -EINVAL, "out.data is ");
    crn_image u16 = crn_image_dense((char *)picture + 1, CRN_U16, CRN_CHW, 1, SIDE, SIDE);
    out = image_of(result, 3, SIDE - 3, SIDE - 3);
    assert_int_equal(crn_ranklet(context, &(crn_ranklet_params){4, 4}, &u16, &out), -EINVAL);
    assert_non_null(strstr(crn_context_error(context), "u16 must lie at a multiple of 2"));
}

static void results_over_the_picture_or_themselves(void **state)
{
    (void)state;
    crn_image in = image_of(picture, 1, SIDE, SIDE), out = in;
    expect_all(&in, &out, -EINVAL, "out shares memory with in");
    in = image_of(result, 1, SIDE, SIDE);
    out = image_of(result + PIXELS - 1, 1, SIDE, SIDE); /* its last pixel */
    expect_all(&in, &out, -EINVAL, "out shares memory with in");
    in.data = picture;
    out = image_of(result, 1, SIDE, SIDE);
    out.row_stride = 0;
    expect_all(&in, &out, -EINVAL, "out has a stride of 0");
    out = image_of(result, 1, SIDE, SIDE);
    out.step = 0;
    assert_int_equal(
        crn_diamond_square(context, &(crn_diamond_square_params){5, 1, 0.5, 0, 0}, &out), -EINVAL);
}

/* Planes beside each other, and rows that are read again and again, are not faults. */
static void what_only_looks_like_it_is_computed(void **state)
{
    (void)state;
    float both[2 * PIXELS] = {0}, row[SIDE];
    memcpy(both, picture, PIXELS * sizeof *both);
    memcpy(row, picture, sizeof row);
    crn_image in = crn_image_dense(both, CRN_F32, CRN_HWC, 1, SIDE, SIDE), out;
    in.step = 2;
    in.row_stride = 2 * SIDE;
    out = in;
    out.data = both + 1;
    expect_all(&in, &out, 0, "");
    in = image_of(both, 1, SIDE, SIDE);
    out = image_of(both + PIXELS, 1, SIDE, SIDE); /* begins where the other ends */
    expect_all(&in, &out, 0, "");
    in = image_of(row, 1, SIDE, SIDE);
    in.row_stride = 0;
    out = image_of(result, 1, SIDE, SIDE);
    expect_all(&in, &out, 0, "");
    in = image_of(picture + PIXELS - 1, 1, SIDE, SIDE);
    in.row_stride = -SIDE;
    in.step = -1;
    expect_all(&in, &out, 0, "");
}

/* All operators, with parameters for a picture of one row, column or pixel. */
static void run_all(const crn_image *in, const crn_image *u8, crn_image *out, crn_point *points)
{
    static const float weights[3] = {0.25f, 0.5f, 0.25f};
    static const double levels[1] = {2.5};
    crn_contour contours[SIDE];
    crn_contours found = {points, contours, PIXELS, SIDE, 0, 0, false};
    crn_contours_params open = {.levels = levels, .border = CRN_BORDER_CLOSED};
    assert_int_equal(crn_find_contours(context, &open, in, &found), 0);
    crn_morphology_params element = {CRN_OPEN, {CRN_ELEMENT_RECT, 3, 3, NULL, NULL}};
    assert_int_equal(crn_morphology(context, &element, in, out), 0);
    element.element.shape = CRN_ELEMENT_DISK;
    element.element.width = element.element.height = 5;
    assert_int_equal(crn_morphology(context, &element, in, out), 0);
    crn_convolve_params kernel = {weights, 3, 1, CRN_CONVOLVE_WRAP};
    assert_int_equal(crn_convolve(context, &kernel, in, out), 0);
    for (int run = 0; run < 3; run++) {
        crn_haar_params haar = {(crn_haar_direction)run, 0, 0.1f, false};
        haar.levels = crn_haar_levels_max(in->height, in->width);
        assert_int_equal(crn_haar(context, &haar, u8, out), 0);
        assert_int_equal(crn_haar(context, &haar, in, out), 0);
    }
    crn_diamond_square_params field = {5, 1, 0.5, 0, 0};
    assert_int_equal(crn_diamond_square(context, &field, out), 0);
}

/* Sides of one element need no stride: whatever it is, nothing overflows and the result is that of
 * the dense image. */
static void strides_that_lead_nowhere_may_be_any(void **state)
{
    (void)state;
    static const int32_t sizes[][2] = {{1, SIDE}, {SIDE, 1}, {1, 1}};
    static const ptrdiff_t far[] = {PTRDIFF_MAX, PTRDIFF_MIN, PTRDIFF_MAX / 2,
                                    -((ptrdiff_t)1 << 50)};
    static crn_point points[PIXELS], expected_points[PIXELS];
    float expected[SIDE];
    for (size_t i = 0; i < 3 * sizeof far / sizeof *far; i++) {
        int32_t height = sizes[i % 3][0], width = sizes[i % 3][1];
        size_t size = (size_t)height * (size_t)width * sizeof *expected;
        crn_image in = image_of(picture, 1, height, width), out = in;
        crn_image u8 = crn_image_dense(bytes, CRN_U8, CRN_CHW, 1, height, width);
        out.data = result;
        run_all(&in, &u8, &out, expected_points);
        memcpy(expected, result, size);
        crn_image *all[] = {&in, &u8, &out};
        for (int which = 0; which < 3; which++) {
            all[which]->plane_stride = far[i / 3];
            all[which]->row_stride = height == 1 ? far[i / 3] : all[which]->row_stride;
            all[which]->step = width == 1 ? far[i / 3] : all[which]->step;
        }
        memset(result, 0, size);
        run_all(&in, &u8, &out, points);
        assert_memory_equal(result, expected, size);
        assert_memory_equal(points, expected_points, sizeof points);
    }
    crn_image u16 = crn_image_dense(picture, CRN_U16, CRN_CHW, 1, 2, 2);
    crn_image out = image_of(result, 3, 1, 1);
    u16.plane_stride = out.row_stride = out.step = PTRDIFF_MIN;
    assert_int_equal(crn_ranklet(context, &(crn_ranklet_params){2, 2}, &u16, &out), 0);
}

static void nothing_is_no_context_and_no_chain(void **state)
{
    (void)state;
    crn_context_free(NULL);
    crn_chain_free(NULL);
    assert_int_equal(crn_chain_class_count(NULL), 0);
    assert_null(crn_chain_class_name(NULL, 0));
    assert_int_equal(crn_chain_judge(NULL, NULL, NULL, NULL), -EINVAL);
    assert_int_equal(crn_haar_levels_max(-3, INT32_MIN), 0);
    assert_int_equal(crn_haar_levels_max(INT32_MAX, 1), 31);
    crn_image in = image_of(bytes, 1, SIDE, SIDE);
    assert_int_equal(crn_haar(context, NULL, &in, NULL), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_whose_products_overflow),
        cmocka_unit_test(strides_beyond_any_memory),
        cmocka_unit_test(elements_that_are_not_aligned),
        cmocka_unit_test(results_over_the_picture_or_themselves),
        cmocka_unit_test(what_only_looks_like_it_is_computed),
        cmocka_unit_test(strides_that_lead_nowhere_may_be_any),
        cmocka_unit_test(nothing_is_no_context_and_no_chain),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

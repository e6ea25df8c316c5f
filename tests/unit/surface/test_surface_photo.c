/* Poses and rolls of photographs drawn by hand, and photographs that show no fruit. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/surface/skin.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/random.h"
#include "tools/common/known/known.h"

#define DEG (M_PI / 180)

enum { HEIGHT = 95, WIDTH = 301 };

static crn_context *context;
static crn_surface *surface;
static crn_surface_pose pose;
static uint8_t picture[HEIGHT * WIDTH];

static int set_up(void **state)
{
    (void)state;
    const crn_surface_settings settings = {.classes = 1, .views = 4, .defects = 8, .points = 64};
    assert_int_equal(crn_context_open(NULL, &context), 0);
    return crn_surface_open(context, &settings, &surface);
}

static int tear_down(void **state)
{
    (void)state;
    crn_surface_free(&surface);
    crn_context_free(&context);
    return 0;
}

static crn_image image_of(int height, int width)
{
    return crn_image_dense(picture, CRN_U8, CRN_CHW, 1, height, width);
}

static void find(int height, int width)
{
    crn_image image = image_of(height, width);
    if (crn_surface_find_pose(surface, &image, &pose) != 0)
        fail_msg("%s", crn_context_error(context));
    assert_true(pose.rx >= 1 && pose.ry >= 1 && isfinite(pose.x) && isfinite(pose.y));
    assert_true(pose.confidence >= 0 && pose.confidence <= 1);
}

/* An ellipse with smooth edges. */
static void draw_ellipse(double x, double y, double rx, double ry, uint8_t value)
{
    for (int i = 0; i < HEIGHT * WIDTH; i++) {
        double rho = hypot((i % WIDTH - x) / rx, (i / WIDTH - y) / ry);
        double inside = fmax(0, fmin(1, 0.5 + (1 - rho) * sqrt(rx * ry)));
        picture[i] = (uint8_t)(picture[i] + inside * (value - picture[i]) + 0.5);
    }
}

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.6g is not %.6g", value, expected);
}

static void bright_and_dark_fruits_are_found(void **state)
{
    (void)state;
    for (int bright = 0; bright < 2; bright++)
        for (int i = 0; i < 8; i++) {
            double x = 60 + 25.3 * i, y = 45 + 0.4 * i;
            memset(picture, bright ? 20 : 210, sizeof picture);
            draw_ellipse(x, y, 40, 34 + i, bright ? 180 : 70);
            find(HEIGHT, WIDTH);
            assert_near(pose.x, x, 0.1);
            assert_near(pose.y, y, 0.1);
            assert_near(pose.rx, 40, 0.3);
            assert_near(pose.ry, 34 + i, 0.3);
            assert_true(pose.confidence > 0.8 && pose.roll_rad == 0 && pose.tilt_rad == 0);
        }
}

/* A neighbour that reaches into the strip, a dark spot at the edge, a speck. */
static void other_things_do_not_move_it(void **state)
{
    (void)state;
    memset(picture, 20, sizeof picture);
    draw_ellipse(150, 47, 40, 40, 180);
    draw_ellipse(295, 47, 40, 40, 180);
    draw_ellipse(125, 20, 7, 7, 30);
    draw_ellipse(220, 80, 2, 2, 200);
    find(HEIGHT, WIDTH);
    assert_near(pose.x, 150, 0.4);
    assert_near(pose.y, 47, 0.4);
    assert_near(pose.rx, 40, 0.5);
    assert_near(pose.ry, 40, 0.5);
    assert_true(pose.confidence > 0.7);
}

static void without_a_fruit_the_confidence_is_low(void **state)
{
    (void)state;
    static const int sizes[][2] = {{1, 1}, {1, 60}, {60, 1}, {3, 3}, {HEIGHT, WIDTH}};
    crn_random random = {5};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int kind = 0; kind < 4; kind++) {
            for (int k = 0; k < HEIGHT * WIDTH; k++)
                picture[k] =
                    kind < 3 ? (uint8_t)(127.5 * kind) : (uint8_t)crn_random_below(&random, 256);
            find(sizes[i][0], sizes[i][1]);
            assert_true(pose.confidence < (kind < 3 ? 1e-9 : 0.5));
        }
    memset(picture, 20, sizeof picture); /* two fruits that touch */
    draw_ellipse(100, 47, 40, 40, 180);
    draw_ellipse(178, 47, 40, 40, 180);
    find(HEIGHT, WIDTH);
    assert_true(pose.confidence < CRN_SURFACE_POSE_SURE);
    memset(picture, 20, sizeof picture); /* nearly as dark as its background */
    draw_ellipse(150, 47, 40, 40, 24);
    find(HEIGHT, WIDTH);
    assert_true(pose.confidence < 0.5);
}

static void draw_pair(const crn_surface_pose *first, const crn_surface_pose *second)
{
    memset(picture, 20, sizeof picture);
    draw_ellipse(second->x, second->y, second->rx, second->ry, 165);
    draw_ellipse(first->x, first->y, first->rx, first->ry, 180);
}

/* Of two whole fruits, whether they touch or not, either may be meant. */
static void two_whole_fruits_are_no_pose(void **state)
{
    (void)state;
    for (int apart = 76; apart <= 136; apart += 4)
        for (int swapped = 0; swapped < 2; swapped++) {
            crn_surface_pose left = {.x = 80, .y = 47, .rx = 40, .ry = 40};
            crn_surface_pose right = {.x = 80 + apart, .y = 46, .rx = 36, .ry = 42};
            draw_pair(swapped ? &left : &right, swapped ? &right : &left);
            find(HEIGHT, WIDTH);
            assert_true(pose.confidence < CRN_SURFACE_POSE_SURE);
        }
}

/* Of a whole fruit and one that is cut off, however much larger, the whole one is meant; and what
 * is less than half as wide is not a fruit. */
static void the_whole_one_is_meant(void **state)
{
    (void)state;
    for (int cut = 6; cut <= 60; cut += 6) {
        crn_surface_pose whole = {.x = 170, .y = 47, .rx = 36, .ry = 38};
        crn_surface_pose part = {.x = WIDTH - 1 - 42 + cut, .y = 47, .rx = 42, .ry = 44};
        draw_pair(&whole, &part);
        find(HEIGHT, WIDTH);
        assert_near(pose.x, whole.x, 1);
        assert_near(pose.rx, whole.rx, 1);
        assert_near(pose.ry, whole.ry, 1);
        assert_true(pose.confidence >= CRN_SURFACE_POSE_SURE);
    }
    crn_surface_pose fruit = {.x = 80, .y = 47, .rx = 40, .ry = 40};
    crn_surface_pose small = {.x = 200, .y = 47, .rx = 16, .ry = 14};
    draw_pair(&fruit, &small);
    find(HEIGHT, WIDTH);
    assert_near(pose.x, fruit.x, 0.4);
    assert_true(pose.confidence >= CRN_SURFACE_POSE_SURE);
}

/* A fruit that is too large for the picture is cut off above and below, and still the one that may
 * be meant: not the whole one beside it, nor another large one. */
static void a_fruit_too_large_is_not_swapped_for_its_neighbour(void **state)
{
    (void)state;
    for (int radius = 49; radius <= 60; radius++)
        for (int beside = 2 * radius / 3; beside <= 54; beside += 2)
            for (int gap = 0; gap <= 24; gap += 6)
                for (int swapped = 0; swapped < 2; swapped++) {
                    crn_surface_pose large = {.x = 70, .y = 47, .rx = radius, .ry = radius};
                    crn_surface_pose other = {
                        .x = 70 + radius + gap + beside, .y = 47, .rx = beside, .ry = beside};
                    if (swapped) {
                        large.x = WIDTH - 1 - large.x;
                        other.x = WIDTH - 1 - other.x;
                    }
                    draw_pair(&large, &other);
                    find(HEIGHT, WIDTH);
                    assert_true(pose.confidence < CRN_SURFACE_POSE_SURE);
                }
}

/* Rollers as bright as the fruit, which lies in its own shadow; and another fruit's part that
 * touches it. */
static void what_is_as_bright_does_not_hide_it(void **state)
{
    (void)state;
    memset(picture, 20, sizeof picture);
    draw_ellipse(196, 47, 34, 200, 170);
    draw_ellipse(104, 47, 34, 200, 170);
    draw_ellipse(150, 47, 46, 46, 30);
    draw_ellipse(150, 47, 40, 40, 170);
    find(HEIGHT, WIDTH);
    assert_near(pose.x, 150, 1);
    assert_near(pose.rx, 40, 1);
    assert_near(pose.ry, 40, 1);
    memset(picture, 20, sizeof picture);
    draw_ellipse(150, 47, 40, 38, 170);
    draw_ellipse(222, 47, 34, 34, 170);
    for (int i = 0; i < HEIGHT * WIDTH; i++)
        picture[i] = i % WIDTH > 205 ? 20 : picture[i];
    find(HEIGHT, WIDTH);
    assert_near(pose.x, 150, 1);
    assert_near(pose.rx, 40, 1);
    assert_true(pose.confidence >= CRN_SURFACE_POSE_SURE);
}

/* Strides of a window, and of a picture that is upside down. */
static void any_strides_are_read(void **state)
{
    (void)state;
    memset(picture, 20, sizeof picture);
    draw_ellipse(150, 40, 40, 36, 180);
    crn_image image = image_of(HEIGHT, WIDTH);
    image.data = picture + (HEIGHT - 1) * WIDTH + 100;
    image.row_stride = -WIDTH;
    image.width = 100;
    assert_int_equal(crn_surface_find_pose(surface, &image, &pose), 0);
    assert_near(pose.x, 50, 0.1);
    assert_near(pose.y, HEIGHT - 1 - 40, 0.1);
}

static void wrong_arguments_are_named(void **state)
{
    (void)state;
    crn_surface_roll roll = {7, 7};
    crn_image image = image_of(HEIGHT, WIDTH), wrong = image;
    crn_surface_photograph photo = {image, {50, 47, 40, 40, 0, 0, 1, 0}, 0.5}, other = photo;
    pose.x = -7;
#define ASSERT_SAYS(call, text)                                                                    \
    assert_int_equal((call), -EINVAL);                                                             \
    assert_non_null(strstr(crn_context_error(context), (text)))
    ASSERT_SAYS(crn_surface_find_pose(surface, NULL, &pose), "photograph is NULL");
    ASSERT_SAYS(crn_surface_find_pose(surface, &image, NULL), "ret_pose is NULL");
    wrong.type = CRN_F32;
    ASSERT_SAYS(crn_surface_find_pose(surface, &wrong, &pose), "it must be one of u8");
    wrong = image;
    wrong.width = CRN_SURFACE_SIDE_MAX + 1;
    ASSERT_SAYS(crn_surface_find_pose(surface, &wrong, &pose), "each must be 1 to 16384");
    wrong = image;
    wrong.row_stride = PTRDIFF_MAX;
    ASSERT_SAYS(crn_surface_find_pose(surface, &wrong, &pose), "which reach beyond any memory");
    other.pose.rx = NAN;
    ASSERT_SAYS(crn_surface_find_roll(surface, &photo, &other, 1, 1, &roll), "second.pose.rx is");
    ASSERT_SAYS(crn_surface_find_roll(surface, NULL, &photo, 1, 1, &roll), "first is NULL");
    ASSERT_SAYS(crn_surface_find_roll(surface, &photo, &photo, NAN, 1, &roll), "expected_rad is");
    ASSERT_SAYS(crn_surface_find_roll(surface, &photo, &photo, 1, 4, &roll), "range_rad is 4");
    ASSERT_SAYS(crn_surface_find_roll(surface, &photo, &photo, 1, 1, NULL), "ret_roll is NULL");
    assert_true(pose.x == -7 && roll.roll_rad == 7);
    assert_int_equal(crn_surface_find_pose(NULL, &image, &pose), -EINVAL);
    assert_int_equal(crn_surface_find_roll(NULL, &photo, &photo, 1, 1, &roll), -EINVAL);
}

/* Two views of a speckled fruit; the sign, a whole turn more, what lies out of range, no overlap.
 */
static void a_roll_is_found_by_the_skin(void **state)
{
    (void)state;
    static uint8_t photographs[2][(CRN_KNOWN_HEIGHT * CRN_KNOWN_WIDTH)];
    crn_draws random = {3, 0, 0};
    const crn_known_kind kind = {.views = 2,
                                 .step_rad = 0.7,
                                 .ratio_min = 1,
                                 .ratio_max = 1,
                                 .spot_min = 0.1,
                                 .spot_max = 0.2,
                                 .look = CRN_KNOWN_LOOK};
    crn_known_fruit fruit = crn_known_random(&kind, &random);
    crn_surface_photograph photos[2];
    crn_surface_roll roll;
    for (int i = 0; i < 2; i++) {
        crn_known_photograph(&fruit, i, &random, photographs[i]);
        photos[i] = (crn_surface_photograph){
            crn_image_dense(photographs[i], CRN_U8, CRN_CHW, 1, CRN_KNOWN_HEIGHT, CRN_KNOWN_WIDTH),
            crn_known_pose(&fruit, i), fruit.mm_per_px};
    }
    crn_surface_photograph *first = &photos[0], *second = &photos[1];
    assert_int_equal(crn_surface_find_roll(surface, first, second, 0.5, 0.4, &roll), 0);
    assert_near(roll.roll_rad, 0.7, 1 * DEG);
    assert_true(roll.confidence > 0.3);
    assert_int_equal(crn_surface_find_roll(surface, second, first, 0, M_PI, &roll), 0);
    assert_near(roll.roll_rad, -0.7, 1 * DEG);
    assert_int_equal(crn_surface_find_roll(surface, first, second, 0.5 + 2 * M_PI, 0.4, &roll), 0);
    assert_near(roll.roll_rad, 0.7 + 2 * M_PI, 1 * DEG);
    assert_int_equal(crn_surface_find_roll(surface, first, second, 1.5, 0.2, &roll), 0);
    assert_true(roll.confidence < 0.3);
    assert_int_equal(crn_surface_find_roll(surface, first, second, M_PI, 0.2, &roll), 0);
    assert_true(roll.confidence == 0 && roll.roll_rad == M_PI);
    memset(photographs, 90, sizeof photographs);
    assert_int_equal(crn_surface_find_roll(surface, first, second, 0.5, 0.4, &roll), 0);
    assert_true(roll.confidence == 0 && roll.roll_rad == 0.5);
}

/* Whatever else both skins show, and however strong the marks of one are. */
static void the_same_marks_correlate_by_one(void **state)
{
    (void)state;
    enum { SHIFT = 20 };
    static crn_surface_skin first, second;
    crn_random random = {9};
    crn_surface_roll roll;
    for (int row = 0; row < CRN_SKIN_ROWS; row++)
        for (int i = 0; i < CRN_SKIN_COLUMNS; i++) {
            float strength = (float)(1 + i % 7) / 1000;
            first.marks[row][i] = strength * (float)((int)crn_random_below(&random, 101) - 50);
            second.marks[row][i] = i < SHIFT ? 9 : 3 * first.marks[row][i - SHIFT];
        }
    double rolled = SHIFT * 1.5 * DEG;
    assert_int_equal(crn_surface_match_skins(surface, &first, &second, rolled, 0, &roll), 0);
    assert_near(roll.roll_rad, rolled, 1e-9);
    assert_near(roll.confidence, 1, 1e-5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bright_and_dark_fruits_are_found),
        cmocka_unit_test(other_things_do_not_move_it),
        cmocka_unit_test(without_a_fruit_the_confidence_is_low),
        cmocka_unit_test(two_whole_fruits_are_no_pose),
        cmocka_unit_test(the_whole_one_is_meant),
        cmocka_unit_test(a_fruit_too_large_is_not_swapped_for_its_neighbour),
        cmocka_unit_test(what_is_as_bright_does_not_hide_it),
        cmocka_unit_test(any_strides_are_read),
        cmocka_unit_test(wrong_arguments_are_named),
        cmocka_unit_test(a_roll_is_found_by_the_skin),
        cmocka_unit_test(the_same_marks_correlate_by_one),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

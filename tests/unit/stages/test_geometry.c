/* Hand-made contours: measurements, nesting, and the pixels inside. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/stage/geometry.h"
#include "tests/support/cmocka_prelude.h"

/* cmocka's own macro compares as float. */
#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))
#define COUNT(array)                 ((uint32_t)(sizeof(array) / sizeof(array)[0]))

static void test_square(void **state)
{
    (void)state;
    /* On the screen right along the top, then down: clockwise. */
    const crn_point square[] = {{2, 3}, {6, 3}, {6, 5}, {2, 5}, {2, 3}};
    crn_outline o;
    crn_outline_measure(square, 5, true, &o);
    assert_true(o.area_px == 8);
    assert_true(o.perimeter_px == 12);
    assert_true(o.x0 == 2 && o.y0 == 3 && o.x1 == 6 && o.y1 == 5);
    assert_true(o.centroid_x == 4 && o.centroid_y == 4);

    const crn_point reversed[] = {{2, 3}, {2, 5}, {6, 5}, {6, 3}, {2, 3}};
    crn_outline_measure(reversed, 5, true, &o);
    assert_true(o.area_px == -8);
    assert_true(o.centroid_x == 4 && o.centroid_y == 4);
}

static void test_open_line_is_closed_by_its_chord_for_area_alone(void **state)
{
    (void)state;
    const crn_point line[] = {{0, 0}, {4, 0}, {4, 3}};
    crn_outline o;
    crn_outline_measure(line, 3, false, &o);
    assert_true(o.area_px == 6);
    assert_true(o.perimeter_px == 7);
    assert_near(o.centroid_x, 8. / 3, 1e-15);
    assert_near(o.centroid_y, 1, 1e-15);
}

static void test_centroid_without_area_is_the_mean_of_the_points(void **state)
{
    (void)state;
    crn_outline o;
    const crn_point there_and_back[] = {{1, 7}, {5, 7}, {1, 7}};
    crn_outline_measure(there_and_back, 3, true, &o);
    assert_true(o.area_px == 0);
    assert_true(o.centroid_x == 3 && o.centroid_y == 7); /* the repeated point counts once */

    const crn_point straight[] = {{1, 1}, {2, 2}, {6, 6}};
    crn_outline_measure(straight, 3, false, &o);
    assert_true(o.centroid_x == 3 && o.centroid_y == 3);

    /* Two loops of opposite orientation that nearly cancel:
     * the moments divided by that area lie far away. */
    const crn_point eight[] = {{0, 0}, {2, 2}, {2, 0}, {0, 2.000001}};
    crn_outline_measure(eight, 4, false, &o);
    assert_true(fabs(o.area_px) < 1e-5 && o.area_px != 0);
    assert_true(o.centroid_x == 1);
    assert_near(o.centroid_y, 1.00000025, 1e-12);
}

static void test_a_tiny_outline_far_from_the_origin_loses_nothing(void **state)
{
    (void)state;
    double leg = 0x1p-30, far = 16383; /* their sum is exact in double, their products are not */
    const crn_point tiny[] = {{far, far}, {far + leg, far}, {far, far + leg}, {far, far}};
    crn_outline o;
    crn_outline_measure(tiny, 4, true, &o);
    assert_true(o.area_px == 0x1p-61);
    assert_near(o.perimeter_px, (2 + sqrt(2)) * leg, 0x1p-81);
    assert_near(o.centroid_x - far, leg / 3, 0x1p-39); /* one unit in the last place */
    assert_near(o.centroid_y - far, leg / 3, 0x1p-39);
}

static uint32_t ignored; /* so many contours are, from the first on */

/* Sweeps contours of plane 0 with exactly the documented amount of scratch memory. */
static void sweep(const crn_image *image, int32_t plane, const crn_point *points,
                  const crn_contour *contours, uint32_t count, crn_nest *nests)
{
    uint32_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        total += contours[i].count;
        nests[i].wanted = true;
        nests[i].ignored = i < ignored;
    }
    void *scratch = malloc(crn_nest_scratch_bytes(total, image->height, image->width));
    assert_non_null(scratch);
    crn_pace pace = crn_pace_start(NULL);
    const crn_plane_contours all = {plane,  image->height, image->width, CRN_ORIENT_LOW,
                                    points, contours,      count,        0};
    crn_nest_runs runs = {.all = malloc(total * sizeof(crn_run)),
                          .contour = malloc(total * sizeof(uint32_t))};
    crn_run_sum *sums = malloc(total * sizeof *sums);
    crn_nest_sweep(&all, nests, &runs, scratch, &pace);
    assert_true(runs.count <= total);
    crn_context *context;
    assert_int_equal(crn_context_create(1, &context), 0);
    assert_int_equal(crn_sum_runs(context, image, runs.all, runs.count, sums), 0);
    crn_nest_add(&runs, sums, nests);
    crn_context_free(&context);
    free(runs.all);
    free(runs.contour);
    free(sums);
    free(scratch);
}

/* A square through the centres of pixels 1 and 3, point by point. */
static const crn_point through_centres[] = {{1, 1}, {2, 1}, {3, 1}, {3, 2}, {3, 3},
                                            {2, 3}, {1, 3}, {1, 2}, {1, 1}};

static void test_impossible_outlines_are_no_part_of_the_nesting(void **state)
{
    (void)state;
    static const crn_point good[] = {{0, 0}, {3, 0}, {3, 3}, {0, 3}, {0, 0}};
    crn_outline outline;
    crn_outline_measure(good, 5, true, &outline);
    assert_true(crn_outline_is_possible(&outline, 4, 4));
    static const double odd[] = {NAN, INFINITY, -INFINITY, 1e30, -1e30, -1.01, 5.01};
    for (size_t i = 0; i < 2 * COUNT(odd); i++)
        for (size_t at = 0; at < 5; at++) {
            crn_point points[5];
            memcpy(points, good, sizeof points);
            *(i % 2 ? &points[at].x : &points[at].y) = odd[i / 2];
            crn_outline_measure(points, 5, true, &outline);
            if (crn_outline_is_possible(&outline, 4, 5))
                fail_msg("%g at %zu", odd[i / 2], at);
        }
}

/* A square from (from, from) to (to, to), point by point; returns their number. */
static uint32_t walk(double from, double to, crn_point *points)
{
    uint32_t n = 0;
    for (double x = from; x < to; x++)
        points[n++] = (crn_point){x, from};
    for (double y = from; y < to; y++)
        points[n++] = (crn_point){to, y};
    for (double x = to; x > from; x--)
        points[n++] = (crn_point){x, to};
    for (double y = to; y > from; y--)
        points[n++] = (crn_point){from, y};
    points[n++] = points[0];
    return n;
}

static void test_what_is_ignored_is_nobodys_parent(void **state)
{
    (void)state;
    crn_point points[32];
    uint32_t outer = walk(0, 4, points), inner = walk(1, 3, points + outer);
    const crn_contour contours[] = {{.closed = true, .count = outer},
                                    {.closed = true, .first = outer, .count = inner}};
    float pixels[25] = {0};
    crn_image image = crn_image_dense(pixels, CRN_F32, CRN_CHW, 1, 5, 5);
    crn_nest nests[2];
    for (ignored = 2; ignored-- > 0;) {
        sweep(&image, 0, points, contours, 2, nests);
        assert_int_equal(nests[1].parent, ignored ? -1 : 0);
        assert_int_equal(nests[0].pixels == 0, ignored);
    }
    ignored = 0;
}

static void test_left_and_upper_edges_belong_to_the_outline(void **state)
{
    (void)state;
    float pixels[5][5] = {{0}};
    for (int y = 0; y < 5; y++)
        for (int x = 0; x < 5; x++)
            pixels[y][x] = (float)(1 << (5 * y + x)) * 0x1p-10f;
    crn_image image = crn_image_dense(pixels, CRN_F32, CRN_CHW, 1, 5, 5);
    crn_contour contour = {.closed = true, .count = COUNT(through_centres)};
    crn_nest nest;
    sweep(&image, 0, through_centres, &contour, 1, &nest);
    assert_int_equal(nest.pixels, 4);
    assert_true(nest.sum == (double)(pixels[1][1] + pixels[1][2] + pixels[2][1] + pixels[2][2]));
    assert_int_equal(nest.parent, -1);
}

static void test_every_type_and_stride_sums_the_same(void **state)
{
    (void)state;
    enum { H = 5, W = 5, PLANES = 3 };
    uint8_t u8[H * W * PLANES];
    uint16_t u16[H * W * PLANES], f16[H * W * PLANES];
    float f32[H * W * PLANES];
    static const uint16_t half_bits[] = {0x0000, 0x3c00, 0x4000}; /* 0, 1, 2 */
    for (int i = 0; i < H * W * PLANES; i++) {
        int value = (i * 7 + i / 11) % 3;
        u8[i] = (uint8_t)value;
        u16[i] = (uint16_t)value;
        f32[i] = (float)value;
        f16[i] = half_bits[value];
    }
    crn_contour contour = {.closed = true, .count = COUNT(through_centres)};
    void *data[] = {u8, f16, f32, u16};
    const crn_type types[] = {CRN_U8, CRN_F16, CRN_F32, CRN_U16};
    for (int layout = CRN_CHW; layout <= CRN_HWC; layout++)
        for (int type = 0; type < 4; type++)
            for (int upside_down = 0; upside_down < 2; upside_down++) {
                crn_image image =
                    crn_image_dense(data[type], types[type], (crn_layout)layout, PLANES, H, W);
                if (upside_down) {
                    ptrdiff_t last = (H - 1) * image.row_stride;
                    image.data = (char *)image.data + last * (ptrdiff_t)crn_type_bytes(image.type);
                    image.row_stride = -image.row_stride;
                }
                double expected = 0;
                for (int y = 1; y < 3; y++)
                    for (int x = 1; x < 3; x++)
                        expected += (double)crn_image_at(&image, 2, y, x);
                crn_nest nest;
                sweep(&image, 2, through_centres, &contour, 1, &nest);
                assert_true(nest.sum == expected);
                assert_int_equal(nest.pixels, 4);
            }
}

static void test_half_floats_widen_exactly_and_unless_finite_are_left_out(void **state)
{
    (void)state;
    /* Largest, smallest subnormal, negative, infinite, NaN; then pixels right of the contour. */
    uint16_t row[] = {0x7bff, 0x0001, 0xb800, 0x7c00, 0x7e01, 0x3c00};
    crn_image image = crn_image_dense(row, CRN_F16, CRN_CHW, 1, 1, 6);
    const crn_point around[] = {{-.5, 0}, {0, -.5}, {1, -.5}, {2, -.5}, {3, -.5},
                                {4, -.5}, {4.5, 0}, {4, .5},  {3, .5},  {2, .5},
                                {1, .5},  {0, .5},  {-.5, 0}};
    crn_contour contour = {.closed = true, .count = COUNT(around)};
    crn_nest nest;
    sweep(&image, 0, around, &contour, 1, &nest);
    assert_int_equal(nest.pixels, 3);
    assert_true(nest.sum == 65504 + 0x1p-24 - 0.5);

    float floats[] = {2, -INFINITY, 0x1p-149f, NAN, INFINITY, 1};
    image = crn_image_dense(floats, CRN_F32, CRN_CHW, 1, 1, 6);
    sweep(&image, 0, around, &contour, 1, &nest);
    assert_int_equal(nest.pixels, 2);
    assert_true(nest.sum == 2 + 0x1p-149);
}

static void test_an_outline_around_the_picture_counts_its_pixels_alone(void **state)
{
    (void)state;
    enum { W = 300, POINTS = 2 * (W + 1) + 1 };
    uint8_t row[W];
    uint32_t expected = 0;
    for (int x = 0; x < W; x++)
        expected += row[x] = (uint8_t)(x % 251);
    crn_image image = crn_image_dense(row, CRN_U8, CRN_CHW, 1, 1, W);
    crn_point around[POINTS];
    uint32_t n = 0;
    around[n++] = (crn_point){-1, 0}; /* the limit of a closed border */
    for (int x = 0; x < W; x++)
        around[n++] = (crn_point){x, -1};
    around[n++] = (crn_point){W, 0};
    for (int x = W - 1; x >= 0; x--)
        around[n++] = (crn_point){x, 1};
    around[n++] = around[0];
    assert_int_equal(n, POINTS);
    crn_contour contour = {.closed = true, .count = n};
    crn_nest nest;
    sweep(&image, 0, around, &contour, 1, &nest);
    assert_int_equal(nest.pixels, W);
    assert_true(nest.sum == expected);

    crn_nest unwanted = {.wanted = false};
    void *scratch = malloc(crn_nest_scratch_bytes(n, 1, W));
    crn_pace pace = crn_pace_start(NULL);
    const crn_plane_contours one = {0, 1, W, CRN_ORIENT_LOW, around, &contour, 1, 0};
    crn_nest_runs none = {.count = 0};
    crn_nest_sweep(&one, &unwanted, &none, scratch, &pace);
    free(scratch);
    assert_int_equal(none.count, 0);
}

static void test_a_chord_bounds_the_pixels_of_an_open_line(void **state)
{
    (void)state;
    uint8_t pixels[6][6];
    memset(pixels, 1, sizeof pixels);
    crn_image image = crn_image_dense(pixels, CRN_U8, CRN_CHW, 1, 6, 6);
    /* Down column 1, then right along row 4; the chord returns from (4, 4) to (1, 1). */
    const crn_point line[] = {{1, 1}, {1, 2}, {1, 3}, {1, 4}, {2, 4}, {3, 4}, {4, 4}};
    crn_contour contour = {.closed = false, .count = COUNT(line)};
    crn_nest nest;
    sweep(&image, 0, line, &contour, 1, &nest);
    /* The diagonal is a right edge, row 4 a lower one: 0 + 1 + 2 pixels. */
    assert_int_equal(nest.pixels, 3);
}

static void test_two_outlines_sharing_a_wall_are_neighbours(void **state)
{
    (void)state;
    uint8_t pixels[6][9] = {{0}};
    crn_image image = crn_image_dense(pixels, CRN_U8, CRN_CHW, 1, 6, 9);
    /* Pixel (3, 2) and the one below are exactly at the level, so the left blob's right edge and
     * the right blob's left edge coincide there. A third blob lies further right. */
    const crn_point points[] = {
        {1.5, 2}, {2, 1.5}, {3, 2}, {3, 3}, {2, 3.5}, {1.5, 3}, {1.5, 2}, /* left */
        {3, 2},   {4, 1.5}, {5, 2}, {5, 3}, {4, 3.5}, {3, 3},   {3, 2},   /* right */
        {6.5, 2}, {7, 1.5}, {8, 2}, {8, 3}, {7, 3.5}, {6.5, 3}, {6.5, 2}, /* third */
    };
    crn_contour contours[] = {{.closed = true, .first = 7, .count = 7},
                              {.closed = true, .first = 0, .count = 7},
                              {.closed = true, .first = 14, .count = 7}};
    crn_nest nests[3];
    sweep(&image, 0, points, contours, 3, nests);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(nests[i].parent, -1);
        /* The shared edge counts as the right blob's left edge. */
        assert_int_equal(nests[i].pixels, i == 0 ? 4 : 2);
    }
}

static void test_a_line_between_two_rows_has_a_parent(void **state)
{
    (void)state;
    uint8_t pixels[6][6] = {{0}};
    crn_image image = crn_image_dense(pixels, CRN_U8, CRN_CHW, 1, 6, 6);
    const crn_point points[] = {
        {.5, 1},  {1, .5},  {2, .5},  {3, .5},  {4, .5}, {4.5, 1}, {4.5, 2}, {4.5, 3},
        {4, 3.5}, {3, 3.5}, {2, 3.5}, {1, 3.5}, {.5, 3}, {.5, 2},  {.5, 1}, /* around */
        {2, 2.5}, {3, 2.4}, /* crosses no row, inside */
        {2, 4.5}, {3, 4.4}, /* crosses no row, below */
        {2, 2},   {3, 2},   /* along a row, inside */
        {5, 2.4}, {6, 2.5}, /* close, outside */
    };
    crn_contour contours[] = {{.closed = false, .first = 21, .count = 2},
                              {.closed = true, .first = 0, .count = 15},
                              {.closed = false, .first = 15, .count = 2},
                              {.closed = false, .first = 17, .count = 2},
                              {.closed = false, .first = 19, .count = 2}};
    crn_nest nests[5];
    sweep(&image, 0, points, contours, 5, nests);
    assert_int_equal(nests[0].parent, -1);
    assert_int_equal(nests[1].parent, -1);
    assert_int_equal(nests[2].parent, 1);
    assert_int_equal(nests[3].parent, -1);
    assert_int_equal(nests[4].parent, 1);
    assert_int_equal(nests[2].pixels, 0);
}

static void test_a_line_along_pixels_at_the_level_lies_on_its_high_side(void **state)
{
    (void)state;
    uint8_t pixels[6][6] = {{0}};
    crn_image image = crn_image_dense(pixels, CRN_U8, CRN_CHW, 1, 6, 6);
    /* Two lines along row 2 over the same pixels: the leftward one comes from above, the rightward
     * one from below, where a closed contour hangs from their ends. */
    const crn_point points[] = {{3, 2}, {2, 2}, {2, 2},   {3, 2},   {2, 2},
                                {3, 2}, {4, 3}, {3, 3.5}, {2.5, 3}, {2, 2}};
    crn_contour contours[] = {{.closed = false, .first = 0, .count = 2},
                              {.closed = false, .first = 2, .count = 2},
                              {.closed = true, .first = 4, .count = 6}};
    crn_nest nests[3];
    sweep(&image, 0, points, contours, 3, nests);
    assert_int_equal(nests[0].parent, -1);
    assert_int_equal(nests[1].parent, 2);
    assert_int_equal(nests[2].parent, -1);
}

static void test_points_that_are_nowhere_do_no_harm(void **state)
{
    (void)state;
    uint8_t pixels[3][3] = {{0}};
    crn_image image = crn_image_dense(pixels, CRN_U8, CRN_CHW, 1, 3, 3);
    const crn_point points[] = {{NAN, 1}, {1, NAN}, {1e300, -1e300}, {-INFINITY, INFINITY},
                                {NAN, 1}, {-9, 0},  {99, 1},         {1, 40},
                                {-9, 0},  {1, -5},  {1, -7}};
    crn_contour contours[] = {{.closed = true, .first = 0, .count = 5},
                              {.closed = false, .first = 0, .count = 5},
                              {.closed = true, .first = 5, .count = 4},
                              {.closed = false, .first = 9, .count = 2}};
    crn_nest nests[4];
    sweep(&image, 0, points, contours, 4, nests);
    for (int i = 0; i < 4; i++)
        assert_true(nests[i].parent >= -1 && nests[i].parent < 4);
    crn_outline o;
    crn_outline_measure(points, 5, true, &o);
    assert_false(isfinite(o.area_px));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_square),
        cmocka_unit_test(test_open_line_is_closed_by_its_chord_for_area_alone),
        cmocka_unit_test(test_centroid_without_area_is_the_mean_of_the_points),
        cmocka_unit_test(test_a_tiny_outline_far_from_the_origin_loses_nothing),
        cmocka_unit_test(test_impossible_outlines_are_no_part_of_the_nesting),
        cmocka_unit_test(test_what_is_ignored_is_nobodys_parent),
        cmocka_unit_test(test_left_and_upper_edges_belong_to_the_outline),
        cmocka_unit_test(test_every_type_and_stride_sums_the_same),
        cmocka_unit_test(test_half_floats_widen_exactly_and_unless_finite_are_left_out),
        cmocka_unit_test(test_an_outline_around_the_picture_counts_its_pixels_alone),
        cmocka_unit_test(test_a_chord_bounds_the_pixels_of_an_open_line),
        cmocka_unit_test(test_two_outlines_sharing_a_wall_are_neighbours),
        cmocka_unit_test(test_a_line_between_two_rows_has_a_parent),
        cmocka_unit_test(test_a_line_along_pixels_at_the_level_lies_on_its_high_side),
        cmocka_unit_test(test_points_that_are_nowhere_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Pictures with the contours of two verdicts, read back from PNG. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cairo.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tools/common/drawing/draw.h"

#define WIDTH  400
#define HEIGHT 60
/* Position of the first view, and its scale, as draw.c chooses them. */
#define LEFT  20
#define TOP   62
#define SCALE 2

static uint8_t grey[HEIGHT * WIDTH];

/* A square contour of rot from x0 to 240. */
static crn_decoded *make_verdict(float x0)
{
    crn_decoded *verdict = calloc(1, sizeof *verdict);
    const float points[] = {x0, 10, 240, 10, 240, 50, x0, 50, x0, 10};
    verdict->views_expected = verdict->views_judged = verdict->views_received = 1;
    verdict->total_count = verdict->defect_count = 1;
    verdict->point_count = 5;
    verdict->totals[0] = (crn_decoded_total){"rot", 1, 1600, 0.5};
    verdict->defects = calloc(1, sizeof *verdict->defects);
    verdict->defects[0] = (crn_decoded_defect){.name = "rot", .closed = true, .point_count = 5};
    verdict->xy = calloc(10, sizeof *verdict->xy);
    memcpy(verdict->xy, points, sizeof points);
    return verdict;
}

/* The colour at a pixel of the view: red, green, blue. */
static void look(const unsigned char *pixels, int stride, int x, int y, int ret_color[3])
{
    uint32_t color;
    memcpy(&color, pixels + (TOP + SCALE * y + 1) * stride + 4 * (LEFT + SCALE * x + 1), 4);
    for (int i = 0; i < 3; i++)
        ret_color[i] = (int)(color >> (16 - 8 * i) & 255);
}

static void those_before_are_white_and_below(void **state)
{
    (void)state;
    char path[128];
    crn_error error;
    crn_palette palette = {0};
    memset(grey, 100, sizeof grey);
    const crn_photo photo = {grey, HEIGHT, WIDTH};
    crn_decoded *verdict = make_verdict(200), *before = make_verdict(150);
    crn_drawing drawing = {verdict, before, &photo, 1, {0}, &palette, 0};
    snprintf(path, sizeof path, "%s/both.png", test_folder);
    FILE *file = fopen(path, "w");
    assert_int_equal(crn_draw_fruit(&drawing, file, "both", &error), 0);
    assert_int_equal(fclose(file), 0);
    cairo_surface_t *image = cairo_image_surface_create_from_png(path);
    assert_int_equal(cairo_surface_status(image), CAIRO_STATUS_SUCCESS);
    const unsigned char *pixels = cairo_image_surface_get_data(image);
    int stride = cairo_image_surface_get_stride(image), color[3];
    look(pixels, stride, 150, 30, color); /* before only */
    assert_true(color[0] > 200 && color[1] > 200 && color[2] > 200);
    look(pixels, stride, 230, 50, color); /* both */
    assert_true(abs(color[0] - color[2]) > 60);
    look(pixels, stride, 170, 30, color); /* not tinted, as it is not of the verdict */
    assert_int_equal(color[0], 100);
    cairo_surface_destroy(image);
    crn_decoded_free(&verdict);
    crn_decoded_free(&before);
}

/* The picture of as many views as a fruit may have. */
static cairo_surface_t *draw_many(int32_t height, int32_t width, double pixels_max)
{
    static crn_photo photos[CRN_DRAW_VIEWS_MAX];
    char path[128];
    crn_error error;
    crn_palette palette = {0};
    crn_decoded *verdict = make_verdict(200);
    verdict->views_expected = CRN_DRAW_VIEWS_MAX;
    for (int32_t i = 0; i < CRN_DRAW_VIEWS_MAX; i++)
        photos[i] = (crn_photo){NULL, height, width};
    crn_drawing drawing = {verdict, NULL, photos, CRN_DRAW_VIEWS_MAX, {0}, &palette, pixels_max};
    snprintf(path, sizeof path, "%s/many.png", test_folder);
    FILE *file = fopen(path, "w");
    int result = crn_draw_fruit(&drawing, file, "many", &error);
    if (result)
        fail_msg("%s", error.text);
    assert_int_equal(fclose(file), 0);
    crn_decoded_free(&verdict);
    cairo_surface_t *image = cairo_image_surface_create_from_png(path);
    assert_int_equal(cairo_surface_status(image), CAIRO_STATUS_SUCCESS);
    return image;
}

/* 64 views of 300 pixels are more than a picture of cairo's has. */
static void many_views_are_drawn_smaller(void **state)
{
    (void)state;
    cairo_surface_t *below = draw_many(300, 320, 0), *beside = draw_many(320, 300, 0);
    assert_true(cairo_image_surface_get_height(below) > 28000);
    assert_true(cairo_image_surface_get_width(beside) > 28000);
    cairo_surface_destroy(below);
    cairo_surface_destroy(beside);
    cairo_surface_t *bounded = draw_many(300, 320, 1e6);
    double height = cairo_image_surface_get_height(bounded);
    assert_true(height > 64 * 120 && height < 64 * 160); /* 1e6 / 64 pixels a view, and gaps */
    cairo_surface_destroy(bounded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_before_are_white_and_below),
        cmocka_unit_test(many_views_are_drawn_smaller),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}

/* Pictures of verdicts (tools/common/drawing/, tools/tail/renderer.h), read back from PNG. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cairo.h>

#include "src/formats/recording/recording.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tools/tail/renderer.h"

#define WIDTH  400
#define HEIGHT 60
/* Position of the first view, and its scale, as draw.c chooses them. */
#define LEFT  20
#define TOP   62
#define SCALE 2

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", test_folder, name);
    return path;
}

/* Adds a square contour of `class` in view 0, from x0, y0 to x1, y1. */
static void add_square(crn_decoded *verdict, const char *class, float x0, float y0, float x1,
                       float y1, bool hole)
{
    const float xy[] = {x0, y0, x1, y0, x1, y1, x0, y1, x0, y0};
    crn_decoded_defect *defect = &verdict->defects[verdict->defect_count++];
    *defect = (crn_decoded_defect){.closed = true,
                                   .hole = hole,
                                   .area_px = (x1 - x0) * (y1 - y0),
                                   .mean_probability = 0.8,
                                   .bbox = {x0, y0, x1, y1},
                                   .first_point = verdict->point_count,
                                   .point_count = 5};
    strcpy(defect->name, class);
    memcpy(verdict->xy + 2 * (size_t)verdict->point_count, xy, sizeof xy);
    verdict->point_count += 5;
}

/* A verdict without defects, with capacity for 100 squares; freed by crn_decoded_free. */
static crn_decoded *make_verdict(uint64_t fruit)
{
    crn_decoded *verdict = calloc(1, sizeof *verdict);
    verdict->defects = calloc(100, sizeof *verdict->defects);
    verdict->xy = calloc(1000, sizeof *verdict->xy);
    verdict->fruit = fruit;
    verdict->views_expected = verdict->views_received = verdict->views_judged = 1;
    verdict->budget_ms = 100;
    verdict->total_ms = 12;
    verdict->total_count = 2;
    strcpy(verdict->totals[0].name, "rot");
    strcpy(verdict->totals[1].name, "stem");
    return verdict;
}

typedef struct draw_picture {
    cairo_surface_t *surface;
    int width, height;
} draw_picture;

static draw_picture read_picture(const char *path)
{
    cairo_surface_t *surface = cairo_image_surface_create_from_png(path);
    assert_int_equal(cairo_surface_status(surface), CAIRO_STATUS_SUCCESS);
    return (draw_picture){surface, cairo_image_surface_get_width(surface),
                          cairo_image_surface_get_height(surface)};
}

static uint32_t pixel(const draw_picture *image, int x, int y)
{
    const unsigned char *data = cairo_image_surface_get_data(image->surface);
    uint32_t value;
    memcpy(&value, data + y * cairo_image_surface_get_stride(image->surface) + x * 4, 4);
    return value & 0xffffff;
}

/* The picture's pixel at the centre of a pixel of view 0. */
static uint32_t view_pixel(const draw_picture *image, int x, int y)
{
    return pixel(image, LEFT + SCALE * x + SCALE / 2, TOP + SCALE * y + SCALE / 2);
}

static int red(uint32_t color)
{
    return color >> 16 & 255;
}

static int blue(uint32_t color)
{
    return color & 255;
}

static void outlines_lie_where_their_pixels_are(void **state)
{
    (void)state;
    static uint8_t grey[HEIGHT * WIDTH];
    memset(grey, 100, sizeof grey);
    const crn_photo photo = {grey, HEIGHT, WIDTH};
    crn_decoded *verdict = make_verdict(1);
    add_square(verdict, "rot", 200, 10, 240, 50, false);
    add_square(verdict, "rot", 210, 20, 230, 40, true);
    crn_palette palette = {0};
    crn_error error = {""};
    const char *path = path_of("a.png");
    assert_int_equal(crn_draw_verdict(verdict, &photo, 1, (crn_photo){0}, &palette, path, &error),
                     0);
    draw_picture image = read_picture(path);
    assert_int_equal(image.width, WIDTH * SCALE + 2 * LEFT);
    assert_true(image.height > TOP + HEIGHT * SCALE);

    assert_int_equal(view_pixel(&image, 300, 30), 0x646464); /* the photograph, unchanged */
    crn_color color = crn_palette_color(&palette, "rot");
    uint32_t on_line = view_pixel(&image, 200, 15);
    /* Nine tenths of that pixel are the line, the rest its dark rim. */
    assert_true(abs(red(on_line) - (int)(color.red * 255)) < 32);
    assert_true(abs(blue(on_line) - (int)(color.blue * 255)) < 32);
    uint32_t inside = view_pixel(&image, 205, 30); /* tinted, */
    assert_true(red(inside) > blue(inside) + 10);
    assert_int_equal(view_pixel(&image, 220, 30), 0x646464); /* but not in the hole */
    int dashes = 0;
    for (int y = 21; y < 40; y++)
        dashes +=
            red(view_pixel(&image, 210, y)) > 150 && red(view_pixel(&image, 210, y - 1)) < 150;
    assert_true(dashes >= 2);
    cairo_surface_destroy(image.surface);
    crn_decoded_free(&verdict);
}

/* The fruit's outline, the border of the strip that the view owns, and what lies beside it. */
static void the_fruit_and_its_strip_are_drawn(void **state)
{
    (void)state;
    static uint8_t grey[HEIGHT * WIDTH];
    memset(grey, 100, sizeof grey);
    const crn_photo photo = {grey, HEIGHT, WIDTH};
    for (int about_x = 0; about_x < 2; about_x++) {
        crn_decoded *verdict = make_verdict(1);
        crn_decoded_surface *surface = &verdict->surface;
        *surface = (crn_decoded_surface){.is_measured = true, .pose_count = 2};
        strcpy(surface->roll_axis, about_x ? "x" : "y");
        surface->poses[0] = (crn_decoded_pose){.view = 7, .x = 50, .y = 30, .rx = 9, .ry = 9};
        surface->poses[1] = (crn_decoded_pose){
            .x = 300, .y = 30, .rx = 20, .ry = 20, .from_deg = -180, .to_deg = 30};
        crn_palette palette = {0};
        const char *path = path_of("fruit.png");
        assert_int_equal(crn_draw_verdict(verdict, &photo, 1, (crn_photo){0}, &palette, path, NULL),
                         0);
        draw_picture image = read_picture(path);
        /* At the border of 30 degrees, sin 30 of the radius from the middle. */
        const int border = 10, beside = 15;
        assert_int_equal(view_pixel(&image, 300, 30), 0x646464);
        assert_int_equal(view_pixel(&image, 50, 30), 0x646464); /* of a view that there is not */
        assert_true(red(view_pixel(&image, 320, 30)) > 150);
        assert_true(red(view_pixel(&image, 280, 30)) > 150);
        assert_true(red(view_pixel(&image, 300, 50)) > 150);
        uint32_t on =
            about_x ? view_pixel(&image, 300, 30 + border) : view_pixel(&image, 300 + border, 30);
        uint32_t out =
            about_x ? view_pixel(&image, 300, 30 + beside) : view_pixel(&image, 300 + beside, 30);
        uint32_t in =
            about_x ? view_pixel(&image, 300, 30 - beside) : view_pixel(&image, 300 - beside, 30);
        assert_true(red(on) > 150);
        assert_int_equal(red(out), 60); /* darkened by 0.4 */
        assert_int_equal(in, 0x646464);
        cairo_surface_destroy(image.surface);
        crn_decoded_free(&verdict);
    }
}

/* Poses that no daemon writes are not drawn. */
static void a_pose_that_is_none_leaves_the_picture(void **state)
{
    (void)state;
    static const crn_decoded_pose poses[] = {
        {.x = NAN, .y = 30, .rx = 20, .ry = 20},
        {.x = 300, .y = 30, .rx = 0, .ry = 20},
        {.x = 300, .y = 30, .rx = -1, .ry = 20},
        {.x = 300, .y = 30, .rx = 20, .ry = 1e300},
        {.x = 300, .y = 30, .rx = 20, .ry = 20, .tilt_deg = INFINITY}};
    static uint8_t grey[HEIGHT * WIDTH];
    memset(grey, 100, sizeof grey);
    const crn_photo photo = {grey, HEIGHT, WIDTH};
    for (size_t i = 0; i < sizeof poses / sizeof *poses; i++) {
        crn_decoded *verdict = make_verdict(1);
        verdict->surface = (crn_decoded_surface){.is_measured = true, .pose_count = 1};
        verdict->surface.poses[0] = poses[i];
        crn_palette palette = {0};
        const char *path = path_of("none.png");
        assert_int_equal(crn_draw_verdict(verdict, &photo, 1, (crn_photo){0}, &palette, path, NULL),
                         0);
        draw_picture image = read_picture(path);
        for (int x = 200; x < WIDTH; x++)
            assert_int_equal(view_pixel(&image, x, 30), 0x646464);
        cairo_surface_destroy(image.surface);
        crn_decoded_free(&verdict);
    }
}

static void set_view(crn_decoded *verdict, uint64_t view, const char *state, const char *reason)
{
    crn_decoded_view *entry = &verdict->views[verdict->view_count++];
    entry->view = view;
    snprintf(entry->state, sizeof entry->state, "%s", state);
    snprintf(entry->reason, sizeof entry->reason, "%s", reason);
}

/* Counts pixels of the only view that differ from its uniform grey photograph, excluding the text
 * in the middle and the label at the top left: all of them, and the darker ones. */
static void count_marked(const char *state, const char *reason, int *ret_other, int *ret_darker)
{
    static uint8_t grey[HEIGHT * WIDTH];
    memset(grey, 100, sizeof grey);
    const crn_photo photo = {grey, HEIGHT, WIDTH};
    crn_decoded *verdict = make_verdict(1);
    set_view(verdict, 0, state, reason);
    crn_palette palette = {0};
    const char *path = path_of("marks.png");
    assert_int_equal(crn_draw_verdict(verdict, &photo, 1, (crn_photo){0}, &palette, path, NULL), 0);
    draw_picture image = read_picture(path);
    *ret_other = *ret_darker = 0;
    for (int y = 10; y < HEIGHT - 10; y++) {
        for (int x = 280; x < 380; x++) {
            *ret_other += view_pixel(&image, x, y) != 0x646464;
            *ret_darker += red(view_pixel(&image, x, y)) < 60;
        }
    }
    cairo_surface_destroy(image.surface);
    crn_decoded_free(&verdict);
}

static void views_that_were_not_judged_are_marked(void **state)
{
    (void)state;
    enum { PIXELS = (HEIGHT - 20) * 100 };
    int other, darker;
    count_marked("judged", "", &other, &darker);
    assert_int_equal(other, 0);
    count_marked("judged", "truncated", &other, &darker);
    assert_int_equal(other, 0);
    count_marked("lost", "no_slot", &other, &darker); /* hatched: lines and the areas in between */
    assert_true(other > PIXELS / 8 && other < PIXELS / 2);
    assert_int_equal(darker, 0);
    count_marked("missing", "", &other, &darker);
    assert_int_equal(darker, PIXELS);
    count_marked("refused", "class_set", &other, &darker);
    assert_int_equal(darker, PIXELS);
}

/* Invalid values are named below the contours, which are still drawn. */
static void views_say_why(void **state)
{
    (void)state;
    static uint8_t grey[HEIGHT * WIDTH];
    memset(grey, 100, sizeof grey);
    const crn_photo photo = {grey, HEIGHT, WIDTH};
    crn_decoded *verdict = make_verdict(1);
    set_view(verdict, 0, "judged", "not_finite");
    strcpy(verdict->views[0].name, "rot");
    verdict->views[0].count = 48545;
    /* An entry of no drawable view does not enlarge the picture. */
    set_view(verdict, UINT64_MAX, "lost", "no_slot");
    crn_palette palette = {0};
    const char *path = path_of("why.png");
    assert_int_equal(crn_draw_verdict(verdict, &photo, 1, (crn_photo){0}, &palette, path, NULL), 0);
    draw_picture image = read_picture(path);
    assert_true(image.height < TOP + 2 * HEIGHT * SCALE);
    int below = 0, middle = 0;
    for (int x = 0; x < WIDTH; x++) {
        below += view_pixel(&image, x, HEIGHT - 8) != 0x646464;
        middle += view_pixel(&image, x, HEIGHT / 2) != 0x646464;
    }
    assert_true(below > 40);
    assert_int_equal(middle, 0);
    cairo_surface_destroy(image.surface);

    /* An unexpected view is drawn too. */
    verdict->view_count = 1;
    set_view(verdict, 1, "lost", "failed");
    assert_int_equal(crn_draw_verdict(verdict, &photo, 1, photo, &palette, path, NULL), 0);
    image = read_picture(path);
    assert_true(image.height > TOP + 2 * HEIGHT * SCALE);
    cairo_surface_destroy(image.surface);
    crn_decoded_free(&verdict);
}

static void classes_keep_their_colours(void **state)
{
    (void)state;
    crn_palette palette = {0};
    crn_color first = crn_palette_color(&palette, "rot");
    crn_color second = crn_palette_color(&palette, "rust");
    assert_true(memcmp(&first, &second, sizeof first));
    for (int i = 0; i < 2 * CRN_CLASSES_MAX; i++) { /* more than the maximum */
        char name[24];
        snprintf(name, sizeof name, "class %d", i);
        crn_palette_color(&palette, name);
    }
    assert_int_equal(palette.count, CRN_CLASSES_MAX);
    crn_color again = crn_palette_color(&palette, "rot");
    assert_memory_equal(&first, &again, sizeof first);
}

static void no_size_and_no_picture_is_too_strange(void **state)
{
    (void)state;
    crn_palette palette = {0};
    crn_error error = {""};
    crn_decoded *verdict = make_verdict(1);
    verdict->kind = CRN_VERDICT_LATE;
    verdict->views_expected = verdict->views_received = 0;
    verdict->total_ms = verdict->budget_ms = NAN;
    assert_int_equal(
        crn_draw_verdict(verdict, NULL, 0, (crn_photo){0}, &palette, path_of("b.png"), &error), 0);
    add_square(verdict, "rot", -1e30f, -5, 1e30f, 5, false);
    verdict->defects[0].bbox[0] = NAN;
    verdict->defects[0].bbox[3] = 1e300;
    verdict->defects[0].area_px = INFINITY;
    add_square(verdict, "", 0, 0, 0, 0, true);
    verdict->defects[1].view = UINT64_MAX - 1;
    verdict->defects[1].point_count = 0;
    const char *path = path_of("c.png");
    assert_int_equal(crn_draw_verdict(verdict, NULL, 0, (crn_photo){0}, &palette, path, &error), 0);
    draw_picture image = read_picture(path);
    assert_int_equal(image.width, 4096 + 2 * LEFT); /* the maximum for contours */
    cairo_surface_destroy(image.surface);
    crn_decoded_free(&verdict);
}

static void tall_views_stand_side_by_side(void **state)
{
    (void)state;
    crn_decoded *verdict = make_verdict(1);
    verdict->views_expected = 4;
    const crn_photo tall[4] = {{NULL, 500, 100}, {NULL, 500, 100}, {NULL, 500, 100}};
    crn_palette palette = {0};
    const char *path = path_of("d.png"); /* the fourth has the size known from the others */
    assert_int_equal(
        crn_draw_verdict(verdict, tall, 4, (crn_photo){NULL, 500, 100}, &palette, path, NULL), 0);
    draw_picture image = read_picture(path);
    assert_int_equal(image.width, 4 * 100 * SCALE + 3 * 8 + 2 * LEFT);
    assert_true(image.height < 1200);
    cairo_surface_destroy(image.surface);
    crn_decoded_free(&verdict);
}

static void a_picture_that_cannot_be_written_is_named(void **state)
{
    (void)state;
    crn_decoded *verdict = make_verdict(1);
    crn_palette palette = {0};
    crn_error error = {""};
    int r = crn_draw_verdict(verdict, NULL, 0, (crn_photo){0}, &palette, "/nowhere/a.png", &error);
    assert_int_equal(r, -ENOENT);
    assert_string_equal(
        error.text, "/nowhere/a.png: cannot be written in /nowhere/: No such file or directory");
    const char *pipe = path_of("pipe.png"); /* opening it would block until a reader comes */
    assert_int_equal(mkfifo(pipe, 0600), 0);
    r = crn_draw_verdict(verdict, NULL, 0, (crn_photo){0}, &palette, pipe, &error);
    assert_int_equal(r, -EEXIST);
    assert_non_null(strstr(error.text, "pipe.png: is a pipe, not a regular file; name another"));
    unlink(pipe);
    crn_decoded_free(&verdict);
    crn_renderer *pictures = NULL;
    assert_int_equal(crn_renderer_create("/nowhere/a", 0, &pictures, &error), -ENOENT);
    assert_int_equal(crn_renderer_create("/dev/null", 0, &pictures, &error), -ENOTDIR);
    assert_null(pictures);
}

static bool has_picture(const char *dir, int fruit)
{
    char path[160];
    snprintf(path, sizeof path, "%s/fruit_0_%d.png", dir, fruit);
    return access(path, R_OK) == 0;
}

/* Offers fruits 0 to count - 1 and draws the remaining ones. */
static void draw_fruits(const char *dir, int last, int count, uint64_t *ret_drawn,
                        uint64_t *ret_missed)
{
    crn_renderer *pictures = NULL;
    assert_int_equal(crn_renderer_create(dir, last, &pictures, NULL), 0);
    for (int i = 0; i < count; i++) {
        crn_decoded *verdict = make_verdict((uint64_t)i);
        crn_renderer_offer(pictures, &verdict);
        assert_null(verdict);
        assert_int_equal(crn_renderer_waiting(pictures), !last);
    }
    int r;
    while ((r = crn_renderer_draw(pictures, NULL)) > 0)
        ;
    assert_int_equal(r, 0);
    crn_renderer_count(pictures, ret_drawn, ret_missed);
    crn_renderer_free(&pictures);
}

static void only_what_waits_is_drawn(void **state)
{
    (void)state;
    char dir[80];
    uint64_t drawn, missed;
    snprintf(dir, sizeof dir, "%s/last", test_folder);
    draw_fruits(dir, 3, 20, &drawn, &missed);
    assert_int_equal(drawn, 3);
    assert_int_equal(missed, 0);
    for (int i = 0; i < 20; i++)
        assert_int_equal(has_picture(dir, i), i >= 17);
    snprintf(dir, sizeof dir, "%s/all", test_folder);
    draw_fruits(dir, 0, CRN_PICTURES_MAX + 4, &drawn, &missed);
    assert_int_equal(drawn, CRN_PICTURES_MAX);
    assert_int_equal(missed, 4);
    assert_false(has_picture(dir, 3));
    assert_true(has_picture(dir, 4));
}

/* Fruits 10, 11 and 13 of lane 2, two views each, every pixel 10 * (fruit - 10) + view. */
static void write_recording(const char *path)
{
    static const uint64_t fruits[] = {13, 10, 11};
    crn_recording_writer *writer = NULL;
    assert_int_equal(crn_recording_create(path, true, &writer, NULL), 0);
    for (int i = 0; i < 6; i++) {
        uint8_t maps[12] = {0}, grey[12];
        crn_recorded_view view = {.maps = maps, .intensity = i == 5 ? NULL : grey};
        view.header = (crn_view_header){.sequence = (uint64_t)i,
                                        .fruit = fruits[i / 2],
                                        .lane = 2,
                                        .view = i % 2,
                                        .views = 2,
                                        .height = 3,
                                        .width = 4,
                                        .channels = 1,
                                        .type = CRN_U8,
                                        .layout = CRN_CHW,
                                        .payload_bytes = 12,
                                        .flags = i == 5 ? 0 : CRN_WIRE_FLAG_INTENSITY};
        memset(grey, (int)(10 * (fruits[i / 2] - 10)) + i % 2, sizeof grey);
        assert_int_equal(crn_recording_write(writer, &view, NULL), 0);
    }
    assert_int_equal(crn_recording_close(&writer, NULL), 0);
}

static void photographs_are_found_by_lane_fruit_and_view(void **state)
{
    (void)state;
    const char *path = path_of("rec.tif");
    write_recording(path);
    crn_photos *photos = NULL;
    crn_error error = {""};
    assert_int_equal(crn_photos_create(&photos), 0);
    assert_null(crn_photos_find(photos, 2, 10, 0).pixels);
    assert_int_equal(crn_photos_add(photos, path, &error), 0);
    assert_int_equal(crn_photos_find(photos, 2, 10, 0).pixels[11], 0);
    assert_int_equal(crn_photos_find(photos, 2, 13, 1).pixels[0], 31);
    assert_int_equal(crn_photos_find(photos, 2, 13, 1).width, 4);
    assert_null(crn_photos_find(photos, 2, 11, 1).pixels); /* received without photograph, */
    assert_int_equal(crn_photos_find(photos, 2, 11, 1).height, 3); /* but its size is known */
    assert_int_equal(crn_photos_find(photos, 2, 10, 2).height, 0);
    assert_int_equal(crn_photos_find(photos, 2, 12, 0).height, 0);
    assert_int_equal(crn_photos_find(photos, 2, 9, 0).height, 0);
    assert_int_equal(crn_photos_find(photos, 1, 10, 0).height, 0);
    assert_int_equal(crn_photos_find(photos, 2, 10 + 4, 0).pixels[0], 0);  /* the second loop, */
    assert_int_equal(crn_photos_find(photos, 2, 13 + 8, 1).pixels[0], 31); /* the third */
    assert_true(crn_photos_add(photos, path_of("none.tif"), &error) < 0);
    assert_non_null(strstr(error.text, "none.tif"));
    crn_photos_free(&photos);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outlines_lie_where_their_pixels_are),
        cmocka_unit_test(the_fruit_and_its_strip_are_drawn),
        cmocka_unit_test(a_pose_that_is_none_leaves_the_picture),
        cmocka_unit_test(views_that_were_not_judged_are_marked),
        cmocka_unit_test(views_say_why),
        cmocka_unit_test(classes_keep_their_colours),
        cmocka_unit_test(no_size_and_no_picture_is_too_strange),
        cmocka_unit_test(tall_views_stand_side_by_side),
        cmocka_unit_test(a_picture_that_cannot_be_written_is_named),
        cmocka_unit_test(only_what_waits_is_drawn),
        cmocka_unit_test(photographs_are_found_by_lane_fruit_and_view),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}

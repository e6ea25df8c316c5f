/* cernita-apply as a program: contours as JSON and drawn, ranklets as TIFF, CSV and panels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <yajl/yajl_tree.h>

#include "tests/support/programs/apply_program.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/fixture.h"
#include "tests/support/operators/operator_tests.h"
#include "tools/common/operators/output/panel.h"
#include "tools/common/operators/windows.h"

#define POINTS   20000
#define CONTOURS 5000

static char *read_text(const char *path)
{
    struct stat status;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &status), 0);
    char *text = calloc(1, (size_t)status.st_size + 1);
    assert_int_equal(fread(text, 1, (size_t)status.st_size, file), status.st_size);
    fclose(file);
    return text;
}

/* --- contours --- */

static crn_contours find(const crn_image *image, double level, crn_connectivity connectivity,
                         crn_orientation orientation, crn_border border)
{
    static crn_point points[POINTS];
    static crn_contour contours[CONTOURS];
    double levels[16];
    for (int i = 0; i < 16; i++)
        levels[i] = level;
    crn_contours found = {points, contours, POINTS, CONTOURS, 0, 0, false};
    crn_contours_params params = {levels, NULL, connectivity, orientation, border};
    assert_int_equal(crn_contours_serial(operator_contexts[1], &params, image, &found), 0);
    assert_false(found.truncated);
    return found;
}

static yajl_val member(yajl_val object, const char *name)
{
    return yajl_tree_get(object, (const char *[]){name, NULL}, yajl_t_any);
}

/* Asserts that the file holds exactly these contours, every double bit by bit. */
static void expect_json(const char *path, const crn_contours *wanted)
{
    char *text = read_text(path), fault[256];
    yajl_val list = yajl_tree_parse(text, fault, sizeof fault);
    assert_true(YAJL_IS_ARRAY(list));
    assert_int_equal(list->u.array.len, wanted->contour_count);
    for (uint32_t i = 0; i < wanted->contour_count; i++) {
        const crn_contour *contour = &wanted->contours[i];
        yajl_val one = list->u.array.values[i], points = member(one, "points");
        assert_int_equal(one->u.object.len, 3);
        assert_int_equal(YAJL_GET_INTEGER(member(one, "plane")), contour->plane);
        assert_int_equal(YAJL_IS_TRUE(member(one, "closed")), contour->closed);
        assert_int_equal(points->u.array.len, contour->count);
        for (uint32_t n = 0; n < contour->count; n++) {
            const crn_point *point = &wanted->points[contour->first + n];
            yajl_val pair = points->u.array.values[n];
            assert_int_equal(pair->u.array.len, 2);
            double x = strtod(YAJL_GET_NUMBER(pair->u.array.values[0]), NULL);
            double y = strtod(YAJL_GET_NUMBER(pair->u.array.values[1]), NULL);
            assert_true(x == point->x && y == point->y);
        }
    }
    yajl_tree_free(list);
    free(text);
}

static void contours_are_the_operators(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        crn_type type;
        int32_t pages, samples;
        double level;
    } cases[] = {
        {"grey.png", CRN_U8, 1, 1, 127.5},   {"rgba.tif", CRN_U8, 1, 3, 100.5},
        {"words.tif", CRN_U16, 2, 1, 3e4},   {"maps.tif", CRN_F32, 12, 1, 0.4},
        {"samples.tif", CRN_F32, 1, 5, 0.6}, {"same.tif", CRN_U8, 1, 1, 130},
    };
    static const char *const ways[] = {"--backend serial", "--threads 1", "--threads 3", ""};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        crn_picture picture = apply_picture(cases[i].path, cases[i].type, cases[i].pages,
                                            cases[i].samples, i == 1, 9, 14);
        crn_contours low =
            find(&picture.image, cases[i].level, CRN_CONNECT_LOW, CRN_ORIENT_LOW, CRN_BORDER_OPEN);
        for (size_t w = 0; w < 4; w++) {
            crn_expect_apply("contours --level %.17g %s %s out.json", cases[i].level, ways[w],
                             cases[i].path);
            expect_json("out.json", &low);
        }
        crn_contours high = find(&picture.image, cases[i].level, CRN_CONNECT_HIGH, CRN_ORIENT_HIGH,
                                 CRN_BORDER_CLOSED);
        crn_expect_apply(
            "contours --level %.17g --connectivity high --orientation high --border closed "
            "%s out.json",
            cases[i].level, cases[i].path);
        expect_json("out.json", &high);
        crn_picture_free(&picture);
    }
}

static void no_contours_are_an_empty_list(void **state)
{
    (void)state;
    crn_picture picture = apply_picture("in.png", CRN_U8, 1, 1, false, 5, 5);
    crn_expect_apply("contours --level 300 in.png out.json");
    char *text = read_text("out.json");
    assert_string_equal(text, "[]\n");
    free(text);
    crn_picture_free(&picture);
}

/* More points than the initial capacity. */
static void many_contours_find_room(void **state)
{
    (void)state;
    crn_picture picture = apply_create(CRN_U8, 1, 1, 300, 300);
    for (int32_t y = 0; y < 300; y++)
        for (int32_t x = 0; x < 300; x++)
            ((uint8_t *)picture.image.data)[y * 300 + x] = x % 2 && y % 2;
    apply_write("in.tif", &picture);
    crn_expect_apply("contours --level 0.5 in.tif out.json");
    char *text = read_text("out.json");
    uint32_t lines = 0;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 150 * 150); /* one around each */
    free(text);
    crn_picture_free(&picture);
}

/* A bright square of 4 x 4 in the middle of 12 x 12 pixels, in every plane. */
static void write_squares(const char *path, int32_t pages, int32_t samples)
{
    crn_picture picture = apply_create(CRN_U8, pages, samples, 12, 12);
    for (int32_t plane = 0; plane < pages * samples; plane++)
        for (int32_t y = 4; y < 8; y++)
            for (int32_t x = 4; x < 8; x++)
                ((uint8_t *)picture.image.data)[crn_image_index(&picture.image, plane, y, x)] = 200;
    apply_write(path, &picture);
    crn_picture_free(&picture);
}

static const uint8_t *pixel(const crn_picture *picture, int32_t x, int32_t y)
{
    assert_int_equal(picture->samples, 3);
    return (uint8_t *)picture->image.data + crn_image_index(&picture->image, 0, y, x);
}

static bool is_grey(const uint8_t *rgb, int32_t value)
{
    return rgb[0] == value && rgb[1] == value && rgb[2] == value;
}

static void outlines_are_drawn_over_the_picture(void **state)
{
    (void)state;
    write_squares("in.png", 1, 1);
    crn_expect_apply("contours --level 100 --scale 4 in.png out.png");
    crn_picture out = apply_read("out.png");
    assert_int_equal(out.image.width, 48);
    assert_int_equal(out.image.height, 48);
    assert_true(is_grey(pixel(&out, 2, 2), 0));
    assert_true(is_grey(pixel(&out, 24, 24), 200));
    /* The level runs half-way between two pixels: 4 of the picture, 16 of the drawing. */
    const uint8_t *line = pixel(&out, 24, 16);
    assert_true(line[0] > 150 && line[1] < 120 && line[2] < 120); /* the first plane is red */
    crn_picture_free(&out);
    crn_expect_apply("contours --level 100 in.png out.png");
    out = apply_read("out.png");
    assert_int_equal(out.image.width, 12);
    crn_picture_free(&out);
}

static void a_colour_picture_stays_in_colour(void **state)
{
    (void)state;
    crn_picture picture = apply_create(CRN_U8, 1, 3, 4, 4);
    for (int32_t i = 0; i < 16; i++)
        memcpy((uint8_t *)picture.image.data + 3 * (size_t)i, (const uint8_t[]){10, 90, 200}, 3);
    apply_write("in.png", &picture);
    crn_expect_apply("contours --level 250 in.png out.png");
    apply_expect_picture("out.png", &picture);
    crn_picture_free(&picture);
}

static void pages_stand_apart_in_colours_of_their_own(void **state)
{
    (void)state;
    write_squares("in.tif", 3, 1);
    crn_expect_apply("contours --level 100 --scale 4 in.tif out.png");
    crn_picture out = apply_read("out.png");
    assert_int_equal(out.image.width, 48);
    assert_int_equal(out.image.height, 3 * 48 + 2 * 8);
    for (int32_t page = 0; page < 3; page++)
        assert_true(is_grey(pixel(&out, 24, page * 56 + 24), 200));
    const uint8_t *first = pixel(&out, 24, 16), *second = pixel(&out, 24, 56 + 16);
    assert_true(first[0] > first[2] && second[0] < second[2]); /* red, then sky */
    crn_picture_free(&out);
}

/* --- ranklet --- */

static const crn_size windows[] = {{4, 4}, {2, 6}, {8, 2}};
#define WINDOWS 3

static crn_image ranklets(const crn_image *image, int32_t plane, crn_size window, float *values)
{
    crn_image one = *image,
              out = crn_image_dense(values, CRN_F32, CRN_CHW, 3, image->height - window.height + 1,
                                    image->width - window.width + 1);
    one.planes = 1;
    one.data = (char *)image->data +
               crn_image_index(image, plane, 0, 0) * (ptrdiff_t)crn_type_bytes(image->type);
    crn_ranklet_params params = {window.width, window.height};
    assert_int_equal(crn_ranklet_serial(operator_contexts[1], &params, &one, &out), 0);
    return out;
}

/* Prints every page of a TIFF whose pages differ in size, in hexadecimal: shape and bytes. */
#define PAGES_SCRIPT                                                                               \
    "import sys, tifffile\n"                                                                       \
    "for page in tifffile.TiffFile(sys.argv[1]).pages:\n"                                          \
    "    a = page.asarray()\n"                                                                     \
    "    print(a.dtype, *a.shape, a.tobytes().hex() or '-')\n"                                     \
    "    print(page.description or '-')\n"

static void expect_pages(FILE *pages, int32_t plane, crn_size window, const crn_image *wanted)
{
    static const char hex[] = "0123456789abcdef";
    for (int32_t i = 0; i < 3; i++) {
        static char bytes[1 << 16], line[1 << 16];
        int32_t height, width;
        assert_int_equal(fscanf(pages, " float32 %d %d %65535s", &height, &width, bytes), 3);
        assert_int_equal(height, wanted->height);
        assert_int_equal(width, wanted->width);
        size_t count = (size_t)height * (size_t)width * sizeof(float);
        const uint8_t *expected = (uint8_t *)wanted->data + (size_t)i * count;
        assert_int_equal(strlen(bytes), 2 * count);
        for (size_t n = 0; n < count; n++)
            assert_true(bytes[2 * n] == hex[expected[n] >> 4] &&
                        bytes[2 * n + 1] == hex[expected[n] & 15]);
        assert_int_equal(fscanf(pages, " %65535[^\n]", line), 1);
        char about[200] = "-";
        if (i == 0)
            snprintf(about, sizeof about,
                     "{\"plane\":%d,\"window\":[%d,%d],\"pages\":[\"vertical\",\"horizontal\","
                     "\"diagonal\"]}",
                     plane, window.width, window.height);
        assert_string_equal(line, about);
    }
}

static void ranklets_are_pages(void **state)
{
    (void)state;
    static const char *const ways[] = {"--backend serial", "--threads 1", "--threads 3", ""};
    static const struct {
        const char *path;
        crn_type type;
        int32_t pages, samples;
    } cases[] = {{"in.png", CRN_U8, 1, 3}, {"in.tif", CRN_U16, 2, 1}};
    float values[3 * 20 * 20];
    apply_write_text("pages.py", PAGES_SCRIPT);
    for (size_t i = 0; i < 2; i++) {
        crn_picture picture = apply_picture(cases[i].path, cases[i].type, cases[i].pages,
                                            cases[i].samples, false, 10, 13);
        for (size_t w = 0; w < 4; w++) {
            crn_expect_apply("ranklet --windows 4,2x6,8x2 %s %s out.tif", ways[w], cases[i].path);
            FILE *pages = popen("/usr/bin/python3 pages.py out.tif", "r");
            assert_non_null(pages);
            for (int32_t row = 0; row < picture.image.planes * WINDOWS; row++) {
                crn_size window = windows[row % WINDOWS];
                crn_image wanted = ranklets(&picture.image, row / WINDOWS, window, values);
                expect_pages(pages, row / WINDOWS, window, &wanted);
            }
            assert_int_equal(fscanf(pages, " %*s"), EOF); /* and no more */
            assert_int_equal(pclose(pages), 0);
        }
        crn_picture_free(&picture);
    }
}

static void ranklets_are_lines(void **state)
{
    (void)state;
    float values[3 * 20 * 20];
    crn_picture picture = apply_picture("in.tif", CRN_U8, 2, 1, false, 10, 13);
    crn_expect_apply("ranklet --windows 4,2x6,8x2 in.tif out.csv");
    FILE *file = fopen("out.csv", "r");
    char line[256], expected[256];
    assert_non_null(fgets(line, sizeof line, file));
    assert_string_equal(line, "plane,window_width,window_height,x,y,vertical,horizontal,"
                              "diagonal\n");
    for (int32_t row = 0; row < 2 * WINDOWS; row++) {
        crn_size window = windows[row % WINDOWS];
        crn_image wanted = ranklets(&picture.image, row / WINDOWS, window, values);
        for (int32_t y = 0; y < wanted.height; y++)
            for (int32_t x = 0; x < wanted.width; x++) {
                assert_non_null(fgets(line, sizeof line, file));
                snprintf(
                    expected, sizeof expected, "%d,%d,%d,%d,%d,%.9g,%.9g,%.9g\n", row / WINDOWS,
                    window.width, window.height, x, y, (double)crn_image_at(&wanted, 0, y, x),
                    (double)crn_image_at(&wanted, 1, y, x), (double)crn_image_at(&wanted, 2, y, x));
                assert_string_equal(line, expected);
            }
    }
    assert_null(fgets(line, sizeof line, file));
    fclose(file);
    crn_picture_free(&picture);
}

static void the_pyramid_has_every_window(void **state)
{
    (void)state;
    crn_picture picture = apply_picture("in.tif", CRN_U8, 1, 1, false, 9, 40);
    static const struct {
        const char *options;
        crn_size sizes[4];
    } cases[] = {{"--pyramid", {{32, 8}, {16, 4}, {8, 2}, {0, 0}}},
                 {"--pyramid --square", {{8, 8}, {4, 4}, {2, 2}, {0, 0}}}};
    for (size_t i = 0; i < 2; i++) {
        crn_expect_apply("ranklet %s in.tif out.csv", cases[i].options);
        FILE *file = fopen("out.csv", "r");
        char line[256];
        crn_size window = {0, 0};
        int32_t count = 0;
        assert_non_null(fgets(line, sizeof line, file));
        while (fgets(line, sizeof line, file)) {
            crn_size now;
            assert_int_equal(sscanf(line, "0,%d,%d,", &now.width, &now.height), 2);
            if (now.width == window.width && now.height == window.height)
                continue;
            window = now;
            assert_int_equal(window.width, cases[i].sizes[count].width);
            assert_int_equal(window.height, cases[i].sizes[count++].height);
        }
        assert_int_equal(count, 3);
        fclose(file);
    }
    crn_picture_free(&picture);
}

static void a_panel_has_a_row_for_each_plane_and_window(void **state)
{
    (void)state;
    float values[3 * 20 * 20];
    crn_picture picture = apply_picture("in.png", CRN_U8, 1, 3, false, 10, 13);
    crn_expect_apply("ranklet --windows 4,2x6,8x2 in.png out.png");
    crn_picture out = apply_read("out.png");
    assert_int_equal(out.samples, 1);
    assert_int_equal(out.image.width, CRN_PANEL_LEFT + 4 * 72 + 3 * 4);
    assert_int_equal(out.image.height, CRN_PANEL_TOP + 9 * 30 + 8 * 4);
    crn_image wanted = ranklets(&picture.image, 1, windows[2], values);
    int32_t top = CRN_PANEL_TOP +
                  5 * (30 + 4); /* plane 1, window 2: a window of 8 x 2 has its centre at (4, 1) */
    for (int32_t tile = 0; tile < 3; tile++)
        for (int32_t y = 0; y < wanted.height; y++)
            for (int32_t x = 0; x < wanted.width; x++) {
                double grey = (crn_image_at(&wanted, tile, y, x) + 1) * 127.5;
                double got =
                    crn_image_at(&out.image, 0, top + y + 1, CRN_PANEL_LEFT + tile * 76 + x + 4);
                assert_true(got - grey <= 0.5 && grey - got <= 0.5);
            }
    crn_picture_free(&out);
    crn_picture_free(&picture);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(contours_are_the_operators),
        cmocka_unit_test(no_contours_are_an_empty_list),
        cmocka_unit_test(many_contours_find_room),
        cmocka_unit_test(outlines_are_drawn_over_the_picture),
        cmocka_unit_test(a_colour_picture_stays_in_colour),
        cmocka_unit_test(pages_stand_apart_in_colours_of_their_own),
        cmocka_unit_test(ranklets_are_pages),
        cmocka_unit_test(ranklets_are_lines),
        cmocka_unit_test(the_pyramid_has_every_window),
        cmocka_unit_test(a_panel_has_a_row_for_each_plane_and_window),
    };
    CRN_SET_FIXTURE(tests, apply_setup, apply_teardown);
    return cmocka_run_group_tests(tests, operators_set_up, operators_tear_down);
}

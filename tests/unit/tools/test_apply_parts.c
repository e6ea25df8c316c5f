/* Parts of cernita-apply: lists of windows, the pyramid, quadrants, and conversion to greys. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tools/common/operators/output/panel.h"
#include "tools/common/operators/windows.h"

static const crn_tool tool = {.name = "test", .operands = "", .about = ""};

#define TOP  CRN_PANEL_TOP
#define LEFT CRN_PANEL_LEFT

static void expect_windows(const crn_windows *windows, const crn_size *sizes, int32_t count)
{
    assert_int_equal(windows->count, count);
    for (int32_t i = 0; i < count; i++) {
        assert_int_equal(windows->item[i].width, sizes[i].width);
        assert_int_equal(windows->item[i].height, sizes[i].height);
    }
}

static void a_list_of_windows_is_read(void **state)
{
    (void)state;
    crn_windows windows;
    crn_windows_parse(&tool, "4,8x16,2", &windows);
    expect_windows(&windows, (const crn_size[]){{4, 4}, {8, 16}, {2, 2}}, 3);
}

/* Exit status of a process that parses this list. */
static int status_of(const char *list)
{
    fflush(NULL); /* otherwise the child would print it again */
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(99);
        crn_windows windows;
        crn_windows_parse(&tool, list, &windows);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_wrong_list_is_refused(void **state)
{
    (void)state;
    assert_int_equal(status_of("4"), 0);
    char many[3 * CRN_WINDOWS_MAX + 8] = "2";
    for (int32_t i = 1; i < CRN_WINDOWS_MAX; i++)
        strcat(many, ",2");
    assert_int_equal(status_of(many), 0);
    strcat(many, ",2");
    const char *const wrong[] = {"",    "3",    "4,",  ",4", "4x3", "0",     "4x",
                                 "4 8", "-4x4", "4;8", "x4", "1",   "4,8x5", many};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(status_of(wrong[i]), CRN_EXIT_USAGE);
}

static void the_pyramid_halves_both_sides_until_one_is_2(void **state)
{
    (void)state;
    crn_windows windows;
    crn_windows_pyramid(511, 95, false, &windows);
    expect_windows(&windows,
                   (const crn_size[]){{256, 64}, {128, 32}, {64, 16}, {32, 8}, {16, 4}, {8, 2}}, 6);
    crn_windows_pyramid(512, 64, false, &windows);
    assert_int_equal(windows.item[0].width, 512);
    assert_int_equal(windows.item[0].height, 64);
    crn_windows_pyramid(9, 511, true, &windows);
    expect_windows(&windows, (const crn_size[]){{8, 8}, {4, 4}, {2, 2}}, 3);
    crn_windows_pyramid(2, 3, false, &windows);
    expect_windows(&windows, (const crn_size[]){{2, 2}}, 1);
    crn_windows_pyramid(1, 100, false, &windows);
    assert_int_equal(windows.count, 0);
    crn_windows_pyramid(INT32_MAX, INT32_MAX, false, &windows);
    assert_int_equal(windows.count, 30);
    assert_int_equal(windows.item[0].width, 1 << 30);
}

/* Every pixel belongs to exactly one quadrant. */
static void quadrants_cover_the_picture_once(void **state)
{
    (void)state;
    for (int32_t height = 1; height < 12; height++)
        for (int32_t width = 1; width < 12; width++)
            for (int32_t levels = 0; levels < 5; levels++) {
                crn_quadrant quadrants[CRN_QUADRANTS_MAX];
                int32_t count = crn_map_quadrants(height, width, levels, quadrants);
                uint8_t seen[12][12] = {{0}};
                for (int32_t i = 0; i < count; i++) {
                    assert_int_equal(quadrants[i].averages, i == count - 1);
                    for (int32_t y = 0; y < quadrants[i].height; y++)
                        for (int32_t x = 0; x < quadrants[i].width; x++)
                            seen[quadrants[i].y + y][quadrants[i].x + x]++;
                }
                for (int32_t y = 0; y < height; y++)
                    for (int32_t x = 0; x < width; x++)
                        assert_int_equal(seen[y][x], 1);
            }
    crn_quadrant quadrants[CRN_QUADRANTS_MAX];
    assert_int_equal(crn_map_quadrants(5, 8, 1, quadrants), 4);
    assert_int_equal(quadrants[3].height, 3); /* ceil(5 / 2) averages */
    assert_int_equal(quadrants[3].width, 4);
}

static void averages_take_their_range_and_differences_mid_grey(void **state)
{
    (void)state;
    float values[4][4] = {{10, 20, 0, 4}, {30, 40, -8, 2}, {1, -1, 0, 0}, {0.5f, 0, 0, 0}};
    uint8_t greys[4][4];
    crn_image from = crn_image_dense(values, CRN_F32, CRN_CHW, 1, 4, 4);
    crn_image to = crn_image_dense(greys, CRN_U8, CRN_CHW, 1, 4, 4);
    crn_map_haar(&from, 1, &to);
    const uint8_t expected[4][4] = {
        {0, 85, 128, 192}, {170, 255, 1, 160}, {255, 1, 128, 128}, {192, 128, 128, 128}};
    assert_memory_equal(greys, expected, sizeof greys);
}

static void numbers_are_rounded_half_to_even_and_saturated(void **state)
{
    (void)state;
    float values[8] = {-1, 0.5f, 1.5f, 2.5f, 254.5f, 255.5f, INFINITY, NAN};
    uint8_t bytes[8];
    uint16_t words[8];
    crn_image from = crn_image_dense(values, CRN_F32, CRN_CHW, 1, 1, 8);
    crn_image to = crn_image_dense(bytes, CRN_U8, CRN_CHW, 1, 1, 8);
    crn_map_narrow(&from, &to);
    assert_memory_equal(bytes, ((const uint8_t[]){0, 0, 2, 2, 254, 255, 255, 0}), 8);
    to = crn_image_dense(words, CRN_U16, CRN_CHW, 1, 1, 8);
    crn_map_narrow(&from, &to);
    assert_memory_equal(words, ((const uint16_t[]){0, 0, 2, 2, 254, 256, 65535, 0}), 16);
}

static void a_range_becomes_0_to_255(void **state)
{
    (void)state;
    float values[6] = {-3e38f, 3e38f, 0, NAN, INFINITY, -INFINITY}, least, most;
    uint8_t bytes[6];
    crn_image from = crn_image_dense(values, CRN_F32, CRN_CHW, 1, 1, 6);
    crn_image to = crn_image_dense(bytes, CRN_U8, CRN_CHW, 1, 1, 6);
    assert_true(crn_map_range(&from, &least, &most));
    assert_true(least == -3e38f && most == 3e38f);
    crn_map_linear(&from, least, most, &to);
    assert_memory_equal(bytes, ((const uint8_t[]){0, 255, 128, 0, 255, 0}), 6);
    crn_map_linear(&from, 1, 1, &to);
    assert_memory_equal(bytes, ((const uint8_t[]){128, 128, 128, 0, 128, 128}), 6);
    from.width = 1;
    from.data = values + 3;
    assert_false(crn_map_range(&from, &least, &most));
}

static void a_panel_shows_each_ranklet_where_its_window_lies(void **state)
{
    (void)state;
    crn_panel panel;
    assert_int_equal(crn_panel_plan(5, 3, 2, &panel), 0); /* cells are as large as their captions */
    assert_int_equal(panel.cell_width, 72 + 4);
    assert_int_equal(panel.cell_height, 30 + 4);
    assert_int_equal(panel.width, LEFT + 4 * 72 + 3 * 4);
    assert_int_equal(panel.height, TOP + 2 * 30 + 4);
    assert_int_equal(crn_panel_plan(100, 60, 3, &panel), 0);
    assert_int_equal(panel.width, LEFT + 4 * 100 + 3 * 4);
    assert_int_equal(panel.height, TOP + 3 * 60 + 2 * 4);
    assert_true(crn_panel_plan(300000, 3, 1, &panel) < 0);
    assert_true(crn_panel_plan(5, 1000, 2000, &panel) < 0);
    assert_true(crn_panel_plan(5, 5, INT64_MAX, &panel) < 0);

    /* A window of 4 x 2 on 5 x 3 pixels has 2 x 2 positions, the first centred at (2, 1). */
    assert_int_equal(crn_panel_plan(5, 3, 2, &panel), 0);
    float values[3][2][2] = {{{-1, 0.5f}, {0, 0}}, {{0.6f, 0}, {0, 0}}, {{0, 0}, {0, -0.8f}}};
    static uint8_t greys[TOP + 64][LEFT + 300];
    crn_image from = crn_image_dense(values, CRN_F32, CRN_CHW, 3, 2, 2);
    crn_image to = crn_image_dense(greys, CRN_U8, CRN_CHW, 1, TOP + 64, LEFT + 300);
    crn_panel_begin(&panel, &to);
    crn_panel_row(&panel, &from, (crn_size){4, 2}, -1, 1, &to);
    uint8_t(*row)[LEFT + 300] = greys + TOP + 34;
    assert_int_equal(row[0][LEFT + 2], 24);
    assert_int_equal(row[1][LEFT + 1], 24);
    assert_int_equal(row[1][LEFT + 2], 0);
    assert_int_equal(row[1][LEFT + 3], 191);
    assert_int_equal(row[2][LEFT + 2], 128);
    assert_int_equal(row[1][LEFT + 76 + 2], 204);
    assert_int_equal(row[2][LEFT + 2 * 76 + 3], 26);
    assert_int_equal(row[1][LEFT + 3 * 76 + 2], 64); /* sums -0.4, 0.5, 0, -0.8 */
    assert_int_equal(row[1][LEFT + 3 * 76 + 3], 207);
    assert_int_equal(row[2][LEFT + 3 * 76 + 3], 0);
}

/* Number of pixels brighter than the background in a part of the panel. */
static int bright(const crn_image *panel, int32_t x, int32_t y, int32_t width, int32_t height)
{
    int count = 0;
    for (int32_t i = y; i < y + height; i++)
        for (int32_t j = x; j < x + width; j++)
            count += crn_image_at(panel, 0, i, j) > 100;
    return count;
}

static void a_panel_has_captions(void **state)
{
    (void)state;
    crn_panel panel;
    assert_int_equal(crn_panel_plan(80, 40, 3, &panel), 0);
    float values[3] = {-1, -1, -1};
    crn_image from = crn_image_dense(values, CRN_F32, CRN_CHW, 3, 1, 1);
    crn_picture picture = {0};
    assert_int_equal(crn_picture_create(CRN_U8, 1, 1, panel.height, panel.width, &picture), 0);
    crn_panel_begin(&panel, &picture.image);
    for (int column = 0; column < 4; column++)
        assert_true(bright(&picture.image, LEFT + column * 84, 0, 80, TOP) > 20);
    assert_int_equal(bright(&picture.image, 0, TOP, panel.width, panel.height - TOP), 0);
    crn_panel_row(&panel, &from, (crn_size){8, 16}, -1, 0, &picture.image);
    crn_panel_row(&panel, &from, (crn_size){8, 16}, 3, 1, &picture.image);
    int window = bright(&picture.image, 0, TOP, LEFT, 40);
    int with_plane = bright(&picture.image, 0, TOP + 44, LEFT, 40);
    assert_true(window > 20);
    assert_true(with_plane > window + 20);
    assert_int_equal(bright(&picture.image, LEFT, TOP, panel.width - LEFT, panel.height - TOP), 0);
    crn_picture_free(&picture);
}

static void ends_and_sizes_are_told(void **state)
{
    (void)state;
    assert_true(crn_apply_ends("a.PNG", ".png"));
    assert_false(crn_apply_ends(".png", ".png"));
    assert_false(crn_apply_ends("png", ".png"));
    crn_picture huge = {.pages = 1, .samples = 1};
    huge.image = crn_image_dense(NULL, CRN_F32, CRN_CHW, 1000000, 1000000, 1000000);
    crn_error error = {0};
    assert_true(crn_apply_check_memory("huge.tif", &huge, 0, &error) < 0);
    assert_non_null(strstr(error.text, "huge.tif: needs 3.5 EiB of memory"));
    huge.image = crn_image_dense(NULL, CRN_F32, CRN_CHW, 1, 1, 1);
    assert_int_equal(crn_apply_check_memory("small.tif", &huge, 0, &error), 0);
    assert_true(crn_apply_check_memory("small.tif", &huge, UINT64_MAX / 2, &error) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_of_windows_is_read),
        cmocka_unit_test(a_wrong_list_is_refused),
        cmocka_unit_test(the_pyramid_halves_both_sides_until_one_is_2),
        cmocka_unit_test(quadrants_cover_the_picture_once),
        cmocka_unit_test(averages_take_their_range_and_differences_mid_grey),
        cmocka_unit_test(numbers_are_rounded_half_to_even_and_saturated),
        cmocka_unit_test(a_range_becomes_0_to_255),
        cmocka_unit_test(a_panel_shows_each_ranklet_where_its_window_lies),
        cmocka_unit_test(a_panel_has_captions),
        cmocka_unit_test(ends_and_sizes_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

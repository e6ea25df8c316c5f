/* cernita-calibrate on pictures drawn here; tests/unit/calibration has more of chequerboards. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/picture/picture.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/shell.h"

enum { HEIGHT = 200, WIDTH = 300 };

static char folder[] = "/tmp/cernita-calibrate-XXXXXX", output[2048];

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

/* A disc with smooth edges in the green plane of a picture of so many samples. */
static void write_disc(const char *name, crn_type type, int samples, double rx, double ry)
{
    crn_picture picture;
    crn_error error;
    char path[128];
    assert_int_equal(crn_picture_create(type, 1, samples, HEIGHT, WIDTH, &picture), 0);
    uint8_t *pixels = picture.memory;
    for (int i = 0; type == CRN_U8 && i < HEIGHT * WIDTH; i++) {
        double off =
            (1 - hypot((i % WIDTH - 140.5) / rx, (i / WIDTH - 98.25) / ry)) * sqrt(rx * ry);
        pixels[i * samples + samples / 2] = (uint8_t)(30 + 170 * fmax(0, fmin(1, 0.5 + off)));
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (crn_picture_write(path, &picture, &error) != 0)
        fail_msg("%s", error.text);
    crn_picture_free(&picture);
}

/* A chequerboard of 7 x 5 squares of 20 px. */
static void write_board(const char *name)
{
    crn_picture picture;
    crn_error error;
    char path[128];
    assert_int_equal(crn_picture_create(CRN_U8, 1, 1, HEIGHT, WIDTH, &picture), 0);
    for (int i = 0; i < HEIGHT * WIDTH; i++) {
        int x = i % WIDTH - 60, y = i / WIDTH - 50;
        bool is_board = x >= 0 && x < 7 * 20 && y >= 0 && y < 5 * 20;
        ((uint8_t *)picture.memory)[i] = is_board && (x / 20 + y / 20) % 2 == 0 ? 30 : 220;
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (crn_picture_write(path, &picture, &error) != 0)
        fail_msg("%s", error.text);
    crn_picture_free(&picture);
}

static int calibrate(const char *name, const char *options)
{
    char command[512];
    snprintf(command, sizeof command, CRN_BIN "/cernita-calibrate %s/%s %s 2>&1", folder, name,
             options);
    return crn_test_shell(command, output, sizeof output);
}

static void assert_says(const char *text)
{
    if (!strstr(output, text))
        fail_msg("'%s' does not say '%s'", output, text);
}

static double printed_scale(void)
{
    const char *line = strstr(output, "mm_per_px: ");
    assert_non_null(line);
    return strtod(line + strlen("mm_per_px: "), NULL);
}

static void a_disc_gives_the_scale(void **state)
{
    (void)state;
    static const char *const names[] = {"grey.png", "grey.tif", "colour.png"};
    for (int i = 0; i < 3; i++) {
        write_disc(names[i], CRN_U8, i == 2 ? 3 : 1, 80, 80);
        assert_int_equal(calibrate(names[i], "--disc 64"), 0);
        assert_true(fabs(printed_scale() / 0.4 - 1) < 0.002);
        assert_says("its middle at x 140.");
        assert_null(strstr(output, "cernita-calibrate:"));
    }
}

static void a_disc_at_a_slant_or_a_small_one_is_told(void **state)
{
    (void)state;
    write_disc("slant.png", CRN_U8, 1, 80, 74);
    assert_int_equal(calibrate("slant.png", "--disc 64"), 0);
    assert_says("does not face the camera, or the pixels are not square");
    write_disc("small.png", CRN_U8, 1, 30, 30);
    assert_int_equal(calibrate("small.png", "--disc 64"), 0);
    assert_says("a larger one is measured better");
}

static void a_chequerboard_gives_the_scale(void **state)
{
    (void)state;
    write_board("board.png");
    assert_int_equal(calibrate("board.png", "--chequerboard 8"), 0);
    assert_true(fabs(printed_scale() / 0.4 - 1) < 0.0005);
    assert_says("board.png: 24 corners of a chequerboard, 6 x 4, squares of 8 mm are 20.00");
    assert_says("\ngeometry:\n  mm_per_px: 0.4");
    write_disc("disc.png", CRN_U8, 1, 80, 80);
    assert_int_equal(calibrate("disc.png", "--chequerboard 8"), 1);
    assert_says("disc.png: no chequerboard of at least 4 x 4 squares is found");
    assert_int_equal(calibrate("board.png", "--chequerboard 8 --disc 64"), 2);
    assert_says("Either --disc or --chequerboard");
    assert_int_equal(calibrate("board.png", ""), 2);
}

static void what_shows_no_disc_fails(void **state)
{
    (void)state;
    write_disc("none.png", CRN_U8, 1, 0.1, 0.1);
    assert_int_equal(calibrate("none.png", "--disc 64"), 1);
    assert_says("none.png: there is no disc that is sure (confidence 0.00, at least 0.70)");
    write_disc("deep.tif", CRN_U16, 1, 80, 80);
    assert_int_equal(calibrate("deep.tif", "--disc 64"), 1);
    assert_says("deep.tif: u16 per sample; 8 bits expected");
    assert_int_equal(calibrate("absent.png", "--disc 64"), 1);
    assert_says("absent.png");
    assert_int_equal(calibrate("none.png", ""), 2);
    assert_says("--disc");
    assert_int_equal(calibrate("none.png", "--disc 0"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_disc_gives_the_scale),
        cmocka_unit_test(a_disc_at_a_slant_or_a_small_one_is_told),
        cmocka_unit_test(a_chequerboard_gives_the_scale),
        cmocka_unit_test(what_shows_no_disc_fails),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

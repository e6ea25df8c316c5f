/* Chequerboards drawn here, whose corners and scale are known. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/random.h"
#include "tools/common/calibration/calibration.h"

enum { HEIGHT = 300, WIDTH = 400 };

typedef struct board {
    int columns, rows; /* of corners */
    double pitch, turn_deg, tilt_deg, tilt_about_deg, perspective, blur, noise, shade, bright, dark;
} board;

static const board usual = {
    .columns = 9, .rows = 6, .pitch = 24, .blur = 0.7, .bright = 200, .dark = 40};

static void multiply(const double a[9], const double b[9], double ret[9])
{
    double product[9];
    for (int i = 0; i < 9; i++)
        product[i] = a[i / 3 * 3] * b[i % 3] + a[i / 3 * 3 + 1] * b[3 + i % 3] +
                     a[i / 3 * 3 + 2] * b[6 + i % 3];
    memcpy(ret, product, sizeof product);
}

static void turn_by(double degrees, double matrix[9])
{
    double c = cos(degrees * M_PI / 180), s = sin(degrees * M_PI / 180);
    multiply((const double[]){c, -s, 0, s, c, 0, 0, 0, 1}, matrix, matrix);
}

/* From columns and rows to pixels: turned, shortened in one direction, larger at one end. */
static void place_board(const board *it, double ret[9])
{
    const double start[9] = {it->pitch, 0,         -it->pitch * (it->columns - 1) / 2,
                             0,         it->pitch, -it->pitch * (it->rows - 1) / 2,
                             0,         0,         1};
    memcpy(ret, start, sizeof start);
    turn_by(it->turn_deg - it->tilt_about_deg, ret);
    multiply((const double[]){cos(it->tilt_deg * M_PI / 180), 0, 0, 0, 1, 0, 0, 0, 1}, ret, ret);
    turn_by(it->tilt_about_deg, ret);
    multiply((const double[]){1, 0, 0, 0, 1, 0, it->perspective, 0, 1}, ret, ret);
    multiply((const double[]){1, 0, (WIDTH - 1) / 2.0, 0, 1, (HEIGHT - 1) / 2.0, 0, 0, 1}, ret,
             ret);
}

static void invert(const double a[9], double ret[9])
{
    const double adjoint[9] = {
        a[4] * a[8] - a[5] * a[7], a[2] * a[7] - a[1] * a[8], a[1] * a[5] - a[2] * a[4],
        a[5] * a[6] - a[3] * a[8], a[0] * a[8] - a[2] * a[6], a[2] * a[3] - a[0] * a[5],
        a[3] * a[7] - a[4] * a[6], a[1] * a[6] - a[0] * a[7], a[0] * a[4] - a[1] * a[3]};
    memcpy(ret, adjoint, sizeof adjoint); /* of planes: a factor does not matter */
}

static void apply(const double h[9], double x, double y, double *ret_x, double *ret_y)
{
    double depth = h[6] * x + h[7] * y + h[8];
    *ret_x = (h[0] * x + h[1] * y + h[2]) / depth;
    *ret_y = (h[3] * x + h[4] * y + h[5]) / depth;
}

/* -1 to 1 across the lines of one direction, as a lens of this blur shows them. */
static double wave(double u, double pitch, double blur)
{
    double line = round(u);
    return (fmod(fabs(line), 2) == 0 ? 1 : -1) * erf((u - line) * pitch / (sqrt(2) * blur));
}

static void draw(const board *it, uint64_t seed, crn_picture *ret_picture)
{
    double to_picture[9], to_board[9];
    assert_int_equal(crn_picture_create(CRN_U8, 1, 1, HEIGHT, WIDTH, ret_picture), 0);
    uint8_t *pixels = ret_picture->memory;
    crn_random random = {.state = seed};
    place_board(it, to_picture);
    invert(to_picture, to_board);
    for (int i = 0; i < HEIGHT * WIDTH; i++) {
        double u, v, value = 128, noise = 0;
        apply(to_board, i % WIDTH, i / WIDTH, &u, &v);
        if (u > -1 && u < it->columns && v > -1 && v < it->rows)
            value = (it->bright + it->dark) / 2 + (it->bright - it->dark) / 2 *
                                                      wave(u, it->pitch, it->blur) *
                                                      wave(v, it->pitch, it->blur);
        for (int k = 0; k < 12; k++) /* nearly normal */
            noise += crn_random_unit(&random) - 0.5;
        value = value * (1 + it->shade * ((double)(i % WIDTH) / WIDTH - 0.5)) + it->noise * noise;
        pixels[i] = (uint8_t)fmax(0, fmin(255, round(value)));
    }
}

static int calibrate(const board *it, uint64_t seed, crn_calibration *ret, crn_error *error)
{
    crn_picture picture;
    draw(it, seed, &picture);
    int r =
        crn_calibrate(&picture, "board.png", &(crn_calibration_target){.pitch_mm = 10}, ret, error);
    crn_picture_free(&picture);
    return r;
}

/* All corners are there, each where it was drawn; the scale is that of the board. */
static void expect_found(const board *it, uint64_t seed, double corner_px, double scale_part)
{
    crn_calibration found;
    crn_error error;
    double h[9];
    int off = 0;
    if (calibrate(it, seed, &found, &error) < 0)
        fail_msg("pitch %g, turn %g, blur %g, noise %g: %s", it->pitch, it->turn_deg, it->blur,
                 it->noise, error.text);
    assert_int_equal(found.corners.count, it->columns * it->rows);
    assert_int_equal(found.columns * found.rows, it->columns * it->rows);
    place_board(it, h);
    for (int i = 0; i < it->columns * it->rows; i++) {
        double x, y, nearest = INFINITY;
        apply(h, i % it->columns, i / it->columns, &x, &y);
        for (size_t k = 0; k < found.corners.count; k++)
            nearest = fmin(nearest, hypot(found.corners.at[k].x - x, found.corners.at[k].y - y));
        off += nearest > corner_px;
    }
    double part = found.mm_per_px / (10 / it->pitch) - 1;
    if (off > 0 || fabs(part) > scale_part)
        fail_msg("pitch %g, turn %g, tilt %g, blur %g, noise %g: %d corners off, scale off by %g",
                 it->pitch, it->turn_deg, it->tilt_deg, it->blur, it->noise, off, part);
    assert_non_null(strstr(found.lines, "geometry:\n  mm_per_px: "));
    crn_calibration_done(&found);
}

static void corners_are_where_they_were_drawn(void **state)
{
    (void)state;
    crn_random random = {.state = 31};
    for (uint64_t i = 0; i < 24; i++) {
        board it = usual;
        it.pitch = 11 + 15 * crn_random_unit(&random);
        it.turn_deg = 360 * crn_random_unit(&random);
        it.blur = 0.5 + 0.08 * it.pitch * crn_random_unit(&random);
        it.tilt_deg = 4 * crn_random_unit(&random);
        it.tilt_about_deg = 180 * crn_random_unit(&random);
        it.perspective = 2e-5 * crn_random_unit(&random);
        expect_found(&it, i, 0.08, 0.001);
    }
}

static void noise_shade_and_faint_prints_do_not_matter(void **state)
{
    (void)state;
    board it = usual;
    it.turn_deg = 13;
    for (int i = 0; i < 5; i++) {
        it.noise = 6 * i;
        expect_found(&it, 7, 0.02 + 0.02 * it.noise, 0.001);
    }
    it.noise = 2;
    it.shade = 1;
    expect_found(&it, 8, 0.08, 0.001);
    it.shade = 0;
    it.bright = 128;
    it.dark = 100;
    expect_found(&it, 9, 0.3, 0.002);
    it = usual;
    it.columns = it.rows = 3;
    it.pitch = 70; /* blurred by what the picture itself does not show as corners */
    it.blur = 9;
    expect_found(&it, 10, 0.2, 0.001);
}

static void expect_refused(const board *it, const char *wanted)
{
    crn_calibration found;
    crn_error error = {""};
    int r = calibrate(it, 5, &found, &error);
    if (r >= 0 || !strstr(error.text, wanted) || strchr(error.text, '\n'))
        fail_msg("%d, '%s', not '%s'", r, error.text, wanted);
}

static void what_is_wrong_with_a_picture_is_said(void **state)
{
    (void)state;
    board it = usual;
    it.columns = 2;
    expect_refused(&it, "no chequerboard of at least 4 x 4 squares is found (12 corners in 2 "
                        "columns and 6 rows)");
    it = usual;
    it.blur = 12;
    expect_refused(&it, "blurred");
    it = usual;
    it.tilt_deg = 25;
    expect_refused(&it, "board.png: the board is oblique: inclined by 25 degrees, so that its "
                        "squares are 9.");
    it = usual;
    it.perspective = 3e-4;
    expect_refused(&it, "% larger at one end than at the other; lay it flat");
    it = usual;
    it.bright = it.dark = 128;
    expect_refused(&it, "there is no chequerboard: bright and dark differ by 0 of 255");
}

static void what_could_be_better_is_noted(void **state)
{
    (void)state;
    crn_calibration found;
    crn_error error;
    board it = usual;
    it.tilt_deg = 9;
    assert_int_equal(calibrate(&it, 1, &found, &error), 0);
    assert_int_equal(found.note_count, 1);
    assert_non_null(strstr(found.notes[0], "the board is inclined by 9 degrees"));
    assert_true(fabs(found.mm_per_px / (10 / it.pitch) - 1) < 0.001);
    crn_calibration_done(&found);
    assert_int_equal(calibrate(&usual, 1, &found, &error), 0);
    assert_int_equal(found.note_count, 0);
    crn_calibration_done(&found);
}

/* Noise alone, extremes, and sizes at which there is nothing to look at. */
static void no_picture_is_a_fault(void **state)
{
    (void)state;
    static const int sizes[][2] = {{1, 1}, {1, 700}, {31, 31}, {32, 33}, {200, 200}};
    crn_random random = {.state = 3};
    for (size_t i = 0; i < 3 * sizeof sizes / sizeof *sizes; i++) {
        const int *size = sizes[i / 3];
        crn_picture picture;
        crn_calibration found;
        crn_error error = {""};
        assert_int_equal(crn_picture_create(CRN_U8, 1, 1, size[0], size[1], &picture), 0);
        for (int k = 0; k < size[0] * size[1]; k++)
            ((uint8_t *)picture.memory)[k] = i % 3 == 0 ? (uint8_t)(256 * crn_random_unit(&random))
                                             : i % 3 == 1 ? 255 * (k % 2)
                                                          : 0;
        assert_true(crn_calibrate(&picture, "n.png", &(crn_calibration_target){.pitch_mm = 1},
                                  &found, &error) < 0);
        assert_non_null(strstr(error.text, "n.png: "));
        crn_picture_free(&picture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(corners_are_where_they_were_drawn),
        cmocka_unit_test(noise_shade_and_faint_prints_do_not_matter),
        cmocka_unit_test(what_is_wrong_with_a_picture_is_said),
        cmocka_unit_test(what_could_be_better_is_noted),
        cmocka_unit_test(no_picture_is_a_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

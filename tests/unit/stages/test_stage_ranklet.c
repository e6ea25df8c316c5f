/*
 * The stage `ranklet`, from defects to textures, over a fake operator whose results identify the
 * position of each window; compared with a walk over all positions, written from the definition.
 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/fixture.h"
#include "tests/support/random.h"
#include "tests/support/operators/settings.h"

#define PLANES   3
#define HEIGHT   40
#define WIDTH    64
#define DEFECTS  64
#define TEXTURES (DEFECTS * 4)

/* --- the operator --- */

static struct {
    int calls;
    int64_t positions;
    int result; /* what it returns */
} asked;

/* A function of the pixels under a window that differs at every position. */
static void look(const crn_image *image, int32_t plane, int32_t y, int32_t x, crn_size window,
                 float results[3])
{
    float first = crn_image_at(image, plane, y, x);
    float last = crn_image_at(image, plane, y + window.height - 1, x + window.width - 1);
    results[0] = first / 256 - 0.25f;
    results[1] = (first - last) / 300;
    results[2] = first * last / 70000;
}

static int look_at_all(crn_context *context, const crn_ranklet_params *params, const crn_image *in,
                       crn_image *out)
{
    (void)context;
    crn_size window = {params->width, params->height};
    asked.calls++;
    assert_int_equal(in->type, CRN_U8);
    assert_int_equal(in->planes, 1);
    assert_int_equal(out->type, CRN_F32);
    assert_int_equal(out->planes, 3);
    assert_int_equal(out->width, in->width - window.width + 1);
    assert_int_equal(out->height, in->height - window.height + 1);
    assert_true(out->width > 0 && out->height > 0);
    asked.positions += (int64_t)out->width * out->height;
    for (int32_t y = 0; y < out->height; y++)
        for (int32_t x = 0; x < out->width; x++) {
            float results[3];
            look(in, 0, y, x, window, results);
            for (int32_t i = 0; i < 3; i++)
                ((float *)out->data)[crn_image_index(out, i, y, x)] = results[i];
        }
    return asked.result;
}

static const crn_ops ops = {
    .name = "looking", .ranklet = look_at_all, .narrow = crn_narrow, .mean_boxes = crn_mean_boxes};

/* --- the definition --- */

/* Marks the positions along one side: those whose window's centre lies in the box, else the one
 * nearest to its middle, the higher of two; each clamped to the map. */
static void mark_positions(double low, double high, int32_t window, int32_t length, bool *marks)
{
    double nearest = INFINITY;
    int32_t middle = 0;
    bool any = false;
    memset(marks, 0, (size_t)length * sizeof *marks);
    for (int32_t p = -1000; p <= 1000; p++) {
        double centre = p + (window - 1) / 2.0, off = fabs(centre - (low + high) / 2);
        int32_t moved = p < 0 ? 0 : p > length - window ? length - window : p;
        if (centre >= low && centre <= high)
            any = marks[moved] = true;
        if (off <= nearest) {
            nearest = off;
            middle = moved;
        }
    }
    if (!any)
        marks[middle] = true;
}

static crn_texture expected_texture(const crn_image *map, int32_t plane, const crn_defect *defect,
                                    crn_size window)
{
    bool columns[WIDTH], rows[HEIGHT];
    mark_positions(defect->x0, defect->x1, window.width, WIDTH, columns);
    mark_positions(defect->y0, defect->y1, window.height, HEIGHT, rows);
    double sum[3] = {0}, count = 0;
    for (int32_t y = 0; y < HEIGHT; y++)
        for (int32_t x = 0; x < WIDTH; x++) {
            float results[3];
            if (!rows[y] || !columns[x])
                continue;
            look(map, plane, y, x, window, results);
            for (int i = 0; i < 3; i++)
                sum[i] += (double)results[i];
            count++;
        }
    return (crn_texture){.width = window.width,
                         .height = window.height,
                         .vertical = (float)(sum[0] / count),
                         .horizontal = (float)(sum[1] / count),
                         .diagonal = (float)(sum[2] / count)};
}

/* --- a job --- */

typedef struct ranklet_fixture {
    const crn_stage *stage;
    crn_job job;
    crn_defects defects;
    crn_defect defect[DEFECTS];
    crn_texture texture[TEXTURES];
    uint8_t grey[HEIGHT * WIDTH];
    float maps[PLANES * HEIGHT * WIDTH];
    uint8_t bytes[PLANES * HEIGHT * WIDTH]; /* the maps in 8 bits */
} ranklet_fixture;

static crn_random noise;

static int setup(void **state)
{
    ranklet_fixture *f = *state = calloc(1, sizeof *f);
    memset(&asked, 0, sizeof asked);
    noise.state = 20261121;
    f->stage = crn_stage_find("ranklet");
    f->defects = (crn_defects){.defects = f->defect,
                               .textures = f->texture,
                               .defect_capacity = DEFECTS,
                               .texture_capacity = TEXTURES};
    for (int i = 0; i < HEIGHT * WIDTH; i++)
        f->grey[i] = (uint8_t)crn_random_below(&noise, 256);
    for (int i = 0; i < PLANES * HEIGHT * WIDTH; i++) {
        f->bytes[i] = (uint8_t)crn_random_below(&noise, 256);
        f->maps[i] = ((float)f->bytes[i] + (float)crn_random_below(&noise, 99) / 100 - 0.49f) / 255;
    }
    f->job = (crn_job){.ops = &ops, .defects = &f->defects};
    f->job.received = crn_image_dense(f->maps, CRN_F32, CRN_HWC, PLANES, HEIGHT, WIDTH);
    f->job.maps = (crn_image){.data = NULL}; /* the output of the image stages is not used */
    f->job.intensity = crn_image_dense(f->grey, CRN_U8, CRN_CHW, 1, HEIGHT, WIDTH);
    return crn_context_create(1, &f->job.context);
}

static int teardown(void **state)
{
    ranklet_fixture *f = *state;
    crn_context_free(&f->job.context);
    free(f);
    return 0;
}

static void add_defect(ranklet_fixture *f, int32_t channel, double x0, double y0, double x1,
                       double y1)
{
    assert_true(f->defects.defect_count < DEFECTS);
    f->defect[f->defects.defect_count++] =
        (crn_defect){.channel = channel, .x0 = x0, .y0 = y0, .x1 = x1, .y1 = y1};
}

static int finish(ranklet_fixture *f, const char *windows)
{
    void *settings = crn_stage_settings(f->stage, "windows", windows, NULL);
    crn_error error = {""};
    assert_int_equal(f->stage->prepare(settings, NULL, &error), 0);
    int r = f->stage->finish(settings, &f->job);
    free(settings);
    return r;
}

/* Expects every defect to have exactly these windows' textures, in this order. */
static void assert_textures(const ranklet_fixture *f, const crn_image *map, bool own_plane,
                            const crn_size *windows, uint32_t count)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < f->defects.defect_count; i++) {
        const crn_defect *defect = &f->defect[i];
        assert_int_equal(defect->texture_count, count);
        assert_int_equal(defect->first_texture, first);
        for (uint32_t k = 0; k < count; k++) {
            crn_texture expected =
                expected_texture(map, own_plane ? defect->channel : 0, defect, windows[k]);
            assert_memory_equal(&f->texture[first + k], &expected, sizeof expected);
        }
        first += count;
    }
    assert_int_equal(f->defects.texture_count, first);
    assert_false(f->defects.truncated);
}

/* Boxes at the corners, beyond them, points, thin ones, the whole map. */
static void add_odd_boxes(ranklet_fixture *f)
{
    for (int32_t channel = 0; channel < PLANES; channel++) {
        add_defect(f, channel, -0.5, -0.5, 2.25, 3);
        add_defect(f, channel, -1, -1, WIDTH, HEIGHT);
        add_defect(f, channel, 10, 10, 10, 10);
        add_defect(f, channel, 10.5, 10.5, 10.5, 10.5);
        add_defect(f, channel, 10.2, 4.5, 10.4, 30.5);
        add_defect(f, channel, WIDTH - 1.5, HEIGHT - 2, WIDTH - 0.5, HEIGHT - 0.25);
        for (int i = 0; i < 6; i++) {
            double x = crn_random_below(&noise, WIDTH * 8) / 8.0,
                   y = crn_random_below(&noise, HEIGHT * 8) / 8.0;
            add_defect(f, channel, x, y, x + crn_random_below(&noise, 60) / 8.0,
                       y + crn_random_below(&noise, 60) / 8.0);
        }
    }
}

/* --- the tests --- */

static void test_it_is_a_feature_with_a_texture_a_window(void **state)
{
    ranklet_fixture *f = *state;
    assert_int_equal(f->stage->kind, CRN_STAGE_FEATURE);
    void *settings = crn_stage_settings(f->stage, NULL);
    assert_int_equal(f->stage->textures(settings), 2); /* [8, 16] */
    free(settings);
}

static void test_windows_without_meaning_are_refused(void **state)
{
    ranklet_fixture *f = *state;
    static const char *const bad[][2] = {
        {"7", "7x7"}, {"[8, 4x3]", "4x3"}, {"3x4", "3x4"}, {"[8, 4, 8]", "8x8"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        void *settings = crn_stage_settings(f->stage, "windows", bad[i][0], NULL);
        crn_error error = {""};
        assert_int_equal(f->stage->prepare(settings, NULL, &error), -EINVAL);
        assert_non_null(strstr(error.text, bad[i][1]));
        free(settings);
    }
}

static void test_means_over_the_photograph(void **state)
{
    ranklet_fixture *f = *state;
    static const crn_size windows[] = {{8, 8}, {2, 2}, {16, 4}};
    add_odd_boxes(f);
    assert_int_equal(finish(f, "[8, 2, 16x4]"), 0);
    assert_textures(f, &f->job.intensity, false, windows, 3);
}

static void test_without_a_photograph_the_class_map_in_8_bits(void **state)
{
    ranklet_fixture *f = *state;
    static const crn_size windows[] = {{4, 4}, {6, 2}};
    crn_image bytes = crn_image_dense(f->bytes, CRN_U8, CRN_HWC, PLANES, HEIGHT, WIDTH);
    add_odd_boxes(f);
    f->job.intensity.data = NULL;
    assert_int_equal(finish(f, "[4, 6x2]"), 0);
    assert_textures(f, &bytes, true, windows, 2);
}

static void test_u8_maps_are_taken_as_they_are(void **state)
{
    ranklet_fixture *f = *state;
    static const crn_size windows[] = {{4, 4}};
    for (crn_layout layout = CRN_CHW; layout <= CRN_HWC; layout++) {
        f->defects.defect_count = f->defects.texture_count = 0;
        add_odd_boxes(f);
        f->job.intensity.data = NULL;
        f->job.received = crn_image_dense(f->bytes, CRN_U8, layout, PLANES, HEIGHT, WIDTH);
        assert_int_equal(finish(f, "4"), 0);
        assert_textures(f, &f->job.received, true, windows, 1);
    }
}

/* Rounded to nearest, the only tie (0.5) up, clamped, NaN as 0. */
static void test_probabilities_become_8_bits(void **state)
{
    ranklet_fixture *f = *state;
    static const struct {
        float probability;
        int byte;
    } rows[] = {{0, 0},           {1, 255},         {0.5f, 128},    {0.3f, 77},   {-0.1f, 0},
                {1.5f, 255},      {NAN, 0},         {-INFINITY, 0}, {1e30f, 255}, {INFINITY, 255},
                {0.25f / 255, 0}, {0.75f / 255, 1}, {0.9982f, 255}, {0.998f, 254}};
    f->job.intensity.data = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int k = 0; k < PLANES * HEIGHT * WIDTH; k++)
            f->maps[k] = rows[i].probability;
        f->defects.defect_count = f->defects.texture_count = 0;
        add_defect(f, 1, 8.5, 8.5, 8.5, 8.5);
        assert_int_equal(finish(f, "2"), 0);
        assert_true(f->texture[0].vertical == (float)rows[i].byte / 256 - 0.25f);
    }
    /* The same from f16. */
    static uint16_t halves[PLANES * HEIGHT * WIDTH];
    for (int k = 0; k < PLANES * HEIGHT * WIDTH; k++)
        halves[k] = 0x3a00; /* 0.75: 191.25 */
    f->job.received = crn_image_dense(halves, CRN_F16, CRN_CHW, PLANES, HEIGHT, WIDTH);
    f->defects.defect_count = f->defects.texture_count = 0;
    add_defect(f, 2, 8.5, 8.5, 8.5, 8.5);
    assert_int_equal(finish(f, "2"), 0);
    assert_true(f->texture[0].vertical == 191.0f / 256 - 0.25f);
}

/* Few distant boxes: each alone. Many overlapping ones: all at once. Never more than the map. */
static void test_the_cost_is_bounded(void **state)
{
    ranklet_fixture *f = *state;
    static const crn_size windows[] = {{4, 4}, {8, 8}};
    add_defect(f, 0, 5, 5, 8, 8);
    add_defect(f, 1, 50, 30, 53, 33);
    assert_int_equal(finish(f, "[4, 8]"), 0);
    assert_int_equal(asked.calls, 4);
    assert_int_equal(asked.positions, 4 * 3 * 3);
    assert_textures(f, &f->job.intensity, false, windows, 2);

    asked.calls = 0;
    asked.positions = 0;
    f->defects.defect_count = f->defects.texture_count = 0;
    for (int i = 0; i < DEFECTS; i++)
        add_defect(f, 0, -1, -1, WIDTH - i / 8, HEIGHT - i % 8);
    assert_int_equal(finish(f, "[4, 8]"), 0);
    assert_int_equal(asked.calls, 2);
    assert_true(asked.positions <= 2 * HEIGHT * WIDTH);
    assert_textures(f, &f->job.intensity, false, windows, 2);
}

static void test_windows_larger_than_the_map_are_left_out(void **state)
{
    ranklet_fixture *f = *state;
    static const crn_size windows[] = {{64, 40}, {8, 8}};
    add_odd_boxes(f);
    assert_int_equal(finish(f, "[66x2, 64x40, 2x42, 8, 100]"), 0);
    assert_textures(f, &f->job.intensity, false, windows, 2);
    f->defects.defect_count = f->defects.texture_count = 0;
    add_odd_boxes(f);
    assert_int_equal(finish(f, "100"), 0);
    assert_textures(f, &f->job.intensity, false, windows, 0);
}

/* A second stage's textures follow the first's, defect by defect. */
static void test_the_stage_may_stand_twice(void **state)
{
    ranklet_fixture *f = *state;
    static const crn_size windows[] = {{4, 4}, {8, 8}, {2, 6}};
    add_odd_boxes(f);
    assert_int_equal(finish(f, "4"), 0);
    assert_int_equal(finish(f, "[8, 2x6]"), 0);
    assert_textures(f, &f->job.intensity, false, windows, 3);
}

static void test_what_finds_no_room_is_left_out(void **state)
{
    ranklet_fixture *f = *state;
    for (int i = 0; i < 4; i++)
        add_defect(f, 0, 10 * i, 10, 10 * i + 3, 12);
    f->defects.texture_capacity = 9;
    assert_int_equal(finish(f, "4"), 0);
    assert_false(f->defects.truncated);
    assert_int_equal(finish(f, "[8, 2x6]"), 0); /* two defects of four */
    assert_true(f->defects.truncated);
    assert_int_equal(f->defects.texture_count, 8);
    static const crn_size windows[] = {{4, 4}, {8, 8}, {2, 6}};
    static const uint32_t counts[] = {3, 3, 1, 1};
    uint32_t first = 0;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(f->defect[i].texture_count, counts[i]);
        assert_int_equal(f->defect[i].first_texture, first);
        first += counts[i];
        for (uint32_t k = 0; k < counts[i]; k++) {
            crn_texture expected =
                expected_texture(&f->job.intensity, 0, &f->defect[i], windows[k]);
            assert_memory_equal(&f->texture[f->defect[i].first_texture + k], &expected,
                                sizeof expected);
        }
    }
}

static void test_no_defects_ask_for_nothing(void **state)
{
    ranklet_fixture *f = *state;
    f->defects.textures = NULL;
    f->defects.texture_capacity = 0;
    assert_int_equal(finish(f, "[4, 8]"), 0);
    assert_int_equal(asked.calls, 0);
    assert_false(f->defects.truncated);
}

static void test_an_operators_failure_fails_the_stage(void **state)
{
    ranklet_fixture *f = *state;
    asked.result = -ENOMEM;
    add_defect(f, 0, 5, 5, 8, 8);
    assert_int_equal(finish(f, "8"), -ENOMEM);
}

/* A box with invalid numbers is clamped to the map. */
static void test_boxes_beyond_numbers_are_harmless(void **state)
{
    ranklet_fixture *f = *state;
    add_defect(f, 0, NAN, NAN, NAN, NAN);
    add_defect(f, 0, -INFINITY, -DBL_MAX, INFINITY, DBL_MAX);
    assert_int_equal(finish(f, "8"), 0);
    assert_int_equal(f->defects.texture_count, 2);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_a_feature_with_a_texture_a_window),
        cmocka_unit_test(test_windows_without_meaning_are_refused),
        cmocka_unit_test(test_means_over_the_photograph),
        cmocka_unit_test(test_without_a_photograph_the_class_map_in_8_bits),
        cmocka_unit_test(test_u8_maps_are_taken_as_they_are),
        cmocka_unit_test(test_probabilities_become_8_bits),
        cmocka_unit_test(test_the_cost_is_bounded),
        cmocka_unit_test(test_windows_larger_than_the_map_are_left_out),
        cmocka_unit_test(test_the_stage_may_stand_twice),
        cmocka_unit_test(test_what_finds_no_room_is_left_out),
        cmocka_unit_test(test_no_defects_ask_for_nothing),
        cmocka_unit_test(test_an_operators_failure_fails_the_stage),
        cmocka_unit_test(test_boxes_beyond_numbers_are_harmless),
    };
    CRN_SET_FIXTURE(tests, setup, teardown);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

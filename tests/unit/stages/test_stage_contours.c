/* The stage `contours`, from maps to defects, over the serial operator. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/stage/stage.h"
#include "tests/support/cmocka_prelude.h"

#define POINTS 65536
#define COUNT  8192

#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))

static const crn_ops ops = {
    .name = "serial", .contours = crn_contours_serial, .sum_runs = crn_sum_runs};

typedef struct contours_fixture {
    const crn_stage *stage;
    char settings[256];
    crn_classes classes;
    crn_defects defects;
    crn_job job;
} contours_fixture;

static const crn_param *param_named(const crn_stage *stage, const char *key)
{
    const crn_param *param = stage->params;
    for (; strcmp(param->key, key) != 0; param++)
        assert_non_null(param[1].key);
    return param;
}

static void set_number(contours_fixture *f, const char *key, double value)
{
    const crn_param *param = param_named(f->stage, key);
    assert_int_equal(param->type, CRN_PARAM_REAL);
    memcpy(f->settings + param->offset, &value, sizeof value);
}

static void set_choice(contours_fixture *f, const char *key, const char *value)
{
    const crn_param *param = param_named(f->stage, key);
    assert_int_equal(param->type, CRN_PARAM_CHOICE);
    int32_t choice = 0;
    for (; strcmp(param->choices[choice], value) != 0; choice++)
        assert_non_null(param->choices[choice + 1]);
    memcpy(f->settings + param->offset, &choice, sizeof choice);
}

static int setup(void **state)
{
    static contours_fixture it;
    static crn_defect defects[COUNT];
    static crn_contour contours[COUNT];
    static crn_point points[POINTS];
    static float xy[2 * POINTS];
    contours_fixture *f = *state = &it;
    memset(f, 0, sizeof *f);
    f->stage = crn_stage_find("contours");
    assert_true(f->stage->settings_bytes <= sizeof f->settings);
    for (const crn_param *param = f->stage->params; param->key; param++) {
        if (param->type == CRN_PARAM_CHOICE)
            set_choice(f, param->key, param->fallback);
        else
            set_number(f, param->key, atof(param->fallback));
    }
    f->classes.count = 1;
    f->classes.level[0] = 0.5;
    f->defects = (crn_defects){
        .defects = defects, .xy = xy, .defect_capacity = COUNT, .point_capacity = POINTS};
    f->job = (crn_job){.ops = &ops, .classes = &f->classes, .defects = &f->defects};
    f->job.contours = (crn_contours){.points = points,
                                     .contours = contours,
                                     .point_capacity = POINTS,
                                     .contour_capacity = COUNT};
    return crn_context_create(1, &f->job.context);
}

static int teardown(void **state)
{
    crn_context_free(&((contours_fixture *)*state)->job.context);
    return 0;
}

static void outline(contours_fixture *f, crn_image maps)
{
    f->job.received = f->job.maps = maps;
    assert_int_equal(f->stage->enqueue(f->settings, &f->job), 0);
    assert_int_equal(f->stage->finish(f->settings, &f->job), 0);
}

/* Parses a map of one plane: '#' 1, '=' at the level, '.' 0, '?' NaN. */
static crn_image drawn(float *pixels, const char *const *rows, int32_t height)
{
    int32_t width = (int32_t)strlen(rows[0]);
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++)
            pixels[y * width + x] = rows[y][x] == '#'   ? 1
                                    : rows[y][x] == '=' ? 0.5f
                                    : rows[y][x] == '?' ? NAN
                                                        : 0;
    return crn_image_dense(pixels, CRN_F32, CRN_CHW, 1, height, width);
}

static void test_parameters(void **state)
{
    contours_fixture *f = *state;
    const char *const keys[] = {"connectivity", "orientation", "border", "min_area_px"};
    const char *const fallbacks[] = {"low", "low", "closed", "0"};
    for (int i = 0; i < 4; i++)
        assert_string_equal(param_named(f->stage, keys[i])->fallback, fallbacks[i]);
    assert_string_equal(param_named(f->stage, "connectivity")->choices[CRN_CONNECT_HIGH], "high");
    assert_string_equal(param_named(f->stage, "orientation")->choices[CRN_ORIENT_HIGH], "high");
    assert_string_equal(param_named(f->stage, "border")->choices[CRN_BORDER_OPEN], "open");
    assert_true(param_named(f->stage, "min_area_px")->min == 0);
}

static void test_a_chain_that_outlines_nothing_is_refused(void **state)
{
    contours_fixture *f = *state;
    crn_error error = {""};
    f->classes = (crn_classes){.count = 2, .level = {NAN, 0.3}};
    assert_int_equal(f->stage->prepare(f->settings, &f->classes, &error), 0);
    assert_string_equal(error.text, "");
    f->classes.level[1] = NAN;
    assert_int_equal(f->stage->prepare(f->settings, &f->classes, &error), -EINVAL);
    assert_non_null(strstr(error.text, "level"));
    assert_null(strchr(error.text, '\n'));
}

/* An operator that only records its parameters. */
static crn_contours_params asked;
static double asked_levels[3];

static int ask(crn_context *context, const crn_contours_params *params, const crn_image *in,
               crn_contours *out)
{
    (void)context;
    (void)out;
    asked = *params;
    memcpy(asked_levels, params->levels, (size_t)in->planes * sizeof *asked_levels);
    return 0;
}

static void test_levels_are_in_the_maps_own_values(void **state)
{
    contours_fixture *f = *state;
    const crn_ops asking = {.name = "asking", .contours = ask};
    f->job.ops = &asking;
    f->classes = (crn_classes){.count = 3, .level = {0.1, NAN, 0.7}};
    set_choice(f, "connectivity", "high");
    float pixels[3 * 4] = {0};
    f->job.maps = crn_image_dense(pixels, CRN_U8, CRN_HWC, 3, 2, 2);
    assert_int_equal(f->stage->enqueue(f->settings, &f->job), 0);
    assert_true(asked_levels[0] == 0.1 * 255 && asked_levels[2] == 0.7 * 255);
    assert_true(isnan(asked_levels[1]));
    assert_null(asked.mask);
    assert_int_equal(asked.connectivity, CRN_CONNECT_HIGH);
    assert_int_equal(asked.orientation, CRN_ORIENT_LOW);
    assert_int_equal(asked.border, CRN_BORDER_CLOSED);
    for (int type = CRN_F16; type <= CRN_F32; type++) {
        f->job.maps.type = (crn_type)type;
        assert_int_equal(f->stage->enqueue(f->settings, &f->job), 0);
        assert_true(asked_levels[0] == 0.1 && isnan(asked_levels[1]) && asked_levels[2] == 0.7);
    }
    f->job.maps.planes = 2;
    assert_int_equal(f->stage->enqueue(f->settings, &f->job), -EINVAL);
}

static void test_rectangle(void **state)
{
    contours_fixture *f = *state;
    float pixels[5 * 7];
    const char *rows[] = {".......", ".####..", ".####..", ".####..", "......."};
    outline(f, drawn(pixels, rows, 5));
    assert_int_equal(f->defects.defect_count, 1);
    const crn_defect *d = f->defects.defects;
    /* The contour runs half-way between pixels and cuts the corners: 4 of 1/8 px. */
    assert_true(d->area_px == 4 * 3 - 0.5);
    assert_near(d->perimeter_px, 2 * (3 + 2) + 4 * sqrt(0.5), 1e-14);
    assert_true(d->x0 == 0.5 && d->y0 == 0.5 && d->x1 == 4.5 && d->y1 == 3.5);
    assert_near(d->centroid_x, 2.5, 1e-15);
    assert_near(d->centroid_y, 2, 1e-15);
    assert_true(d->mean_probability == 1);
    assert_true(d->closed && !d->hole);
    assert_true(d->parent == -1 && d->first_point == 0);
    assert_int_equal(d->point_count, f->defects.point_count);
    for (uint32_t i = 0; i < f->defects.point_count; i++) {
        assert_true(f->defects.xy[2 * i] == (float)f->job.contours.points[i].x);
        assert_true(f->defects.xy[2 * i + 1] == (float)f->job.contours.points[i].y);
    }
}

/*
 * A cone, 0.5 at distance R from its centre. Distance is convex, so linear interpolation along an
 * edge puts points inside the circle, by at most 1/8 of its curvature 1/(R - 1); a chord of at most
 * sqrt 2 lies inside by at most another 2/8R. So the polygon is convex and lies between R - e and
 * R.
 */
static void test_circle(void **state)
{
    contours_fixture *f = *state;
    static float pixels[64 * 64];
    for (int r = 3; r <= 24; r += 7) {
        for (int y = 0; y < 64; y++)
            for (int x = 0; x < 64; x++)
                pixels[y * 64 + x] = (float)(0.5 + (r - hypot(x - 31, y - 32)) / 128);
        outline(f, crn_image_dense(pixels, CRN_F32, CRN_HWC, 1, 64, 64));
        assert_int_equal(f->defects.defect_count, 1);
        const crn_defect *d = f->defects.defects;
        double rounding = 1e-4; /* of the map's values to f32, times 128, along the contour */
        double e = 1. / 8 / (r - 1) + 2. / 8 / r + rounding, least = r - e, most = r + rounding;
        assert_true(d->area_px <= M_PI * most * most && d->area_px >= M_PI * least * least);
        assert_true(d->perimeter_px <= 2 * M_PI * most && d->perimeter_px >= 2 * M_PI * least);
        assert_near(d->centroid_x, 31, rounding);
        assert_near(d->centroid_y, 32, rounding);
    }
}

static const char *const nested[] = {
    "...............", ".#############.", ".#...........#.", ".#.#######.#.#.",
    ".#.#.....#...#.", ".#.#.#.#.#...#.", ".#.#.....#...#.", ".#.#######...#.",
    ".#...........#.", ".#############.", "...............",
};

/* In canonical order: the frame, its hole, the ring in
 * it, the dot beside, the ring's hole, its two dots. */
static void test_holes_and_parents_do_not_depend_on_orientation(void **state)
{
    contours_fixture *f = *state;
    const bool hole[] = {false, true, false, false, true, false, false};
    const int32_t parent[] = {-1, 0, 1, 1, 2, 4, 4};
    float pixels[11 * 15];
    crn_image image = drawn(pixels, nested, 11);
    float first_way[2 * 64] = {0};
    for (int high = 0; high < 2; high++) {
        set_choice(f, "orientation", high ? "high" : "low");
        outline(f, image);
        assert_int_equal(f->defects.defect_count, 7);
        for (int i = 0; i < 7; i++) {
            const crn_defect *d = &f->defects.defects[i];
            assert_true(d->closed);
            assert_int_equal(d->hole, hole[i]);
            assert_int_equal(d->parent, parent[i]);
        }
        const crn_defect *d = f->defects.defects;
        assert_true(d[0].area_px == 13 * 9 - 0.5);
        assert_true(d[1].area_px == 11 * 7 + 0.5 - 1); /* cut the other way: 11 x 7 less corners */
        assert_true(d[0].mean_probability == (40 + 20 + 1 + 2) / 117.);
        assert_true(d[4].mean_probability == 2 / 15.);
        /* The points are in reverse order. */
        uint32_t n = d[0].point_count;
        for (uint32_t k = 0; k < 2 * n; k++) {
            if (high)
                assert_true(f->defects.xy[2 * (n - 1 - k / 2) + k % 2] == first_way[k]);
            else
                first_way[k] = f->defects.xy[k];
        }
    }
}

static void test_blobs_that_share_a_wall_at_the_level_are_neighbours(void **state)
{
    contours_fixture *f = *state;
    const char *rows[] = {".......", ".#=#.#.", ".#=#.#.", "......."};
    float pixels[4 * 7];
    for (int high = 0; high < 2; high++) {
        set_choice(f, "orientation", high ? "high" : "low");
        outline(f, drawn(pixels, rows, 4));
        assert_int_equal(f->defects.defect_count, 3);
        for (int i = 0; i < 3; i++)
            assert_int_equal(f->defects.defects[i].parent, -1);
    }
}

static void test_min_area_leaves_out_outers_and_holes_alike(void **state)
{
    contours_fixture *f = *state;
    const char *rows[] = {"#########", "#.......#", "#.#####.#", "#.#...#.#", "#.#.#.#.#",
                          "#.#...#.#", "#.#####.#", "#.......#", "#########"};
    float pixels[9 * 9];
    crn_image image = drawn(pixels, rows, 9);
    set_number(f, "min_area_px", 0.5); /* the dot's area: a value equal to the bound is kept */
    outline(f, image);
    assert_int_equal(f->defects.defect_count, 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(f->defects.defects[i].parent, i - 1);
        assert_int_equal(f->defects.defects[i].hole, i % 2);
    }
    set_number(f, "min_area_px", 9); /* the inner hole is of 8.5 px */
    outline(f, image);
    assert_true(f->defects.defect_count == 3 && !f->defects.truncated);
    for (int i = 0; i < 3; i++)
        assert_int_equal(f->defects.defects[i].parent, i - 1);
}

static void fill(float *pixels, int y0, int x0, int y1, int x1, float value)
{
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++)
            pixels[y * 40 + x] = value;
}

/* A frame, and in it a U 5 pixels wide with a groove whose ends are NaN: the groove's two lines are
 * open, and closed by their chords they are larger than the U around them. */
static void test_a_parent_left_out_hands_its_children_on(void **state)
{
    contours_fixture *f = *state;
    static float pixels[40 * 40];
    fill(pixels, 0, 0, 40, 40, 1);
    fill(pixels, 1, 1, 39, 39, 0);
    fill(pixels, 4, 4, 36, 36, 1);
    fill(pixels, 4, 9, 31, 31, 0);
    fill(pixels, 6, 6, 34, 34, 0);
    fill(pixels, 6, 7, 33, 33, 1);
    fill(pixels, 4, 9, 31, 31, 0);
    pixels[6 * 40 + 6] = pixels[6 * 40 + 33] = NAN;
    crn_image image = crn_image_dense(pixels, CRN_F32, CRN_CHW, 1, 40, 40);
    outline(f, image);
    const crn_defect *d = f->defects.defects;
    assert_int_equal(f->defects.defect_count, 5);
    assert_true(!d[0].hole && d[1].hole && d[2].closed && !d[3].closed && !d[4].closed);
    assert_true(d[2].parent == 1 && d[3].parent == 2 && d[4].parent == 2);
    set_number(f, "min_area_px", d[2].area_px + 1);
    outline(f, image);
    assert_int_equal(f->defects.defect_count, 4);
    assert_true(d[1].parent == 0 && d[2].parent == 1 && d[3].parent == 1);
    assert_true(!d[2].closed && !d[3].closed);
}

static void test_classes_follow_each_other_and_do_not_nest(void **state)
{
    contours_fixture *f = *state;
    float pixels[3][5 * 5] = {{0}};
    for (int y = 1; y < 4; y++)
        for (int x = 1; x < 4; x++)
            pixels[0][y * 5 + x] = pixels[2][y * 5 + x] = (x != 2 || y != 2) ? 0.75f : 0.25f;
    pixels[1][2 * 5 + 2] = 1;
    f->classes = (crn_classes){.count = 3, .level = {0.5, 0.25, 0.5}};
    outline(f, crn_image_dense(pixels, CRN_F32, CRN_CHW, 3, 5, 5));
    const int channel[] = {0, 0, 1, 2, 2}, parent[] = {-1, 0, -1, -1, 3};
    assert_int_equal(f->defects.defect_count, 5);
    uint32_t points = 0;
    for (int i = 0; i < 5; i++) {
        const crn_defect *d = &f->defects.defects[i];
        assert_int_equal(d->channel, channel[i]);
        assert_int_equal(d->parent, parent[i]);
        assert_int_equal(d->first_point, points);
        assert_true(d->mean_probability == (i == 2 ? 1 : d->hole ? 0.25 : (8 * 0.75 + 0.25) / 9));
        points += d->point_count;
    }
}

static void test_what_does_not_fit_leaves_a_prefix(void **state)
{
    contours_fixture *f = *state;
    float pixels[11 * 15];
    crn_image image = drawn(pixels, nested, 11);
    outline(f, image);
    uint32_t all = f->defects.defect_count, points = f->defects.point_count;
    crn_defect whole[7];
    float xy[512];
    assert_true(all == 7 && 2 * points <= 512);
    memcpy(whole, f->defects.defects, sizeof whole);
    memcpy(xy, f->defects.xy, 2 * points * sizeof *xy);
    for (uint32_t defects = 0; defects <= all; defects++)
        for (uint32_t room_for = 0; room_for <= points; room_for++) {
            f->defects.defect_capacity = defects;
            f->defects.point_capacity = room_for;
            outline(f, image);
            uint32_t fit = 0, used = 0;
            while (fit < defects && used + whole[fit].point_count <= room_for)
                used += whole[fit++].point_count;
            assert_int_equal(f->defects.defect_count, fit);
            assert_int_equal(f->defects.point_count, used);
            assert_int_equal(f->defects.truncated, fit < all);
            assert_memory_equal(f->defects.defects, whole, fit * sizeof *whole);
            assert_memory_equal(f->defects.xy, xy, 2 * used * sizeof *xy);
        }
    f->defects.defect_capacity = COUNT;
    f->defects.point_capacity = POINTS;
    f->job.contours.contour_capacity = 3; /* the operator's own limit is passed on */
    outline(f, image);
    assert_int_equal(f->defects.defect_count, 3);
    assert_true(f->defects.truncated);
}

static void test_at_the_border(void **state)
{
    contours_fixture *f = *state;
    const char *rows[] = {"##...", "##...", "....."};
    float pixels[15];
    crn_image image = drawn(pixels, rows, 3);
    outline(f, image);
    assert_int_equal(f->defects.defect_count, 1);
    const crn_defect *d = f->defects.defects;
    assert_true(d->closed && d->x0 == -0.5 && d->y0 == -0.5 && d->area_px == 3.5);
    assert_true(d->mean_probability == 1);

    /* Open: from (0, 1.5) to (1.5, 0), and the chord back. */
    set_choice(f, "border", "open");
    outline(f, image);
    assert_int_equal(f->defects.defect_count, 1);
    assert_true(!d->closed && !d->hole);
    assert_true(d->area_px == 1.5 * 1.5 - 0.125 - 1.5 * 1.5 / 2);
    assert_near(d->perimeter_px, 2 + sqrt(0.5), 1e-15);
    assert_true(d->mean_probability == 1); /* the pixel (1, 1) */
    /* Around a low corner it is not a hole either. */
    for (int i = 0; i < 15; i++)
        pixels[i] = 1 - pixels[i];
    outline(f, image);
    assert_true(!d->closed && !d->hole && d->area_px == 1);
}

static void test_without_a_pixel_inside_the_mean_is_the_level(void **state)
{
    contours_fixture *f = *state;
    const char *corner[] = {"#..", "...", "..."};
    float pixels[3 * 3];
    set_choice(f, "border", "open");
    f->classes.level[0] = 0.25;
    outline(f, drawn(pixels, corner, 3));
    assert_int_equal(f->defects.defect_count, 1);
    assert_true(f->defects.defects->mean_probability == 0.25);
}

static void test_nan_is_left_out_of_the_mean(void **state)
{
    contours_fixture *f = *state;
    const char *rows[] = {"........", ".######.", ".######.", ".##?###.",
                          ".######.", ".######.", "........"};
    float pixels[56];
    crn_image image = drawn(pixels, rows, 7);
    pixels[2 * 8 + 2] = 0.75;
    outline(f, image);
    assert_int_equal(f->defects.defect_count, 1);
    assert_true(f->defects.defects->mean_probability == (28 + 0.75) / 29);
}

static void test_u8_maps_give_probabilities(void **state)
{
    contours_fixture *f = *state;
    uint8_t pixels[5 * 5 * 2] = {0};
    /* Class 0 has no level, although it is high everywhere. */
    for (int i = 0; i < 25; i++)
        pixels[2 * i] = 255;
    pixels[2 * 12 + 1] = 204;
    pixels[2 * 13 + 1] = 153;
    f->classes = (crn_classes){.count = 2, .level = {NAN, 0.4}};
    outline(f, crn_image_dense(pixels, CRN_U8, CRN_HWC, 2, 5, 5));
    assert_int_equal(f->defects.defect_count, 1);
    const crn_defect *d = f->defects.defects;
    assert_int_equal(d->channel, 1);
    assert_true(d->x0 == 1.5 && d->x1 == 3 + (102. - 153) / (0 - 153));
    assert_true(d->mean_probability == (204 + 153) / 2. / 255);
}

static void test_the_mean_is_of_what_was_received(void **state)
{
    contours_fixture *f = *state;
    const char *rows[] = {".....", ".###.", ".###.", "....."};
    float pixels[20];
    uint8_t received[20];
    for (int i = 0; i < 20; i++)
        received[i] = (uint8_t)(10 * i);
    f->job.received = crn_image_dense(received, CRN_U8, CRN_CHW, 1, 4, 5);
    f->job.maps = drawn(pixels, rows, 4);
    assert_int_equal(f->stage->enqueue(f->settings, &f->job), 0);
    assert_int_equal(f->stage->finish(f->settings, &f->job), 0);
    assert_true(f->defects.defects->mean_probability ==
                (60 + 70 + 80 + 110 + 120 + 130) / 6. / 255);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_parameters),
        TEST(test_a_chain_that_outlines_nothing_is_refused),
        TEST(test_levels_are_in_the_maps_own_values),
        TEST(test_rectangle),
        TEST(test_circle),
        TEST(test_holes_and_parents_do_not_depend_on_orientation),
        TEST(test_blobs_that_share_a_wall_at_the_level_are_neighbours),
        TEST(test_min_area_leaves_out_outers_and_holes_alike),
        TEST(test_a_parent_left_out_hands_its_children_on),
        TEST(test_classes_follow_each_other_and_do_not_nest),
        TEST(test_what_does_not_fit_leaves_a_prefix),
        TEST(test_at_the_border),
        TEST(test_without_a_pixel_inside_the_mean_is_the_level),
        TEST(test_nan_is_left_out_of_the_mean),
        TEST(test_u8_maps_give_probabilities),
        TEST(test_the_mean_is_of_what_was_received),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

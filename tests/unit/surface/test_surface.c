/* crn_surface: outlines made by hand, whose measures are known, and what is refused. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/surface/outlines.h"

#define DEG    (M_PI / 180)
#define R_MM   20.0 /* of outlines_view() */
#define SPHERE (4 * M_PI * R_MM * R_MM)

enum { VIEWS = 8 };

static crn_context *context;
static crn_surface *surface;
static const crn_surface_fruit *fruit;
static outlines drawn[VIEWS];
static crn_surface_view views[VIEWS];

static const crn_surface_settings usual = {
    .classes = 2, .views = VIEWS, .defects = VIEWS * OUTLINES_COUNT, .points = 1 << 19};

static int set_up(void **state)
{
    (void)state;
    assert_int_equal(crn_context_open(NULL, &context), 0);
    return crn_surface_open(context, &usual, &surface);
}

static int tear_down(void **state)
{
    (void)state;
    crn_surface_free(&surface);
    crn_context_free(&context);
    return 0;
}

/* Views without outlines, a step apart. */
static void draw_nothing(int count)
{
    for (int i = 0; i < count; i++) {
        outlines_clear(&drawn[i]);
        views[i] = outlines_view(&drawn[i], 2 * M_PI * i / count);
    }
}

static void measure(int count)
{
    if (crn_surface_measure(surface, views, count, &fruit) != 0)
        fail_msg("%s", crn_context_error(context));
    assert_string_equal(crn_context_error(context), "");
}

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.12g is not %.12g", value, expected);
}

static void assert_refused(int count, const char *text)
{
    const crn_surface_fruit *before = fruit;
    assert_int_equal(crn_surface_measure(surface, views, count, &fruit), -EINVAL);
    if (!strstr(crn_context_error(context), text))
        fail_msg("'%s' does not say '%s'", crn_context_error(context), text);
    assert_ptr_equal(fruit, before);
}

/* A circle of the sphere of `radius` about (lambda, v) in every view that faces its middle; what
 * turns away is drawn along the rim. */
static void draw_spot(int count, double lambda, double v, double radius)
{
    for (int i = 0; i < count; i++) {
        double at = lambda + views[i].pose.roll_rad, r = sqrt(1 - v * v);
        const double p[3] = {r * sin(at), v, r * cos(at)};
        const double s[3] = {cos(at), 0, -sin(at)};
        const double t[3] = {-v * sin(at), r, -v * cos(at)};
        float xy[2 * 128];
        int facing = 0;
        for (int k = 0; k < 128; k++) {
            double phi = 2 * M_PI * k / 128, q[3];
            for (int j = 0; j < 3; j++)
                q[j] = cos(radius) * p[j] + sin(radius) * (cos(phi) * s[j] + sin(phi) * t[j]);
            double out = q[2] < 0 ? 1 / hypot(q[0], q[1]) : 1;
            facing += q[2] >= 0;
            xy[2 * k] = (float)(50 + 40 * out * q[0]);
            xy[2 * k + 1] = (float)(47 + 40 * out * q[1]);
        }
        if (facing > 1)
            outlines_add(&drawn[i], xy, 128);
    }
}

static double cap(double radius)
{
    return 2 * M_PI * R_MM * R_MM * (1 - cos(radius));
}

/* --- what is measured --- */

static void an_empty_fruit_has_its_size_and_coverage(void **state)
{
    (void)state;
    draw_nothing(4);
    measure(4);
    assert_near(fruit->diameter_mm, 40, 1e-9);
    assert_near(fruit->length_mm, 40, 1e-9);
    assert_near(fruit->surface_mm2, SPHERE, 1e-6);
    assert_near(fruit->coverage, 0.957, 0.002);
    assert_int_equal(fruit->defect_count, 0);
    assert_true(fruit->totals[0].count == 0 && fruit->totals[1].area_mm2 == 0);
    measure(1); /* a cap of 75 degrees */
    assert_near(fruit->coverage, (1 - cos(75 * DEG)) / 2, 0.002);
}

static void a_spot_counts_once_wherever_it_is(void **state)
{
    (void)state;
    for (int count = 4; count <= VIEWS; count += 2)
        for (int turn = 0; turn < 360; turn += 5)
            for (int row = -2; row <= 2; row++) {
                draw_nothing(count);
                draw_spot(count, turn * DEG, 0.45 * row, 0.2);
                measure(count);
                assert_int_equal(fruit->defect_count, 1);
                assert_near(fruit->totals[0].area_mm2 / cap(0.2), 1, row * row == 4 ? 0.03 : 0.004);
                assert_near(fruit->defects[0].length_mm / (2 * R_MM * sin(0.2)), 1, 0.02);
                assert_near(remainder(fruit->defects[0].lambda_rad - turn * DEG, 2 * M_PI), 0,
                            row * row == 4 ? 0.2 : 0.03);
                assert_near(fruit->defects[0].v, 0.45 * row, 0.02);
            }
}

static void a_spot_of_one_view_has_its_area_up_to_the_limb(void **state)
{
    (void)state;
    for (int turn = 0; turn <= 60; turn += 10) {
        draw_nothing(1);
        draw_spot(1, turn * DEG, 0, 0.25);
        measure(1);
        assert_near(fruit->totals[0].area_mm2 / cap(0.25), 1, turn < 60 ? 0.003 : 0.01);
    }
    draw_nothing(1);
    draw_spot(1, M_PI / 2, 0, 0.25); /* half of it is beyond the limb */
    measure(1);
    assert_near(fruit->totals[0].area_mm2 / cap(0.25), 0.5, 0.05);
}

static void what_no_view_sees_is_not_measured(void **state)
{
    (void)state;
    draw_nothing(4);
    draw_spot(4, 120 * DEG, 0, 0.2);
    assert_int_equal(drawn[2].defects.defect_count, 1);
    measure(2);
    assert_int_equal(fruit->defect_count, 0);
    assert_near(fruit->coverage, 0.6, 0.05);
}

static void two_spots_side_by_side_at_a_border_stay_two(void **state)
{
    (void)state;
    draw_nothing(4);
    draw_spot(4, 45 * DEG, 0.3, 0.15);
    draw_spot(4, 45 * DEG, -0.3, 0.15);
    measure(4);
    assert_int_equal(fruit->defect_count, 2);
    assert_int_equal(fruit->defects[0].part_count, 2);
}

/* A patch in the middle of the view's upper end, from a height on, of 40 px. */
static void draw_patch(int view, float from_px, float to_px, int32_t channel)
{
    float from = 47 + from_px, to = 47 + to_px;
    outlines_add(&drawn[view], (float[]){48, from, 52, from, 52, to, 48, to}, 4)->channel = channel;
}

/* What views on opposite sides show of a spot over a pole has no border in common. */
static void what_reaches_a_pole_from_two_sides_is_one(void **state)
{
    (void)state;
    draw_nothing(4);
    draw_patch(0, 34, 39.3f, 0);
    draw_patch(2, 34, 39.3f, 0);
    measure(4);
    assert_true(fruit->defect_count == 1 && fruit->defects[0].views == 5);
    draw_patch(1, 34, 38.5f, 0); /* ends before the pole */
    draw_patch(2, -34, -39.3f, 0);
    draw_patch(3, 34, 39.3f, 1);
    measure(4);
    assert_int_equal(fruit->defect_count, 4);
}

static void a_hole_is_subtracted_from_its_own_defect(void **state)
{
    (void)state;
    for (int turn = 0; turn < 90; turn += 9) { /* within a strip, and across a border */
        draw_nothing(4);
        draw_spot(4, turn * DEG, 0.1, 0.4);
        draw_spot(4, turn * DEG, 0.1, 0.2);
        for (int i = 0; i < 4; i++)
            if (drawn[i].defects.defect_count == 2) {
                drawn[i].all[1].hole = true;
                drawn[i].all[1].parent = 0;
            }
        measure(4);
        assert_int_equal(fruit->defect_count, 1);
        assert_near(fruit->totals[0].area_mm2 / (cap(0.4) - cap(0.2)), 1, 0.005);
        for (uint32_t i = 0; i < fruit->part_count; i++)
            assert_int_equal(fruit->parts[i].defect, 0);
    }
}

/* A horseshoe whose arms cross a border is one defect with two ranges there, and what lies between
 * its arms in the next strip is another one. */
static void a_concave_outline_is_not_glued(void **state)
{
    (void)state;
    /* Opens to +x: arms from y 27 to 37 and from 57 to 67; the border of four views is at 78. */
    const float horseshoe[] = {55, 27, 82, 27, 82, 37, 65, 37, 65, 57, 82, 57, 82, 67, 55, 67};
    draw_nothing(4);
    outlines_add(&drawn[0], horseshoe, 8);
    draw_spot(4, 45 * DEG, 0, 0.1);
    for (uint32_t i = 0; i < drawn[0].defects.defect_count; i++)
        drawn[0].all[i].channel = 0;
    measure(4);
    assert_int_equal(fruit->defect_count, 2);
    assert_near(fruit->defects[1].area_mm2 / cap(0.1), 1, 0.01);
}

static void lengths_and_widths_are_those_of_the_surface(void **state)
{
    (void)state;
    draw_nothing(1);
    const double centre[2] = {50, 47};
    outlines_add_ellipse(&drawn[0], centre, 24, 8, -1);
    measure(1);
    assert_near(fruit->defects[0].length_mm, 24, 0.05);
    assert_near(fruit->defects[0].width_mm, 8, 0.05);
    assert_near(fruit->totals[0].longest_mm, 24, 0.05);
    assert_true(fruit->totals[0].largest_mm2 == fruit->totals[0].area_mm2);
}

/* The same ellipse on a fruit that rolls about x, and on one whose picture is turned. */
static void the_axis_may_lie_along_x_or_be_tilted(void **state)
{
    (void)state;
    double area[3];
    for (int i = 0; i < 3; i++) {
        crn_surface_settings settings = usual;
        settings.roll_axis = i == 1 ? CRN_ROLL_AXIS_X : CRN_ROLL_AXIS_Y;
        crn_surface *other;
        assert_int_equal(crn_surface_open(context, &settings, &other), 0);
        draw_nothing(1);
        views[0].pose.rx = i == 1 ? 44 : 36;
        views[0].pose.ry = i == 1 ? 36 : 44;
        views[0].pose.tilt_rad = i == 2 ? M_PI / 2 : 0;
        const double upright[2] = {62, 50}, turned[2] = {47, 59};
        outlines_add_ellipse(&drawn[0], i ? turned : upright, i ? 6 : 10, i ? 10 : 6, -1);
        assert_int_equal(crn_surface_measure(other, views, 1, &fruit), 0);
        assert_near(fruit->diameter_mm, 36, 1e-9);
        area[i] = fruit->totals[0].area_mm2;
        crn_surface_free(&other);
    }
    assert_near(area[1] / area[0], 1, 1e-6);
    assert_near(area[2] / area[0], 1, 1e-6);
}

/* A spot in the middle of a sphere and the same one where a pitch shows it, beyond the pole too. */
static void a_pitch_turns_the_axis_out_of_the_picture(void **state)
{
    (void)state;
    double area[3], v[3];
    for (int i = 0; i < 3; i++) {
        const double pitch = i * 0.3, at[2] = {50, 47 - 40 * sin(pitch)};
        draw_nothing(1);
        views[0].pose.pitch_rad = pitch;
        outlines_add_ellipse(&drawn[0], at, 4, 4 * cos(pitch), -1);
        assert_int_equal(crn_surface_measure(surface, views, 1, &fruit), 0);
        area[i] = fruit->totals[0].area_mm2;
        v[i] = fruit->defects[0].v;
    }
    for (int i = 0; i < 3; i++) {
        assert_near(area[i] / area[0], 1, 0.01);
        assert_near(v[i], 0, 0.01);
    }
}

static void of_two_views_of_the_same_the_surer_one_counts(void **state)
{
    (void)state;
    const double centre[2] = {50, 47};
    draw_nothing(2);
    views[1].pose.roll_rad = 4 * DEG;
    outlines_add_ellipse(&drawn[0], centre, 10, 10, -1);
    outlines_add_ellipse(&drawn[1], centre, 5, 5, -1);
    for (int surer = 0; surer < 2; surer++) {
        views[0].pose.confidence = surer == 0 ? 0.9 : 0.2;
        views[1].pose.confidence = 0.5;
        measure(2);
        assert_int_equal(fruit->defect_count, 1);
        assert_int_equal(fruit->defects[0].views, surer == 0 ? 1 : 2);
    }
}

static void what_lies_beside_the_fruit_or_has_no_area_is_left_out(void **state)
{
    (void)state;
    const double beside[2] = {95, 47}, centre[2] = {50, 47};
    const float line[] = {40, 40, 50, 50, 40, 40}, dot[] = {50, 50, 50, 50};
    draw_nothing(1);
    outlines_add_ellipse(&drawn[0], beside, 4, 4, -1);
    outlines_add(&drawn[0], line, 3);
    outlines_add(&drawn[0], dot, 2);
    outlines_add_ellipse(&drawn[0], centre, 3, 3, 0)->parent = -1; /* a hole in nothing */
    measure(1);
    assert_int_equal(fruit->defect_count, 0);
}

static void a_picture_that_ends_in_the_fruit_covers_less(void **state)
{
    (void)state;
    draw_nothing(1);
    measure(1);
    double whole = fruit->coverage;
    views[0].width = 51; /* to its middle */
    measure(1);
    assert_near(fruit->coverage / whole, 0.5, 0.01);
    views[0].width = 10;
    measure(1);
    assert_near(fruit->coverage, 0, 1e-9);
    views[0].width = 0; /* unlimited */
    measure(1);
    assert_near(fruit->coverage, whole, 1e-9);
}

static void a_huge_outline_is_measured(void **state)
{
    (void)state;
    enum { COUNT = 262144 };
    float *xy = malloc(2 * COUNT * sizeof *xy);
    assert_non_null(xy);
    for (int i = 0; i < COUNT; i++) { /* a star that crosses both borders at every point */
        double phi = 2 * M_PI * i / COUNT, r = i % 2 ? 39.5 : 1;
        xy[2 * i] = (float)(50 + r * cos(phi));
        xy[2 * i + 1] = (float)(47 + r * sin(phi));
    }
    draw_nothing(4);
    crn_defect star = {.parent = -1, .closed = true, .point_count = COUNT};
    crn_defects all = {.defects = &star, .xy = xy, .defect_count = 1, .point_count = COUNT};
    views[0].defects = &all;
    measure(4);
    assert_true(fruit->totals[0].area_mm2 > 0 && fruit->totals[0].area_mm2 < SPHERE / 4);
    free(xy);
}

/* --- what is refused --- */

static void settings_out_of_range_are_named(void **state)
{
    (void)state;
    static const struct {
        crn_surface_settings settings;
        const char *text;
    } rows[] = {
        {{.classes = 0, .views = 1, .defects = 1, .points = 1}, "settings.classes is 0"},
        {{.classes = 1, .views = 65, .defects = 1, .points = 1}, "settings.views is 65"},
        {{.classes = 1, .views = 1, .defects = 0, .points = 1}, "settings.defects is 0"},
        {{.classes = 1, .views = 1, .defects = 1, .points = 1u << 25},
         "settings.points is 33554432"},
        {{CRN_ROLL_AXIS_Y, -1, 0, 1, 1, 1, 1}, "settings.distance_mm is -1"},
        {{CRN_ROLL_AXIS_Y, NAN, 0, 1, 1, 1, 1}, "settings.distance_mm is"},
        {{CRN_ROLL_AXIS_Y, 0, 4, 1, 1, 1, 1}, "settings.roll_error_rad is 4"},
        {{(crn_roll_axis)2, 0, 0, 1, 1, 1, 1}, "settings.roll_axis is 2"},
    };
    crn_surface *none = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(crn_surface_open(context, &rows[i].settings, &none), -EINVAL);
        if (!strstr(crn_context_error(context), rows[i].text))
            fail_msg("'%s' does not say '%s'", crn_context_error(context), rows[i].text);
        assert_null(none);
    }
    assert_int_equal(crn_surface_open(NULL, &usual, &none), -EINVAL);
    assert_int_equal(crn_surface_open(context, NULL, &none), -EINVAL);
    assert_int_equal(crn_surface_open(context, &usual, NULL), -EINVAL);
    crn_surface_free(NULL);
    crn_surface_free(&none);
}

static void poses_out_of_range_are_named(void **state)
{
    (void)state;
    static const size_t members[] = {
        offsetof(crn_surface_view, pose.x),          offsetof(crn_surface_view, pose.y),
        offsetof(crn_surface_view, pose.rx),         offsetof(crn_surface_view, pose.ry),
        offsetof(crn_surface_view, pose.tilt_rad),   offsetof(crn_surface_view, pose.roll_rad),
        offsetof(crn_surface_view, pose.confidence), offsetof(crn_surface_view, pose.pitch_rad),
        offsetof(crn_surface_view, mm_per_px),
    };
    static const double wrong[] = {NAN, INFINITY, -INFINITY, 1e300};
    draw_nothing(2);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
            crn_surface_view good = views[1];
            memcpy((char *)&views[1] + members[i], &wrong[k], sizeof wrong[k]);
            assert_refused(2, "views[1].");
            views[1] = good;
        }
    views[1].pose.rx = 0;
    assert_refused(2, "views[1].pose.rx is 0; it must be 0.5 to 1e+06");
    views[1].pose.rx = 40;
    views[1].height = -1;
    assert_refused(2, "views[1].height is -1");
    assert_refused(0, "view_count is 0");
    assert_refused(VIEWS + 1, "view_count is 9; it must be 1 to settings.views, 8");
    assert_int_equal(crn_surface_measure(NULL, views, 1, &fruit), -EINVAL);
    assert_int_equal(crn_surface_measure(surface, NULL, 1, &fruit), -EINVAL);
    assert_int_equal(crn_surface_measure(surface, views, 1, NULL), -EINVAL);
}

static void a_fruit_at_the_camera_is_refused(void **state)
{
    (void)state;
    crn_surface_settings settings = usual;
    settings.distance_mm = 5;
    crn_surface *near;
    draw_nothing(1);
    views[0].mm_per_px = 1;
    assert_int_equal(crn_surface_open(context, &settings, &near), 0);
    assert_int_equal(crn_surface_measure(near, views, 1, &fruit), -EINVAL);
    assert_non_null(strstr(crn_context_error(context), "reaches the camera at 5 mm"));
    crn_surface_free(&near);
}

static void broken_outlines_are_named(void **state)
{
    (void)state;
    const double centre[2] = {50, 47};
    crn_surface_settings small = usual;
    draw_nothing(1);
    crn_defect *outline = outlines_add_ellipse(&drawn[0], centre, 9, 9, -1), good = *outline;
    outline->point_count = 1;
    assert_refused(1, "views[0].defects[0] has 1 points; an outline has at least 2");
    outline->point_count = 66;
    assert_refused(1, "views[0].defects[0] has 66 points from number 0 on; the view has 65");
    *outline = good;
    outline->first_point = UINT32_MAX;
    assert_refused(1, "from number 4294967295 on");
    *outline = good;
    outline->channel = 2;
    assert_refused(1, "views[0].defects[0] is of channel 2; it must be 0 to 1");
    *outline = good;
    outline->parent = 1;
    assert_refused(1, "views[0].defects[0] has the parent 1; the view has 1 outlines");
    *outline = good;
    drawn[0].xy[7] = NAN;
    assert_refused(1, "views[0].defects[0]: its point 3 is not finite");
    drawn[0].xy[7] = 50;
    views[0].defects = NULL;
    assert_refused(1, "views[0].defects is NULL");
    views[0].defects = &drawn[0].defects;
    drawn[0].defects.xy = NULL;
    assert_refused(1, "views[0].defects: an array of it is NULL");
    drawn[0].defects.xy = drawn[0].xy;

    small.points = 64;
    crn_surface *other;
    assert_int_equal(crn_surface_open(context, &small, &other), 0);
    assert_int_equal(crn_surface_measure(other, views, 1, &fruit), -EINVAL);
    assert_non_null(strstr(crn_context_error(context), "raise settings.defects"));
    crn_surface_free(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_fruit_has_its_size_and_coverage),
        cmocka_unit_test(a_spot_counts_once_wherever_it_is),
        cmocka_unit_test(a_spot_of_one_view_has_its_area_up_to_the_limb),
        cmocka_unit_test(what_no_view_sees_is_not_measured),
        cmocka_unit_test(two_spots_side_by_side_at_a_border_stay_two),
        cmocka_unit_test(what_reaches_a_pole_from_two_sides_is_one),
        cmocka_unit_test(a_hole_is_subtracted_from_its_own_defect),
        cmocka_unit_test(a_concave_outline_is_not_glued),
        cmocka_unit_test(lengths_and_widths_are_those_of_the_surface),
        cmocka_unit_test(the_axis_may_lie_along_x_or_be_tilted),
        cmocka_unit_test(a_pitch_turns_the_axis_out_of_the_picture),
        cmocka_unit_test(of_two_views_of_the_same_the_surer_one_counts),
        cmocka_unit_test(what_lies_beside_the_fruit_or_has_no_area_is_left_out),
        cmocka_unit_test(a_picture_that_ends_in_the_fruit_covers_less),
        cmocka_unit_test(a_huge_outline_is_measured),
        cmocka_unit_test(settings_out_of_range_are_named),
        cmocka_unit_test(poses_out_of_range_are_named),
        cmocka_unit_test(a_fruit_at_the_camera_is_refused),
        cmocka_unit_test(broken_outlines_are_named),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

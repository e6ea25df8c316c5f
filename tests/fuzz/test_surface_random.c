/*
 * Random fruits for crn_surface_measure(), most of them wrong in some way: each is measured within
 * what its surface allows, or refused with a text. Arrays have exactly their length, so that the
 * address sanitizer sees what is read beside them. CRN_CASES (20000), CRN_SEED.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/surface/skin.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/random.h"

enum { VIEWS = 5, OUTLINES = 6, POINTS = 40, CLASSES = 3 };

static const double odd_values[] = {NAN, INFINITY, -INFINITY, 0, -1, 1e-300, 1e300, 0.5, 1e6, 3e38};

static crn_random source;
static crn_context *context;
static crn_surface *surface;

static double odd(double usual, uint32_t once_in)
{
    if (!crn_random_once_in(&source, once_in))
        return usual;
    return odd_values[crn_random_below(&source, sizeof odd_values / sizeof *odd_values)];
}

static double about(double middle, double half)
{
    return middle + half * (2 * crn_random_unit(&source) - 1);
}

/* Points anywhere, on a few lines, or around a place of the fruit. */
static void make_points(float *xy, uint32_t count)
{
    uint32_t shape = crn_random_below(&source, 4);
    double x = about(50, 40), y = about(47, 40), radius = about(12, 12);
    for (uint32_t i = 0; i < count; i++) {
        double phi = 2 * M_PI * i / count, at[2] = {about(50, 80), about(47, 80)};
        if (shape == 0) {
            at[0] = x + radius * cos(phi);
            at[1] = y + radius * sin(phi);
        } else if (shape == 1) {
            at[0] = 10 * crn_random_below(&source, 11);
            at[1] = crn_random_once_in(&source, 2) ? 47 : y;
        }
        xy[2 * i] = (float)odd(at[0], 2000);
        xy[2 * i + 1] = (float)odd(at[1], 2000);
    }
}

static crn_defects *make_defects(void)
{
    crn_defects *all = calloc(1, sizeof *all);
    assert_non_null(all);
    all->defect_count = crn_random_below(&source, OUTLINES + 1);
    all->point_count = crn_random_below(&source, POINTS + 1);
    all->defects = malloc(all->defect_count * sizeof *all->defects + 1);
    all->xy = malloc(2 * all->point_count * sizeof *all->xy + 1);
    assert_true(all->defects && all->xy);
    make_points(all->xy, all->point_count);
    for (uint32_t i = 0; i < all->defect_count; i++) {
        uint32_t first = crn_random_below(&source, all->point_count + 1);
        uint32_t left = all->point_count - first, most = left < 2 ? 2 : left;
        all->defects[i] = (crn_defect){
            .channel = crn_random_between(&source, 0, CLASSES - 1),
            .parent = crn_random_between(&source, -1, (int32_t)all->defect_count - 1),
            .hole = crn_random_once_in(&source, 3),
            .first_point = first,
            .point_count = (uint32_t)crn_random_between(&source, 2, (int32_t)most),
        };
        if (crn_random_once_in(&source, 200))
            all->defects[i].channel = crn_random_between(&source, -2, CLASSES + 1);
        if (crn_random_once_in(&source, 200))
            all->defects[i].parent = crn_random_between(&source, -3, OUTLINES + 2);
        if (crn_random_once_in(&source, 200))
            all->defects[i].point_count = (uint32_t)crn_random_next(&source);
        if (left < 2) /* so that not all are refused */
            all->defects[i].first_point = all->point_count < 2 ? 0 : all->point_count - 2;
    }
    return all;
}

static crn_surface_pose make_pose(void)
{
    return (crn_surface_pose){odd(about(50, 10), 300),
                              odd(about(47, 10), 300),
                              odd(about(40, 30), 300),
                              odd(about(40, 30), 300),
                              odd(about(0, 4), 300),
                              odd(about(0, 9), 300),
                              odd(crn_random_unit(&source), 300),
                              crn_random_once_in(&source, 2) ? 0 : odd(about(0, 1.5), 300)};
}

static crn_surface_view make_view(void)
{
    return (crn_surface_view){
        .pose = make_pose(),
        .mm_per_px = odd(0.5, 300),
        .height = crn_random_once_in(&source, 50) ? crn_random_between(&source, -1, 95) : 95,
        .width = 101,
        .defects = make_defects(),
    };
}

static void open_surface(void)
{
    const crn_surface_settings settings = {
        .roll_axis = (crn_roll_axis)crn_random_below(&source, 2),
        .distance_mm = crn_random_once_in(&source, 2) ? 0 : about(150, 145),
        .roll_error_rad = crn_random_unit(&source),
        .classes = CLASSES,
        .views = VIEWS,
        .defects = VIEWS * OUTLINES,
        .points = VIEWS * POINTS,
    };
    crn_surface_free(&surface);
    if (crn_surface_open(context, &settings, &surface) != 0)
        fail_msg("%s", crn_context_error(context));
}

static void assert_within(double value, double most)
{
    if (!(value >= 0 && value <= most))
        fail_msg("%g is not within 0 and %g", value, most);
}

/* Neither all nor none, which of a few may happen by chance. */
static void assert_mixed(uint32_t done, uint32_t cases)
{
    if (cases >= 1000)
        assert_in_range(done, cases / 20, cases - cases / 20);
}

static void check_fruit(const crn_surface_fruit *fruit, const crn_surface_view *views)
{
    double most = fruit->surface_mm2;
    double longest = (1 + 1e-5) * fmax(fruit->diameter_mm, fruit->length_mm);
    assert_true(isfinite(most) && most > 0);
    assert_within(fruit->coverage, 1);
    assert_within(fruit->seen_mm2, most);
    for (int i = 0; i < CLASSES; i++) {
        assert_within(fruit->totals[i].area_mm2, most);
        assert_within(fruit->totals[i].longest_mm, longest);
    }
    for (uint32_t i = 0; i < fruit->defect_count; i++) {
        const crn_surface_defect *defect = &fruit->defects[i];
        assert_within(defect->area_mm2, most);
        assert_within(defect->length_mm, longest);
        assert_within(defect->width_mm, longest);
        assert_within(fabs(defect->v), 1);
        assert_within(fabs(defect->lambda_rad), M_PI);
        assert_true(defect->part_count > 0);
        for (uint32_t k = 0; k < defect->part_count; k++) {
            const crn_surface_part *part = &fruit->parts[defect->first_part + k];
            assert_true(defect->views >> part->view & 1);
            assert_true(part->defect < views[part->view].defects->defect_count);
        }
    }
}

static void each_fruit_is_measured_or_refused_with_a_text(void **state)
{
    (void)state;
    source.state = crn_random_seed();
    uint32_t cases = crn_random_cases(20000), done = 0;
    assert_int_equal(crn_context_open(NULL, &context), 0);
    for (uint32_t i = 0; i < cases; i++) {
        if (i % 100 == 0)
            open_surface();
        crn_surface_view views[VIEWS];
        const crn_surface_fruit *fruit = NULL;
        for (int k = 0; k < VIEWS; k++)
            views[k] = make_view();
        int r = crn_surface_measure(surface, views, crn_random_between(&source, 1, VIEWS), &fruit);
        const char *text = crn_context_error(context);
        if ((r != 0 && r != -EINVAL) || (r == 0) != (text[0] == '\0') || strchr(text, '\n'))
            fail_msg("case %" PRIu32 ": %d, '%s'", i, r, text);
        if (r == 0)
            check_fruit(fruit, views);
        done += r == 0;
        for (int k = 0; k < VIEWS; k++) {
            free(views[k].defects->defects);
            free(views[k].defects->xy);
            free((void *)views[k].defects);
        }
    }
    crn_surface_free(&surface);
    crn_context_free(&context);
    assert_mixed(done, cases);
}

/* A photograph of any small size, in memory of exactly that: noise, one colour, or a disc. */
static crn_surface_photograph make_photograph(void)
{
    int32_t height = crn_random_between(&source, 0, 40), width = crn_random_between(&source, 0, 40);
    size_t bytes = (size_t)height * (size_t)width;
    uint8_t *data = malloc(bytes ? bytes : 1);
    uint32_t kind = crn_random_below(&source, 3);
    double x = about(20, 20), y = about(20, 20), radius = about(12, 12);
    assert_non_null(data);
    for (size_t i = 0; i < bytes; i++) {
        double off = hypot((double)(i % (size_t)width) - x, (double)(i / (size_t)width) - y);
        data[i] = kind == 0   ? (uint8_t)crn_random_next(&source)
                  : kind == 1 ? 77
                              : (uint8_t)(off < radius ? 200 : 30);
    }
    crn_surface_photograph photo = {crn_image_dense(data, CRN_U8, CRN_CHW, 1, height, width),
                                    make_pose(), odd(0.5, 100)};
    return photo;
}

/* Whatever two photographs show, and headers say, what is set of poses are angles. */
static void turn(const crn_surface_photograph *first, const crn_surface_photograph *second)
{
    static crn_surface_skin skins[2];
    crn_surface_pose poses[VIEWS];
    crn_surface_turning views[VIEWS];
    int32_t count = 1 + (int32_t)crn_random_below(&source, VIEWS);
    bool wrong = crn_random_once_in(&source, 8);
    if (crn_surface_take_skin(surface, "first", first, &skins[0]) < 0 ||
        crn_surface_take_skin(surface, "second", second, &skins[1]) < 0)
        return;
    for (int i = 0; i < VIEWS; i++) {
        poses[i] = (crn_surface_pose){.x = 0};
        views[i] = (crn_surface_turning){
            .skin = crn_random_once_in(&source, 5) ? NULL : &skins[i & 1],
            .expected_rad = crn_random_once_in(&source, 9) ? NAN : about(0, 9),
            .pose = &poses[i]};
        if (crn_random_once_in(&source, 4))
            views[i].roll = (crn_surface_roll){wrong ? odd(1, 2) : about(0, 9),
                                               crn_random_once_in(&source, 2) ? 1 : 0.1};
    }
    bool found = crn_surface_find_turns(surface, views, count, about(1.6, 1.5));
    for (int i = 0; i < count; i++) {
        assert_within(views[i].roll.confidence, 1);
        if (!found || wrong) {
            assert_true(found || poses[i].roll_rad == 0);
            continue;
        }
        assert_true(fabs(poses[i].pitch_rad) <= M_PI / 2 && fabs(poses[i].tilt_rad) <= M_PI);
        assert_true(fabs(poses[i].roll_rad) <= VIEWS * (9 + M_PI));
    }
}

static void each_photograph_has_a_pose_and_a_roll_or_is_refused(void **state)
{
    (void)state;
    source.state = crn_random_seed();
    uint32_t cases = crn_random_cases(20000), done = 0;
    assert_int_equal(crn_context_open(NULL, &context), 0);
    for (uint32_t i = 0; i < cases; i++) {
        if (i % 100 == 0)
            open_surface();
        crn_surface_photograph first = make_photograph(), second = make_photograph();
        crn_surface_pose pose = {0};
        crn_surface_roll roll = {0, 0};
        int r = crn_surface_find_pose(surface, &first.image, &pose);
        if (r == 0) {
            assert_true(isfinite(pose.x) && isfinite(pose.y) && pose.rx >= 1 && pose.ry >= 1);
            assert_within(pose.confidence, 1);
            if (crn_random_once_in(&source, 2))
                first.pose = pose;
        }
        r = crn_surface_find_roll(surface, &first, &second, odd(about(0, 4), 50),
                                  odd(about(1.6, 1.5), 50), &roll);
        const char *text = crn_context_error(context);
        if ((r != 0 && r != -EINVAL) || (r == 0) != (text[0] == '\0') || strchr(text, '\n'))
            fail_msg("case %" PRIu32 ": %d, '%s'", i, r, text);
        assert_true(isfinite(roll.roll_rad));
        assert_within(roll.confidence, 1);
        done += r == 0;
        if (r == 0 && crn_random_once_in(&source, 8))
            turn(&first, &second);
        free(first.image.data);
        free(second.image.data);
    }
    crn_surface_free(&surface);
    crn_context_free(&context);
    assert_mixed(done, cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_fruit_is_measured_or_refused_with_a_text),
        cmocka_unit_test(each_photograph_has_a_pose_and_a_roll_or_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Properties of contours that hold for every backend, tested on serial and openmp. */
#include <math.h>
#include <stdlib.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/compare.h"
#include "tests/support/operators/contours_buffer.h"
#include "tests/support/parity/parity.h"

#define SIDE_MAX     70
#define POINTS_MAX   (1u << 16)
#define CONTOURS_MAX (1u << 15)

static crn_contours found, expected;

static crn_contours_fn *const operators[] = {crn_contours_serial, crn_contours_openmp};

typedef struct map {
    float values[SIDE_MAX * SIDE_MAX];
    crn_image image;
    double level;
    crn_contours_params params;
} map;

/* Random values of that many steps, or continuous (0), and never equal to the level. */
static void make_map(map *m, uint32_t steps)
{
    int32_t height = crn_random_between(&operator_random, 2, SIDE_MAX);
    int32_t width = crn_random_between(&operator_random, 2, SIDE_MAX);
    for (int32_t i = 0; i < height * width; i++) {
        float v = (float)crn_random_unit(&operator_random);
        v = steps ? floorf(v * (float)steps) : v;
        m->values[i] = (double)v == m->level ? v + 0.25f : v;
    }
    m->image = crn_image_dense(m->values, CRN_F32, CRN_CHW, 1, height, width);
    m->params = (crn_contours_params){.levels = &m->level,
                                      .connectivity =
                                          (crn_connectivity)crn_random_below(&operator_random, 2)};
}

static void find(crn_contours_fn *operator, const map * m, crn_contours *out)
{
    assert_int_equal(operator(operator_contexts[2], &m->params, &m->image, out), 0);
    assert_false(out->truncated);
}

/* Sets `expected` to `found` with each point moved and the direction reversed. */
static void reverse(crn_point (*move)(const map *m, crn_point point), const map *m)
{
    expected.contour_count = found.contour_count;
    expected.point_count = found.point_count;
    for (uint32_t i = 0; i < found.contour_count; i++) {
        const crn_contour *c = &found.contours[i];
        expected.contours[i] = *c;
        for (uint32_t k = 0; k < c->count; k++)
            expected.points[c->first + k] = move(m, found.points[c->first + c->count - 1 - k]);
    }
}

static crn_point transpose(const map *m, crn_point point)
{
    (void)m;
    return (crn_point){point.y, point.x};
}

static crn_point mirror(const map *m, crn_point point)
{
    return (crn_point){m->image.width - 1 - point.x, point.y};
}

static crn_point identity(const map *m, crn_point point)
{
    (void)m;
    return point;
}

static void test_transposed_map_has_transposed_contours(void **state)
{
    (void)state;
    static map m;
    m.level = 0.5;
    for (size_t i = 0; i < 200; i++) {
        make_map(&m, 0);
        find(operators[i % 2], &m, &found);
        reverse(transpose, &m);
        m.image =
            (crn_image){m.values, CRN_F32, 1, m.image.width, m.image.height, 0, 1, m.image.width};
        find(operators[i % 2], &m, &found);
        crn_assert_segments_equal(&found, &expected, "transposed");
    }
}

/* With values of 0 and 1 every interpolation fraction is a half, in either direction. */
static void test_mirrored_map_has_mirrored_contours(void **state)
{
    (void)state;
    static map m;
    m.level = 0.5;
    for (size_t i = 0; i < 200; i++) {
        make_map(&m, 2);
        find(operators[i % 2], &m, &found);
        reverse(mirror, &m);
        m.image.data = m.values + m.image.width - 1;
        m.image.step = -1;
        find(operators[i % 2], &m, &found);
        crn_assert_segments_equal(&found, &expected, "mirrored");
    }
}

static void test_negated_map_has_opposite_contours(void **state)
{
    (void)state;
    static map m;
    for (size_t i = 0; i < 200; i++) {
        m.level = 0.4;
        make_map(&m, 0);
        find(operators[i % 2], &m, &found);
        reverse(identity, &m);
        for (int32_t k = 0; k < m.image.height * m.image.width; k++)
            m.values[k] = -m.values[k];
        m.level = -m.level;
        m.params.connectivity =
            m.params.connectivity == CRN_CONNECT_LOW ? CRN_CONNECT_HIGH : CRN_CONNECT_LOW;
        find(operators[i % 2], &m, &found);
        crn_assert_segments_equal(&found, &expected, "negated");
    }
}

static bool is_same(const crn_point *a, const crn_point *b)
{
    return a->x == b->x && a->y == b->y;
}

static bool is_on_border(const map *m, const crn_point *p)
{
    return p->x == 0 || p->y == 0 || p->x == m->image.width - 1 || p->y == m->image.height - 1;
}

/* Includes pixels at the level, because the values are quantised. */
static void test_contours_close_or_end_at_the_border(void **state)
{
    (void)state;
    static map m;
    for (size_t i = 0; i < 400; i++) {
        m.level = 0.5;
        make_map(&m, i % 4 < 2 ? 0 : 4);
        m.level = i % 4 < 2 ? 0.5 : 2;
        m.params.border = i % 3 ? CRN_BORDER_OPEN : CRN_BORDER_CLOSED;
        find(operators[i % 2], &m, &found);
        uint32_t points = 0;
        for (uint32_t c = 0; c < found.contour_count; c++) {
            const crn_contour *contour = &found.contours[c];
            const crn_point *p = found.points + contour->first, *last = p + contour->count - 1;
            assert_int_equal(contour->first, points);
            assert_true(contour->count >= 2);
            points += contour->count;
            if (contour->closed)
                assert_true(is_same(p, last));
            else
                assert_true(is_on_border(&m, p) && is_on_border(&m, last));
            assert_true(contour->closed || m.params.border == CRN_BORDER_OPEN);
            for (; p < last; p++)
                assert_false(is_same(p, p + 1));
        }
        assert_int_equal(points, found.point_count);
    }
}

static void test_invalid_arguments_are_refused(void **state)
{
    (void)state;
    const double level = 1, below = -1;
    const crn_contours_params valid = {.levels = &level};
    crn_parity_params invalid[5];
    for (size_t i = 0; i < 5; i++)
        invalid[i].contours = valid;
    invalid[0].contours.levels = NULL;
    invalid[1].contours.connectivity = (crn_connectivity)2;
    invalid[2].contours.orientation = (crn_orientation)-1;
    invalid[3].contours.border = (crn_border)5;
    invalid[4].contours = (crn_contours_params){.levels = &below, .border = CRN_BORDER_CLOSED};
    static const crn_parity_shape shapes[] = {{1, 1, 4}, {1, 4, 1}, {1, 40000, 40000}};
    crn_parity_check_refusals(&(crn_parity_refusals){.kind = CRN_PARITY_CONTOURS,
                                                     .in_type = CRN_U8,
                                                     .unsupported = (crn_type)7,
                                                     .in_shape = {1, 4, 4},
                                                     .valid.contours = valid,
                                                     .invalid = invalid,
                                                     .count = 5,
                                                     .invalid_shapes = shapes,
                                                     .shape_count = 3});
}

static int set_up(void **state)
{
    found = crn_contours_buffer(POINTS_MAX, CONTOURS_MAX);
    expected = crn_contours_buffer(POINTS_MAX, CONTOURS_MAX);
    return operators_set_up_random(state);
}

static int tear_down(void **state)
{
    crn_contours_buffer_free(&found);
    crn_contours_buffer_free(&expected);
    return operators_tear_down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transposed_map_has_transposed_contours),
        cmocka_unit_test(test_mirrored_map_has_mirrored_contours),
        cmocka_unit_test(test_negated_map_has_opposite_contours),
        cmocka_unit_test(test_contours_close_or_end_at_the_border),
        cmocka_unit_test(test_invalid_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

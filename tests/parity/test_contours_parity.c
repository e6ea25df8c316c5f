/* The fast contours, in every variant, against the serial operator: identical bytes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/openmp/contours/contours.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/compare.h"
#include "tests/support/contours_room.h"
#include "tests/support/cuda.h"
#include "tests/support/guarded.h"
#include "tests/support/operator_tests.h"

#define PLANES_MAX   140
#define POINTS_MAX   (1u << 20)
#define CONTOURS_MAX (1u << 18)

static crn_contours wanted;

static crn_contours_scan_fn *const scans[CRN_TARGETS] = {
    crn_contours_scan_baseline, crn_contours_scan_avx2, crn_contours_scan_avx512};

static void pick_shape(crn_random *random, int32_t least, int32_t *ret_planes, int32_t *ret_height,
                       int32_t *ret_width)
{
    static const int32_t widths[] = {63, 64, 65, 127, 128, 129, 192, 511, 513};
    *ret_planes = crn_random_once_in(random, 2) ? 1 : crn_random_between(random, 2, 5);
    *ret_height = crn_random_between(random, least, 12);
    *ret_width = crn_random_between(random, least, 20);
    switch (crn_random_below(random, 12)) {
    case 0:
        *ret_width = widths[crn_random_below(random, 9)];
        break;
    case 1:
        *ret_height = crn_random_between(random, least, 90);
        *ret_width = crn_random_between(random, least, 90);
        break;
    case 2: /* many channels: the neighbour lies in another word */
        *ret_planes = crn_random_between(random, 12, PLANES_MAX);
        *ret_width = crn_random_between(random, least, 9);
        break;
    case 3:
        *ret_width = least;
        break;
    default:
        break;
    }
}

/* Parameters of the random pixels. */
typedef struct texture {
    uint32_t steps; /* number of distinct integer values; 0: continuous */
    uint32_t smooth;
    uint32_t nan_once_in, odd_once_in; /* 0: never */
    bool checkered;
} texture;

static texture pick_texture(crn_random *random)
{
    texture t = {.steps = 0};
    switch (crn_random_below(random, 4)) {
    case 0:
        t.steps = (uint32_t)crn_random_between(random, 1, 6);
        break;
    case 1:
        t.smooth = (uint32_t)crn_random_between(random, 2, 9);
        break;
    case 2:
        t.smooth = (uint32_t)crn_random_between(random, 2, 9);
        t.steps = (uint32_t)crn_random_between(random, 3, 30);
        break;
    default:
        break;
    }
    t.checkered = crn_random_once_in(random, 12);
    if (crn_random_once_in(random, 4))
        t.nan_once_in = (uint32_t)crn_random_between(random, 2, 100);
    if (crn_random_once_in(random, 4))
        t.odd_once_in = (uint32_t)crn_random_between(random, 2, 60);
    return t;
}

static double pick_value(crn_random *random, const texture *t, int32_t y, int32_t x)
{
    double v = crn_random_unit(random);
    if (t->smooth)
        v = 0.5 + 0.3 * sin((double)x / t->smooth) * cos((double)y / t->smooth) + 0.1 * (v - 0.5);
    if (t->checkered)
        v = ((x + y) & 1) * 0.5 + v * 0.5;
    return t->steps ? floor(v * t->steps) / t->steps : v;
}

static uint32_t float_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* Truncates; too small values become 0. */
static uint16_t half_of(float f)
{
    uint32_t bits = float_bits(f);
    int32_t exponent = (int32_t)(bits >> 23 & 0xff) - 112;
    return exponent <= 0 ? 0 : (uint16_t)((uint32_t)exponent << 10 | (bits >> 13 & 0x3ff));
}

static void set_pixel(crn_random *random, crn_image *image, const texture *t, ptrdiff_t index,
                      double value)
{
    static const float odd_floats[] = {INFINITY, -INFINITY, 0x1p-149f, -0x1p-140f, -0.0f, 1e38f};
    static const uint16_t odd_halves[] = {0x7c00, 0xfc00, 1, 0x8001, 0x8000, 0x7bff};
    bool nan = t->nan_once_in && crn_random_once_in(random, t->nan_once_in);
    bool odd = t->odd_once_in && crn_random_once_in(random, t->odd_once_in);
    uint32_t which = crn_random_below(random, 6);
    switch (image->type) {
    case CRN_U8:
        ((uint8_t *)image->data)[index] = odd ? UINT8_MAX : (uint8_t)(value * 200);
        return;
    case CRN_U16:
        ((uint16_t *)image->data)[index] = odd ? UINT16_MAX : (uint16_t)(value * 60000);
        return;
    case CRN_F16:
        ((uint16_t *)image->data)[index] = nan   ? (which & 1 ? 0x7e01 : 0xfc01)
                                           : odd ? odd_halves[which]
                                                 : half_of((float)value);
        return;
    case CRN_F32:
        ((float *)image->data)[index] = nan   ? (which & 1 ? NAN : -NAN)
                                        : odd ? odd_floats[which]
                                              : (float)value;
        return;
    }
}

static void fill(crn_random *random, crn_image *image, const texture *t)
{
    for (int32_t plane = 0; plane < image->planes; plane++)
        for (int32_t y = 0; y < image->height; y++)
            for (int32_t x = 0; x < image->width; x++)
                set_pixel(random, image, t, crn_image_index(image, plane, y, x),
                          pick_value(random, t, y, x));
}

/* Often the value of a pixel; sometimes no pixel's value, or one out of range. */
static double pick_level(crn_random *random, const crn_image *image, bool closed)
{
    double scale = image->type == CRN_U8 ? 200 : image->type == CRN_U16 ? 60000 : 1;
    double level = scale * crn_random_unit(random);
    if (crn_random_once_in(random, 3)) {
        int32_t plane = (int32_t)crn_random_below(random, (uint32_t)image->planes);
        int32_t y = (int32_t)crn_random_below(random, (uint32_t)image->height);
        int32_t x = (int32_t)crn_random_below(random, (uint32_t)image->width);
        level = (double)crn_image_at(image, plane, y, x);
    }
    static const double odd[] = {NAN, 0, -0.0, 1e-50, 1e300, 65535, 255, -1e-50, -1e300};
    if (crn_random_once_in(random, 8))
        level = odd[crn_random_below(random, 9)];
    return closed && level < 0 ? 0 : level;
}

typedef struct contours_case {
    crn_image image;
    crn_guarded image_memory, mask_memory;
    crn_contours_params params;
    double levels[PLANES_MAX];
    char what[OPERATOR_CASE_BYTES];
} contours_case;

static void make_case(uint64_t seed, contours_case *c)
{
    crn_random random = {seed};
    memset(c, 0, sizeof *c);
    c->params.connectivity = (crn_connectivity)crn_random_below(&random, 2);
    c->params.orientation = (crn_orientation)crn_random_below(&random, 2);
    c->params.border = (crn_border)crn_random_below(&random, 2);
    bool closed = c->params.border == CRN_BORDER_CLOSED;
    int32_t planes, height, width;
    pick_shape(&random, closed ? 1 : 2, &planes, &height, &width);
    crn_type type = (crn_type)crn_random_between(&random, CRN_U8, CRN_U16);
    if (crn_random_once_in(&random, 2))
        type = CRN_F32;
    c->image = crn_guarded_image(&random, type, planes, height, width, &c->image_memory);
    texture t = pick_texture(&random);
    fill(&random, &c->image, &t);
    bool same = crn_random_once_in(&random, 2);
    for (int32_t plane = 0; plane < planes; plane++)
        c->levels[plane] = same && plane ? c->levels[0] : pick_level(&random, &c->image, closed);
    if (crn_random_once_in(&random, 4)) {
        size_t pixels = (size_t)height * (size_t)width;
        uint32_t masked_once_in = (uint32_t)crn_random_between(&random, 1, 60);
        c->mask_memory = crn_guarded_create(pixels, true);
        for (size_t i = 0; i < pixels; i++)
            ((uint8_t *)c->mask_memory.data)[i] =
                crn_random_once_in(&random, masked_once_in) ? 0 : 1 + (uint8_t)i % 255;
        c->params.mask = c->mask_memory.data;
    }
    operators_describe(c->what, seed, &c->image, "steps %u smooth %u %s%s%s", t.steps, t.smooth,
                       closed ? "closed" : "open", c->params.mask ? " mask" : "",
                       c->params.connectivity ? " high" : " low");
}

static void free_case(contours_case *c)
{
    crn_guarded_free(&c->image_memory);
    crn_guarded_free(&c->mask_memory);
}

/* Output buffer of a given capacity, guarded on both sides. */
typedef struct room {
    crn_guarded points, contours;
    crn_contours out;
} room;

static room make_room(uint32_t points, uint32_t contours)
{
    room r = {.points = crn_guarded_create(points * sizeof(crn_point), true),
              .contours = crn_guarded_create(contours * sizeof(crn_contour), true)};
    r.out = (crn_contours){r.points.data, r.contours.data, points, contours, 9, 9, true};
    return r;
}

/* Runs one variant of the fast operator; by == NULL: the public one. */
static void try_way(contours_case *c, const crn_contours_variant *by, int32_t threads,
                    uint32_t points, uint32_t contours, const crn_contours *expected)
{
    char what[OPERATOR_CASE_BYTES + 100];
    snprintf(what, sizeof what, "%s | %d threads", c->what, threads);
    if (by)
        snprintf(what, sizeof what, "%s | scan %s, %d strips, %d threads", c->what,
                 by->scan == crn_contours_scan_baseline ? "plain"
                 : by->scan == crn_contours_scan_avx2   ? "avx2"
                                                        : "avx512",
                 by->strips, by->threads);
    room r = make_room(points, contours);
    crn_context *context = operator_contexts[threads];
    int result = by ? crn_contours_openmp_with(by, context, &c->params, &c->image, &r.out)
                    : crn_contours_openmp(context, &c->params, &c->image, &r.out);
    operators_check_result(result, what);
    crn_assert_contours_equal(&r.out, expected, what);
    crn_guarded_check(&r.points, what);
    crn_guarded_check(&r.contours, what);
    crn_guarded_check(&c->image_memory, what);
    crn_guarded_free(&r.points);
    crn_guarded_free(&r.contours);
}

static void try_case(uint64_t seed)
{
    static contours_case c;
    make_case(seed, &c);
    c.params.levels = c.levels;
    void *before = crn_guarded_copy(&c.image_memory);

    assert_int_equal(crn_contours_serial(operator_contexts[1], &c.params, &c.image, &wanted), 0);
    assert_false(wanted.truncated);
    uint32_t points = wanted.point_count, contours = wanted.contour_count;
    crn_random random = {~seed};
    try_way(&c, NULL, crn_random_between(&random, 1, OPERATOR_THREADS_MAX), points, contours,
            &wanted);
    for (crn_target target = CRN_BASELINE; target <= crn_target_best(); target++) {
        crn_contours_variant one = {scans[target], 1, 1};
        try_way(&c, &one, 1, points, contours, &wanted);
        crn_contours_variant several = {scans[target], crn_random_between(&random, 2, 9),
                                        crn_random_between(&random, 1, 3)};
        try_way(&c, &several, 1, points, contours, &wanted);
    }

    if (contours) {
        bool fewer_points = crn_random_once_in(&random, 2);
        room r = make_room(crn_random_below(&random, fewer_points ? points : points + 1),
                           crn_random_below(&random, fewer_points ? contours + 1 : contours));
        uint32_t fewer = r.out.point_capacity, less = r.out.contour_capacity;
        assert_int_equal(crn_contours_serial(operator_contexts[1], &c.params, &c.image, &r.out), 0);
        assert_true(r.out.truncated);
        crn_guarded_check(&r.points, c.what);
        crn_guarded_check(&r.contours, c.what);
        crn_contours_variant several = {
            scans[crn_random_below(&random, (uint32_t)crn_target_best() + 1)],
            crn_random_between(&random, 1, 5), 1};
        try_way(&c, &several, 1, fewer, less, &r.out);
        /* A truncated result must be a prefix of the whole one. */
        wanted.contour_count = r.out.contour_count;
        wanted.point_count = r.out.point_count;
        wanted.truncated = true;
        crn_assert_contours_equal(&r.out, &wanted, c.what);
        crn_guarded_free(&r.points);
        crn_guarded_free(&r.contours);
    }
    crn_guarded_check_same(&c.image_memory, before, c.what);
    free(before);
    free_case(&c);
}

static void test_fast_is_the_definition(void **state)
{
    (void)state;
    operators_try_cases(2500, try_case);
}

/* Large enough for the public operator to split it and to use threads. */
static void test_large_picture_is_the_definition(void **state)
{
    (void)state;
    static contours_case c;
    crn_random random = {crn_random_seed()};
    for (uint32_t i = 0; i < 4; i++) {
        memset(&c, 0, sizeof c);
        c.params.levels = c.levels;
        c.params.border = i & 1 ? CRN_BORDER_CLOSED : CRN_BORDER_OPEN;
        c.levels[0] = c.levels[1] = 0.5;
        c.image = crn_guarded_image(&random, CRN_F32, i < 2 ? 1 : 2, 1100, 1000, &c.image_memory);
        texture t = {.smooth = 7 + i, .steps = i == 3 ? 16 : 0};
        fill(&random, &c.image, &t);
        snprintf(c.what, sizeof c.what, "large %u", i);
        assert_int_equal(crn_contours_serial(operator_contexts[1], &c.params, &c.image, &wanted),
                         0);
        assert_false(wanted.truncated);
        for (int32_t threads = 1; threads <= 3; threads++)
            try_way(&c, NULL, threads, wanted.point_count, wanted.contour_count, &wanted);
        free_case(&c);
    }
}

static crn_contours_fn *cuda;

/* Runs the device's operator with exactly that output capacity. */
static void try_cuda(contours_case *c, uint32_t points, uint32_t contours,
                     const crn_contours *expected)
{
    char what[OPERATOR_CASE_BYTES + 100];
    snprintf(what, sizeof what, "%s | cuda, room for %u points, %u contours", c->what, points,
             contours);
    room r = make_room(points, contours);
    operators_check_result(cuda(operator_contexts[1], &c->params, &c->image, &r.out), what);
    crn_assert_contours_equal(&r.out, expected, what);
    crn_guarded_check(&r.points, what);
    crn_guarded_check(&r.contours, what);
    crn_guarded_free(&r.points);
    crn_guarded_free(&r.contours);
}

static void try_case_cuda(uint64_t seed)
{
    static contours_case c;
    make_case(seed, &c);
    c.params.levels = c.levels;
    assert_int_equal(crn_contours_serial(operator_contexts[1], &c.params, &c.image, &wanted), 0);
    uint32_t points = wanted.point_count, contours = wanted.contour_count;
    try_cuda(&c, points, contours, &wanted);
    if (contours) {
        crn_random random = {~seed};
        room r = make_room(crn_random_below(&random, points + 1),
                           crn_random_below(&random, contours + 1));
        assert_int_equal(crn_contours_serial(operator_contexts[1], &c.params, &c.image, &r.out), 0);
        try_cuda(&c, r.out.point_capacity, r.out.contour_capacity, &r.out);
        crn_guarded_free(&r.points);
        crn_guarded_free(&r.contours);
    }
    free_case(&c);
}

static void test_cuda_is_the_definition(void **state)
{
    (void)state;
    cuda = crn_test_cuda_ops()->contours;
    operators_try_cases(1500, try_case_cuda);
}

/* Sizes that one block handles alone, in shared
 * memory and beyond it, and sizes for the whole grid. */
static void test_cuda_on_large_pictures(void **state)
{
    (void)state;
    cuda = crn_test_cuda_ops()->contours;
    static const struct {
        crn_type type;
        int32_t planes, height, width;
        texture t;
        double level;
    } cases[] = {
        {CRN_F32, 12, 95, 511, {.smooth = 9}, 0.5},
        {CRN_F32, 3, 95, 511, {.steps = 0}, 0.5},
        {CRN_U8, 2, 255, 511, {.smooth = 4, .steps = 9}, 100},
        {CRN_F32, 1, 1, 3000, {.steps = 3}, 0.3},
        {CRN_F32, 1, 2000, 130, {.nan_once_in = 40}, 0.5},
        {CRN_F16, 3, 600, 700, {.steps = 8, .odd_once_in = 50}, 0.5},
        {CRN_U16, 1, 1500, 1024, {.smooth = 40, .checkered = true}, 30000},
        {CRN_F32, 1, 4097, 1100, {.smooth = 60}, 0.5},
    };
    static contours_case c;
    crn_random random = {crn_random_seed()};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memset(&c, 0, sizeof c);
        c.params.levels = c.levels;
        c.params.border = CRN_BORDER_CLOSED;
        c.params.orientation = (crn_orientation)(i & 1);
        for (int32_t plane = 0; plane < cases[i].planes; plane++)
            c.levels[plane] = cases[i].level;
        c.image = crn_guarded_image(&random, cases[i].type, cases[i].planes, cases[i].height,
                                    cases[i].width, &c.image_memory);
        fill(&random, &c.image, &cases[i].t);
        operators_describe(c.what, 0, &c.image, "large %zu", i);
        assert_int_equal(crn_contours_openmp(operator_contexts[2], &c.params, &c.image, &wanted),
                         0);
        try_cuda(&c, wanted.point_count, wanted.contour_count, &wanted);
        if (!wanted.truncated && wanted.contour_count > 4) {
            wanted.contour_count /= 2;
            wanted.point_count = wanted.contours[wanted.contour_count].first;
            wanted.truncated = true;
            try_cuda(&c, wanted.point_count + 1, wanted.contour_count * 2, &wanted);
        }
        free_case(&c);
    }
}

static int set_up(void **state)
{
    wanted = crn_contours_room(POINTS_MAX, CONTOURS_MAX);
    return operators_set_up(state);
}

static int tear_down(void **state)
{
    crn_contours_room_free(&wanted);
    return operators_tear_down(state);
}

int main(int argc, char **argv)
{
    operators_wait_passively(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fast_is_the_definition),
        cmocka_unit_test(test_large_picture_is_the_definition),
        cmocka_unit_test(test_cuda_is_the_definition),
        cmocka_unit_test(test_cuda_on_large_pictures),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

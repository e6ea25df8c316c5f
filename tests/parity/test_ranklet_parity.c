/* The ranklets of openmp, in every variant, and of CUDA against serial, and serial against counting
 * all pairs: identical bytes. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/compare.h"
#include "tests/support/operators/cuda.h"
#include "tests/support/operators/images.h"
#include "tests/support/parity/parity.h"
#include "tools/bench/idc.h"

/* Integers at equal distances, with slopes and noise, so that ties are common and halves differ. */
static crn_parity_values pick_values(crn_random *random, crn_type type)
{
    const uint32_t most = type == CRN_U8 ? 256 : 65536;
    uint32_t levels = most;
    switch (crn_random_below(random, 4)) {
    case 0:
        levels = 1 + crn_random_below(random, 3);
        break;
    case 1:
        levels = 1 + crn_random_below(random, most > 600 ? 600 : most);
        break;
    case 2:
        levels = 256;
        break;
    default:
        break;
    }
    uint32_t apart = 1 + crn_random_below(random, (most - 1) / levels + 1);
    while (apart > 1 && (levels - 1) * apart >= most)
        apart--;
    uint32_t low = crn_random_below(random, most - (levels - 1) * apart);
    return (crn_parity_values){.low = low,
                               .high = (double)low + (double)levels * apart,
                               .steps = levels,
                               .rising = crn_random_once_in(random, 2),
                               .capped = crn_random_once_in(random, 2)};
}

static void make_of(crn_parity_case *c, crn_type type, crn_parity_shape shape,
                    const crn_ranklet_params *params)
{
    c->params.ranklet = *params;
    c->values = pick_values(&c->random, type);
    crn_parity_make_in(c, type, shape);
    crn_parity_set_out(c, CRN_F32,
                       (crn_parity_shape){3 * shape.planes, shape.height - params->height + 1,
                                          shape.width - params->width + 1});
    crn_parity_describe(c, "window %d x %d", params->width, params->height);
}

static crn_type pick_type(crn_random *random)
{
    return crn_random_once_in(random, 2) ? CRN_U8 : CRN_U16;
}

static int32_t pick_window(crn_random *random, int32_t most)
{
    return 2 * crn_random_between(random, 1, most / 2);
}

/* For scratch memory: half of the windows where sums of 8 bits are closest to overflow. */
static void make_square_sizes(crn_parity_case *c)
{
    crn_random *random = &c->random;
    crn_ranklet_params params = {pick_window(random, 16), pick_window(random, 16)};
    if (crn_random_once_in(random, 2))
        params.width = params.height = 16;
    crn_parity_shape shape =
        crn_parity_pick_shape(c, params.width > params.height ? params.width : params.height);
    shape.planes = crn_random_between(random, 1, 2);
    make_of(c, pick_type(random), shape, &params);
}

static void make(crn_parity_case *c)
{
    crn_random *random = &c->random;
    if (c->square_sizes) {
        make_square_sizes(c);
        return;
    }
    crn_ranklet_params params = {pick_window(random, 12), pick_window(random, 12)};
    int32_t rows = crn_random_between(random, 0, 12), columns = crn_random_between(random, 0, 30);
    if (crn_random_once_in(random, 8)) {
        params = (crn_ranklet_params){pick_window(random, 40), pick_window(random, 40)};
        rows /= 3;
    }
    if (crn_random_once_in(random, 8))
        columns = crn_random_between(random, 30, 150);
    if (crn_random_once_in(random, 4)) /* 16 x 16 is the largest for pairs in 16 bits */
        params.width = params.height = 2 << crn_random_below(random, 4);
    if (crn_random_once_in(random, 8))
        rows = columns = 0;
    crn_parity_shape shape = {
        .planes = crn_random_once_in(random, 3) ? crn_random_between(random, 2, 3) : 1,
        .height = params.height + rows,
        .width = params.width + columns};
    make_of(c, pick_type(random), shape, &params);
}

/* Variants of pairs and of columns; the tiles of odd numbers are random. */
static void pick_variant(crn_parity_case *c, crn_target target, int32_t number,
                         crn_parity_variant *ret_variant)
{
    crn_random *random = &c->random;
    crn_ranklet_variant *v = &ret_variant->ranklet;
    *v = (crn_ranklet_variant){
        .target = target,
        .rows = 1000,
        .columns = 1000,
        .threads = 1,
        .method = number < 2 ? CRN_RANKLET_PAIRS : CRN_RANKLET_COLUMNS,
        .counts_width = (crn_ranklet_width)crn_random_below(random, CRN_RANKLET_ANY + 1)};
    if (number % 2) {
        v->rows = crn_random_once_in(random, 3) ? 1000 : crn_random_between(random, 1, 20);
        v->columns = crn_random_once_in(random, 3) ? 1000 : crn_random_between(random, 1, 40);
        v->threads = crn_random_once_in(random, 4) ? crn_random_between(random, 2, 3) : 1;
    }
    snprintf(ret_variant->text, sizeof ret_variant->text,
             "method %d, tiles %d x %d, counts %d, %d threads", (int)v->method, v->rows, v->columns,
             (int)v->counts_width, v->threads);
}

/* Large enough for the public operator to split it and to use threads. Serial looks at every value
 * that occurs in the plane for every window: with all of 16 bits for ten seconds, sanitized. */
enum { LARGE_VALUES = 2048 };

static bool make_large(crn_parity_case *c, uint32_t i)
{
    if (i == 4)
        return false;
    const crn_ranklet_params params = {i & 1 ? 4 : 28, i & 1 ? 4 : 6};
    make_of(c, pick_type(&c->random), (crn_parity_shape){2, 60, 500}, &params);
    if (c->values.steps > LARGE_VALUES) {
        c->values.steps = LARGE_VALUES;
        crn_parity_fill(c);
    }
    return true;
}

static bool make_views(crn_parity_case *c, uint32_t i)
{
    static const crn_ranklet_params windows[] = {{2, 2}, {4, 4}, {8, 8}, {36, 40}, {82, 60}};
    if (i == 10)
        return false;
    c->layout = i % 3 ? CRN_CHW : CRN_HWC;
    make_of(c, i % 2 ? CRN_U16 : CRN_U8, (crn_parity_shape){2, 61, 83}, &windows[i / 2]);
    return true;
}

static crn_parity_operator ranklet = {.kind = CRN_PARITY_RANKLET,
                                      .cases = 250,
                                      .cuda_cases = 400,
                                      .scratch_cases = 40,
                                      .make = make,
                                      .variants = 4,
                                      .pick_variant = pick_variant,
                                      .make_large = make_large,
                                      .make_views = make_views};

static uint32_t pixel(const crn_image *image, int32_t plane, int32_t y, int32_t x)
{
    const void *element = crn_image_element(image, plane, y, x);
    return image->type == CRN_U8 ? *(const uint8_t *)element : *(const uint16_t *)element;
}

/* One half of the window at the top left is 200, the other 100: sums at their limit. */
static void flatten_halves(crn_parity_case *c, int orientation)
{
    const crn_ranklet_params *p = &c->params.ranklet;
    for (int32_t y = 0; y < c->in.height; y++)
        for (int32_t x = 0; x < c->in.width; x++) {
            bool low = y < p->height / 2, left = x < p->width / 2;
            bool high = orientation == 0 ? left : orientation == 1 ? low : low == left;
            void *element = crn_image_element(&c->in, 0, y, x);
            if (c->in.type == CRN_U8)
                *(uint8_t *)element = high ? 200 : 100;
            else
                *(uint16_t *)element = high ? 200 : 100;
        }
}

/* A case with a window at a limit, as noise (part 0) or with flat halves. */
static crn_parity_case start_limit(const crn_ranklet_params *params, int32_t more, uint64_t seed,
                                   int part)
{
    crn_parity_case c = crn_parity_start(&ranklet, seed);
    make_of(&c, pick_type(&c.random),
            (crn_parity_shape){1, params->height + more, params->width + more}, params);
    if (part)
        flatten_halves(&c, part - 1);
    return c;
}

/* Window sizes at which each integer width is about to overflow. */
static void test_sums_at_their_limits_fit(void **state)
{
    (void)state;
    static const struct {
        crn_ranklet_params params;
        crn_ranklet_width width;
    } limits[] = {
        {{16, 16}, CRN_RANKLET_8},         {{16, 22}, CRN_RANKLET_8},
        {{18, 22}, CRN_RANKLET_8},         {{14, 24}, CRN_RANKLET_8},
        {{258, 126}, CRN_RANKLET_8},       {{254, 128}, CRN_RANKLET_16},
        {{2, 16382}, CRN_RANKLET_16},      {{180, 182}, CRN_RANKLET_16},
        {{182, 182}, CRN_RANKLET_32},      {{304, 304}, CRN_RANKLET_32},
        {{46342, 2}, CRN_RANKLET_WRAPPED}, {{46340, 2}, CRN_RANKLET_32},
        {{306, 304}, CRN_RANKLET_WRAPPED}, {{420, 400}, CRN_RANKLET_WRAPPED},
        {{16, 8194}, CRN_RANKLET_64},      {{2, 32766}, CRN_RANKLET_32},
        {{2, 32768}, CRN_RANKLET_ANY},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        for (int part = 0; part < 4; part++) {
            const crn_ranklet_params *params = &limits[i].params;
            assert_int_equal(crn_ranklet_width_needed(params), limits[i].width);
            crn_parity_case c = start_limit(params, 1, i, part);
            crn_parity_expect(&c, crn_parity_serial(), 1);
            if (part)
                assert_true(crn_image_at(&c.expected, part - 1, 0, 0) == 1);
            for (crn_target target = CRN_BASELINE; target <= crn_target_best(); target++)
                for (int method = CRN_RANKLET_BY_COST; method <= CRN_RANKLET_COLUMNS; method++) {
                    crn_parity_variant v = {.target = target,
                                            .ranklet = {.target = target,
                                                        .rows = 2,
                                                        .columns = 2,
                                                        .threads = 1,
                                                        .method = (crn_ranklet_method)method}};
                    snprintf(v.text, sizeof v.text, "method %d", method);
                    if (method != CRN_RANKLET_PAIRS || params->width * params->height < 1000)
                        crn_parity_check_with(&c, &v);
                }
            crn_parity_end(&c);
        }
}

/* Sum of sign(t - c) over all pairs. */
static int64_t sum_of_pairs(const crn_parity_case *c, int32_t plane, int32_t y, int32_t x,
                            int orientation)
{
    const int32_t width = c->params.ranklet.width, height = c->params.ranklet.height;
    int64_t sum = 0;
    for (int32_t i = 0; i < width * height; i++)
        for (int32_t k = 0; k < width * height; k++) {
            bool left = i % width < width / 2, top = i / width < height / 2;
            bool right = k % width >= width / 2, bottom = k / width >= height / 2;
            bool is_t = orientation == 0 ? left : orientation == 1 ? top : left == top;
            bool is_c = orientation == 0 ? right : orientation == 1 ? bottom : right != bottom;
            if (!is_t || !is_c)
                continue;
            uint32_t t = pixel(&c->in, plane, y + i / width, x + i % width);
            uint32_t u = pixel(&c->in, plane, y + k / width, x + k % width);
            sum += (t > u) - (t < u);
        }
    return sum;
}

static void test_serial_counts_all_pairs(void **state)
{
    (void)state;
    uint64_t seed = crn_random_seed();
    for (uint32_t i = 0; i < 60; i++) {
        crn_parity_case c = crn_parity_start(&ranklet, seed + i);
        make(&c);
        crn_parity_expect(&c, crn_parity_serial(), 1);
        double half = c.params.ranklet.width * c.params.ranklet.height / 2;
        for (uint32_t k = 0; k < 5; k++) {
            int32_t plane = crn_random_between(&c.random, 0, c.in.planes - 1);
            int32_t y = crn_random_between(&c.random, 0, c.out.height - 1);
            int32_t x = crn_random_between(&c.random, 0, c.out.width - 1);
            for (int o = 0; o < 3; o++) {
                float r = (float)((double)sum_of_pairs(&c, plane, y, x, o) / (half * half));
                float got = crn_image_at(&c.expected, 3 * plane + o, y, x);
                if (r != got)
                    fail_msg("%s: plane %d (%d, %d) orientation %d: %.9g, pairs give %.9g", c.what,
                             plane, y, x, o, (double)got, (double)r);
            }
        }
        crn_parity_end(&c);
    }
}

/* The benchmark's baseline computes the same. */
static void test_distribution_counting_is_serial(void **state)
{
    (void)state;
    uint64_t seed = crn_random_seed();
    uint32_t compared = 0;
    for (uint32_t i = 0; i < 60; i++) {
        crn_parity_case c = crn_parity_start(&ranklet, seed + i);
        make(&c);
        if (c.in.type == CRN_U8 && c.in.planes == 1) {
            crn_parity_expect(&c, crn_parity_serial(), 1);
            crn_image got = crn_image_copy(&c.expected);
            crn_image_randomise(&got, &c.random);
            crn_bench_idc(&c.in, c.params.ranklet.width, c.params.ranklet.height, &got);
            crn_assert_images_equal(&got, &c.expected, c.what);
            free(got.data);
            compared++;
        }
        crn_parity_end(&c);
    }
    assert_true(compared > 0);
}

/* --- on a device: serial is slow on larger images, so openmp is expected --- */

static void test_cuda_sums_at_their_limits_fit(void **state)
{
    (void)state;
    const crn_ops *cuda = crn_test_cuda_ops();
    static const crn_ranklet_params limits[] = {
        {2, 2},     {4, 4},     {32, 2},    {34, 2},    {2, 64},    {254, 128}, {304, 304},
        {306, 304}, {512, 510}, {46342, 2}, {70000, 2}, {2, 32768}, {16, 8194}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        for (int part = 0; part < 4; part++) {
            crn_parity_case c = start_limit(&limits[i], 9, i + 99, part);
            crn_parity_expect(&c, crn_parity_openmp(), 2);
            crn_parity_check(&c, cuda, 1);
            crn_parity_end(&c);
        }
}

/*
 * All powers of two that fit, on images split into many tiles. CRN_CASES limits the number of
 * pyramids; the first ones are small enough for a tool that traces every access.
 */
static void test_cuda_pyramid_is_openmp(void **state)
{
    (void)state;
    const crn_ops *cuda = crn_test_cuda_ops();
    static const struct {
        int32_t height, width;
        bool square; /* square windows; otherwise sides as long as the image allows */
    } pyramids[] = {{131, 140, true}, {67, 131, false},   {257, 257, true}, {95, 511, false},
                    {95, 511, true},  {511, 95, false},   {511, 95, true},  {256, 256, true},
                    {513, 530, true}, {700, 1030, false}, {700, 1030, true}};
    const uint32_t count = sizeof pyramids / sizeof *pyramids;
    uint32_t most = crn_random_cases(count);
    for (uint32_t i = 0; i < count && i < most; i++) {
        crn_ranklet_params params = {2, 2};
        while (2 * params.height <= pyramids[i].height)
            params.height *= 2;
        while (2 * params.width <= pyramids[i].width)
            params.width *= 2;
        if (pyramids[i].square)
            params.height = params.width =
                params.height < params.width ? params.height : params.width;
        for (; params.height >= 2 && params.width >= 2; params.height /= 2, params.width /= 2) {
            crn_parity_case c = crn_parity_start(&ranklet, 2 * i + (uint64_t)params.width);
            make_of(&c, pick_type(&c.random),
                    (crn_parity_shape){1, pyramids[i].height, pyramids[i].width}, &params);
            crn_parity_expect(&c, crn_parity_openmp(), 4);
            crn_parity_check(&c, cuda, 1);
            crn_parity_end(&c);
        }
    }
}

int main(int argc, char **argv)
{
    operators_wait_passively(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_serial_counts_all_pairs),
        cmocka_unit_test_prestate(test_openmp_is_serial, &ranklet),
        cmocka_unit_test(test_sums_at_their_limits_fit),
        cmocka_unit_test_prestate(test_large_images_are_serial, &ranklet),
        cmocka_unit_test(test_distribution_counting_is_serial),
        cmocka_unit_test_prestate(test_scratch_contents_do_not_matter, &ranklet),
        cmocka_unit_test_prestate(test_cuda_is_serial, &ranklet),
        cmocka_unit_test(test_cuda_sums_at_their_limits_fit),
        cmocka_unit_test(test_cuda_pyramid_is_openmp),
        cmocka_unit_test_prestate(test_cuda_views_in_a_graph, &ranklet),
    };
    return cmocka_run_group_tests(tests, operators_set_up, operators_tear_down);
}

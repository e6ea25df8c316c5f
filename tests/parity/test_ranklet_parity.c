/* The fast ranklets against the serial operator, and
 * that against counting all pairs: identical bytes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/openmp/ranklet/ranklet.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/compare.h"
#include "tests/support/cuda.h"
#include "tests/support/guarded.h"
#include "tests/support/images.h"
#include "tests/support/operator_tests.h"
#include "tools/bench/idc.h"

typedef struct ranklet_case {
    crn_image in, out, wanted; /* wanted: planar, by serial; owns its memory */
    crn_guarded in_memory, out_memory;
    crn_ranklet_params params;
    char what[OPERATOR_CASE_BYTES];
} ranklet_case;

static void free_case(ranklet_case *c)
{
    crn_guarded_free(&c->in_memory);
    crn_guarded_free(&c->out_memory);
    free(c->wanted.data);
}

static void set_pixel(const crn_image *image, ptrdiff_t index, uint32_t value)
{
    if (image->type == CRN_U8)
        ((uint8_t *)image->data)[index] = (uint8_t)value;
    else
        ((uint16_t *)image->data)[index] = (uint16_t)value;
}

static uint32_t pixel(const crn_image *image, int32_t plane, int32_t y, int32_t x)
{
    ptrdiff_t index = crn_image_index(image, plane, y, x);
    return image->type == CRN_U8 ? ((const uint8_t *)image->data)[index]
                                 : ((const uint16_t *)image->data)[index];
}

/* `levels` distinct values from `least` on, `apart` from each other; slopes and noise, so that ties
 * are common and halves differ. */
static void fill(crn_random *random, const crn_image *image, uint32_t least, uint32_t levels,
                 uint32_t apart)
{
    uint32_t slope = crn_random_below(random, 4);
    for (int32_t plane = 0; plane < image->planes; plane++)
        for (int32_t y = 0; y < image->height; y++)
            for (int32_t x = 0; x < image->width; x++) {
                uint32_t v = crn_random_below(random, levels);
                if (slope & 1)
                    v = (v + (uint32_t)x * 3) % levels;
                if (slope & 2)
                    v = v < (uint32_t)y % levels ? v : (uint32_t)y % levels;
                set_pixel(image, crn_image_index(image, plane, y, x), least + v * apart);
            }
}

static void pick_values(crn_random *random, const crn_image *image)
{
    uint32_t most = image->type == CRN_U8 ? 256 : 65536;
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
    uint32_t least = crn_random_below(random, most - (levels - 1) * apart);
    fill(random, image, least, levels, apart);
}

/* Creates a case without expected result. */
static void make_unanswered_case(uint64_t seed, int32_t height, int32_t width, int32_t planes,
                                 const crn_ranklet_params *params, ranklet_case *c)
{
    crn_random random = {seed};
    memset(c, 0, sizeof *c);
    c->params = *params;
    crn_type type = crn_random_once_in(&random, 2) ? CRN_U8 : CRN_U16;
    c->in = crn_guarded_image(&random, type, planes, height, width, &c->in_memory);
    pick_values(&random, &c->in);
    int32_t rows = height - params->height + 1, columns = width - params->width + 1;
    c->out = crn_guarded_image(&random, CRN_F32, 3 * planes, rows, columns, &c->out_memory);
    c->wanted = crn_image_dense(NULL, CRN_F32, CRN_CHW, 3 * planes, rows, columns);
    c->wanted.data = malloc(crn_image_elements(&c->wanted) * sizeof(float));
    assert_non_null(c->wanted.data);
    operators_describe(c->what, seed, &c->in, "window %d x %d", params->width, params->height);
}

static void make_case(uint64_t seed, int32_t height, int32_t width, int32_t planes,
                      const crn_ranklet_params *params, ranklet_case *c)
{
    make_unanswered_case(seed, height, width, planes, params, c);
    assert_int_equal(crn_ranklet_serial(operator_contexts[1], &c->params, &c->in, &c->wanted), 0);
}

/* For larger pictures, on which serial is slow: expected
 * result by openmp, verified by the tests above. */
static void make_openmp_case(uint64_t seed, int32_t height, int32_t width,
                             const crn_ranklet_params *params, ranklet_case *c)
{
    make_unanswered_case(seed, height, width, 1, params, c);
    assert_int_equal(crn_ranklet_openmp(operator_contexts[4], &c->params, &c->in, &c->wanted), 0);
}

static void make_random_case(uint64_t seed, ranklet_case *c)
{
    crn_random random = {~seed};
    crn_ranklet_params params = {2 * crn_random_between(&random, 1, 6),
                                 2 * crn_random_between(&random, 1, 6)};
    int32_t more_rows = crn_random_between(&random, 0, 12),
            more = crn_random_between(&random, 0, 30);
    if (crn_random_once_in(&random, 8)) {
        params.width = 2 * crn_random_between(&random, 1, 20);
        params.height = 2 * crn_random_between(&random, 1, 20);
        more_rows /= 3;
    }
    if (crn_random_once_in(&random, 8))
        more = crn_random_between(&random, 30, 150);
    if (crn_random_once_in(&random, 4)) /* 16 x 16 is the largest for pairs in 16 bits */
        params.width = params.height = 2 << crn_random_below(&random, 4);
    if (crn_random_once_in(&random, 8))
        more = more_rows = 0;
    int32_t planes = crn_random_once_in(&random, 3) ? crn_random_between(&random, 2, 3) : 1;
    make_case(seed, params.height + more_rows, params.width + more, planes, &params, c);
}

static void check_out(ranklet_case *c, const char *what)
{
    crn_assert_images_equal(&c->out, &c->wanted, what);
    crn_guarded_check_gaps(&c->out_memory, &c->out, what);
    crn_guarded_check(&c->in_memory, what);
    crn_guarded_check(&c->out_memory, what);
}

/* Runs one variant of the fast operator; NULL: the public one. */
static void try_way(ranklet_case *c, const crn_ranklet_variant *way, int32_t threads)
{
    char what[OPERATOR_CASE_BYTES + 100];
    snprintf(what, sizeof what, "%s | %d threads", c->what, threads);
    if (way)
        snprintf(what, sizeof what,
                 "%s | target %d, method %d, tiles %d x %d, counts %d, %d threads", c->what,
                 way->target, way->method, way->rows, way->columns, way->counts_width,
                 way->threads);
    crn_guarded_fill(&c->out_memory);
    crn_context *context = operator_contexts[threads];
    int r = way ? crn_ranklet_openmp_with(way, context, &c->params, &c->in, &c->out)
                : crn_ranklet_openmp(context, &c->params, &c->in, &c->out);
    operators_check_result(r, what);
    check_out(c, what);
}

static void try_case(uint64_t seed)
{
    ranklet_case c;
    make_random_case(seed, &c);
    void *before = crn_guarded_copy(&c.in_memory);
    crn_random random = {seed * 3};
    try_way(&c, NULL, crn_random_between(&random, 1, OPERATOR_THREADS_MAX));
    for (crn_target target = CRN_BASELINE; target <= crn_target_best(); target++)
        for (int method = CRN_RANKLET_PAIRS; method <= CRN_RANKLET_COLUMNS; method++) {
            crn_ranklet_variant way = {
                .target = target,
                .rows = crn_random_once_in(&random, 2) ? 1000 : crn_random_between(&random, 1, 9),
                .columns =
                    crn_random_once_in(&random, 2) ? 1000 : crn_random_between(&random, 1, 40),
                .threads = crn_random_once_in(&random, 4) ? crn_random_between(&random, 2, 3) : 1,
                .method = (crn_ranklet_method)method,
                .counts_width = (crn_ranklet_width)crn_random_below(&random, CRN_RANKLET_ANY + 1)};
            try_way(&c, &way, way.threads);
        }
    crn_guarded_check_same(&c.in_memory, before, c.what);
    free(before);
    free_case(&c);
}

static void test_fast_is_the_definition(void **state)
{
    (void)state;
    operators_try_cases(250, try_case);
}

/* Window sizes at which each integer width is about
 * to overflow, with flat halves that reach the limit. */
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
        for (int flat = 0; flat < 4; flat++) {
            ranklet_case c;
            const crn_ranklet_params *params = &limits[i].params;
            assert_int_equal(crn_ranklet_width_needed(params), limits[i].width);
            make_case(i, params->height + 1, params->width + 1, 1, params, &c);
            for (int32_t y = 0; y <= params->height && flat; y++)
                for (int32_t x = 0; x <= params->width; x++) {
                    bool low = y < params->height / 2, left = x < params->width / 2;
                    bool high = flat == 1 ? left : flat == 2 ? low : low == left;
                    set_pixel(&c.in, crn_image_index(&c.in, 0, y, x), high ? 200 : 100);
                }
            assert_int_equal(crn_ranklet_serial(operator_contexts[1], &c.params, &c.in, &c.wanted),
                             0);
            if (flat)
                assert_true(crn_image_at(&c.wanted, flat - 1, 0, 0) == 1);
            for (crn_target target = CRN_BASELINE; target <= crn_target_best(); target++)
                for (int method = CRN_RANKLET_BY_COST; method <= CRN_RANKLET_COLUMNS; method++) {
                    crn_ranklet_variant way = {.target = target,
                                               .rows = 2,
                                               .columns = 2,
                                               .threads = 1,
                                               .method = (crn_ranklet_method)method};
                    if (method != CRN_RANKLET_PAIRS || params->width * params->height < 1000)
                        try_way(&c, &way, 1);
                }
            free_case(&c);
        }
}

/* Large enough for the public operator to split it and to use threads. */
static void test_large_picture_is_the_definition(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++) {
        ranklet_case c;
        const crn_ranklet_params params = {seed & 1 ? 4 : 28, seed & 1 ? 4 : 6};
        make_case(seed, 60, 500, 2, &params, &c);
        for (int32_t threads = 1; threads <= 3; threads++)
            try_way(&c, NULL, threads);
        free_case(&c);
    }
}

/* Sum of sign(t - c) over all pairs. */
static int64_t sum_of_pairs(const ranklet_case *c, int32_t plane, int32_t y, int32_t x,
                            int orientation)
{
    const int32_t width = c->params.width, height = c->params.height;
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

static void test_definition_counts_all_pairs(void **state)
{
    (void)state;
    uint64_t seed = crn_random_seed();
    for (uint32_t i = 0; i < 60; i++) {
        ranklet_case c;
        make_random_case(seed + i, &c);
        crn_random random = {seed + i};
        double half = c.params.width * c.params.height / 2;
        for (uint32_t k = 0; k < 5; k++) {
            int32_t plane = crn_random_between(&random, 0, c.in.planes - 1);
            int32_t y = crn_random_between(&random, 0, c.out.height - 1);
            int32_t x = crn_random_between(&random, 0, c.out.width - 1);
            for (int o = 0; o < 3; o++) {
                float r = (float)((double)sum_of_pairs(&c, plane, y, x, o) / (half * half));
                float got = crn_image_at(&c.wanted, 3 * plane + o, y, x);
                if (r != got)
                    fail_msg("%s: plane %d (%d, %d) orientation %d: %.9g, pairs give %.9g", c.what,
                             plane, y, x, o, (double)got, (double)r);
            }
        }
        free_case(&c);
    }
}

/* The benchmark's baseline computes the same. */
static void test_distribution_counting_is_the_definition(void **state)
{
    (void)state;
    uint64_t seed = crn_random_seed();
    uint32_t compared = 0;
    for (uint32_t i = 0; i < 60; i++) {
        ranklet_case c;
        make_random_case(seed + i, &c);
        if (c.in.type == CRN_U8 && c.in.planes == 1) {
            crn_guarded_fill(&c.out_memory);
            crn_bench_idc(&c.in, c.params.width, c.params.height, &c.out);
            check_out(&c, c.what);
            compared++;
        }
        free_case(&c);
    }
    assert_true(compared > 0);
}

/* --- on a device --- */

static void check_cuda(const crn_ops *cuda, ranklet_case *c)
{
    char what[OPERATOR_CASE_BYTES + 100];
    snprintf(what, sizeof what, "%s | cuda", c->what);
    crn_guarded_fill(&c->out_memory);
    operators_check_result(cuda->ranklet(operator_contexts[1], &c->params, &c->in, &c->out), what);
    check_out(c, what);
}

static void try_cuda(uint64_t seed)
{
    ranklet_case c;
    make_random_case(seed, &c);
    void *before = crn_guarded_copy(&c.in_memory);
    check_cuda(crn_test_cuda_ops(), &c);
    crn_guarded_check_same(&c.in_memory, before, c.what);
    free(before);
    free_case(&c);
}

static void test_cuda_is_the_definition(void **state)
{
    (void)state;
    crn_test_cuda_ops();
    operators_try_cases(400, try_cuda);
}

/* Windows at the limits of the integer widths and of memory, on flat halves and on noise. */
static void test_cuda_sums_at_their_limits_fit(void **state)
{
    (void)state;
    const crn_ops *cuda = crn_test_cuda_ops();
    static const crn_ranklet_params limits[] = {
        {2, 2},     {4, 4},     {32, 2},    {34, 2},    {2, 64},    {254, 128}, {304, 304},
        {306, 304}, {512, 510}, {46342, 2}, {70000, 2}, {2, 32768}, {16, 8194}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        for (int flat = 0; flat < 4; flat++) {
            ranklet_case c;
            const crn_ranklet_params *params = &limits[i];
            make_unanswered_case(i + 99, params->height + 9, params->width + 9, 1, params, &c);
            for (int32_t y = 0; y < c.in.height && flat; y++)
                for (int32_t x = 0; x < c.in.width; x++) {
                    bool low = y < params->height / 2, left = x < params->width / 2;
                    bool high = flat == 1 ? left : flat == 2 ? low : low == left;
                    set_pixel(&c.in, crn_image_index(&c.in, 0, y, x), high ? 200 : 100);
                }
            assert_int_equal(crn_ranklet_openmp(operator_contexts[2], &c.params, &c.in, &c.wanted),
                             0);
            check_cuda(cuda, &c);
            free_case(&c);
        }
}

/*
 * All powers of two that fit, on pictures split into many tiles. CRN_CASES limits the number of
 * pyramids; the first ones are small enough for a tool that traces every access.
 */
static void test_cuda_pyramid_is_the_definition(void **state)
{
    (void)state;
    const crn_ops *cuda = crn_test_cuda_ops();
    static const struct {
        int32_t height, width;
        bool square; /* square windows; otherwise sides as long as the picture allows */
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
            ranklet_case c;
            make_openmp_case(2 * i + (uint64_t)params.width, pyramids[i].height, pyramids[i].width,
                             &params, &c);
            check_cuda(cuda, &c);
            free_case(&c);
        }
    }
}

/* Several views at once, and as a captured graph, with other pictures each time. */
static void test_cuda_views_in_a_graph_are_the_definition(void **state)
{
    (void)state;
    enum { VIEWS = 3, PLANES = 2, HEIGHT = 61, WIDTH = 83 };
    static const crn_ranklet_params windows[] = {{2, 2}, {4, 4}, {8, 8}, {36, 40}, {82, 60}};
    const crn_gpu *gpu = crn_test_cuda();
    for (int i = 0; i < 10; i++) {
        const crn_ranklet_params *params = &windows[i / 2];
        crn_type type = i % 2 ? CRN_U16 : CRN_U8;
        size_t in_bytes = VIEWS * PLANES * HEIGHT * WIDTH * crn_type_bytes(type);
        crn_image in =
            crn_image_dense(NULL, type, i % 3 ? CRN_CHW : CRN_HWC, PLANES, HEIGHT, WIDTH);
        crn_image out = crn_image_dense(NULL, CRN_F32, CRN_CHW, 3 * PLANES,
                                        HEIGHT - params->height + 1, WIDTH - params->width + 1);
        size_t out_bytes = VIEWS * crn_image_elements(&out) * sizeof(float);
        crn_context *context;
        assert_int_equal(gpu->context_create(0, VIEWS, &context), 0);
        void *device_in = crn_context_scratch(context, 16, in_bytes);
        void *device_out = crn_context_scratch(context, 17, out_bytes);
        uint8_t *host_in = gpu->pinned_create(in_bytes);
        float *host_out = gpu->pinned_create(out_bytes), *wanted = malloc(out_bytes);
        assert_true(device_in && device_out && host_in && host_out && wanted);
        crn_gpu_graph *graph = NULL;
        for (int turn = 0; turn < 4; turn++) {
            crn_random random = {(uint64_t)(100 * i + turn)};
            for (size_t k = 0; k < in_bytes; k++)
                host_in[k] = (uint8_t)crn_random_below(&random, turn == 1 ? 4 : 256);
            assert_int_equal(gpu->upload(context, device_in, host_in, in_bytes), 0);
            in.data = device_in;
            out.data = device_out;
            if (turn == 1)
                assert_int_equal(gpu->record(context), 0);
            if (turn < 2)
                assert_int_equal(gpu->ops->ranklet(context, params, &in, &out), 0);
            if (turn == 1)
                assert_int_equal(gpu->recorded(context, &graph), 0);
            if (turn >= 1)
                assert_int_equal(gpu->launch(context, graph), 0);
            assert_int_equal(gpu->download(context, host_out, device_out, out_bytes), 0);
            assert_int_equal(crn_test_gpu_wait(gpu, context), 0);
            for (int view = 0; view < VIEWS; view++) {
                in.data = host_in + (size_t)view * in_bytes / VIEWS;
                out.data = wanted + (size_t)view * crn_image_elements(&out);
                assert_int_equal(crn_ranklet_serial(operator_contexts[1], params, &in, &out), 0);
            }
            if (memcmp(host_out, wanted, out_bytes) != 0)
                fail_msg("views: window %d x %d, type %d, turn %d differ", params->width,
                         params->height, (int)type, turn);
        }
        gpu->graph_free(&graph);
        gpu->pinned_free(host_in);
        gpu->pinned_free(host_out);
        free(wanted);
        crn_context_free(&context);
    }
}

int main(int argc, char **argv)
{
    operators_wait_passively(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition_counts_all_pairs),
        cmocka_unit_test(test_fast_is_the_definition),
        cmocka_unit_test(test_sums_at_their_limits_fit),
        cmocka_unit_test(test_large_picture_is_the_definition),
        cmocka_unit_test(test_distribution_counting_is_the_definition),
        cmocka_unit_test(test_cuda_is_the_definition),
        cmocka_unit_test(test_cuda_sums_at_their_limits_fit),
        cmocka_unit_test(test_cuda_pyramid_is_the_definition),
        cmocka_unit_test(test_cuda_views_in_a_graph_are_the_definition),
    };
    return cmocka_run_group_tests(tests, operators_set_up, operators_tear_down);
}

/* The fast diamond-squares, in every variant, against the serial operator: identical bytes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/openmp/diamond_square/diamond_square.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/cuda.h"
#include "tests/support/guarded.h"
#include "tests/support/operator_tests.h"

typedef struct diamond_square_case {
    crn_diamond_square_params params;
    crn_image image;
    crn_guarded memory;
    void *wanted; /* all of the image's memory, as serial leaves it */
    char what[OPERATOR_CASE_BYTES];
} diamond_square_case;

static double pick_roughness(crn_random *random)
{
    static const double usual[] = {0, 0.5, 0.8, 1, 1e-3, 1e-12, 1e-310};
    uint32_t which = crn_random_below(random, 9);
    return which < 7 ? usual[which] : crn_random_unit(random);
}

/* Picks a rectangle of the field: mostly a part, sometimes all of it, or along a border. */
static void pick_rectangle(crn_random *random, int32_t side, int32_t *ret_at, int32_t *ret_length)
{
    *ret_at = (int32_t)crn_random_below(random, (uint32_t)side);
    *ret_length = crn_random_between(random, 1, side - *ret_at);
    switch (crn_random_below(random, 4)) {
    case 0:
        *ret_at = 0;
        *ret_length = side;
        break;
    case 1:
        *ret_length = crn_random_between(random, 1, *ret_length < 5 ? *ret_length : 5);
        break;
    case 2:
        *ret_at = side - *ret_length;
        break;
    default:
        break;
    }
}

static void make_case(uint64_t seed, diamond_square_case *c)
{
    crn_random random = {seed};
    memset(c, 0, sizeof *c);
    c->params.exponent = crn_random_between(&random, 0, crn_random_once_in(&random, 8) ? 9 : 6);
    c->params.seed = crn_random_next(&random);
    c->params.roughness = pick_roughness(&random);
    int32_t side = (1 << c->params.exponent) + 1, width, height;
    pick_rectangle(&random, side, &c->params.x, &width);
    pick_rectangle(&random, side, &c->params.y, &height);
    crn_type type = crn_random_once_in(&random, 2) ? CRN_U8 : CRN_F32;
    c->image = crn_guarded_image(&random, type, 1, height, width, &c->memory);
    operators_describe(c->what, seed, &c->image, "at %d, %d, exponent %d roughness %g", c->params.y,
                       c->params.x, c->params.exponent, c->params.roughness);
    assert_int_equal(crn_diamond_square_serial(operator_contexts[1], &c->params, &c->image), 0);
    c->wanted = crn_guarded_copy(&c->memory);
}

/* Runs one variant of the fast operator; by == NULL: the public one. */
static void try_way(diamond_square_case *c, const crn_diamond_square_variant *by, int32_t threads)
{
    char what[OPERATOR_CASE_BYTES + 100];
    snprintf(what, sizeof what, "%s | %d threads", c->what, threads);
    if (by)
        snprintf(what, sizeof what, "%s | target %d, tiles %d x %d, %d threads%s", c->what,
                 (int)by->target, by->rows, by->columns, by->threads, by->stream ? ", stream" : "");
    /* Gaps between elements were 0 for the serial operator and must stay so. */
    memset(c->memory.data, 0, c->memory.bytes);
    crn_context *context = operator_contexts[threads];
    int r = by ? crn_diamond_square_openmp_with(by, context, &c->params, &c->image)
               : crn_diamond_square_openmp(context, &c->params, &c->image);
    operators_check_result(r, what);
    crn_guarded_check_same(&c->memory, c->wanted, what);
    crn_guarded_check(&c->memory, what);
}

static void free_case(diamond_square_case *c)
{
    crn_guarded_free(&c->memory);
    free(c->wanted);
}

static void try_case(uint64_t seed)
{
    diamond_square_case c;
    make_case(seed, &c);
    crn_random random = {~seed};
    try_way(&c, NULL, crn_random_between(&random, 1, OPERATOR_THREADS_MAX));
    for (crn_target target = CRN_BASELINE; target <= crn_target_best(); target++) {
        crn_diamond_square_variant whole = {target, 1, c.image.height, c.image.width,
                                            crn_random_once_in(&random, 2)};
        try_way(&c, &whole, 1);
        int32_t least = 1 + c.image.height / 9, narrowest = 1 + c.image.width / 9;
        crn_diamond_square_variant tiles = {target, crn_random_between(&random, 1, 2),
                                            crn_random_between(&random, least, c.image.height),
                                            crn_random_between(&random, narrowest, c.image.width),
                                            crn_random_once_in(&random, 2)};
        try_way(&c, &tiles, tiles.threads);
    }
    free_case(&c);
}

static void test_fast_is_the_definition(void **state)
{
    (void)state;
    operators_try_cases(4000, try_case);
}

/* Large enough for the public operator to use threads and to split the field. */
static void test_large_field_is_the_definition(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        diamond_square_case c = {
            .params = {.exponent = 11, .seed = 99, .roughness = 0.6, .x = 3 * i}};
        crn_type type = i ? CRN_F32 : CRN_U8;
        int32_t side = (1 << 11) + 1;
        c.memory = crn_guarded_create((size_t)side * (size_t)side * crn_type_bytes(type), true);
        c.image = crn_image_dense(c.memory.data, type, CRN_CHW, 1, side, side - c.params.x);
        snprintf(c.what, sizeof c.what, "large %d", i);
        assert_int_equal(crn_diamond_square_serial(operator_contexts[1], &c.params, &c.image), 0);
        c.wanted = crn_guarded_copy(&c.memory);
        for (int32_t threads = 1; threads <= 3; threads++)
            try_way(&c, NULL, threads);
        free_case(&c);
    }
}

/* Stale scratch memory must not affect the result; here it holds NaNs, which would spread. */
static void test_scratch_memory_may_hold_anything(void **state)
{
    (void)state;
    size_t bytes = 4 << 20;
    uint8_t *scratch = crn_context_scratch(operator_contexts[4], 0, bytes);
    assert_non_null(scratch);
    for (uint64_t seed = 0; seed < 60; seed++) {
        diamond_square_case c;
        make_case(seed, &c);
        memset(scratch, 0xff, bytes); /* NaN */
        try_way(&c, NULL, 4);
        free_case(&c);
    }
}

/* --- cuda --- */

static void try_cuda(const crn_ops *ops, diamond_square_case *c)
{
    memset(c->memory.data, 0, c->memory.bytes);
    int r = ops->diamond_square(operator_contexts[1], &c->params, &c->image);
    operators_check_result(r, c->what);
    crn_guarded_check_same(&c->memory, c->wanted, c->what);
    crn_guarded_check(&c->memory, c->what);
}

static void try_cuda_case(uint64_t seed)
{
    diamond_square_case c;
    make_case(seed, &c);
    try_cuda(crn_test_cuda_ops(), &c);
    free_case(&c);
}

static void test_cuda_is_the_definition(void **state)
{
    (void)state;
    crn_test_cuda_ops();
    operators_try_cases(3000, try_cuda_case);
}

/* A rectangle with rows of any alignment, of a field too large for serial: compared with openmp,
 * which gives the same bytes. */
static void try_cuda_rectangle(const crn_ops *ops, crn_random *random, crn_type type,
                               const crn_diamond_square_params *params, int32_t height,
                               int32_t width)
{
    int32_t stride = width + crn_random_between(random, 0, 9);
    int32_t from = crn_random_between(random, 0, 16);
    size_t size = crn_type_bytes(type), count = (size_t)stride * (size_t)height + 16;
    uint8_t *got = calloc(count, size), *wanted = calloc(count, size);
    assert_true(got && wanted);
    crn_image image = crn_image_dense(NULL, type, CRN_CHW, 1, height, width);
    image.row_stride = stride;
    char what[OPERATOR_CASE_BYTES];
    operators_describe(what, params->seed, &image, "from %d, at %d, %d, exponent %d roughness %g",
                       from, params->y, params->x, params->exponent, params->roughness);
    image.data = wanted + (size_t)from * size;
    crn_context *several = operator_contexts[OPERATOR_THREADS_MAX];
    operators_check_result(crn_diamond_square_openmp(several, params, &image), what);
    image.data = got + (size_t)from * size;
    operators_check_result(ops->diamond_square(operator_contexts[1], params, &image), what);
    for (size_t i = 0; i < count; i++)
        if (memcmp(got + i * size, wanted + i * size, size) != 0)
            fail_msg("%s: element %zu (row %zu, column %zu) is %02x.., not %02x..", what, i,
                     (i - (size_t)from) / (size_t)stride, (i - (size_t)from) % (size_t)stride,
                     got[i * size], wanted[i * size]);
    free(got);
    free(wanted);
}

static void test_cuda_is_openmp_on_large_fields(void **state)
{
    (void)state;
    const crn_ops *ops = crn_test_cuda_ops();
    crn_random random = {crn_random_seed()};
    for (int32_t i = 0; i < 250; i++) {
        crn_diamond_square_params params = {.exponent = crn_random_between(&random, 3, 20),
                                            .seed = crn_random_next(&random),
                                            .roughness = pick_roughness(&random)};
        int32_t side = (1 << params.exponent) + 1, height, width;
        pick_rectangle(&random, side, &params.x, &width);
        pick_rectangle(&random, side, &params.y, &height);
        /* At either end of the field, or in between. */
        int32_t most = crn_random_between(&random, 1, 700);
        if (width > most) {
            params.x += crn_random_once_in(&random, 2) ? width - most : 0;
            width = most;
        }
        if (height > most) {
            params.y += crn_random_once_in(&random, 2) ? height - most : 0;
            height = most;
        }
        crn_type type = crn_random_once_in(&random, 3) ? CRN_F32 : CRN_U8;
        try_cuda_rectangle(ops, &random, type, &params, height, width);
    }
    for (int32_t exponent = 10; exponent <= 13; exponent++) {
        int32_t side = (1 << exponent) + 1;
        crn_diamond_square_params params = {.exponent = exponent, .seed = 5, .roughness = 0.55};
        try_cuda_rectangle(ops, &random, CRN_U8, &params, side, side);
        if (exponent < 13)
            try_cuda_rectangle(ops, &random, CRN_F32, &params, side, side);
    }
}

static void test_cuda_is_recorded(void **state)
{
    (void)state;
    const crn_gpu *gpu = crn_test_cuda();
    enum { SIDE = 513 };
    crn_diamond_square_params params = {.exponent = 9, .seed = 7, .roughness = 0.5};
    static uint8_t wanted[SIDE * SIDE], got[SIDE * SIDE];
    crn_image image = crn_image_dense(wanted, CRN_U8, CRN_CHW, 1, SIDE, SIDE);
    assert_int_equal(crn_diamond_square_openmp(operator_contexts[1], &params, &image), 0);
    crn_context *context, *two;
    assert_int_equal(gpu->context_create(0, 1, &context), 0);
    image.data = crn_context_scratch(context, 16, sizeof got);
    assert_non_null(image.data);
    crn_gpu_graph *graph = NULL;
    assert_int_equal(gpu->ops->diamond_square(context, &params, &image), 0);
    assert_int_equal(gpu->record(context), 0);
    assert_int_equal(gpu->ops->diamond_square(context, &params, &image), 0);
    assert_int_equal(gpu->recorded(context, &graph), 0);
    for (int32_t i = 0; i < 3; i++) {
        memset(got, 1, sizeof got);
        assert_int_equal(gpu->upload(context, image.data, got, sizeof got), 0);
        assert_int_equal(gpu->launch(context, graph), 0);
        assert_int_equal(gpu->download(context, got, image.data, sizeof got), 0);
        assert_int_equal(crn_test_gpu_wait(gpu, context), 0);
        assert_memory_equal(got, wanted, sizeof got);
    }
    gpu->graph_free(&graph);
    assert_int_equal(gpu->context_create(0, 2, &two), 0);
    assert_int_equal(gpu->ops->diamond_square(two, &params, &image), -EINVAL);
    crn_context_free(&two);
    crn_context_free(&context);
}

int main(int argc, char **argv)
{
    operators_wait_passively(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fast_is_the_definition),
        cmocka_unit_test(test_large_field_is_the_definition),
        cmocka_unit_test(test_scratch_memory_may_hold_anything),
        cmocka_unit_test(test_cuda_is_the_definition),
        cmocka_unit_test(test_cuda_is_openmp_on_large_fields),
        cmocka_unit_test(test_cuda_is_recorded),
    };
    return cmocka_run_group_tests(tests, operators_set_up, operators_tear_down);
}

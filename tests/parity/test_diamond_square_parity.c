/* The diamond-squares of openmp, in every variant, and of CUDA against serial: identical bytes. */
#include <errno.h>
#include <stdio.h>

#include "stages/context.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/cuda.h"
#include "tests/support/parity/parity.h"

static double pick_roughness(crn_random *random)
{
    static const double usual[] = {0, 0.5, 0.8, 1, 1e-3, 1e-12, 1e-310};
    uint32_t which = crn_random_below(random, 9);
    return which < 7 ? usual[which] : crn_random_unit(random);
}

/* Picks a range of the field's side: mostly a part, sometimes all of it, or at an end. */
static void pick_range(crn_random *random, int32_t side, int32_t *ret_start, int32_t *ret_length)
{
    *ret_start = (int32_t)crn_random_below(random, (uint32_t)side);
    *ret_length = crn_random_between(random, 1, side - *ret_start);
    switch (crn_random_below(random, 4)) {
    case 0:
        *ret_start = 0;
        *ret_length = side;
        break;
    case 1:
        *ret_length = crn_random_between(random, 1, *ret_length < 5 ? *ret_length : 5);
        break;
    case 2:
        *ret_start = side - *ret_length;
        break;
    default:
        break;
    }
}

/* Shortens a range, at either end. */
static void shorten(crn_random *random, int32_t most, int32_t *start, int32_t *length)
{
    if (*length <= most)
        return;
    *start += crn_random_once_in(random, 2) ? *length - most : 0;
    *length = most;
}

static void make_field(crn_parity_case *c, int32_t exponent, int32_t most)
{
    crn_random *random = &c->random;
    crn_diamond_square_params *p = &c->params.diamond_square;
    p->exponent = exponent;
    p->seed = crn_random_next(random);
    p->roughness = pick_roughness(random);
    int32_t side = (1 << exponent) + 1;
    crn_parity_shape shape = {.planes = 1};
    pick_range(random, side, &p->x, &shape.width);
    pick_range(random, side, &p->y, &shape.height);
    shorten(random, most, &p->x, &shape.width);
    shorten(random, most, &p->y, &shape.height);
    c->views = 1;
    crn_parity_set_out(c, crn_random_once_in(random, 2) ? CRN_U8 : CRN_F32, shape);
    crn_parity_describe(c, "at %d, %d, exponent %d roughness %g", p->y, p->x, exponent,
                        p->roughness);
}

static void make(crn_parity_case *c)
{
    bool larger = crn_random_once_in(&c->random, 8);
    make_field(c, crn_random_between(&c->random, 0, larger ? 9 : 6), INT32_MAX);
}

static void make_whole(crn_parity_case *c, int32_t exponent, crn_type type)
{
    int32_t side = (1 << exponent) + 1;
    c->views = 1;
    c->layout = CRN_CHW;
    c->params.diamond_square =
        (crn_diamond_square_params){.exponent = exponent, .seed = 5, .roughness = 0.55};
    crn_parity_set_out(c, type, (crn_parity_shape){1, side, side});
    crn_parity_describe(c, "all of exponent %d", exponent);
}

/* Large enough for the public operator to use threads and to split the field. */
static bool make_large(crn_parity_case *c, uint32_t i)
{
    if (i == 2)
        return false;
    make_whole(c, 11, i ? CRN_F32 : CRN_U8);
    c->params.diamond_square.x = 3 * (int32_t)i;
    c->out.width -= 3 * (int32_t)i;
    return true;
}

static bool make_cuda_large(crn_parity_case *c, uint32_t i)
{
    enum { RECTANGLES = 250 };
    if (i == RECTANGLES + 7)
        return false;
    if (i < RECTANGLES)
        make_field(c, crn_random_between(&c->random, 3, 20),
                   crn_random_between(&c->random, 1, 700));
    else
        make_whole(c, 10 + (int32_t)(i - RECTANGLES) / 2, i % 2 ? CRN_F32 : CRN_U8);
    return true;
}

static bool make_views(crn_parity_case *c, uint32_t i)
{
    if (i == 1)
        return false;
    make_whole(c, 9, CRN_U8);
    return true;
}

static void pick_variant(crn_parity_case *c, crn_target target, int32_t number,
                         crn_parity_variant *ret_variant)
{
    crn_random *random = &c->random;
    int32_t height = c->out.height, width = c->out.width;
    crn_diamond_square_variant *v = &ret_variant->diamond_square;
    *v = (crn_diamond_square_variant){target, 1, height, width, crn_random_once_in(random, 2)};
    if (number % 2) {
        v->threads = crn_random_between(random, 1, 2);
        v->rows = crn_random_between(random, 1 + height / 9, height);
        v->columns = crn_random_between(random, 1 + width / 9, width);
    }
    snprintf(ret_variant->text, sizeof ret_variant->text, "tiles %d x %d, %d threads%s", v->rows,
             v->columns, v->threads, v->stream ? ", streamed" : "");
}

static crn_parity_operator diamond_square = {.kind = CRN_PARITY_DIAMOND_SQUARE,
                                             .cases = 4000,
                                             .cuda_cases = 3000,
                                             .scratch_cases = 120,
                                             .make = make,
                                             .variants = 2,
                                             .pick_variant = pick_variant,
                                             .make_large = make_large,
                                             .make_cuda_large = make_cuda_large,
                                             .make_views = make_views};

static void test_cuda_refuses_several_views(void **state)
{
    (void)state;
    const crn_gpu *gpu = crn_test_cuda();
    const crn_diamond_square_params params = {.exponent = 4, .roughness = 0.5};
    crn_context *two;
    assert_int_equal(gpu->context_create(0, 2, &two), 0);
    crn_image image =
        crn_image_dense(crn_context_scratch(two, 16, 17 * 17), CRN_U8, CRN_CHW, 1, 17, 17);
    assert_int_equal(gpu->ops->diamond_square(two, &params, &image), -EINVAL);
    crn_context_free(&two);
}

int main(int argc, char **argv)
{
    operators_wait_passively(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_openmp_is_serial, &diamond_square),
        cmocka_unit_test_prestate(test_large_images_are_serial, &diamond_square),
        cmocka_unit_test_prestate(test_scratch_contents_do_not_matter, &diamond_square),
        cmocka_unit_test_prestate(test_cuda_is_serial, &diamond_square),
        cmocka_unit_test_prestate(test_cuda_is_openmp_on_large_images, &diamond_square),
        cmocka_unit_test_prestate(test_cuda_views_in_a_graph, &diamond_square),
        cmocka_unit_test(test_cuda_refuses_several_views),
    };
    return cmocka_run_group_tests(tests, operators_set_up, operators_tear_down);
}

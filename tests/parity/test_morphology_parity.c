/* The morphology of openmp, in every variant, and of CUDA against serial: identical bytes. */
#include <math.h>
#include <stdio.h>

#include "stages/kernel/element.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parity/parity.h"

#define ELEMENT_MAX 64

static int32_t pick_side(crn_random *random)
{
    if (crn_random_once_in(random, 8))
        return crn_random_between(random, 10, ELEMENT_MAX);
    return crn_random_between(random, 1, 9);
}

static float pick_height(crn_random *random, crn_type type)
{
    static const float odd[] = {0.0f, -0.0f, 0x1p-149f, -3e38f, 3e38f, 1e-3f};
    if (type == CRN_U8)
        return rintf((float)crn_random_between(random, -255, 255) /
                     (crn_random_once_in(random, 2) ? 1 : 255));
    if (crn_random_once_in(random, 6))
        return odd[crn_random_below(random, 6)];
    return (float)crn_random_unit(random) - 0.5f;
}

static void make_element(crn_parity_case *c, crn_type type)
{
    crn_random *random = &c->random;
    crn_element *element = &c->params.morphology.element;
    element->shape = (crn_element_shape)crn_random_below(random, 4);
    element->width = pick_side(random);
    element->height = crn_random_once_in(random, 2) ? element->width : pick_side(random);
    size_t pixels = (size_t)element->width * (size_t)element->height;
    if (element->shape == CRN_ELEMENT_PICTURE) {
        uint8_t *members = crn_parity_array(c, pixels);
        uint32_t once_in = (uint32_t)crn_random_between(random, 1, 9);
        bool mostly = crn_random_once_in(random, 3);
        for (size_t i = 0; i < pixels; i++)
            members[i] = crn_random_once_in(random, once_in) != mostly ? 1 + (uint8_t)i % 255 : 0;
        members[crn_random_below(random, (uint32_t)pixels)] = 7;
        element->members = members;
    }
    if (crn_random_once_in(random, 4)) {
        float *heights = crn_parity_array(c, pixels * sizeof *heights);
        for (int32_t y = 0; y < element->height; y++)
            for (int32_t x = 0; x < element->width; x++)
                heights[y * element->width + x] =
                    crn_element_has(element, x, y) ? pick_height(random, type) : NAN;
        element->heights = heights;
    }
}

static void make_images(crn_parity_case *c, crn_type type, crn_parity_shape shape)
{
    const crn_element *e = &c->params.morphology.element;
    c->values.special_once_in = (uint32_t)crn_random_between(&c->random, 1, 40);
    if (type == CRN_F32) {
        c->values.low = -2;
        c->values.high = 2;
        c->values.steps = 256;
    }
    crn_parity_make_in(c, type, shape);
    crn_parity_set_out(c, type, shape);
    crn_parity_describe(c, "operation %d element %d of %d x %d%s", c->params.morphology.operation,
                        e->shape, e->width, e->height, e->heights ? " non-flat" : "");
}

static crn_type pick_operation_and_type(crn_parity_case *c)
{
    c->params.morphology.operation = (crn_morphology_operation)crn_random_below(&c->random, 7);
    return crn_random_once_in(&c->random, 2) ? CRN_U8 : CRN_F32;
}

static void make(crn_parity_case *c)
{
    crn_parity_shape shape = crn_parity_pick_shape(c, 1);
    crn_type type = pick_operation_and_type(c);
    make_element(c, type);
    make_images(c, type, shape);
}

/* Small disks, which have kernels of their own, on rows of several vectors. */
static void make_small_disk(crn_parity_case *c)
{
    static const int32_t planes_of[] = {1, 3, 12, 2};
    crn_random *random = &c->random;
    int32_t planes = planes_of[crn_random_below(random, 4)];
    int32_t side = crn_random_once_in(random, 3) ? 3 : 5;
    crn_parity_shape shape = {planes, crn_random_between(random, 1, 40),
                              crn_random_between(random, 1, 400 / planes)};
    crn_type type = pick_operation_and_type(c);
    c->layout = crn_random_once_in(random, 4) ? CRN_CHW : CRN_HWC;
    c->params.morphology.element = (crn_element){CRN_ELEMENT_DISK, side, side, NULL, NULL};
    make_images(c, type, shape);
}

/* Dense images larger than one tile, with elements of all the sizes that tiles support. */
static void make_tiled(crn_parity_case *c)
{
    static const int32_t planes_of[] = {1, 3, 12, 2, 4, 5};
    crn_random *random = &c->random;
    int32_t planes = planes_of[crn_random_below(random, 6)];
    crn_parity_shape shape = {planes, crn_random_between(random, 40, 200),
                              crn_random_between(random, 40, 600 / planes + 40)};
    if (crn_random_once_in(random, 2)) /* rows aligned to 16 bytes */
        shape.width &= ~15;
    crn_type type = pick_operation_and_type(c);
    c->layout = crn_random_once_in(random, 3) ? CRN_CHW : CRN_HWC;
    crn_element *e = &c->params.morphology.element;
    e->shape = (crn_element_shape)crn_random_below(random, 3);
    e->width = crn_random_between(random, 1, 25);
    e->height = crn_random_once_in(random, 2) ? e->width : crn_random_between(random, 1, 40);
    make_images(c, type, shape);
}

static bool make_views(crn_parity_case *c, uint32_t i)
{
    if (i == 40)
        return false;
    make_tiled(c);
    return true;
}

static void pick_variant(crn_parity_case *c, crn_target target, int32_t number,
                         crn_parity_variant *ret_variant)
{
    crn_random *random = &c->random;
    crn_morphology_variant *v = &ret_variant->morphology;
    *v = (crn_morphology_variant){crn_morphology_kernels_of((int)target), 1, 1, 0, false};
    if (number % 2) {
        v->threads = crn_random_between(random, 1, 5);
        v->strips = crn_random_between(random, 1, 9);
        v->columns = crn_random_between(random, 0, 40);
        v->saves_memory = crn_random_once_in(random, 3);
    }
    snprintf(ret_variant->text, sizeof ret_variant->text, "%d strips, %d columns, %d threads%s",
             v->strips, v->columns, v->threads, v->saves_memory ? ", little memory" : "");
}

/* Large enough for the public operator to split it and to use threads. */
static bool make_large(crn_parity_case *c, uint32_t i)
{
    static const crn_element elements[] = {
        {CRN_ELEMENT_RECT, 3, 2, NULL, NULL},
        {CRN_ELEMENT_DISK, 5, 5, NULL, NULL},
        {CRN_ELEMENT_CROSS, 4, 6, NULL, NULL},
        {CRN_ELEMENT_DISK, 7, 6, NULL, NULL},
    };
    if (i == sizeof elements / sizeof *elements)
        return false;
    c->layout = CRN_HWC;
    c->params.morphology = (crn_morphology_params){i < 2 ? CRN_OPEN : CRN_GRADIENT, elements[i]};
    make_images(c, i & 1 ? CRN_F32 : CRN_U8, (crn_parity_shape){3, 260, 1100});
    return true;
}

/* The last one has so many channels that its words number a little over 2^32. */
static bool make_cuda_large(crn_parity_case *c, uint32_t i)
{
    static const struct {
        crn_type type;
        crn_layout layout;
        crn_parity_shape shape;
        crn_morphology_params params;
    } cases[] = {
        {CRN_U8, CRN_HWC, {3, 1920, 2560}, {CRN_OPEN, {CRN_ELEMENT_RECT, 3, 3, NULL, NULL}}},
        {CRN_U8, CRN_HWC, {3, 1920, 2560}, {CRN_OPEN, {CRN_ELEMENT_RECT, 21, 21, NULL, NULL}}},
        {CRN_U8, CRN_CHW, {1, 1920, 2560}, {CRN_CLOSE, {CRN_ELEMENT_DISK, 11, 11, NULL, NULL}}},
        {CRN_U8,
         CRN_CHW,
         {1, 4097, 4095},
         {CRN_GRADIENT, {CRN_ELEMENT_DISK, 301, 299, NULL, NULL}}},
        {CRN_F32,
         CRN_HWC,
         {2, 700, 4097},
         {CRN_TOPHAT, {CRN_ELEMENT_RECT, 1001, 4095, NULL, NULL}}},
        {CRN_U8, CRN_HWC, {12, 95, 511}, {CRN_BLACKHAT, {CRN_ELEMENT_CROSS, 31, 40, NULL, NULL}}},
        {CRN_F32, CRN_HWC, {1 << 19, 1, 1}, {CRN_OPEN, {CRN_ELEMENT_CROSS, 33, 33, NULL, NULL}}},
    };
    if (i == sizeof cases / sizeof *cases)
        return false;
    c->layout = cases[i].layout;
    c->params.morphology = cases[i].params;
    make_images(c, cases[i].type, cases[i].shape);
    return true;
}

static crn_parity_operator morphology = {.kind = CRN_PARITY_MORPHOLOGY,
                                         .cases = 800,
                                         .cuda_cases = 1500,
                                         .scratch_cases = 100,
                                         .make = make,
                                         .variants = 2,
                                         .pick_variant = pick_variant,
                                         .make_large = make_large,
                                         .make_cuda_large = make_cuda_large,
                                         .make_views = make_views};

static crn_parity_operator small_disks = {.kind = CRN_PARITY_MORPHOLOGY,
                                          .cases = 300,
                                          .cuda_cases = 300,
                                          .make = make_small_disk,
                                          .variants = 2,
                                          .pick_variant = pick_variant};

static crn_parity_operator tiled = {
    .kind = CRN_PARITY_MORPHOLOGY, .cuda_cases = 300, .make = make_tiled, .slow_serial = true};

int main(int argc, char **argv)
{
    operators_wait_passively(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_openmp_is_serial, &morphology),
        cmocka_unit_test_prestate(test_openmp_is_serial, &small_disks),
        cmocka_unit_test_prestate(test_large_images_are_serial, &morphology),
        cmocka_unit_test_prestate(test_scratch_contents_do_not_matter, &morphology),
        cmocka_unit_test_prestate(test_cuda_is_serial, &morphology),
        cmocka_unit_test_prestate(test_cuda_is_serial, &small_disks),
        cmocka_unit_test_prestate(test_cuda_is_serial, &tiled),
        cmocka_unit_test_prestate(test_cuda_is_openmp_on_large_images, &morphology),
        cmocka_unit_test_prestate(test_cuda_views_in_a_graph, &morphology),
    };
    return cmocka_run_group_tests(tests, operators_set_up, operators_tear_down);
}

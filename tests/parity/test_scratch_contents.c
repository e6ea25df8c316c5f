/*
 * The contents of scratch memory are undefined (ops.h): every fast operator, on every instruction
 * set, must give the same results when scratch memory and results are pre-filled with different
 * bytes. Under the undefined-behaviour sanitizer, no uninitialised value may enter a sum that
 * overflows.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/context.h"
#include "stages/openmp/contours/contours.h"
#include "stages/openmp/convolve/convolve.h"
#include "stages/openmp/diamond_square/diamond_square.h"
#include "stages/openmp/haar/haar.h"
#include "stages/openmp/morphology/morphology.h"
#include "stages/openmp/ranklet/ranklet.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/images.h"
#include "tests/support/operator_tests.h"

/* Initial contents of memory before an operator runs; the last: random bytes. */
enum { ZEROS, PATTERN_A5, ONES, LOWEST, HIGHEST, RANDOM, FILLINGS };

static const uint8_t filling_bytes[] = {0x00, 0xa5, 0xff, 0x80, 0x7f};

enum { BLOCKS_MAX = 64 };

/* An allocator that tracks its blocks, to refill all of them. */
typedef struct blocks {
    struct {
        void *memory;
        size_t bytes;
    } block[BLOCKS_MAX];
    int filling;
    crn_random random;
} blocks;

static void fill(blocks *all, void *memory, size_t bytes)
{
    uint8_t *to = memory;
    if (all->filling != RANDOM) {
        memset(to, filling_bytes[all->filling], bytes);
        return;
    }
    uint64_t word = 0;
    for (size_t i = 0; i < bytes; i++, word >>= 8) {
        if (i % 8 == 0)
            word = crn_random_next(&all->random);
        to[i] = (uint8_t)word;
    }
}

static void *take(void *owner, size_t bytes)
{
    blocks *all = owner;
    for (int i = 0; i < BLOCKS_MAX; i++) {
        if (all->block[i].memory)
            continue;
        void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
        assert_non_null(memory);
        fill(all, memory, bytes);
        all->block[i].memory = memory;
        all->block[i].bytes = bytes;
        return memory;
    }
    return NULL;
}

static void give(void *owner, void *memory, size_t bytes)
{
    blocks *all = owner;
    (void)bytes;
    for (int i = 0; i < BLOCKS_MAX; i++)
        if (all->block[i].memory == memory)
            all->block[i].memory = NULL;
    free(memory);
}

static const crn_context_allocator filling_home = {.take = take, .give = give};

/* One operator on one image: `run` writes `bytes` of results. */
typedef struct scratch_contents_trial {
    int (*run)(const struct scratch_contents_trial *trial, crn_target target, crn_context *context,
               void *results);
    size_t bytes;
    crn_image in;
    const void *params;
    int32_t variant; /* further choice of `run` */
    char what[OPERATOR_CASE_BYTES];
} scratch_contents_trial;

static void *results_of(const scratch_contents_trial *t, crn_target target, int filling)
{
    blocks all = {.filling = filling, .random = {target + 77}};
    crn_context *context = NULL;
    assert_int_equal(crn_context_create_at(&filling_home, &all, 1, &context), 0);
    void *results = malloc(t->bytes);
    assert_non_null(results);
    memset(results, 0x5a, t->bytes);
    operators_check_result(t->run(t, target, context, results), t->what);
    crn_context_free(&context);
    return results;
}

static void check(const scratch_contents_trial *t)
{
    for (crn_target target = CRN_BASELINE; target <= crn_target_best(); target++) {
        void *wanted = results_of(t, target, ZEROS);
        for (int filling = ZEROS + 1; filling < FILLINGS; filling++) {
            void *got = results_of(t, target, filling);
            if (memcmp(got, wanted, t->bytes) != 0)
                fail_msg("%s, %s: scratch memory's contents (number %d) change the result", t->what,
                         operator_target_names[target], filling);
            free(got);
        }
        free(wanted);
    }
}

/* A dense image of random values; the caller frees its memory. */
static crn_image random_image(crn_random *random, crn_type type, int32_t planes, int32_t height,
                              int32_t width)
{
    crn_layout layout = crn_random_once_in(random, 2) ? CRN_CHW : CRN_HWC;
    size_t elements = (size_t)planes * (size_t)height * (size_t)width;
    void *memory = malloc(elements * crn_type_bytes(type));
    assert_non_null(memory);
    crn_image image = crn_image_dense(memory, type, layout, planes, height, width);
    if (type != CRN_F16) {
        crn_image_randomise(&image, random);
        return image;
    }
    for (size_t i = 0; i < elements; i++) /* from 1/8192 to 1, sometimes a NaN */
        ((uint16_t *)memory)[i] = crn_random_once_in(random, 99)
                                      ? 0x7e00
                                      : (uint16_t)crn_random_between(random, 0x0800, 0x3c00);
    return image;
}

static crn_image image_like(const scratch_contents_trial *t, crn_type type, void *memory)
{
    crn_layout layout = t->in.step == 1 ? CRN_CHW : CRN_HWC;
    return crn_image_dense(memory, type, layout, t->in.planes, t->in.height, t->in.width);
}

static size_t bytes_like(const crn_image *in, crn_type type)
{
    return crn_image_elements(in) * crn_type_bytes(type);
}

/* A size with any remainder modulo any vector length. */
static int32_t pick_size(crn_random *random, int32_t least)
{
    return crn_random_between(random, least, crn_random_once_in(random, 3) ? 150 : 40);
}

/* --- operators --- */

/* Layout of the results: counts, then contours and points. */
enum { POINTS_MAX = 1 << 14 };

static int run_contours(const scratch_contents_trial *t, crn_target target, crn_context *context,
                        void *results)
{
    static crn_contours_scan_fn *const scans[CRN_TARGETS] = {
        crn_contours_scan_baseline, crn_contours_scan_avx2, crn_contours_scan_avx512};
    crn_contours_variant way = {scans[target], t->variant, 1};
    uint32_t *counts = results;
    crn_contours out = {.contours = (crn_contour *)(void *)(counts + 4),
                        .contour_capacity = POINTS_MAX / 2,
                        .point_capacity = POINTS_MAX};
    out.points = (crn_point *)(void *)(out.contours + POINTS_MAX / 2);
    memset(results, 0, t->bytes); /* a contour struct has padding */
    int r = crn_contours_openmp_with(&way, context, t->params, &t->in, &out);
    counts[0] = out.contour_count;
    counts[1] = out.point_count;
    counts[2] = out.truncated;
    return r;
}

static void try_contours(uint64_t seed)
{
    static const crn_type types[] = {CRN_U8, CRN_U16, CRN_F16, CRN_F32};
    crn_random random = {seed};
    scratch_contents_trial t = {.run = run_contours, .variant = crn_random_between(&random, 1, 5)};
    crn_type type = types[crn_random_below(&random, 4)];
    int32_t planes = crn_random_between(&random, 1, 4), height = pick_size(&random, 2);
    t.in = random_image(&random, type, planes, height, pick_size(&random, 2));
    double middle = type == CRN_U8 ? 127 : type == CRN_U16 ? 32767 : 0.5;
    double levels[4] = {middle, middle, NAN, middle};
    crn_contours_params params = {.levels = levels,
                                  .connectivity = (crn_connectivity)crn_random_below(&random, 2),
                                  .orientation = (crn_orientation)crn_random_below(&random, 2),
                                  .border = (crn_border)crn_random_below(&random, 2)};
    t.params = &params;
    t.bytes = 16 + POINTS_MAX / 2 * sizeof(crn_contour) + POINTS_MAX * sizeof(crn_point);
    operators_describe(t.what, seed, &t.in, "contours, %d strips", t.variant);
    check(&t);
    free(t.in.data);
}

static int run_convolve(const scratch_contents_trial *t, crn_target target, crn_context *context,
                        void *results)
{
    static const crn_convolve_filters *const filters[CRN_TARGETS] = {
        &crn_convolve_filters_baseline, &crn_convolve_filters_avx2, &crn_convolve_filters_avx512};
    crn_convolve_variant way = {
        .filters = filters[target], .strips = 1 + t->variant % 3, .threads = 1};
    way.tile_width = t->variant % 2 ? 0 : 17;
    crn_image out = image_like(t, t->in.type, results);
    return crn_convolve_openmp_with(&way, context, t->params, &t->in, &out);
}

static void try_convolve(uint64_t seed)
{
    crn_random random = {seed};
    scratch_contents_trial t = {.run = run_convolve, .variant = crn_random_between(&random, 0, 5)};
    crn_type type = crn_random_once_in(&random, 2) ? CRN_U8 : CRN_F32;
    int32_t planes = crn_random_between(&random, 1, 4), height = pick_size(&random, 1);
    t.in = random_image(&random, type, planes, height, pick_size(&random, 1));
    float weights[11 * 11];
    bool flat = crn_random_once_in(&random, 2); /* then it is computed in two passes */
    for (int i = 0; i < 11 * 11; i++)
        weights[i] = flat ? 0.125f : (float)crn_random_unit(&random) - 0.5f;
    crn_convolve_params params = {.weights = weights,
                                  .width = crn_random_between(&random, 1, 11),
                                  .height = crn_random_between(&random, 1, 11),
                                  .border = (crn_convolve_border)crn_random_below(&random, 4)};
    t.params = &params;
    t.bytes = bytes_like(&t.in, type);
    operators_describe(t.what, seed, &t.in, "convolve %d x %d", params.width, params.height);
    check(&t);
    free(t.in.data);
}

static int run_morphology(const scratch_contents_trial *t, crn_target target, crn_context *context,
                          void *results)
{
    crn_morphology_variant way = {.kernels = crn_morphology_kernels_of((int)target),
                                  .threads = 1,
                                  .strips = 1 + t->variant % 3,
                                  .columns = t->variant % 2 ? 0 : 13,
                                  .saves_memory = t->variant >= 4};
    crn_image out = image_like(t, t->in.type, results);
    return crn_morphology_openmp_with(&way, context, t->params, &t->in, &out);
}

static void try_morphology(uint64_t seed)
{
    crn_random random = {seed};
    scratch_contents_trial t = {.run = run_morphology,
                                .variant = crn_random_between(&random, 0, 5)};
    crn_type type = crn_random_once_in(&random, 2) ? CRN_U8 : CRN_F32;
    int32_t planes = crn_random_between(&random, 1, 4), height = pick_size(&random, 1);
    t.in = random_image(&random, type, planes, height, pick_size(&random, 1));
    uint8_t members[15 * 15];
    float heights[15 * 15];
    bool whole = crn_random_once_in(&random, 2), raised = crn_random_once_in(&random, 3);
    for (int i = 0; i < 15 * 15; i++) {
        members[i] = whole || crn_random_once_in(&random, 2);
        heights[i] = (float)crn_random_below(&random, 20);
    }
    members[0] = 1;
    crn_element_shape shape = (crn_element_shape)crn_random_below(&random, CRN_ELEMENT_PICTURE + 1);
    crn_morphology_params params = {
        .operation = (crn_morphology_operation)crn_random_below(&random, CRN_BLACKHAT + 1),
        .element = {.shape = shape,
                    .members = shape == CRN_ELEMENT_PICTURE ? members : NULL,
                    .heights = raised ? heights : NULL,
                    .width = crn_random_between(&random, 1, 15),
                    .height = crn_random_between(&random, 1, 15)}};
    if (crn_random_once_in(&random, 3)) /* some small disks are rhombi */
        params.element.height = params.element.width;
    t.params = &params;
    t.bytes = bytes_like(&t.in, type);
    operators_describe(t.what, seed, &t.in, "morphology %d", (int)params.operation);
    check(&t);
    free(t.in.data);
}

static int run_haar(const scratch_contents_trial *t, crn_target target, crn_context *context,
                    void *results)
{
    static const crn_haar_kernels *const kernels[CRN_TARGETS] = {
        &crn_haar_kernels_baseline, &crn_haar_kernels_avx2, &crn_haar_kernels_avx512};
    crn_haar_variant way = {.kernels = kernels[target],
                            .fused = 1 + t->variant % 4,
                            .strips = 1 + t->variant % 3,
                            .threads = 1,
                            .stream = t->variant % 2};
    crn_image out = image_like(t, CRN_F32, results);
    return crn_haar_openmp_with(&way, context, t->params, &t->in, &out);
}

static void try_haar(uint64_t seed)
{
    crn_random random = {seed};
    scratch_contents_trial t = {.run = run_haar, .variant = crn_random_between(&random, 0, 11)};
    crn_type type = crn_random_once_in(&random, 2) ? CRN_U8 : CRN_F32;
    int32_t planes = crn_random_between(&random, 1, 4), height = pick_size(&random, 1);
    crn_haar_params params = {.direction = (crn_haar_direction)crn_random_below(&random, 3),
                              .levels = crn_random_between(&random, 0, 6),
                              .unit = true,
                              .threshold = 0.05f};
    type = params.direction == CRN_HAAR_INVERSE ? CRN_F32 : type;
    t.in = random_image(&random, type, planes, height, pick_size(&random, 1));
    t.params = &params;
    t.bytes = bytes_like(&t.in, CRN_F32);
    int32_t most = crn_haar_levels_max(t.in.height, t.in.width);
    params.levels = params.levels < most ? params.levels : most;
    operators_describe(t.what, seed, &t.in, "haar %d, %d levels", (int)params.direction,
                       params.levels);
    check(&t);
    free(t.in.data);
}

static int run_ranklet(const scratch_contents_trial *t, crn_target target, crn_context *context,
                       void *results)
{
    const crn_ranklet_params *params = t->params;
    crn_ranklet_variant way = {.target = target,
                               .rows = 16 + t->variant,
                               .columns = t->variant % 2 ? 1 << 16 : 33,
                               .threads = 1,
                               .method = (crn_ranklet_method)(t->variant % 3),
                               .counts_width = (crn_ranklet_width)(t->variant % 5)};
    crn_image out =
        crn_image_dense(results, CRN_F32, CRN_CHW, 3 * t->in.planes,
                        t->in.height - params->height + 1, t->in.width - params->width + 1);
    return crn_ranklet_openmp_with(&way, context, params, &t->in, &out);
}

static void try_ranklet(uint64_t seed)
{
    crn_random random = {seed};
    scratch_contents_trial t = {.run = run_ranklet, .variant = crn_random_between(&random, 0, 30)};
    crn_type type = crn_random_once_in(&random, 3) ? CRN_U16 : CRN_U8;
    crn_ranklet_params params = {2 * crn_random_between(&random, 1, 8),
                                 2 * crn_random_between(&random, 1, 8)};
    if (crn_random_once_in(&random, 2)) /* where sums of 8 bits are closest to overflow */
        params.width = params.height = 16;
    int32_t planes = crn_random_between(&random, 1, 2), height = pick_size(&random, params.height);
    t.in = random_image(&random, type, planes, height, pick_size(&random, params.width));
    t.params = &params;
    t.bytes = 3 * bytes_like(&t.in, CRN_F32);
    operators_describe(t.what, seed, &t.in, "ranklet %d x %d", params.width, params.height);
    check(&t);
    free(t.in.data);
}

static int run_diamond_square(const scratch_contents_trial *t, crn_target target,
                              crn_context *context, void *results)
{
    crn_diamond_square_variant way = {.target = target,
                                      .threads = 1,
                                      .rows = 5 + t->variant,
                                      .columns = 3 + 7 * t->variant,
                                      .stream = t->variant % 2};
    crn_image out = image_like(t, t->in.type, results);
    return crn_diamond_square_openmp_with(&way, context, t->params, &out);
}

static void try_diamond_square(uint64_t seed)
{
    crn_random random = {seed};
    scratch_contents_trial t = {.run = run_diamond_square,
                                .variant = crn_random_between(&random, 0, 12)};
    crn_diamond_square_params params = {
        .exponent = crn_random_between(&random, 0, 7), .seed = seed, .roughness = 0.6};
    int32_t side = (1 << params.exponent) + 1;
    crn_type type = crn_random_once_in(&random, 2) ? CRN_U8 : CRN_F32;
    int32_t height = crn_random_between(&random, 1, side);
    t.in = random_image(&random, type, 1, height, crn_random_between(&random, 1, side));
    params.x = crn_random_between(&random, 0, side - t.in.width);
    params.y = crn_random_between(&random, 0, side - t.in.height);
    t.params = &params;
    t.bytes = bytes_like(&t.in, type);
    operators_describe(t.what, seed, &t.in, "diamond_square of 2^%d", params.exponent);
    check(&t);
    free(t.in.data);
}

#define TEST_OF(operator, cases)                                                                   \
    static void test_##operator(void **state)                                                      \
    {                                                                                              \
        (void)state;                                                                               \
        operators_try_cases(cases, try_##operator);                                                \
    }

TEST_OF(contours, 12)
TEST_OF(convolve, 100)
TEST_OF(morphology, 100)
TEST_OF(haar, 100)
TEST_OF(ranklet, 40)
TEST_OF(diamond_square, 60)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contours),   cmocka_unit_test(test_convolve),
        cmocka_unit_test(test_morphology), cmocka_unit_test(test_haar),
        cmocka_unit_test(test_ranklet),    cmocka_unit_test(test_diamond_square)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

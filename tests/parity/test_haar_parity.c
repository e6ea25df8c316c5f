/* The fast Haar transform, in every way it can go about it, against the definition: the same bytes.
 * Only which NaN a sum of two NaNs gives is left to the compiler, which may swap the two. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "stages/openmp/haar.h"
#include "tests/support/compare.h"
#include "tests/support/guarded.h"
#include "tests/support/images.h"
#include "tests/support/operator_tests.h"

static const crn_haar_kernels *const kernels[CRN_TARGETS] = {
    &crn_haar_kernels_plain, &crn_haar_kernels_avx2, &crn_haar_kernels_avx512};

typedef struct parity_case {
    crn_haar_params params;
    crn_image in, out;
    crn_guarded in_memory, out_memory;
    crn_image wanted; /* as `out` shall be; owns its memory */
    char what[OPERATOR_CASE_BYTES];
} parity_case;

static void pick_shape(crn_random *random, int32_t *ret_planes, int32_t *ret_height,
                       int32_t *ret_width)
{
    static const int32_t lanes[] = {2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 31, 33, 40};
    *ret_planes = crn_random_once_in(random, 3) ? 1 : lanes[crn_random_below(random, 15)];
    *ret_height = crn_random_between(random, 1, 13);
    *ret_width = crn_random_between(random, 1, 20);
    switch (crn_random_below(random, 8)) {
    case 0:
        *ret_width = crn_random_between(random, 1, 140);
        *ret_planes = 1;
        break;
    case 1:
        *ret_height = crn_random_between(random, 1, 70);
        *ret_width = crn_random_between(random, 1, 70);
        break;
    case 2:
        *ret_width = 1;
        break;
    case 3:
        *ret_height = 1;
        break;
    default:
        break;
    }
}

static float pick_value(crn_random *random, bool whole, bool odd)
{
    static const float odd_values[] = {INFINITY,    -INFINITY, NAN,  -NAN,  0x1p-149f, -0x1p-140f,
                                       0x1.8p-126f, -0.0f,     0.0f, 3e38f, -3e38f,    0x1p-126f};
    if (odd && crn_random_once_in(random, 20))
        return odd_values[crn_random_below(random, 12)];
    double value = crn_random_unit(random) * 2 - 1;
    return (float)(whole ? floor(value * 10) : value);
}

static void fill(crn_random *random, crn_image *image)
{
    bool whole = crn_random_once_in(random, 3), odd = crn_random_once_in(random, 3);
    for (int32_t plane = 0; plane < image->planes; plane++)
        for (int32_t y = 0; y < image->height; y++)
            for (int32_t x = 0; x < image->width; x++) {
                ptrdiff_t index = crn_image_index(image, plane, y, x);
                if (image->type == CRN_U8)
                    ((uint8_t *)image->data)[index] = (uint8_t)crn_random_below(random, 256);
                else
                    ((float *)image->data)[index] = pick_value(random, whole, odd);
            }
}

static void make_case_of(uint64_t seed, crn_random *random, int32_t planes, int32_t height,
                         int32_t width, parity_case *c)
{
    crn_type type = crn_random_once_in(random, 3) ? CRN_U8 : CRN_F32;
    c->in = crn_guarded_image(random, type, planes, height, width, &c->in_memory);
    c->out = crn_guarded_image(random, CRN_F32, planes, height, width, &c->out_memory);
    fill(random, &c->in);
    int32_t levels = crn_haar_levels_max(height, width);
    c->params.direction = (crn_haar_direction)crn_random_below(random, 3);
    c->params.levels = crn_random_between(random, 0, levels);
    c->params.unit = crn_random_once_in(random, 2);
    static const float thresholds[] = {0, 0.01f, 0.3f, 2, 100, INFINITY};
    c->params.threshold = thresholds[crn_random_below(random, 6)];
    c->wanted = crn_image_dense(NULL, CRN_F32, CRN_CHW, planes, height, width);
    c->wanted.data = malloc(crn_image_elements(&c->wanted) * sizeof(float));
    assert_non_null(c->wanted.data);
    assert_int_equal(crn_haar_serial(operator_contexts[1], &c->params, &c->in, &c->wanted), 0);
    static const char *const directions[] = {"forward", "inverse", "denoise"};
    operators_describe(c->what, seed, &c->in, "to %td %td %td, %s %d levels, threshold %g%s",
                       c->out.plane_stride, c->out.row_stride, c->out.step,
                       directions[c->params.direction], c->params.levels,
                       (double)c->params.threshold, c->params.unit ? " unit" : "");
}

static void free_case(parity_case *c)
{
    crn_guarded_free(&c->in_memory);
    crn_guarded_free(&c->out_memory);
    free(c->wanted.data);
}

/* One way, or with NULL the public operator with so many threads. */
static void try_way(parity_case *c, const crn_haar_way *by, const char *target, int32_t threads)
{
    char what[OPERATOR_CASE_BYTES + 100];
    if (by)
        snprintf(what, sizeof what, "%s | %s, %d fused, %d strips, %d threads%s", c->what, target,
                 by->fused, by->strips, by->threads, by->stream ? ", streamed" : "");
    else
        snprintf(what, sizeof what, "%s | %d threads", c->what, threads);
    crn_guarded_fill(&c->out_memory);
    crn_context *context = operator_contexts[threads];
    int r = by ? crn_haar_openmp_by(by, context, &c->params, &c->in, &c->out)
               : crn_haar_openmp(context, &c->params, &c->in, &c->out);
    operators_check_result(r, what);
    crn_assert_images_equal_but_nans(&c->out, &c->wanted, what);
    crn_guarded_check_gaps(&c->out_memory, &c->out, what);
    crn_guarded_check(&c->out_memory, what);
}

static void try_case(uint64_t seed)
{
    parity_case c = {.params = {0}};
    crn_random random = {seed};
    int32_t planes, height, width;
    pick_shape(&random, &planes, &height, &width);
    make_case_of(seed, &random, planes, height, width, &c);
    void *before = crn_guarded_copy(&c.in_memory);

    try_way(&c, NULL, NULL, 1);
    for (crn_target target = CRN_PLAIN; target <= crn_target_best(); target++) {
        crn_haar_way one = {kernels[target], CRN_HAAR_FUSED_MAX, 1, 1,
                            crn_random_once_in(&random, 2)};
        if (c.params.direction == CRN_HAAR_DENOISE)
            one.fused = crn_random_between(&random, 1, 7);
        try_way(&c, &one, operator_target_names[target], 1);
        crn_haar_way several = one;
        several.fused = crn_random_between(&random, 1, 4);
        several.strips = crn_random_between(&random, 1, 9);
        several.threads = crn_random_once_in(&random, 4) ? crn_random_between(&random, 2, 5) : 1;
        try_way(&c, &several, operator_target_names[target], 1);
    }
    crn_guarded_check_same(&c.in_memory, before, c.what);
    crn_guarded_check(&c.in_memory, c.what);
    free(before);
    free_case(&c);
}

static void test_fast_is_the_definition(void **state)
{
    (void)state;
    operators_try_cases(3000, try_case);
}

/* Large enough for the public operator to cut it up, to use threads, and to write past the cache.
 */
static void test_large_picture_is_the_definition(void **state)
{
    (void)state;
    uint64_t seed = crn_random_seed();
    crn_random random = {seed};
    for (int32_t i = 0; i < 6; i++) {
        parity_case c = {.params = {0}};
        make_case_of(seed, &random, i % 2 ? 12 : 1, i % 2 ? 95 : 1101, i % 2 ? 511 : 2203, &c);
        for (int32_t threads = 1; threads <= OPERATOR_THREADS_MAX; threads += 2)
            try_way(&c, NULL, NULL, threads);
        free_case(&c);
    }
}

/* Rows that begin where a line of the cache does are written past it by the kernels themselves, but
 * for what is left of a stretch, and widths around a tile's and a part's put ends everywhere. */
static void test_lines_of_the_cache_are_the_definition(void **state)
{
    (void)state;
    static const int32_t widths[] = {64, 80, 96, 1504, 1539, 2112, 4128};
    crn_random random = {crn_random_seed()};
    for (int32_t i = 0; i < 21; i++) {
        int32_t width = widths[i / 3], stride = (width + 15) / 16 * 16;
        int32_t height = crn_random_between(&random, 1, 37);
        size_t floats = (size_t)stride * (size_t)height;
        crn_guarded in = crn_guarded_create(floats * sizeof(float), true);
        crn_guarded out = crn_guarded_create(floats * sizeof(float), true);
        parity_case c = {.params = {(crn_haar_direction)(i % 3), 0, 0.3f, false}};
        c.params.levels = crn_random_between(&random, 1, 4);
        c.in = (crn_image){in.data, CRN_F32, 1, height, width, (ptrdiff_t)floats, stride, 1};
        c.out = c.in;
        c.out.data = out.data;
        c.in_memory = in;
        c.out_memory = out;
        assert_int_equal((uintptr_t)out.data % CRN_HAAR_LINE_BYTES, 0);
        fill(&random, &c.in);
        float *wanted = malloc((size_t)width * (size_t)height * sizeof *wanted);
        assert_non_null(wanted);
        c.wanted = crn_image_dense(wanted, CRN_F32, CRN_CHW, 1, height, width);
        assert_int_equal(crn_haar_serial(operator_contexts[1], &c.params, &c.in, &c.wanted), 0);
        snprintf(c.what, sizeof c.what, "direction %d, %d levels, %d x %d", c.params.direction,
                 c.params.levels, height, width);
        for (int32_t target = 0; target <= (int32_t)crn_target_best(); target++) {
            crn_haar_way by = {kernels[target], 3, 1 + i % 4, 1 + i % 3, true};
            try_way(&c, &by, operator_target_names[target], 3);
        }
        crn_guarded_check(&c.in_memory, c.what);
        free_case(&c);
    }
}

/* The quotient is made of two products; no test of a few pixels would meet every byte. */
static void test_every_byte_widens_to_its_quotient(void **state)
{
    (void)state;
    uint8_t bytes[256];
    for (int i = 0; i < 256; i++)
        bytes[i] = (uint8_t)i;
    for (crn_target target = CRN_PLAIN; target <= crn_target_best(); target++) {
        float got[2][256];
        kernels[target]->widen(bytes, got[0], 256, false);
        kernels[target]->widen(bytes, got[1], 256, true);
        for (int i = 0; i < 256; i++)
            if (got[0][i] != (float)i || got[1][i] != (float)i / 255)
                fail_msg("%s: %d widens to %a and %a", operator_target_names[target], i,
                         (double)got[0][i], (double)got[1][i]);
    }
}

int main(int argc, char **argv)
{
    operators_wait_passively(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fast_is_the_definition),
        cmocka_unit_test(test_large_picture_is_the_definition),
        cmocka_unit_test(test_lines_of_the_cache_are_the_definition),
        cmocka_unit_test(test_every_byte_widens_to_its_quotient),
    };
    return cmocka_run_group_tests(tests, operators_set_up, operators_tear_down);
}

/* Validation of probabilities, and samples of them: that of the processor's table of operators and
 * of a device against the scalar definition, for each view of a batch. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/fruit/values/values.h"
#include "stages/context.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/cuda.h"
#include "tests/support/operators/operator_tests.h"
#include "tests/support/operators/probabilities.h"

enum { SLOT_IN = 16, BATCHES = 3, VIEWS_MAX = 16 };

/* A frame of the line: 95x511x12. */
enum { FRAME_PLANES = 12, FRAME_ROWS = 95, FRAME_COLUMNS = 511 };

static const crn_type types[] = {CRN_U8, CRN_F16, CRN_F32};
static const int32_t batches[BATCHES] = {1, 3, VIEWS_MAX};

static const crn_gpu *gpu;
static crn_context *contexts[BATCHES]; /* by batches[] */
static crn_values_seen *parts;         /* pinned, as `probes` */
static crn_values_probe *probes;

/* Once there is a device; skips the running test if there is none. */
static void open_device(void)
{
    if (gpu)
        return;
    const crn_gpu *found = crn_test_cuda();
    for (int32_t i = 0; i < BATCHES; i++)
        assert_int_equal(found->context_create(0, batches[i], &contexts[i]), 0);
    parts = found->pinned_create(VIEWS_MAX * CRN_VALUES_PARTS * sizeof *parts);
    probes = found->pinned_create(VIEWS_MAX * sizeof *probes);
    assert_true(parts && probes);
    gpu = found;
}

static int tear_down(void **state)
{
    if (gpu)
        gpu->pinned_free(probes);
    if (gpu)
        gpu->pinned_free(parts);
    for (int32_t i = 0; i < BATCHES; i++)
        crn_context_free(&contexts[i]);
    return operators_tear_down(state);
}

static crn_values_seen join(const crn_values_seen *all, crn_type type)
{
    crn_values_seen seen = all[0];
    for (int32_t i = 1; i < CRN_VALUES_PARTS; i++)
        seen = crn_values_join(seen, all[i], type);
    return seen;
}

/* Views behind each other in memory, and their number as an index into batches[]. */
typedef struct value_batch {
    crn_image image; /* of the first */
    int32_t batch;
} value_batch;

static size_t bytes_of(const crn_image *image)
{
    return crn_image_elements(image) * crn_type_bytes(image->type);
}

static crn_image view_of(const value_batch *it, int32_t view)
{
    crn_image image = it->image;
    image.data = (unsigned char *)image.data + (size_t)view * bytes_of(&image);
    return image;
}

static void expect(crn_values_seen seen, const crn_image *image, int32_t view, const char *what)
{
    crn_values_seen expected =
        probabilities_see(image->data, image->type, crn_image_elements(image));
    if (!probabilities_same(seen, expected, image->type))
        fail_msg("%s, view %d: suspect is %d, the maximum %g; expected %d, %g", what, view,
                 seen.suspect, (double)seen.max, expected.suspect, (double)expected.max);
}

static void run_on_device(const value_batch *it)
{
    crn_context *context = contexts[it->batch];
    crn_image there = it->image;
    size_t bytes = (size_t)batches[it->batch] * bytes_of(&it->image);
    there.data = crn_context_scratch(context, SLOT_IN, bytes);
    assert_non_null(there.data);
    memset(parts, 0xee, VIEWS_MAX * CRN_VALUES_PARTS * sizeof *parts);
    memset(probes, 0xee, VIEWS_MAX * sizeof *probes);
    assert_int_equal(gpu->upload(context, there.data, it->image.data, bytes), 0);
    assert_int_equal(gpu->ops->see_values(context, &there, parts), 0);
    assert_int_equal(gpu->probe(context, &there, probes), 0);
    assert_int_equal(crn_test_gpu_wait(gpu, context), 0);
}

/* The samples are those that the line takes of maps in its memory, to the last bit. */
static void expect_probe(const crn_values_probe *probe, const crn_image *image, int32_t view,
                         const char *what)
{
    bool is_planar = image->plane_stride != 1; /* of one class both are the same */
    crn_view_header header = {.height = (uint32_t)image->height,
                              .width = (uint32_t)image->width,
                              .channels = (uint32_t)image->planes,
                              .type = image->type,
                              .layout = is_planar ? CRN_CHW : CRN_HWC};
    crn_values_probe expected;
    crn_values_probe_maps(&header, image->data, &expected);
    for (int32_t i = 0; i < CRN_VALUES_PROBES; i++) {
        bool is_same = memcmp(&probe->sums[i], &expected.sums[i], sizeof expected.sums[i]) == 0 ||
                       (isnan(probe->sums[i]) && isnan(expected.sums[i]));
        if (probe->bits[i] != expected.bits[i] || !is_same)
            fail_msg("%s, view %d, sample %d: %x, sum %.9g; expected %x, %.9g", what, view, i,
                     probe->bits[i], (double)probe->sums[i], expected.bits[i],
                     (double)expected.sums[i]);
    }
}

static void check_on_device(const value_batch *it, const char *what)
{
    run_on_device(it);
    for (int32_t v = 0; v < batches[it->batch]; v++) {
        crn_image view = view_of(it, v);
        expect(join(parts + (ptrdiff_t)v * CRN_VALUES_PARTS, view.type), &view, v, what);
        expect_probe(&probes[v], &view, v, what);
    }
}

static void check_on_processor(const value_batch *it, const char *what)
{
    crn_values_seen own[CRN_VALUES_PARTS];
    for (int32_t v = 0; v < batches[it->batch]; v++) {
        crn_image view = view_of(it, v);
        memset(own, 0xee, sizeof own);
        assert_int_equal(crn_see_values(operator_contexts[1], &view, own), 0);
        expect(join(own, view.type), &view, v, what);
    }
}

/* --- random batches --- */

/* Any shape, so that views begin anywhere in a vector; sometimes the line's. */
static crn_image any_shape(crn_random *random)
{
    crn_type type = types[crn_random_below(random, 3)];
    crn_layout layout = crn_random_once_in(random, 2) ? CRN_CHW : CRN_HWC;
    if (crn_random_once_in(random, 20))
        return crn_image_dense(NULL, type, layout, FRAME_PLANES, FRAME_ROWS, FRAME_COLUMNS);
    bool small = crn_random_once_in(random, 2);
    return crn_image_dense(NULL, type, layout, crn_random_between(random, 1, small ? 3 : 13),
                           crn_random_between(random, 1, small ? 5 : 40),
                           crn_random_between(random, 1, small ? 9 : 300));
}

static value_batch create_batch(crn_random *random)
{
    value_batch it = {.image = any_shape(random), .batch = (int32_t)crn_random_below(random, 3)};
    size_t views = (size_t)batches[it.batch], count = crn_image_elements(&it.image);
    it.image.data = malloc(views * bytes_of(&it.image));
    assert_non_null(it.image.data);
    uint32_t bad_once_in = crn_random_below(random, 3) * (uint32_t)(count + 1);
    for (size_t i = 0; i < views * count; i++)
        probabilities_put(it.image.data, it.image.type, i,
                          bad_once_in && crn_random_once_in(random, bad_once_in)
                              ? probabilities_pick_bad(random, it.image.type)
                              : probabilities_pick_good(random, it.image.type));
    return it;
}

static void try_on(uint64_t seed, void (*check)(const value_batch *it, const char *what))
{
    crn_random random = {seed};
    value_batch it = create_batch(&random);
    char what[OPERATOR_CASE_BYTES];
    operators_describe(what, seed, &it.image, "%d views", batches[it.batch]);
    check(&it, what);
    free(it.image.data);
}

static void try_on_processor(uint64_t seed)
{
    try_on(seed, check_on_processor);
}

static void try_on_device(uint64_t seed)
{
    try_on(seed, check_on_device);
}

static void the_processor_sees_what_is_defined(void **state)
{
    (void)state;
    operators_try_cases(60, try_on_processor);
}

static void a_device_sees_what_is_defined(void **state)
{
    (void)state;
    open_device();
    operators_try_cases(200, try_on_device);
}

/* --- single values --- */

/* Each of `count` bit patterns from `first` on, or of `list`, as the only value of a view. */
static void check_alone(crn_type type, uint32_t first, size_t count, const uint32_t *list)
{
    unsigned char values[VIEWS_MAX * 4];
    value_batch it = {.image = crn_image_dense(values, type, CRN_HWC, 1, 1, 1),
                      .batch = BATCHES - 1};
    for (size_t i = 0; i < count; i += VIEWS_MAX) {
        for (size_t v = 0; v < VIEWS_MAX; v++) {
            size_t at = i + v < count ? i + v : count - 1;
            probabilities_put(values, type, v, list ? list[at] : first + (uint32_t)at);
        }
        check_on_device(&it, crn_type_name(type));
    }
}

static void every_byte_and_half_is_judged_alike(void **state)
{
    (void)state;
    open_device();
    check_alone(CRN_U8, 0, 256, NULL);
    /* All others lie between those around the limits, zeros and infinities. */
    static const uint32_t around[] = {0, 0x3c01, 0x7c00, 0x8000, 0x9419, 0xfc00, 0xfff8};
    for (size_t i = 0; i < sizeof around / sizeof *around; i++)
        check_alone(CRN_F16, around[i] < 8 ? 0 : around[i] - 8, 16, NULL);
}

static void the_limits_are_judged_alike(void **state)
{
    (void)state;
    open_device();
    for (size_t t = 0; t < 3; t++) {
        probabilities_list good = probabilities_good(types[t]), bad = probabilities_bad(types[t]);
        check_alone(types[t], 0, good.count, good.bits);
        check_alone(types[t], 0, bad.count, bad.bits);
    }
}

/* One bad value at every position of views that begin anywhere in a vector. */
static void a_bad_value_is_found_wherever_it_is(void **state)
{
    (void)state;
    open_device();
    enum { COLUMNS = 83 };
    unsigned char values[3 * COLUMNS * 4];
    for (size_t t = 0; t < 3; t++) {
        value_batch it = {.image = crn_image_dense(values, types[t], CRN_CHW, 1, 1, COLUMNS),
                          .batch = 1};
        for (size_t i = 0; i < sizeof values / sizeof(float); i++) {
            memset(values, 0, sizeof values);
            probabilities_put(values, types[t], i, probabilities_bad(types[t]).bits[0]);
            check_on_device(&it, crn_type_name(types[t]));
        }
    }
}

static void other_types_are_refused(void **state)
{
    (void)state;
    double value = 0;
    crn_values_seen own[CRN_VALUES_PARTS];
    crn_image image = crn_image_dense(&value, CRN_F64, CRN_HWC, 1, 1, 1);
    assert_true(crn_see_values(operator_contexts[1], &image, own) < 0);
    open_device();
    assert_true(gpu->ops->see_values(contexts[0], &image, parts) < 0);
    image.type = CRN_U16;
    assert_true(gpu->ops->see_values(contexts[0], &image, parts) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_processor_sees_what_is_defined),
        cmocka_unit_test(a_device_sees_what_is_defined),
        cmocka_unit_test(every_byte_and_half_is_judged_alike),
        cmocka_unit_test(the_limits_are_judged_alike),
        cmocka_unit_test(a_bad_value_is_found_wherever_it_is),
        cmocka_unit_test(other_types_are_refused),
    };
    return cmocka_run_group_tests(tests, operators_set_up, tear_down);
}

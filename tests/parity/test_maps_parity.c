/* What stages read from maps beside operators: the CPU's functions against plain definitions, and
 * those of CUDA against the CPU's, bit for bit. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "stages/context.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/cuda.h"
#include "tests/support/random.h"

enum { PLANES = 3, HEIGHT = 37, WIDTH = 701, VALUES = PLANES * HEIGHT * WIDTH };
enum { RUNS = 500, BOXES = 60 };
enum { SLOT_IN = 16, SLOT_OUT };

static union {
    float f32[VALUES];
    uint16_t u16[VALUES];
    uint8_t u8[VALUES];
} pixels;

static crn_random randoms;
static crn_context *processor;

static int set_up(void **state)
{
    (void)state;
    randoms.state = crn_random_seed();
    return crn_context_create(1, &processor);
}

static int tear_down(void **state)
{
    (void)state;
    crn_context_free(&processor);
    return 0;
}

/* Values of very different magnitude, so that every order of additions has a sum of its own, and
 * some that are not finite. */
static float any_float(void)
{
    static const float specials[] = {NAN, INFINITY, -INFINITY, -0.0f, 1e-42f, 1e30f, 0.5f / 255};
    if (crn_random_once_in(&randoms, 40))
        return specials[crn_random_below(&randoms, 7)];
    return ldexpf((float)crn_random_unit(&randoms), (int)crn_random_below(&randoms, 40) - 38);
}

static crn_image any_map(crn_type type)
{
    for (int i = 0; i < VALUES; i++)
        if (type == CRN_F32)
            pixels.f32[i] = any_float();
        else if (type == CRN_U8)
            pixels.u8[i] = (uint8_t)crn_random_below(&randoms, 256);
        else
            pixels.u16[i] = (uint16_t)crn_random_below(&randoms, 65536);
    crn_layout layout = crn_random_once_in(&randoms, 2) ? CRN_CHW : CRN_HWC;
    return crn_image_dense(&pixels, type, layout, PLANES, HEIGHT, WIDTH);
}

static void any_runs(crn_run *runs)
{
    for (int i = 0; i < RUNS; i++) {
        crn_run *run = &runs[i];
        run->plane = crn_random_between(&randoms, 0, PLANES - 1);
        run->y = crn_random_between(&randoms, 0, HEIGHT - 1);
        run->x0 = crn_random_between(&randoms, 0, WIDTH - 1);
        run->x1 = crn_random_between(&randoms, run->x0, i % 2 ? WIDTH : run->x0 + 1);
    }
}

static void any_boxes(crn_box *boxes)
{
    for (int i = 0; i < BOXES; i++) {
        crn_box *box = &boxes[i];
        box->plane = 0;
        box->x0 = crn_random_between(&randoms, 0, WIDTH - 1);
        box->x1 = crn_random_between(&randoms, box->x0, WIDTH - 1);
        box->y0 = crn_random_between(&randoms, 0, HEIGHT - 1);
        box->y1 = crn_random_between(&randoms, box->y0, HEIGHT - 1);
    }
}

static const crn_type types[] = {CRN_U8, CRN_U16, CRN_F16, CRN_F32};

/* --- the CPU --- */

static void runs_are_summed_in_the_order_of_their_definition(void **state)
{
    (void)state;
    static crn_run runs[RUNS];
    static crn_run_sum sums[RUNS];
    for (int t = 0; t < 4; t++) {
        crn_image in = any_map(types[t]);
        any_runs(runs);
        assert_int_equal(crn_sum_runs(processor, &in, runs, RUNS, sums), 0);
        for (int i = 0; i < RUNS; i++) {
            double part[4] = {0};
            uint32_t finite = 0;
            for (int32_t x = runs[i].x0; x < runs[i].x1; x++) {
                float value = crn_image_at(&in, runs[i].plane, runs[i].y, x);
                if (!isfinite(value))
                    continue;
                part[(x - runs[i].x0) % 4] += (double)value;
                finite++;
            }
            assert_true(sums[i].sum == (part[0] + part[1]) + (part[2] + part[3]));
            assert_int_equal(sums[i].pixels, finite);
        }
    }
}

static void probabilities_become_bytes(void **state)
{
    (void)state;
    static const struct {
        float from;
        uint8_t to;
    } cases[] = {{0, 0},   {1, 255},    {NAN, 0},      {INFINITY, 255},     {-INFINITY, 0},
                 {-1, 0},  {2, 255},    {0.5f, 128},   {0.75f, 191},        {0.4f / 255, 0},
                 {-0., 0}, {1e-42f, 0}, {0.998f, 254}, {254.51f / 255, 255}};
    enum { CASES = sizeof cases / sizeof *cases };
    float from[CASES];
    uint8_t to[CASES];
    for (int i = 0; i < CASES; i++)
        from[i] = cases[i].from;
    crn_image in = crn_image_dense(from, CRN_F32, CRN_CHW, 1, 1, CASES);
    crn_image out = crn_image_dense(to, CRN_U8, CRN_CHW, 1, 1, CASES);
    assert_int_equal(crn_narrow(processor, &in, &out), 0);
    for (int i = 0; i < CASES; i++)
        if (to[i] != cases[i].to)
            fail_msg("%g became %d, not %d", (double)from[i], to[i], cases[i].to);
}

static void boxes_are_averaged_in_raster_order(void **state)
{
    (void)state;
    static crn_box all[BOXES];
    static crn_box_mean means[BOXES];
    crn_image in = any_map(CRN_F32);
    for (int i = 0; i < VALUES; i++)
        pixels.f32[i] = isfinite(pixels.f32[i]) ? pixels.f32[i] : 0;
    any_boxes(all);
    crn_boxes boxes = {.all = all, .count = BOXES};
    assert_int_equal(crn_mean_boxes(processor, &in, &boxes, means), 0);
    for (int i = 0; i < BOXES; i++)
        for (int32_t plane = 0; plane < 3; plane++) {
            double sum = 0;
            int count = 0;
            for (int32_t y = all[i].y0; y <= all[i].y1; y++)
                for (int32_t x = all[i].x0; x <= all[i].x1; x++, count++)
                    sum += (double)crn_image_at(&in, plane, y, x);
            assert_true(means[i].of[plane] == (float)(sum / count));
        }
}

/* --- a device --- */

/* A device context, and pinned memory for what goes in and comes back. */
typedef struct device_fixture {
    const crn_gpu *gpu;
    crn_context *context;
    void *given, *found;
} device_fixture;

static device_fixture open_device(size_t given_bytes, size_t found_bytes)
{
    device_fixture it = {.gpu = crn_test_cuda()};
    assert_int_equal(it.gpu->context_create(0, 1, &it.context), 0);
    it.given = it.gpu->pinned_create(given_bytes);
    it.found = it.gpu->pinned_create(found_bytes);
    assert_true(it.given && it.found);
    memset(it.found, 0xee, found_bytes);
    return it;
}

static void close_device(device_fixture *it)
{
    it->gpu->pinned_free(it->given);
    it->gpu->pinned_free(it->found);
    crn_context_free(&it->context);
}

static crn_image upload(device_fixture *it, const crn_image *image)
{
    size_t bytes = crn_image_elements(image) * crn_type_bytes(image->type);
    crn_image there = *image;
    there.data = crn_context_scratch(it->context, SLOT_IN, bytes);
    assert_non_null(there.data);
    assert_int_equal(it->gpu->upload(it->context, there.data, image->data, bytes), 0);
    return there;
}

static void a_device_sums_runs_alike(void **state)
{
    (void)state;
    static crn_run_sum expected[RUNS];
    device_fixture it = open_device(RUNS * sizeof(crn_run), sizeof expected);
    const crn_run_sum *found = it.found;
    for (int n = 0; n < 24; n++) {
        crn_image in = any_map(types[n % 4]), there = upload(&it, &in);
        any_runs(it.given);
        uint32_t count = n < 20 ? RUNS : (uint32_t)n - 20;
        assert_int_equal(crn_sum_runs(processor, &in, it.given, count, expected), 0);
        assert_int_equal(it.gpu->ops->sum_runs(it.context, &there, it.given, count, it.found), 0);
        assert_int_equal(crn_test_gpu_wait(it.gpu, it.context), 0);
        for (uint32_t i = 0; i < count; i++) {
            assert_memory_equal(&found[i].sum, &expected[i].sum, sizeof(double));
            assert_int_equal(found[i].pixels, expected[i].pixels);
        }
    }
    close_device(&it);
}

static void a_device_narrows_alike(void **state)
{
    (void)state;
    static uint8_t expected[VALUES];
    device_fixture it = open_device(1, sizeof expected);
    for (int n = 0; n < 8; n++) {
        crn_image in = any_map(n % 2 ? CRN_F16 : CRN_F32), there = upload(&it, &in);
        crn_image out = crn_image_dense(expected, CRN_U8, CRN_CHW, PLANES, HEIGHT, WIDTH);
        assert_int_equal(crn_narrow(processor, &in, &out), 0);
        out.data = crn_context_scratch(it.context, SLOT_OUT, VALUES);
        assert_non_null(out.data);
        assert_int_equal(it.gpu->ops->narrow(it.context, &there, &out), 0);
        assert_int_equal(it.gpu->download(it.context, it.found, out.data, VALUES), 0);
        assert_int_equal(crn_test_gpu_wait(it.gpu, it.context), 0);
        assert_memory_equal(it.found, expected, VALUES);
    }
    close_device(&it);
}

static void a_device_averages_boxes_alike(void **state)
{
    (void)state;
    static crn_box_mean expected[BOXES];
    device_fixture it = open_device(BOXES * sizeof(crn_box), sizeof expected);
    for (int n = 0; n < 8; n++) {
        crn_image in = any_map(CRN_F32);
        bool exact = n % 2;
        for (int i = 0; i < VALUES; i++)
            pixels.f32[i] = exact ? (float)crn_random_between(&randoms, -1024, 1024) / 1024
                                  : (float)crn_random_unit(&randoms) - 0.5f;
        crn_image there = upload(&it, &in);
        any_boxes(it.given);
        crn_boxes boxes = {.all = it.given, .count = BOXES, .exact = exact};
        assert_int_equal(crn_mean_boxes(processor, &in, &boxes, expected), 0);
        assert_int_equal(it.gpu->ops->mean_boxes(it.context, &there, &boxes, it.found), 0);
        assert_int_equal(crn_test_gpu_wait(it.gpu, it.context), 0);
        assert_memory_equal(it.found, expected, sizeof expected);
    }
    close_device(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_summed_in_the_order_of_their_definition),
        cmocka_unit_test(probabilities_become_bytes),
        cmocka_unit_test(boxes_are_averaged_in_raster_order),
        cmocka_unit_test(a_device_sums_runs_alike),
        cmocka_unit_test(a_device_narrows_alike),
        cmocka_unit_test(a_device_averages_boxes_alike),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

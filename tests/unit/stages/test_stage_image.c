/*
 * The stages that work on maps: convolve, morphology, haar. Run over fake operators that record
 * their parameters and add one to their input, so that the path of the maps can be traced.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stages/kernel/element.h"
#include "stages/kernel/kernel.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/fixture.h"
#include "tests/support/operators/settings.h"

#define PLANES 3
#define HEIGHT 5
#define WIDTH  7
#define COUNT  (PLANES * HEIGHT * WIDTH)

/* --- recording operators --- */

static struct {
    int calls;
    crn_image in, out;
    crn_convolve_params convolve;
    crn_morphology_params morphology;
    crn_haar_params haar;
    int result; /* what they return */
} asked;

static int note(const crn_image *in, crn_image *out)
{
    asked.calls++;
    asked.in = *in;
    asked.out = *out;
    assert_true(crn_image_same_size(in, out));
    assert_true(in->type == CRN_U8 || in->type == CRN_F32);
    for (int32_t p = 0; p < in->planes && asked.result == 0; p++)
        for (int32_t y = 0; y < in->height; y++)
            for (int32_t x = 0; x < in->width; x++) {
                float value = crn_image_at(in, p, y, x) + 1;
                ptrdiff_t at = crn_image_index(out, p, y, x);
                if (out->type == CRN_U8)
                    ((uint8_t *)out->data)[at] = (uint8_t)value;
                else
                    ((float *)out->data)[at] = value;
            }
    return asked.result;
}

static int note_convolve(crn_context *context, const crn_convolve_params *params,
                         const crn_image *in, crn_image *out)
{
    (void)context;
    asked.convolve = *params;
    assert_int_equal(out->type, in->type);
    return note(in, out);
}

static int note_morphology(crn_context *context, const crn_morphology_params *params,
                           const crn_image *in, crn_image *out)
{
    (void)context;
    asked.morphology = *params;
    assert_int_equal(out->type, in->type);
    return note(in, out);
}

static int note_haar(crn_context *context, const crn_haar_params *params, const crn_image *in,
                     crn_image *out)
{
    (void)context;
    asked.haar = *params;
    assert_int_equal(out->type, CRN_F32);
    return note(in, out);
}

static const crn_ops ops = {
    .name = "noting",
    .convolve = note_convolve,
    .morphology = note_morphology,
    .haar = note_haar,
    .widen = crn_widen,
};

/* --- a job --- */

static const char *const names[] = {"convolve", "morphology", "haar"};
#define STAGES (sizeof names / sizeof *names)

typedef struct image_fixture {
    crn_job job;
    crn_classes classes;
    unsigned char received[COUNT * sizeof(float)];
} image_fixture;

static int setup(void **state)
{
    image_fixture *f = *state = calloc(1, sizeof *f);
    memset(&asked, 0, sizeof asked);
    f->classes = (crn_classes){.count = PLANES, .level = {0.5, 0.5, 0.5}};
    f->job = (crn_job){.ops = &ops, .classes = &f->classes};
    return crn_context_create(1, &f->job.context);
}

static int teardown(void **state)
{
    image_fixture *f = *state;
    crn_context_free(&f->job.context);
    free(f);
    return 0;
}

/* Receives a view of that type and layout, all values different. */
static void receive(image_fixture *f, crn_type type, crn_layout layout)
{
    for (int i = 0; i < COUNT; i++) {
        uint16_t half = (uint16_t)(0x3c00 + i); /* 1 + i / 1024 */
        float value = (float)i / COUNT;
        if (type == CRN_U8)
            f->received[i] = (unsigned char)i;
        else if (type == CRN_F16)
            memcpy(f->received + 2 * i, &half, sizeof half);
        else
            memcpy(f->received + 4 * i, &value, sizeof value);
    }
    f->job.received = crn_image_dense(f->received, type, layout, PLANES, HEIGHT, WIDTH);
    f->job.maps = f->job.received;
}

/* Prepares and runs the stage with its defaults. */
static int run(image_fixture *f, const char *name)
{
    const crn_stage *stage = crn_stage_find(name);
    void *settings = crn_stage_settings(stage, NULL);
    crn_error error = {""};
    if (stage->prepare)
        assert_int_equal(stage->prepare(settings, &f->classes, &error), 0);
    int r = stage->enqueue(settings, &f->job);
    free(settings);
    return r;
}

static void assert_dense(const crn_image *maps, crn_type type, crn_layout layout)
{
    crn_image dense = crn_image_dense(maps->data, type, layout, PLANES, HEIGHT, WIDTH);
    assert_memory_equal(maps, &dense, sizeof dense);
}

/* --- the tests --- */

static void test_they_work_on_maps_and_stand_in_their_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < STAGES; i++) {
        assert_string_equal(crn_stages[i]->name, names[i]);
        assert_int_equal(crn_stages[i]->kind, CRN_STAGE_IMAGE);
        assert_null(crn_stages[i]->finish);
        assert_null(crn_stages[i]->textures);
    }
}

static void test_u8_stays_but_for_haar(void **state)
{
    image_fixture *f = *state;
    for (crn_layout layout = CRN_CHW; layout <= CRN_HWC; layout++) {
        receive(f, CRN_U8, layout);
        assert_int_equal(run(f, "convolve"), 0);
        assert_dense(&f->job.maps, CRN_U8, layout);
        assert_int_equal(run(f, "morphology"), 0);
        assert_dense(&f->job.maps, CRN_U8, layout);
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(((uint8_t *)f->job.maps.data)[i], i + 2);
        assert_int_equal(run(f, "haar"), 0);
        assert_int_equal(asked.in.type, CRN_U8);
        assert_true(asked.haar.unit); /* the operator reads u8 as value / 255 */
        assert_dense(&f->job.maps, CRN_F32, layout);
    }
}

static void test_f16_is_widened_first(void **state)
{
    image_fixture *f = *state;
    for (size_t i = 0; i < STAGES; i++) {
        for (crn_layout layout = CRN_CHW; layout <= CRN_HWC; layout++) {
            receive(f, CRN_F16, layout);
            assert_int_equal(run(f, names[i]), 0);
            assert_dense(&asked.in, CRN_F32, layout);
            assert_dense(&f->job.maps, CRN_F32, layout);
            for (int k = 0; k < COUNT; k++)
                assert_true(((float *)f->job.maps.data)[k] == 2 + (float)k / 1024);
        }
    }
}

static void test_f32_stays(void **state)
{
    image_fixture *f = *state;
    for (size_t i = 0; i < STAGES; i++) {
        receive(f, CRN_F32, CRN_HWC);
        assert_int_equal(run(f, names[i]), 0);
        assert_ptr_equal(asked.in.data, f->received);
        assert_dense(&f->job.maps, CRN_F32, CRN_HWC);
    }
}

/* All half values, to the last bit, including NaNs and their payload. */
static void test_widening_is_exact(void **state)
{
    image_fixture *f = *state;
    static uint16_t halves[65536];
    for (uint32_t i = 0; i < 65536; i++)
        halves[i] = (uint16_t)i;
    f->job.maps = crn_image_dense(halves, CRN_F16, CRN_CHW, 1, 256, 256);
    assert_int_equal(crn_job_widen(&f->job), 0);
    assert_int_equal(f->job.maps.type, CRN_F32);
    for (uint32_t i = 0; i < 65536; i++) {
        float expected = crn_f16_to_f32((uint16_t)i);
        assert_memory_equal((float *)f->job.maps.data + i, &expected, sizeof expected);
    }
    /* A second call has nothing to do. */
    void *data = f->job.maps.data;
    assert_int_equal(crn_job_widen(&f->job), 0);
    assert_ptr_equal(f->job.maps.data, data);
}

/* In a chain of any length no stage reads from its output buffer, the received maps are not
 * modified, and the next view reuses the same memory. */
static void test_outputs_alternate(void **state)
{
    image_fixture *f = *state;
    static const char *const chain[] = {"convolve", "convolve", "morphology", "convolve",
                                        "haar",     "haar",     "morphology", "convolve"};
    void *last = NULL;
    for (int view = 0; view < 3; view++) {
        receive(f, view == 1 ? CRN_F16 : CRN_U8, CRN_HWC);
        unsigned char before[sizeof f->received];
        memcpy(before, f->received, sizeof before);
        for (size_t i = 0; i < sizeof chain / sizeof *chain; i++) {
            assert_int_equal(run(f, chain[i]), 0);
            assert_ptr_equal(asked.out.data, f->job.maps.data);
            assert_ptr_not_equal(asked.in.data, asked.out.data);
            assert_ptr_not_equal(asked.out.data, f->received);
        }
        float base = view == 1 ? 1 : 0, step = view == 1 ? 1.0f / 1024 : 1;
        for (int k = 0; k < COUNT; k++)
            assert_true(((float *)f->job.maps.data)[k] == base + 8 + (float)k * step);
        assert_memory_equal(before, f->received, sizeof before);
        if (view == 2)
            assert_ptr_equal(f->job.maps.data, last);
        if (view == 0)
            last = f->job.maps.data;
    }
    assert_int_equal(asked.calls, 3 * 8);
}

static void test_an_operators_failure_fails_the_stage(void **state)
{
    image_fixture *f = *state;
    for (size_t i = 0; i < STAGES; i++) {
        receive(f, CRN_F32, CRN_CHW);
        asked.result = -EINVAL;
        assert_int_equal(run(f, names[i]), -EINVAL);
        assert_ptr_equal(f->job.maps.data, f->received);
    }
}

static void test_convolve_asks_for_its_kernel(void **state)
{
    image_fixture *f = *state;
    const crn_stage *stage = crn_stage_find("convolve");
    static const char *const borders[] = {"replicate", "reflect", "wrap", "zero"};
    static crn_kernel kernel;
    crn_error error = {""};
    for (int32_t border = CRN_CONVOLVE_REPLICATE; border <= CRN_CONVOLVE_ZERO; border++) {
        void *settings = crn_stage_settings(stage, "kernel", "gaussian", "size", "5", "border",
                                            borders[border], NULL);
        assert_int_equal(stage->prepare(settings, &f->classes, &error), 0);
        receive(f, CRN_U8, CRN_HWC);
        assert_int_equal(stage->enqueue(settings, &f->job), 0);
        assert_int_equal(crn_kernel_load("gaussian", (crn_size){5, 5}, &kernel, &error), 0);
        assert_int_equal(asked.convolve.width, 5);
        assert_int_equal(asked.convolve.height, 5);
        assert_int_equal(asked.convolve.border, border);
        assert_memory_equal(asked.convolve.weights, kernel.weights, 25 * sizeof(float));
        free(settings);
    }
    void *settings = crn_stage_settings(stage, "kernel", "/nowhere/kernel.txt", NULL);
    assert_true(stage->prepare(settings, &f->classes, &error) < 0);
    assert_non_null(strstr(error.text, "/nowhere/kernel.txt"));
    assert_null(strchr(error.text, '\n'));
    free(settings);
}

static void test_morphology_asks_for_its_element(void **state)
{
    image_fixture *f = *state;
    const crn_stage *stage = crn_stage_find("morphology");
    static const char *const operations[] = {"erode",    "dilate", "open",    "close",
                                             "gradient", "tophat", "blackhat"};
    crn_error error = {""};
    for (int32_t operation = CRN_ERODE; operation <= CRN_BLACKHAT; operation++) {
        void *settings =
            crn_stage_settings(stage, "operation", operations[operation], "size", "7x3", NULL);
        assert_int_equal(stage->prepare(settings, &f->classes, &error), 0);
        receive(f, CRN_F32, CRN_CHW);
        assert_int_equal(stage->enqueue(settings, &f->job), 0);
        assert_int_equal(asked.morphology.operation, operation);
        assert_int_equal(asked.morphology.element.shape, CRN_ELEMENT_DISK);
        assert_int_equal(asked.morphology.element.width, 7);
        assert_int_equal(asked.morphology.element.height, 3);
        assert_null(asked.morphology.element.heights);
        free(settings);
    }
    void *settings = crn_stage_settings(stage, "element", "/nowhere/element.tif", NULL);
    assert_true(stage->prepare(settings, &f->classes, &error) < 0);
    assert_non_null(strstr(error.text, "/nowhere/element.tif"));
    assert_null(strchr(error.text, '\n'));
    free(settings);
}

static void test_haar_takes_noise_out(void **state)
{
    image_fixture *f = *state;
    const crn_stage *stage = crn_stage_find("haar");
    assert_null(stage->prepare);
    static const struct {
        const char *levels;
        int32_t asked;
    } rows[] = {{"1", 1}, {"2", 2}, {"3", 3}, {"4", 3}, {"31", 3}}; /* 7 wide: halved 3 times */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *settings =
            crn_stage_settings(stage, "levels", rows[i].levels, "threshold", "0.125", NULL);
        receive(f, CRN_F32, CRN_CHW);
        assert_int_equal(stage->enqueue(settings, &f->job), 0);
        assert_int_equal(asked.haar.direction, CRN_HAAR_DENOISE);
        assert_int_equal(asked.haar.levels, rows[i].asked);
        assert_true(asked.haar.threshold == 0.125f);
        free(settings);
    }
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(test_they_work_on_maps_and_stand_in_their_order),
        cmocka_unit_test(test_u8_stays_but_for_haar),
        cmocka_unit_test(test_f16_is_widened_first),
        cmocka_unit_test(test_f32_stays),
        cmocka_unit_test(test_widening_is_exact),
        cmocka_unit_test(test_outputs_alternate),
        cmocka_unit_test(test_an_operators_failure_fails_the_stage),
        cmocka_unit_test(test_convolve_asks_for_its_kernel),
        cmocka_unit_test(test_morphology_asks_for_its_element),
        cmocka_unit_test(test_haar_takes_noise_out),
    };
    CRN_SET_FIXTURE(tests, setup, teardown);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

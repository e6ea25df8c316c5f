/* The operators of cernita.h: contexts, what the backends get, and the texts of errors. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "stages/backend.h"
#include "stages/cernita.h"
#include "stages/library/library.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/gpu/fake_gpu.h"
#include "tests/support/gpu/faulty_gpu.h"
#include "tests/support/random.h"

enum { HEIGHT = 33, WIDTH = 41, PIXELS = HEIGHT * WIDTH };

static float picture[PIXELS], result[3 * PIXELS], expected[3 * PIXELS];
static uint8_t bytes[PIXELS];
static crn_context *context;

static int set_up(void **state)
{
    (void)state;
    crn_random random = {7};
    for (int i = 0; i < PIXELS; i++) {
        picture[i] = (float)crn_random_unit(&random);
        bytes[i] = (uint8_t)crn_random_below(&random, 256);
    }
    return crn_context_open(NULL, &context);
}

static int tear_down(void **state)
{
    (void)state;
    crn_context_free(&context);
    assert_null(context);
    return 0;
}

static crn_image image_of(void *data, crn_type type, int32_t height, int32_t width)
{
    return crn_image_dense(data, type, CRN_CHW, 1, height, width);
}

/* The text of the last error has that in it. */
static void assert_says(const char *part)
{
    const char *text = crn_context_error(context);
    if (!strstr(text, part))
        fail_msg("'%s' is not in '%s'", part, text);
}

static const float weights[9] = {1, 2, 1, 2, 4, 2, 1, 2, 1};

/* Calls an operator on images, each through `ops` or, where NULL, through cernita.h. */
static void run_all(const crn_ops *ops, crn_context *in_context, int which, float *to)
{
    crn_image in = image_of(picture, CRN_F32, HEIGHT, WIDTH), out = in, u8 = in, third = in;
    out.data = to;
    u8 = image_of(bytes, CRN_U8, HEIGHT, WIDTH);
    third = crn_image_dense(to, CRN_F32, CRN_CHW, 3, HEIGHT - 3, WIDTH - 5);
    crn_morphology_params morphology = {CRN_OPEN, {CRN_ELEMENT_DISK, 5, 5, NULL, NULL}};
    crn_convolve_params convolve = {weights, 3, 3, CRN_CONVOLVE_REFLECT};
    crn_haar_params haar = {CRN_HAAR_FORWARD, 3, 0, false};
    crn_ranklet_params ranklet = {6, 4};
    crn_diamond_square_params field = {6, 99, 0.5, 3, 5};
    int r = -1;
    switch (which) {
    case 0:
        r = ops ? ops->morphology(in_context, &morphology, &in, &out)
                : crn_morphology(in_context, &morphology, &in, &out);
        break;
    case 1:
        r = ops ? ops->convolve(in_context, &convolve, &in, &out)
                : crn_convolve(in_context, &convolve, &in, &out);
        break;
    case 2:
        r = ops ? ops->haar(in_context, &haar, &in, &out) : crn_haar(in_context, &haar, &in, &out);
        break;
    case 3:
        r = ops ? ops->ranklet(in_context, &ranklet, &u8, &third)
                : crn_ranklet(in_context, &ranklet, &u8, &third);
        break;
    case 4:
        r = ops ? ops->diamond_square(in_context, &field, &out)
                : crn_diamond_square(in_context, &field, &out);
        break;
    }
    assert_int_equal(r, 0);
}

static void every_backend_on_the_processor_computes_what_it_does_inside(void **state)
{
    (void)state;
    const char *why;
    for (crn_backend backend = CRN_BACKEND_AUTO; backend <= CRN_BACKEND_OPENMP; backend++) {
        crn_context *opened;
        crn_context_settings settings = {.backend = backend, .threads = 2};
        assert_int_equal(crn_context_open(&settings, &opened), 0);
        for (int which = 0; which < 5; which++) {
            memset(result, 0, sizeof result);
            memset(expected, 0, sizeof expected);
            run_all(crn_backend_ops(backend, &why), context, which, expected);
            run_all(NULL, opened, which, result);
            assert_memory_equal(result, expected, sizeof result);
        }
        assert_string_equal(crn_context_error(opened), "");
        crn_context_free(&opened);
    }
}

static void contours_of_a_square_surround_it(void **state)
{
    (void)state;
    uint8_t square[25] = {[12] = 255};
    double level = 127.5;
    crn_point points[16];
    crn_contour contours[2];
    crn_contours found = {
        .points = points, .contours = contours, .point_capacity = 16, .contour_capacity = 2};
    crn_contours_params params = {.levels = &level};
    crn_image in = image_of(square, CRN_U8, 5, 5);
    assert_int_equal(crn_find_contours(context, &params, &in, &found), 0);
    assert_int_equal(found.contour_count, 1);
    assert_int_equal(contours[0].count, 5);
    assert_true(contours[0].closed);
    for (uint32_t i = 0; i < 5; i++)
        assert_true(fabs(points[i].x - 2) + fabs(points[i].y - 2) == 0.5);
    found.point_capacity = 4;
    assert_int_equal(crn_find_contours(context, &params, &in, &found), 0);
    assert_true(found.truncated);
}

static void the_inverse_of_haar_gives_the_picture_back(void **state)
{
    (void)state;
    crn_image in = image_of(picture, CRN_F32, HEIGHT, WIDTH), there = in, back = in;
    there.data = result;
    back.data = expected;
    crn_haar_params params = {.direction = CRN_HAAR_FORWARD,
                              .levels = crn_haar_levels_max(HEIGHT, WIDTH)};
    assert_int_equal(params.levels, 6);
    assert_int_equal(crn_haar(context, &params, &in, &there), 0);
    params.direction = CRN_HAAR_INVERSE;
    assert_int_equal(crn_haar(context, &params, &there, &back), 0);
    for (int i = 0; i < PIXELS; i++)
        assert_true(fabsf(expected[i] - picture[i]) <= 4 * 6 * 0x1p-24f);
}

static void settings_that_cannot_be_are_refused(void **state)
{
    (void)state;
    crn_context *none = NULL;
    crn_context_settings bad[] = {{.backend = (crn_backend)9},
                                  {.threads = -1},
                                  {.threads = 100000},
                                  {.memory = (crn_memory)7},
                                  {.backend = CRN_BACKEND_OPENMP, .memory = CRN_MEMORY_DEVICE}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(crn_context_open(&bad[i], &none), -EINVAL);
    assert_int_equal(crn_context_open(NULL, NULL), -EINVAL);
    assert_null(none);
    crn_context_free(&none);
    assert_string_equal(crn_context_error(NULL), "");
    assert_non_null(crn_backend_missing((crn_backend)9));
    assert_null(crn_backend_missing(CRN_BACKEND_SERIAL));
    assert_string_equal(crn_version(), CRN_VERSION);
}

static void a_missing_device_says_why(void **state)
{
    (void)state;
    const char *why = crn_backend_missing(CRN_BACKEND_CUDA);
    if (!why)
        skip();
    crn_context *none = NULL;
    crn_context_settings cuda = {.backend = CRN_BACKEND_CUDA};
    assert_int_equal(crn_context_open(&cuda, &none), -ENOTSUP);
    cuda.memory = CRN_MEMORY_DEVICE;
    assert_int_equal(crn_context_open(&cuda, &none), -ENOTSUP);
    assert_null(none);
    assert_true(strlen(why) > 10);
}

static void nothing_is_done_without_a_context(void **state)
{
    (void)state;
    crn_image in = image_of(picture, CRN_F32, HEIGHT, WIDTH), out = in;
    out.data = result;
    crn_haar_params params = {.levels = 1};
    assert_int_equal(crn_haar(NULL, &params, &in, &out), -EINVAL);
    assert_int_equal(crn_chain_open(NULL, "line.yaml", NULL), -EINVAL);
}

static void refused_contours_name_the_argument(void **state)
{
    (void)state;
    double level = -1;
    crn_contours found = {.point_capacity = 0};
    crn_contours_params params = {.border = CRN_BORDER_CLOSED};
    crn_image in = image_of(picture, CRN_F32, HEIGHT, WIDTH);
    assert_int_equal(crn_find_contours(context, NULL, &in, &found), -EINVAL);
    assert_says("contours: params is NULL");
    assert_int_equal(crn_find_contours(context, &params, &in, &found), -EINVAL);
    assert_says("params.levels is NULL");
    params.levels = &level;
    assert_int_equal(crn_find_contours(context, &params, &in, NULL), -EINVAL);
    assert_says("out is NULL");
    assert_int_equal(crn_find_contours(context, &params, NULL, &found), -EINVAL);
    assert_says("in is NULL");
    assert_int_equal(crn_find_contours(context, &params, &in, &found), -EINVAL);
    assert_says("params.levels[0] is -1");
    params.border = CRN_BORDER_OPEN;
    in.height = 1;
    assert_int_equal(crn_find_contours(context, &params, &in, &found), -EINVAL);
    assert_says("at least 2 x 2");
    in.height = in.width = (1 << 15) + 1; /* 2^30 cells with an open border, the first too many */
    assert_int_equal(crn_find_contours(context, &params, &in, &found), -EINVAL);
    assert_says("in is 32769 x 32769; with an open border (height - 1) x (width - 1), its cells, "
                "must be below 2^30");
    params.border = CRN_BORDER_CLOSED;
    level = 1;
    in.height = in.width = (1 << 15) - 1;
    assert_int_equal(crn_find_contours(context, &params, &in, &found), -EINVAL);
    assert_says("with a closed border (height + 1) x (width + 1)");
    in = image_of(picture, CRN_F32, HEIGHT, WIDTH);
    params.connectivity = (crn_connectivity)2;
    assert_int_equal(crn_find_contours(context, &params, &in, &found), -EINVAL);
    assert_says("params.connectivity is 2");
    params.connectivity = (crn_connectivity)-1;
    assert_int_equal(crn_find_contours(context, &params, &in, &found), -EINVAL);
    assert_says("params.connectivity is -1; it must be 0 to 1");
    params.connectivity = CRN_CONNECT_LOW;
    found.point_capacity = 5;
    assert_int_equal(crn_find_contours(context, &params, &in, &found), -EINVAL);
    assert_says("its array is NULL");
    found.point_capacity = 0;
    assert_int_equal(crn_find_contours(context, &params, &in, &found), 0);
    assert_string_equal(crn_context_error(context), "");
}

/* Morphology and the like have no f64; of contours only a GPU refuses it, here by its words alone.
 */
static void doubles_are_for_contours_on_the_cpu(void **state)
{
    (void)state;
    double doubles[4] = {0, 0, 1e-300, 0};
    crn_image in = image_of(doubles, CRN_F64, 2, 2), out = in;
    crn_point points[4];
    crn_contour contours[1];
    crn_contours found = {points, contours, 4, 1, 0, 0, false};
    crn_contours_params params = {.levels = (const double[1]){2.5e-301}};
    assert_int_equal(crn_find_contours(context, &params, &in, &found), 0);
    assert_int_equal(found.point_count, 2);
    assert_true(points[0].y == 0.25 || points[1].y == 0.25);

    crn_error text;
    crn_explain_contours(&params, &in, &found, &text);
    assert_string_equal(text.text, "in is of f64, which only the CPU's backends take");
    out.data = result;
    crn_haar_params haar = {.levels = 1};
    assert_int_equal(crn_haar(context, &haar, &in, &out), -EINVAL);
    assert_says("haar: in is of f64; it must be of u8 or f32");
}

static void refused_images_are_named(void **state)
{
    (void)state;
    crn_image in = image_of(picture, CRN_F32, HEIGHT, WIDTH), out = in;
    out.data = result;
    crn_morphology_params params = {CRN_ERODE, {CRN_ELEMENT_RECT, 3, 3, NULL, NULL}};
    out.width--;
    assert_int_equal(crn_morphology(context, &params, &in, &out), -EINVAL);
    assert_says("morphology: out is 1 x 33 x 40 (planes x height x width); it must be 1 x 33 x 41");
    out = in;
    out.data = NULL;
    assert_int_equal(crn_morphology(context, &params, &in, &out), -EINVAL);
    assert_says("out.data is NULL");
    out = image_of(result, CRN_U8, HEIGHT, WIDTH);
    assert_int_equal(crn_morphology(context, &params, &in, &out), -EINVAL);
    assert_says("out is of u8; it must be of f32");
    in.type = CRN_U16;
    assert_int_equal(crn_morphology(context, &params, &in, &out), -EINVAL);
    assert_says("in is of u16; it must be of u8 or f32");
    in.type = (crn_type)77;
    assert_int_equal(crn_morphology(context, &params, &in, &out), -EINVAL);
    assert_says("in.type is 77");
    in = image_of(picture, CRN_F32, 0, WIDTH);
    assert_int_equal(crn_morphology(context, &params, &in, &out), -EINVAL);
    assert_says("none may be 0");
}

static void refused_parameters_are_named(void **state)
{
    (void)state;
    crn_image in = image_of(picture, CRN_F32, HEIGHT, WIDTH), out = in;
    out.data = result;
    crn_morphology_params element = {CRN_ERODE, {CRN_ELEMENT_RECT, 0, 3, NULL, NULL}};
    assert_int_equal(crn_morphology(context, &element, &in, &out), -EINVAL);
    assert_says("params.element is 0 x 3");
    element.element = (crn_element){CRN_ELEMENT_PICTURE, 3, 3, NULL, NULL};
    assert_int_equal(crn_morphology(context, &element, &in, &out), -EINVAL);
    assert_says("params.element.members is NULL");
    element.element = (crn_element){CRN_ELEMENT_DISK, 3, 3, (const uint8_t[9]){1}, NULL};
    assert_int_equal(crn_morphology(context, &element, &in, &out), -EINVAL);
    assert_says("params.element.members must be NULL but for a picture");
    element.element.shape = CRN_ELEMENT_PICTURE;
    element.element.members = (const uint8_t[9]){0};
    assert_int_equal(crn_morphology(context, &element, &in, &out), -EINVAL);
    assert_says("no member");
    element.element = (crn_element){CRN_ELEMENT_RECT, 1, 1, NULL, (const float[1]){INFINITY}};
    assert_int_equal(crn_morphology(context, &element, &in, &out), -EINVAL);
    assert_says("a height that is not finite");

    crn_convolve_params kernel = {(const float[1]){NAN}, 1, 1, CRN_CONVOLVE_ZERO};
    assert_int_equal(crn_convolve(context, &kernel, &in, &out), -EINVAL);
    assert_says("convolve: params.weights has one that is not finite");
    kernel = (crn_convolve_params){weights, 1 << 12, 1 << 12, CRN_CONVOLVE_ZERO};
    assert_int_equal(crn_convolve(context, &kernel, &in, &out), -EINVAL);
    assert_says("1 to 16384 weights");
    kernel = (crn_convolve_params){NULL, 3, 3, CRN_CONVOLVE_ZERO};
    assert_int_equal(crn_convolve(context, &kernel, &in, &out), -EINVAL);
    assert_says("params.weights is NULL");

    crn_haar_params haar = {.levels = 7};
    assert_int_equal(crn_haar(context, &haar, &in, &out), -EINVAL);
    assert_says("haar: params.levels is 7; for this size it must be 0 to 6");
    haar = (crn_haar_params){.direction = CRN_HAAR_DENOISE, .threshold = -1};
    assert_int_equal(crn_haar(context, &haar, &in, &out), -EINVAL);
    assert_says("params.threshold is -1");

    crn_image u8 = image_of(bytes, CRN_U8, HEIGHT, WIDTH);
    crn_ranklet_params window = {5, 4};
    assert_int_equal(crn_ranklet(context, &window, &u8, &out), -EINVAL);
    assert_says("ranklet: the window is 5 x 4 (width x height); both must be even");
    window.width = 4;
    assert_int_equal(crn_ranklet(context, &window, &u8, &out), -EINVAL);
    assert_says("out is 1 x 33 x 41; it must be 3 x 30 x 38");

    crn_diamond_square_params field = {5, 1, 0.5, 0, 0};
    assert_int_equal(crn_diamond_square(context, &field, &out), -EINVAL);
    assert_says("not within the field of side 33");
    field.exponent = 21;
    assert_int_equal(crn_diamond_square(context, &field, &out), -EINVAL);
    assert_says("params.exponent is 21");
    field = (crn_diamond_square_params){6, 1, NAN, 0, 0};
    assert_int_equal(crn_diamond_square(context, &field, &out), -EINVAL);
    assert_says("params.roughness");
}

/* With a simulated device: what is enqueued on the stream, and what is not. */
static void a_device_context_enqueues_and_returns(void **state)
{
    (void)state;
    const crn_gpu *gpu = crn_fake_gpu(1, false);
    crn_context *on_device = NULL;
    crn_context_settings settings = {
        .backend = CRN_BACKEND_CUDA, .memory = CRN_MEMORY_DEVICE, .device = 1};
    assert_int_equal(crn_context_open_on(gpu, &settings, &on_device), -ENODEV);
    settings.device = 0;
    assert_int_equal(crn_context_open_on(gpu, &settings, &on_device), 0);
    for (int which = 0; which < 4; which++) {
        memset(result, 0, sizeof result);
        memset(expected, 0, sizeof expected);
        run_all(NULL, context, which, expected);
        run_all(NULL, on_device, which, result);
        assert_true(result[WIDTH] == 0 && result[WIDTH + 1] == 0);
        assert_int_equal(crn_gpu_wait(gpu, on_device, INT64_C(60000000000)), 0);
        assert_memory_equal(result, expected, sizeof result);
    }
    crn_context_free(&on_device);
    assert_int_equal(crn_fake_gpu_used.contexts, 0);
}

static void waiting_ends_when_the_results_are_there(void **state)
{
    (void)state;
    crn_context_settings settings = {.backend = CRN_BACKEND_CUDA, .memory = CRN_MEMORY_DEVICE};
    crn_context *on_device = NULL;
    const crn_gpu *gpu = crn_faulty_gpu(crn_fake_gpu(1, false));
    assert_int_equal(crn_context_open_on(gpu, &settings, &on_device), 0);
    run_all(NULL, context, 1, expected);
    assert_int_equal(crn_context_wait(context), 0);
    run_all(NULL, on_device, 1, result);
    assert_int_equal(crn_context_wait(on_device), 0);
    assert_memory_equal(result, expected, sizeof result);
    crn_faulty_gpu_set(CRN_GPU_FAILS_ONCE, 1);
    assert_int_equal(crn_context_wait(on_device), -EIO);
    assert_non_null(strstr(crn_context_error(on_device), "waiting: "));
    assert_int_equal(crn_context_wait(on_device), 0);
    assert_int_equal(crn_context_wait(NULL), -EINVAL);
    crn_context_free(&on_device);
}

static void memory_for_results_is_pinned_on_a_device(void **state)
{
    (void)state;
    crn_context_settings settings = {.backend = CRN_BACKEND_CUDA, .memory = CRN_MEMORY_DEVICE};
    crn_context *on_device = NULL;
    assert_int_equal(crn_context_open_on(crn_fake_gpu(1, false), &settings, &on_device), 0);
    crn_context *const contexts[] = {context, on_device};
    for (int i = 0; i < 2; i++) {
        for (size_t length = 0; length < 200; length += 65) {
            char *memory = crn_pinned_create(contexts[i], length);
            assert_true(memory && (uintptr_t)memory % 64 == 0);
            memset(memory, 1, length);
            assert_int_equal(crn_fake_gpu_used.pinned, i);
            crn_pinned_free(contexts[i], memory);
        }
        crn_pinned_free(contexts[i], NULL);
    }
    assert_null(crn_pinned_create(NULL, 1));
    assert_null(crn_pinned_create(context, SIZE_MAX));
    assert_says("memory");
    assert_int_equal(crn_fake_gpu_used.pinned, 0);
    crn_context_free(&on_device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_backend_on_the_processor_computes_what_it_does_inside),
        cmocka_unit_test(contours_of_a_square_surround_it),
        cmocka_unit_test(the_inverse_of_haar_gives_the_picture_back),
        cmocka_unit_test(settings_that_cannot_be_are_refused),
        cmocka_unit_test(a_missing_device_says_why),
        cmocka_unit_test(nothing_is_done_without_a_context),
        cmocka_unit_test(refused_contours_name_the_argument),
        cmocka_unit_test(doubles_are_for_contours_on_the_cpu),
        cmocka_unit_test(refused_images_are_named),
        cmocka_unit_test(refused_parameters_are_named),
        cmocka_unit_test(a_device_context_enqueues_and_returns),
        cmocka_unit_test(waiting_ends_when_the_results_are_there),
        cmocka_unit_test(memory_for_results_is_pinned_on_a_device),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

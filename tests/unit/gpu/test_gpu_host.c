/* The host operators over a device's operator table: growing contour buffers, lack of memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/gpu/fake_gpu.h"

enum { SIDE = 220, POINTS = 1000000, CONTOURS = 100000 };

static const crn_gpu *gpu;

/* Replaces the library's: a simulated device. */
const crn_gpu *crn_gpu_get(const char **ret_why)
{
    *ret_why = "no test has made one";
    return gpu;
}

static uint8_t picture[SIDE * SIDE];
static crn_point points[POINTS];
static crn_contour contours[CONTOURS];
static const double level = 0.5;
static const crn_contours_params params = {.levels = &level, .border = CRN_BORDER_CLOSED};

/* Every other pixel of every other row: more contours than the initial capacity. */
static crn_image many_dots(void)
{
    for (int i = 0; i < SIDE * SIDE; i++)
        picture[i] = i % SIDE % 2 == 0 && i / SIDE % 2 == 0;
    return crn_image_dense(picture, CRN_U8, CRN_CHW, 1, SIDE, SIDE);
}

static crn_contours room(uint32_t point_capacity, uint32_t contour_capacity)
{
    return (crn_contours){.points = points,
                          .contours = contours,
                          .point_capacity = point_capacity,
                          .contour_capacity = contour_capacity};
}

/* Returns the operators over a fake device, and a context for them. */
static const crn_ops *begin(crn_context **ret_context)
{
    const char *why;
    gpu = crn_fake_gpu(1, false);
    assert_int_equal(crn_context_create(1, ret_context), 0);
    return crn_gpu_ops(&why);
}

/* Freeing the context frees all its device memory. */
static void end(crn_context **context)
{
    crn_context_free(context);
    assert_int_equal(atomic_load(&crn_fake_gpu_used.contexts), 0);
    assert_int_equal(atomic_load(&crn_fake_gpu_used.pinned), 0);
}

static void room_for_contours_grows_with_the_callers(void **state)
{
    (void)state;
    crn_context *context;
    const crn_ops *ops = begin(&context);
    crn_image in = many_dots();
    static const uint32_t rooms[][2] = {{POINTS, CONTOURS}, {0, CONTOURS},     {POINTS, 0}, {0, 0},
                                        {70, CONTOURS},     {POINTS, CONTOURS}};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        if (i == 1) { /* starts again */
            crn_context_free(&context);
            assert_int_equal(crn_context_create(1, &context), 0);
        }
        crn_contours wanted = room(rooms[i][0], rooms[i][1]), out = wanted;
        assert_int_equal(crn_contours_serial(context, &params, &in, &wanted), 0);
        assert_int_equal(ops->contours(context, &params, &in, &out), 0);
        assert_int_equal(out.contour_count, wanted.contour_count);
        assert_int_equal(out.point_count, wanted.point_count);
        assert_int_equal(out.truncated, wanted.truncated);
    }
    end(&context);
}

static void memory_that_is_short_is_asked_for_again(void **state)
{
    (void)state;
    crn_context *context;
    const crn_ops *ops = begin(&context);
    crn_image in = many_dots();
    crn_contours out = room(POINTS, CONTOURS);
    crn_fake_gpu_limit(SIDE * SIDE - 1);
    assert_int_equal(ops->contours(context, &params, &in, &out), -ENOMEM);
    crn_fake_gpu_limit(SIDE * SIDE);
    assert_int_equal(ops->contours(context, &params, &in, &out), 0);
    assert_int_equal(out.contour_count, SIDE * SIDE / 4);
    end(&context);
}

/* Refused before any data is used. */
static void what_serial_refuses_is_refused(void **state)
{
    (void)state;
    crn_context *context;
    const crn_ops *ops = begin(&context);
    crn_image in = many_dots(), flat = in;
    flat.height = 0;
    crn_contours out = room(POINTS, CONTOURS), nowhere = out;
    nowhere.points = NULL;
    struct {
        const crn_contours_params *params;
        const crn_image *in;
        crn_contours *out;
    } cases[] = {{NULL, &in, &out},
                 {&params, NULL, &out},
                 {&params, &flat, &out},
                 {&params, &in, NULL},
                 {&params, &in, &nowhere}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(crn_contours_serial(context, cases[i].params, cases[i].in, cases[i].out),
                         -EINVAL);
        assert_int_equal(ops->contours(context, cases[i].params, cases[i].in, cases[i].out),
                         -EINVAL);
    }
    end(&context);
}

static void errors_are_told_with_their_cure(void **state)
{
    (void)state;
    assert_non_null(strstr(crn_gpu_strerror(-ENOEXEC), "CRN_CUDA_ARCHITECTURES"));
    assert_string_equal(crn_gpu_strerror(-ENOMEM), strerror(ENOMEM));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(room_for_contours_grows_with_the_callers),
        cmocka_unit_test(memory_that_is_short_is_asked_for_again),
        cmocka_unit_test(what_serial_refuses_is_refused),
        cmocka_unit_test(errors_are_told_with_their_cure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

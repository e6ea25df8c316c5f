/* Kernels by name: their weights, and invalid ones. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/kernel/kernel.h"
#include "tests/support/cmocka_prelude.h"

static crn_kernel kernel;
static crn_error error;

static void make(const char *name, int32_t side)
{
    int r = crn_kernel_make(name, (crn_size){side, side}, &kernel, &error);
    if (r < 0)
        fail_msg("%s of size %d: %d, %s", name, side, r, error.text);
    assert_int_equal(kernel.size.width, side);
    assert_int_equal(kernel.size.height, side);
}

static void assert_weights(const char *name, const float *wanted)
{
    make(name, 3);
    for (int i = 0; i < 9; i++)
        if (kernel.weights[i] != wanted[i])
            fail_msg("%s: weight %d is %g, wanted %g", name, i, (double)kernel.weights[i],
                     (double)wanted[i]);
}

static void test_kernels_of_size_3(void **state)
{
    (void)state;
    assert_weights("emboss", (const float[]){-2, -1, 0, -1, 1, 1, 0, 1, 2});
    assert_weights("sharpen", (const float[]){-1, -1, -1, -1, 9, -1, -1, -1, -1});
    assert_weights("edge", (const float[]){-1, -1, -1, -1, 8, -1, -1, -1, -1});
    /* The product of cv2.getDerivKernels(1, 0, 3) and (0, 1, 3). */
    assert_weights("sobel-x", (const float[]){-1, 0, 1, -2, 0, 2, -1, 0, 1});
    assert_weights("sobel-y", (const float[]){-1, -2, -1, 0, 0, 0, 1, 2, 1});
}

static void test_blur_is_the_mean(void **state)
{
    (void)state;
    for (int32_t side = 1; side <= 127; side += 2) {
        make("blur", side);
        for (int32_t i = 0; i < side * side; i++)
            assert_true(kernel.weights[i] == (float)(1.0 / (side * side)));
    }
}

static void test_sharpen_and_edge_grow(void **state)
{
    (void)state;
    for (int32_t side = 1; side <= 127; side += 2) {
        for (int k = 0; k < 2; k++) {
            make(k ? "edge" : "sharpen", side);
            double sum = 0;
            for (int32_t i = 0; i < side * side; i++)
                sum += (double)kernel.weights[i];
            assert_true(sum == 1 - k);
            assert_true(kernel.weights[side * side / 2] == (float)(side * side - k));
        }
    }
}

static void assert_gaussian(int32_t side, const double *line)
{
    make("gaussian", side);
    for (int32_t y = 0; y < side; y++)
        for (int32_t x = 0; x < side; x++) {
            double got = (double)kernel.weights[y * side + x], wanted = line[y] * line[x];
            if (!(fabs(got - wanted) <= wanted * 0x1p-24))
                fail_msg("gaussian %d: weight %d, %d is %.9g, wanted %.17g", side, y, x, got,
                         wanted);
        }
}

/* cv2.getGaussianKernel(side, 0.3 * ((side - 1) / 2 - 1) + 0.8), OpenCV 4.6. (Without a sigma it
 * returns rounded numbers for sides up to 7.) */
static void test_gaussian_is_opencvs(void **state)
{
    (void)state;
    assert_gaussian(1, (const double[]){1});
    assert_gaussian(3,
                    (const double[]){0.2389942656229905, 0.5220114687540189, 0.2389942656229905});
    assert_gaussian(5, (const double[]){0.0707663713315465, 0.24446039891162388, 0.3695464595136592,
                                        0.24446039891162388, 0.0707663713315465});
    assert_gaussian(7,
                    (const double[]){0.028995265131817414, 0.10381835124997368, 0.22317336074208335,
                                     0.28802604575225105, 0.22317336074208335, 0.10381835124997368,
                                     0.028995265131817414});
}

static void test_all_names_are_made(void **state)
{
    (void)state;
    int count = 0;
    for (const char *const *name = crn_kernel_names; *name; name++, count++)
        make(*name, 3);
    assert_int_equal(count, 7);
}

static void assert_refused(const char *name, int32_t width, int32_t height, int code,
                           const char *said)
{
    error.text[0] = '\0';
    kernel.size = (crn_size){77, 77};
    assert_int_equal(crn_kernel_make(name, (crn_size){width, height}, &kernel, &error), code);
    if (!strstr(error.text, said))
        fail_msg("'%s' does not say '%s'", error.text, said);
    assert_int_equal(kernel.size.width, 77);
    assert_int_equal(crn_kernel_make(name, (crn_size){width, height}, &kernel, NULL), code);
}

static void test_refusals_say_why(void **state)
{
    (void)state;
    assert_refused("laplace", 3, 3, -ENOENT, "'laplace'");
    assert_refused("", 3, 3, -ENOENT, "''");
    assert_refused("gaussian", 4, 4, -EINVAL, "4x4");
    assert_refused("gaussian", 3, 5, -EINVAL, "3x5");
    assert_refused("blur", 129, 129, -EINVAL, "127");
    assert_refused("blur", 0, 0, -EINVAL, "0x0");
    assert_refused("edge", -3, -3, -EINVAL, "-3x-3");
    assert_refused("emboss", 5, 5, -EINVAL, "of size 3");
    assert_refused("sobel-x", 3, 1, -EINVAL, "of size 3");
    assert_refused("sobel-y", 1, 1, -EINVAL, "of size 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels_of_size_3),     cmocka_unit_test(test_blur_is_the_mean),
        cmocka_unit_test(test_sharpen_and_edge_grow), cmocka_unit_test(test_gaussian_is_opencvs),
        cmocka_unit_test(test_all_names_are_made),    cmocka_unit_test(test_refusals_say_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

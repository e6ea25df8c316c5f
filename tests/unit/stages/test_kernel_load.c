/* Kernels by name, from text and from pictures; errors name file, line and cure. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stages/kernel/kernel.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/picture_files.h"

static const crn_size five = {5, 5};

static const char *text_file(const char *text)
{
    const char *path = picture_path("kernel.txt");
    picture_save_bytes(path, text, strlen(text));
    return path;
}

static void assert_loads(const char *path, int32_t height, int32_t width, const float *weights)
{
    crn_kernel kernel;
    crn_error error = {0};
    if (crn_kernel_load(path, five, &kernel, &error))
        fail_msg("%s", error.text);
    assert_string_equal(error.text, "");
    assert_int_equal(kernel.size.height, height);
    assert_int_equal(kernel.size.width, width);
    for (int32_t i = 0; i < height * width; i++)
        assert_true(kernel.weights[i] == weights[i]);
}

static void assert_refused(const char *path, int code, const char *wanted)
{
    crn_kernel kernel = {.size = {7, 7}};
    crn_error error = {0};
    int r = crn_kernel_load(path, five, &kernel, &error);
    if (r != code || !strstr(error.text, wanted) || strchr(error.text, '\n'))
        fail_msg("%d: '%s', wanted %d: '%s'", r, error.text, code, wanted);
    assert_int_equal(kernel.size.width, 7);
}

static void a_name_is_a_kernel(void **state)
{
    (void)state;
    crn_kernel kernel;
    crn_error error = {0};
    assert_int_equal(crn_kernel_load("blur", five, &kernel, &error), 0);
    assert_int_equal(kernel.size.width, 5);
    assert_true(kernel.weights[24] == (float)(1 / 25.0));
    assert_refused("sobel-x", -EINVAL, "sobel-x");
    assert_refused("gausian", -ENOENT, "gaussian");
    assert_refused("gausian", -ENOENT, ", and there is no such file");
}

static void rows_of_numbers_are_a_kernel(void **state)
{
    (void)state;
    const float weights[] = {1, -2.5F, 3e-3F, 0, 5, -6};
    assert_loads(text_file("1 -2.5 3e-3\n0 5 -6\n"), 2, 3, weights);
    assert_loads(text_file("# Laplace's\n\n  1,\t-2.5 ,3e-3 # row\r\n\r\n+0, 5.0,-6"), 2, 3,
                 weights);
    assert_loads(text_file("\xef\xbb\xbf"
                           "1,-2.5,.003\n0,5,-6\n"),
                 2, 3, weights);
    assert_loads(text_file("1 , -2.5,\t3e-3\n0 5\t-6 \n"), 2, 3, weights);
    assert_loads(text_file("-2.5"), 1, 1, weights + 1);
}

static void the_largest_is_taken_and_no_larger(void **state)
{
    (void)state;
    char *text = malloc(CRN_KERNEL_TAPS_MAX * 2 + 64);
    float *weights = malloc(CRN_KERNEL_TAPS_MAX * sizeof *weights);
    assert_true(text && weights);
    for (int i = 0; i < CRN_KERNEL_TAPS_MAX; i++) {
        weights[i] = (float)(i % 10);
        text[2 * i] = (char)('0' + i % 10);
        text[2 * i + 1] = i % 128 == 127 ? '\n' : ' ';
    }
    text[2 * CRN_KERNEL_TAPS_MAX] = '\0';
    assert_loads(text_file(text), 128, 128, weights);
    strcpy(text + 2 * CRN_KERNEL_TAPS_MAX, "1 2 3\n");
    assert_refused(text_file(text), -EINVAL, "kernel.txt:129: a kernel has at most 16384 weights");
    free(text);
    free(weights);
}

static void faults_of_text_name_their_line(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", "kernel.txt: has no numbers; a kernel is rows of them"},
        {"# none\n\n", "kernel.txt: has no numbers"},
        {"1 2 3\n\n4 5\n", "kernel.txt:3: has 2 numbers, the rows before have 3; all rows must be "
                           "equally long"},
        {"1 2\n3 4 5\n", "kernel.txt:2: has 3 numbers, the rows before have 2"},
        {"1 2\n3 x4\n", "kernel.txt:2: 'x4' is not a number"},
        {"1;2\n", "kernel.txt:1: '1;2' is not a number; blanks or commas separate numbers"},
        {"0,5;0,25\n", "kernel.txt:1: '5;0' is not a number; blanks or commas separate"},
        {"1 2\n0,5 0,25\n", "kernel.txt:2:2: a decimal comma? blanks separate numbers in this row, "
                            "too; write 0.5 for 0,5, or separate all numbers alike"},
        {"0 1 2,5\n", "kernel.txt:1:6: a decimal comma? blanks separate"},
        {"1\t-0,5\t1\n", "kernel.txt:1:5: a decimal comma? blanks separate"},
        {"1 2, 3\n", "kernel.txt:1:4: a decimal comma? blanks separate"},
        {"0,5, 0,25, 0,5\n", "kernel.txt:1:2: a decimal comma? commas with blanks separate"},
        {"1,,2\n", "kernel.txt:1: '' is not a number"},
        {",1\n", "kernel.txt:1: '' is not a number"},
        {"1,2,\n", "kernel.txt:1: a number is missing behind the last comma"},
        {"1 nan\n", "kernel.txt:1: nan is not finite"},
        {"1\ninf\n", "kernel.txt:2: inf is not finite"},
        {"1e39\n", "kernel.txt:1: 1e39 is not finite, or not within a float's range"},
        {"1 2\n\x01\x02\n", "kernel.txt:2: '  ' is not a number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(text_file(cases[i][0]), -EINVAL, cases[i][1]);
    const char *path = picture_path("kernel.txt");
    picture_save_bytes(path, "1 2\n3\0 4\n", 9);
    assert_refused(path, -EINVAL, "kernel.txt:2: is not text, nor TIFF, nor PNG");
    picture_save_bytes(path, "1", 1);
    assert_int_equal(truncate(path, 5 << 20), 0);
    assert_refused(path, -EINVAL, "kernel.txt: is too large for the text of a kernel (4 MiB)");
    assert_refused("/", -EISDIR, "/: cannot be read: it is a folder, a regular file is needed");
}

static void write_picture(const char *path, crn_type type, int32_t samples, int32_t height,
                          int32_t width, float value)
{
    crn_picture picture = {0};
    crn_error error = {0};
    assert_int_equal(crn_picture_create(type, 1, samples, height, width, &picture), 0);
    for (int32_t i = 0; i < samples * height * width; i++)
        if (type == CRN_F32)
            ((float *)picture.memory)[i] = value + (float)i;
        else
            ((uint8_t *)picture.memory)[i] = (uint8_t)(value + (float)i);
    if (crn_picture_write(path, &picture, &error))
        fail_msg("%s", error.text);
    crn_picture_free(&picture);
}

static void a_picture_is_a_kernel(void **state)
{
    (void)state;
    const char *tiff = picture_path("kernel.tif"), *png = picture_path("kernel.png");
    const float weights[] = {-2.5F, -1.5F, -0.5F, 0.5F, 1.5F, 2.5F}, whole[] = {7, 8, 9};
    write_picture(tiff, CRN_F32, 1, 2, 3, -2.5F);
    assert_loads(tiff, 2, 3, weights);
    write_picture(png, CRN_U8, 1, 3, 1, 7);
    assert_loads(png, 3, 1, whole);
    write_picture(png, CRN_U8, 3, 3, 3, 0);
    assert_refused(png, -EINVAL, "kernel.png: has 3 planes, a kernel has one: save it as grey");
    write_picture(tiff, CRN_U8, 1, 129, 128, 0);
    assert_refused(tiff, -EINVAL, "kernel.tif: is 128x129, a kernel has at most 16384 weights");
    write_picture(tiff, CRN_F32, 1, 2, 3, __builtin_nanf(""));
    assert_refused(tiff, -EINVAL, "kernel.tif: pixel 0,0 is NaN; a kernel's are finite");
    picture_save_bytes(tiff, "II*\0zzzz", 8);
    assert_refused(tiff, -EBADMSG, "kernel.tif: page 1: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_a_kernel),
        cmocka_unit_test(rows_of_numbers_are_a_kernel),
        cmocka_unit_test(the_largest_is_taken_and_no_larger),
        cmocka_unit_test(faults_of_text_name_their_line),
        cmocka_unit_test(a_picture_is_a_kernel),
    };
    return cmocka_run_group_tests(tests, picture_folder_setup, picture_folder_teardown);
}

/* cernita-apply on a device: the same files as with openmp, and the breakdown of the time; without
 * a device, the error message. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/programs/apply_program.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/cuda.h"

static long read_whole(const char *path, char **ret_bytes)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long size = ftell(file);
    rewind(file);
    char *bytes = malloc((size_t)size);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)size, file), size);
    fclose(file);
    *ret_bytes = bytes;
    return size;
}

static void expect_same_file(const char *path, const char *wanted, const char *of)
{
    char *left, *right;
    long left_size = read_whole(path, &left), right_size = read_whole(wanted, &right);
    if (left_size != right_size || memcmp(left, right, (size_t)left_size) != 0)
        fail_msg("%s: cuda writes another file than openmp", of);
    free(left);
    free(right);
}

/* Operators with bit-exact results; convolution with an integer kernel. */
static const struct {
    const char *what, *in, *end;
} works[] = {
    {"contours --level 0.4", "maps.tif", "json"},
    {"contours --level 100 --border closed --orientation high", "color.png", "json"},
    {"morphology --operation open --element disk --size 5", "color.png", "png"},
    {"morphology --operation gradient --element rect --size 4x3", "maps.tif", "tif"},
    {"convolve --kernel sharpen --border reflect", "color.png", "png"},
    {"haar --levels 3", "maps.tif", "tif"},
    {"haar --levels 2 --threshold 0.2", "maps.tif", "tif"},
    {"ranklet --windows 2,8x4", "color.png", "tif"},
    {"ranklet --pyramid", "color.png", "tif"},
    {"diamond-square --exponent 6 --seed 7", "", "tif"},
};

static void a_device_writes_the_same_files(void **state)
{
    (void)state;
    crn_test_cuda_ops();
    crn_picture maps = apply_picture("maps.tif", CRN_F32, 1, 5, false, 31, 47);
    crn_picture color = apply_picture("color.png", CRN_U8, 1, 3, false, 29, 37);
    for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
        char one[16], other[16];
        snprintf(one, sizeof one, "one.%s", works[i].end);
        snprintf(other, sizeof other, "other.%s", works[i].end);
        crn_expect_apply("%s --backend openmp %s %s", works[i].what, works[i].in, one);
        crn_expect_apply("%s --backend cuda %s %s", works[i].what, works[i].in, other);
        expect_same_file(other, one, works[i].what);
    }
    crn_picture_free(&maps);
    crn_picture_free(&color);
}

/* The median in the line that begins with `name`, of three runs. */
static double median_of(const char *name)
{
    char start[64];
    snprintf(start, sizeof start, "%s cold=", name);
    const char *line = strstr(apply_output, start);
    if (!line || (line != apply_output && line[-1] != '\n'))
        fail_msg("no line %s in %s", start, apply_output);
    double cold, median, least, most;
    int runs;
    assert_int_equal(sscanf(line + strlen(name), " cold=%lf median=%lf min=%lf max=%lf n=%d", &cold,
                            &median, &least, &most, &runs),
                     5);
    assert_int_equal(runs, 3);
    assert_true(cold > 0 && 0 < least && least <= median && median <= most);
    return median;
}

static void time_says_what_the_device_did(void **state)
{
    (void)state;
    crn_test_cuda_ops();
    crn_picture color = apply_picture("color.png", CRN_U8, 1, 3, false, 29, 37);
    static const char *const works_timed[] = {
        "morphology --operation erode --element rect --size 3",
        "ranklet --windows 4,2", /* a sum over planes and windows */
    };
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(
            crn_run_apply("%s --backend cuda --time --repeat 3 color.png out.tif", works_timed[i]),
            0);
        median_of("time_ms");
        median_of("kernel_ms");
        median_of("upload_ms");
        median_of("download_ms");
    }
    crn_picture_free(&color);
}

static void only_a_device_has_parts(void **state)
{
    (void)state;
    crn_picture color = apply_picture("color.png", CRN_U8, 1, 3, false, 29, 37);
    assert_int_equal(crn_run_apply("morphology --operation erode --element rect --size 3 --backend "
                                   "openmp --time --repeat 3 color.png out.png"),
                     0);
    median_of("time_ms");
    assert_null(strstr(apply_output, "kernel_ms"));
    assert_int_equal(strchr(apply_output, '\n') - apply_output + 1, strlen(apply_output));
    crn_picture_free(&color);
}

static void without_a_device_it_says_so(void **state)
{
    (void)state;
    const char *why;
    if (crn_gpu_get(&why))
        skip();
    crn_picture color = apply_picture("color.png", CRN_U8, 1, 3, false, 29, 37);
    assert_int_equal(crn_run_apply("haar --levels 1 --backend cuda color.png out.tif"), 1);
    assert_non_null(strstr(apply_output, "--backend cuda: "));
    assert_non_null(strstr(apply_output, why));
    assert_int_equal(strchr(apply_output, '\n') - apply_output + 1, strlen(apply_output));
    assert_null(fopen("out.tif", "rb"));
    crn_picture_free(&color);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_device_writes_the_same_files, apply_setup,
                                        apply_teardown),
        cmocka_unit_test_setup_teardown(time_says_what_the_device_did, apply_setup, apply_teardown),
        cmocka_unit_test_setup_teardown(only_a_device_has_parts, apply_setup, apply_teardown),
        cmocka_unit_test_setup_teardown(without_a_device_it_says_so, apply_setup, apply_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

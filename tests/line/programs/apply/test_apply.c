/* cernita-apply as a program: its files must equal the results of calling the operator directly. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "stages/backend.h"
#include "stages/kernel/element.h"
#include "stages/kernel/kernel.h"
#include "tests/support/programs/apply_program.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/fixture.h"
#include "tests/support/operators/operator_tests.h"

/* Backend options, and the matching operator tables. */
static const struct {
    const char *options;
    crn_backend backend;
} ways[] = {
    {"--backend serial", CRN_BACKEND_SERIAL},
    {"--backend openmp --threads 1", CRN_BACKEND_OPENMP},
    {"--backend openmp --threads 3", CRN_BACKEND_OPENMP},
    {"", CRN_BACKEND_AUTO},
};
#define WAYS (sizeof ways / sizeof *ways)

static const crn_ops *ops_of(size_t way)
{
    const char *why;
    return crn_backend_ops(ways[way].backend, &why);
}

/* The kinds of input files. */
static const struct {
    const char *path;
    crn_type type;
    int32_t pages, samples;
    bool alpha;
} files[] = {
    {"grey.tif", CRN_U8, 1, 1, false},   {"grey.png", CRN_U8, 1, 1, false},
    {"color.png", CRN_U8, 1, 3, false},  {"rgba.png", CRN_U8, 1, 3, true},
    {"rgba.tif", CRN_U8, 1, 3, true},    {"float.tif", CRN_F32, 1, 1, false},
    {"pages.tif", CRN_F32, 5, 1, false}, {"samples.tif", CRN_F32, 1, 12, false},
    {"both.tif", CRN_U8, 2, 3, false},   {"float_rgba.tif", CRN_F32, 1, 3, true},
};
#define FILES (sizeof files / sizeof *files)

static const char *out_like(const char *path)
{
    return strstr(path, ".png") ? "out.png" : "out.tif";
}

/* Allocates a picture of that shape for results. */
static crn_picture shape_of(const crn_picture *picture, crn_type type)
{
    return apply_create(type, picture->pages, picture->samples, picture->image.height,
                        picture->image.width);
}

/* For every kind of file and every backend, the program's result must equal the operator's. The
 * options are used in turn, one per file; alpha must be unchanged. */
static void expect_of_files(const char *const *options, size_t option_count,
                            int (*compute)(const crn_ops *ops, size_t file, const crn_image *in,
                                           crn_image *out))
{
    for (size_t f = 0; f < FILES; f++) {
        crn_picture picture = apply_picture(files[f].path, files[f].type, files[f].pages,
                                            files[f].samples, files[f].alpha, 13, 17);
        crn_picture wanted = shape_of(&picture, files[f].type);
        for (size_t w = 0; w < WAYS; w++) {
            assert_int_equal(compute(ops_of(w), f, &picture.image, &wanted.image), 0);
            wanted.alpha = picture.alpha;
            crn_expect_apply("%s %s %s %s", options[f % option_count], ways[w].options,
                             files[f].path, out_like(files[f].path));
            apply_expect_picture(out_like(files[f].path), &wanted);
        }
        wanted.alpha = (crn_image){0};
        crn_picture_free(&wanted);
        crn_picture_free(&picture);
    }
}

static int open_by_disk(const crn_ops *ops, size_t file, const crn_image *in, crn_image *out)
{
    (void)file;
    static crn_element_loaded loaded;
    crn_error error = {0};
    assert_int_equal(crn_element_load("disk", (crn_size){5, 3}, false, &loaded, &error), 0);
    crn_morphology_params params = {CRN_OPEN, crn_element_of(&loaded)};
    return ops->morphology(operator_contexts[1], &params, in, out);
}

static void morphology_is_the_operators(void **state)
{
    (void)state;
    static const char *const options[] = {"morphology --operation open --element disk --size 5x3"};
    expect_of_files(options, 1, open_by_disk);
}

static void every_operation_has_its_name(void **state)
{
    (void)state;
    static const char *const names[] = {"erode",    "dilate", "open",    "close",
                                        "gradient", "tophat", "blackhat"};
    static const char *const shapes[] = {"rect", "disk", "cross"};
    static crn_element_loaded loaded;
    crn_error error = {0};
    crn_picture picture = apply_picture("in.tif", CRN_U8, 1, 1, false, 20, 30);
    crn_picture wanted = shape_of(&picture, CRN_U8);
    for (int i = 0; i < 7; i++) {
        const char *shape = shapes[i % 3];
        assert_int_equal(crn_element_load(shape, (crn_size){4, 4}, false, &loaded, &error), 0);
        crn_morphology_params params = {(crn_morphology_operation)i, crn_element_of(&loaded)};
        assert_int_equal(
            ops_of(0)->morphology(operator_contexts[1], &params, &picture.image, &wanted.image), 0);
        crn_expect_apply("morphology in.tif --element %s --size 4 --operation %s out.tif", shape,
                         names[i]);
        apply_expect_picture("out.tif", &wanted);
    }
    crn_picture_free(&wanted);
    crn_picture_free(&picture);
}

static void an_element_comes_from_a_picture(void **state)
{
    (void)state;
    static crn_element_loaded loaded;
    crn_error error = {0};
    crn_picture element = apply_picture("element.tif", CRN_U8, 1, 1, false, 3, 4);
    crn_picture picture = apply_picture("in.tif", CRN_U8, 1, 1, false, 20, 30);
    crn_picture wanted = shape_of(&picture, CRN_U8);
    for (int non_flat = 0; non_flat < 2; non_flat++) {
        assert_int_equal(
            crn_element_load("element.tif", (crn_size){0, 0}, non_flat, &loaded, &error), 0);
        crn_morphology_params params = {CRN_DILATE, crn_element_of(&loaded)};
        assert_int_equal(
            ops_of(0)->morphology(operator_contexts[1], &params, &picture.image, &wanted.image), 0);
        crn_expect_apply("morphology --operation dilate --element element.tif %s in.tif out.tif",
                         non_flat ? "--non-flat" : "");
        apply_expect_picture("out.tif", &wanted);
    }
    crn_picture_free(&wanted);
    crn_picture_free(&picture);
    crn_picture_free(&element);
}

static int blur_to_borders(const crn_ops *ops, size_t file, const crn_image *in, crn_image *out)
{
    static crn_kernel kernel;
    crn_error error = {0};
    assert_int_equal(crn_kernel_make("gaussian", (crn_size){5, 5}, &kernel, &error), 0);
    crn_convolve_params params = {kernel.weights, 5, 5, (crn_convolve_border)(file % 4)};
    return ops->convolve(operator_contexts[1], &params, in, out);
}

static void convolution_is_the_operators(void **state)
{
    (void)state;
    static const char *const options[] = {"convolve --kernel gaussian --size 5 --border replicate",
                                          "convolve --kernel gaussian --size 5 --border reflect",
                                          "convolve --kernel gaussian --size 5 --border wrap",
                                          "convolve --kernel gaussian --size 5 --border zero"};
    expect_of_files(options, 4, blur_to_borders);
}

static void a_kernel_comes_from_a_file(void **state)
{
    (void)state;
    apply_write_text("kernel.txt", "0 1 0 # a cross\n1, -4, 1\n0 1 0\n");
    static const float weights[9] = {0, 1, 0, 1, -4, 1, 0, 1, 0};
    crn_picture picture = apply_picture("in.tif", CRN_F32, 1, 1, false, 9, 9);
    crn_picture wanted = shape_of(&picture, CRN_F32);
    crn_convolve_params params = {weights, 3, 3, CRN_CONVOLVE_REPLICATE};
    assert_int_equal(
        ops_of(1)->convolve(operator_contexts[1], &params, &picture.image, &wanted.image), 0);
    crn_expect_apply("convolve --kernel kernel.txt in.tif out.tif");
    apply_expect_picture("out.tif", &wanted);
    crn_picture_free(&wanted);
    crn_picture_free(&picture);
}

/* Computed as f32 with the same values; rounded half to even, saturated. */
static void u16_stays_u16(void **state)
{
    (void)state;
    static crn_kernel kernel;
    crn_error error = {0};
    crn_picture picture = apply_picture("in.tif", CRN_U16, 2, 1, false, 11, 7);
    crn_picture wide = shape_of(&picture, CRN_F32), sums = shape_of(&picture, CRN_F32);
    for (int32_t i = 0; i < 2 * 11 * 7; i++)
        ((float *)wide.image.data)[i] = ((uint16_t *)picture.image.data)[i];
    crn_picture wanted = shape_of(&picture, CRN_U16);

    assert_int_equal(crn_kernel_make("sharpen", (crn_size){3, 3}, &kernel, &error), 0);
    crn_convolve_params params = {kernel.weights, 3, 3, CRN_CONVOLVE_REPLICATE};
    assert_int_equal(ops_of(1)->convolve(operator_contexts[1], &params, &wide.image, &sums.image),
                     0);
    for (int32_t i = 0; i < 2 * 11 * 7; i++) {
        float sum = rintf(((float *)sums.image.data)[i]);
        ((uint16_t *)wanted.image.data)[i] = (uint16_t)fminf(fmaxf(sum, 0), 65535);
    }
    crn_expect_apply("convolve --kernel sharpen in.tif out.tif");
    apply_expect_picture("out.tif", &wanted);

    crn_element element = {CRN_ELEMENT_RECT, 3, 1, NULL, NULL};
    crn_morphology_params erosion = {CRN_ERODE, element};
    assert_int_equal(
        ops_of(1)->morphology(operator_contexts[1], &erosion, &wide.image, &sums.image), 0);
    for (int32_t i = 0; i < 2 * 11 * 7; i++)
        ((uint16_t *)wanted.image.data)[i] = (uint16_t)((float *)sums.image.data)[i];
    crn_expect_apply("morphology --operation erode --element rect --size 3x1 in.tif out.tif");
    apply_expect_picture("out.tif", &wanted);
    crn_picture_free(&wanted);
    crn_picture_free(&wide);
    crn_picture_free(&sums);
    crn_picture_free(&picture);
}

static void haar_is_the_operators(void **state)
{
    (void)state;
    for (size_t f = 0; f < FILES; f++) {
        crn_picture picture = apply_picture(files[f].path, files[f].type, files[f].pages,
                                            files[f].samples, files[f].alpha, 13, 17);
        crn_picture wanted = shape_of(&picture, CRN_F32), back = shape_of(&picture, CRN_F32);
        for (size_t w = 0; w < WAYS; w++) {
            crn_haar_params params = {CRN_HAAR_FORWARD, 3, 0, false};
            assert_int_equal(
                ops_of(w)->haar(operator_contexts[1], &params, &picture.image, &wanted.image), 0);
            crn_expect_apply("haar --levels 3 %s %s out.tif", ways[w].options, files[f].path);
            apply_expect_picture("out.tif", &wanted);

            params.direction = CRN_HAAR_INVERSE;
            assert_int_equal(
                ops_of(w)->haar(operator_contexts[1], &params, &wanted.image, &back.image), 0);
            crn_expect_apply("haar --levels 3 --inverse %s out.tif back.tif", ways[w].options);
            apply_expect_picture("back.tif", &back);

            params.direction = CRN_HAAR_DENOISE;
            params.threshold = 0.25f;
            assert_int_equal(
                ops_of(w)->haar(operator_contexts[1], &params, &picture.image, &back.image), 0);
            crn_expect_apply("haar --levels 3 --threshold 0.25 %s %s out.tif", ways[w].options,
                             files[f].path);
            apply_expect_picture("out.tif", &back);
        }
        crn_picture_free(&back);
        crn_picture_free(&wanted);
        crn_picture_free(&picture);
    }
}

static void haar_as_a_png_is_grey_where_nothing_differs(void **state)
{
    (void)state;
    crn_picture flat = apply_create(CRN_U8, 1, 1, 8, 8);
    ((uint8_t *)flat.image.data)[7 * 8] = 200; /* bottom left: one square differs */
    apply_write("in.png", &flat);
    crn_expect_apply("haar --levels 1 in.png out.png");
    crn_picture out = apply_read("out.png");
    const uint8_t *pixels = out.image.data;
    assert_int_equal(pixels[3 * 8 + 0], 255); /* its average is the largest */
    assert_int_equal(pixels[3 * 8 + 1], 0);
    assert_int_equal(pixels[3 * 8 + 4], 255); /* (c - d) / 2 and so on */
    assert_int_equal(pixels[7 * 8 + 0], 1);
    assert_int_equal(pixels[7 * 8 + 4], 1);
    assert_int_equal(pixels[7 * 8 + 5], 128);
    crn_picture_free(&out);
    /* Without a threshold, denoising returns the picture itself. */
    crn_expect_apply("haar --levels 2 --threshold 0 in.png out.png");
    apply_expect_picture("out.png", &flat);
    crn_picture_free(&flat);
}

static void a_denoised_picture_keeps_its_type_in_a_png(void **state)
{
    (void)state;
    crn_picture picture = apply_picture("in.png", CRN_U16, 1, 1, false, 9, 9);
    crn_expect_apply("haar --levels 1 --threshold 0 in.png out.png");
    apply_expect_picture("out.png", &picture);
    crn_picture_free(&picture);
}

/* Planes larger than one call processes. */
static void large_pages_go_one_by_one(void **state)
{
    (void)state;
    crn_picture picture = apply_picture("in.tif", CRN_U8, 3, 1, false, 1000, 2100);
    crn_expect_apply("morphology --operation erode --element rect --size 1 in.tif out.tif");
    apply_expect_picture("out.tif", &picture);
    crn_picture_free(&picture);
}

static void a_picture_may_replace_itself(void **state)
{
    (void)state;
    crn_picture picture = apply_picture("same.tif", CRN_F32, 3, 1, false, 6, 6);
    crn_picture wanted = shape_of(&picture, CRN_F32);
    crn_haar_params params = {CRN_HAAR_FORWARD, 2, 0, false};
    assert_int_equal(ops_of(0)->haar(operator_contexts[1], &params, &picture.image, &wanted.image),
                     0);
    crn_expect_apply("haar --levels 2 same.tif same.tif");
    apply_expect_picture("same.tif", &wanted);
    crn_picture_free(&wanted);
    crn_picture_free(&picture);
}

/* A PNG cannot hold f32: the mapping is reported. */
static void f32_in_a_png_is_mapped_and_said(void **state)
{
    (void)state;
    crn_picture picture = apply_create(CRN_F32, 1, 1, 1, 3);
    memcpy(picture.image.data, (const float[]){-2, 0, 2}, 3 * sizeof(float));
    apply_write("in.tif", &picture);
    assert_int_equal(
        crn_run_apply("morphology --operation erode --element rect --size 1 in.tif out.png"), 0);
    assert_string_equal(apply_output, "cernita-apply morphology: out.png: -2 to 2 became 0 to 255; "
                                      "a .tif keeps the numbers\n");
    crn_picture out = apply_read("out.png");
    assert_memory_equal(out.image.data, ((const uint8_t[]){0, 128, 255}), 3);
    crn_picture_free(&out);
    crn_picture_free(&picture);
}

static void diamond_square_is_the_operators(void **state)
{
    (void)state;
    for (size_t w = 0; w < WAYS; w++)
        for (int is_f32 = 0; is_f32 < 2; is_f32++) {
            crn_picture wanted = apply_create(is_f32 ? CRN_F32 : CRN_U8, 1, 1, 129, 129);
            crn_diamond_square_params params = {7, 0x123456789abcdef, 0.75, 0, 0};
            assert_int_equal(
                ops_of(w)->diamond_square(operator_contexts[1], &params, &wanted.image), 0);
            crn_expect_apply(
                "diamond-square --exponent 7 --seed 81985529216486895 --roughness 0.75 "
                "%s %s %s",
                is_f32 ? "--type f32" : "", ways[w].options, is_f32 ? "out.tif" : "out.png");
            apply_expect_picture(is_f32 ? "out.tif" : "out.png", &wanted);
            crn_picture_free(&wanted);
        }
}

/* Larger than one band. */
static void a_large_field_has_no_seams(void **state)
{
    (void)state;
    crn_picture wanted = apply_create(CRN_U8, 1, 1, 4097, 4097);
    crn_diamond_square_params params = {12, 3, 0.5, 0, 0};
    assert_int_equal(ops_of(1)->diamond_square(operator_contexts[1], &params, &wanted.image), 0);
    crn_expect_apply("diamond-square --exponent 12 --seed 3 out.tif");
    apply_expect_picture("out.tif", &wanted);
    crn_picture_free(&wanted);
}

/* Valid but suspicious options print one notice and still give the result. */
static void what_was_probably_not_meant_is_said(void **state)
{
    (void)state;
    crn_picture pictures[] = {apply_picture("u8.png", CRN_U8, 1, 1, false, 9, 9),
                              apply_picture("u16.png", CRN_U16, 1, 1, false, 9, 9),
                              apply_picture("f32.tif", CRN_F32, 1, 1, false, 9, 9),
                              apply_create(CRN_U8, 1, 1, 9, 9)};
    ((uint8_t *)pictures[3].image.data)[40] = 1;
    apply_write("mask.png", &pictures[3]);
    apply_write_text("edge.txt", "0 -1 0\n-1 4 -1\n0 -1 0\n");
    static const struct {
        const char *command, *said;
    } cases[] = {
        {"contours --level 0.5 u8.png out.json",
         "cernita-apply contours: u8.png: --level 0.5 is in the picture's own values, 0 to "
         "255 in u8; 127.5 is the middle\n"},
        {"contours --level 0.5 u16.png out.json", "0 to 65535 in u16; 32767.5 is the middle"},
        {"contours --level 1 u8.png out.json", NULL},
        {"contours --level 0 u8.png out.json", NULL},
        {"contours --level 0.5 f32.tif out.json", NULL},
        {"contours --level 0.5 mask.png out.json", NULL},
        {"convolve --kernel sobel-x u8.png out.png",
         "cernita-apply convolve: u8.png: is u8, which has no negative values: the negative "
         "results of --kernel sobel-x become 0; a .tif of f32 keeps them\n"},
        {"convolve --kernel sobel-y u16.png out.png", "u16.png: is u16, which has no negative"},
        {"convolve --kernel edge u8.png out.png", "no negative values"},
        {"convolve --kernel edge.txt u8.png out.png", "--kernel edge.txt become 0"},
        {"convolve --kernel sobel-x f32.tif out.tif", NULL},
        {"convolve --kernel sharpen u8.png out.png", NULL},
        {"convolve --kernel emboss u8.png out.png", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(crn_run_apply("%s", cases[i].command), 0);
        if (!cases[i].said)
            assert_string_equal(apply_output, "");
        else if (!strstr(apply_output, cases[i].said))
            fail_msg("%s: %s", cases[i].command, apply_output);
    }
    for (int i = 0; i < 4; i++)
        crn_picture_free(&pictures[i]);
}

static void times_are_a_line(void **state)
{
    (void)state;
    crn_picture picture = apply_picture("in.tif", CRN_F32, 1, 1, false, 40, 40);
    crn_picture_free(&picture);
    assert_int_equal(crn_run_apply("haar --levels 2 --time --repeat 5 in.tif out.tif"), 0);
    double cold, median, least, most;
    int runs, length = 0;
    assert_int_equal(sscanf(apply_output, "time_ms cold=%lf median=%lf min=%lf max=%lf n=%d%n",
                            &cold, &median, &least, &most, &runs, &length),
                     5);
    assert_string_equal(apply_output + length, "\n");
    assert_true(cold > 0 && 0 < least && least <= median && median <= most);
    assert_int_equal(runs, 5);
    assert_int_equal(crn_run_apply("haar --levels 2 --time in.tif out.tif"), 0);
    assert_int_equal(sscanf(apply_output, "time_ms cold=%lf%n", &cold, &length), 1);
    assert_string_equal(apply_output + length, "\n"); /* no warm run */
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(morphology_is_the_operators),
        cmocka_unit_test(every_operation_has_its_name),
        cmocka_unit_test(an_element_comes_from_a_picture),
        cmocka_unit_test(convolution_is_the_operators),
        cmocka_unit_test(a_kernel_comes_from_a_file),
        cmocka_unit_test(u16_stays_u16),
        cmocka_unit_test(haar_is_the_operators),
        cmocka_unit_test(haar_as_a_png_is_grey_where_nothing_differs),
        cmocka_unit_test(a_denoised_picture_keeps_its_type_in_a_png),
        cmocka_unit_test(large_pages_go_one_by_one),
        cmocka_unit_test(a_large_field_has_no_seams),
        cmocka_unit_test(a_picture_may_replace_itself),
        cmocka_unit_test(f32_in_a_png_is_mapped_and_said),
        cmocka_unit_test(diamond_square_is_the_operators),
        cmocka_unit_test(what_was_probably_not_meant_is_said),
        cmocka_unit_test(times_are_a_line),
    };
    CRN_SET_FIXTURE(tests, apply_setup, apply_teardown);
    return cmocka_run_group_tests(tests, operators_set_up, operators_tear_down);
}

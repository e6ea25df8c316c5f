/* JPEG: grey and colour are read, all else is refused in one line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Needs <stdio.h>. */
#include <jpeglib.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/picture_files.h"

#define WIDTH  50
#define HEIGHT 33

typedef struct jpeg_making {
    J_COLOR_SPACE space;
    int samples;
    bool progressive, arithmetic;
} jpeg_making;

/* A flat left half and another right half, in 8 x 8 blocks that hold one value each. */
static unsigned char value(int sample, int x)
{
    static const unsigned char left[] = {200, 40, 90, 10}, right[] = {20, 160, 90, 10};
    return x < 24 ? left[sample] : right[sample];
}

/* Writes such a file; returns its size. */
static size_t make(const char *path, const jpeg_making *making)
{
    struct jpeg_compress_struct encoder;
    struct jpeg_error_mgr errors;
    unsigned char row[WIDTH * 4];
    JSAMPROW rows = row;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (int i = 0; i < WIDTH * making->samples; i++)
        row[i] = value(i % making->samples, i / making->samples);
    encoder.err = jpeg_std_error(&errors);
    jpeg_create_compress(&encoder);
    jpeg_stdio_dest(&encoder, file);
    encoder.image_width = WIDTH;
    encoder.image_height = HEIGHT;
    encoder.input_components = making->samples;
    encoder.in_color_space = making->space;
    jpeg_set_defaults(&encoder);
    jpeg_set_quality(&encoder, 100, TRUE);
    encoder.comp_info[0].h_samp_factor = encoder.comp_info[0].v_samp_factor = 1;
    encoder.arith_code = making->arithmetic;
    if (making->progressive)
        jpeg_simple_progression(&encoder);
    jpeg_start_compress(&encoder, TRUE);
    while (encoder.next_scanline < HEIGHT)
        jpeg_write_scanlines(&encoder, &rows, 1);
    jpeg_finish_compress(&encoder);
    jpeg_destroy_compress(&encoder);
    long size = ftell(file);
    assert_int_equal(fclose(file), 0);
    return (size_t)size;
}

static void expect_pixels(const char *path, int samples)
{
    crn_picture picture;
    crn_error error = {0};
    if (crn_picture_read(path, &picture, &error) < 0)
        fail_msg("%s", error.text);
    assert_int_equal(picture.image.type, CRN_U8);
    assert_int_equal(picture.samples, samples);
    assert_int_equal(picture.pages, 1);
    assert_int_equal(picture.image.width, WIDTH);
    assert_int_equal(picture.image.height, HEIGHT);
    assert_null(picture.alpha.data);
    for (int s = 0; s < samples; s++)
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++) /* conversion to YCbCr and back costs up to 2 */
                assert_in_range((int)crn_image_at(&picture.image, s, y, x) + 2 - value(s, x), 0, 4);
    crn_picture_free(&picture);
    assert_int_equal(crn_picture_probe(path, &picture, &error), 0);
    assert_null(picture.image.data);
    assert_int_equal(picture.image.height, HEIGHT);
}

static void expect_refused(const char *path, int code, const char *wanted)
{
    crn_picture picture;
    crn_error error = {0};
    int r = crn_picture_read(path, &picture, &error);
    if (r != code || !strstr(error.text, wanted) || strchr(error.text, '\n') ||
        strncmp(error.text, path, strlen(path)) != 0)
        fail_msg("%d: '%s', wanted %d: '%s'", r, error.text, code, wanted);
}

static void grey_and_colour_are_read(void **state)
{
    (void)state;
    const char *path = picture_path("a.jpg");
    for (int progressive = 0; progressive < 2; progressive++) {
        make(path, &(jpeg_making){JCS_GRAYSCALE, 1, progressive, false});
        expect_pixels(path, 1);
        make(path, &(jpeg_making){JCS_RGB, 3, progressive, false});
        expect_pixels(path, 3);
    }
}

static void other_kinds_are_refused(void **state)
{
    (void)state;
    const char *path = picture_path("a.jpg");
    make(path, &(jpeg_making){JCS_CMYK, 4, false, false});
    expect_refused(path, -ENOTSUP, "its colours are neither grey nor RGB");
    make(path, &(jpeg_making){JCS_GRAYSCALE, 1, false, true});
    expect_refused(path, -ENOTSUP, "arithmetic coding is not supported");
}

static void what_is_cut_is_refused(void **state)
{
    (void)state;
    const char *path = picture_path("a.jpg");
    size_t size = make(path, &(jpeg_making){JCS_RGB, 3, true, false});
    unsigned char *bytes;
    assert_int_equal(picture_load_bytes(path, &bytes), size);
    for (size_t kept = 3; kept < size; kept += kept < 700 ? 1 : 17) {
        picture_save_bytes(path, bytes, kept);
        expect_refused(path, -EBADMSG, ": ");
    }
    free(bytes);
}

/* A header that claims more than so small a file can hold. */
static void bombs_are_refused_before_memory_is_reserved(void **state)
{
    (void)state;
    const char *path = picture_path("a.jpg");
    size_t size = make(path, &(jpeg_making){JCS_GRAYSCALE, 1, false, false});
    unsigned char *bytes;
    assert_int_equal(picture_load_bytes(path, &bytes), size);
    unsigned char *frame = memmem(bytes, size, "\xff\xc0\x00\x0b\x08", 5);
    assert_non_null(frame);
    memcpy(frame + 5, "\xfd\xe8\xfd\xe8", 4); /* 65000 x 65000 */
    picture_save_bytes(path, bytes, size);
    expect_refused(path, -EBADMSG, "says that it is 65000x65000, which its ");
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grey_and_colour_are_read),
        cmocka_unit_test(other_kinds_are_refused),
        cmocka_unit_test(what_is_cut_is_refused),
        cmocka_unit_test(bombs_are_refused_before_memory_is_reserved),
    };
    return cmocka_run_group_tests(tests, picture_folder_setup, picture_folder_teardown);
}

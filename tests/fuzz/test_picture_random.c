/*
 * Mutated pictures (bytes changed, inserted and deleted, files cut) in every format through the
 * reader, and opened as cernita-workbench does: it ends, with a picture or with one line. CRN_CASES
 * is the number of cases of each format (500 by default), CRN_SEED the first seed (default: the
 * clock).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Needs <stdio.h>. */
#include <jpeglib.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/recorded.h"
#include "tests/support/programs/picture_files.h"
#include "tests/support/random.h"
#include "tools/workbench/tasks/tasks.h"

#define BYTES_MAX 65536
#define WIDTH     40
#define HEIGHT    30

static void make_jpeg(const char *path, bool progressive)
{
    struct jpeg_compress_struct encoder;
    struct jpeg_error_mgr errors;
    unsigned char row[WIDTH * 3];
    JSAMPROW rows = row;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    encoder.err = jpeg_std_error(&errors);
    jpeg_create_compress(&encoder);
    jpeg_stdio_dest(&encoder, file);
    encoder.image_width = WIDTH;
    encoder.image_height = HEIGHT;
    encoder.input_components = 3;
    encoder.in_color_space = JCS_RGB;
    jpeg_set_defaults(&encoder);
    if (progressive)
        jpeg_simple_progression(&encoder);
    jpeg_start_compress(&encoder, TRUE);
    while (encoder.next_scanline < HEIGHT) {
        for (int i = 0; i < WIDTH * 3; i++)
            row[i] = (unsigned char)(i * 5 + (int)encoder.next_scanline * 11);
        jpeg_write_scanlines(&encoder, &rows, 1);
    }
    jpeg_finish_compress(&encoder);
    jpeg_destroy_compress(&encoder);
    assert_int_equal(fclose(file), 0);
}

static void make_npy(const char *path)
{
    static unsigned char bytes[80 + WIDTH * HEIGHT] =
        "\x93NUMPY\1\0\x46\0{'descr': '|u1', 'fortran_order': False, 'shape': (30, 40), }"
        "          \n";
    picture_save_bytes(path, bytes, 80 + WIDTH * HEIGHT);
}

static void make_tiff(const char *path, const char *mode, int32_t pages, int32_t compression)
{
    picture_make(path, &(picture_making){.mode = mode,
                                         .bits = 16,
                                         .pages = pages,
                                         .samples = 1,
                                         .height = HEIGHT,
                                         .width = WIDTH,
                                         .compression = compression});
}

static void make_png(const char *path)
{
    crn_picture picture;
    crn_error error;
    assert_int_equal(crn_picture_create(CRN_U8, 1, 3, HEIGHT, WIDTH, &picture), 0);
    for (int i = 0; i < WIDTH * HEIGHT * 3; i++)
        ((unsigned char *)picture.memory)[i] = (unsigned char)(i * i);
    assert_int_equal(crn_picture_write(path, &picture, &error), 0);
    crn_picture_free(&picture);
}

static void read_mutated(const char *path, uint64_t seed)
{
    static unsigned char bytes[BYTES_MAX];
    unsigned char *original;
    size_t size = picture_load_bytes(path, &original);
    assert_true(size > 40 && size < BYTES_MAX - 10);
    uint32_t cases = crn_random_cases(500);
    for (uint32_t i = 0; i < cases; i++) {
        crn_random random = {seed + i};
        crn_picture picture;
        crn_picture_facts facts;
        crn_error error = {0};
        memcpy(bytes, original, size);
        picture_save_bytes(path, bytes, crn_random_spoil(&random, bytes, size));
        int r = crn_picture_read(path, &picture, &error);
        if (r < 0 && (!error.text[0] || strchr(error.text, '\n')))
            fail_msg("CRN_SEED=%" PRIu64 " CRN_CASES=1, %s: %d: '%s'", seed + i, path, r,
                     error.text);
        if (r == 0)
            crn_picture_free(&picture);
        error.text[0] = '\0';
        r = crn_facts_find(path, true, &facts, &error);
        if (r < 0 && (!error.text[0] || strchr(error.text, '\n')))
            fail_msg("CRN_SEED=%" PRIu64 " CRN_CASES=1, %s opened: %d: '%s'", seed + i, path, r,
                     error.text);
    }
    free(original);
}

static void mutated_pictures_do_no_harm(void **state)
{
    (void)state;
    uint64_t seed = crn_random_seed();
    const char *jpeg = picture_path("a.jpg"), *npy = picture_path("a.npy");
    const char *png = picture_path("a.png"), *tiff = picture_path("a.tif");
    make_jpeg(jpeg, false);
    read_mutated(jpeg, seed);
    make_jpeg(jpeg, true);
    read_mutated(jpeg, seed);
    make_npy(npy);
    read_mutated(npy, seed);
    make_png(png);
    read_mutated(png, seed);
    make_tiff(tiff, "wl", 1, 0);
    read_mutated(tiff, seed);
    make_tiff(tiff, "w8", 3, 8);
    read_mutated(tiff, seed);
}

/* What only the workbench takes: recordings, and kernels as text. */
static void mutated_recordings_and_kernels_do_no_harm(void **state)
{
    uint64_t seed = crn_random_seed();
    const char *kernel = picture_path("a.txt");
    static const char text[] =
        "# edge\n-1 -1 -1.5, 0\n-1\t8 -1 0.25\n-1 -1 -1e-3 7\n0 0 0 0 # end\n";
    picture_save_bytes(kernel, text, strlen(text));
    read_mutated(kernel, seed);
    assert_int_equal(recorded_setup(state), 0);
    recorded_write_small(3);
    read_mutated(recorded_path, seed);
    assert_int_equal(recorded_teardown(state), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(mutated_pictures_do_no_harm),
                                       cmocka_unit_test(mutated_recordings_and_kernels_do_no_harm)};
    return cmocka_run_group_tests(tests, picture_folder_setup, picture_folder_teardown);
}

/* All varieties of PNG are read as the same planes. */
#include <errno.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/picture_files.h"

#define WIDTH   23
#define HEIGHT  17
#define COLOURS 256

typedef struct making {
    int bits, colours, interlace;
    bool transparent;
} making;

/* The file's sample; an index must be in the palette. */
static uint32_t sample_at(const making *m, int32_t s, int32_t y, int32_t x)
{
    return picture_value(m->bits, 0, s, y, x);
}

static int32_t samples_of(const making *m)
{
    return (m->colours == PNG_COLOR_TYPE_PALETTE ? 1
            : m->colours & PNG_COLOR_MASK_COLOR  ? 3
                                                 : 1) +
           (m->colours & PNG_COLOR_MASK_ALPHA ? 1 : 0);
}

static uint8_t colour_of(int channel, uint32_t index)
{
    return (uint8_t)picture_value(8, 1, channel, 0, (int32_t)index);
}

static void set_tables(png_structp png, png_infop info, const making *m)
{
    png_color palette[COLOURS];
    png_byte alphas[COLOURS];
    int count = 1 << m->bits;
    if (m->colours == PNG_COLOR_TYPE_PALETTE) {
        for (int i = 0; i < count; i++) {
            palette[i] = (png_color){colour_of(0, (uint32_t)i), colour_of(1, (uint32_t)i),
                                     colour_of(2, (uint32_t)i)};
            alphas[i] = colour_of(3, (uint32_t)i);
        }
        png_set_PLTE(png, info, palette, count);
        if (m->transparent)
            png_set_tRNS(png, info, alphas, count, NULL);
    } else if (m->transparent) { /* the colour of the first pixel is the transparent one */
        png_color_16 key = {.gray = (png_uint_16)sample_at(m, 0, 0, 0),
                            .red = (png_uint_16)sample_at(m, 0, 0, 0),
                            .green = (png_uint_16)sample_at(m, 1, 0, 0),
                            .blue = (png_uint_16)sample_at(m, 2, 0, 0)};
        png_set_tRNS(png, info, NULL, 0, &key);
    }
}

static void make(const char *path, const making *m)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_init_io(png, file);
    png_set_IHDR(png, info, WIDTH, HEIGHT, m->bits, m->colours, m->interlace,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    set_tables(png, info, m);
    png_write_info(png, info);
    int32_t samples = samples_of(m);
    static png_byte rows[HEIGHT][WIDTH * 4 * 2];
    png_bytep pointers[HEIGHT];
    memset(rows, 0, sizeof rows);
    for (int32_t y = 0; y < HEIGHT; y++) {
        pointers[y] = rows[y];
        for (int32_t i = 0; i < WIDTH * samples; i++) {
            uint32_t value = sample_at(m, i % samples, y, i / samples);
            if (m->bits == 16) {
                rows[y][2 * i] = (png_byte)(value >> 8); /* PNG is big-endian */
                rows[y][2 * i + 1] = (png_byte)value;
            } else {
                rows[y][i * m->bits / 8] |= (png_byte)(value << (8 - m->bits - i * m->bits % 8));
            }
        }
    }
    png_write_image(png, pointers);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    assert_int_equal(fclose(file), 0);
}

/* Expected value of sample s (the last one: alpha). */
static uint32_t wanted(const making *m, int32_t s, bool alpha, int32_t y, int32_t x)
{
    uint32_t most = (1U << m->bits) - 1;
    if (m->colours == PNG_COLOR_TYPE_PALETTE)
        return colour_of(alpha ? 3 : s, sample_at(m, 0, y, x));
    if (!alpha || m->colours & PNG_COLOR_MASK_ALPHA) {
        uint32_t value = sample_at(m, s, y, x);
        return m->bits < 8 ? value * 255 / most : value;
    }
    bool same = true; /* equal to the transparent colour */
    for (int32_t i = 0; i < s; i++)
        same = same && sample_at(m, i, y, x) == sample_at(m, i, 0, 0);
    return same ? 0 : m->bits < 8 ? 255 : most;
}

static void check(const making *m)
{
    const char *path = picture_path("made.png");
    make(path, m);
    crn_picture picture = {0}, probed = {0};
    crn_error error = {0};
    if (crn_picture_read(path, &picture, &error))
        fail_msg("%s", error.text);
    bool alpha = m->transparent || m->colours & PNG_COLOR_MASK_ALPHA;
    assert_int_equal(crn_picture_probe(path, &probed, &error), 0);
    assert_null(probed.image.data);
    assert_int_equal(probed.alpha.planes, alpha);
    assert_int_equal(probed.samples, picture.samples);
    assert_int_equal(picture.pages, 1);
    assert_int_equal(picture.samples, m->colours & PNG_COLOR_MASK_COLOR ? 3 : 1);
    assert_int_equal(picture.image.type, m->bits == 16 ? CRN_U16 : CRN_U8);
    assert_int_equal(picture.image.step, picture.samples);
    assert_int_equal(picture.alpha.planes, alpha);
    assert_false(picture.alpha_associated);
    for (int32_t y = 0; y < HEIGHT; y++)
        for (int32_t x = 0; x < WIDTH; x++) {
            for (int32_t s = 0; s < picture.samples; s++)
                assert_int_equal(crn_image_at(&picture.image, s, y, x), wanted(m, s, false, y, x));
            if (alpha)
                assert_int_equal(crn_image_at(&picture.alpha, 0, y, x),
                                 wanted(m, picture.samples, true, y, x));
        }
    crn_picture_free(&picture);
}

static void every_kind_reads_alike(void **state)
{
    (void)state;
    static const struct {
        int colours, least, most;
    } kinds[] = {
        {PNG_COLOR_TYPE_GRAY, 1, 16},      {PNG_COLOR_TYPE_PALETTE, 1, 8},
        {PNG_COLOR_TYPE_RGB, 8, 16},       {PNG_COLOR_TYPE_GRAY_ALPHA, 8, 16},
        {PNG_COLOR_TYPE_RGB_ALPHA, 8, 16},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int bits = kinds[i].least; bits <= kinds[i].most; bits *= 2)
            for (int way = 0; way < 4; way++) {
                making m = {bits, kinds[i].colours,
                            way & 1 ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
                            way & 2 && !(kinds[i].colours & PNG_COLOR_MASK_ALPHA)};
                check(&m);
            }
}

/* Makes a PNG of 1 x 1 that says it has so many frames. */
static void make_animation(const char *path, unsigned char frames)
{
    const unsigned char counts[8] = {0, 0, 0, frames}, row[1] = {7};
    FILE *file = fopen(path, "wb");
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    assert_true(file && png && info);
    png_init_io(png, file);
    png_set_IHDR(png, info, 1, 1, 8, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    png_write_chunk(png, (png_const_bytep) "acTL", counts, sizeof counts);
    png_write_row(png, row);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    assert_int_equal(fclose(file), 0);
}

/* All frames, or none. */
static void an_animation_is_refused(void **state)
{
    (void)state;
    const char *path = picture_path("frames.png");
    crn_picture picture = {0};
    crn_error error = {0};
    make_animation(path, 1);
    assert_int_equal(crn_picture_read(path, &picture, &error), 0);
    assert_int_equal(crn_image_at(&picture.image, 0, 0, 0), 7);
    crn_picture_free(&picture);
    make_animation(path, 3);
    assert_int_equal(crn_picture_probe(path, &picture, &error), -ENOTSUP);
    assert_int_equal(crn_picture_read(path, &picture, &error), -ENOTSUP);
    assert_non_null(strstr(error.text, "frames.png: is an animation of 3 frames"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_reads_alike),
        cmocka_unit_test(an_animation_is_refused),
    };
    return cmocka_run_group_tests(tests, picture_folder_setup, picture_folder_teardown);
}

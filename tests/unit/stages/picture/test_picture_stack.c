/* Stacks whose file has one directory for all images, as ImageJ writes them: all images, or none.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/picture_files.h"

#define HEIGHT 7
#define WIDTH  5

typedef struct stack {
    bool big_endian;
    uint32_t bits, format, samples, strip_rows, photometric, compression,
        gap;            /* bytes between strips */
    uint32_t metamorph; /* images in MetaMorph's tag; 0: none */
    int32_t images;     /* whose pixels are there */
    const char *description;
} stack;

/* --- a file, byte by byte --- */

typedef struct bytes {
    unsigned char at[4096];
    size_t used;
    bool big_endian;
} bytes;

static void put(bytes *b, uint32_t value, size_t count)
{
    assert_true(b->used + count <= sizeof b->at);
    for (size_t i = 0; i < count; i++)
        b->at[b->used + i] = (unsigned char)(value >> 8 * (b->big_endian ? count - 1 - i : i));
    b->used += count;
}

static void put_entry(bytes *b, uint16_t tag, uint16_t type, uint32_t count, uint32_t value)
{
    put(b, tag, 2);
    put(b, type, 2);
    put(b, count, 4);
    put(b, value, type == TIFF_SHORT && count == 1 ? 2 : 4);
    if (type == TIFF_SHORT && count == 1)
        put(b, 0, 2);
}

/* Element k of the image's, as bits. */
static uint32_t element(const stack *s, uint32_t k)
{
    float real = (float)k / 1024;
    uint32_t value;
    memcpy(&value, &real, 4);
    return s->bits == 8 ? k & 255 : s->bits == 16 ? k * 31 & 65535 : value;
}

static void save(const char *path, const stack *s)
{
    static bytes b;
    b = (bytes){.big_endian = s->big_endian};
    enum { ENTRIES = 12, DEPTHS_AT = 10 + 12 * ENTRIES + 4, STRIPS_AT = DEPTHS_AT + 8 };
    uint32_t strips = (HEIGHT + s->strip_rows - 1) / s->strip_rows;
    uint32_t text_at = STRIPS_AT + 8 * strips, row = WIDTH * s->samples * s->bits / 8;
    uint32_t text_bytes = (uint32_t)strlen(s->description) + 1, data_at = text_at + text_bytes;
    put(&b, b.big_endian ? 'M' << 8 | 'M' : 'I' << 8 | 'I', 2);
    put(&b, 42, 2);
    put(&b, 8, 4);
    put(&b, ENTRIES, 2);
    put_entry(&b, 256, TIFF_SHORT, 1, WIDTH);
    put_entry(&b, 257, TIFF_SHORT, 1, HEIGHT);
    put_entry(&b, 258, TIFF_SHORT, s->samples, s->samples > 1 ? DEPTHS_AT : s->bits);
    put_entry(&b, 259, TIFF_SHORT, 1, s->compression ? s->compression : COMPRESSION_NONE);
    put_entry(&b, 262, TIFF_SHORT, 1, s->photometric);
    put_entry(&b, 270, TIFF_ASCII, text_bytes, text_at);
    put_entry(&b, 273, TIFF_LONG, strips, strips > 1 ? STRIPS_AT : data_at);
    put_entry(&b, 277, TIFF_SHORT, 1, s->samples);
    put_entry(&b, 278, TIFF_SHORT, 1, s->strip_rows);
    put_entry(&b, 279, TIFF_LONG, strips, strips > 1 ? STRIPS_AT + 4 * strips : HEIGHT * row);
    put_entry(&b, 339, TIFF_SHORT, 1, s->format ? s->format : SAMPLEFORMAT_UINT);
    put_entry(&b, s->metamorph ? 33629 : 65000, TIFF_RATIONAL, s->metamorph + !s->metamorph,
              data_at);
    put(&b, 0, 4);
    for (int i = 0; i < 4; i++)
        put(&b, s->bits, 2);
    for (uint32_t i = 0; i < strips; i++)
        put(&b, data_at + i * (s->strip_rows * row + s->gap), 4);
    for (uint32_t i = 0; i < strips; i++)
        put(&b, (i + 1 < strips ? s->strip_rows : HEIGHT - i * s->strip_rows) * row, 4);
    for (uint32_t i = 0; i < text_bytes; i++)
        put(&b, (unsigned char)s->description[i], 1);
    for (uint32_t k = 0; k < (uint32_t)s->images * HEIGHT * WIDTH * s->samples; k++)
        put(&b, element(s, k), s->bits / 8);
    picture_save_bytes(path, b.at, b.used);
}

/* --- tests --- */

static float expected(const stack *s, uint32_t k)
{
    uint32_t value = element(s, k);
    float real;
    memcpy(&real, &value, 4);
    if (s->bits == 32)
        return real;
    return (float)(s->photometric ? value : value ^ (s->bits == 8 ? 255 : 65535));
}

static void check_stack(const stack *s)
{
    const char *path = picture_path("stack.tif");
    crn_picture picture = {0}, probed = {0};
    crn_error error = {0};
    save(path, s);
    if (crn_picture_read(path, &picture, &error) || crn_picture_probe(path, &probed, &error))
        fail_msg("%s", error.text);
    assert_int_equal(probed.pages, s->images);
    assert_int_equal(picture.pages, s->images);
    int32_t samples = (int32_t)s->samples;
    assert_int_equal(picture.samples, samples);
    for (int32_t plane = 0; plane < picture.image.planes; plane++)
        for (int32_t y = 0; y < HEIGHT; y++)
            for (int32_t x = 0; x < WIDTH; x++) {
                uint32_t k = (uint32_t)(((plane / samples * HEIGHT + y) * WIDTH + x) * samples +
                                        plane % samples);
                if (crn_image_at(&picture.image, plane, y, x) != expected(s, k))
                    fail_msg("plane %d, %d,%d is %g", plane, x, y,
                             (double)crn_image_at(&picture.image, plane, y, x));
            }
    crn_picture_free(&picture);
}

static void all_images_are_pages(void **state)
{
    (void)state;
    static const struct {
        uint32_t bits, format;
    } types[] = {{8, SAMPLEFORMAT_UINT}, {16, SAMPLEFORMAT_UINT}, {32, SAMPLEFORMAT_IEEEFP}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (uint32_t way = 0; way < 16; way++) {
            stack s = {.big_endian = way & 1,
                       .bits = types[i].bits,
                       .format = types[i].format,
                       .samples = way & 2 ? 3 : 1,
                       .strip_rows = way & 4 ? 2 : HEIGHT,
                       .photometric = way & 2   ? PHOTOMETRIC_RGB
                                      : way & 8 ? PHOTOMETRIC_MINISWHITE
                                                : PHOTOMETRIC_MINISBLACK,
                       .images = 4,
                       .description = "ImageJ=1.53t\nimages=4\nslices=4\nloop=false\n"};
            check_stack(&s);
        }
}

static const stack plain = {.bits = 8,
                            .samples = 1,
                            .strip_rows = HEIGHT,
                            .photometric = PHOTOMETRIC_MINISBLACK,
                            .images = 1,
                            .description = "ImageJ=1.53t\nimages=4\n"};

/* Descriptions that tell of one image, or are not ImageJ's. */
static void other_descriptions_are_one_page(void **state)
{
    (void)state;
    static const char *const texts[] = {"ImageJ=1.53t\nimages=1\n",  "ImageJ=1.53t\nimages=x\n",
                                        "ImageJ=1.53t\nimages=-3\n", "My ImageJ=1\nimages=4\n",
                                        "ImageJ=1.53t\nmax=4\n",     "{\"shape\": [4, 7, 5]}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        stack s = plain;
        s.description = texts[i];
        check_stack(&s);
    }
}

static void assert_refused(const stack *s, int code, const char *wanted)
{
    const char *path = picture_path("stack.tif");
    crn_picture picture;
    crn_error error = {0};
    save(path, s);
    int probed = crn_picture_probe(path, &picture, &error),
        r = crn_picture_read(path, &picture, &error);
    if (probed != code || r != code || !strstr(error.text, wanted) || strchr(error.text, '\n'))
        fail_msg("%d, %d: '%s', wanted %d: '%s'", probed, r, error.text, code, wanted);
}

static void what_cannot_be_read_is_told(void **state)
{
    (void)state;
    stack s = plain;
    assert_refused(&s, -EBADMSG,
                   "stack.tif: its ImageDescription says 4 images, there are pixels for 1; copy "
                   "it again, or, if the others were taken out, remove the description");
    s.description = "ImageJ=1.53t\nimages=9223372036854775807\n";
    assert_refused(&s, -EBADMSG, "says 9223372036854775807 images, there are pixels for 1");
    s = plain;
    s.images = 4;
    s.compression = COMPRESSION_PACKBITS;
    assert_refused(
        &s, -ENOTSUP,
        "page 1 is an ImageJ stack of 4 images with one directory, and it is compressed; "
        "save it uncompressed, or as an image sequence");
    s.compression = 0;
    s.strip_rows = 3;
    s.gap = 1;
    assert_refused(&s, -ENOTSUP, "and its strips do not lie one behind the other; save it");
    s = plain;
    s.images = 4;
    s.metamorph = 4;
    s.description = "";
    assert_refused(&s, -ENOTSUP, "page 1 is a MetaMorph stack, with one directory for all images");
    s = plain;
    s.description = "{\"shape\": [4, 7, 5], \"truncated\": true}";
    assert_refused(&s, -ENOTSUP,
                   "page 1 is a truncated series of tifffile's, with one directory for all images; "
                   "save it with one for each");
}

/* The images of a stack that has a directory for each. */
static void a_page_for_each_is_read_by_them(void **state)
{
    (void)state;
    const char *path = picture_path("pages.tif");
    crn_picture picture = {0}, read = {0};
    crn_error error = {0};
    crn_picture_writer *writer = NULL;
    assert_int_equal(crn_picture_create(CRN_U8, 3, 1, HEIGHT, WIDTH, &picture), 0);
    memset(picture.memory, 9, 3 * HEIGHT * WIDTH);
    assert_int_equal(crn_picture_writer_open(path, 0, &writer, &error), 0);
    assert_int_equal(crn_picture_writer_append(writer, &picture.image, false,
                                               "ImageJ=1.53t\nimages=3\n", &error),
                     0);
    assert_int_equal(crn_picture_writer_finish(writer, &error), 0);
    crn_picture_writer_free(&writer);
    assert_int_equal(crn_picture_read(path, &read, &error), 0);
    assert_int_equal(read.pages, 3);
    assert_int_equal(crn_image_at(&read.image, 2, 6, 4), 9);
    crn_picture_free(&read);
    crn_picture_free(&picture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_images_are_pages),
        cmocka_unit_test(other_descriptions_are_one_page),
        cmocka_unit_test(what_cannot_be_read_is_told),
        cmocka_unit_test(a_page_for_each_is_read_by_them),
    };
    return cmocka_run_group_tests(tests, picture_folder_setup, picture_folder_teardown);
}

/* All varieties of TIFF are read as the same planes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <tiffio.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/picture_files.h"

typedef struct kind {
    int32_t bits, format;
    crn_type type;
} kind;

static const kind kinds[] = {
    {8, 0, CRN_U8},
    {16, SAMPLEFORMAT_UINT, CRN_U16},
    {16, SAMPLEFORMAT_IEEEFP, CRN_F16},
    {32, SAMPLEFORMAT_IEEEFP, CRN_F32},
};

/* Reads the file, and compares with the result of probe. */
static crn_picture read_back(const char *path)
{
    crn_picture picture = {0}, probed = {0};
    crn_error error = {0};
    if (crn_picture_read(path, &picture, &error))
        fail_msg("%s", error.text);
    assert_int_equal(crn_picture_probe(path, &probed, &error), 0);
    assert_null(probed.memory);
    assert_null(probed.alpha_memory);
    probed.memory = probed.image.data = picture.memory;
    probed.alpha_memory = probed.alpha.data = picture.alpha_memory;
    assert_memory_equal(&probed.image, &picture.image, sizeof probed.image);
    assert_memory_equal(&probed.alpha, &picture.alpha, sizeof probed.alpha);
    assert_int_equal(probed.pages, picture.pages);
    assert_int_equal(probed.samples, picture.samples);
    assert_int_equal(probed.alpha_associated, picture.alpha_associated);
    return picture;
}

static void check_making(const picture_making *m, crn_type type)
{
    const char *path = picture_path("made.tif");
    picture_make(path, m);
    crn_picture picture = read_back(path);
    int32_t alpha = m->alpha != 0, samples = m->samples - alpha;
    assert_int_equal(picture.pages, m->pages);
    assert_int_equal(picture.samples, samples);
    assert_int_equal(picture.image.type, type);
    assert_int_equal(picture.image.planes, m->pages * samples);
    assert_int_equal(picture.image.height, m->height);
    assert_int_equal(picture.image.width, m->width);
    bool interleaved = m->pages == 1 && samples > 1;
    assert_int_equal(picture.image.step, interleaved ? samples : 1);
    assert_int_equal(picture.image.plane_stride, interleaved ? 1 : m->height * m->width);
    assert_int_equal(picture.alpha.planes, alpha ? m->pages : 0);
    assert_int_equal(picture.alpha_associated, m->alpha == EXTRASAMPLE_ASSOCALPHA);
    picture_check(&picture, m->bits, m->photometric == PHOTOMETRIC_MINISWHITE && m->bits < 32);
    crn_picture_free(&picture);
    assert_null(picture.memory);
}

/* Strips and tiles, both byte orders, classic and BigTIFF, all numbers of pages and samples. */
static void check_shapes(const kind *k)
{
    static const struct {
        int32_t pages, samples, extras, alpha, photometric;
    } shapes[] = {
        {1, 1, 0, 0, PHOTOMETRIC_MINISBLACK},
        {3, 1, 0, 0, PHOTOMETRIC_MINISBLACK},
        {1, 3, 0, 0, PHOTOMETRIC_RGB},
        {2, 3, 0, 0, PHOTOMETRIC_RGB},
        {1, 2, 1, EXTRASAMPLE_UNASSALPHA, PHOTOMETRIC_MINISBLACK},
        {1, 4, 1, EXTRASAMPLE_ASSOCALPHA, PHOTOMETRIC_RGB},
        {3, 4, 1, EXTRASAMPLE_UNASSALPHA, PHOTOMETRIC_RGB},
        {1, 12, 11, EXTRASAMPLE_UNSPECIFIED, PHOTOMETRIC_MINISBLACK},
    };
    static const picture_making ways[] = {
        {.mode = "wl"},
        {.mode = "wb", .strip_height = 5},
        {.mode = "wl8", .strip_height = 1},
        {.mode = "wb8", .tile_height = 16, .tile_width = 32},
        {.mode = "wl", .tile_height = 64, .tile_width = 64},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
            for (int separate = 0; separate < 2; separate++) {
                picture_making m = ways[w];
                m.bits = k->bits;
                m.format = k->format;
                m.pages = shapes[i].pages;
                m.samples = shapes[i].samples;
                m.extras = shapes[i].extras;
                m.alpha = shapes[i].alpha;
                m.photometric = shapes[i].photometric;
                m.height = 19;
                m.width = 37;
                m.separate = separate;
                check_making(&m, k->type);
            }
}

static void every_type_layout_and_cut_reads_alike(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        check_shapes(&kinds[i]);
}

static void every_compression_reads_alike(void **state)
{
    (void)state;
    static const int32_t compressions[] = {COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE,
                                           COMPRESSION_PACKBITS, COMPRESSION_ZSTD,
                                           COMPRESSION_LZMA};
    int tried = 0;
    for (size_t c = 0; c < sizeof compressions / sizeof *compressions; c++)
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            for (int way = 0; way < 8; way++) {
                picture_making m = {
                    .mode = way & 1 ? "wb" : "wl",
                    .bits = kinds[i].bits,
                    .format = kinds[i].format,
                    .pages = 2,
                    .samples = 3,
                    .height = 19,
                    .width = 37,
                    .photometric = PHOTOMETRIC_RGB,
                    .compression = compressions[c],
                    .tile_height = way & 2 ? 16 : 0,
                    .tile_width = 16,
                    .strip_height = 4,
                };
                /* libtiff 4.5 writes the float predictor incorrectly in the other byte order;
                 * reading it is tested against tifffile. */
                bool real = kinds[i].format == SAMPLEFORMAT_IEEEFP;
                if (way & 4 && compressions[c] != COMPRESSION_PACKBITS && !(real && way & 1))
                    m.predictor = real ? 3 : 2;
                if (!TIFFIsCODECConfigured((uint16_t)compressions[c]))
                    continue;
                check_making(&m, kinds[i].type);
                tried++;
            }
    assert_true(tried >= 3 * 4 * 8);
}

static void few_bits_are_stretched(void **state)
{
    (void)state;
    static const int32_t compressions[] = {COMPRESSION_NONE, COMPRESSION_LZW, COMPRESSION_CCITTFAX4,
                                           COMPRESSION_CCITTFAX3};
    for (int32_t bits = 1; bits <= 8; bits *= 2)
        for (int way = 0; way < 32; way++) {
            picture_making m = {
                .mode = way & 1 ? "wb" : "wl",
                .bits = bits,
                .pages = 2,
                .samples = 1,
                .height = 21,
                .width = 43,
                .photometric = way & 2 ? PHOTOMETRIC_MINISWHITE : PHOTOMETRIC_MINISBLACK,
                .compression = compressions[bits == 1 ? way / 8 % 4 : way / 8 % 2],
                .strip_height = 6,
            };
            if (way & 4)
                m.fill_order = FILLORDER_LSB2MSB;
            else if (way & 16)
                m.tile_height = m.tile_width = 16;
            check_making(&m, CRN_U8);
        }
}

static void the_least_may_be_white(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        picture_making m = {.mode = "wl",
                            .bits = kinds[i].bits,
                            .format = kinds[i].format,
                            .pages = 1,
                            .samples = 2,
                            .extras = 1,
                            .alpha = EXTRASAMPLE_UNASSALPHA,
                            .height = 7,
                            .width = 9,
                            .photometric = PHOTOMETRIC_MINISWHITE};
        if (kinds[i].type == CRN_F16)
            continue; /* picture_check does not know the bits of floats: f32 covers both */
        check_making(&m, kinds[i].type);
    }
}

static void a_palette_becomes_colours(void **state)
{
    (void)state;
    const char *path = picture_path("palette.tif");
    for (int32_t bits = 1; bits <= 8; bits *= 2)
        for (int32_t pages = 1; pages <= 2; pages++) {
            picture_making m = {.mode = "wl",
                                .bits = bits,
                                .pages = pages,
                                .samples = 1,
                                .height = 11,
                                .width = 13,
                                .photometric = PHOTOMETRIC_PALETTE};
            picture_make(path, &m);
            crn_picture picture = read_back(path);
            assert_int_equal(picture.samples, 3);
            assert_int_equal(picture.image.type, CRN_U8);
            for (int32_t i = 0; i < pages * 3 * m.height * m.width; i++) {
                int32_t x = i % m.width, y = i / m.width % m.height;
                int32_t plane = i / m.width / m.height;
                int32_t index = (int32_t)picture_value(bits, plane / 3, 0, y, x);
                uint32_t want = (picture_value(16, 0, plane % 3, 0, index) | 0x100) >> 8;
                assert_int_equal(crn_image_at(&picture.image, plane, y, x), want);
            }
            crn_picture_free(&picture);
        }
}

static void orientation_is_not_looked_at(void **state)
{
    (void)state;
    picture_making m = {.mode = "wl",
                        .bits = 8,
                        .pages = 1,
                        .samples = 1,
                        .height = 5,
                        .width = 7,
                        .photometric = PHOTOMETRIC_MINISBLACK,
                        .orientation = ORIENTATION_BOTRIGHT};
    check_making(&m, CRN_U8);
}

/* JPEG-compressed YCbCr is decoded to approximately the same RGB. */
static void jpeg_comes_as_rgb(void **state)
{
    (void)state;
    if (!TIFFIsCODECConfigured(COMPRESSION_JPEG))
        skip();
    const char *path = picture_path("jpeg.tif");
    TIFF *tiff = TIFFOpen(path, "w");
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, 40);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, 24);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 8);
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 3);
    TIFFSetField(tiff, TIFFTAG_COMPRESSION, COMPRESSION_JPEG);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_YCBCR);
    TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, 16);
    for (uint32_t y = 0; y < 24; y++) {
        unsigned char row[120];
        for (int x = 0; x < 40; x++)
            memcpy(row + 3 * x, (const unsigned char[]){200, 100, 20}, 3);
        assert_int_equal(TIFFWriteScanline(tiff, row, y, 0), 1);
    }
    TIFFClose(tiff);
    crn_picture picture = read_back(path);
    assert_int_equal(picture.samples, 3);
    for (int32_t i = 0; i < 24 * 40; i++) {
        assert_in_range(crn_image_at(&picture.image, 0, i / 40, i % 40), 195, 205);
        assert_in_range(crn_image_at(&picture.image, 1, i / 40, i % 40), 95, 105);
        assert_in_range(crn_image_at(&picture.image, 2, i / 40, i % 40), 15, 25);
    }
    crn_picture_free(&picture);
}

/* A page of 6 x 6, or 3 x 3 if it is a reduced copy, full of that value. */
static void add_page(TIFF *tiff, uint32_t subfile, int photometric, int value)
{
    uint32_t side = subfile & FILETYPE_REDUCEDIMAGE ? 3 : 6;
    unsigned char row[6];
    memset(row, value, sizeof row);
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, side);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, side);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 8);
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, photometric);
    TIFFSetField(tiff, TIFFTAG_SUBFILETYPE, subfile);
    for (uint32_t y = 0; y < side; y++)
        assert_int_equal(TIFFWriteScanline(tiff, row, y, 0), 1);
    TIFFWriteDirectory(tiff);
}

/* Thumbnails, pyramid levels and transparency masks are passed over, wherever they stand: the
 * full-size pages are the picture. What is all that a file has is one, too. */
static void copies_and_masks_are_passed_over(void **state)
{
    (void)state;
    static const struct {
        uint32_t kinds[4];
        int photometric[4], pages, first, last, passed_over;
    } cases[] = {
        {{0, FILETYPE_REDUCEDIMAGE, 0, FILETYPE_REDUCEDIMAGE}, {1, 1, 1, 1}, 2, 1, 3, 2},
        {{0, FILETYPE_MASK, 0, FILETYPE_MASK}, {1, 1, 1, PHOTOMETRIC_MASK}, 2, 1, 3, 2},
        {{0, FILETYPE_MASK | FILETYPE_REDUCEDIMAGE, FILETYPE_PAGE, 0},
         {1, PHOTOMETRIC_MASK, 1, PHOTOMETRIC_MASK},
         2,
         1,
         3,
         2},
        {{FILETYPE_REDUCEDIMAGE, FILETYPE_MASK, 0, 0}, {1, 1, 1, 1}, 2, 3, 4, 2},
        {{FILETYPE_MASK, FILETYPE_REDUCEDIMAGE, FILETYPE_MASK, FILETYPE_MASK},
         {4, 1, 1, 4},
         3,
         1,
         4,
         1},
        {{1, 1, 1, 1}, {1, 1, 1, 1}, 1, 1, 1, 3},
    };
    const char *path = picture_path("reduced.tif");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TIFF *tiff = TIFFOpen(path, "w");
        for (int page = 0; page < 4; page++)
            add_page(tiff, cases[i].kinds[page], cases[i].photometric[page], page + 1);
        TIFFClose(tiff);
        crn_picture picture = read_back(path);
        assert_int_equal(picture.pages, cases[i].pages);
        assert_int_equal(crn_image_at(&picture.image, 0, 2, 2), cases[i].first);
        assert_int_equal(crn_image_at(&picture.image, picture.pages - 1, 2, 2), cases[i].last);
        assert_int_equal(picture.passed_over, cases[i].passed_over);
        crn_picture_free(&picture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_layout_and_cut_reads_alike),
        cmocka_unit_test(every_compression_reads_alike),
        cmocka_unit_test(few_bits_are_stretched),
        cmocka_unit_test(the_least_may_be_white),
        cmocka_unit_test(a_palette_becomes_colours),
        cmocka_unit_test(orientation_is_not_looked_at),
        cmocka_unit_test(jpeg_comes_as_rgb),
        cmocka_unit_test(copies_and_masks_are_passed_over),
    };
    return cmocka_run_group_tests(tests, picture_folder_setup, picture_folder_teardown);
}

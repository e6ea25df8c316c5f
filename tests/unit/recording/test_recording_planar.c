/* Maps as planes: of recordings whose pages lie side by side, of earlier versions', where they do
 * not, and of those with several strips. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <tiffio.h>
#include <unistd.h>

#include "src/formats/recording/format.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/recorded.h"

#define VIEWS 12 /* every type and layout, with and without a photograph */

static crn_recorded_view view_of(uint64_t number)
{
    return recorded_view(number, (crn_type)(CRN_U8 + number % 3),
                         (crn_layout)(CRN_CHW + number / 3 % 2), 5, 19, 31, number / 6 != 0);
}

static void write_views(void)
{
    crn_recording_writer *writer = recorded_create();
    for (uint64_t i = 0; i < VIEWS; i++) {
        crn_recorded_view view = view_of(i);
        recorded_add(writer, &view);
    }
    recorded_finish(writer);
}

/* Copies what libtiff keeps of a page: pixels first, then its directory, and so on. */
static void copy_page(TIFF *from, TIFF *to, uint32_t strips)
{
    static unsigned char pixels[1 << 16];
    uint32_t width, height;
    uint16_t bits, format;
    char *text = NULL;
    TIFFGetField(from, TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(from, TIFFTAG_IMAGELENGTH, &height);
    TIFFGetField(from, TIFFTAG_BITSPERSAMPLE, &bits);
    TIFFGetField(from, TIFFTAG_SAMPLEFORMAT, &format);
    uint32_t rows = (height + strips - 1) / strips, row_bytes = width * bits / 8;
    TIFFSetField(to, TIFFTAG_IMAGEWIDTH, width);
    TIFFSetField(to, TIFFTAG_IMAGELENGTH, height);
    TIFFSetField(to, TIFFTAG_BITSPERSAMPLE, (int)bits);
    TIFFSetField(to, TIFFTAG_SAMPLEFORMAT, (int)format);
    TIFFSetField(to, TIFFTAG_SAMPLESPERPIXEL, 1);
    TIFFSetField(to, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(to, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(to, TIFFTAG_ROWSPERSTRIP, rows);
    if (TIFFGetField(from, TIFFTAG_IMAGEDESCRIPTION, &text))
        TIFFSetField(to, TIFFTAG_IMAGEDESCRIPTION, text);
    tmsize_t bytes = TIFFReadRawStrip(from, 0, pixels, sizeof pixels);
    assert_true(bytes == (tmsize_t)row_bytes * height);
    for (uint32_t i = strips; i-- > 0;) { /* the last one first: they do not follow one another */
        uint32_t begin = i * rows, end = begin + rows < height ? begin + rows : height;
        assert_true(TIFFWriteRawStrip(to, i, pixels + begin * row_bytes,
                                      (tmsize_t)(end - begin) * row_bytes) > 0);
    }
    assert_true(TIFFWriteDirectory(to));
}

static void rewrite(uint32_t strips)
{
    char other[80];
    snprintf(other, sizeof other, "%s.other", recorded_path);
    write_views();
    TIFF *from = TIFFOpen(recorded_path, "r"), *to = TIFFOpen(other, "w8");
    assert_non_null(from);
    assert_non_null(to);
    do
        copy_page(from, to, strips);
    while (TIFFReadDirectory(from));
    TIFFClose(from);
    TIFFClose(to);
    assert_int_equal(rename(other, recorded_path), 0);
}

static void expect_planes(void)
{
    static unsigned char planes[1 << 16];
    crn_recorded_view got;
    crn_error error;
    crn_recording_reader *reader = recorded_open(recorded_path);
    for (uint64_t i = 0; i < VIEWS; i++) {
        crn_recorded_view want = view_of(i);
        const crn_view_header *header = &want.header;
        if (header->layout == CRN_HWC) {
            crn_transpose(want.maps, planes, header->height * header->width, header->channels,
                          crn_type_bytes(header->type));
            want.maps = planes;
            want.header.layout = CRN_CHW;
        }
        assert_int_equal(crn_recording_next_planar(reader, &got, &error), 1);
        recorded_assert_same(&want, &got);
    }
    assert_int_equal(crn_recording_next_planar(reader, &got, &error), 0);
    assert_string_equal(error.text, "");
    crn_recording_end(&reader);
}

static void planes_side_by_side_are_read(void **state)
{
    (void)state;
    write_views();
    expect_planes();
}

static void planes_with_directories_between_are_read(void **state)
{
    (void)state;
    rewrite(1);
    expect_planes();
}

static void planes_in_strips_apart_are_read(void **state)
{
    (void)state;
    rewrite(3);
    expect_planes();
}

/* Offset of the entry of that tag in the directory of a page. */
static uint64_t find_entry(int fd, int page, uint16_t tag)
{
    uint64_t directory, entries;
    assert_int_equal(pread(fd, &directory, 8, 8), 8);
    for (int i = 0; i <= page; i++) {
        assert_int_equal(pread(fd, &entries, 8, (off_t)directory), 8);
        if (i < page)
            assert_int_equal(pread(fd, &directory, 8, (off_t)(directory + 8 + entries * 20)), 8);
    }
    for (uint64_t i = 0; i < entries; i++) {
        uint16_t found;
        assert_int_equal(pread(fd, &found, 2, (off_t)(directory + 8 + i * 20)), 2);
        if (found == tag)
            return directory + 8 + i * 20;
    }
    fail_msg("no such entry");
    return 0;
}

/* A page that differs from those before in more than where its pixels lie is looked at. */
static void each_page_is_checked(void **state)
{
    (void)state;
    static const uint16_t tags[] = {TIFFTAG_IMAGEWIDTH, TIFFTAG_IMAGELENGTH, TIFFTAG_BITSPERSAMPLE,
                                    TIFFTAG_COMPRESSION};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        for (int page = 5; page < 10; page++) { /* of the second view */
            crn_recorded_view got;
            crn_error error;
            char text[32];
            const uint16_t other = 32773;
            write_views();
            int fd = open(recorded_path, O_RDWR);
            assert_int_equal(pwrite(fd, &other, 2, (off_t)find_entry(fd, page, tags[i]) + 12), 2);
            close(fd);
            snprintf(text, sizeof text, ": page %d: ", page);
            crn_recording_reader *reader = recorded_open(recorded_path);
            assert_int_equal(crn_recording_next_planar(reader, &got, &error), 1);
            assert_int_equal(crn_recording_next_planar(reader, &got, &error), -EBADMSG);
            assert_non_null(strstr(error.text, text));
            crn_recording_end(&reader);
        }
}

/* Pixels that lie elsewhere are read from there. */
static void pixels_may_lie_anywhere(void **state)
{
    (void)state;
    crn_recorded_view got;
    crn_error error;
    uint64_t at[2];
    write_views();
    int fd = open(recorded_path, O_RDWR);
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            pread(fd, &at[i], 8, (off_t)find_entry(fd, 2 + i, TIFFTAG_STRIPOFFSETS) + 12), 8);
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            pwrite(fd, &at[!i], 8, (off_t)find_entry(fd, 2 + i, TIFFTAG_STRIPOFFSETS) + 12), 8);
    close(fd);
    crn_recorded_view want = view_of(0);
    size_t bytes = 19 * 31;
    crn_recording_reader *reader = recorded_open(recorded_path);
    assert_int_equal(crn_recording_next_planar(reader, &got, &error), 1);
    assert_memory_equal(got.maps, want.maps, 2 * bytes);
    assert_memory_equal(got.maps + 2 * bytes, want.maps + 3 * bytes, bytes);
    assert_memory_equal(got.maps + 3 * bytes, want.maps + 2 * bytes, bytes);
    assert_memory_equal(got.maps + 4 * bytes, want.maps + 4 * bytes, bytes);
    crn_recording_end(&reader);
}

static void a_file_that_ends_is_told(void **state)
{
    (void)state;
    crn_recorded_view got;
    crn_error error;
    write_views();
    crn_recording_reader *reader = recorded_open(recorded_path);
    assert_int_equal(crn_recording_next_planar(reader, &got, &error), 1);
    /* Others may cut a file that is open. */
    assert_int_equal(truncate(recorded_path, (off_t)crn_recording_tell(reader).offset), 0);
    assert_int_equal(crn_recording_next_planar(reader, &got, &error), 0);
    assert_non_null(strstr(error.text, "ends within view 1 (page 5)"));
    crn_recording_end(&reader);
}

/* What follows the last view is not taken for its. */
static void bytes_behind_the_last_view_are_told(void **state)
{
    (void)state;
    crn_recorded_view got, view = recorded_view(0, CRN_U8, CRN_CHW, 5, 19, 31, false);
    crn_error error;
    crn_recording_writer *writer = recorded_create();
    recorded_add(writer, &view);
    recorded_finish(writer);
    FILE *file = fopen(recorded_path, "ab");
    assert_non_null(file);
    assert_int_equal(fwrite("a view that was never finished", 1, 30, file), 30);
    fclose(file);
    crn_recording_reader *reader = recorded_open(recorded_path);
    assert_int_equal(crn_recording_next_planar(reader, &got, &error), 1);
    assert_int_equal(crn_recording_next_planar(reader, &got, &error), 0);
    assert_non_null(strstr(error.text, "ends with 30 bytes of a view that was never finished"));
    crn_recording_end(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planes_side_by_side_are_read),
        cmocka_unit_test(planes_with_directories_between_are_read),
        cmocka_unit_test(planes_in_strips_apart_are_read),
        cmocka_unit_test(each_page_is_checked),
        cmocka_unit_test(pixels_may_lie_anywhere),
        cmocka_unit_test(bytes_behind_the_last_view_are_told),
        cmocka_unit_test(a_file_that_ends_is_told),
    };
    return cmocka_run_group_tests(tests, recorded_setup, recorded_teardown);
}

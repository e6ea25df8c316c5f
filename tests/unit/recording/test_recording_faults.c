/* Truncated, foreign, inconsistent and damaged recordings give a one-line error and do no harm. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tiffio.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/recorded.h"

/* A kill in the middle of a view leaves bytes that no page refers to. */
static void an_unfinished_last_view_is_told(void **state)
{
    (void)state;
    recorded_write_small(2);
    FILE *file = fopen(recorded_path, "ab");
    assert_int_equal(fwrite("half a view", 1, 11, file), 11);
    fclose(file);
    int end;
    crn_error error;
    assert_int_equal(recorded_read_small(recorded_path, &end, &error), 2);
    assert_int_equal(end, 0);
    assert_non_null(strstr(error.text, recorded_path));
    assert_non_null(strstr(error.text, "11 bytes"));
}

static int count_by_skipping(void)
{
    crn_recording_reader *reader = recorded_open(recorded_path);
    crn_recorded_view view;
    crn_error error;
    int count = 0, r;
    while ((r = crn_recording_skip(reader, &view, &error)) > 0)
        count++;
    assert_int_equal(r, 0);
    assert_non_null(strstr(error.text, recorded_path));
    crn_recording_end(&reader);
    return count;
}

static void a_file_cut_anywhere_gives_its_whole_views(void **state)
{
    (void)state;
    recorded_write_small(1);
    struct stat about;
    assert_int_equal(stat(recorded_path, &about), 0);
    size_t one = (size_t)about.st_size;
    recorded_write_small(2);
    assert_int_equal(stat(recorded_path, &about), 0);
    size_t size = (size_t)about.st_size;
    assert_true(size > one + 100);
    for (size_t cut = size; cut-- > 0;) {
        assert_int_equal(truncate(recorded_path, (off_t)cut), 0);
        crn_error error = {0};
        if (cut < 16) {
            crn_recording_reader *reader = NULL;
            assert_int_equal(crn_recording_open(recorded_path, &reader, &error), -EBADMSG);
            assert_null(reader);
            continue;
        }
        int end;
        assert_int_equal(count_by_skipping(), cut >= one);
        uint64_t got = recorded_read_small(recorded_path, &end, &error);
        assert_int_equal(got, cut >= one);
        assert_int_equal(end, 0);
        assert_non_null(strstr(error.text, recorded_path));
        assert_null(strchr(error.text, '\n'));
    }
}

/* Reads a file with any content to its end; must not crash. */
static void read_anything(void)
{
    crn_error error;
    crn_recording_reader *reader = NULL;
    crn_recorded_view got;
    if (crn_recording_open(recorded_path, &reader, &error))
        return;
    int views = 0;
    int r;
    unsigned sum = 0;
    while ((r = crn_recording_next(reader, &got, &error)) > 0) {
        assert_true(++views <= 2);
        for (uint64_t i = 0; i < got.header.payload_bytes; i++)
            sum += got.maps[i];
    }
    assert_true(sum || r <= 0);
    assert_null(strchr(error.text, '\n'));
    if (r < 0) {
        assert_non_null(strstr(error.text, "page "));
        assert_int_equal(crn_recording_next(reader, &got, &error), r);
    }
    crn_recording_end(&reader);
}

static void any_byte_may_be_wrong(void **state)
{
    (void)state;
    static unsigned char bytes[65536];
    static const unsigned char flips[] = {0x01, 0x80, 0xff};
    recorded_write_small(2);
    size_t size = recorded_load(recorded_path, bytes, sizeof bytes);
    int fd = open(recorded_path, O_WRONLY);
    assert_true(fd >= 0);
    for (size_t i = 0; i < size; i++)
        for (size_t f = 0; f < sizeof flips; f++) {
            unsigned char wrong = bytes[i] ^ flips[f];
            assert_int_equal(pwrite(fd, &wrong, 1, (off_t)i), 1);
            read_anything();
            assert_int_equal(pwrite(fd, &bytes[i], 1, (off_t)i), 1);
        }
    close(fd);
}

/* Replaces text in the file by text of the same length, everywhere. */
static void lie(const char *truth, const char *untruth)
{
    static unsigned char bytes[65536];
    size_t size = recorded_load(recorded_path, bytes, sizeof bytes), length = strlen(truth);
    assert_int_equal(length, strlen(untruth));
    unsigned char *at = memmem(bytes, size, truth, length);
    assert_non_null(at);
    memcpy(at, untruth, length);
    recorded_save(recorded_path, bytes, size);
}

static void lying_json_is_a_fault_with_its_page(void **state)
{
    (void)state;
    static const struct {
        const char *truth, *untruth, *said;
    } lies[] = {
        {"[3, 5, 7]", "[9, 5, 7]", "\"shape\""},
        {"[3, 5, 7]", "[3,-5, 7]", "\"shape\""},
        {"[3, 5, 7]", "\"a shape\"", "\"shape\""},
        {"\"height\": 5", "\"height\": 6", "\"shape\""},
        {"\"u8\"", "\"u9\"", "dtype"},
        {"\"u8\"", "1234", "dtype"},
        {"\"HWC\"", "\"HCW\"", "layout"},
        {"\"flags\": 1", "\"flags\": 2", "flag"},
        {"\"flags\": 1", "\"flags\": 8", "pose"},
        {"\"lane\": 4294967295", "\"lane\": 4294967296", "\"lane\""},
        {"\"view\": 65534", "\"view\": 65.34", "\"view\""},
        {"\"sequence\": 18446744073709551615", "\"sequence\": 18446744073709551616",
         "\"sequence\""},
        {"\"epoch\"", "\"epoxh\"", "\"epoch\""},
        {"{\"shape\"", "[\"shape\"", "JSON"},
        {"\"intensity\": true", "\"intensity\": null", "intensity page"},
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        recorded_write_small(1);
        lie(lies[i].truth, lies[i].untruth);
        crn_recording_reader *reader = recorded_open(recorded_path);
        crn_recorded_view got;
        crn_error error;
        assert_int_equal(crn_recording_next(reader, &got, &error), -EBADMSG);
        if (!strstr(error.text, lies[i].said) || !strstr(error.text, recorded_path) ||
            !strstr(error.text, "page "))
            fail_msg("%s: said %s", lies[i].untruth, error.text);
        crn_recording_end(&reader);
    }
}

static void lying_class_names_are_a_fault(void **state)
{
    (void)state;
    static const char *const lies[] = {"[\"r\", \"s\", 17]", "[\"r\", \"stuvw\"]",
                                       "{\"r\": \"stuvwxy\"}", "[\"r\",\"s\",\"\",\"\"]"};
    static const crn_classes classes = {.count = 3, .name = {"r", "s", "tu"}};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        crn_recording_writer *writer = recorded_create();
        crn_recorded_view view = recorded_small(1), got;
        crn_error error;
        view.header.class_set = 0;
        crn_recording_name_classes(writer, &classes);
        recorded_add(writer, &view);
        recorded_finish(writer);
        char lie_text[32];
        snprintf(lie_text, sizeof lie_text, "%-16s", lies[i]);
        lie("[\"r\", \"s\", \"tu\"]", lie_text);
        crn_recording_reader *reader = recorded_open(recorded_path);
        assert_int_equal(crn_recording_next(reader, &got, &error), -EBADMSG);
        assert_non_null(strstr(error.text, "\"classes\" is not a list of a name per channel"));
        crn_recording_end(&reader);
    }
}

static void a_fault_is_told_again_at_the_next_reading(void **state)
{
    (void)state;
    recorded_write_small(2);
    lie("18446744073709551614", "1844674407370955161.");
    for (int pass = 0; pass < 2; pass++) {
        crn_recording_reader *reader = recorded_open(recorded_path);
        crn_recorded_view got;
        crn_error error;
        assert_int_equal(crn_recording_next(reader, &got, &error), 1);
        assert_int_equal(crn_recording_next(reader, &got, &error), -EBADMSG);
        assert_non_null(strstr(error.text, "page 4:"));
        crn_recording_end(&reader);
    }
}

/* Offset of the link from page `number` to the next. */
static uint64_t find_link(const unsigned char *bytes, int number, uint64_t *ret_directory)
{
    uint64_t link = 8, entries;
    for (int i = 0; i <= number; i++) {
        memcpy(ret_directory, bytes + link, sizeof *ret_directory);
        memcpy(&entries, bytes + *ret_directory, sizeof entries);
        link = *ret_directory + 8 + entries * 20;
    }
    return link;
}

/* Pages 0 to 3 are the first view. A loop must be detected, not followed. */
static void a_loop_of_pages_is_a_fault(void **state)
{
    (void)state;
    static unsigned char bytes[65536];
    for (int from = 0; from < 8; from++)
        for (int to = 0; to <= from; to++) {
            recorded_write_small(2);
            size_t size = recorded_load(recorded_path, bytes, sizeof bytes);
            uint64_t target, own;
            find_link(bytes, to, &target);
            memcpy(bytes + find_link(bytes, from, &own), &target, sizeof target);
            recorded_save(recorded_path, bytes, size);
            crn_recording_reader *reader = recorded_open(recorded_path);
            crn_recorded_view got;
            crn_error error;
            if (from >= 4)
                assert_int_equal(crn_recording_next(reader, &got, &error), 1);
            assert_int_equal(crn_recording_next(reader, &got, &error), -EBADMSG);
            assert_non_null(strstr(error.text, "lies before"));
            crn_recording_end(&reader);
        }
}

/* As in a file with blocks that never reached the disk. */
static void pixels_outside_the_file_end_it(void **state)
{
    (void)state;
    static unsigned char bytes[65536];
    enum { STRIP_OFFSETS = 273, ENTRY_BYTES = 20 };
    recorded_write_small(2);
    size_t size = recorded_load(recorded_path, bytes, sizeof bytes);
    uint64_t directory;
    find_link(bytes, 5, &directory); /* of the second view */
    unsigned char *entry = bytes + directory + 8;
    for (uint16_t tag = 0; memcpy(&tag, entry, sizeof tag), tag != STRIP_OFFSETS;)
        entry += ENTRY_BYTES;
    uint64_t outside = size;
    memcpy(entry + 12, &outside, sizeof outside);
    recorded_save(recorded_path, bytes, size);
    assert_int_equal(count_by_skipping(), 1);
    int end;
    crn_error error;
    assert_int_equal(recorded_read_small(recorded_path, &end, &error), 1);
    assert_int_equal(end, 0);
    assert_non_null(strstr(error.text, "ends within view 1 (page 5)"));
}

/* A TIFF of other pages with a valid view's JSON, and one without JSON. */
static void write_foreign(const char *json, uint32_t width, uint16_t bits, bool tiled)
{
    TIFF *tiff = TIFFOpen(recorded_path, "w8");
    assert_non_null(tiff);
    static unsigned char row[4096];
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, width);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, 5);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, bits);
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    if (json)
        TIFFSetField(tiff, TIFFTAG_IMAGEDESCRIPTION, json);
    if (tiled) {
        TIFFSetField(tiff, TIFFTAG_TILEWIDTH, 16);
        TIFFSetField(tiff, TIFFTAG_TILELENGTH, 16);
        assert_true(TIFFWriteEncodedTile(tiff, 0, row, 256) >= 0);
    } else {
        for (uint32_t y = 0; y < 5; y++)
            assert_true(TIFFWriteScanline(tiff, row, y, 0) >= 0);
    }
    TIFFClose(tiff);
}

#define JSON_START "{\"shape\": [1, 5, 7], \"dtype\": \"u8\", \"layout\": \"CHW\", "
#define JSON_REST                                                                                  \
    "\"sequence\": 1, \"epoch\": 1, \"fruit\": 1, \"captured_ns\": 1, \"deadline_ns\": 0, "        \
    "\"encoder\": 0, \"lane\": 0, \"view\": 0, \"views\": 1, \"height\": 5, \"width\": 7, "        \
    "\"channels\": 1, \"flags\": 0, \"class_set\": 0, \"arrived_ns\": 1}"

static void foreign_pages_are_a_fault(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        uint32_t width;
        uint16_t bits;
        bool tiled;
        const char *said;
    } files[] = {
        {NULL, 7, 8, false, "no ImageDescription"},
        {"a photograph", 7, 8, false, "not JSON"},
        {JSON_START "/* a comment */" JSON_REST, 7, 8, false, "not good JSON"},
        {JSON_START JSON_REST, 8, 8, false, "is 8 x 5"},
        {JSON_START JSON_REST, 7, 16, false, "16 bits"},
        {JSON_START JSON_REST, 7, 8, true, "is tiled or compressed"},
        {JSON_START JSON_REST, 7, 8, false, NULL}, /* one row per strip: valid */
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        write_foreign(files[i].json, files[i].width, files[i].bits, files[i].tiled);
        crn_recording_reader *reader = recorded_open(recorded_path);
        crn_recorded_view got;
        crn_error error;
        int r = crn_recording_next(reader, &got, &error);
        assert_int_equal(r, files[i].said ? -EBADMSG : 1);
        if (files[i].said && !strstr(error.text, files[i].said))
            fail_msg("%s", error.text);
        crn_recording_end(&reader);
    }
}

/* Strips, one per row, that lie in the file from last to first. */
static void strips_may_lie_anywhere(void **state)
{
    (void)state;
    TIFF *tiff = TIFFOpen(recorded_path, "w8");
    assert_non_null(tiff);
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, 7);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, 5);
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, 1);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 8);
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
    TIFFSetField(tiff, TIFFTAG_IMAGEDESCRIPTION, JSON_START JSON_REST);
    for (uint32_t y = 5; y-- > 0;) {
        unsigned char row[7];
        memset(row, (int)y, sizeof row);
        assert_int_equal(TIFFWriteEncodedStrip(tiff, y, row, sizeof row), sizeof row);
    }
    TIFFClose(tiff);
    crn_recording_reader *reader = recorded_open(recorded_path);
    crn_recorded_view got;
    crn_error error;
    assert_int_equal(crn_recording_next(reader, &got, &error), 1);
    for (int at = 0; at < 35; at++)
        assert_int_equal(got.maps[at], at / 7);
    crn_recording_end(&reader);
}

static void what_is_no_recording_is_refused(void **state)
{
    (void)state;
    crn_error error;
    crn_recording_reader *reader = NULL;
    unlink(recorded_path);
    assert_int_equal(crn_recording_open(recorded_path, &reader, &error), -ENOENT);
    assert_non_null(strstr(error.text, recorded_path));
    recorded_save(recorded_path,
                  (const unsigned char *)"fruit: apricot, and more text than a header", 43);
    assert_int_equal(crn_recording_open(recorded_path, &reader, &error), -EBADMSG);
    assert_non_null(strstr(error.text, recorded_path));
    assert_int_equal(crn_recording_open(recorded_folder, &reader, &error), -EISDIR);
    assert_null(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unfinished_last_view_is_told),
        cmocka_unit_test(a_file_cut_anywhere_gives_its_whole_views),
        cmocka_unit_test(any_byte_may_be_wrong),
        cmocka_unit_test(lying_json_is_a_fault_with_its_page),
        cmocka_unit_test(lying_class_names_are_a_fault),
        cmocka_unit_test(a_fault_is_told_again_at_the_next_reading),
        cmocka_unit_test(a_loop_of_pages_is_a_fault),
        cmocka_unit_test(pixels_outside_the_file_end_it),
        cmocka_unit_test(foreign_pages_are_a_fault),
        cmocka_unit_test(strips_may_lie_anywhere),
        cmocka_unit_test(what_is_no_recording_is_refused),
    };
    return cmocka_run_group_tests(tests, recorded_setup, recorded_teardown);
}

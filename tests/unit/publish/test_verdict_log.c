/* The verdict log's files: what is written is read, whatever became of the last record, and no more
 * is kept than configured. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/formats/verdict_log/format.h"
#include "src/formats/verdict_log/reader.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/logged.h"

static size_t file_bytes(const char *path)
{
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    return (size_t)about.st_size;
}

/* Changes one byte of a segment. */
static void damage(uint64_t segment, size_t at)
{
    unsigned char byte;
    int fd = open(logged_path(segment), O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
    close(fd);
}

/* Offset of the record of verdict `number` in a segment that begins with verdict 0. */
static size_t offset_of(uint64_t number)
{
    size_t offset = CRN_VERDICT_LOG_HEADER_BYTES;
    for (uint64_t i = 0; i < number; i++) {
        size_t size;
        logged_verdict(i, &size);
        offset += CRN_VERDICT_RECORD_BYTES + size;
    }
    return offset;
}

/* Writes verdicts 0 up to `count` to one segment. */
static void write_log(uint64_t count)
{
    crn_verdict_writer *writer = logged_writer(UINT64_MAX, 0);
    logged_append(writer, 0, count);
    crn_verdict_writer_close(&writer);
    assert_null(writer);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    write_log(1000);
    assert_int_equal(file_bytes(logged_path(1)), offset_of(1000));
    assert_int_equal(logged_files(), 1);
    logged_expect(0, 1000, 0);
}

/* The bytes as documented; the checksum of "123456789" preceded by size and lane was computed with
 * Python's zlib. */
static void the_bytes_are_as_documented(void **state)
{
    (void)state;
    static const unsigned char record[] = {9,   0,    0,    0,    2,    1,   0,
                                           0,   0xcc, 0xa1, 0x5d, 0x7e, '1', '2',
                                           '3', '4',  '5',  '6',  '7',  '8', '9'};
    unsigned char bytes[64];
    crn_error error;
    crn_verdict_writer *writer = logged_writer(UINT64_MAX, 0);
    assert_int_equal(crn_verdict_writer_append(writer, 258, "123456789", 9, &error), 0);
    crn_verdict_writer_close(&writer);
    char path[128];
    snprintf(path, sizeof path, "%s/cernita-0000000001.verdicts", logged_folder);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, sizeof bytes, file), 16 + sizeof record);
    fclose(file);
    assert_memory_equal(bytes, "CRNV\1\0\20\0", 8);
    assert_memory_equal(bytes + 16, record, sizeof record);
}

/* A verdict larger than a segment gets one of its own. */
static void segments_stay_below_their_size(void **state)
{
    (void)state;
    crn_verdict_writer *writer = logged_writer(2000, 0);
    logged_append(writer, 0, 200);
    crn_verdict_writer_close(&writer);
    int files = logged_files();
    assert_true(files > 100 && files < 200);
    size_t size;
    uint64_t number = 0;
    for (int i = 1; i <= files; i++) {
        size_t bytes = file_bytes(logged_path((uint64_t)i));
        logged_verdict(number, &size);
        assert_true(bytes <= 2000 || bytes == 16 + 12 + size);
        for (size_t left = bytes - 16; left; left -= 12 + size)
            logged_verdict(number++, &size);
    }
    logged_expect(0, 200, 0);
}

static void the_oldest_segments_are_removed(void **state)
{
    (void)state;
    crn_verdict_writer *writer = logged_writer(10000, 35000);
    for (uint64_t i = 0; i < 200; i++) {
        logged_append(writer, i, i + 1);
        crn_verdict_log_files files;
        assert_int_equal(crn_verdict_log_list(logged_folder, &files, NULL), 0);
        assert_true(files.bytes <= 35000);
        crn_verdict_log_files_done(&files);
    }
    const logged_log *log = logged_read();
    assert_true(log->count > 10 && log->count < 30);
    uint64_t first = log->numbers[0];
    logged_expect(first, 200, 0);
    crn_verdict_writer_close(&writer);

    /* Those of earlier runs count, too. */
    writer = logged_writer(10000, 10000);
    logged_append(writer, 200, 201);
    assert_int_equal(logged_files(), 1);
    logged_expect(200, 201, 0);
    crn_verdict_writer_close(&writer);
}

/* The file ends anywhere in the last record: the others are read, and the next run's. */
static void a_torn_record_costs_itself_alone(void **state)
{
    (void)state;
    logged_bytes_max = 60;
    write_log(5);
    size_t last = offset_of(4), end = offset_of(5);
    for (size_t size = end; size-- > last;) {
        assert_int_equal(truncate(logged_path(1), (off_t)size), 0);
        logged_expect(0, 4, size > last);
        crn_verdict_writer *writer = logged_writer(UINT64_MAX, 0);
        logged_append(writer, 4, 7);
        crn_verdict_writer_close(&writer);
        assert_int_equal(file_bytes(logged_path(1)), size);
        logged_expect(0, 7, size > last);
        assert_int_equal(unlink(logged_path(2)), 0);
    }
    for (size_t size = CRN_VERDICT_LOG_HEADER_BYTES + 1; size-- > 0;) {
        assert_int_equal(truncate(logged_path(1), (off_t)size), 0);
        logged_expect(0, 0, 0);
    }
}

/* After a power cut: the size is there, the bytes are not. */
static void zeros_are_no_verdicts(void **state)
{
    (void)state;
    write_log(5);
    size_t end = offset_of(5);
    assert_int_equal(truncate(logged_path(1), (off_t)offset_of(3) + 5), 0);
    assert_int_equal(truncate(logged_path(1), (off_t)end), 0);
    logged_expect(0, 3, 2);
}

static void a_damaged_verdict_is_skipped_alone(void **state)
{
    (void)state;
    write_log(6);
    damage(1, offset_of(3) + 14);
    const logged_log *log = logged_read();
    assert_int_equal(log->notices, 1);
    assert_non_null(strstr(log->notice, "is damaged and was skipped"));
    assert_int_equal(log->count, 5);
    assert_int_equal(log->numbers[2], 2);
    assert_int_equal(log->numbers[3], 4);
    damage(1, offset_of(4) + 5); /* its lane */
    logged_expect(0, 3, 2);
}

/* A size beyond the file's end, or of zero, ends the segment. */
/* The descriptor of an open segment: of the file that has this path. */
static int descriptor_of(const char *path)
{
    struct stat named, open_file;
    assert_int_equal(stat(path, &named), 0);
    for (int fd = 0; fd < 1024; fd++)
        if (fstat(fd, &open_file) == 0 && open_file.st_ino == named.st_ino &&
            open_file.st_dev == named.st_dev)
            return fd;
    fail_msg("%s is not open", path);
    return -1;
}

/* Its descriptor becomes the folder's, so that reads fail with EISDIR. */
static void a_read_that_fails_is_no_damage(void **state)
{
    (void)state;
    write_log(1000);
    crn_verdict_reader *reader;
    crn_logged_verdict verdict;
    crn_error error;
    assert_int_equal(crn_verdict_reader_open(logged_folder, &reader, &error), 0);
    assert_int_equal(crn_verdict_reader_next(reader, &verdict, &error), 1);
    int folder = open(logged_folder, O_RDONLY | O_DIRECTORY);
    assert_true(dup2(folder, descriptor_of(logged_path(1))) >= 0);
    int r = 1;
    while (r > 0)
        r = crn_verdict_reader_next(reader, &verdict, &error);
    assert_int_equal(r, -EISDIR);
    assert_non_null(strstr(error.text, logged_path(1)));
    assert_int_equal(crn_verdict_reader_next(reader, &verdict, &error), 0);
    close(folder);
    crn_verdict_reader_close(&reader);
}

static void a_wrong_size_ends_its_segment(void **state)
{
    (void)state;
    write_log(4);
    crn_verdict_writer *writer = logged_writer(UINT64_MAX, 0);
    logged_append(writer, 2, 4);
    crn_verdict_writer_close(&writer);
    damage(1, offset_of(2) + 2);
    logged_expect(0, 4, 1);
    assert_non_null(
        strstr(logged_read()->notice, "/cernita-0000000001.verdicts: no whole verdict"));
}

/* Not even with the right checksum. */
static void a_verdict_without_bytes_is_none(void **state)
{
    (void)state;
    unsigned char record[CRN_VERDICT_RECORD_BYTES];
    write_log(2);
    FILE *file = fopen(logged_path(1), "a");
    assert_non_null(file);
    crn_verdict_record_pack(record, 0, "", 0);
    assert_int_equal(fwrite(record, 1, sizeof record, file), sizeof record);
    assert_int_equal(fclose(file), 0);
    logged_expect(0, 2, 1);
}

static void files_of_another_format_are_skipped(void **state)
{
    (void)state;
    logged_bytes_max = 60;
    write_log(3);
    for (size_t at = 0; at < 8; at++) {
        damage(1, at);
        logged_expect(0, 0, 1);
        damage(1, at);
    }
    logged_expect(0, 3, 0);
}

static void age(uint64_t number, int64_t days)
{
    struct timespec times[2] = {{.tv_sec = time(NULL) - days * 86400},
                                {.tv_sec = time(NULL) - days * 86400}};
    assert_int_equal(utimensat(AT_FDCWD, logged_path(number), times, 0), 0);
}

/* By age, but never the one in use. */
static void files_that_are_too_old_are_removed(void **state)
{
    (void)state;
    crn_verdict_writer *writer = logged_writer(1, 0);
    logged_append(writer, 0, 4); /* one each */
    crn_verdict_writer_close(&writer);
    for (uint64_t number = 1; number <= 4; number++)
        age(number, 10 - (int64_t)number);
    assert_int_equal(symlink("/nonexistent/victim", logged_path(5)), 0);
    crn_verdict_log_settings settings = {logged_folder, UINT64_MAX, 0,
                                         (int64_t)15 * 86400 / 2 * CRN_NS_PER_S};
    crn_error error;
    assert_int_equal(crn_verdict_writer_open(&settings, &writer, &error), 0);
    assert_int_equal(logged_files(), 5);
    crn_verdict_writer_retain(writer);
    assert_int_equal(crn_verdict_writer_removed(writer), 2); /* of 9 and 8 days */
    logged_append(writer, 4, 6);
    age(6, 100);
    crn_verdict_writer_retain(writer);
    logged_append(writer, 6, 7);
    assert_int_equal(crn_verdict_writer_removed(writer), 2);
    crn_verdict_writer_close(&writer);
    logged_expect(2, 7, 0);
    age(3, 100);
    assert_int_equal(crn_verdict_writer_open(&settings, &writer, &error), 0);
    logged_append(writer, 7, 8); /* a new file also removes */
    assert_int_equal(crn_verdict_writer_removed(writer), 1);
    crn_verdict_writer_close(&writer);
}

/* Names in use, by any kind of file, are left alone; what is not a segment is ignored. */
static void foreign_files_are_left_alone(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(logged_path(3), 0600), 0);
    assert_int_equal(symlink("/nonexistent/victim", logged_path(7)), 0);
    char path[160];
    snprintf(path, sizeof path, "%s/cernita-99.verdicts", logged_folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/cernita-99999999999999999999.verdicts", logged_folder);
    assert_int_equal(mkdir(path, 0700), 0);
    crn_verdict_writer *writer = logged_writer(100, 100);
    logged_append(writer, 0, 3);
    crn_verdict_writer_close(&writer);
    assert_int_equal(logged_files(), 5);
    assert_int_equal(access(logged_path(10), F_OK), 0);
    logged_expect(2, 3, 0);
}

static int open_in(const char *dir, crn_verdict_writer **ret_writer, crn_error *error)
{
    crn_verdict_log_settings settings = {dir, 1, 0, 0};
    return crn_verdict_writer_open(&settings, ret_writer, error);
}

static void a_folder_has_one_writer(void **state)
{
    (void)state;
    crn_verdict_writer *writer = logged_writer(UINT64_MAX, 0), *other = NULL;
    crn_error error;
    assert_int_equal(open_in(logged_folder, &other, &error), -EBUSY);
    assert_null(other);
    assert_non_null(strstr(error.text, ": another program logs there; "));
    crn_verdict_writer_close(&writer);
    writer = logged_writer(UINT64_MAX, 0);
    crn_verdict_writer_close(&writer);
    assert_int_equal(logged_files(), 0);
}

static void a_folder_that_cannot_be_used_is_named(void **state)
{
    (void)state;
    crn_verdict_writer *writer = NULL;
    crn_error error;
    assert_int_equal(open_in("/nonexistent", &writer, &error), -ENOENT);
    assert_non_null(strstr(error.text, "/nonexistent: cannot log verdicts there: it does not "));
    assert_int_equal(open_in("/dev/null", &writer, &error), -ENOTDIR);
    assert_null(writer);
    crn_verdict_writer_close(&writer);
    crn_verdict_reader *reader = NULL;
    assert_int_equal(crn_verdict_reader_open(logged_folder, &reader, &error), -ENOENT);
    assert_non_null(strstr(error.text, ": there is no verdict log (cernita-*.verdicts)"));
    assert_int_equal(crn_verdict_reader_open("/nonexistent", &reader, &error), -ENOENT);
    assert_null(reader);
}

/* By logrotate or by hand: what follows goes to a new segment. */
static void a_segment_that_was_changed_is_left(void **state)
{
    (void)state;
    crn_verdict_writer *writer = logged_writer(UINT64_MAX, 0);
    logged_append(writer, 0, 2);
    assert_int_equal(unlink(logged_path(1)), 0);
    logged_append(writer, 2, 4);
    logged_expect(2, 4, 0);
    assert_int_equal(truncate(logged_path(2), 0), 0);
    logged_append(writer, 4, 6);
    logged_expect(4, 6, 0);
    crn_verdict_writer_close(&writer);
    logged_expect(4, 6, 0);
}

/* Moved away, with its folder or alone, and another file in its place. */
static void a_segment_that_was_moved_is_left(void **state)
{
    (void)state;
    char away[160];
    snprintf(away, sizeof away, "%s/moved", logged_folder);
    crn_verdict_writer *writer = logged_writer(UINT64_MAX, 0);
    logged_append(writer, 0, 2);
    size_t bytes = file_bytes(logged_path(1));
    assert_int_equal(rename(logged_path(1), away), 0);
    assert_int_equal(symlink("/nonexistent/victim", logged_path(1)), 0);
    logged_append(writer, 2, 4);
    crn_verdict_writer_close(&writer);
    logged_expect(2, 4, 0);
    assert_int_equal(file_bytes(away), bytes);
    assert_int_equal(unlink(logged_path(1)), 0);
}

/* Above it there is no name that would be found again. */
static void the_last_number_is_the_last(void **state)
{
    (void)state;
    crn_error error;
    size_t size;
    const unsigned char *bytes = logged_verdict(0, &size);
    assert_int_equal(symlink("/nonexistent/victim", logged_path(CRN_VERDICT_LOG_NUMBER_MAX)), 0);
    crn_verdict_writer *writer = logged_writer(UINT64_MAX, 0);
    assert_int_equal(crn_verdict_writer_append(writer, 1, bytes, size, &error), -EOVERFLOW);
    assert_non_null(strstr(error.text, "/cernita-999999999999999999.verdicts has the last number"));
    crn_verdict_writer_close(&writer);
    assert_int_equal(logged_files(), 1);
}

/* Without its folder nothing can be logged; once it is there again, the log goes on. */
static void a_folder_may_vanish_and_return(void **state)
{
    (void)state;
    crn_verdict_writer *writer = logged_writer(UINT64_MAX, 0);
    logged_append(writer, 0, 2);
    assert_int_equal(unlink(logged_path(1)), 0);
    assert_int_equal(rmdir(logged_folder), 0);
    crn_error error;
    size_t size;
    const unsigned char *bytes = logged_verdict(2, &size);
    assert_int_equal(crn_verdict_writer_append(writer, 1, bytes, size, &error), -ENOENT);
    assert_non_null(strstr(error.text, logged_folder));
    assert_int_equal(mkdir(logged_folder, 0700), 0);
    logged_append(writer, 3, 5);
    crn_verdict_writer_close(&writer);
    logged_expect(3, 5, 0);
}

static void a_verdict_has_a_size(void **state)
{
    (void)state;
    crn_verdict_writer *writer = logged_writer(UINT64_MAX, 0);
    crn_error error;
    size_t too_large = CRN_VERDICT_LOG_VERDICT_MAX + 1;
    assert_int_equal(crn_verdict_writer_append(writer, 0, "", 0, &error), -EMSGSIZE);
    assert_int_equal(crn_verdict_writer_append(writer, 0, "", too_large, &error), -EMSGSIZE);
    logged_append(writer, 0, 1);
    crn_verdict_writer_close(&writer);
    logged_expect(0, 1, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, logged_setup, logged_teardown)

int main(void)
{
    crn_log_set_level(CRN_LOG_ERROR);
    const struct CMUnitTest tests[] = {
        TEST(what_is_written_is_read),
        TEST(the_bytes_are_as_documented),
        TEST(segments_stay_below_their_size),
        TEST(the_oldest_segments_are_removed),
        TEST(a_torn_record_costs_itself_alone),
        TEST(zeros_are_no_verdicts),
        TEST(a_damaged_verdict_is_skipped_alone),
        TEST(a_read_that_fails_is_no_damage),
        TEST(a_wrong_size_ends_its_segment),
        TEST(a_verdict_without_bytes_is_none),
        TEST(files_of_another_format_are_skipped),
        TEST(files_that_are_too_old_are_removed),
        TEST(foreign_files_are_left_alone),
        TEST(a_folder_has_one_writer),
        TEST(a_folder_that_cannot_be_used_is_named),
        TEST(a_segment_that_was_changed_is_left),
        TEST(a_segment_that_was_moved_is_left),
        TEST(the_last_number_is_the_last),
        TEST(a_folder_may_vanish_and_return),
        TEST(a_verdict_has_a_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Segments that an archive does not have yet are kept beyond their age, and never beyond the log's
 * size or the disk's room. */
#include "src/formats/verdict_log/archived.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/free_space.h"
#include "tests/support/line/log_capture.h"
#include "tests/support/parts/logged.h"

#define SEGMENTS 6
#define KEEP_NS  (CRN_NS_PER_S * 3600)

static crn_error error;

/* A log of six segments of a verdict each, all but the last too old; what a writer leaves of it. */
static crn_verdict_writer *open_log(uint64_t keep_bytes)
{
    crn_verdict_writer *writer;
    crn_verdict_log_settings settings = {logged_folder, 1, keep_bytes, KEEP_NS};
    assert_int_equal(crn_verdict_writer_open(&settings, &writer, &error), 0);
    logged_append(writer, 0, SEGMENTS);
    for (uint64_t number = 1; number < SEGMENTS; number++) {
        struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000}};
        assert_int_equal(utimensat(AT_FDCWD, logged_path(number), times, 0), 0);
    }
    return writer;
}

/* The first segment that is left is this one, and all after it. */
static void expect_first(uint64_t first)
{
    for (uint64_t number = 1; number <= SEGMENTS; number++)
        assert_int_equal(access(logged_path(number), F_OK), number < first ? -1 : 0);
}

/* 0: the file does not tell. */
static uint64_t archived_below(void)
{
    uint64_t below;
    int r = crn_verdict_log_get_archived(logged_folder, &below, &error);
    assert_int_equal(r < 0, below == 0);
    return below;
}

static void say_archived(const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/archived", logged_folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void what_is_not_archived_is_kept(void **state)
{
    (void)state;
    crn_verdict_writer *writer = open_log(0);
    assert_int_equal(crn_verdict_log_set_archived(logged_folder, 1, &error), 0);
    crn_verdict_writer_retain(writer);
    expect_first(1);
    for (uint64_t number = 2; number <= SEGMENTS; number++) {
        assert_int_equal(crn_verdict_log_set_archived(logged_folder, number, &error), 0);
        assert_int_equal(archived_below(), number);
        crn_verdict_writer_retain(writer);
        expect_first(number);
    }
    crn_verdict_writer_close(&writer);
}

static void without_an_archive_age_decides(void **state)
{
    (void)state;
    crn_verdict_writer *writer = open_log(0);
    crn_verdict_writer_retain(writer);
    expect_first(SEGMENTS);
    crn_verdict_writer_close(&writer);
}

/* All is kept, with one warning. */
static void expect_kept(void)
{
    static crn_log_capture caught;
    crn_log_set_level(CRN_LOG_WARNING);
    crn_log_capture_start(&caught);
    crn_verdict_writer *writer = open_log(0);
    for (int i = 0; i < 3; i++)
        crn_verdict_writer_retain(writer);
    const char *text = crn_log_capture_stop(&caught);
    crn_log_set_level(CRN_LOG_ERROR);
    expect_first(1);
    const char *warning = strstr(text, "/archived: ");
    assert_non_null(warning);
    assert_non_null(strstr(warning, "no file is removed for its age"));
    assert_null(strstr(warning + 1, "/archived: "));
    crn_verdict_writer_close(&writer);
}

static void what_does_not_tell_keeps_all(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "\n", "0\n", "-1\n", "1", "1 1\n", "0x1\n", "99999999999999999999999999999999\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        say_archived(texts[i]);
        assert_int_equal(archived_below(), 0);
    }
    expect_kept();
}

static void what_cannot_be_read_keeps_all(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/archived", logged_folder);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(archived_below(), 0);
    expect_kept();
}

/* The daemon's user is another one than the archive's. */
static void any_user_may_read_it(void **state)
{
    (void)state;
    char path[128];
    struct stat about;
    mode_t before = umask(077);
    assert_int_equal(crn_verdict_log_set_archived(logged_folder, 1, &error), 0);
    umask(before);
    snprintf(path, sizeof path, "%s/archived", logged_folder);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0644);
}

static void the_size_of_the_log_goes_first(void **state)
{
    (void)state;
    crn_verdict_writer *writer = open_log(0);
    crn_verdict_writer_close(&writer);
    assert_int_equal(crn_verdict_log_set_archived(logged_folder, 1, &error), 0);
    crn_verdict_log_settings settings = {logged_folder, 1, 1, KEEP_NS};
    assert_int_equal(crn_verdict_writer_open(&settings, &writer, &error), 0);
    crn_verdict_writer_retain(writer);
    expect_first(SEGMENTS + 1);
    crn_verdict_writer_close(&writer);
}

static void a_disk_that_is_short_goes_first(void **state)
{
    (void)state;
    crn_verdict_writer *writer = open_log(0);
    assert_int_equal(crn_verdict_log_set_archived(logged_folder, 2, &error), 0);
    atomic_store(&free_bytes, 0);
    size_t size;
    const unsigned char *bytes = logged_verdict(SEGMENTS, &size);
    assert_true(crn_verdict_writer_append(writer, logged_lane(SEGMENTS), bytes, size, &error) < 0);
    atomic_store(&free_bytes, CRN_PLENTY_BYTES);
    expect_first(SEGMENTS);
    crn_verdict_writer_close(&writer);
}

/* Room once two segments and `archived` are left of six. */
static uint64_t room_after_four(void)
{
    return logged_files() > 3 ? 0 : CRN_PLENTY_BYTES;
}

static void a_disk_that_is_short_takes_no_more_than_it_needs(void **state)
{
    (void)state;
    crn_verdict_writer *writer = open_log(0);
    assert_int_equal(crn_verdict_log_set_archived(logged_folder, 2, &error), 0);
    free_bytes_asked = room_after_four;
    size_t size;
    const unsigned char *bytes = logged_verdict(SEGMENTS, &size);
    int r = crn_verdict_writer_append(writer, logged_lane(SEGMENTS), bytes, size, &error);
    free_bytes_asked = NULL;
    assert_int_equal(r, 0);
    expect_first(5);
    crn_verdict_writer_close(&writer);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, logged_setup, logged_teardown)

int main(void)
{
    crn_log_set_level(CRN_LOG_ERROR);
    const struct CMUnitTest tests[] = {
        TEST(what_is_not_archived_is_kept),
        TEST(without_an_archive_age_decides),
        TEST(what_does_not_tell_keeps_all),
        TEST(what_cannot_be_read_keeps_all),
        TEST(any_user_may_read_it),
        TEST(the_size_of_the_log_goes_first),
        TEST(a_disk_that_is_short_goes_first),
        TEST(a_disk_that_is_short_takes_no_more_than_it_needs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

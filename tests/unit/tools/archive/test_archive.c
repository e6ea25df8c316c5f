/* An archive holds each verdict of its log once, whatever state the log is in. CRN_CASES is the
 * number of random logs (20), CRN_SEED the seed. */
#include "tools/archive/import.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/formats/verdict_log/archived.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/archived.h"
#include "tests/support/parts/logged.h"
#include "tools/archive/rows/tables.h"

#define SEGMENT_BYTES 100000
#define ONE_SEGMENT   UINT64_MAX
#define NOBODY        65534

static archived_line line;
static crn_intake_stats stats;
static crn_error error;

static int set_up(void **state)
{
    line = (archived_line){.random = {crn_random_seed()}};
    return archived_setup(state);
}

static void sums_are_those_of_the_log(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < crn_random_cases(20); i++) {
        crn_format format =
            crn_random_below(&line.random, 2) ? CRN_FORMAT_JSON : CRN_FORMAT_MSGPACK;
        uint64_t verdicts = 1 + crn_random_below(&line.random, 300);
        archived_write(&line, format, SEGMENT_BYTES, verdicts);
        archived_expect_added(verdicts);
        archived_expect_sums(&line.sums);
    }
    assert_true(archived_ask("SELECT COUNT(*) FROM gaps") == 0);
    assert_true(archived_ask("SELECT COUNT(*) FROM levels") == CRN_MADE_CLASSES);
    assert_true(archived_ask("SELECT SUM(level) FROM levels") == 0.25 + 0.5 + 0.75);
    assert_true(archived_ask("SELECT COUNT(*) FROM runs WHERE run = '" CRN_ARCHIVED_RUN "'") == 1);
    assert_true(archived_ask("SELECT COUNT(*) FROM fruits WHERE epoch = -1 AND recipe_id IS NULL"
                             " AND total_us = 31250 AND deadline_ns - captured_ns = 150000000") ==
                (double)line.verdicts);
    assert_true(archived_ask("SELECT COUNT(*) FROM defects WHERE x0_px = 10 AND y0_px = 20"
                             " AND x1_px = 32 AND y1_px = 40 AND mean_probability >= 0.5") ==
                (double)line.sums.defects);
}

/* More verdicts than a transaction has; printed is the speed. */
static void a_long_log_is_archived(void **state)
{
    (void)state;
    uint64_t verdicts = 500 * (uint64_t)crn_random_cases(20) + 10001;
    archived_write(&line, CRN_FORMAT_MSGPACK, 16 << 20, verdicts);
    int64_t began_ns = crn_now_ns();
    clock_t began = clock();
    archived_expect_added(verdicts);
    double seconds = (double)(crn_now_ns() - began_ns) / 1e9;
    double core_seconds = (double)(clock() - began) / CLOCKS_PER_SEC;
    struct stat about;
    assert_int_equal(stat(archived_path, &about), 0);
    print_message(
        "%" PRIu64 " verdicts in %.2f s, %.2f s of a core: %.0f per second of it; a fruit takes "
        "%.0f bytes, %.0f in the log; %.2f defects each\n",
        verdicts, seconds, core_seconds, (double)verdicts / core_seconds,
        (double)about.st_size / (double)verdicts, (double)line.sums.bytes / (double)verdicts,
        (double)line.sums.defects / (double)verdicts);
    archived_expect_sums(&line.sums);
}

static void a_log_that_was_begun_again_is_read_from_its_begin(void **state)
{
    (void)state;
    archived_write(&line, CRN_FORMAT_MSGPACK, ONE_SEGMENT, 40);
    archived_expect_added(40);
    assert_int_equal(unlink(logged_path(1)), 0);
    archived_write(&line, CRN_FORMAT_MSGPACK, ONE_SEGMENT, 70); /* segment 1 again */
    archived_expect_added(70);
    archived_expect_sums(&line.sums);
}

static void what_was_archived_before_is_not_doubled(void **state)
{
    (void)state;
    archived_write(&line, CRN_FORMAT_MSGPACK, ONE_SEGMENT, 50);
    archived_write(&line, CRN_FORMAT_MSGPACK, ONE_SEGMENT, 50);
    archived_expect_added(100);
    assert_int_equal(unlink(logged_path(2)), 0); /* the position's */
    assert_int_equal(archived_import(false, &stats, &error), 0);
    assert_int_equal(stats.added, 0);
    assert_int_equal(stats.known, 50);
    archived_expect_sums(&line.sums);
}

static void missing_verdicts_are_counted(void **state)
{
    (void)state;
    for (int segment = 0; segment < 3; segment++)
        archived_write(&line, CRN_FORMAT_MSGPACK, ONE_SEGMENT, 30);
    assert_int_equal(unlink(logged_path(2)), 0);
    assert_int_equal(archived_import(false, &stats, &error), 0);
    assert_int_equal(stats.added, 60);
    assert_int_equal(stats.missing, 30);
    assert_true(archived_ask("SELECT COUNT(*) FROM gaps") == CRN_ARCHIVED_LANES);
    assert_true(archived_ask("SELECT SUM(last - first + 1) FROM gaps WHERE first = 10") == 30);
}

/* Cuts a segment, or writes over a byte of it. */
static void cut(uint64_t number, off_t bytes_less)
{
    struct stat about;
    assert_int_equal(stat(logged_path(number), &about), 0);
    assert_int_equal(truncate(logged_path(number), about.st_size - bytes_less), 0);
}

static void damage(uint64_t number, long at)
{
    FILE *file = fopen(logged_path(number), "r+");
    assert_non_null(file);
    fseek(file, at, SEEK_SET);
    int byte = fgetc(file);
    fseek(file, at, SEEK_SET);
    fputc(byte ^ 1, file);
    fclose(file);
}

static void damage_costs_what_it_hit(void **state)
{
    (void)state;
    for (int segment = 0; segment < 3; segment++)
        archived_write(&line, CRN_FORMAT_MSGPACK, ONE_SEGMENT, 30);
    damage(1, 200); /* in the first verdict */
    cut(2, 5);
    assert_int_equal(archived_import(false, &stats, &error), 0);
    assert_int_equal(stats.added, 88);
    assert_int_equal(stats.unreadable, 2);
    assert_int_equal(stats.missing, 2);
    assert_non_null(strstr(archived_notice, "no whole verdict in its last "));
    assert_int_equal(archived_import(false, &stats, &error), 0);
    assert_int_equal(stats.added + stats.known + stats.unreadable, 0);
}

static void a_record_that_is_being_written_is_waited_for(void **state)
{
    (void)state;
    archived_write(&line, CRN_FORMAT_MSGPACK, ONE_SEGMENT, 30);
    struct stat about;
    char whole[128], command[300];
    snprintf(whole, sizeof whole, "%s/whole", logged_folder);
    snprintf(command, sizeof command, "cp %s %s", logged_path(1), whole);
    assert_int_equal(system(command), 0);
    assert_int_equal(stat(whole, &about), 0);
    cut(1, 7);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(archived_import(true, &stats, &error), 0);
        assert_int_equal(stats.added, i == 0 ? 29 : 0);
        assert_int_equal(stats.unreadable, 0);
    }
    snprintf(command, sizeof command, "cat %s >%s", whole, logged_path(1));
    assert_int_equal(system(command), 0);
    archived_expect_added(1);
    archived_expect_sums(&line.sums);
}

static uint64_t archived_below(void)
{
    uint64_t below;
    assert_int_equal(crn_verdict_log_get_archived(logged_folder, &below, &error), 0);
    return below;
}

/* While it follows, and only then, the log waits for it. */
static void the_log_is_told_how_far_it_is_archived(void **state)
{
    (void)state;
    for (int segment = 0; segment < 3; segment++)
        archived_write(&line, CRN_FORMAT_MSGPACK, ONE_SEGMENT, 30);
    archived_expect_added(90);
    assert_true(archived_below() == UINT64_MAX);
    archived_write(&line, CRN_FORMAT_MSGPACK, ONE_SEGMENT, 30);
    assert_int_equal(archived_import(true, &stats, &error), 0);
    assert_true(archived_below() == 4);
}

/* Each would take back what the other says; one that does not follow says nothing. */
static void one_archive_follows_a_log(void **state)
{
    (void)state;
    crn_archive other;
    crn_archive_tables tables;
    crn_import *import;
    char path[128];
    archived_write(&line, CRN_FORMAT_MSGPACK, ONE_SEGMENT, 30);
    snprintf(path, sizeof path, "%s/other.sqlite", logged_folder);
    crn_import_settings settings = {.dir = logged_folder, .follow = true};
    assert_int_equal(crn_archive_open(&other, path, &error), 0);
    assert_int_equal(crn_archive_tables_init(&tables, &other, &error), 0);
    assert_int_equal(crn_import_open(&tables.destination, &settings, &import, &error), 0);
    assert_int_equal(archived_import(true, &stats, &error), -EBUSY);
    assert_non_null(strstr(error.text, "another cernita-archive (process "));
    archived_expect_added(30);
    crn_import_close(&import);
    crn_archive_close(&other);
    assert_int_equal(archived_import(true, &stats, &error), 0);
}

/* A log that may not be written is archived all the same. */
static void a_log_that_cannot_be_told_is_archived(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/archived", logged_folder);
    assert_int_equal(mkdir(path, 0700), 0);
    for (int i = 0; i < 2; i++) {
        archived_write(&line, CRN_FORMAT_MSGPACK, ONE_SEGMENT, 30);
        assert_int_equal(archived_import(true, &stats, &error), 0);
        assert_int_equal(stats.added, 30);
        assert_non_null(strstr(archived_notice, path));
    }
    archived_expect_sums(&line.sums);
}

/* As a user whom rights hold back. */
static int import_as_user(bool follow)
{
    bool is_root = geteuid() == 0;
    assert_true(!is_root || seteuid(NOBODY) == 0);
    int r = archived_import(follow, &stats, &error);
    assert_true(!is_root || seteuid(0) == 0);
    return r;
}

static void a_segment_that_cannot_be_read_is_waited_for(void **state)
{
    (void)state;
    for (int segment = 0; segment < 3; segment++)
        archived_write(&line, CRN_FORMAT_MSGPACK, ONE_SEGMENT, 30);
    assert_int_equal(chmod(logged_folder, 0777), 0);
    assert_int_equal(chmod(logged_path(2), 0), 0);
    assert_int_equal(import_as_user(true), 0);
    assert_int_equal(stats.added, 30);
    assert_int_equal(stats.missing + stats.unreadable, 0);
    assert_int_equal(archived_notices, 1);
    assert_non_null(strstr(archived_notice, logged_path(2)));
    assert_true(archived_below() == 1);
    assert_int_equal(import_as_user(false), -EACCES);
    assert_non_null(strstr(error.text, logged_path(2)));
    assert_int_equal(chmod(logged_path(2), 0644), 0);
    assert_int_equal(import_as_user(true), 0);
    assert_int_equal(stats.added, 60);
    assert_int_equal(stats.known + stats.missing + archived_notices, 0);
    archived_expect_sums(&line.sums);
}

/* The segment of the position is read from there, not the log from its begin. */
static void a_position_that_cannot_be_read_is_kept(void **state)
{
    (void)state;
    for (int segment = 0; segment < 2; segment++)
        archived_write(&line, CRN_FORMAT_MSGPACK, ONE_SEGMENT, 30);
    assert_int_equal(chmod(logged_folder, 0777), 0);
    assert_int_equal(import_as_user(false), 0);
    assert_int_equal(chmod(logged_path(2), 0), 0);
    assert_int_equal(import_as_user(false), -EACCES);
    assert_int_equal(stats.known, 0);
    assert_int_equal(chmod(logged_path(2), 0644), 0);
    assert_int_equal(import_as_user(false), 0);
    assert_int_equal(stats.known, 0);
    archived_expect_sums(&line.sums);
}

static void a_record_that_is_no_verdict_is_passed_over(void **state)
{
    (void)state;
    crn_verdict_writer *writer = logged_writer(ONE_SEGMENT, 0);
    assert_int_equal(crn_verdict_writer_append(writer, 0, "{\"v\":1}", 7, &error), 0);
    crn_verdict_writer_close(&writer);
    archived_write(&line, CRN_FORMAT_MSGPACK, ONE_SEGMENT, 30);
    assert_int_equal(archived_import(false, &stats, &error), 0);
    assert_int_equal(stats.added, 30);
    assert_int_equal(stats.unreadable, 1);
    assert_non_null(strstr(archived_notice, "'run' is missing"));
    assert_non_null(strstr(archived_notice, "0000000001.verdicts: the verdict at byte 16 "));
}

/* It is the archive's of that daemon: nothing of it is passed over. */
static void a_verdict_of_another_version_ends_the_run(void **state)
{
    (void)state;
    archived_write(&line, CRN_FORMAT_MSGPACK, ONE_SEGMENT, 30);
    assert_int_equal(archived_import(true, &stats, &error), 0);
    crn_verdict_writer *writer = logged_writer(ONE_SEGMENT, 0);
    assert_int_equal(crn_verdict_writer_append(writer, 0, "{\"v\":2}", 7, &error), 0);
    crn_verdict_writer_close(&writer);
    archived_write(&line, CRN_FORMAT_MSGPACK, ONE_SEGMENT, 30);
    for (int follow = 0; follow < 2; follow++) {
        assert_int_equal(archived_import(follow, &stats, &error), -EPROTONOSUPPORT);
        assert_non_null(strstr(error.text, "0000000002.verdicts: the verdict at byte 16 is of"));
        assert_non_null(strstr(error.text, "use the cernita-archive of that daemon"));
        assert_true(archived_ask("SELECT COUNT(*) FROM fruits") == 30);
        assert_true(archived_ask("SELECT segment FROM sources") == 1);
        assert_true(archived_below() == 1);
    }
}

/* As after a power cut: two ends are torn, and nothing whole follows yet. */
static void damage_is_told_once(void **state)
{
    (void)state;
    for (int segment = 0; segment < 4; segment++)
        archived_write(&line, CRN_FORMAT_MSGPACK, ONE_SEGMENT, 1);
    for (uint64_t number = 2; number <= 4; number++)
        cut(number, 5);
    assert_int_equal(archived_import(true, &stats, &error), 0);
    assert_int_equal(stats.added, 1);
    assert_int_equal(archived_notices, 2);
    archived_write(&line, CRN_FORMAT_MSGPACK, ONE_SEGMENT, 1);
    assert_int_equal(archived_import(true, &stats, &error), 0);
    assert_int_equal(archived_notices, 3);
    assert_int_equal(archived_import(true, &stats, &error), 0);
    assert_int_equal(archived_notices, 0);
}

static void an_empty_log_is_waited_for_or_told(void **state)
{
    (void)state;
    assert_int_equal(archived_import(true, &stats, &error), 0);
    assert_int_equal(archived_import(false, &stats, &error), -ENOENT);
    assert_non_null(strstr(error.text, "there is no verdict log"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, logged_teardown)

int main(void)
{
    crn_log_set_level(CRN_LOG_ERROR);
    const struct CMUnitTest tests[] = {
        TEST(sums_are_those_of_the_log),
        TEST(a_long_log_is_archived),
        TEST(a_log_that_was_begun_again_is_read_from_its_begin),
        TEST(what_was_archived_before_is_not_doubled),
        TEST(missing_verdicts_are_counted),
        TEST(damage_costs_what_it_hit),
        TEST(a_record_that_is_being_written_is_waited_for),
        TEST(the_log_is_told_how_far_it_is_archived),
        TEST(one_archive_follows_a_log),
        TEST(a_log_that_cannot_be_told_is_archived),
        TEST(a_segment_that_cannot_be_read_is_waited_for),
        TEST(a_position_that_cannot_be_read_is_kept),
        TEST(a_record_that_is_no_verdict_is_passed_over),
        TEST(a_verdict_of_another_version_ends_the_run),
        TEST(damage_is_told_once),
        TEST(an_empty_log_is_waited_for_or_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

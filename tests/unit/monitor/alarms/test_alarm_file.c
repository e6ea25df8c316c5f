/* The alarm file: written and read, full, torn, damaged, and on disks that fail. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/monitor/alarms/file.h"
#include "src/monitor/alarms/record.h"
#include "src/monitor/alarms/thread.h"
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/fixture.h"
#include "tests/support/folder.h"
#include "tests/support/line/log_capture.h"

#define RECORD CRN_ALARM_RECORD_BYTES

/* Where the two records of an alarm lie. */
#define AT(number, place) ((off_t)(1 + 2 * ((number) % CRN_ALARMS_KEPT) + (place)) * RECORD)

static crn_alarm_book *book;
static crn_alarm_file *file;
static crn_log_capture caught;
static char path[96];

static int set_up(void **state)
{
    int r = test_folder_make(state);
    snprintf(path, sizeof path, "%s/alarms", test_folder);
    return r;
}

static void close_file(void)
{
    crn_alarm_file_close(&file);
    crn_alarm_book_free(&book);
}

static int tear_down(void **state)
{
    close_file();
    return test_folder_remove(state);
}

/* Opens the file anew; returns what the log said. */
static const char *open_file(void)
{
    crn_error error;
    close_file();
    assert_int_equal(crn_alarm_book_create(0, &book), 0);
    crn_log_capture_start(&caught);
    int r = crn_alarm_file_open(test_folder, book, &file, &error);
    const char *said = crn_log_capture_stop(&caught);
    if (r < 0)
        fail_msg("%s", error.text);
    return said;
}

static void open_quietly(void)
{
    assert_string_equal(open_file(), "");
}

static void write_alarm(uint64_t number, int64_t raised_ms)
{
    crn_alarm alarm = {.number = number,
                       .row = crn_condition_named("wrong_scale"),
                       .values = {.lane = 2, .name = "per_cent"},
                       .raised_ms = raised_ms};
    assert_int_equal(crn_alarm_file_write(file, &alarm), 0); /* read again without the disk */
}

static void expect_raised(uint64_t number, int64_t raised_ms)
{
    const crn_alarm *alarm = crn_alarm_book_find(book, number);
    assert_non_null(alarm);
    assert_int_equal(alarm->raised_ms, raised_ms);
    assert_string_equal(alarm->values.name, "per_cent");
}

/* Reads or writes a part of the file. */
static void transfer(off_t offset, unsigned char *bytes, size_t size, bool writes)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t count = writes ? pwrite(fd, bytes, size, offset) : pread(fd, bytes, size, offset);
    assert_int_equal(count, size);
    close(fd);
}

static int count_lines(const char *text)
{
    int lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

static void what_was_written_is_read(void **state)
{
    (void)state;
    crn_alarm alarm = {.number = 7,
                       .row = crn_condition_named("disk_full_soon"),
                       .values = {.lane = -1,
                                  .count = 1e6,
                                  .percent = 0.5,
                                  .seconds = 3.25,
                                  .hours = 17,
                                  .name = "Käse \"9\""},
                       .raised_ms = INT64_C(1764230000123),
                       .cleared_ms = INT64_C(1764230000456),
                       .acknowledged_ms = INT64_C(1764230000789),
                       .acknowledged_by = "fe80::1234:5678:9abc:def0%enp0s31f6",
                       .shelved_until_ms = INT64_C(1764230001000)};
    open_quietly();
    assert_null(crn_alarm_book_find(book, 7));
    assert_int_equal(crn_alarm_file_write(file, &alarm), 0);
    assert_int_equal(crn_alarm_file_sync(file), 0);
    open_quietly();
    const crn_alarm *read = crn_alarm_book_find(book, 7);
    assert_non_null(read);
    assert_ptr_equal(read->row, alarm.row);
    assert_memory_equal(&read->values, &alarm.values, sizeof alarm.values);
    assert_int_equal(read->raised_ms, alarm.raised_ms);
    assert_int_equal(read->cleared_ms, alarm.cleared_ms);
    assert_int_equal(read->acknowledged_ms, alarm.acknowledged_ms);
    assert_string_equal(read->acknowledged_by, alarm.acknowledged_by);
    assert_int_equal(read->shelved_until_ms, alarm.shelved_until_ms);
    assert_int_equal(crn_alarm_book_newest(book), 7);
}

/* The file keeps its size, and the newest stay. */
static void a_full_file_forgets_the_oldest(void **state)
{
    (void)state;
    struct stat before, after;
    open_quietly();
    assert_int_equal(stat(path, &before), 0);
    for (uint64_t number = 1; number <= CRN_ALARMS_KEPT + 10; number++) {
        crn_alarm alarm = {.number = number,
                           .row = crn_condition_named("wrong_scale"),
                           .values = {.name = "per_cent"},
                           .raised_ms = (int64_t)number};
        assert_int_equal(crn_alarm_file_write(file, &alarm), 0);
    }
    open_quietly();
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(after.st_size, before.st_size);
    assert_true((off_t)before.st_blocks * 512 >= before.st_size); /* the space is reserved */
    assert_null(crn_alarm_book_find(book, 10));
    for (uint64_t number = 11; number <= CRN_ALARMS_KEPT + 10; number++)
        expect_raised(number, (int64_t)number);
}

/* A record that is torn at any byte leaves the one before; so does one that is torn over an older
 * alarm in the same place. */
static void a_torn_record_leaves_the_one_before(void **state)
{
    (void)state;
    unsigned char older[RECORD], newer[RECORD], torn[RECORD];
    open_quietly();
    write_alarm(5, 100);
    write_alarm(5, 200);
    transfer(AT(5, 0), older, RECORD, false);
    write_alarm(5, 300);
    transfer(AT(5, 0), newer, RECORD, false);
    assert_memory_not_equal(older, newer, RECORD);
    close_file();
    for (size_t bytes = 0; bytes <= RECORD; bytes++) {
        memcpy(torn, older, RECORD);
        memcpy(torn, newer, bytes);
        transfer(AT(5, 0), torn, RECORD, true);
        open_quietly();
        expect_raised(5, memcmp(torn, newer, RECORD) == 0 ? 300 : 200);
        close_file();
    }
}

/* A start does not forget which record of an alarm is the newer. */
static void a_start_writes_the_older_record(void **state)
{
    (void)state;
    unsigned char newer[RECORD], after[RECORD];
    for (int place = 0; place < 2; place++) {
        open_quietly();
        write_alarm(5, 100 + place);
        transfer(AT(5, place), newer, RECORD, false);
        open_quietly();
        write_alarm(5, 200);
        transfer(AT(5, place), after, RECORD, false);
        assert_memory_equal(newer, after, RECORD);
        write_alarm(5, 300);
        write_alarm(5, 400);
        open_quietly();
        expect_raised(5, 400);
        write_alarm(5, 500);
    }
}

static void a_torn_first_record_is_no_alarm(void **state)
{
    (void)state;
    unsigned char whole[RECORD], torn[RECORD];
    open_quietly();
    write_alarm(5, 100);
    write_alarm(6, 100);
    transfer(AT(6, 0), whole, RECORD, false);
    close_file();
    for (size_t bytes = 1; bytes < RECORD; bytes++) {
        memset(torn, 0, RECORD);
        memcpy(torn, whole, bytes);
        transfer(AT(6, 0), torn, RECORD, true);
        const char *said = open_file();
        bool is_whole = memcmp(torn, whole, RECORD) == 0;
        expect_raised(5, 100);
        assert_int_equal(crn_alarm_book_find(book, 6) != NULL, is_whole);
        assert_int_equal(count_lines(said), !is_whole);
        /* Its number is given again, and its place is taken. */
        write_alarm(6, 700);
        open_quietly();
        expect_raised(6, 700);
        close_file();
        memset(torn, 0, RECORD);
        transfer(AT(6, 0), torn, RECORD, true);
        transfer(AT(6, 1), torn, RECORD, true);
    }
}

/* A new alarm that is torn over an old one does not bring back how that was before. */
static void a_torn_record_shows_no_former_state(void **state)
{
    (void)state;
    unsigned char torn[RECORD];
    open_quietly();
    write_alarm(5, 100);
    write_alarm(5, 200);
    write_alarm(5, 300);
    write_alarm(5 + CRN_ALARMS_KEPT, 400);
    close_file();
    memset(torn, 0xAA, RECORD);
    transfer(AT(5, 1), torn, RECORD, true);
    open_quietly();
    expect_raised(5, 300);
}

static void an_alarm_damaged_twice_is_left_out_with_a_line(void **state)
{
    (void)state;
    unsigned char bytes[RECORD];
    open_quietly();
    write_alarm(5, 100);
    write_alarm(5, 200);
    write_alarm(6, 100);
    close_file();
    for (int place = 0; place < 2; place++) {
        transfer(AT(5, place), bytes, RECORD, false);
        bytes[200] ^= 1;
        transfer(AT(5, place), bytes, RECORD, true);
    }
    const char *said = open_file();
    assert_non_null(strstr(said, "1 of the alarms in "));
    assert_non_null(strstr(said, path));
    assert_int_equal(count_lines(said), 1);
    assert_null(crn_alarm_book_find(book, 5));
    expect_raised(6, 100);
}

/* Another version's, cut or longer: one line says where it is, and the list begins anew. */
static void a_file_that_cannot_be_read_is_set_aside(void **state)
{
    (void)state;
    char aside[128];
    struct stat about;
    snprintf(aside, sizeof aside, "%s.damaged", path);
    for (int fault = 0; fault < 34; fault++) {
        open_quietly();
        write_alarm(5, 100);
        close_file();
        assert_int_equal(stat(path, &about), 0);
        unsigned char byte;
        if (fault == 32) {
            assert_int_equal(truncate(path, 0), 0);
        } else if (fault == 33) {
            assert_int_equal(truncate(path, about.st_size + 1), 0);
        } else {
            transfer(fault, &byte, 1, false);
            byte ^= 4;
            transfer(fault, &byte, 1, true);
        }
        const char *said = open_file();
        assert_non_null(strstr(said, aside));
        assert_int_equal(count_lines(said), 1);
        assert_null(crn_alarm_book_find(book, 5));
        assert_int_equal(access(aside, F_OK), 0);
        assert_int_equal(crn_alarm_book_newest(book), 0);
    }
}

static void what_a_killed_start_left_is_removed(void **state)
{
    (void)state;
    char part[128];
    snprintf(part, sizeof part, "%s.part", path);
    FILE *left = fopen(part, "w");
    assert_non_null(left);
    fputs("half", left);
    fclose(left);
    open_quietly();
    assert_int_equal(access(part, F_OK), -1);
}

/* A row of the table that was taken out since. */
static void an_alarm_of_an_unknown_condition_is_left_out(void **state)
{
    (void)state;
    crn_condition gone = {.id = "gone"};
    crn_alarm alarm = {.number = 5, .row = &gone, .raised_ms = 100};
    open_quietly();
    assert_int_equal(crn_alarm_file_write(file, &alarm), 0);
    write_alarm(6, 100);
    open_quietly();
    assert_null(crn_alarm_book_find(book, 5));
    expect_raised(6, 100);
}

static void a_folder_is_one_lines_own(void **state)
{
    (void)state;
    crn_alarm_book *other;
    crn_alarm_file *none = NULL;
    crn_error error;
    open_quietly();
    assert_int_equal(crn_alarm_book_create(0, &other), 0);
    assert_int_equal(crn_alarm_file_open(test_folder, other, &none, &error), -EWOULDBLOCK);
    assert_non_null(strstr(error.text, path));
    assert_int_equal(crn_alarm_file_open("/nowhere/state", other, &none, &error), -ENOENT);
    assert_non_null(strstr(error.text, "/nowhere/state"));
    crn_alarm_book_free(&other);
}

/* --- with the thread --- */

static const crn_condition_held held = {.values = {.lane = 2, .name = "per_cent"}};

static uint64_t tell(crn_alarms *alarms, crn_condition_event event)
{
    crn_condition_held one = held;
    one.row = crn_condition_named("wrong_scale");
    crn_alarms_tell(alarms, &one, event);
    return crn_alarms_kept(alarms).newest;
}

static int64_t now_in_ms(void)
{
    return crn_realtime_ns() / CRN_NS_PER_MS;
}

static void a_restart_finds_the_list(void **state)
{
    (void)state;
    crn_alarms *alarms;
    crn_alarm alarm;
    assert_int_equal(crn_alarms_open(test_folder, &alarms), 0);
    uint64_t first = tell(alarms, CRN_CONDITION_RAISED);
    tell(alarms, CRN_CONDITION_HOLDS);
    assert_true(crn_alarms_get(alarms, first, &alarm));
    assert_int_equal(alarm.cleared_ms, 0);
    tell(alarms, CRN_CONDITION_ENDED);
    assert_int_equal(crn_alarms_acknowledge(alarms, first, "local"), 1);
    uint64_t second = tell(alarms, CRN_CONDITION_RAISED);
    int64_t closing_ms = now_in_ms();
    crn_alarms_close(&alarms);
    int64_t closed_ms = now_in_ms();
    while (now_in_ms() <= closed_ms)
        continue;
    assert_int_equal(crn_alarms_open(test_folder, &alarms), 0);
    assert_true(crn_alarms_get(alarms, first, &alarm));
    assert_string_equal(alarm.acknowledged_by, "local");
    assert_true(crn_alarms_get(alarms, second, &alarm)); /* it ended with the line */
    assert_in_range(alarm.cleared_ms, closing_ms, closed_ms);
    assert_int_equal(tell(alarms, CRN_CONDITION_RAISED), second + 1);
    crn_alarms_close(&alarms);
}

/* The daemon died with an alarm active. */
static void what_was_active_is_cleared_by_the_start(void **state)
{
    (void)state;
    crn_alarms *alarms;
    crn_alarm alarm;
    open_quietly();
    write_alarm(5, 100);
    close_file();
    int64_t starting_ms = now_in_ms();
    assert_int_equal(crn_alarms_open(test_folder, &alarms), 0);
    assert_true(crn_alarms_get(alarms, 5, &alarm));
    assert_true(alarm.cleared_ms >= starting_ms);
    assert_int_equal(crn_alarms_summary(alarms).open, 1); /* nobody acknowledged it */
    crn_alarms_close(&alarms);
}

static void without_a_folder_the_list_is_in_memory(void **state)
{
    (void)state;
    static const struct {
        const char *dir, *said;
    } cases[] = {{"", "state.dir is empty"}, {"/nowhere/state", "/nowhere/state/alarms: "}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        crn_alarms *alarms;
        crn_log_capture_start(&caught);
        int r = crn_alarms_open(cases[i].dir, &alarms);
        const char *said = crn_log_capture_stop(&caught);
        assert_int_equal(r, 0);
        assert_non_null(strstr(said, cases[i].said));
        assert_int_equal(count_lines(said), 1);
        assert_int_equal(tell(alarms, CRN_CONDITION_RAISED), 1);
        assert_int_equal(crn_alarms_summary(alarms).open, 1);
        crn_alarms_close(&alarms);
    }
}

/* Waits until nobody has the file open. */
static void await_closed(void)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    close(fd);
}

static void a_disk_that_fails_is_logged_once(void **state)
{
    (void)state;
    struct rlimit old, tight;
    crn_alarms *alarms;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(crn_alarms_open(test_folder, &alarms), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight = (struct rlimit){8192, old.rlim_max};
    crn_log_capture_start(&caught);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    for (int i = 0; i < 40; i++) {
        tell(alarms, CRN_CONDITION_RAISED);
        tell(alarms, CRN_CONDITION_ENDED);
        if (i == 20)
            await_closed(); /* at the first failure, beyond the limit */
    }
    assert_int_equal(crn_alarms_summary(alarms).open, 40);
    crn_alarms_close(&alarms);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    const char *said = crn_log_capture_stop(&caught);
    assert_non_null(strstr(said, "cannot be written"));
    assert_int_equal(count_lines(said), 1);
    open_quietly(); /* what was written before is there */
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(a_full_file_forgets_the_oldest),
        cmocka_unit_test(a_torn_record_leaves_the_one_before),
        cmocka_unit_test(a_start_writes_the_older_record),
        cmocka_unit_test(a_torn_first_record_is_no_alarm),
        cmocka_unit_test(a_torn_record_shows_no_former_state),
        cmocka_unit_test(an_alarm_damaged_twice_is_left_out_with_a_line),
        cmocka_unit_test(a_file_that_cannot_be_read_is_set_aside),
        cmocka_unit_test(what_a_killed_start_left_is_removed),
        cmocka_unit_test(an_alarm_of_an_unknown_condition_is_left_out),
        cmocka_unit_test(a_folder_is_one_lines_own),
        cmocka_unit_test(a_restart_finds_the_list),
        cmocka_unit_test(what_was_active_is_cleared_by_the_start),
        cmocka_unit_test(without_a_folder_the_list_is_in_memory),
        cmocka_unit_test(a_disk_that_fails_is_logged_once),
    };
    CRN_SET_FIXTURE(tests, set_up, tear_down);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
